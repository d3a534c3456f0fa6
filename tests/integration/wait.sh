# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# hutch wait: for an end, a line or a port, and which of the three it was

# waited OUTCOME CODE ARG...: hutch wait ends so, and says so.
waited() {
	local outcome=$1 code=$2

	shift 2
	expect "$code" hutch wait "$@"
	like "$outcome" "$(cat "$out")" "what wait says"
	expect "$code" hutch wait --json "$@"
	is "$outcome" "$(json outcome <"$out")" "outcome in JSON"
	is "$code" "$(json code <"$out")" "code in JSON"
}

test_for_exit() {
	start v
	expect 0 hutch exec -d --name p v -- sh -c 'sleep 1; exit 9'
	waited 'exited' 9 v p
	waited 'exited' 9 --timeout 1h v p
	expect 0 hutch exec -d --name k v -- sh -c 'sleep 1; kill -9 $$'
	waited 'exited' 137 v k
	expect 0 hutch exec -d --name s v -- sleep 1000
	waited 'timed out' 124 --timeout 200ms v s
	refused 125 nobody hutch wait v nobody
	refused 125 nobody hutch wait nobody
	hutch stop v
}

test_for_line() {
	start v
	expect 0 hutch exec -d --name p v -- sh -c '
		echo starting; echo "warning: x=[1]" >&2; sleep 1
		echo "Listening on port 8080"; printf "no newline"; sleep 1000'
	waited matched 0 --for 'line=^Listening on port [0-9]+$' v p
	is stdout "$(json stream <"$out")" "stream"
	is 'Listening on port 8080' "$(json line <"$out")" "line"
	is 32 "$(json cursor <"$out")" "cursor behind it"
	waited matched 0 --for 'line=x=\[1\]' v p
	is stderr "$(json stream <"$out")" "stream"
	# From behind it there is no second one.
	waited 'timed out' 124 --timeout 1s --from 32 --for 'line=^Listening' v p
	waited 'timed out' 124 --timeout 200ms --for 'line=never' v p
	refused 125 'expression|regular|unmatched|paren' \
		hutch wait --for 'line=(' v p
	expect 0 hutch kill -s KILL v p
	waited exited 1 --for 'line=never' v p
	# Of one that has ended, the rest without a newline is a line.
	waited matched 0 --from 32 --for 'line=^no newline$' v p
	# It has been said before the end.
	waited matched 0 --for 'line=Listening' v p
	hutch stop v
}

# Lines without end are matched in pieces, and hold up nobody.
test_for_line_in_a_flood() {
	start v
	expect 0 hutch exec -d --name p v -- sh -c \
		'head -c 3m /dev/zero | tr "\0" x; echo; echo needle; sleep 1000'
	waited matched 0 --for 'line=^needle$' v p
	expect 0 hutch exec -d --name q v -- sh -c 'yes | head -n 500000; exit 3'
	waited exited 1 --for 'line=^needle$' v q
	hutch stop v
}

test_for_port() {
	start v
	bring_tool v
	expect 0 hutch exec -d --name p v -- sh -c \
		'sleep 1; exec guest_tool listen 127.0.0.1 8080'
	waited matched 0 --for port=8080 v p
	waited 'timed out' 124 --timeout 500ms --for port=8081 v p
	expect 0 hutch exec -d --name q v -- sh -c 'sleep 1; exit 4'
	waited exited 1 --for port=8081 v q
	refused 125 '0' hutch wait --for port=0 v p
	refused 125 '65536' hutch wait --for port=65536 v p
	hutch stop v
}

# Without a process it is the main one, or the VM.
test_for_the_main_process() {
	hutch start v -- sh -c 'sleep 1; echo up; sleep 1; exit 5' >/dev/null
	expect 0 hutch wait --for line=up v
	expect 5 hutch wait v
	retry 30 has v state stopped
	expect 5 hutch wait v
	start w
	hutch wait w >w.out 2>w.err &
	hutch stop w
	wait $! || true
	like 'stopped' "$(cat w.out w.err)" "what wait says of a VM that stops"
}

# A VM that goes away is an error with its reason, not an outcome.
test_for_one_whose_vm_dies() {
	local what pid code

	for what in exit line=never port=9; do
		start v
		expect 0 hutch exec -d --name p v -- sleep 1000
		hutch wait --for $what v p >"$out" 2>"$err" &
		pid=$!
		sleep 1
		kill -KILL "$(field v monitor)"
		code=0
		wait $pid || code=$?
		is 125 $code "exit code of wait for $what"
		like 'vmm-crash' "$(cat "$err")" "the sentence"
		retry 10 has v state stopped
	done
}
