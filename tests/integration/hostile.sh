# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A guest whose agent is an enemy: keeper and client survive, bound what they
# hold, and say what was wrong

# start_hostile NAME [OPTION...]: a VM with hostile_agent as its PID 1.
start_hostile() {
	local f

	mkdir -p evil
	for f in hutch-keeper hutch-vmm builtin.cpio; do
		ln -sf "$(dirname "$(command -v hutch)")/$f" evil/
	done
	cp "$(command -v hostile_agent)" evil/hutch-agent
	export HUTCH_LIBEXEC=$PWD/evil
	start "$@"
}

# lie NAME PATTERN: hutch exec of it is an error that says so. Those that are
# not are told all together.
lie() {
	(refused 125 "$2" hutch exec v -- "lie-$1") ||
		echo "lie-$1" >>believed
	printf '%s: %s\n' "$1" "$(head -n 1 "$err")"
}

test_lies_to_a_client() {
	start_hostile v
	: >believed
	expect 7 hutch exec v -- lie-none
	lie magic 'magic|protocol|agent'
	lie version 'version'
	lie no-hello 'hello|first frame'
	lie two-hellos 'hello'
	lie unknown 'type|0x77'
	lie of-client 'type|0x14|side'
	lie reserved 'reserved'
	lie huge 'bytes|length|long'
	lie empty-output 'bytes|length'
	lie no-started 'start|exit|order'
	lie two-started 'start|order|twice'
	lie id 'id|name'
	lie bad-string 'string'
	lie gap 'at byte 256, not at 0'
	lie total 'total|bytes'
	lie how 'unknown end 3'
	lie state 'state'
	lie code 'code|value|256'
	lie signal 'signal|value|65'
	lie flags 'flags'
	lie ack 'ack|consumed|stdin'
	lie truncated 'truncated|cut'
	lie 'done' 'done'
	lie event 'event'
	lie kind 'kind'
	lie escape 'x1b'
	is 0 "$(tr -dc '\033' <"$err" | wc -c)" "escapes on the terminal"
	lie 'end' 'connection|broke|end'
	lie half 'connection|broke|end|middle'
	lie nothing 'connection|broke|end|closed'
	lie garbage '.'
	is "" "$(cat believed)" "lies that were believed or called otherwise"
	is running "$(field v state)" "state"
	hutch kill v
}

# What has no end is cut off, or goes on in bounded memory until one tires.
test_floods_to_a_client() {
	local what pid

	start_hostile v
	for what in flood-acks flood-cut silent; do
		hutch exec v -- lie-$what >"$out" 2>"$err" &
		pid=$!
		sleep 3
		if alive $pid; then
			at_most 8192 "$(memory_kib $pid)" "KiB of a client of $what"
			kill -KILL $pid
		fi
		wait $pid || true
	done
	refused 125 '.' hutch ps v
	refused 124 'stalled' hutch exec --timeout 1s v -- lie-silent
	refused 125 '.' hutch wait --timeout 10s v lie-how
	expect 124 hutch wait --timeout 1s v lie-silent
	refused 125 '.' hutch attach v lie-gap
	refused 125 '.' hutch kill v lie-how
	hutch kill v
}

# keeper_is_well VM: small, and it answers.
keeper_is_well() {
	at_most 4096 "$(memory_kib "$(field "$1" keeper)")" "KiB of the keeper"
	at_most 4096 "$(du -sk "$HUTCH_STATE" | cut -f 1)" "KiB of state"
	is running "$(field "$1" state)" "state"
	expect 7 hutch exec "$1" -- lie-none
}

test_flood_of_events() {
	start_hostile v --hostname flood
	sleep "$(size 10 60)"
	keeper_is_well v
	expect 0 hutch stop --grace 1s v
	is stopped "$(field v state)" "state"
	like 'stopped$' "$(hutch events --json v | tail -n 1 | json event)" \
		"the last event"
	hutch logs --console v >/dev/null
}

test_lies_to_the_keeper() {
	start_hostile v --hostname lies
	sleep "$(size 5 60)"
	keeper_is_well v
	expect 0 hutch stop --grace 1s v
	is stopped "$(field v state)" "state"
}

test_flood_of_connections() {
	start_hostile v --hostname ports
	sleep "$(size 10 60)"
	keeper_is_well v
	expect 0 hutch stop --grace 1s v
	is stopped "$(field v state)" "state"
}

# A main process that is never heard of: the VM's own time-out ends it.
test_main_process_of_a_liar() {
	start_hostile v --timeout 8s
	retry 60 has v state stopped
	is timeout "$(field v reason)" "reason"
	refused 125 '.' hutch run --rm -- lie-how
	refused 125 '.' hutch run --rm -- lie-end
}
