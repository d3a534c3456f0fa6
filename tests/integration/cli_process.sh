# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Processes as objects, from the command line: exec -d, ps, attach, logs, wait,
# kill, drop, events.

# shellcheck source=tests/integration/lib.sh
. "$HUTCH_TESTS/lib.sh"

# detached VM ID SCRIPT: in the background, as process ID.
detached() {
	expect 0 hutch exec -d --name "$2" "$1" -- sh -c "$3"
	is "$2" "$(cat "$out")" "what exec -d prints"
}

# process VM ID MEMBER: what hutch ps --json says of it.
process() {
	hutch ps --json "$1" "$2" | json "0.$3"
}

is_now() {
	[ "$(process "$1" "$2" "$3")" = "$4" ]
}

test_background_process() {
	start v
	detached v server 'echo up; read x; echo never'
	retry 30 is_now v server state exited
	expect 0 hutch ps v
	like '^server +[0-9]+ +exited +code 0' "$(cat "$out")" "end of file at once"
	expect 0 hutch logs v server
	is $'up\nnever' "$(cat "$out")" "its output, replayed"
	expect 0 hutch wait v server
	is 'exited: code 0' "$(cat "$out")" "what wait says"
	expect 0 hutch drop v server
	is '' "$(hutch ps -q v)" "processes after drop"
	refused 125 "server" hutch logs v server
	expect 127 hutch exec -d v -- nosuch
	detached v twice 'exec sleep 1000'
	refused 125 "twice" hutch exec -d --name twice v -- true
	expect 0 hutch kill -s KILL v twice
	expect 137 hutch wait v twice
	detached v twice 'echo again'
	hutch stop v
}

test_wait_says_which_it_was() {
	start v
	detached v a 'sleep 1; echo one; echo two >&2; exec sleep 1000'
	expect 0 hutch wait --for 'line=^t.o$' v a
	is 'matched: two' "$(cat "$out")" "a line on stderr"
	expect 124 hutch wait --for 'line=^one' --from 4 --timeout 500ms v a
	is 'timed out' "$(cat "$out")" "a line that is behind the cursor"
	expect 124 hutch wait --timeout 200ms v a
	expect 0 hutch kill -s KILL v a
	expect 137 hutch wait v a
	is 'exited: SIGKILL' "$(cat "$out")" "its end"
	expect 1 hutch wait --for 'line=three' v a
	is 'exited: SIGKILL' "$(cat "$out")" "its end before the line"

	detached v s 'sleep 1; exec httpd -f -p 127.0.0.1:777'
	expect 0 hutch wait --for port=777 --timeout 60 v s
	is 'matched: port 777' "$(cat "$out")" "a port on loopback"
	expect 0 hutch kill v s
	expect 143 hutch wait v s
	refused 125 "expression" hutch wait --for 'line=(' v s
	refused 125 "nosuch" hutch wait v nosuch
	hutch stop v
}

test_wait_for_the_main_process() {
	expect 0 hutch start job -- sh -c 'sleep 1; exit 7'
	expect 7 hutch wait job
	is 'exited: code 7' "$(cat "$out")" "of the main process"
	expect 7 hutch wait job
	expect 0 hutch start --on-exit keep stay -- sh -c 'exit 6'
	expect 6 hutch wait stay
	is running "$(field stay state)" "state of a VM that is to stay"
	expect 1 hutch wait --for line=x stay
	hutch stop stay
	start bare
	expect 124 hutch wait --timeout 300ms bare
	hutch kill bare
	expect 0 hutch wait bare
	like '^exited: the VM, stopped' "$(cat "$out")" "a VM without one"
}

