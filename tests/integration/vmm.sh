# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The monitor by itself: tiny guests (tests/guest) for what ends a VM and how,
# the real kernel for processors and memory.

# guest NAME: path of a tiny guest.
guest() {
	echo "$HUTCH_LIBEXEC/$1.elf"
}

# boots STATUS NAME [OPTIONS]: a tiny guest to its end; stdout in $out.
boots() {
	local status=$1 name=$2

	shift 2
	expect "$status" hutch-vmm --kernel "$(guest "$name")" --memory 64M \
		--console - "$@"
}

# ring FILE: the text in a console ring.
ring() {
	/usr/bin/python3 -c '
import struct, sys
f = open(sys.argv[1], "rb").read()
magic, version, total = struct.unpack("<IIQ", f[:16])
assert (magic, version, len(f)) == (0x4e4f4348, 1, 69632)
ring = f[4096:]
at = total % 65536 if total > 65536 else 0
sys.stdout.buffer.write((ring[at:] + ring[:at])[:total])
' "$1"
}

# ask LINE...: one connection to the control socket "ctl".
ask() {
	/usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("ctl")
f = s.makefile("rw")
for line in sys.argv[1:]:
    f.write(line + "\n")
    f.flush()
    print(f.readline().rstrip("\n"), flush=True)
' "$@"
}

# spawn [OPTIONS]: a monitor with control socket "ctl", in $pid.
spawn() {
	hutch-vmm --memory 64M --control ctl "$@" >"$out" 2>"$err" &
	pid=$!
	retry 60 test -S ctl
}

# ended STATUS: the monitor in $pid has ended so.
ended() {
	local code=0

	wait "$pid" || code=$?
	is "$1" "$code" "exit status ($(head -c 500 "$err"))"
}

test_serial_and_power_off() {
	boots 0 poweroff
	is 'hello from the guest' "$(cat "$out")" "the serial line"
	is 0 "$(stat -c %s "$err")" "bytes on stderr"
}

test_reset() {
	boots 3 reset
	is reset "$(cat "$out")" "the serial line"
}

test_triple_fault_is_a_crash() {
	boots 5 triple
	is fault "$(cat "$out")" "the serial line"
	like 'triple fault' "$(cat "$err")" "the reason"
}

# It never resets, so this takes until the monitor's patience ends.
test_panic_then_halt() {
	boots 4 panic
	is 'last words' "$(cat "$out")" "what follows the report"
}

test_panic_then_reset() {
	boots 4 panic_reset
}

test_odd_accesses_do_no_harm() {
	boots 0 mmio
	like '^still here$' "$(tr -c '\n -~' . <"$out" | tail -n 1)" "the end"
}

test_generation_id_differs() {
	local first

	boots 0 vmgenid
	like '^[0-9a-f]{8}$' "$(cat "$out")" "the id"
	first=$(cat "$out")
	boots 0 vmgenid
	[ "$first" != "$(cat "$out")" ] || fail "twice the id $first"
}

# The last 64 KiB of what was said, in order.
test_console_ring() {
	expect 0 hutch-vmm --kernel "$(guest ring)" --memory 64M --console log
	awk 'BEGIN { for (i = 0; i < 10000; i++) printf "%08x\n", i }' |
		tail -c 65536 >want
	ring log >got
	cmp want got
}

# What the guest said last is there although nobody closed the file.
test_console_survives_a_kill() {
	spawn --kernel "$(guest spin)" --console log
	retry 60 grep -q spinning log
	kill -KILL "$pid"
	ended 137
	is spinning "$(ring log)" "the console"
}

test_lifeline() {
	local name

	for name in spin halt; do
		rm -f line
		mkfifo line
		hutch-vmm --kernel "$(guest $name)" --memory 64M --console log \
			--lifeline fd=9 9<line 2>"$err" &
		pid=$!
		exec 8>line
		retry 60 grep -q . log
		alive "$pid" || fail "ended with its lifeline whole"
		exec 8>&-
		ended 6
	done
}

test_signals_stop_it() {
	local sig

	for sig in TERM INT HUP; do
		rm -f ctl
		# A shell has its background jobs ignore SIGINT.
		env --default-signal=INT hutch-vmm --memory 64M --control ctl \
			--kernel "$(guest spin)" >"$out" 2>"$err" &
		pid=$!
		retry 60 test -S ctl
		like '^ok ' "$(ask info)" "info"
		kill -$sig "$pid"
		ended 6
	done
}

# Paused, a guest that computes uses no CPU; resumed, it does again.
cpu_ticks() {
	awk '{ print $14 + $15 }' "/proc/$pid/stat"
}

