# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Many at once, and many in a row

test_hundred_execs_in_parallel() {
	local i code bad=0 pids=()

	start v
	for i in $(seq 100); do
		hutch exec v -- sh -c "echo out $i; echo err $i >&2; exit $i" \
			>"o$i" 2>"e$i" &
		pids+=($!)
	done
	for i in $(seq 100); do
		code=0
		wait "${pids[$((i - 1))]}" || code=$?
		if [ $code != "$i" ] || [ "$(cat "o$i")" != "out $i" ] ||
		   [ "$(cat "e$i")" != "err $i" ]; then
			echo "exec $i: code $code, '$(cat "o$i")', '$(cat "e$i")'"
			bad=$((bad + 1))
		fi
	done
	is 0 $bad "execs that went wrong"
	hutch stop v
}

test_eight_vms_at_once() {
	local i pids=()

	for i in $(seq 8); do
		hutch start --memory 128M "v$i" >"s$i" 2>&1 &
		pids+=($!)
	done
	for i in $(seq 8); do
		wait "${pids[$((i - 1))]}" || fail "start v$i: $(cat "s$i")"
	done
	is 8 "$(hutch list --json | grep -o '"running"' | wc -l)" "running VMs"
	for i in $(seq 8); do
		is "v$i" "$(hutch exec "v$i" -- hostname)" "hostname"
	done
	hutch stop v1 v2 v3 v4 v5 v6 v7 v8
	for i in $(seq 8); do
		is stopped "$(field "v$i" state)" "state of v$i"
	done
}

# One process of the library: descriptors, memory, guest processes, cgroups.
test_execs_in_a_row_leak_nothing() {
	start v
	exec_many v "$(size 300 1000)"
	hutch stop v
}

# A VM has a name once; the names of those that stopped are free.
test_start_and_stop_in_a_row() {
	local i

	for i in $(seq "$(size 3 20)"); do
		start v
		is running "$(field v state)" "state in round $i"
		hutch stop v
		is stopped "$(field v state)" "state after round $i"
	done
	is 1 "$(hutch list -q | wc -l)" "records"
}