test_kill_takes_the_whole_tree() {
	start v
	detached v tree 'trap "" TERM; (setsid sleep 1001 &); sleep 1002 & sleep 1003'
	retry 30 eval '[ "$(hutch exec v -- pidof sleep | wc -w)" = 3 ]'
	expect 0 hutch kill --grace 300ms v tree
	expect 137 hutch wait v tree
	retry 30 none_of v sleep

	detached v linger 'sleep 1004 & exit 5'
	retry 30 is_now v linger state lingering
	is 5 "$(process v linger exit_code)" "its exit code"
	refused 125 "linger" hutch drop v linger
	expect 0 hutch kill v linger
	retry 30 is_now v linger state exited
	none_of v sleep || fail "kill leaves a child of a process that has ended"
	refused 125 "linger" hutch kill v linger

	detached v one 'trap "echo got it" USR1; echo up; while :; do sleep 0.1; done'
	expect 0 hutch wait --for line=up v one
	expect 0 hutch kill --one -s USR1 v one
	expect 0 hutch wait --for 'line=got it' --timeout 30 v one
	refused 125 "no signal" hutch kill -s WHAT v one
	refused 125 "PROC" hutch kill -s TERM v
	hutch kill v
}

test_logs_follow_and_resume() {
	local code=0

	start v
	detached v w 'echo 1; sleep 1; echo 2; sleep 1; echo 3'
	expect 0 hutch logs -f v w
	is $'1\n2\n3' "$(cat "$out")" "all of it"
	expect 0 hutch logs --since 2 v w
	is $'2\n3' "$(cat "$out")" "from a cursor on"
	expect 0 hutch logs -t v w
	like '^20[0-9T:.-]+Z 1$' "$(cat "$out")" "with times"

	# Nobody reads on: no word, and no waiting for more.
	detached v quiet 'echo first; exec sleep 1000'
	hutch logs -f v quiet 2>"$err" | head -n 1 >"$out" || code=$?
	is first "$(cat "$out")" "first line"
	is '' "$(cat "$err")" "what a broken pipe says"
	[ $code = 0 ] || [ $code = 141 ] || fail "logs ended with $code"

	# The VM takes the process with it, and what it may have said yet.
	hutch logs -f v quiet >"$out" 2>"$err" &
	retry 30 grep -q first "$out"
	hutch kill v
	code=0
	wait $! || code=$?
	is 125 $code "exit code of a log that is cut short"
	like 'stopped' "$(cat "$err")" "what the end of the VM says"
	refused 125 "v" hutch logs v quiet
}

test_output_that_is_cut() {
	local lost

	start v
	detached v tail 'seq 3000'
	hutch exec -d --ring 4K --name small v -- \
		sh -c 'seq 20000; echo last' >/dev/null
	expect 0 hutch wait v small
	expect 0 hutch logs v small
	is last "$(tail -n 1 "$out")" "the end is kept"
	like '^hutch: [0-9]+ bytes of stdout are lost: it goes on at cursor [0-9]+$' \
		"$(cat "$err")" "what is lost"
	lost=$(sed 's/^hutch: \([0-9]*\).*/\1/' "$err")
	is "$(process v small stdout_total)" "$((lost + $(stat -c %s "$out")))" \
		"bytes lost and read"
	expect 0 hutch logs --json v small
	is truncated "$(head -n 1 "$out" | json event)" "the first event"
	is "$lost" "$(head -n 1 "$out" | json lost)" "bytes lost"

	hutch exec -d --ring 4K --keep head --name first v -- \
		sh -c 'seq 20000' >/dev/null
	expect 0 hutch wait v first
	expect 0 hutch logs v first
	is 1 "$(head -n 1 "$out")" "the beginning is kept"
	is 20000 "$(tail -n 1 "$out")" "and the latest of it"
	expect 0 hutch wait v tail
	expect 0 hutch logs v tail
	is '' "$(cat "$err")" "what is lost of a megabyte"
	is 3000 "$(wc -l <"$out")" "lines"
	hutch stop v
}

test_exec_goes_on_without_its_client() {
	start v
	hutch exec v -- sh -c 'echo up; sleep 2; echo still; exit 3' >"$out" &
	retry 60 grep -q up "$out"
	kill -KILL $!
	wait $! 2>/dev/null || true
	expect 3 hutch wait v "$(hutch ps -q v)"
	expect 0 hutch logs v "$(hutch ps -q v)"
	is $'up\nstill' "$(cat "$out")" "what it wrote alone"
	# One whose client has taken its exit is not kept.
	expect 0 hutch exec v -- true
	is 1 "$(hutch ps -q v | wc -l)" "processes kept"
	hutch stop v
}

