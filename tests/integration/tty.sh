# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# hutch exec -it: a real terminal. tty.py plays the person in front of it.

tty() {
	/usr/bin/python3 "$HUTCH_TESTS/tty.py" "$@"
}

test_a_terminal_with_its_size() {
	start v
	tty size v
	hutch stop v
}

test_resize_is_forwarded() {
	start v
	tty resize v
	hutch stop v
}

test_vi_edits_a_file() {
	start v
	tty vi v
	is "hello from vi" "$(hutch exec v -- cat /tmp/note)" "the file"
	hutch stop v
}

test_top_runs_and_quits() {
	start v
	tty top v
	hutch stop v
}

test_ctrl_c_reaches_the_command() {
	start v
	tty ctrl_c v
	hutch stop v
}

test_raw_mode_is_restored() {
	start v
	tty restored_after_exit v
	tty restored_after_signal v
	tty restored_after_death v "$(field v monitor)"
}

test_run_with_a_terminal() {
	tty run
}

test_t_without_a_terminal_is_refused() {
	start v
	refused 125 'tty|terminal' hutch exec -t v -- true
	hutch stop v
}
