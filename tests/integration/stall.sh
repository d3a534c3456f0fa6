# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Clients and monitors that are killed or stopped in the middle: each end is
# an error with a reason, or a right result

test_client_killed_mid_stream() {
	local pid i

	start v
	for i in 1 2 3; do
		hutch exec --name "p$i" v -- sh -c 'exec cat /dev/zero' >got$i &
		pid=$!
		retry 60 test -s got$i
		kill -KILL $pid
		wait $pid || true
		expect 0 hutch exec v -- echo "$i"
		is "$i" "$(cat "$out")" "output after its death"
		# It goes on in the background, and can be ended.
		is running "$(hutch ps --json v "p$i" | json 0.state)" "state"
		retry 30 not_foreground "p$i"
		expect 0 hutch kill -s KILL v "p$i"
		expect 137 hutch wait v "p$i"
	done
	hutch stop v
}

not_foreground() {
	[ "$(hutch ps --json v "$1" | json 0.foreground)" = false ]
}

# Stopped for a while: nothing is lost, and nothing is made up.
test_monitor_stopped_for_a_while() {
	local vmm pid code=0 n

	n=$(size 1000000 3000000)
	start v --cpus 2
	vmm=$(field v monitor)
	hutch exec v -- sh -c "seq 1 $n; exit 9" >got &
	pid=$!
	retry 60 test -s got
	kill -STOP "$vmm"
	sleep "$(size 5 60)"
	is running "$(field v state)" "state while it is stopped"
	alive $pid || fail "the client has given up"
	kill -CONT "$vmm"
	wait $pid || code=$?
	is 9 $code "exit code"
	seq 1 "$n" | cmp - got
	expect 0 hutch exec v -- echo again
	hutch stop v
}

# A guest that is stalled hangs nobody who has a deadline, nor who waits for a
# process that has one. (All at once, since each takes its time.)
test_monitor_stopped_under_everybody() {
	local vmm i pids=()

	start v
	vmm=$(field v monitor)
	expect 0 hutch exec -d --name q v -- sleep 1000
	# Long enough for all that is done before the guest stands still.
	expect 0 hutch exec -d --timeout 20s --name p v -- sleep 1000
	beside 1 refused 125 'stalled' hutch wait v p
	retry 60 attached_to_p
	kill -STOP "$vmm"
	beside 2 refused 124 'stalled' hutch exec --timeout 1s v -- true
	beside 3 refused 125 'time|answer' hutch ps v
	beside 4 expect 124 hutch wait --timeout 1s v q
	# Who comes only now cannot know that p has a deadline.
	beside 5 refused 125 'does not answer' hutch wait v p
	expect 0 hutch list
	is running "$(field v state)" "state"
	for i in "${pids[@]}"; do
		wait "$i" || fail "$(cat said-*)"
	done
	kill -CONT "$vmm"
	expect 124 hutch wait v p
	is running "$(hutch ps --json v q | json 0.state)" "the process"
	expect 0 hutch exec v -- true
	kill -STOP "$vmm"
	expect 0 hutch stop --grace 1s v
	is stopped "$(field v state)" "state"
}

# beside N COMMAND...: in the background, with files of its own; adds to pids.
beside() {
	local out=out-$1 err=err-$1

	"${@:2}" >"said-$1" 2>&1 &
	pids+=($!)
}

attached_to_p() {
	[ "$(hutch ps --json v p | json 0.attached)" = 1 ]
}

# Everybody who waits for something hears of the end.
test_monitor_killed_under_everybody() {
	local pids=() names=(exec attach logs wait) i code

	start v
	expect 0 hutch exec -d --name p v -- sh -c 'echo up; sleep 1000'
	hutch exec v -- sh -c 'echo up; sleep 1000' >o0 2>e0 &
	pids+=($!)
	hutch attach v p >o1 2>e1 &
	pids+=($!)
	hutch logs -f v p >o2 2>e2 &
	pids+=($!)
	hutch wait v p >o3 2>e3 &
	pids+=($!)
	for i in 0 1 2; do
		retry 60 grep -q up o$i
	done
	kill -KILL "$(field v monitor)"
	for i in 0 1 2 3; do
		code=0
		wait "${pids[$i]}" || code=$?
		is 125 $code "exit code of ${names[$i]}"
		like 'vmm-crash' "$(cat e$i)" "the sentence of ${names[$i]}"
	done
	retry 10 has v state stopped
	is 'vmm-crash(9)' "$(field v reason)" "reason"
	like 'stopped$' "$(hutch events --json v | tail -n 1 |
		json event)" "the last event"
	refused 125 'vmm-crash' hutch ps v
}

test_keeper_killed_under_a_stream() {
	local pid code=0

	start v
	hutch exec v -- sh -c 'echo up; cat /dev/zero' >got 2>"$err" &
	pid=$!
	retry 60 test -s got
	kill -KILL "$(field v keeper)"
	wait $pid || code=$?
	is 125 $code "exit code"
	like 'lost' "$(cat "$err")" "the sentence"
	is lost "$(field v reason)" "reason"
}
