# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared folders whose files are mapped: the window of virtio-fs on a real KVM

# mapped WORDS: from now on each share of a VM has these words too.
mapped() {
	mkdir libexec share
	ln -s "$HUTCH_LIBEXEC"/* libexec/
	rm libexec/hutch-vmm
	cat >libexec/hutch-vmm <<-END
		#!/bin/bash
		for a; do
			case \$a in tag=hutch*) a+=,$1 ;; esac
			args+=("\$a")
		done
		exec "$HUTCH_LIBEXEC/hutch-vmm" "\${args[@]}"
	END
	chmod 755 libexec/hutch-vmm
	export HUTCH_LIBEXEC=$PWD/libexec
	cp "$(command -v guest_map)" share/tool
}

# tool VM WORD...: run it there; the folder is /data.
tool() {
	expect 0 hutch exec "$1" -- /data/tool "${@:2}"
}

# stat_of VM KEY: a number of its monitor's.
stat_of() {
	/usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"stats\n")
print(dict(w.split("=", 1) if "=" in w else (w, "") for w in
      s.makefile().readline().split()).get(sys.argv[2], "none"))
' "$HUTCH_STATE/run/$1/vmm.sock" "$2"
}

# Nothing here could be so if the guest had copies.
test_mapped_files_are_the_hosts_own_pages() {
	local n

	mapped dax=always,window=32M
	dd if=/dev/urandom of=share/in bs=1000 count=5000 status=none
	cp share/in share/out
	start v -v ./share:/data
	start w -v ./share:/data
	tool v cat /data/in
	cmp "$out" share/in || fail "what the guest read"
	tool v put /data/out 3000000 'by the guest'
	is 'by the guest' "$(tail -c +3000001 share/out | head -c 12)" \
		"what the guest wrote"
	is 5000000 "$(stat -c %s share/out)" "the file's size"
	# A mapping that is there sees what the other guest, or the host, writes.
	hutch exec v -- /data/tool wait /data/out 0 'by the other' >v.log 2>&1 &
	tool w put /data/out 0 'by the other'
	wait $! || fail "the first guest: $(cat v.log)"
	hutch exec v -- /data/tool wait /data/out 4999000 'by the host' \
		>v.log 2>&1 &
	printf 'by the host' |
		dd of=share/out bs=1 seek=4999000 conv=notrunc status=none
	wait $! || fail "the first guest: $(cat v.log)"
	# More than the window: 16 slots, 24 that are wanted.
	mkdir share/many
	for n in $(seq 0 11); do
		head -c 4M /dev/zero | tr '\0' "\\$(printf %03o "$n")" \
			>"share/many/$n"
	done
	tool v many /data/many 12
	at_most 16 "$(stat_of v fs_mapped)" "slots in use"
	[ "$(stat_of v fs_mapped)" -gt 2 ] || fail "nothing is mapped"
	hutch stop v w
}

# Where a file has ended there are zero pages, and the guest goes on.
test_file_that_changes_its_length_under_a_reader_and_a_writer() {
	local n pid

	mapped dax=always
	head -c 2M /dev/zero >share/f
	start v -v ./share:/data
	hutch exec v -- /data/tool ride /data/f 512 >ride.log 2>&1 &
	pid=$!
	retry 30 grep -q w share/f
	for n in $(seq "$(size 10 200)"); do
		truncate -s 0 share/f
		sleep 0.1
		truncate -s $((n * 100000)) share/f
		sleep 0.05
	done
	truncate -s 2M share/f
	# Whoever asks for the file's attributes sees it whole.
	retry 30 sh -c 'hutch exec v -- stat /data/f && grep -q w share/f'
	# Nobody has a name for it, and then its bytes go.
	exec 9<>share/f
	rm share/f
	truncate -s 0 /proc/self/fd/9
	sleep 0.5
	touch share/f.stop
	wait $pid || fail "the reader and the writer: $(cat ride.log)"
	exec 9<&-
	[ "$(stat_of v fs_mended)" -gt 0 ] || fail "nothing had to be mended"
	expect 0 hutch exec v -- true
	hutch stop v
}
