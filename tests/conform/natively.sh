#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# natively.sh - the rules of POSIX on this machine, without a guest
#
# Usage: natively.sh CONFORM FS_MOUNT TREE
#
# On its disk and in memory, which shows that the rules are right; then on what
# vmm/fs makes of a folder, with this kernel as the guest: as a share, as one
# whose locks are the host's, as a mapped tree, and as the root of a VM from an image, an overlay over one. And
# docs/conformance.md says what is said to differ.
# Speaks TAP. Needs root, and /dev/fuse for the last four.
set -euo pipefail

conform=$(realpath "$1") fs_mount=$(realpath "$2") tree=$(realpath "$3")

# Mounts are ours alone.
if [ -z "${CONFORM_IN_NAMESPACE:-}" ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "1..0 # SKIP rules are about several users: run by root"
		exit 0
	fi
	export CONFORM_IN_NAMESPACE=1
	exec unshare --mount --propagation private "$0" "$@"
fi

# Of a user who is nobody here.
user=64123
n=0 failed=0
top=$(mktemp -d "$PWD/conform.XXXXXX")
mem=$(mktemp -d /dev/shm/conform.XXXXXX)
done_with_it() {
	umount "$top/mapped-root" "$top/over" 2>/dev/null || true
	rm -rf --one-file-system "$top" "$mem"
}
trap done_with_it EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$top"
cd "$top"

# check NAME COMMAND...
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

# check, of what this kernel has to be the guest for.
check_served() {
	if [ -c /dev/fuse ]; then
		check "$@"
		return
	fi
	n=$((n + 1))
	echo "ok $n - $1 # SKIP no /dev/fuse"
}

# What this folder is on, as the rules know it.
kind_of() {
	case $(stat -f -c %T "$1") in
	tmpfs) echo tmpfs ;;
	overlayfs) echo overlay ;;
	*) echo disk ;;
	esac
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
	"$2" --kind root-here over; code=$?; umount over; exit $code'
root_overlay() {
	served mapped disk bash -c "$as_root" root \
		"lowerdir=low,upperdir=mnt/up,workdir=mnt/work,redirect_dir=on,xino=on,index=off,metacopy=off" \
		"$conform"
}

# Each difference is a line of the page, and of a rule that there is.
documented() {
	local code=0 line pattern patterns

	"$conform" --differs >differs || return
	while IFS= read -r line; do
		if ! grep -qxF -- "$line" "$tree/docs/conformance.md"; then
			echo "not in docs/conformance.md: $line"
			code=1
		fi
		[[ $line =~ \`(.*)\` ]] || continue
		read -ra patterns <<<"${BASH_REMATCH[1]}"
		for pattern in "${patterns[@]}"; do
			if [ -z "$("$conform" --list "$pattern")" ]; then
				echo "there is no rule $pattern"
				code=1
			fi
		done
	done <differs
	[ -s differs ] && return "$code"
}

mkdir disk-dir low over
check "the disk" "$conform" --kind "$(kind_of .)" disk-dir
check "memory" "$conform" --kind tmpfs "$mem"
check_served "a share" served host share "$conform" --kind share mnt
check_served "a share whose locks are the host's" \
	served host-locks locks "$conform" --kind share mnt 'lock/*'
check_served "a mapped tree" served mapped tree "$conform" --kind mapped mnt
check_served "a root over a mapped tree" root_overlay
check "what differs is documented" documented
echo "1..$n"
exit $failed
