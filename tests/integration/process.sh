# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Processes as objects: what they leave behind, and how all of them is ended

# proc VM ID MEMBER: what hutch ps says of a process.
proc() {
	hutch ps --json "$1" "$2" | json "0.$3"
}

proc_is() {
	[ "$(proc "$1" "$2" "$3" 2>/dev/null)" = "$4" ]
}

# no_proc VM ID: it is not in the table (any more).
no_proc() {
	! hutch ps "$1" "$2" >/dev/null 2>&1
}

# An exec returns with all output although its stdout is still held.
test_background_child_lingers() {
	start v
	expect 5 hutch exec --name bg v -- sh -c \
		'sleep 1000 & seq 1 20000; echo err >&2; exit 5'
	seq 1 20000 | cmp - "$out"
	is err "$(cat "$err")" "stderr"
	is lingering "$(proc v bg state)" "state"
	is 5 "$(proc v bg exit_code)" "exit code"
	refused 125 'bg.*(linger|live|run|left)' hutch drop v bg
	expect 0 hutch kill v bg
	retry 30 none_of v sleep
	# Its client has had the exit: nothing is kept of it.
	retry 30 no_proc v bg
	hutch stop v
}

# Once its client has gone it may write as much as it likes.
test_daemon_writes_its_log_on() {
	start v
	expect 0 hutch exec --name d v -- sh -c '
		(i=0; while head -c 65536 /dev/zero && i=$((i + 1)); do
			echo $i >>/tmp/log
		done; echo dead >>/tmp/log) &
		echo started'
	is started "$(tr -d '\0' <"$out")" "output"
	retry 60 log_is_long 50
	expect 0 hutch kill -s KILL v d
	hutch exec v -- cat /tmp/log >log
	! grep -q dead log || fail "a write has failed"
	hutch stop v
}

log_is_long() {
	[ "$(hutch exec v -- sh -c 'wc -l </tmp/log')" -gt "$1" ]
}

# A tree of every kind of escape; SIGTERM does nothing to it.
tree='trap "" TERM
	setsid sh -c "sleep 1001; sleep 1002" &
	(setsid sh -c "(sleep 1003 &)" &)
	nohup sleep 1004 >/dev/null 2>&1 &
	(trap "" TERM HUP INT; sleep 1005) &
	echo up
	while :; do sleep 1006; done'

test_timeout_kills_the_tree() {
	start v
	expect 124 hutch exec --timeout 1s v -- sh -c "$tree"
	is up "$(cat "$out")" "output"
	retry 30 none_of v sleep
	# The same of one that nobody is attached to.
	expect 0 hutch exec -d --name t --timeout 1s v -- sh -c "$tree"
	expect 124 hutch wait v t
	retry 30 none_of v sleep
	is true "$(proc v t timed_out)" "timed out"
	hutch stop v
}

test_kill_ends_the_tree() {
	start v
	expect 0 hutch exec -d --name t v -- sh -c "$tree"
	expect 0 hutch wait --for line=up v t
	expect 0 hutch kill v t
	retry 30 none_of v sleep
	expect 137 hutch wait v t
	refused 125 "'?t'?" hutch kill v t
	expect 0 hutch drop v t
	refused 125 "'?t'?" hutch kill v t
	# One alone leaves the others.
	expect 0 hutch exec -d --name o v -- sh -c 'sleep 1000 & sleep 1001; exit'
	retry 30 running v sleep 2
	expect 0 hutch kill -s KILL --one v o
	retry 30 proc_is v o state lingering
	running v sleep 2 || fail "the children are gone"
	expect 137 hutch wait v o
	expect 0 hutch kill -s KILL v o
	retry 30 none_of v sleep
	retry 30 proc_is v o state exited
	hutch stop v
}

# running VM NAME N: N processes of that name run in the guest.
running() {
	[ "$(hutch exec "$1" -- pidof "$2" | wc -w)" = "$3" ]
}

test_signals_by_name_and_number() {
	start v
	expect 0 hutch exec -d --name s v -- sh -c '
		trap "echo hup" HUP; trap "echo usr1" USR1
		echo up; while :; do sleep 0.1; done'
	expect 0 hutch wait --for line=up v s
	expect 0 hutch kill -s HUP --one v s
	expect 0 hutch wait --for line=hup v s
	expect 0 hutch kill -s 10 --one v s
	expect 0 hutch wait --for line=usr1 v s
	refused 125 'NOSUCH' hutch kill -s NOSUCH v s
	refused 125 '65' hutch kill -s 65 v s
	expect 0 hutch kill -s KILL v s
	expect 137 hutch wait v s
	hutch stop v
}

test_ids_are_given_once() {
	start v
	expect 0 hutch exec -d --name a v -- sleep 1000
	is a "$(cat "$out")" "the id that is printed"
	refused 125 "'?a'?" hutch exec -d --name a v -- true
	refused 125 'Not-A-Name' hutch exec --name Not-A-Name v -- true
	expect 0 hutch exec -d v -- sleep 1000
	like '^[a-z0-9][a-z0-9-]*$' "$(cat "$out")" "an id that was made"
	is running "$(proc v "$(cat "$out")" state)" "state"
	is 2 "$(hutch ps -q v | wc -l)" "processes"
	expect 0 hutch kill -s KILL v a
	expect 137 hutch wait v a
	expect 0 hutch drop v a
	expect 3 hutch exec --name a v -- sh -c 'exit 3'
	refused 125 "'?a'?" hutch ps v a
	hutch stop v
}

test_environment_follows_the_user() {
	local show='echo $HOME $USER $LOGNAME ${TERM:-none} $X'

	start v --env X=vm
	hutch exec v -- sh -c 'echo "dev:x:1200:1300::/home/dev:/bin/sh" >>/etc/passwd
		echo "more:x:1301:dev" >>/etc/group'
	expect 0 hutch exec v -- sh -c "$show"
	like '/root root root .*vm' "$(cat "$out")" "of root"
	expect 0 hutch exec --user dev -e X=own v -- sh -c "$show; id -G"
	like '/home/dev dev dev .*own' "$(head -n 1 "$out")" "of dev"
	is '1300 1301' "$(tail -n 1 "$out")" "groups of dev"
	expect 0 hutch exec --user 1200 v -- sh -c 'id -g; echo $HOME'
	is '1300 /home/dev' "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "of 1200"
	# shellcheck disable=SC2016 # the shell in the VM expands it
	expect 0 hutch exec --clear-env -e Y=own v -- sh -c \
		'echo ${X:-none} ${USER:-none} $Y $HOME ${PATH:+path}'
	is 'none none own /root path' "$(cat "$out")" "a cleared one"
	expect 0 hutch exec --user 4711 v -- id -G
	is 0 "$(cat "$out")" "groups of a number that nobody knows"
	expect 0 hutch exec --user 4711:4712 v -- id -g
	is 4712 "$(cat "$out")" "group of 4711:4712"
	hutch stop v
}

# No race between pid and exit, no lost output, nothing left behind.
test_true_many_times() {
	start v
	exec_many v "$(size 300 5000)" echo
	hutch stop v
}

# Files in memory that outlive the process that wrote them.
test_many_that_write_to_memory() {
	start v
	exec_many v "$(size 300 1000)" file
	hutch stop v
}
