# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What a run leaves behind, and how it ends when its guest does.

# shellcheck source=tests/integration/lib.sh
. "$HUTCH_TESTS/lib.sh"

# The lifeline goes just after the VM has ended: that must not be recorded
# over how it ended.
test_guest_that_panics() {
	refused 125 "has ended: guest-panic" \
		hutch run --name boom -- sh -c 'echo c >/proc/sysrq-trigger'
	is stopped "$(field boom state)" state
	is guest-panic "$(field boom reason)" reason
	hutch logs --console boom >"$out"
	like 'sysrq' "$(cat "$out")" "the kernel's last words"
}

test_list_is_right_at_once() {
	expect 3 hutch run --name quick -- sh -c 'exit 3'
	is 'quick stopped exited(3)' \
		"$(hutch list | awk '$1 == "quick" { print $1, $3, $NF }')" list
	expect 0 hutch rm quick
	is '' "$(hutch list -q)" "names after rm"
}

test_signal_before_it_runs() {
	local pid code=0

	# Else SIGINT would be ignored in the background, and stay so.
	set -m
	hutch run --name early -- sleep 1000 >"$out" 2>"$err" &
	pid=$!
	retry 60 has early state starting
	kill -INT $pid
	wait $pid || code=$?
	is 130 $code "exit code"
	retry 10 has early state stopped
	is '' "$(hutch list | awk '$3 != "stopped" && NR > 1')" "VMs alive"
}

test_third_signal_leaves() {
	local pid code=0

	# Else SIGINT would be ignored in the background, and stay so.
	set -m
	hutch run --name deaf -- sh -c 'trap "" INT TERM HUP; echo up
		while :; do sleep 1; done' >"$out" 2>"$err" &
	pid=$!
	retry 60 grep -q up "$out"
	kill -TERM $pid
	kill -HUP $pid
	retry 60 grep -q 'once more to leave it' "$err"
	kill -INT $pid
	wait $pid || code=$?
	is 130 $code "exit code"
	is stopped "$(field deaf state)" "state when run has returned"
}

test_environment() {
	printf '# a file\nFILE=1\nBOTH=file\nFROM_HERE\n' >list
	FROM_HERE=yes expect 0 hutch run --rm --env-file list -e BOTH=option \
		-e FROM_HERE -e NOT_SET -e 'SPACE=a b' -- env
	like '^FILE=1$' "$(cat "$out")" "of the file"
	like '^BOTH=option$' "$(cat "$out")" "option over file"
	like '^FROM_HERE=yes$' "$(cat "$out")" "from here"
	like '^SPACE=a b$' "$(cat "$out")" "as it is"
	! grep -q NOT_SET "$out" || fail "a variable that is not set here"
	refused 125 "no name in front of '='" hutch run -e =x -- true
	refused 125 "env-file 'nosuch'" hutch run --env-file nosuch -- true
}

test_memory_as_docker_writes_it() {
	local n

	expect 0 hutch run --rm -m 128m -- sh -c \
		"sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo"
	n=$(cat "$out")
	at_most 131072 "$n" "KiB of memory in the VM"
	[ "$n" -gt 80000 ] || fail "only $n KiB of memory in the VM"
}
