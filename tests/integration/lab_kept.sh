# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# scripts/lab, kept: one lab, many commands. Labs of the tests have names of
# their own, so that a person's is left alone.

lab=$HUTCH_TESTS/../../scripts/lab

# on COMMAND...: in the lab of this test. In the background it is "${on[@]}",
# so that $! is the program's own.
on=("$lab" --name "test-$$")
on() {
	"${on[@]}" "$@"
}

streams() {
	head -c 1M /dev/urandom >bytes
	on -- cat <bytes >"$out"
	cmp bytes "$out" || fail "a MiB through cat is not what it was"
	on -- sh -c 'cat >&2' <bytes 2>"$err" >"$out"
	cmp bytes "$err" || fail "a MiB through stderr is not what it was"
	is 0 "$(stat -c %s "$out")" "bytes on stdout when all went to stderr"
	on -- sh -c 'echo to stdout; echo to stderr >&2' >"$out" 2>"$err"
	is "to stdout" "$(cat "$out")" "stdout"
	is "to stderr" "$(cat "$err")" "stderr"
	is "end" "$(on -- sh -c 'cat; echo end' </dev/null)" "stdin's end"
	is "end" "$(on -- sh -c 'cat; echo end' <&-)" "a closed stdin"
	is 1048576 "$(on -- yes | head -c 1M | wc -c)" "bytes of yes"
	# What a slow reader does not take must stop nothing else.
	is ok "$(on -- sh -c 'head -c 3M /dev/zero; echo ok >&2' 2>&1 >slow |
		cat)" "stderr beside stdout"
	is 3145728 "$(stat -c %s slow)" "bytes of stdout beside stderr"
	# A child left behind with our stdout is not waited for.
	is "main" "$(on -- sh -c 'sleep 1000 & echo main')" "a child in the back"
}

# code WANT COMMAND...
code() {
	local want=$1 got=0

	shift
	on -- "$@" >"$out" 2>"$err" </dev/null || got=$?
	is "$want" "$got" "exit code of '$*'"
}

# shellcheck disable=SC2016 # for the shell in the lab
codes() {
	code 0 true
	code 7 sh -c 'exit 7'
	code 255 sh -c 'exit 255'
	code 137 sh -c 'kill -9 $$'
	code 139 sh -c 'kill -SEGV $$'
	code 127 no-such-command
	like "no-such-command" "$(cat "$err")" "its sentence"
	code 126 /etc/passwd
	code 3 sh -c 'head -c 300000 /dev/zero; exit 3'
	is 300000 "$(stat -c %s "$out")" "bytes before an exit"
}

# shellcheck disable=SC2016 # for the shell in the lab
places() {
	local tree

	tree=$(cd "$HUTCH_TESTS/../.." && pwd -P)
	is "$tree/lab" "$(cd "$tree/lab" && on -- pwd)" "folder in the tree"
	is /usr/share "$(cd /usr/share && on -- pwd)" "folder outside"
	is "a b|c" "$(on --env "X=a b|c" -- sh -c 'echo "$X"')" "--env"
	is "" "$(SECRET=x on -- sh -c 'echo "${SECRET:-}"')" "other variables"
	is "yes" "$(CI=yes on -- sh -c 'echo "$CI"')" "CI"
	is "$XDG_CACHE_HOME" "$(on -- sh -c 'echo $XDG_CACHE_HOME')" "cache"

	on --root -- sh -c "echo from the lab >'$tree/lab/.test-$$'"
	is "from the lab" "$(cat "$tree/lab/.test-$$")" "a file of the tree"
	is "$(id -u)" "$(stat -c %u "$tree/lab/.test-$$")" "its owner"
	# What changes here, the same lab sees there, same size or not.
	echo changed >"$tree/lab/.test-$$"
	is changed "$(on -- cat "$tree/lab/.test-$$")" "a change of the host's"
	echo CHANGED >"$tree/lab/.test-$$"
	is CHANGED "$(on -- cat "$tree/lab/.test-$$")" "a change of one size"
	rm "$tree/lab/.test-$$"
	code 1 test -e "$tree/lab/.test-$$"
	echo one >rest
	is one "$(on -- cat "$PWD/rest")" "a file outside of the tree"
	echo two-two >rest
	is two-two "$(on -- cat "$PWD/rest")" "a change of it"

	on --root -- sh -c "echo lost >'$PWD/rest'; echo lost >/etc/lost-$$"
	is two-two "$(cat rest)" "a file that the lab wrote to"
	[ ! -e "/etc/lost-$$" ] || fail "the lab writes to the host's /etc"
}

# as_user SCRIPT
as_user() {
	(cd "$HUTCH_TESTS" && on --user -- sh -c "$1") ||
		fail "the ordinary user cannot: $1"
}

# shellcheck disable=SC2016 # for the shell in the lab
people() {
	is 0 "$(on --root -- id -u)" "root's number"
	[ "$(as_user 'id -u')" != 0 ] || fail "the ordinary user is root"
	like '\(kvm\)' "$(as_user id)" "the ordinary user's groups"
	as_user ': <>/dev/kvm && : <>/dev/net/tun && : <>/dev/vhost-vsock'
	as_user 'touch $HOME/f /scratch/g /dev/shm/h $XDG_RUNTIME_DIR/i'
	as_user "unshare --user --map-root-user true"
	as_user 'test -r "$XDG_CACHE_HOME/hutch" && test -x "$PWD"'
	is ext4 "$(on -- stat -f -c %T /scratch | sed s,ext2/ext3,ext4,)" "/scratch"
}

