# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The machine that a guest sees

# guest_mib: MemTotal of the guest, in MiB.
guest_mib() {
	hutch run --memory "$1" -- awk '/^MemTotal/ { print int($2 / 1024) }' \
		/proc/meminfo
}

# sees SIZE MIB: a guest of SIZE has MIB, less what its kernel keeps.
sees() {
	local got

	got=$(guest_mib "$1")
	at_most "$2" "$got" "MiB in a guest of $1"
	at_most "$got" $(($2 - $2 / 16 - 24)) "MiB expected of $1, got $got"
}

test_least_memory() {
	sees 64M 64
}

test_memory_of_4_gib() {
	sees 4G 4096
}

# Memory that is not touched is not taken.
test_memory_of_6_gib_is_sparse() {
	local vmm rss

	start v --memory 6G
	vmm=$(field v monitor)
	rss=$(awk '/^VmRSS:/ { print int($2 / 1024) }' "/proc/$vmm/status")
	at_most 400 "$rss" "MiB of an idle guest of 6 GiB"
	# Both ends of it can be used.
	expect 0 hutch exec v -- sh -c 'dd if=/dev/zero of=/dev/shm/f bs=1M count=64'
	hutch stop v
}

# Fewer are started by the monitor alone, see vmm.sh.
test_many_cpus() {
	local n

	n=$(size 16 32)
	expect 0 hutch run --cpus "$n" -- \
		sh -c 'nproc; grep -c ^processor /proc/cpuinfo'
	is "$n $n" "$(tr '\n' ' ' <"$out" | sed 's/ $//')" "processors"
}

# ask LINE...: to the control socket of a monitor that stands alone.
ask() {
	/usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("ctl")
f = s.makefile("rw")
for line in sys.argv[1:]:
    f.write(line + "\n"); f.flush()
    print(f.readline().rstrip("\n"))
' "$@"
}

# Exits so far for registers of devices.
register_exits() {
	ask stats | grep -oE 'exit_(mmio_read|mmio_write|io)=[0-9]+' |
		awk -F= '{ n += $2 } END { print n }'
}

test_monitor_alone_obeys_its_control_socket() {
	local pid code=0 before after

	# An agent as /init, and nothing else: it comes up and waits.
	hutch-vmm --kernel "$HUTCH_KERNEL" --memory 128M \
		--agent "$HUTCH_LIBEXEC/hutch-agent" --vsock vs --control ctl \
		2>"$err" &
	pid=$!
	retry 30 test -S ctl
	like '^ok' "$(ask info)" "info"
	ask 'wait for=ready' >ready
	like '^ok' "$(cat ready)" "wait for=ready"
	# A guest with nothing to do leaves the monitor alone; a serial line as
	# /dev/console would be asked for input some hundred times a second.
	sleep 2
	before=$(register_exits)
	sleep 5
	after=$(register_exits)
	[ $((after - before)) -lt 50 ] ||
		fail "an idle guest made $((after - before)) exits"
	ask stats pause resume nonsense 'wait for=nonsense' >answers
	like '^ok .*exit_' "$(sed -n 1p answers)" "stats"
	is ok "$(sed -n 2p answers | cut -c1-2)" "pause"
	is ok "$(sed -n 3p answers | cut -c1-2)" "resume"
	like '^error E' "$(sed -n 4p answers)" "an unknown verb"
	like '^error E' "$(sed -n 5p answers)" "an unknown wait"
	like '^ok' "$(ask stop)" "stop"
	wait $pid || code=$?
	is 6 $code "exit code"
}

# The monitor has nothing that it does not need.
test_monitor_is_locked_in() {
	local vmm f

	start v
	vmm=$(field v monitor)
	like '^NoNewPrivs:.1' "$(cat "/proc/$vmm/status")" "no_new_privs"
	for f in CapInh CapPrm CapEff CapBnd CapAmb; do
		# What an ordinary user cannot drop is the bounding set.
		[ $f = CapBnd ] && [ "$(id -u)" != 0 ] && continue
		like "^$f:.0000000000000000" "$(cat "/proc/$vmm/status")" $f
	done
	for f in "/proc/$vmm/task/"*/status; do
		like '^Seccomp:.2' "$(cat "$f")" "seccomp of $f"
	done
	hutch stop v
}
