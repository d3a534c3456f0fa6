#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# net.sh - inside the lab: time a guest's network; scripts/bench calls it
#
# Usage: net.sh BUILD PASST CPUS MEMORY [tap|hutch|passt...]
# (HUTCH_KERNEL is the kernel)
#
# The same program in a guest that hutch has started with a tap, with hutch-net and
# with PASST, each in a network namespace of its own. The tap's other end is that
# namespace; for the others, whom the guest speaks to is another namespace, by a
# pair of veth. Prints two lines an operation:
#
#	net time by=WHO op=OP n=COUNT ns=TOTAL bytes=EACH exits=N switches=N
#	net count by=WHO op=OP n=COUNT ns=.. bytes=.. calls=N copied=BYTES
#
# of which the numbers behind "bytes" are of all COUNT: exits of the guest,
# switches of the lab's processor from one thread to another; system calls of
# monitor and network program, and what those copied, each way. Counting that takes
# instructions, so that it is done apart.
set -euo pipefail
# shellcheck source=tests/bench/root.sh
. "$(dirname "$0")/root.sh"
passt=$2 cpus=$3 memory=$4
tracing=''
peer=93.184.216.34
# What is counted need not be done as often as what is timed.
part=4
# Events that are counted by thread. What is received with MSG_TRUNC (0x20) is
# dropped, not copied.
declare -A histogram=(
	[raw_syscalls/sys_enter]=""
	[sock/sock_send_length]=":vals=ret if ret > 0"
	[sock/sock_recv_length]=":vals=ret if ret > 0 && !(flags & 0x20)"
)

in_ns() {
	ip netns exec ours "$@"
}

# in_root COMMAND...: with our network, and the folder in memory as the root of a
# mount namespace, as passt makes another one of that.
in_root() {
	# shellcheck disable=SC2016 # for the shells that it is handed to
	in_ns sh -c 'cd "$1" && mount --rbind . . && cd "$1" &&
		pivot_root . old && shift && exec /b/busybox sh -c "$@"' - \
		"$root" '/b/busybox umount -l /old && exec "$@"' - "$@"
}

# now: sets exits, switches, calls and copied. Nothing is run, and nothing is read
# from a file system of the host's, which would take time of its own.
now() {
	local key value file pid

	calls=0 copied=0 switches=0
	while read -r key value; do
		[ "$key" != ctxt ] || switches=$value
	done </proc/stat
	read -r exits <"$root/debug/kvm/exits"
	[ -n "$tracing" ] || return 0
	# What is no socket is a tap, or a notification.
	for pid in $processes; do
		while read -r key value; do
			case $key in
			rchar: | wchar:) copied=$((copied + value)) ;;
			esac
		done <"/proc/$pid/io"
	done
	for file in "${!histogram[@]}"; do
		read_histogram <"$root/trace/events/$file/hist"
	done
}

# Of lines "{ common_pid: 12 } hitcount: 3 ret: 456"; without bytes it is calls.
read_histogram() {
	local line

	while read -r line; do
		[[ $line =~ common_pid:\ +([0-9]+) &&
			" $threads " == *" ${BASH_REMATCH[1]} "* ]] || continue
		if [[ $line =~ ret:\ +([0-9]+) ]]; then
			copied=$((copied + BASH_REMATCH[1]))
		elif [[ $line =~ hitcount:\ +([0-9]+) ]]; then
			calls=$((calls + BASH_REMATCH[1]))
		fi
	done
}

# follow WHO: what the program says on descriptor 3.
follow() {
	local line op rest begun=()

	while read -r line <&3; do
		case $line in
		"net begin "*)
			now
			begun=("$exits" "$switches" "$calls" "$copied")
			;;
		"net end "*)
			now
			rest=${line#net end } op=${rest%% *} rest=${rest#* }
			if [ -n "$tracing" ]; then
				echo "net count by=$1 op=$op $rest $(:
					)calls=$((calls - begun[2])) $(:
					)copied=$((copied - begun[3]))"
			else
				echo "net time by=$1 op=$op $rest $(:
					)exits=$((exits - begun[0])) $(:
					)switches=$((switches - begun[1]))"
			fi
			;;
		"net done") return 0 ;;
		*) echo "$1: $line" >&2 ;;
		esac
	done
	echo "$1: ended too early" >&2
	return 1
}

