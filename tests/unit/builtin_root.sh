#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# builtin_root.sh MKCPIO MAKE BUSYBOX HERE ARCHIVE - the built-in root
set -eu

mkcpio=$(realpath "$1") make=$(realpath "$2") busybox=$3 here=$4
archive=$(realpath "$5")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
	echo "builtin_root: $*" >&2
	exit 1
}

# The same bytes from another day, another umask, another folder.
(umask 077 && cd / && "$make" "$mkcpio" "$busybox" "$here" "$tmp/again")
cmp "$archive" "$tmp/again" || fail "two runs differ"

"$busybox" cpio -t <"$archive" >"$tmp/list" 2>/dev/null
for p in bin/busybox usr/bin etc/passwd etc/group home/user root tmp proc \
	sys dev; do
	grep -qx ".hutch/root/$p" "$tmp/list" || fail "no $p"
done

(cd "$tmp" && "$busybox" cpio -id <"$archive" 2>/dev/null)
[ "$(stat -c %a "$tmp/.hutch/root/tmp")" = 1777 ] || fail "mode of /tmp"
cmp "$busybox" "$tmp/.hutch/root/bin/busybox" || fail "busybox differs"
for p in bin/sh bin/ls usr/bin/env usr/bin/id usr/bin/top bin/ps bin/vi; do
	grep -qx "bin/busybox \(usr/\)\?$p" "$tmp/.hutch/links" || fail "no $p"
done

# Lines that mean nothing are refused, and leave no half archive.
for line in 'dir x' 'dir x 0755 0 zero' 'dir x 9 0 0' 'file x /nope 0644 0 0' \
	'nod x 0644 0 0 c 5 1' 'slink x'; do
	if echo "$line" | "$mkcpio" "$tmp/bad" 2>"$tmp/err"; then
		fail "took '$line'"
	fi
	[ -s "$tmp/err" ] || fail "no sentence for '$line'"
	[ ! -e "$tmp/bad" ] || fail "left a half archive for '$line'"
done
echo ok