test_pause_and_resume() {
	local before i

	spawn --kernel "$(guest spin)" --console log --cpus 2
	retry 60 grep -q spinning log
	for i in 1 2 3; do
		is ok "$(ask pause)" "pause $i"
		like ' state=paused ' "$(ask info)" "info"
		before=$(cpu_ticks)
		sleep 0.5
		at_most $((before + 5)) "$(cpu_ticks)" "ticks while paused"
		is ok "$(ask pause)" "pause again"
		is ok "$(ask resume)" "resume $i"
		like ' state=running ' "$(ask info)" "info"
		before=$(cpu_ticks)
		retry 60 eval '[ "$(cpu_ticks)" -gt $((before + 5)) ]'
	done
	is ok "$(ask pause)" "pause"
	like '^ok reason=stopped' "$(ask stop)" "stop while paused"
	ended 6
}

# 100 pauses of vCPUs that are in an exit most of the time.
test_pause_storm() {
	local words=() i

	spawn --kernel "$(guest flood)" --console log --cpus 2
	retry 60 grep -q 0123 log
	for i in $(seq 100); do words+=(pause resume); done
	ask "${words[@]}" >answers
	is 200 "$(grep -c '^ok$' answers)" "pauses and resumes"
	ask stop >/dev/null
	ended 6
}

# A console that nobody reads stops the guest, not the monitor.
test_unread_console() {
	mkfifo pipe
	hutch-vmm --kernel "$(guest flood)" --memory 64M --console - \
		--control ctl >pipe 2>"$err" &
	pid=$!
	exec 8<pipe
	retry 60 test -S ctl
	is ok "$(ask pause)" "pause"
	is ok "$(ask resume)" "resume"
	like '^ok reason=stopped' "$(ask stop)" "stop"
	exec 8<&-
	ended 6
}

test_control_socket() {
	spawn --kernel "$(guest spin)"
	ask 'wait for=exit' >waited &
	ask 'wait for=ready' >ready &
	like '^ok version=.* cpus=1 memory=67108864' "$(ask info)" "info"
	like ' exit_io=[0-9]+ .* stage_first_run=[1-9]' "$(ask stats)" "stats"
	ask frobnicate 'wait for=money' wait 'info x=1' 'STOP' >bad
	is 5 "$(grep -c '^error E[A-Z]* .' bad)" "refusals"
	like '^ok reason=stopped' "$(ask stop)" "stop"
	ended 6
	wait
	like '^ok reason=stopped' "$(cat waited)" "wait for=exit"
	like '^error ESRCH ' "$(cat ready)" "wait for=ready"
}

# Lines cut, joined, too long; clients that leave and too many of them.
test_control_socket_abuse() {
	spawn --kernel "$(guest spin)"
	/usr/bin/python3 - <<'PY'
import socket, time

def conn():
    s = socket.socket(socket.AF_UNIX)
    s.connect("ctl")
    s.settimeout(60)
    return s

s = conn()                      # a line in pieces, then several in one
for c in b"info\n":
    s.send(bytes([c]))
    time.sleep(0.01)
f = s.makefile("rb")
assert f.readline().startswith(b"ok ")
s.send(b"info\nstats\nbad\n")
assert f.readline().startswith(b"ok ")
assert f.readline().startswith(b"ok ")
assert f.readline().startswith(b"error ")
f.close()
s.close()

s = conn()                      # no end in sight
try:
    s.send(b"a" * 100000)
except BrokenPipeError:
    pass
try:
    got = s.makefile("rb").read()
except ConnectionResetError:
    got = b""
assert got == b"" or got.startswith(b"error "), got
s.close()

for _ in range(200):            # leave in the middle of everything
    s = conn()
    s.send(b"wait for=exit\nwait f")
    s.close()

many = [conn() for _ in range(80)]
time.sleep(0.5)
alive = 0
for s in many:
    try:
        s.send(b"info\n")
        if s.recv(100).startswith(b"ok "):
            alive += 1
    except OSError:
        pass
assert alive == 64, alive
for s in many:
    s.close()
PY
	like '^ok reason=stopped' "$(retry 60 ask stop)" "stop"
	ended 6
}

# A connected socket is a client, a listening one brings them.
test_control_by_descriptor() {
	/usr/bin/python3 - "$(guest spin)" <<'PY'
import socket, subprocess, sys

ours, theirs = socket.socketpair()
listener = socket.socket(socket.AF_UNIX)
listener.bind("listening")
listener.listen()
p = subprocess.Popen(["hutch-vmm", "--kernel", sys.argv[1], "--memory", "64M",
                      "--control", "fd=%d" % theirs.fileno(),
                      "--control", "fd=%d" % listener.fileno()],
                     pass_fds=[theirs.fileno(), listener.fileno()])
theirs.close()
listener.close()
second = socket.socket(socket.AF_UNIX)
second.connect("listening")
for s in (ours, second):
    s.send(b"info\n")
    assert s.recv(8192).startswith(b"ok ")
second.send(b"wait for=exit\n")
ours.send(b"stop\n")
assert ours.recv(8192) == b"ok reason=stopped\n"
assert second.recv(8192) == b"ok reason=stopped\n"
assert p.wait() == 6
PY
}

