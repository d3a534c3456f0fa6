#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# boot.sh - inside the lab: time boots; scripts/bench calls it
#
# Usage: boot.sh BUILD RUNS CPUS MEMORY     (HUTCH_KERNEL is the kernel)
#
# All that is run and read lies in a root of its own in memory: the lab's root
# is a file system of the host's, whose answers come in the host's time.
set -euo pipefail
build=$1 runs=$2 cpus=$3 memory=$4

root=$(mktemp -d /dev/shm/bench.XXXXXX)
done_with() {
	umount "$root/proc" "$root/dev" 2>/dev/null || true
	rm -rf --one-file-system "$root"
}
trap done_with EXIT

mkdir "$root"/{b,dev,proc}
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
for f in host/cli/hutch host/keeper/hutch-keeper guest-agent/hutch-agent \
	images/builtin.cpio tests/bench/boot_timer; do
	cp "$build/$f" "$root/b/"
done
cp "$build/vmm/hutch-vmm" "$root/b/hutch-vmm.real"
cp "$build/tests/bench/with_control" "$root/b/hutch-vmm"
cp "$HUTCH_KERNEL" "$root/vmlinux"
# The libraries, from lines "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (..)".
for f in hutch hutch-keeper hutch-vmm.real hutch-vmm boot_timer; do
	# A static one has none.
	{ ldd "$root/b/$f" 2>/dev/null || true; } | { grep -oE '/[^ ]+' || true; } |
		while read -r lib; do
			install -D -m 755 "$lib" "$root$lib"
		done
done
export HUTCH_KERNEL=/vmlinux HUTCH_LIBEXEC=/b HUTCH_STATE=/s

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
