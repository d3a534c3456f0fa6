# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Output that is kept: replayed from a cursor, followed by many, cut and told

test_replay_and_follow() {
	start v
	scene attach replay v
	scene attach many_clients v "$(size 16 100)"
	hutch stop v
}

test_slow_client_is_told() {
	start v
	scene attach slow_client v
	hutch stop v
}

test_head_and_order() {
	start v
	bring_tool v
	scene attach keep_head v
	scene attach order v
	hutch stop v
}

test_sum_is_capped() {
	start v --memory 64M
	scene attach sum_is_capped v
	hutch stop v
}

test_client_that_started_it_leaves() {
	start v
	scene attach foreground_client_leaves v
	hutch stop v
}

test_raw_terminal() {
	start v
	scene attach raw_terminal v
	hutch stop v
}

# The same by the command line.
test_attach_and_logs() {
	local pid code=0

	start v
	expect 0 hutch exec -d --name job v -- sh -c \
		'seq 1 1000; echo err >&2; sleep 1; echo last; exit 6'
	hutch attach v job >a.out 2>a.err &
	pid=$!
	hutch logs -f v job >l.out 2>l.err
	wait $pid || code=$?
	is 6 $code "exit code of attach"
	{ seq 1 1000; echo last; } >want
	cmp want a.out
	cmp want l.out
	is err "$(cat a.err)" "stderr of attach"
	is err "$(cat l.err)" "stderr of logs"
	expect 0 hutch logs --since 3893,0 v job
	is last "$(cat "$out")" "stdout from a cursor"
	expect 6 hutch attach v job
	cmp want "$out"
	refused 125 nobody hutch attach v nobody
	refused 125 nobody hutch logs v nobody
	hutch stop v
}

test_stdin_through_attach() {
	start v
	expect 0 hutch exec -d -i --name job v -- sh -c \
		'cat; echo end of file; exit 8' </dev/null
	head -c 1M /dev/urandom >source
	expect 8 hutch attach v job <source
	{ cat source; echo end of file; } | cmp - "$out"
	hutch stop v
}
