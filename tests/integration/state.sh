# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The state folder: deep, full, shared by two who want the same name

test_long_name_in_a_deep_home() {
	local name deep=$TMPDIR i

	name=$(printf 'n%.0s' $(seq 63))
	for i in 1 2 3 4 5; do
		deep=$deep/a-folder-with-a-name-of-some-sixty-bytes-so-that-paths-get-long-$i
	done
	mkdir -p "$deep"
	unset HUTCH_STATE
	export HOME=$deep XDG_RUNTIME_DIR=$deep/run
	mkdir -m 700 "$deep/run"
	start "$name"
	expect 0 hutch exec "$name" -- hostname
	is "$name" "$(cat "$out")" "hostname"
	hutch stop "$name"
	is stopped "$(field "$name" state)" "state"
	expect 0 hutch rm "$name"
}

# Without XDG folders and without HUTCH_STATE there is still $HOME.
test_home_alone_will_do() {
	unset HUTCH_STATE XDG_RUNTIME_DIR XDG_STATE_HOME
	mkdir h
	export HOME=$PWD/h
	expect 0 hutch run --rm -- true
	[ -d h/.local/state/hutch ] || fail "no state folder under HOME"
	is 700 "$(stat -c %a h/.local/state/hutch)" "its mode"
}

test_two_starts_of_one_name() {
	local i a b ca cb

	for i in 1 2 3; do
		ca=0 cb=0
		hutch start v >a 2>ea &
		a=$!
		hutch start v >b 2>eb &
		b=$!
		wait $a || ca=$?
		wait $b || cb=$?
		is "0 125" "$(printf '%s\n' $ca $cb | sort -n | tr '\n' ' ' |
			sed 's/ $//')" "exit codes of two starts"
		is 1 "$(cat ea eb | wc -l)" "sentences of the loser"
		like 'v' "$(cat ea eb)" "the sentence"
		is running "$(field v state)" "state"
		is 1 "$(processes hutch-vmm | wc -l)" "monitors"
		hutch kill v
	done
}

test_relative_state_folder_is_refused() {
	HUTCH_STATE=here refused 125 "here" hutch list
	[ ! -e here ] || fail "it was made nevertheless"
}

test_unwritable_state_folder() {
	mkdir -m 500 ro
	HUTCH_STATE=$PWD/ro/s refused 125 'ro/s' hutch run -- true
}

# What is not ours in the state folder is neither listed nor a reason to fail.
test_foreign_files_do_no_harm() {
	start v
	touch "$HUTCH_STATE/state/README" "$HUTCH_STATE/run/README"
	mkdir "$HUTCH_STATE/state/Not-A-Name" "$HUTCH_STATE/state/empty"
	expect 0 hutch list -q
	grep -qx v "$out" || fail "list: $(cat "$out")"
	! grep -q README "$out" || fail "list: $(cat "$out")"
	hutch stop v
	echo '{"not": "a record"' >"$HUTCH_STATE/state/v/record.json"
	expect 0 hutch list
	expect 0 hutch start v
	hutch stop v
}

# A disk that fills up: a sentence, no half-made VM, and all is well when
# there is room again.
test_full_disk_root() {
	mkdir disk
	mount -t tmpfs -o size=256k,mode=700 tmpfs disk
	trap 'umount -l disk 2>/dev/null || true' EXIT
	export HUTCH_STATE=$PWD/disk/s
	expect 0 hutch list
	dd if=/dev/zero of=disk/fill bs=4k 2>/dev/null || true
	dd if=/dev/zero of=disk/fill2 bs=1 2>/dev/null || true
	refused 125 'space|full' hutch start v
	retry 10 no_process
	rm -f disk/fill disk/fill2
	expect 0 hutch list
	start v
	expect 0 hutch exec v -- true
	# Full again while it runs: what is known is still true.
	dd if=/dev/zero of=disk/fill bs=4k 2>/dev/null || true
	dd if=/dev/zero of=disk/fill2 bs=1 2>/dev/null || true
	expect 0 hutch exec v -- true
	expect 0 hutch stop v
	is stopped "$(field v state)" "state"
	retry 10 no_process
	umount disk
}
