# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared folders: hutch run -v and --mount, the virtio-fs device on a real KVM

# share: a folder of this host with the tool for files in it.
share() {
	mkdir share
	cp "$(command -v guest_files)" share/tool
}

# tool WORD...: run it in VM v, which has the folder as /data.
tool() {
	expect 0 hutch exec v -- /data/tool "$@"
}

# as_hashed FILE: what sha256sum says of it here.
as_hashed() {
	sha256sum "$1" | cut -d ' ' -f 1
}

test_read_and_write_both_ways() {
	mkdir share
	echo hello >share/file
	chmod 600 share/file
	expect 0 hutch run -v "$PWD/share:/data" -- sh -c '
		stat -c "%n %s %a %u:%g %F" /data/file
		cat /data/file
		grep " /data " /proc/mounts
		echo back >/data/new && chmod 640 /data/new
		mkdir -m 750 /data/sub && mv /data/file /data/sub/moved
		ln -s sub/moved /data/link && ln /data/new /data/hard
		cat /data/link'
	is '/data/file 6 600 0:0 regular file' "$(sed -n 1p "$out")" "stat"
	is hello "$(sed -n 2p "$out")" "what the host wrote"
	like '^hutch0 /data virtiofs rw' "$(sed -n 3p "$out")" "the mount"
	is hello "$(sed -n 4p "$out")" "through a symlink"
	is back "$(cat share/new)" "what the guest wrote"
	is "640 2 $(id -u)" "$(stat -c '%a %h %u' share/new)" "its inode"
	is 750 "$(stat -c %a share/sub)" "mode of a folder"
	is hello "$(cat share/sub/moved)" "the file that moved"
	is sub/moved "$(readlink share/link)" "a symlink"
}

# To whom they are said to belong, who may do with them what we may.
test_files_belong_to_whom_it_is_said() {
	mkdir share
	echo hello >share/file
	chmod 700 share
	chmod 600 share/file
	expect 0 hutch run -u 1000:100 -v ./share:/data:uid=1000,gid=100 -- \
		sh -c 'stat -c %u:%g /data/file && cat /data/file &&
			echo back >/data/new && stat -c %u:%g /data/new'
	is "1000:100 hello 1000:100" "$(xargs <"$out")" "what user 1000 sees"
	is "back $(id -u)" "$(cat share/new) $(stat -c %u share/new)" "its file"
	refused 125 'uid and gid are for folders' hutch run -v data:/d:uid=1 -- true
}

test_mounts_are_made_where_they_are_asked_for() {
	mkdir outer inner file.d
	echo o >outer/o
	echo i >inner/i
	echo one >file.d/conf
	start v -v ./inner:/srv/a/b/deep:ro \
		--mount "type=bind,src=$PWD/outer,dst=/srv/a" \
		-v ./file.d/conf:/etc/hutch/conf
	expect 0 hutch exec v -- cat /srv/a/o /srv/a/b/deep/i /etc/hutch/conf
	is 'o i one' "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "the files"
	[ -d outer/b/deep ] || fail "no mount point in a mount"
	# A file can be written in place.
	expect 0 hutch exec v -- sh -c 'echo two >>/etc/hutch/conf'
	is 'one two' "$(tr '\n' ' ' <file.d/conf | sed 's/ $//')" "the file"
	expect 0 hutch exec v -- sh -c 'ls /etc/hutch; ls -d /run/.h* || true'
	is conf "$(cat "$out")" "nothing but the file"
	hutch inspect v >rec
	is "$PWD/outer:/srv/a
$PWD/inner:/srv/a/b/deep:ro" "$(sed -n 's/^mount *//p' rec | tail -n 2)" \
		"the record"
	is true "$(hutch inspect --json v | json 0.mounts.2.readonly)" "in JSON"
	hutch stop v
}

