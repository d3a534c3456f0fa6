# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the keeper keeps: events, logs, labels; and when it ends a VM by itself

# kinds VM: the kinds of its events, in one line.
kinds() {
	hutch events --json "$1" | /usr/bin/python3 -c '
import json, sys
print(" ".join(json.loads(l)["event"] for l in sys.stdin))'
}

# event VM KIND MEMBER [PROCESS]: of the last such event.
event() {
	hutch events --json "$1" | /usr/bin/python3 -c '
import json, sys
kind, member, process = (sys.argv[1:] + [None])[:3]
v = [e for e in map(json.loads, sys.stdin) if e["event"] == kind and
     process in (None, e["process"])][-1][member]
print("" if v is None else v if isinstance(v, str) else json.dumps(v))' "${@:2}"
}

test_events_of_a_life() {
	local want

	start v
	hutch events -f v >followed &
	expect 7 hutch exec --name one v -- sh -c 'exit 7'
	expect 0 hutch exec -d --name two v -- sleep 1000
	expect 0 hutch kill -s KILL v two
	expect 137 hutch wait v two
	hutch stop v
	wait
	want='started ready process-started process-exited'
	want+=' process-started process-exited stopped'
	is "$want" "$(kinds v)" "events of a VM that has ended"
	is 7 "$(event v process-exited exit_code one)" "code"
	is 9 "$(event v process-exited signal two)" "signal"
	is stopped "$(event v stopped reason)" "reason"
	is 7 "$(wc -l <followed)" "lines of one who followed"
	# They go with the record.
	expect 0 hutch rm v
	refused 125 'v' hutch events v
}

test_logs_outlive_the_vm() {
	hutch start v -- sh -c 'seq 1 5000; echo err >&2; exit 3' >/dev/null ||
		true
	retry 60 has v state stopped
	hutch logs v >l.out 2>l.err
	seq 1 5000 | cmp - l.out
	is err "$(cat l.err)" "stderr"
	is 3 "$(event v process-exited exit_code)" "exit code in the events"
	is 'exited' "$(event v stopped reason)" "reason"
	# With a client attached it is kept as well, but not with --rm.
	expect 4 hutch run --name r -- sh -c 'echo hello; exit 4'
	is hello "$(hutch logs r)" "log of hutch run"
	expect 0 hutch run --rm --name gone -- echo hello
	refused 125 gone hutch logs gone
}

# More than fits: the end is there, and the loss is told.
test_logs_are_bounded() {
	local mib

	mib=$(size 24 200)
	hutch start v -- sh -c "head -c ${mib}m /dev/zero | tr '\\0' x; echo; echo end" \
		>/dev/null || true
	retry "$(size 250 1500)" has v state stopped
	hutch logs v >l.out 2>l.err
	is end "$(tail -n 1 l.out)" "the last line"
	at_most $((40 << 10)) "$(du -sk "$HUTCH_STATE" | cut -f 1)" \
		"KiB of state for one VM"
}

test_events_are_bounded() {
	local n

	n=$(size 300 3000)
	start v
	scene protocol many_execs v "$n"
	hutch stop v
	is stopped "$(kinds v | awk '{ print $NF }')" "the last event"
	at_most 600 "$(du -k "$HUTCH_STATE/state/v/" | tail -n 1 | cut -f 1)" \
		"KiB of the VM's state"
}

test_labels_and_filters() {
	start web --label app=web --label tier=1
	hutch start --label app=db db -- true >/dev/null || true
	retry 60 has db state stopped
	is web "$(hutch list -q --filter label=app=web)" "by a value"
	is $'db\nweb' "$(hutch list -q --filter label=app)" "by a key"
	is web "$(hutch list -q --filter label=tier)" "by another key"
	is "" "$(hutch list -q --filter label=app=none)" "by a value of nobody"
	is db "$(hutch list -q --filter state=stopped)" "by state"
	is web "$(hutch list -q --filter 'name=w*')" "by name"
	is db "$(hutch list -q --filter label=app --filter state=stopped)" "by two"
	is web "$(hutch inspect --json web | json 0.labels.app)" "in the record"
	refused 125 'label' hutch start --label 'bad key=1' x
	refused 125 'colour' hutch list --filter colour=red
	hutch stop web
}

# Nothing has been asked of it for so long. A slow machine must not take that
# long between two commands here.
test_idle_timeout() {
	local pid

	start v --idle-timeout 8s
	hutch exec v -- sleep 10
	is running "$(field v state)" "state after an exec longer than that"
	expect 0 hutch exec -d v -- sleep 1000
	retry 60 has v state stopped
	is idle-timeout "$(field v reason)" "reason"
	like ' idle .*stopped$' "$(kinds v)" "events"
	# One who is attached keeps it, as long as that lasts.
	start v --idle-timeout 8s
	expect 0 hutch exec -d --name p v -- sleep 1000
	hutch attach v p &
	pid=$!
	sleep 11
	is running "$(field v state)" "state with a client attached"
	kill $pid
	wait $pid || true
	retry 60 has v state stopped
	is idle-timeout "$(field v reason)" "reason"
}

test_keep_alive_processes() {
	start v --idle-timeout 8s --keep-alive processes
	expect 0 hutch exec -d v -- sleep 16
	sleep 11
	is running "$(field v state)" "state while a process runs"
	retry 60 has v state stopped
	is idle-timeout "$(field v reason)" "reason"
}

test_on_exit_keep() {
	hutch start --on-exit keep v -- sh -c 'echo out; exit 6' >/dev/null
	retry 60 has_event v process-exited
	is running "$(field v state)" "state after the main process"
	expect 0 hutch exec v -- echo hi
	is hi "$(cat "$out")" "output"
	is out "$(hutch logs v)" "log of the main process"
	is 6 "$(hutch inspect --json v | json 0.exit_code)" "its exit code"
	hutch stop v
	is stopped "$(field v reason)" "reason"
	like '^20..-' "$(hutch inspect --json v | json 0.main_ended)" \
		"when it ended"
	like '^main-ended +20..-' "$(hutch inspect v | grep '^main-ended')" \
		"the same for people"
	# One that the VM takes along.
	hutch start --on-exit keep v -- sleep 1000 >/dev/null
	hutch stop v
	is '' "$(hutch inspect --json v | json 0.main_ended)" "when it ended"
	hutch start --on-exit stop v -- sh -c 'exit 6' >/dev/null || true
	retry 60 has v state stopped
	is 'exited(6)' "$(field v reason)" "reason with stop"
}

has_event() {
	[[ " $(kinds "$1") " == *" $2 "* ]]
}

# Whoever asked for it may be long gone.
test_timeouts_outlive_their_client() {
	local pid

	start v --timeout 30s
	hutch exec --name p --timeout 10s v -- sleep 1000 &
	pid=$!
	retry 30 has_event v process-started
	kill -KILL $pid
	wait $pid || true
	retry 60 has_event v process-exited
	is true "$(event v process-exited timed_out)" "timed out"
	retry 60 has v state stopped
	is timeout "$(field v reason)" "reason of the VM's end"
}
