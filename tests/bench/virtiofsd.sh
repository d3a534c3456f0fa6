#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# virtiofsd.sh - print the path of Debian's virtiofsd, the one in C; scripts/bench
# calls it
#
# It was part of QEMU up to 7.2, and is in Debian 12's own package of that, which
# is fetched into the cache and taken apart there: nothing is installed.
set -euo pipefail

hutch_me=bench
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"
package=qemu-system-common
dir=$(hutch_cache)/virtiofsd

make() {
	local new version

	[ ! -e "$dir" ] || return 0
	hutch_apt_update
	version=$(hutch_apt cache madison $package |
		awk '$3 ~ /^1:7\./ { print $3 }' | sort -V | tail -n 1)
	[ -n "$version" ] || hutch_die "Debian $(hutch_codename) has no" \
		"virtiofsd in C: 12 has it, in $package 1:7.2"
	new=$(mktemp -d "$dir.XXXXXX")
	hutch_note "fetching $package $version (2 MB), once"
	{
		hutch_apt_fetch "$new" "$package=$version" &&
			dpkg-deb -x "$new"/$package*.deb "$new" &&
			[ -x "$new/usr/lib/qemu/virtiofsd" ]
	} || {
		rm -rf "$new"
		hutch_die "cannot get $package $version"
	}
	chmod 755 "$new"
	mv -T "$new" "$dir"
}

[ -e "$dir" ] || hutch_once "$dir.lock" make >&2
echo "$dir/usr/lib/qemu/virtiofsd"
