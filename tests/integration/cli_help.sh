# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Help, man page and completion say the same: what there is.

# shellcheck source=tests/integration/lib.sh
. "$HUTCH_TESTS/lib.sh"

tree=$HUTCH_TESTS/../..

verbs() {
	hutch help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

test_every_verb_has_help() {
	local verb n=0

	for verb in $(verbs); do
		n=$((n + 1))
		expect 0 hutch "$verb" --help
		like "^Usage: hutch $verb" "$(cat "$out")" "help of $verb"
		is "$(cat "$out")" "$(hutch help "$verb")" "help $verb"
		# Nothing wider than a terminal.
		at_most 80 "$(wc -L <"$out")" "columns of the help of $verb"
	done
	[ $n -ge 17 ] || fail "only $n verbs"
	expect 0 hutch --help
	expect 0 hutch --version
	like '^hutch [0-9]+\.[0-9]+' "$(cat "$out")" version
	expect 125 hutch
	is 0 "$(stat -c %s "$out")" "bytes on stdout of bare hutch"
}

# The man page stands beside the sources; scripts/check-help.sh has the rules.
test_man_page_and_help_agree() {
	expect 0 "$tree/scripts/check-help.sh" "$(command -v hutch)"
}

test_man_page_is_clean() {
	is '' "$(/usr/bin/mandoc -T lint -W warning "$tree/man/hutch.1" 2>&1)" \
		"mandoc's complaints"
}

test_suggestions() {
	refused 125 "did you mean 'hutch inspect'" hutch inspct web
	refused 125 "did you mean 'hutch exec'" hutch shell
	refused 125 "more words: hutch ps" hutch ps
	refused 125 "did you mean '--memory'" hutch run --memroy 1G -- true
	refused 125 "did you mean '--timeout'" hutch exec --timout 1 web -- x
	refused 125 "hutch start NAME -- COMMAND" hutch run -d -- true
	refused 125 "no image 'sh'" hutch run --pull never sh
	refused 125 "no image 'busybox'" hutch run --pull never busybox -- id
	refused 125 "one word too many" hutch version x
	refused 125 "more words" hutch stop
	refused 125 "needs a command" hutch exec web
	refused 125 "unknown verb '.e\[31mx'" hutch $'\e[31mx'
}

# complete WORD...: what the last word can become, sorted.
complete() {
	bash -c '
		. "$1/completion/hutch.bash"
		shift
		COMP_WORDS=(hutch "$@") COMP_CWORD=$#
		_hutch hutch "${COMP_WORDS[COMP_CWORD]}" \
			"${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" ${COMPREPLY[@]+"${COMPREPLY[@]}"} | sort
	' complete "$tree" "$@" | tr '\n' ' '
}

test_completion() {
	is 'start stop ' "$(complete st)" "verbs"
	is '--memory --mount ' "$(complete run --m)" "options of run"
	is '--grace ' "$(complete stop --g)" "options of stop"
	is 'import inspect ' "$(complete image i)" "verbs of image"
	is '--pick ' "$(complete image import --p)" "options of its verbs"
	is ' ' "$(complete run --memory '')" "a size is not guessed"
	is 'HUTCH_STATE ' "$(complete run -it -e HUTCH_ST)" "variables"
	is ' ' "$(complete exec -t web -- '')" "a command in a VM"
	start web
	is 'web ' "$(complete exec -it '')" "names"
	is 'web ' "$(complete stop other w)" "more names"
	hutch exec -d --name server web -- sleep 1000 >"$out"
	is 'server ' "$(complete logs web '')" "ids of processes"
	is 'server ' "$(complete kill --one web s)" "the same of kill"
	is ' ' "$(complete attach web server '')" "attach takes one"
	is 'SIGTERM ' "$(complete kill -s SIGTE)" "signals"
	is 'exit line= port= ' "$(complete wait --for '')" "what to wait for"
	is 'keep stop ' "$(complete start --on-exit '')" "what is done"
	is 'head ' "$(complete exec --keep h)" "what to keep"
	hutch kill web
}

test_doctor() {
	expect 0 hutch doctor
	like '^ok +/dev/kvm' "$(cat "$out")" "a machine with KVM"
	like 'can run VMs here' "$(cat "$out")" "its verdict"
	HUTCH_KERNEL=/nonexistent expect 125 hutch doctor
	like '^lacks +guest kernel' "$(cat "$out")" "without a kernel"
	HUTCH_STATE=/proc/hutch expect 125 hutch doctor
	like '^lacks +folders' "$(cat "$out")" "without a state folder"
	HUTCH_LIBEXEC=/nonexistent expect 125 hutch doctor
	like '^lacks +folders' "$(cat "$out")" "without programs"
	mkdir empty
	HUTCH_LIBEXEC=$PWD/empty expect 125 hutch doctor --json
	is lacks "$(/usr/bin/python3 -c 'import json, sys
print({c["name"]: c for c in json.load(sys.stdin)["checks"]}["monitor"]["state"])
' <"$out")" "without a monitor"
}

test_closed_and_full_output() {
	local code=0

	hutch list >&- 2>"$err" || code=$?
	# Without a standard output nothing can be said there, nor is it lost
	# in a descriptor of another kind.
	is 0 $code "exit code with stdout closed"
	code=0
	hutch help >/dev/full 2>"$err" || code=$?
	is 125 $code "exit code on a full disk"
	like 'cannot write to standard output' "$(cat "$err")" sentence
}
