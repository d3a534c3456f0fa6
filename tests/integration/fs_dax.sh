# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared folders whose files are mapped: the window of virtio-fs on a real KVM

# shared: a folder for guests, with the program that maps files.
shared() {
	mkdir share
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

	shared
	dd if=/dev/urandom of=share/in bs=1000 count=5000 status=none
	cp share/in share/out
	start v -v ./share:/data:dax=always,window=32M
	start w --mount "type=bind,src=$PWD/share,dst=/data,dax=always,window=32M"
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

	shared
	head -c 2M /dev/zero >share/f
	start v -v ./share:/data:dax=always
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

# dax_of VM FILE...: whether it maps each, in one line of 1 and 0.
dax_of() {
	expect 0 hutch exec "$1" -- /tool dax "${@:2}"
	tr -d '\n' <"$out"
}

# An image's large files, in VMs that have the memory for it, and as they say.
test_files_of_an_image_are_mapped() {
	local v

	mkdir -p image/bin share
	cp "$(command -v guest_map)" image/tool
	cp image/tool image/large
	truncate -s 2M image/large
	head -c 3M /dev/urandom >image/big
	echo small >image/little
	cp image/big share/
	tar -C image -cf image.tar .
	expect 0 hutch image import image.tar mapped

	hutch start -m 512M -v ./share:/data:ro v mapped >/dev/null
	hutch start --disk ram -m 512M w mapped >/dev/null
	hutch start --disk ram -m 256M small mapped >/dev/null
	# Not the folder of a user's, though it is read-only.
	is 1100 "$(dax_of v /big /large /little /data/big)" "in 512M"
	is 0 "$(dax_of small /big)" "in 256M"
	for v in v w; do
		# A program that is mapped itself.
		expect 0 hutch exec $v -- /large cat /big
		cmp "$out" image/big || fail "what $v read"
	done
	[ "$(stat_of w fs_mapped)" -gt 1 ] || fail "nothing is mapped"
	# What is written is on the disk, and that is not mapped.
	expect 0 hutch exec v -- /tool put /big 0 'by the guest'
	is 01 "$(dax_of v /big /large)" "after a copy"
	expect 0 hutch exec w -- /tool cat /big
	cmp "$out" image/big || fail "the image is not what it was"
	hutch stop v w small

	# As it was asked for, also when that is not said again.
	is auto "$(hutch inspect --json v | json 0.image_dax)" "on record"
	expect 0 hutch start --image-dax always,window=32M -m 256M \
		--mount "type=bind,src=$PWD/share,dst=/data,dax=inode" v
	is 0111 "$(dax_of v /big /large /little /data/big)" "after a change"
	hutch stop v
	expect 0 hutch start v
	is 0111 "$(dax_of v /big /large /little /data/big)" "as it was changed"
	expect 0 hutch inspect v
	like '^image-dax +always,window=32M$' "$(cat "$out")" "inspect"
	like '^mount +.*/share:/data:dax=inode$' "$(cat "$out")" "inspect"
	hutch stop v
	expect 0 hutch run --disk ram --image-dax never -m 512M mapped \
		/tool dax /big
	is 0 "$(cat "$out")" "where it is not wanted"
	# No descriptors for a window: none that is asked for, none unasked.
	ulimit -n 300
	expect 0 hutch run --disk ram -m 512M mapped /tool dax /big
	is 0 "$(cat "$out")" "with few descriptors"
	refused 125 'raise it, ulimit -n' hutch run --disk ram -m 512M \
		--image-dax inode mapped /tool dax /big
}