# The real kernel: every processor comes up (machine/many_cpus has more).
test_processors() {
	local n

	for n in 1 2 8; do
		expect 4 hutch-vmm --kernel "$HUTCH_KERNEL" --memory 256M \
			--cpus "$n" --console - --cmdline \
			'console=uart8250,mmio,0xd0000000 reboot=k panic=-1'
		if [ "$n" -gt 1 ]; then
			like "Brought up 1 node, $n CPUs" "$(cat "$out")" "boot"
		fi
		like "Allowing $n present CPUs" "$(cat "$out")" "boot"
	done
}

# No agent and nobody who starts it: a share by four queues for as many CPUs, and a
# link to who listens at a path, at a rate.
test_devices_without_a_controller() {
	local peer i

	mkdir share
	cat >share/script <<-'SCRIPT'
	set -eu
	mount -t devtmpfs dev /dev
	for i in 1 2 3 4; do
		(seq "$i" 20000 >/mnt/out.$i
		 cat /mnt/out.$i >/mnt/ok.$i) &
	done
	wait
	ip addr add 10.11.0.2/24 dev eth0
	ip link set eth0 up
	ping -c 3 -s 1400 10.11.0.1 >/mnt/ping
	SCRIPT
	/usr/bin/python3 "$HUTCH_TESTS/frame_peer.py" link 10.11.0.1 >echoes &
	peer=$!
	retry 30 test -S link
	expect 0 hutch-vmm --kernel "$HUTCH_KERNEL" --cpus 4 --memory 256M \
		--initrd "$HUTCH_LIBEXEC/builtin.cpio" --console - \
		--fs tag=work,dir=share,queues=4 \
		--net unix=link,mac=02:00:00:00:00:02,mtu=1500,rate=1M/100p \
		--cmdline "console=uart8250,mmio,0xd0000000 quiet panic=-1 $(:
		)rdinit=/.hutch/root/bin/busybox -- sh -c \"export PATH=/.hutch/root/bin; $(:
		)cd \$PATH; \$PATH/busybox --install -s .; cd /; mkdir /mnt; $(:
		)mount -t virtiofs work /mnt && sh /mnt/script; poweroff -f\""
	wait $peer
	like '3 packets received' "$(cat share/ping)" "ping"
	is 3 "$(cat echoes)" "echoes by the link"
	for i in 1 2 3 4; do
		seq "$i" 20000 | cmp - "share/ok.$i"
	done
}

# Whatever the size, the guest is told of all of it and can use both ends.
test_memory_sizes() {
	local size low high

	while read -r size low high; do
		boots 0 memory --memory "$size"
		is "0000000000000000 00000000000a0000 ok
0000000000100000 $low ok${high:+
0000000100000000 $high ok}" "$(cat "$out")" "RAM of a guest of $size"
	done <<-END
		64M 0000000003f00000
		3071M 00000000bfe00000
		3G 00000000bff00000
		3073M 00000000bff00000 0000000000100000
		4G 00000000bff00000 0000000040000000
		6G 00000000bff00000 00000000c0000000
	END
}

# A compressed kernel unpacks itself.
test_bzimage() {
	expect 4 hutch-vmm --kernel "$(dirname "$HUTCH_KERNEL")/bzImage" \
		--memory 128M --console - --cmdline \
		'console=uart8250,mmio,0xd0000000 reboot=k panic=-1'
	like 'Kernel panic - not syncing: VFS' "$(cat "$out")" "boot"
}

test_input_errors_come_before_kvm() {
	local k

	k=$(guest poweroff)
	refused 2 'takes 2047 bytes, not 100000' hutch-vmm --kernel "$k" \
		--cmdline "$(head -c 100000 /dev/zero | tr '\0' a)"
	boots 0 poweroff --cmdline "$(head -c 2047 /dev/zero | tr '\0' a)"
	truncate -s 80M big
	refused 2 'initramfs of 83886080 bytes does not fit' hutch-vmm \
		--kernel "$k" --memory 64M --initrd big
	refused 2 'agent.*64|67108864' hutch-vmm --kernel "$k" --agent big
	: >empty
	refused 2 'boot message has 0 bytes' hutch-vmm --kernel "$k" \
		--agent "$(command -v hutch-vmm)" --boot-config empty
	refused 2 'regular file' hutch-vmm --kernel /dev/null
	refused 2 "'3'|not open|fd" hutch-vmm --kernel "$k" --vsock fd=77
}

test_help_and_version() {
	expect 0 hutch-vmm --help
	like '--boot-config' "$(cat "$out")" "help"
	expect 0 hutch-vmm --version
	like '^hutch-vmm [0-9]' "$(cat "$out")" "version"
}
