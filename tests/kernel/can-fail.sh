#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The checks of the guest kernel's configuration notice what they are for: each
# case spoils one thing in a copy of the tree and wants it named. Needs no
# kernel, no network and no KVM.
set -euo pipefail
export LC_ALL=C

tree=$(cd "$(dirname "$0")/../.." && pwd -P)
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
passed=0
failed=0

fresh() {
	rm -rf "$top/tree"
	mkdir -p "$top/tree/scripts"
	cp "$tree"/scripts/{lib.sh,kernel-lib.sh,check-kernel,build-kernel} \
		"$top/tree/scripts/"
	cp -r "$tree/kernel-config" "$top/tree/"
	spoiled=$top/tree/kernel-config
}

verdict() {
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
		echo "ok - $2"
	else
		failed=$((failed + 1))
		cat "$top/output"
		echo "not ok - $2"
	fi
}

# wants CODE TEXT NAME COMMAND...: COMMAND ends with CODE and says TEXT.
wants() {
	local code=$1 text=$2 name=$3 got=0

	shift 3
	"$@" >"$top/output" 2>&1 || got=$?
	[ "$got" -ne "$code" ] || grep -qF -- "$text" "$top/output" || got=none
	if [ "$got" = "$code" ]; then got=0; else got=1; fi
	verdict $got "$name"
}

documents() {
	"$top/tree/scripts/check-kernel" --arch x86_64 --documents
}

# A final configuration: what is asked for, and what the requirements name.
make_config() {
	(
		hutch_me=can-fail
		# shellcheck source=scripts/lib.sh
		. "$tree/scripts/lib.sh"
		# shellcheck source=scripts/kernel-lib.sh
		. "$tree/scripts/kernel-lib.sh"
		kernel_requested "$tree"/kernel-config/{base,x86_64}.config | while read -r symbol value; do
			[ "$value" = n ] || echo "CONFIG_$symbol=$value"
		done
	)
	sed '/^#/d;s/^[^:]*://' "$tree"/kernel-config/requirements*.txt |
		tr ' ' '\n' | sed -n 's/^[A-Z0-9_]*$/CONFIG_&=y/p' |
		grep -v '^CONFIG_=y$'
}

# moby's script, in short: it is found in the cache like the real one.
make_moby() {
	mkdir -p "$top/cache/hutch"
	cat >"$top/cache/hutch/moby-check-config.0.sh" <<-'SCRIPT'
	echo 'Generally Necessary:'
	for s in $(sed -n 's/^CONFIG_\([A-Z0-9_]*\)=y/\1/p' "$1" | head -n 20); do
		printf -- '- \033[37mCONFIG_%s\033[m: \033[32menabled\033[m\n' $s
	done
	if ! grep -q '^CONFIG_VETH=y' "$1"; then
		printf -- '- \033[1mCONFIG_VETH\033[m: \033[31mmissing\033[m\n'
	fi
	echo 'Optional Features:'
	echo '- CONFIG_IDLE: missing'
	SCRIPT
}

# final SED-SCRIPT: check-kernel on a final configuration that the script has
# spoiled.
final() {
	sed "$1" "$top/whole" >"$top/config"
	XDG_CACHE_HOME=$top/cache "$top/tree/scripts/check-kernel" \
		--arch x86_64 --config "$top/config"
}

fresh
wants 0 '0 failed' "the tree's own documents are in order" documents

fresh
sed -i '/^CONFIG_TUN=y$/d' "$spoiled/base.config"
wants 1 TUN "a reason without a symbol is found" documents

fresh
echo CONFIG_WIREGUARD=y >>"$spoiled/base.config"
wants 1 WIREGUARD "a symbol without a reason is found" documents

fresh
echo '# CONFIG_WATCHDOG is not set' >>"$spoiled/base.config"
wants 1 WATCHDOG "a symbol that is off needs a reason too" documents

fresh
echo CONFIG_TUN=y >>"$spoiled/x86_64.config"
wants 1 TUN "a symbol asked for twice is found" documents

fresh
# shellcheck disable=SC2016 # a table's back-quotes
echo '| `KVM_GUEST` | again |' >>"$spoiled/README.md"
sed -i 's/^## Mitigations$/## x86_64.config/' "$spoiled/README.md"
wants 1 KVM_GUEST "a symbol with two reasons is found" documents

fresh
echo 'CONFIG_TUN = y' >>"$spoiled/base.config"
wants 2 'CONFIG_TUN = y' "a line that is no symbol is refused" documents

fresh
make_config >"$top/whole"
make_moby
wants 0 ' 0 failed' "a configuration with all of it passes" final ''
wants 1 'CONFIG_TUN: asked for y, is n' \
	"a symbol that Kconfig dropped is named" final '/^CONFIG_TUN=/d'
wants 1 'CONFIG_MODULES: asked for n, is y' \
	"a symbol that must be off and is on is named" \
	final '1iCONFIG_MODULES=y'
wants 1 'CONFIG_NR_CPUS: asked for 64, is 8' \
	"a number that Kconfig changed is named" \
	final 's/NR_CPUS=64/NR_CPUS=8/'
wants 1 'CONFIG_PAGE_REPORTING is not set' \
	"an unmet requirement is named" final '/^CONFIG_PAGE_REPORTING=/d'
wants 1 'CONFIG_SCSI is y, must not be set' \
	"what a requirement forbids is named" final '1iCONFIG_SCSI=y'
wants 1 'CONFIG_BLK_DEV_LOOP_MIN_COUNT is 8, must be 0' \
	"a required value that differs is named" \
	final 's/MIN_COUNT=0/MIN_COUNT=8/'
wants 1 'CONFIG_VETH: missing' "what moby misses is named" \
	final '/^CONFIG_VETH=/d'
wants 1 'less than 20 symbols' "a moby script that looks at nothing fails" \
	final '10,999d'

fresh
echo 'CONFIG_TUN = y' >>"$spoiled/base.config"
wants 2 'CONFIG_TUN = y' "no kernel is built from a line that is no symbol" \
	"$top/tree/scripts/build-kernel" --arch x86_64 --print-path
wants 2 "'mips'" "an architecture without a kernel is refused" \
	"$top/tree/scripts/build-kernel" --arch mips
wants 2 "'0'" "no jobs are refused" \
	"$top/tree/scripts/build-kernel" --jobs 0
wants 2 "'--frobnicate'" "an unknown option is refused" \
	"$top/tree/scripts/build-kernel" --frobnicate

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
