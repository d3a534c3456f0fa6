# shellcheck shell=bash
# shellcheck disable=SC2154
# SPDX-License-Identifier: Apache-2.0
#
# Makes what a lab needs, in the cache: its programs, its kernel, its initramfs.
# Sourced by scripts/lab after scripts/lib.sh; $tree and $cache are set there,
# and so is what the architecture's table (lab/arch-*.sh) sets.

lab_warnings="-Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes"
lab_host_c="host.c client.c keeper.c machine.c frame.c"
lab_server_c="server.c session.c spawn.c world.c vm.c ns.c frame.c"

# What other sources were made into, and what a killed run left half made.
lab_prune() {
	find "$cache/lab" -maxdepth 1 \( -name 'bin-*' -o -name 'initrd-*' \
		-o -name 'kernel-*.*' \) -mtime +7 -exec rm -rf {} +
}

lab_make_programs() {
	local dir=$1 src=$tree/lab new f host=() server=()

	[ ! -e "$dir" ] || return 0
	new=$(mktemp -d "$dir.XXXXXX")
	for f in $lab_host_c; do host+=("$src/$f"); done
	for f in $lab_server_c; do server+=("$src/$f"); done
	# shellcheck disable=SC2086 # a list of flags
	{
		gcc -std=gnu17 -D_GNU_SOURCE -O2 $lab_warnings \
			-o "$new/host" "${host[@]}"
		# Debian's musl has no kernel headers of its own.
		musl-gcc -std=gnu17 -D_GNU_SOURCE -Os $lab_warnings -static -s \
			-idirafter /usr/include \
			-idirafter "/usr/include/$(gcc -print-multiarch)" \
			-o "$new/server" "${server[@]}"
	} || {
		rm -rf "$new"
		hutch_die "the lab's own programs do not build"
	}
	chmod 755 "$new"
	mv -T "$new" "$dir"
	lab_prune
}

# Sets lab_bin.
lab_programs() {
	lab_bin=$cache/lab/bin-$(hutch_key "$(gcc -dumpfullversion)" \
		"$lab_host_c $lab_server_c $lab_warnings" \
		-- "$tree"/lab/*.[ch] "$tree/lab/build.sh")
	[ -e "$lab_bin" ] ||
		hutch_once "$cache/lab/lock" lab_make_programs "$lab_bin" >&2
}

lab_make_images_disk() {
	local dir=$1 new=$1/disk.$BASHPID size

	[ ! -e "$dir/disk" ] || return 0
	# Room for what tests add, which the file does not take.
	size=$(du -sm "$dir/root" | cut -f1)
	rm -rf "$new"
	mkdir "$new"
	mkfs.ext4 -q -F -O ^has_journal \
		-E "root_owner=$uid:$gid,lazy_itable_init=1,nodiscard" \
		-d "$dir/root" "$new/disk" $((size * 2 + 4096))M >/dev/null || {
		rm -rf "$new"
		hutch_die "cannot make a disk of the images in '$dir'"
	}
	mv "$new/disk" "$dir/disk"
	rmdir "$new"
}

# lab_images_disk DIR: see that there is DIR/disk, an ext4 of its store.
lab_images_disk() {
	[ -e "$1/disk" ] ||
		hutch_once "$cache/lab/images.lock" lab_make_images_disk "$1"
}

# The kernel that Debian's own meta package names at present.
lab_kernel_package() {
	local version

	version=$(hutch_apt_newest "$lab_kernel_meta")
	[ -n "$version" ] ||
		hutch_die "Debian has no package '$lab_kernel_meta'"
	hutch_apt cache show "$lab_kernel_meta=$version" |
		sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p' | head -n 1
}

lab_make_kernel() {
	local dir=$1 new package

	[ ! -e "$dir" ] || return 0
	hutch_apt_update
	package=$(lab_kernel_package)
	hutch_note "fetching $package (about 100 MB) for the lab, once"
	new=$(mktemp -d "$dir.XXXXXX")
	{
		hutch_apt_fetch "$new" "$package" &&
			dpkg-deb -x "$new"/linux-image-*.deb "$new/x" &&
			mv "$new"/x/boot/vmlinuz-* "$new/vmlinuz" &&
			mkdir "$new/lib" &&
			if [ -d "$new/x/usr/lib/modules" ]; then
				mv "$new/x/usr/lib/modules" "$new/lib/"
			else
				mv "$new/x/lib/modules" "$new/lib/"
			fi &&
			ls "$new/lib/modules" >"$new/version" &&
			rm -rf "$new"/x "$new"/*.deb &&
			depmod -b "$new" "$(cat "$new/version")"
	} || {
		rm -rf "$new"
		hutch_die "cannot get the lab's kernel '$package'"
	}
	chmod 755 "$new"
	mv -T "$new" "$dir"
}

# Sets lab_kernel.
lab_kernel() {
	lab_kernel=$cache/lab/kernel-$lab_arch
	[ -e "$lab_kernel" ] ||
		hutch_once "$cache/lab/lock" lab_make_kernel "$lab_kernel"
}

# The files of the lab's modules and of what they need, in order.
lab_module_files() {
	local version

	version=$(cat "$lab_kernel/version")
	# shellcheck disable=SC2086 # a list of names
	modprobe -d "$lab_kernel" -S "$version" \
		--show-depends -a $lab_modules | awk '
		$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# The modules are put in unpacked, and so is the archive: to unpack them in an
# emulated machine takes longer than to copy them.
lab_make_initrd() {
	local file=$1 new m n=100

	[ ! -e "$file" ] || return 0
	new=$(mktemp -d "$file.XXXXXX")
	mkdir "$new/root" "$new/root/modules"
	cp "$lab_bin/server" "$new/root/init"
	while read -r m; do
		n=$((n + 1))
		case $m in
		*.xz) xz -dc "$m" >"$new/root/modules/$n-$(basename "$m" .xz)" ;;
		*) cp "$m" "$new/root/modules/$n-${m##*/}" ;;
		esac
	done < <(lab_module_files)
	[ $n -gt 100 ] || hutch_die "found no module in '$lab_kernel'"
	(cd "$new/root" && find . | LC_ALL=C sort |
		cpio -o -H newc --quiet --reproducible -R 0:0) >"$new/cpio"
	mv "$new/cpio" "$file"
	rm -rf "$new"
}

# Sets lab_initrd.
lab_initrd() {
	lab_initrd=$cache/lab/initrd-$(hutch_key "$lab_modules" \
		"$(cat "$lab_kernel/version")" -- \
		"$lab_bin/server" "$tree/lab/build.sh").cpio
	[ -e "$lab_initrd" ] ||
		hutch_once "$cache/lab/lock" lab_make_initrd "$lab_initrd"
}
