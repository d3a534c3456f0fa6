# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# hutch run: one command in a VM of its own

test_output_streams_and_exit_code() {
	expect 7 hutch run -- sh -c 'uname -a; echo err >&2; exit 7'
	like '^Linux .* x86_64' "$(cat "$out")" "stdout"
	! grep -qF "$(uname -r)" "$out" ||
		fail "the command ran in this kernel: $(cat "$out")"
	is err "$(cat "$err")" "stderr"
}

test_stdin_with_i() {
	echo hello | expect 0 hutch run -i -- cat
	is hello "$(cat "$out")" "stdin through cat"
}

# Every way a command can end, in one VM.
test_exit_codes() {
	local c

	start v
	for c in 0 1 2 77 124 125 126 127 128 255; do
		expect "$c" hutch exec v -- sh -c "exit $c"
	done
	expect 137 hutch exec v -- sh -c 'kill -9 $$'
	expect 143 hutch exec v -- sh -c 'kill -TERM $$'
	expect 134 hutch exec v -- sh -c 'kill -ABRT $$'
	expect 127 hutch exec v -- no-such-program
	like "no-such-program" "$(cat "$err")" "the sentence"
	expect 127 hutch exec v -- /no/such/folder/program
	expect 126 hutch exec v -- /etc/passwd
	like "/etc/passwd" "$(cat "$err")" "the sentence"
	expect 126 hutch exec v -- /etc
	hutch stop v
}

test_timeout_is_124() {
	start v
	expect 124 hutch exec --timeout 500ms v -- sleep 1000
	like 'time' "$(cat "$err")" "the sentence"
	# One that does not listen to SIGTERM, and its child.
	expect 124 hutch exec --timeout 500ms v -- \
		sh -c 'trap "" TERM; sleep 1000 & wait; sleep 1000'
	retry 30 none_of v sleep
	expect 0 hutch exec --timeout 1h v -- true
	hutch stop v
	expect 124 hutch run --timeout 1s --name late -- sleep 1000
	is timeout "$(field late reason)" "reason"
}

test_env_and_workdir() {
	printf 'FROM_FILE=1\n# a comment\nBOTH=file\n' >env.txt
	export FROM_HOST='taken over'
	expect 0 hutch run --env A='1 2' --env EMPTY= --env FROM_HOST \
		--env-file env.txt --env BOTH=word --workdir /usr \
		--hostname box7 -- sh -c '
		echo "$A|$EMPTY|$FROM_HOST|$FROM_FILE|$BOTH|$PWD|$(hostname)"
		env'
	is '1 2||taken over|1|word|/usr|box7' "$(head -n 1 "$out")" "environment"
	like '^HOSTNAME=box7$' "$(cat "$out")" "its name"
	! grep -q HUTCH_ "$out" || fail "host variables: $(cat "$out")"
	like '^PATH=/' "$(cat "$out")" "a PATH"
}

test_user() {
	start v
	expect 0 hutch exec v -- id -u
	is 0 "$(cat "$out")" "default user"
	expect 0 hutch exec --user 1234:5678 v -- sh -c 'id -u; id -g'
	is "1234 5678" "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "uid:gid"
	expect 0 hutch exec --user nobody v -- id -un
	is nobody "$(cat "$out")" "a name"
	refused 125 'nosuchuser' hutch exec --user nosuchuser v -- id
	refused 125 'no-such-dir' hutch exec --workdir /no-such-dir v -- true
	is "" "$(echo hello | hutch exec v -- cat)" "stdin without -i"
	hutch stop v
}

test_a_word_before_the_dashes_is_an_image() {
	refused 125 "no image 'alpine'" hutch run --pull never alpine -- true
}

test_arguments_arrive_as_they_are() {
	expect 0 hutch run -- printf '<%s>\n' '' 'a b' '$HOME' "it's" $'two\nlines' \
		'*' '--' '-x' 'ümläut'
	printf '<%s>\n' '' 'a b' '$HOME' "it's" $'two\nlines' '*' '--' '-x' \
		'ümläut' >want
	cmp want "$out"
}

test_rm_leaves_no_record() {
	expect 3 hutch run --rm --name gone -- sh -c 'exit 3'
	refused 125 "gone" hutch inspect gone
	expect 4 hutch run --name stays -- sh -c 'exit 4'
	is stopped "$(field stays state)" "state"
	is 'exited(4)' "$(field stays reason)" "reason"
	expect 0 hutch rm stays
	refused 125 "stays" hutch inspect stays
}

# What the guest offers an ordinary program.
test_a_usable_system() {
	local want

	expect 0 hutch run -- sh -ec '
		for d in /proc /sys /dev /dev/pts /dev/shm /tmp /run \
			/sys/fs/cgroup; do
			grep -q " $d " /proc/mounts ||
				{ echo "$d is no mount"; exit 1; }
		done
		echo x >/dev/null
		head -c 16 /dev/urandom | wc -c
		ip addr show lo | grep -q "inet 127.0.0.1/8"
		# pivot_root works only where the root is a mount of its own.
		mkdir /tmp/new && mount -t tmpfs t /tmp/new
		mkdir /tmp/new/old
		unshare -m sh -c "pivot_root /tmp/new /tmp/new/old"
		date +%s
	'
	want=$(tail -n 1 "$out")
	[ $(($(date +%s) - want)) -lt 300 ] ||
		fail "the guest's clock is at $want, ours at $(date +%s)"
}

# A child that holds stdout must not hold up the end.
test_background_child_does_not_hold_the_end() {
	start v
	expect 5 hutch exec v -- sh -c 'echo before; sleep 1000 & exit 5'
	is before "$(cat "$out")" "stdout"
	expect 0 hutch exec v -- killall sleep
	hutch stop v
	expect 6 hutch run -- sh -c 'echo before; sleep 1000 & exit 6'
	is before "$(cat "$out")" "stdout"
}
