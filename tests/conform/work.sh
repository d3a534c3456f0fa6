#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# work.sh - what people do with files, on what vmm/fs serves to this kernel
#
# Usage: work.sh share|root GUEST_FILES FS_MOUNT TREE
#
# The same as the integration tests do in guests (guest_work.sh), where a guest of
# an emulated machine is too slow for such sizes; HUTCH_LONG asks for the large ones.
# Speaks TAP. Needs root, and /dev/fuse.
set -euo pipefail

kind=$1 guest_files=$(realpath "$2") fs_mount=$(realpath "$3")
tree=$(realpath "$4")
# shellcheck source=served.sh
. "$tree/tests/conform/served.sh"
own_namespace "$@"
own_folder

# size CI LONG
size() {
	if [ -n "${HUTCH_LONG:-}" ]; then echo "$2"; else echo "$1"; fi
}

# timed COMMAND...: says how long it took, which nothing depends on.
timed() {
	SECONDS=0
	"$@" || return
	echo "$SECONDS s"
}

# try WORD...: on a folder of that kind.
try() {
	case $kind in
	share) check_served "$*, on a share" timed served host share \
		env -C mnt "$top/guest_work.sh" share "$@" ;;
	root) check_served "$*, on a root" timed over_mapped \
		env -C over "$top/guest_work.sh" root-here "$@" ;;
	esac
}

cp "$guest_files" guest_files
cp "$tree/tests/integration/guest_work.sh" .
try odd 1000
try names "$(size 10000 100000)"
try tree "$(size 3000 80000)" "$(size 60 1400)"
try git "$(size 2000 20000)"
try sqlite "$(size 2000 20000)"
try apt "$(size 200 2000)"
try stress "$(size 10 100)" 1/1
try fio "$(size 16 256)"
checked
