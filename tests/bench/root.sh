# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# root.sh - a root in memory for what is measured; sourced inside the lab
#
# The lab's own root is a file system of the host's, whose answers come in the
# host's time. bench_root BUILD PROGRAM... makes $root, with the programs (of
# BUILD, unless they begin with a /) in /b beside those that hutch needs, their
# libraries, /dev, /proc and the kernel as /vmlinux, and exports what hutch goes
# by; it is removed at exit.

bench_root_done() {
	umount "$root"/{proc,dev,debug} 2>/dev/null || true
	rm -rf --one-file-system "$root"
}

bench_root() {
	local build=$1 f

	shift
	root=$(mktemp -d /dev/shm/bench.XXXXXX)
	trap bench_root_done EXIT
	mkdir "$root"/{b,dev,proc}
	mount --bind /dev "$root/dev"
	mount -t proc proc "$root/proc"
	for f in host/cli/hutch host/keeper/hutch-keeper vmm/hutch-vmm \
		guest-agent/hutch-agent images/builtin.cpio "$@"; do
		case $f in
		/*) cp "$f" "$root/b/" ;;
		*) cp "$build/$f" "$root/b/" ;;
		esac
	done
	cp "$HUTCH_KERNEL" "$root/vmlinux"
	# From lines "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (..)"; a
	# static program has none.
	for f in "$root"/b/*; do
		{ ldd "$f" 2>/dev/null || true; } | { grep -oE '/[^ ]+' ||
			true; } | while read -r lib; do
			install -D -m 755 "$lib" "$root$lib"
		done
	done
	export HUTCH_KERNEL=/vmlinux HUTCH_LIBEXEC=/b HUTCH_STATE=/s
}
