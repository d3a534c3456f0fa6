#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# boot.sh - inside the lab: time boots; scripts/bench calls it
#
# Usage: boot.sh BUILD RUNS CPUS MEMORY     (HUTCH_KERNEL is the kernel)
set -euo pipefail
# shellcheck source=tests/bench/root.sh
. "$(dirname "$0")/root.sh"
runs=$2 cpus=$3 memory=$4

bench_root "$1" tests/bench/boot_timer
mv "$root/b/hutch-vmm" "$root/b/hutch-vmm.real"
cp "$1/tests/bench/with_control" "$root/b/hutch-vmm"

# The first process after a boot can read three times high.
sleep 2
# One that does not count: folders are made, libraries read in.
for i in $(seq 0 "$runs"); do
	line=$(chroot "$root" /b/boot_timer /b/stats.sock /b/hutch run --rm \
		--cpus "$cpus" --memory "$memory" -- sh -c 'echo x; sleep 1000')
	rm -f "$root/b/stats.sock"
	[ "$i" = 0 ] || echo "run $line"
	# Its memory is given back; idle time costs nothing here.
	sleep 1
done
