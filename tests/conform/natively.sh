#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# natively.sh - the rules of POSIX on this machine, without a guest
#
# Usage: natively.sh CONFORM FS_MOUNT TREE
#
# On its disk and in memory, which shows that the rules are right; then on what
# vmm/fs makes of a folder, with this kernel as the guest: as a share, as one
# whose locks are the host's, as one that is not cached, as a mapped tree, and as
# the root of a VM from an image, an overlay over one. And docs/conformance.md says
# what is said to differ. Speaks TAP. Needs root, and /dev/fuse for the last five.
set -euo pipefail

conform=$(realpath "$1") fs_mount=$(realpath "$2") tree=$(realpath "$3")

# shellcheck source=served.sh
. "$tree/tests/conform/served.sh"
own_namespace "$@"
own_folder
mem=$(mktemp -d /dev/shm/conform.XXXXXX)

# What this folder is on, as the rules know it.
kind_of() {
	case $(stat -f -c %T "$1") in
	tmpfs) echo tmpfs ;;
	overlayfs) echo overlay ;;
	*) echo disk ;;
	esac
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

mkdir disk-dir
check "the disk" "$conform" --kind "$(kind_of .)" disk-dir
check "memory" "$conform" --kind tmpfs "$mem"
check_served "a share" served host share "$conform" --kind share mnt
check_served "a share whose locks are the host's" \
	served host-locks locks "$conform" --kind share mnt 'lock/*'
check_served "a share of which nothing is remembered" \
	served host-nocache nocache "$conform" --kind share mnt \
	'open/*' 'write/*' 'truncate/*' 'map/*' create/by_several_at_once
check_served "a mapped tree" served mapped tree "$conform" --kind mapped mnt
check_served "a root over a mapped tree" \
	over_mapped "$conform" --kind root-here over
check "what differs is documented" documented
checked
