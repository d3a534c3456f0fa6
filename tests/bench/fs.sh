#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fs.sh - inside the lab: time operations on a share; scripts/bench calls it
#
# Usage: fs.sh BUILD VIRTIOFSD CPUS MEMORY     (HUTCH_KERNEL is the kernel)
#
# The same program on folders in memory of the same making: on the lab itself, in
# a guest of ours without and with DAX, and in guests of QEMU whose server is
# VIRTIOFSD, of machine microvm and of q35. Prints a line an operation: "fs by=WHO
# op=OP n=COUNT ns=TOTAL bytes=EACH moved=BYTES exits=N switches=N", of which the
# last three are of all COUNT: bytes that the server's system calls read or
# wrote, exits of the guest, and switches of the lab's processor from one thread
# to another.
set -euo pipefail
# shellcheck source=tests/bench/root.sh
. "$(dirname "$0")/root.sh"
server_file=$2 cpus=$3 memory=$4
# Each small file of the bench is 2 MiB of it.
window=512M
kernel=${HUTCH_KERNEL%/*}
quiet="loglevel=2 panic=-1 printk.devkmsg=on"

# now: sets moved, exits and switches. Nothing is run and nothing is read from a
# file system of the host's, which would take time of its own.
now() {
	local key value

	moved=0 switches=0
	while read -r key value; do
		case $key in
		rchar: | wchar:) moved=$((moved + value)) ;;
		esac
	done <"/proc/$server/io"
	while read -r key value; do
		[ "$key" != ctxt ] || switches=$value
	done </proc/stat
	read -r exits <"$root/debug/kvm/exits"
}

# follow WHO: what the program says on descriptor 3; the server is $server.
follow() {
	local line rest begun=()

	while read -r line <&3; do
		line=${line%$'\r'}
		case $line in
		*"fs begin "*)
			now
			begun=("$moved" "$exits" "$switches")
			;;
		*"fs end "*)
			now
			rest=${line#*fs end }
			# Who shows the console has written this line.
			case $1 in
			host) moved=$((moved - ${#line} - 1)) ;;
			plain | dax) moved=$((moved - ${#line} - 2)) ;;
			esac
			echo "fs by=$1 op=$rest moved=$((moved - begun[0]))$(:
				) exits=$((exits - begun[1]))$(:
				) switches=$((switches - begun[2]))"
			;;
		*"fs done") return 0 ;;
		*) echo "$1: $line" >&2 ;;
		esac
	done
	echo "$1: ended too early" >&2
	return 1
}

on_the_lab() {
	exec 3< <(exec chroot "$root" /b/fs_timer time /share/host)
	server=$!
	follow host
}

# ours WHO OPTION...: in a guest, with those options of the share.
ours() {
	local who=$1

	shift
	exec 3< <(exec chroot "$root" /b/hutch-vmm --kernel /vmlinux \
		--initrd /initrd --cpus "$cpus" --memory "$memory" --console - \
		--cmdline "$quiet reboot=k pci=off $(:
			)console=uart8250,mmio,0xd0000000" \
		--fs "tag=share,dir=/share/$who$*")
	server=$!
	follow "$who"
	wait "$server" || true
}

# virtiofsd WHO QEMU-OPTION...: in a guest of QEMU.
virtiofsd() {
	local who=$1 qemu

	shift
	rm -f "$root/virtiofsd.sock"
	chroot "$root" /b/virtiofsd --socket-path=/virtiofsd.sock \
		-o "source=/share/$who,sandbox=chroot" >&2 &
	server=$!
	until [ -S "$root/virtiofsd.sock" ]; do
		sleep 0.1
	done
	exec 3< <(exec chroot "$root" /b/qemu-system-x86_64 -cpu host \
		-smp "$cpus" -m "$memory" -L /qemu -nodefaults -no-user-config \
		-display none -serial stdio -no-reboot \
		-object "memory-backend-memfd,id=ram,size=$memory,share=on" \
		-initrd /initrd -append "$quiet reboot=t console=ttyS0" \
		-chardev socket,id=server,path=/virtiofsd.sock "$@")
	qemu=$!
	follow "$who"
	wait "$qemu" "$server" || true
}

# le32 N: four bytes.
le32() {
	local i v

	for i in 0 8 16 24; do
		printf -v v %03o $(($1 >> i & 255))
		# shellcheck disable=SC2059 # that is what it is
		printf "\\$v"
	done
}

# QEMU's microvm tells Linux of its devices by its command line, for which ours
# lacks the driver, and gives it no device tree: so one is put into its memory at
# $tree_at, and the kernel's header says where.
tree_at=$((80 << 20))
microvm_tree() {
	local i at

	{
		echo '/dts-v1/; / { #address-cells = <2>; #size-cells = <2>;'
		echo 'compatible = "qemu,microvm"; interrupt-parent = <&ioapic>;'
		echo 'cpus { #address-cells = <1>; #size-cells = <0>;'
		for ((i = 0; i < cpus; i++)); do
			echo "cpu@$i { device_type = \"cpu\"; reg = <$i>; };"
		done
		echo '}; lapic@fee00000 { compatible = "intel,ce4100-lapic";'
		echo 'reg = <0 0xfee00000 0 0x1000>; interrupt-controller; };'
		echo 'ioapic: ioapic@fec00000 { #interrupt-cells = <2>;'
		echo 'compatible = "intel,ce4100-ioapic"; #address-cells = <0>;'
		echo 'reg = <0 0xfec00000 0 0x1000>; interrupt-controller; };'
		for i in 0 1 2 3 4 5 6 7; do
			printf -v at %x $((0xfeb00000 + i * 512))
			echo "virtio@$at { compatible = \"virtio,mmio\";"
			echo "reg = <0 0x$at 0 512>; interrupts = <$((5 + i)) 1>; };"
		done
		echo '};'
	} | dtc -q -O dtb -o "$root/tree.dtb"
	# struct setup_data: next, type, length.
	{
		le32 0 && le32 0 && le32 2
		le32 "$(stat -c %s "$root/tree.dtb")"
		cat "$root/tree.dtb"
	} >"$root/tree"
	cp "$root/bzImage" "$root/microvm"
	le32 $tree_at | dd of="$root/microvm" bs=1 seek=$((0x250)) \
		conv=notrunc status=none
}

bench_root "$1" tests/bench/fs_timer "$server_file" \
	"$(command -v qemu-system-x86_64)"
mkdir "$root"/{share,qemu,debug,tmp}
for who in host plain dax mmio pci; do
	chroot "$root" /b/fs_timer make "/share/$who"
done
cp /usr/share/seabios/bios-256k.bin /usr/share/qemu/linuxboot_dma.bin \
	/usr/share/qemu/kvmvapic.bin /usr/share/qemu/qboot.rom "$root/qemu/"
cp "$kernel/bzImage" "$root/"
microvm_tree
cp "$root/b/fs_timer" "$root/init"
(cd "$root" && echo init | busybox cpio -o -H newc) >"$root/initrd" 2>/dev/null
mount -t debugfs bench "$root/debug"
# The first process after a boot can read three times high.
sleep 2
on_the_lab
ours plain ""
ours dax ",dax=always,window=$window"
virtiofsd mmio -global virtio-mmio.force-legacy=false -kernel /microvm \
	-M "microvm,accel=kvm,memory-backend=ram,kernel-irqchip=split,pic=off,$(:
		)pit=off,rtc=off,acpi=off,auto-kernel-cmdline=off" \
	-device "loader,file=/tree,addr=$tree_at,force-raw=on" \
	-device vhost-user-fs-device,chardev=server,tag=share,queue-size=1024
virtiofsd pci -M q35,accel=kvm,memory-backend=ram -kernel /bzImage \
	-device vhost-user-fs-pci,chardev=server,tag=share,queue-size=1024
