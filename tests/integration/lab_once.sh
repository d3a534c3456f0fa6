# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# scripts/lab for one command: nothing of it stays behind.

tree=$(cd "$HUTCH_TESTS/../.." && pwd -P)
lab=$tree/scripts/lab
# No kept lab has this name, so each command has a lab of its own.
once=("$lab" --name "no-lab-$$")

# descendants PID: all processes below it.
descendants() {
	local c

	cat /proc/"$1"/task/*/children 2>/dev/null | tr ' ' '\n' |
		while read -r c; do
			echo "$c"
			descendants "$c"
		done
}

# Other users of the cache make and remove their own.
files() {
	find "$XDG_CACHE_HOME/hutch/lab" -maxdepth 1 -name 'scratch*' | wc -l
}

all_gone() {
	local p

	for p in "$@"; do
		! alive "$p" || return 1
	done
}

has_machine() {
	local p

	for p in $(descendants "$1"); do
		case $(cat "/proc/$p/comm" 2>/dev/null) in
		qemu-system* | server) return 0 ;;
		esac
	done
	return 1
}

# The lab's own processes must exist, or their end proves nothing.
start_lab() {
	"$@" >"$out" 2>"$err" &
	client=$!
	retry 120 has_machine "$client"
	mapfile -t below < <(descendants "$client")
}

test_kill_while_it_comes_up() {
	local client below before code=0

	before=$(files)
	start_lab "${once[@]}" -- true
	kill -KILL "$client"
	wait "$client" || true
	retry 30 all_gone "${below[@]}"

	start_lab "${once[@]}" -- true
	kill -TERM "$client"
	wait "$client" || code=$?
	is 143 "$code" "exit code after SIGTERM"
	# Not "soon": what it says with its exit is that nothing is left.
	all_gone "${below[@]}" || fail "ended before the lab did"

	start_lab bash -c '"$@"; echo over' - "${once[@]}" -- true
	kill -KILL "$client"
	wait "$client" || true
	retry 30 all_gone "${below[@]}"
	is "$before" "$(files)" "scratch folders"
}

test_kill_of_a_running_command() {
	local client below before

	before=$(files)
	start_lab "${once[@]}" --memory 2G -- sh -c 'echo up; sleep 1000'
	retry 240 grep -q up "$out"
	kill -KILL "$client"
	wait "$client" || true
	retry 30 all_gone "${below[@]}"
	is "$before" "$(files)" "scratch folders"
}

test_bad_arguments() {
	refused 125 "no COMMAND" "$lab"
	refused 125 "'--wrong'" "$lab" --wrong -- true
	refused 125 "'0'" "$lab" --cpus 0 -- true
	refused 125 "'65'" "$lab" --cpus 65 -- true
	refused 125 "'2x'" "$lab" --memory 2x -- true
	refused 125 "512M" "$lab" --memory 100M -- true
	refused 125 "riscv" "$lab" --arch riscv -- true
	refused 125 "K=V" "$lab" --env nonsense -- true
	refused 125 "one CPU" "$lab" --icount --cpus 2 -- true
	refused 125 "needs a value" "$lab" --cpus
	refused 125 "takes no" "$lab" up now
	refused 125 "no time" "$lab" --idle soon up
	XDG_CACHE_HOME=relative refused 125 "absolute" "$lab" -- true
}

# A machine that cannot come up: its reason is shown, and nothing waits.
test_failure_says_why() {
	expect 125 "${once[@]}" --memory 9000000G -- true
	like "before it was up" "$(cat "$err")" "the sentence"
	like "memory" "$(cat "$err")" "QEMU's own words"
}

test_icount_measures() {
	# The same work takes the same time, whatever this machine does.
	"${once[@]}" --icount --memory 1G -- sh -c '
		nproc
		cat /sys/devices/system/clocksource/clocksource0/current_clocksource
		grep -o -w -e erms -e fsrm /proc/cpuinfo || echo none' >"$out"
	is "1 tsc none" "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "the CPU"
}

# In a lab there is a KVM, so a lab made there is namespaces of that machine.
# native AS
native() {
	# shellcheck disable=SC2016 # for the shell in the lab
	local inner='
		lab=$1 tree=$2
		# A cache that is ours, with the programs, which compile slowly.
		mkdir -p /scratch/home/.cache/hutch/lab
		cp -r "$XDG_CACHE_HOME"/hutch/lab/bin-* /scratch/home/.cache/hutch/lab
		export XDG_CACHE_HOME=/scratch/home/.cache
		fail() { echo "FAILED: $*"; exit 1; }
		is() { [ "$1" = "$2" ] || fail "$3: wanted $1, got $2"; }
		cd "$tree/lab"
		n() { "$lab" --name native "$@"; }
		# Few commands: each takes its time in an emulated machine.
		n up || fail "up"
		n status | grep -q kind=native || fail "not native: $(n status)"
		head -c 1M /dev/urandom >/dev/shm/bytes
		n -- sh -c "
			[ \$PWD = $tree/lab ] || echo wrong folder >&2
			[ \$(id -u) = $(id -u) ] || echo wrong user >&2
			: <>/dev/kvm || echo no kvm >&2
			touch /usr/x 2>/dev/null && echo writes to /usr >&2
			touch /scratch/x /tmp/made-in-a-lab /dev/shm/x
			cat
			kill -9 \$\$
		" </dev/shm/bytes >/dev/shm/out 2>/dev/shm/err && fail "no signal"
		is 137 $? "exit code"
		is "" "$(cat /dev/shm/err)" "stderr"
		cmp /dev/shm/bytes /dev/shm/out || fail "streams"
		[ ! -e /tmp/made-in-a-lab ] || fail "its /tmp is ours"
		n -- sh -c "sleep 1001 & echo up; sleep 1001" >/dev/shm/up & pid=$!
		while ! grep -q up /dev/shm/up; do sleep 0.2; done
		kill -9 $pid; wait $pid
		# Seen from outside: the lab cannot hide its processes.
		while pgrep -fx "sleep 1001" >/dev/null; do sleep 0.2; done
		n down
		"$lab" -- sleep 1000 & pid=$!
		while ! pgrep -x server >/dev/null; do sleep 0.2; done
		kill -9 $pid
		while pgrep -x server >/dev/null; do sleep 0.2; done
		while ls -d $XDG_CACHE_HOME/hutch/lab/scratch* 2>/dev/null; do
			sleep 0.2
		done
		echo fine'

	# The ordinary user cannot go where this test is.
	cd "$tree"
	"${once[@]}" "$1" -- bash -c "$inner" - "$lab" "$tree" >"$out" 2>&1 ||
		fail "$1: $(cat "$out")"
	is fine "$(tail -n 1 "$out")" "last line"
}

test_native_as_user() {
	native --user
}

test_native_as_superuser() {
	native --root
}
