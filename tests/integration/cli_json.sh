# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The JSON of each verb is what docs/json.md says it is.

# shellcheck source=tests/integration/lib.sh
. "$HUTCH_TESTS/lib.sh"

doc=$HUTCH_TESTS/../../docs/json.md

shape() {
	/usr/bin/python3 "$HUTCH_TESTS/json_doc.py" "$doc" check "$1" <"$out" ||
		fail "not as in docs/json.md"
}

test_examples_have_their_shape() {
	/usr/bin/python3 "$HUTCH_TESTS/json_doc.py" "$doc" examples ||
		fail "an example in docs/json.md is not as its table says"
}

# Runs every command that docs/json.md shows, and holds what it writes against
# the same table as the example.
test_commands_of_the_document() {
	local shape command n=0

	start web --net internet
	# Of which there is something to tell.
	expect 1 hutch exec web -- wget -q -O - http://10.0.0.1/
	expect 0 hutch start --json job -- sh -c 'echo hello; exit 7'
	shape record
	retry 60 has job state stopped
	while IFS=$'\t' read -r shape command; do
		n=$((n + 1))
		# Which exit code is right, other tests say.
		bash -c "$command" >"$out" 2>"$err" </dev/null || true
		[ -s "$out" ] || fail "'$command' wrote nothing: $(cat "$err")"
		shape "$shape"
	done < <(/usr/bin/python3 "$HUTCH_TESTS/json_doc.py" "$doc" list)
	[ $n -ge 15 ] || fail "only $n examples in docs/json.md"
	expect 0 hutch list --json
	shape '[record]'
	is running "$(json 0.state <"$out")" "state of web"
	hutch kill web
}

test_events_of_run() {
	expect 3 hutch run --rm --json -- sh -c 'echo out; exit 3'
	shape 'event lines'
	is main "$(sed -n 1p "$out" | json id)" "id of the main process"
	is stdout "$(sed -n 2p "$out" | json event)" "what comes next"
	is out "$(sed -n 2p "$out" | json text)" output
	is 0 "$(sed -n 2p "$out" | json cursor)" "its cursor"
	is 3 "$(tail -n 1 "$out" | json code)" "code of the exit event"

	expect 137 hutch run --rm --json -- sh -c 'kill -9 $$'
	is 9 "$(tail -n 1 "$out" | json signal)" "signal of the exit event"

	expect 127 hutch run --rm --json -- nosuch
	shape 'event lines'
	is 127 "$(json code <"$out")" "code of the error event"
	like "nosuch" "$(json error.message <"$out")" "sentence"
}

# What stands behind the command is the command's.
test_json_of_the_command_is_its_own() {
	start web
	expect 0 hutch exec web echo --json
	is --json "$(cat "$out")" "output of echo"
	hutch kill web
}

test_errors_of_options() {
	local command

	for command in 'list --nosuch' 'run --json --memory 1M -- x' \
		'inspect --json nosuch' 'stop --grace x y' 'start'; do
		# shellcheck disable=SC2086 # words are meant
		expect 125 hutch --json $command
		case $command in
		inspect*) is '[]' "$(tr -d ' \n' <"$out")" "records of none" ;;
		*) shape failure ;;
		esac
	done
}