# trace SIGN: with "!" no more.
trace() {
	local file

	for file in "${!histogram[@]}"; do
		echo "$1hist:keys=common_pid${histogram[$file]}" \
			>"$root/trace/events/$file/trigger"
	done
}

# run WHO PEER RESOLVER NET: in a guest with --net NET.
run() {
	local who=$1 keeper pid

	in_root /b/hutch start --cpus "$cpus" --memory "$memory" --net "$4" v >&2
	in_root /b/hutch cp /b/net_timer v:/net_timer
	keeper=$(in_root /b/hutch inspect v | awk '$1 == "keeper" { print $2 }')
	# Monitor and network program: all that the keeper has started.
	processes=$(cat "/proc/$keeper/task"/*/children)
	threads=$(for pid in $processes; do ls "/proc/$pid/task"; done |
		tr '\n' ' ')
	exec 3< <(in_root /b/hutch exec v -- /net_timer "$2" "$3" 100 1)
	follow "$who"
	trace ''
	tracing=yes
	exec 3< <(in_root /b/hutch exec v -- /net_timer "$2" "$3" 3000 $part)
	follow "$who"
	tracing=
	trace '!'
	in_root /b/hutch stop v
	in_root /b/hutch rm v
}

# server NS ADDRESS RESOLVER
server() {
	exec 4< <(exec ip netns exec "$1" chroot "$root" /b/net_peer "$2" "$3")
	server=$!
	read -r _ <&4
}

end_net() {
	[ -z "$server" ] || kill "$server" || true
	server=
	ip netns del ours 2>/dev/null || true
	ip netns del theirs 2>/dev/null || true
}

by_tap() {
	ip netns add ours
	in_ns ip link set lo up
	in_ns ip tuntap add dev tap0 mode tap vnet_hdr
	in_ns ip link set tap0 mtu 65520 up
	in_ns ip addr add 10.11.0.1/24 dev tap0
	server ours 10.11.0.1 10.11.0.1
	run tap 10.11.0.1 10.11.0.1 \
		tap=tap0,address=10.11.0.2/24,gateway=10.11.0.1
	end_net
}

# by WHO NET: and the far end of a veth.
by() {
	ip netns add ours
	ip netns add theirs
	in_ns ip link set lo up
	in_ns ip link add out0 type veth peer name far0 netns theirs
	in_ns ip addr add 10.9.0.1/24 dev out0
	in_ns ip link set out0 up
	in_ns ip route add default via 10.9.0.2
	ip -n theirs addr add 10.9.0.2/24 dev far0
	ip -n theirs addr add $peer/32 dev far0
	ip -n theirs link set far0 up
	server theirs $peer 10.9.0.2
	run "$1" $peer 198.18.0.1 "$2"
	end_net
}

done_net() {
	[ -z "$tracing" ] || trace "!" 2>/dev/null || true
	end_net
	umount "$root/trace" 2>/dev/null || true
	bench_root_done
}

server=
bench_root "$1" host/net/hutch-net tests/bench/net_timer tests/bench/net_peer \
	"$passt" "$(command -v busybox)"
trap done_net EXIT
[ ! -e "$passt.avx2" ] || cp "$passt.avx2" "$root/b/"
mkdir "$root"/{old,etc,tmp,debug,trace}
# passt becomes nobody.
chmod 755 "$root"
echo "nameserver 10.9.0.2" >"$root/etc/resolv.conf"
cp /etc/passwd /etc/group "$root/etc/"
mount -t debugfs bench "$root/debug"
mount -t tracefs bench "$root/trace"
# The first process after a boot can read three times high.
sleep 2
export PATH=$PATH:/b
shift 4
[ $# -gt 0 ] || set -- tap hutch passt
for who; do
	case $who in
	tap) by_tap ;;
	hutch) by hutch internet ;;
	passt) by passt passt ;;
	esac
done
