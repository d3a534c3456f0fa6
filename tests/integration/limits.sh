# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Commands that take all there is: the agent lives and another one answers

# answers VM: five commands in a row, each with its output.
answers() {
	local i

	for i in 1 2 3 4 5; do
		is "$i" "$(hutch exec --timeout 60s "$1" -- echo "$i")" \
			"output beside it"
	done
}

# agent_kib VM: resident memory of the agent.
agent_kib() {
	hutch exec "$1" -- sh -c 'grep ^VmRSS: /proc/1/status' |
		awk '{ print $2 }'
}

test_fork_bomb_with_a_limit() {
	local n

	start v --cpus 2
	bring_tool v
	expect 0 hutch exec -d --name bomb --pids 64 v -- guest_tool bomb
	answers v
	n=$(hutch exec v -- pidof guest_tool | wc -w)
	is 64 "$n" "processes of the bomb"
	expect 0 hutch kill -s KILL v bomb
	expect 137 hutch wait --timeout 60 v bomb
	answers v
	hutch stop v
}

test_memory_hog_with_a_limit() {
	local before

	start v --memory 256M
	before=$(hutch exec v -- awk '/MemAvailable/ { print $2 }' /proc/meminfo)
	expect 137 hutch exec --memory 24M --json v -- tail /dev/zero
	is true "$(tail -n 1 "$out" | json oom)" "oom of the limit's own"
	answers v
	expect 0 hutch exec -d --name hog --memory 24M v -- tail /dev/zero
	answers v
	expect 137 hutch wait --timeout 60 v hog
	is true "$(hutch ps --json v hog | json 0.oom)" "oom"
	# Within the limit there is none.
	expect 0 hutch exec --memory 48M v -- sh -c \
		'head -c 16m /dev/zero | tail -c 16m | wc -c'
	is 16777216 "$(tr -d ' ' <"$out")" "bytes"
	# What else there is was not touched.
	expect 0 hutch exec v -- awk '/MemAvailable/ { print $2 }' /proc/meminfo
	at_most 20000 $((before - $(cat "$out"))) "KiB that are gone"
	hutch stop v
}

test_memory_hog_without_a_limit() {
	start v --memory 128M
	expect 0 hutch exec -d --name bystander v -- sleep 1000
	expect 137 hutch exec --json v -- tail /dev/zero
	is true "$(tail -n 1 "$out" | json oom)" "oom"
	answers v
	# Several at once, in the background of one.
	expect 0 hutch exec -d --name hogs v -- sh -c \
		'tail /dev/zero & tail /dev/zero & tail /dev/zero & wait; echo done'
	expect 0 hutch wait --timeout 120 v hogs
	answers v
	is running "$(hutch ps --json v bystander | json 0.state)" "the bystander"
	expect 0 hutch events --json v
	like '"oom"' "$(cat "$out")" "events"
	hutch stop v
}

# A full /tmp is memory too.
test_memory_full_of_files() {
	start v --memory 128M
	hutch exec v -- sh -c 'head -c 100m /dev/zero >/dev/shm/f' || true
	answers v
	hutch exec v -- rm -f /dev/shm/f
	answers v
	hutch stop v
}

test_all_cpus_busy() {
	start v --cpus 2
	expect 0 hutch exec -d --name spin v -- sh -c '
		for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait'
	answers v
	# With the greatest of weights, too.
	expect 0 hutch exec -d --name spin2 --cpu-weight 10000 v -- sh -c '
		for i in 1 2 3 4; do while :; do :; done & done; wait'
	answers v
	expect 0 hutch kill -s KILL v spin spin2
	expect 137 hutch wait --timeout 60 v spin
	hutch stop v
}

# One client reads one of many writers slowly: nobody's memory grows.
test_many_writers_one_slow_reader() {
	local n lines vmm before after agent_before i

	# (The reader's share of the processors is one in so many.)
	n=$(size 20 200)
	lines=$(size 50000 1000000)
	start v
	vmm=$(field v monitor)
	# They begin together, or starting them takes most of the time.
	hutch exec v -- mkfifo /tmp/go
	for i in $(seq "$n"); do
		hutch exec -d --name "w$i" --ring "$(size 256K 1M)" v -- \
			sh -c ': </tmp/go; exec yes' >/dev/null
	done
	hutch exec -d v -- sh -c 'exec 3>/tmp/go; sleep 1000' >/dev/null
	mkfifo pipe
	hutch exec v -- seq 1 "$lines" >pipe &
	exec 7<pipe
	# The rings fill up: they have a bound, and then it is flat.
	answers v
	retry 240 rings_are_full
	agent_before=$(agent_kib v)
	before=$(memory_kib "$vmm")
	head -c 100000 <&7 >got
	sleep "$(size 5 60)"
	head -c 100000 <&7 >>got
	after=$(memory_kib "$vmm")
	at_most 4096 $((after - before)) "KiB the monitor has grown by"
	at_most 4096 $(($(agent_kib v) - agent_before)) "KiB the agent has"
	cat <&7 >>got
	exec 7<&-
	wait
	seq 1 "$lines" | cmp - got
	for i in 1 "$n"; do
		hutch logs v "w$i" 2>/dev/null | tail -c 4096 | sort -u >line
		is y "$(grep -v '^$' line)" "lines of writer $i"
	done
	hutch stop v
}

# All of the writers' output is cut by now.
rings_are_full() {
	hutch ps --json v | /usr/bin/python3 -c '
import json, sys
sys.exit(any(p["stdout_total"] and not p["stdout_cut"] for p in json.load(sys.stdin)
             if p["id"][0] == "w" and p["state"] == "running"))'
}