# Ten, each with an output and a code of its own.
at_once() {
	local i got stuck pids=()

	# Nobody reads what this one says, and that is its own affair only.
	mkfifo stuck
	exec 8<>stuck
	"${on[@]}" -- head -c 8M /dev/zero >stuck &
	stuck=$!
	for i in 1 2 3 4 5 6 7 8 9 10; do
		on -- sh -c "cat; head -c ${i}00000 /dev/zero; exit $i" \
			<bytes >"par-$i" &
		pids[i]=$!
	done
	for i in 1 2 3 4 5 6 7 8 9 10; do
		got=0
		wait "${pids[i]}" || got=$?
		is "$i" "$got" "exit code of command $i of ten"
		is $((1048576 + i * 100000)) "$(stat -c %s "par-$i")" "its bytes"
		cmp -n 1048576 bytes "par-$i" || fail "the streams of $i are mixed"
	done
	alive "$stuck" || fail "the command that nobody reads has ended"
	kill -KILL "$stuck"
	wait "$stuck" || true
	exec 8>&-
}

# running MARK: is a process of that argument there in the lab?
running() {
	on --root -- pgrep -f "sleep $1" >/dev/null
}

not_running() {
	! running "$1"
}

ends() {
	local pid got=0

	# By a signal that the command gets.
	"${on[@]}" -- sh -c 'trap "echo told; exit 9" TERM; echo up; while :; do
		sleep 0.1; done' >"$out" &
	pid=$!
	retry 60 grep -q up "$out"
	kill -TERM "$pid"
	wait "$pid" || got=$?
	is 9 "$got" "exit code of a command that catches SIGTERM"
	like told "$(cat "$out")" "what it said"

	# A shell's background child ignores SIGINT, unless with job control.
	got=0
	set -m
	"${on[@]}" -- sh -c 'echo up; exec sleep 77001' >"$out" &
	pid=$!
	set +m
	retry 60 grep -q up "$out"
	kill -INT "$pid"
	wait "$pid" || got=$?
	is 130 "$got" "exit code after SIGINT"

	# By the client's death, with all that it has started.
	"${on[@]}" -- sh -c 'setsid sleep 77002 & echo up; sleep 77002' >"$out" &
	pid=$!
	retry 60 grep -q up "$out"
	running 77002 || fail "cannot see the command that runs"
	kill -KILL "$pid"
	wait "$pid" || true
	retry 60 not_running 77002

	# By the death of who has called it.
	bash -c '"$@" & echo $! >caller; wait' - "$lab" --name "test-$$" -- \
		sh -c 'echo up; exec sleep 77003' >"$out" &
	pid=$!
	retry 60 grep -q up "$out"
	kill -KILL "$pid"
	wait "$pid" || true
	retry 60 not_running 77003
	retry 60 gone "$(cat caller)"

	# What a command leaves behind when it ends by itself stays.
	on -- sh -c 'setsid sleep 77004 >/dev/null 2>&1 & exit 0'
	running 77004 || fail "a daemon did not outlive its command"
}

terminal() {
	local text

	code 1 test -t 0
	refused 125 'terminal' on -t -- true
	text=$(script -qefc "stty rows 33 cols 77; stty -g >before
		'$lab' --name test-$$ -t -- sh -c 'tty; stty size; stty -echo; read x;
			echo read-\$x; exit 5'; echo code-\$?; stty -g >after
		'$lab' --name test-$$ -t -- sh -c 'sleep 77005'; echo code-\$?
		stty -g >after-int" /dev/null < <(sleep 10; printf 'words\r'
			sleep 10; printf '\003'; sleep 3))
	like '/dev/pts/[0-9]+' "$text" "the terminal"
	like '33 77' "$text" "its size"
	like 'read-words' "$text" "what was typed"
	like 'code-5' "$text" "exit code"
	like 'code-130' "$text" "exit code after Ctrl-C"
	cmp before after || fail "the terminal was not put back"
	cmp before after-int || fail "the terminal was not put back after Ctrl-C"
}

test_commands() {
	trap 'on down >/dev/null 2>&1' EXIT
	on up
	like 'state=up' "$(on status)" "status"
	on up 2>"$err"
	like 'already' "$(cat "$err")" "up, a second time"
	refused 125 'other options' on --cpus 7 up
	streams
	codes
	places
	people
	at_once
	on down
	is down "$(on status || true)" "status after down"
	on down
}

test_ends_of_commands() {
	trap 'on down >/dev/null 2>&1' EXIT
	on up
	ends
	terminal
	on down
}

test_ends_when_idle() {
	trap 'on down >/dev/null 2>&1' EXIT
	on --idle 3s up
	is ok "$(on -- sh -c 'sleep 5; echo ok')" "a command longer than the limit"
	is_down() { [ "$(on status)" = down ]; }
	retry 120 is_down
}

test_two_at_once() {
	local a=0 b=0

	trap 'on down >/dev/null 2>&1' EXIT
	on up 2>"$err" &
	on up 2>>"$err" || b=$?
	wait $! || a=$?
	is "0 0" "$a $b" "exit codes of up, twice at once"
	like 'already' "$(cat "$err")" "what the second says"
}
