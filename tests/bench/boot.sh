#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# boot.sh - inside the lab: time boots; scripts/bench calls it
#
# Usage: boot.sh BUILD RUNS CPUS MEMORY     (HUTCH_KERNEL is the kernel)
set -euo pipefail
build=$1 runs=$2 cpus=$3 memory=$4

top=$(mktemp -d /dev/shm/bench.XXXXXX)
trap 'rm -rf "$top"' EXIT
for f in host/cli/hutch host/keeper/hutch-keeper guest-agent/hutch-agent \
	images/builtin.cpio tests/bench/boot_timer; do
	cp "$build/$f" "$top/"
done
cp "$build/vmm/hutch-vmm" "$top/hutch-vmm.real"
cp "$build/tests/bench/with_control" "$top/hutch-vmm"
cp "$HUTCH_KERNEL" "$top/vmlinux"
export HUTCH_KERNEL=$top/vmlinux HUTCH_LIBEXEC=$top HUTCH_STATE=$top/s

# The first process after a boot can read three times high.
sleep 2
# One that does not count: folders are made, libraries read in.
for i in $(seq 0 "$runs"); do
	line=$("$top/boot_timer" "$top/stats.sock" "$top/hutch" run --rm \
		--cpus "$cpus" --memory "$memory" -- sh -c 'echo x; sleep 1000')
	rm -f "$top/stats.sock"
	[ "$i" = 0 ] || echo "run $line"
	# Its memory is given back; idle time costs nothing here.
	sleep 1
done