test_wrong_mounts_are_refused_before_anything_is_made() {
	mkfifo fifo
	refused 125 "no '.*/none' on this host" hutch run -v ./none:/d -- true
	refused 125 'neither a folder' hutch run -v ./fifo:/d -- true
	refused 125 'absolute path' hutch run -v .:d -- true
	refused 125 "no volume's name" hutch run -v 'v l:/d' -- true
	refused 125 'which a VM mounts itself' hutch run --mount type=tmpfs,dst=/d -- true
	refused 125 'given twice' hutch run -v .:/d -v .:/d/ -- true
	refused 125 "VM's root" hutch start -v .:/ v
	is '' "$(hutch list -aq)" "VMs on record"
	[ ! -e none ] || fail "a folder was made"
}

# A VM that lacks its folder is none: nothing runs in it.
test_mount_that_fails_ends_the_vm() {
	mkdir share
	expect 125 hutch run --name r -v ./share:/proc/no/such -- touch /proc/x
	like "mount '/proc/no/such': No such file" "$(cat "$err")" "run says"
	retry 30 has r state stopped
	like "^host-error.*mount '/proc/no/such'" "$(field r reason)" "on record"
	expect 125 hutch start -v ./share:/proc/no/such v
	like "mount '/proc/no/such': No such file" "$(cat "$err")" "start says"
	expect 125 hutch start -v ./share:/proc/no/such w -- sleep 1000
	like "mount '/proc/no/such': No such file" "$(cat "$err")" "start says"
}

test_sixteen_folders() {
	local i args=()

	for i in $(seq 16); do
		mkdir "d$i"
		echo "$i" >"d$i/n"
		args+=(-v "./d$i:/d/$i")
	done
	refused 125 'more than 16' hutch run "${args[@]}" -v .:/e -- true
	expect 0 hutch run "${args[@]}" -- sh -c \
		'for i in $(seq 16); do cat /d/$i/n; echo x$i >/d/$i/x; done'
	is "$(seq 16)" "$(cat "$out")" "what is in them"
	is x16 "$(cat d16/x)" "what was written"
}

# No byte of it, not even a time of access, and of a file alone neither.
test_readonly_changes_nothing() {
	mkdir share share/sub
	echo text >share/file
	echo text >alone
	touch -a -d '2001-01-01' share/file share/sub share alone
	chmod 755 share/file
	# find(1) would read the folders.
	state() {
		stat -c '%n %s %a %x %y %z' share share/sub share/file alone
	}
	state >before
	expect 0 hutch run -v ./share:/data:ro -v ./alone:/alone:ro \
		-v ./share:/mapped:ro,dax=always -- sh -c '
		cat /data/file /alone /mapped/file && ls -la /data/sub >/dev/null
		for c in "echo x >/data/file" "echo x >>/alone" ">/data/new" \
			"rm /data/file" "mkdir /data/d" "touch /data/file" \
			"mv /data/file /data/f" "chmod 700 /data/file" \
			"ln /data/file /data/l" "ln -s x /data/s" \
			"truncate -s 0 /data/file"; do
			! sh -c "$c" 2>/dev/null || { echo "could: $c"; exit 1; }
		done
		mount -o remount,rw /data 2>/dev/null
		! sh -c "echo x >/data/file" 2>/dev/null ||
			{ echo "could after a remount"; exit 1; }'
	state >after
	cmp before after || fail "the host's side changed"
}

test_large_writes_arrive_whole() {
	local mib

	mib=$(size 8 256)
	share
	dd if=/dev/urandom of=share/in bs=1M count="$mib" status=none
	start v -v ./share:/data
	expect 0 hutch exec v -- sh -c "
		sha256sum </data/in
		dd if=/data/in of=/data/out bs=1M 2>/dev/null
		dd if=/data/in of=/data/odd bs=65537 2>/dev/null
		sha256sum </data/out"
	is "$(as_hashed share/in)" "$(head -n 1 "$out" | cut -d ' ' -f 1)" "read"
	is "$(as_hashed share/in)" "$(as_hashed share/out)" "written"
	is "$(as_hashed share/in)" "$(as_hashed share/odd)" "in odd pieces"
	is "$(sed -n 1p "$out")" "$(sed -n 2p "$out")" "read back"
	hutch stop v
}

