# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What integration tests share. A test runs under set -euo pipefail, in an
# empty folder $TMPDIR; HUTCH_STATE is a folder of its own.
#
#	expect 7 hutch run -- sh -c 'exit 7'	run it, $out and $err are files
#	is "hello" "$(cat "$out")" "greeting"	want, got, what
#	size 16 50				CI's size, or that of --long

out=$TMPDIR/out
err=$TMPDIR/err

fail() {
	echo "FAILED: $*"
	exit 1
}

# size CI LONG: how large this test is today.
size() {
	if [ -n "${HUTCH_LONG:-}" ]; then echo "$2"; else echo "$1"; fi
}

# is WANT GOT WHAT
is() {
	[ "$1" = "$2" ] || fail "$3: wanted '$1', got '$2'"
}

# like PATTERN TEXT WHAT: an extended regular expression found in TEXT.
like() {
	grep -qE -- "$1" <<<"$2" || fail "$3: no match of '$1' in '$2'"
}

# at_most LIMIT N WHAT
at_most() {
	[ "$2" -le "$1" ] || fail "$3: $2 is more than $1"
}

# expect CODE COMMAND...: runs it with its output in $out and $err.
expect() {
	local want=$1 got=0

	shift
	"$@" >"$out" 2>"$err" || got=$?
	[ "$got" = "$want" ] && return 0
	echo "stdout:"
	head -c 4096 "$out"
	echo "stderr:"
	head -c 4096 "$err"
	fail "ended with $got, not $want: '${*:0:20}'"
}

# refused CODE PATTERN COMMAND...: that exit code, one sentence on stderr that
# matches PATTERN, nothing on stdout.
refused() {
	local code=$1 pattern=$2

	shift 2
	expect "$code" "$@"
	is 0 "$(stat -c %s "$out")" "bytes on stdout of a refused '$*'"
	[ "$(wc -l <"$err")" = 1 ] ||
		fail "not one sentence from '$*': $(head -c 2000 "$err")"
	grep -qiE -- "$pattern" "$err" ||
		fail "'$*' says '$(cat "$err")', no match of '$pattern'"
}

# retry SECONDS COMMAND...: until it succeeds, in so many on a machine that does
# nothing else; one that is busy has four times as many.
retry() {
	local until=$((SECONDS + 4 * $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $until ] || fail "gave up waiting for '$*'"
		sleep 0.1
	done
}

# use_images: this test's hutch has the images that scripts/build-images made,
# as all other tests have: none is to be removed.
use_images() {
	[ -d /images/store/id ] || fail "this lab has no images: end it with" \
		"scripts/lab down, and scripts/test makes another"
	mkdir -p "$HUTCH_STATE/data"
	ln -s /images/store "$HUTCH_STATE/data/images"
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

# alive PID: there, and not a zombie.
alive() {
	local s

	s=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" \
		2>/dev/null) || return 1
	[ -n "$s" ] && [ "$s" != Z ]
}

# field NAME KEY: what hutch inspect says: state, reason, keeper, monitor.
field() {
	hutch inspect "$1" 2>/dev/null |
		awk -v k="$2" '$1 == k { sub(/^[^ ]+ +/, ""); print; exit }'
}

# has NAME KEY VALUE: for retry.
has() {
	[ "$(field "$1" "$2")" = "$3" ]
}

# json PATH: a value out of the JSON on stdin: 0.reason, name, argv.1
json() {
	/usr/bin/python3 -c '
import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."):
    v = v[int(k)] if isinstance(v, list) else v[k]
print("" if v is None else v if isinstance(v, str) else json.dumps(v))
' "$1"
}

# start NAME [OPTIONS]: a VM without a main process, ready.
start() {
	local name=$1

	shift
	hutch start "$@" "$name" >"$TMPDIR/start.out" 2>&1 ||
		fail "start $name: $(cat "$TMPDIR/start.out")"
}

# processes NAME: pids of the live processes of this user with that name.
processes() {
	local f

	# shellcheck disable=SC2013 # no such name has a blank
	for f in $(grep -sxl -- "$1" /proc/[0-9]*/comm); do
		f=${f%/comm}
		[ "$(stat -c %u "$f" 2>/dev/null)" != "$(id -u)" ] ||
			! alive "${f#/proc/}" || echo "${f#/proc/}"
	done
}

# no_process: no keeper and no monitor is left.
no_process() {
	[ -z "$(processes hutch-keeper)$(processes hutch-vmm)$(processes \
		hutch-net)" ]
}

# none_of VM NAME: no process of that name runs in the guest.
none_of() {
	local code=0

	hutch exec "$1" -- pidof "$2" >/dev/null || code=$?
	[ $code = 1 ]
}

# memory_kib PID: private memory of a process, without guest RAM (a shared
# memfd): what the monitor itself has grown to.
memory_kib() {
	awk '/^RssAnon:/ { print $2 }' "/proc/$1/status"
}

# sock NAME: where a VM's connections are made.
sock() {
	echo "$HUTCH_STATE/run/$1/vsock.sock"
}

# scene FILE SCENE NAME [WORD...]: a scene of FILE.py, with the VM's agent.
scene() {
	local file=$1 scene=$2 vm=$3

	shift 3
	/usr/bin/python3 -B "$HUTCH_TESTS/$file.py" "$scene" "$(sock "$vm")" "$@"
}

# bring_tool NAME: the program guest_tool is in the VM's /bin.
bring_tool() {
	expect 0 hutch exec -i "$1" -- sh -c \
		'cat >/bin/guest_tool && chmod 755 /bin/guest_tool' \
		<"$(command -v guest_tool)"
}
