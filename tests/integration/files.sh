# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# hutch cp and hutch fs, on a real KVM; what needs none is in tests/unit

# one_of_each DIR: every kind of file, and what only a careful copy keeps.
one_of_each() {
	mkdir "$1" && (
		cd "$1"
		mkdir -p a/b/c empty many
		echo text >a/b/file
		echo linked >one && ln one a/two && ln one a/b/c/three
		ln -s /etc/passwd abs && ln -s nowhere a/dangling
		mkfifo -m 640 q
		truncate -s 8M holes
		printf x | dd of=holes bs=1 seek=5000000 conv=notrunc status=none
		: >"$(printf 'n%.0s' {1..255})"
		: >"$(printf '\377\n')"
		for i in $(seq "$(size 200 3000)"); do
			echo "$i" >"many/$i"
		done
		head -c 1000000 /dev/urandom >bytes
		chmod 751 a/b/file && chmod 1777 empty && chmod 550 a/b/c
		touch -d '1969-12-31 23:59:58.123456789 UTC' one a/b
	)
}

# listing DIR: all that find and sha256sum can tell of it.
listing() {
	(cd "$1" && find . -printf '%p|%y|%m|%n|%l|%T@\n' | LC_ALL=C sort &&
		find . -type f -exec sha256sum {} + | LC_ALL=C sort)
}

# memory_of_child VM: the most that who serves files has had, in KiB.
memory_of_child() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	hutch exec "$1" -- sh -c '
		for p in /proc/[0-9]*; do
			grep -q /.files$ $p/cgroup 2>/dev/null || continue
			sed -n "s/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p" $p/status
		done'
}

test_trees_and_streams() {
	local n pid sum was

	start v
	one_of_each tree
	expect 0 hutch cp tree v:/data
	expect 0 hutch exec v -- sh -c 'cd /data && stat -c "%n %a %h %s" \
		one a/b/file holes && find . | wc -l && cat many/17'
	is "one 644 3 7
a/b/file 751 1 5
holes 644 1 8388608" "$(head -n 3 "$out")" "files in the VM"
	is "$(find tree | wc -l) 17" "$(tail -n 2 "$out" | tr '\n' ' ' |
		sed 's/ $//')" "how many, and what is in one"
	umask 0
	expect 0 hutch cp v:/data back
	was=$(listing tree)
	is "$was" "$(listing back)" "the tree, there and back"
	at_most 1024 "$(du -k back/holes | cut -f 1)" "a file with holes"

	# A folder as an archive, and back in one rename.
	expect 0 hutch backup v /data data.tar.zst
	sum=$(cut -c -64 "$out")
	is "$(sha256sum data.tar.zst)" "$(cat "$out")" "its digest"
	expect 0 hutch exec v -- sh -c 'rm -r /data/a && echo x >/data/new'
	expect 0 hutch restore --sha256 "$sum" v /data data.tar.zst
	expect 0 hutch cp v:/data again
	is "$was" "$(listing again)" "the folder as it was"
	truncate -s -1 data.tar.zst
	refused 125 "damaged" hutch restore v /data data.tar.zst
	expect 0 hutch fs stat v /data/a/b/file
	umask 022
	chmod -R u+rwx tree back again

	expect 0 hutch fs ls --json v /data/a
	is '["dangling", "nowhere"]' "$(/usr/bin/python3 -c '
import json, sys
l = {f["name"]: f for f in json.load(sys.stdin)}
print(json.dumps([l["dangling"]["name"], l["dangling"]["target"]]))' \
		<"$out")" "a link in the listing"
	echo new | hutch fs write --atomic v /data/one || fail "fs write"
	expect 0 hutch cp v:/data/one -
	is new "$(cat "$out")" "a file that was written"
	refused 1 "/data/none'.*No such file" hutch fs stat v /data/none
	refused 125 "no VM named 'w'" hutch fs stat w /data
	expect 0 hutch fs mkdir -p v /data/x/y
	expect 0 hutch fs mv v /data/one /data/x/y/z
	expect 0 hutch fs rm -r v /data/x
	refused 1 "/data/x'" hutch fs rm v /data/x

	# A stream, through both ends, of which nothing piles up anywhere.
	n=$(size 64 1024)
	mkfifo pipe
	hutch fs write v /dev/null <pipe &
	pid=$!
	exec 3>pipe
	head -c "${n}M" /dev/zero >&3
	at_most 1024 "$(memory_of_child v)" "KiB of the child in the VM"
	at_most 4096 "$(memory_kib $pid)" "KiB of hutch"
	exec 3>&-
	wait $pid || fail "the stream ended with $?"
	sum=$(head -c 2000000 /dev/urandom | tee bytes | sha256sum)
	expect 0 hutch cp bytes v:/
	is "$sum" "$(hutch fs cat v /bytes | sha256sum)" "bytes"

	# Who is killed leaves nothing half-made, on either side.
	hutch cp - v:/half <pipe &
	pid=$!
	exec 3>pipe
	head -c 1M /dev/zero >&3
	kill -9 $pid
	exec 3>&-
	retry 60 none_serves v
	expect 0 hutch fs ls v /
	! grep -qE 'half|hutch-' "$out" || fail "left: $(cat "$out")"
	hutch kill v
	refused 125 "VM 'v' .*(killed|stopped|not running|ended)" \
		hutch cp v:/bytes x
	[ ! -e x ] || fail "half a copy"
}

none_serves() {
	[ -z "$(memory_of_child "$1")" ]
}
