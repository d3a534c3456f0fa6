# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Every way a VM can end: the reason is right, and nothing stays behind

stopped() {
	[ "$(field "$1" state)" = stopped ]
}

test_exec_before_ready_waits() {
	hutch start --no-wait v >/dev/null
	expect 0 hutch exec v -- echo hi
	is hi "$(cat "$out")" "output"
	hutch stop v
}

test_exec_after_death_says_why() {
	local vmm

	start v
	vmm=$(field v monitor)
	kill -KILL "$vmm"
	retry 10 stopped v
	refused 125 'vmm-crash' hutch exec v -- true
	is 'vmm-crash(9)' "$(field v reason)" "reason"
}

test_exec_under_way_when_the_monitor_dies() {
	local vmm pid code=0

	start v
	vmm=$(field v monitor)
	hutch exec v -- sh -c 'echo up; sleep 1000' >"$out" 2>"$err" &
	pid=$!
	retry 30 grep -q up "$out"
	kill -KILL "$vmm"
	wait $pid || code=$?
	is 125 $code "exit code"
	like 'vmm-crash' "$(cat "$err")" "the sentence"
}

test_exec_under_way_when_the_guest_dies() {
	local pid code=0

	start v
	hutch exec v -- sh -c 'echo up; sleep 1000' >"$out" 2>"$err" &
	pid=$!
	retry 30 grep -q up "$out"
	hutch exec v -- sh -c 'echo c >/proc/sysrq-trigger' 2>/dev/null || true
	wait $pid || code=$?
	is 125 $code "exit code"
	like 'guest-panic' "$(cat "$err")" "the sentence"
	is guest-panic "$(field v reason)" "reason"
	hutch logs --console v >console
	like 'sysrq|panic' "$(cat console)" "the console"
}

test_main_process_ends() {
	hutch start v -- sh -c 'echo out; echo err >&2; exit 9' >/dev/null || true
	retry 30 stopped v
	is 'exited(9)' "$(field v reason)" "reason"
	hutch logs v >got.out 2>got.err
	is out "$(cat got.out)" "stdout of logs"
	is err "$(cat got.err)" "stderr of logs"
	hutch start v -- sh -c 'kill -SEGV $$' >/dev/null || true
	retry 30 stopped v
	is 'killed(11)' "$(field v reason)" "reason"
}

test_out_of_memory() {
	hutch start --memory 96M v -- tail /dev/zero >/dev/null || true
	retry 120 stopped v
	like '^oom' "$(field v reason)" "reason"
}

test_vm_timeout() {
	hutch start --timeout 2s v -- sleep 1000 >/dev/null || true
	retry 30 stopped v
	is timeout "$(field v reason)" "reason"
}

test_stop_and_kill() {
	start v
	hutch stop v
	is stopped "$(field v reason)" "reason after stop"
	expect 0 hutch stop v
	start v
	hutch kill v
	is stopped "$(field v state)" "state after kill"
	like '^(killed|stopped)' "$(field v reason)" "reason after kill"
	refused 125 'v' hutch kill v
}

# SIGTERM first, to all; the deaf one gets SIGKILL after the grace.
test_stop_has_a_grace() {
	hutch start v -- sh -c 'trap "echo term; exit 0" TERM
		echo up; while :; do sleep 0.1; done' >/dev/null
	retry 30 says_up
	hutch stop v
	like 'term' "$(hutch logs v)" "the main process's last words"
	hutch start v -- sh -c 'trap "" TERM; echo up
		while :; do sleep 0.1; done' >/dev/null
	retry 30 says_up
	expect 0 hutch stop --grace 1s v
	is stopped "$(field v state)" "state"
}

says_up() {
	hutch logs v 2>/dev/null | grep -q up
}

test_guest_powers_off() {
	start v
	hutch exec v -- poweroff -f 2>/dev/null || true
	retry 30 stopped v
	is stopped "$(field v reason)" "reason"
}

test_guest_reboots() {
	start v
	hutch exec v -- reboot -f 2>/dev/null || true
	retry 30 stopped v
	[ -n "$(field v reason)" ] || fail "no reason"
	echo "reason: $(field v reason)"
}

# fact KEY: of what hutch inspect has said.
fact() {
	awk -v k="$1" '$1 == k { print $2; exit }' facts
}

# kill_at WHO POINT: a start that loses WHO at a tenth of its way.
# The way is measured first; where exactly a death falls differs from run to
# run, so each of the ten must do.
kill_at() {
	local who=$1 point=$2 pid victims want=lost

	hutch start v >start.out 2>start.err &
	pid=$!
	sleep "$(awk -v w="$way_ms" -v p="$point" \
		'BEGIN { printf "%.3f", w * p / 10 / 1000 }')"
	hutch inspect v >facts 2>/dev/null || : >facts
	case $who in
	keeper) victims=$(fact keeper) ;;
	monitor) victims=$(fact monitor) want='vmm-crash(9)' ;;
	both) victims="$(fact keeper) $(fact monitor)" ;;
	esac
	# shellcheck disable=SC2086 # one word a process
	[ -z "${victims// /}" ] || kill -KILL $victims 2>/dev/null || true
	wait $pid || true
	if [ -z "${victims// /}" ]; then
		echo "point $point: too early, there was nothing to kill"
		hutch kill v 2>/dev/null || true
		return 0
	fi
	hutch list >listed
	retry 10 no_process
	tail -n 1 listed
	echo "point $point: start said '$(cat start.err)'"
	like "^v +- +stopped .* ${want//[()]/.}\$" "$(tail -n 1 listed)" \
		"list at once after point $point"
	# With and without rm the name is free again.
	[ $((point % 2)) = 0 ] || expect 0 hutch rm v
}

kill_at_ten_points() {
	local way_ms point t

	t=${EPOCHREALTIME/[.,]/}
	start v
	way_ms=$(((${EPOCHREALTIME/[.,]/} - t) / 1000))
	hutch kill v
	for point in 1 2 3 4 5 6 7 8 9 10; do
		kill_at "$1" $point
	done
	start v
	expect 0 hutch exec v -- true
	hutch stop v
}

test_kill_keeper_at_ten_points() {
	kill_at_ten_points keeper
}

test_kill_monitor_at_ten_points() {
	kill_at_ten_points monitor
}

test_kill_both_at_ten_points() {
	kill_at_ten_points both
}

# run_killed SIGNAL CODE: hutch run loses to a signal; no VM is left.
run_killed() {
	local pid code=0

	hutch run --rm --name r -- sh -c 'echo up; exec sleep 1000' >"$out" 2>"$err" &
	pid=$!
	retry 30 grep -q up "$out"
	kill "-$1" $pid
	wait $pid || code=$?
	is "$2" $code "exit code after SIG$1"
	retry 10 no_process
	is "" "$(hutch list -q)" "VMs left after SIG$1"
}

test_run_killed_by_term() {
	run_killed TERM 143
}

# A shell's background child ignores SIGINT, unless with job control.
test_run_killed_by_int() {
	run_killed HUP 129
	set -m
	run_killed INT 130
}

test_run_killed_by_kill() {
	run_killed KILL 137
	set -m
	run_killed QUIT 131
}
