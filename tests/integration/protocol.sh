# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The agent as docs/protocol.md has it: a client written from that page alone

test_exec() {
	start v
	scene protocol exec_ v
	hutch stop v
}

test_processes_as_objects() {
	start v
	scene protocol objects v
	scene protocol kill_scopes v
	hutch stop v
}

test_ports() {
	start v
	bring_tool v
	scene protocol ports v
	hutch stop v
}

test_large_arguments() {
	start v
	scene protocol large v
	hutch stop v
}

test_odd_bytes() {
	start v
	bring_tool v
	scene protocol odd_bytes v
	hutch stop v
}

test_both_ways_at_once() {
	start v
	scene protocol both_ways v "$(size 32 100)"
	hutch stop v
}

test_bad_client() {
	start v
	scene protocol bad_client v
	scene protocol crowd v
	hutch stop v
}

test_mutated_frames() {
	start v
	scene protocol mutated v "$(size 300 5000)" "${HUTCH_SEED:-$$}"
	expect 0 hutch exec v -- true
	hutch stop v
}

# CI has no time to fill it: that is left to the agent's unit tests.
test_table_is_bounded() {
	start v
	scene protocol table v "$(size 60 1100)"
	hutch stop v
}