test_many_small_files() {
	local n

	n=$(size 150 5000)
	share
	start v -v ./share:/data
	expect 0 hutch exec v -- sh -c "
		mkdir /data/tree && cd /data/tree
		i=0; while [ \$i -lt $n ]; do
			d=\$((i / 50)); mkdir -p \$d; echo \$i >\$d/\$i
			i=\$((i + 1))
		done
		find . -type f | wc -l
		cp -a . /tmp/copy && cd /tmp/copy && cat */* | sort -n | tail -n 1
		tar cf /data/tree.tar . && rm -r /data/tree"
	is "$n" "$(sed -n 1p "$out")" "files found"
	is $((n - 1)) "$(sed -n 2p "$out")" "the last"
	[ ! -e share/tree ] || fail "the tree is still there"
	is "$n" "$(tar tf share/tree.tar | grep -c '[0-9]$')" \
		"files in the archive"
	hutch stop v
}

test_names_and_open_files() {
	share
	start v -v ./share:/data
	tool unlinked /data/gone
	tool replace /data/HEAD
	is new "$(cat share/HEAD)" "the file that was put in its place"
	tool sparse /data/sparse
	is 10737418240 "$(stat -c %s share/sparse)" "size of the sparse file"
	at_most 1024 "$(stat -c %b share/sparse)" "blocks of the sparse file"
	is 'isle!' "$(tail -c 5 share/sparse)" "the last island"
	tool deep /data 40
	is found "$(find share -name bottom -exec cat {} +)" "40 folders down"
	hutch stop v
}

test_thousand_open_files() {
	share
	start v -v ./share:/data
	tool many /data 1000
	is 'this is 999' "$(cat share/open-999)" "the last of them"
	hutch stop v
}

test_listing_while_names_change() {
	local n

	n=$(size 2000 10000)
	share
	mkdir share/many
	seq -f 'share/many/stay-%g' 0 $((n - 1)) | xargs touch
	start v -v ./share:/data
	tool list /data/many "$n"
	hutch stop v
}

# Where a symlink leads is for the guest to say: its own file, or none.
test_symlinks_are_the_guests_business() {
	mkdir share
	echo secret >outside
	ln -s "$PWD/outside" share/absolute
	ln -s ../outside share/relative
	ln -s /etc/hostname share/theirs
	expect 0 hutch run --hostname guest -v ./share:/data -- sh -c '
		! cat /data/absolute && ! cat /data/relative &&
		cat /data/theirs && readlink /data/relative &&
		echo own >/outside && cat /data/relative' 2>/dev/null
	is 'guest ../outside own' "$(tr '\n' ' ' <"$out" | sed 's/ $//')" \
		"what they lead to"
	is secret "$(cat outside)" "the host's file"
}

# What the host does meanwhile is seen, and breaks nothing.
test_host_changes_under_the_guest() {
	share
	echo one >share/file
	mkdir share/dir
	touch share/dir/x
	start v -v ./share:/data
	expect 0 hutch exec v -- sh -c 'cat /data/file; ls /data/dir'
	echo two, and longer >share/file
	retry 30 sh -c "hutch exec v -- cat /data/file | grep -q 'two, and'"
	hutch exec v -- sh -c 'exec 3</data/file; touch /data/opened
		while [ -e /data/opened ]; do sleep 0.1; done; cat <&3' \
		>late 2>&1 &
	retry 30 test -e share/opened
	rm -r share/file share/dir
	rm share/opened
	wait $! || fail "reading what is gone: $(cat late)"
	is 'two, and longer' "$(cat late)" "a file that was open"
	retry 30 sh -c '! hutch exec v -- ls /data/dir 2>/dev/null'
	mkdir share/dir
	touch share/dir/y
	retry 30 sh -c '[ "$(hutch exec v -- ls /data/dir)" = y ]'
	hutch stop v
}

# kill -9 of the monitor: what the guest was told is on disk is there.
test_what_was_synced_survives_the_monitor() {
	local last pid

	share
	start v -v ./share:/data
	pid=$(field v monitor)
	hutch exec v -- /data/tool sync /data/lines 100000 >told 2>/dev/null &
	retry 60 sh -c '[ "$(wc -l <told)" -ge 50 ]'
	kill -9 "$pid"
	wait $! || true
	retry 30 has v state stopped
	like 'vmm-crash\(9\)' "$(field v reason)" "the reason"
	last=$(tail -n 1 told)
	[ "$(wc -l <share/lines)" -ge "$last" ] ||
		fail "told of $last, but there are $(wc -l <share/lines)"
	is "$last" "$(sed -n "${last}p" share/lines)" "the last line told"
}

# busy VM N: so many of its requests for files are under way.
busy() {
	control "$1" stats | grep -q " fs_busy=$2 "
}

# control VM WORD...: one request to its monitor.
control() {
	/usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall((" ".join(sys.argv[2:]) + "\n").encode())
print(s.makefile().readline(), end="")
' "$HUTCH_STATE/run/$1/vmm.sock" "${@:2}"
}

test_pause_while_files_are_written() {
	share
	start v -v ./share:/data
	hutch exec v -- /data/tool sync /data/lines 300 >told &
	retry 60 test -s told
	for _ in 1 2 3 4 5; do
		control v pause | grep -q '^ok' || fail "pause"
		control v resume | grep -q '^ok' || fail "resume"
	done
	wait $! || fail "the writer ended with $?"
	is "$(seq 300)" "$(cat share/lines)" "what was written"
	is "$(seq 300)" "$(cat told)" "what was told"
	hutch stop v
}

# Its workers wait for it, and nothing else does. Writers have folders of their
# own, since the guest lets one at a time make a name in a folder.
test_disk_that_stands_still_holds_up_nobody_else_root() {
	local n

	mkdir still share
	truncate -s 16M disk
	/sbin/mkfs.ext4 -q disk
	/sbin/modprobe loop
	mount -o loop disk still
	trap 'fsfreeze -u still 2>/dev/null; umount -l still || true' EXIT
	start v -v ./still:/still -v ./share:/data
	expect 0 hutch exec v -- sh -c 'cd /still && mkdir 1 2 3 4 5 6 last'
	fsfreeze -f still
	# More writers than the 4 workers.
	for n in 1 2 3 4 5 6; do
		hutch exec -d --name "w$n" v -- sh -c "
			echo $n >/still/$n/file && echo $n >/data/done-$n"
	done
	retry 30 busy v 4
	expect 0 hutch exec v -- sh -c 'echo vsock answers'
	expect 0 hutch exec v -- sh -c 'echo disk >/data/file && cat /data/file'
	is disk "$(cat share/file)" "what the other folder got"
	like '^ok' "$(control v info)" "the control socket"
	[ ! -e share/done-1 ] || fail "a frozen disk was written"
	fsfreeze -u still
	for n in 1 2 3 4 5 6; do
		retry 60 test -e "share/done-$n"
		is $n "$(cat still/$n/file)" "what a writer wrote"
	done
	# One that is killed meanwhile is gone as soon as the disk goes on: its
	# worker is in the kernel, where no signal reaches it.
	fsfreeze -f still
	hutch exec -d v -- sh -c 'echo x >/still/last/file'
	retry 30 busy v 1
	hutch kill v &
	n=$!
	retry 30 sh -c "hutch inspect v | grep -q '^state *stop'"
	fsfreeze -u still
	wait $n || fail "kill ended with $?"
	like '^stopped' "$(field v reason)" "the reason"
	umount still
	trap - EXIT
}