test_attach() {
	local code=0

	start v
	expect 0 hutch exec -d -i --name cat v -- sh -c 'echo hello; exec cat' \
		</dev/null
	is cat "$(cat "$out")" id
	echo typed | expect 0 hutch attach v cat
	is $'hello\ntyped' "$(cat "$out")" "what an attached client gets"
	detached v deaf 'trap "" INT TERM; echo up; exec sleep 1000'
	set -m
	hutch attach --no-stdin v deaf >"$out" 2>"$err" &
	retry 60 grep -q up "$out"
	kill -INT $!
	wait $! || code=$?
	is 130 $code "exit code of an attach that is left"
	is running "$(process v deaf state)" "of the process"
	refused 125 "nosuch" hutch attach v nosuch
	refused 125 "keys" hutch attach --detach-keys what v deaf
	hutch kill v
}

test_attach_to_a_terminal() {
	start v
	/usr/bin/python3 "$HUTCH_TESTS/tty.py" detach v
	/usr/bin/python3 "$HUTCH_TESTS/tty.py" reattach v
	hutch kill v
}

test_interrupt_reaches_a_foreground_command() {
	local code=0

	start v
	set -m
	hutch exec v -- sh -c 'trap "echo hit; exit 9" INT; echo up
		while :; do sleep 0.1; done' >"$out" 2>"$err" &
	retry 60 grep -q up "$out"
	kill -INT $!
	wait $! || code=$?
	is 9 $code "exit code"
	like '^hit$' "$(cat "$out")" output
	hutch stop v
}

test_events() {
	expect 0 hutch start job -- sh -c 'exit 7'
	expect 7 hutch wait job
	expect 0 hutch events -f job
	like ' job started' "$(head -n 1 "$out")" "the first"
	like ' job process-exited main code 7' "$(cat "$out")" "the process"
	like ' job stopped exited' "$(tail -n 1 "$out")" "the last"

	start v
	hutch events -f v >events.log 2>events.err &
	detached v a 'exit 3'
	retry 30 grep -q ' v process-exited a code 3' events.log
	hutch stop v >/dev/null
	wait $!
	like ' v stopped stopped' "$(tail -n 1 events.log)" "the end of a stop"
	is '' "$(cat events.err)" "sentences"
	hutch events >"$out"
	like ' job started' "$(cat "$out")" "of all VMs"
	refused 125 nobody hutch events nobody
}

test_labels_and_filters() {
	start a -l team=web --label job=7
	start b -l team=db
	is a "$(hutch list -q --filter label=team=web)" "by label and value"
	is $'a\nb' "$(hutch list -q -f label=team)" "by label"
	hutch stop b
	is a "$(hutch list -q -f label=team -f state=running)" "and by state"
	is b "$(hutch list -q -f 'name=[b-z]*')" "by name"
	like '^label +team=web' "$(hutch inspect a)" inspect
	refused 125 "state" hutch list -f state=asleep
	refused 125 "label" hutch start -l =x c
	refused 125 "c" hutch inspect c
	hutch stop a
}

test_limits_of_a_process() {
	start v
	expect 0 hutch exec --pids 5 v -- sh -c \
		'cat "/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/pids.max"'
	is 5 "$(cat "$out")" "pids.max"
	expect 137 hutch exec -m 16M v -- sh -c 'tail /dev/zero'
	like 'no memory left' "$(cat "$err")" "why it ended"
	expect 0 hutch exec v -- true
	hutch stop v
}

test_example_of_the_library() {
	expect 0 "$HUTCH_BUILD/examples/server"
	like '^it listens on port 8080$' "$(cat "$out")" "the port"
	like 'ended by signal 15$' "$(cat "$out")" "its end"
	like '^event: process-started server$' "$(cat "$out")" "the events"
}
