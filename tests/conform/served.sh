# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What is tried on folders that vmm/fs serves to this machine's kernel
#
# Sourced by a script that has the path of fs_mount in $fs_mount. Leaves it in a
# folder of its own, $top, which goes with it; mounts are ours alone. Speaks TAP:
#
#	check NAME COMMAND...		its last line of output, or all if it fails
#	check_served NAME COMMAND...	the same, of what needs /dev/fuse
#	served OWNER DIR COMMAND...	DIR served at mnt meanwhile
#	over_mapped COMMAND...		in over: a root as a VM's
#	checked				how many, and how it went

: "${fs_mount:?}"
# Of a user who is nobody here.
user=64123
n=0 failed=0

# own_namespace ARG...: those of this script, which is begun again. Needs root.
own_namespace() {
	if [ "$(id -u)" != 0 ]; then
		echo "1..0 # SKIP this is about several users: run by root"
		exit 0
	fi
	if [ -z "${CONFORM_IN_NAMESPACE:-}" ]; then
		export CONFORM_IN_NAMESPACE=1
		exec unshare --mount --propagation private "$0" "$@"
	fi
}

done_with_it() {
	umount "$top/over" 2>/dev/null || true
	rm -rf --one-file-system "$top" ${mem:+"$mem"}
}

own_folder() {
	top=$(mktemp -d "$PWD/conform.XXXXXX") mem=''
	trap done_with_it EXIT
	trap 'exit 130' INT TERM HUP
	chmod 755 "$top"
	cd "$top" || exit
	mkdir low over
}

check() {
	local name=$1

	shift
	n=$((n + 1))
	if "$@" >log 2>&1; then
		echo "ok $n - $name: $(tail -n 1 log)"
	else
		failed=1
		sed 's/^/# /' log
		echo "not ok $n - $name"
	fi
}

check_served() {
	if [ -c /dev/fuse ]; then
		check "$@"
		return
	fi
	n=$((n + 1))
	echo "ok $n - $1 # SKIP no /dev/fuse"
}

served() {
	local owner=$1 dir=$2

	shift 2
	mkdir -p "$dir" "mnt"
	chown "$user:$user" "$dir"
	chmod 755 "$dir"
	"$fs_mount" "$owner" "$user" "$dir" mnt "$@"
}

# As a guest's root is: the layer and its work folder lie on one share.
# shellcheck disable=SC2016 # the inner shell's
as_root='mkdir -p mnt/up mnt/work && mount -t overlay over -o "$1" over &&
	shift && "$@"; code=$?; umount over; exit $code'
over_mapped() {
	served mapped disk bash -c "$as_root" root \
		"lowerdir=low,upperdir=mnt/up,workdir=mnt/work,redirect_dir=on,xino=on,index=off,metacopy=off" \
		"$@"
}

checked() {
	echo "1..$n"
	exit $failed
}
