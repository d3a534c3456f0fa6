# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Networks of VMs: a tap, passt. Each in a network namespace of its own, with
# servers there and nothing beyond it.

# new_ns: $ns, with nothing in it.
new_ns() {
	ns=hutch-$$
	ip netns add "$ns"
	server=
	trap 'end_ns' EXIT
	in_ns ip link set lo up
}

# make_ns: $ns, and a server of the folder $TMPDIR/www on port 8000 in it.
make_ns() {
	new_ns
	mkdir "$TMPDIR/www"
	head -c "$(size 1048576 1073741824)" /dev/urandom >"$TMPDIR/www/data"
	sum=$(sha256sum <"$TMPDIR/www/data")
	ip netns exec "$ns" busybox httpd -f -p 8000 -h "$TMPDIR/www" &
	server=$!
}

in_ns() {
	ip netns exec "$ns" "$@"
}

end_ns() {
	[ -z "$server" ] || kill "$server"
	ip netns del "$ns"
}

# guest COMMAND: by its shell, in the VM of this test.
guest() {
	hutch exec v -- sh -c "$1"
}

# was_denied PATTERN: it is in the VM's log by now.
was_denied() {
	hutch net log v | grep -E -- "$1" >/dev/null
}

# stat_of KEY: what the monitor has counted.
stat_of() {
	python3 - "$HUTCH_STATE/run/v/vmm.sock" "$1" <<-'PY'
	import socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.connect(sys.argv[1])
	s.sendall(b"stats\n")
	line = s.makefile().readline().split()
	print(dict(w.split("=") for w in line if "=" in w)[sys.argv[2]])
	PY
}

# make_iperf: $TMPDIR/iperf, with this machine's iperf3 and all that it loads, for
# a guest that has it at /iperf.
make_iperf() {
	local iperf f

	iperf=$(command -v iperf3) || fail "no iperf3: see scripts/setup"
	mkdir "$TMPDIR/iperf"
	# From lines "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (..)".
	for f in "$iperf" $(ldd "$iperf" | grep -oE '/[^ ]+'); do
		cp "$f" "$TMPDIR/iperf/"
	done
	mv "$TMPDIR"/iperf/ld-linux-* "$TMPDIR/iperf/ld.so"
}

# iperf NS ADDRESS: to a server there, and from there: both ends count the same, and
# it went by the monitor. Nothing is said of how fast.
iperf() {
	local way bytes before after

	bytes=$(size 4M 1G)
	for way in tx rx; do
		ip netns exec "$1" iperf3 -s -1 -B "$2" -J \
			>"$TMPDIR/server.json" &
		retry 20 listens "$1"
		before=$(stat_of net_${way}_bytes)
		expect 0 guest "/iperf/ld.so --library-path /iperf /iperf/iperf3 $(:
			)-c $2 -n $bytes -J $([ $way = tx ] || echo -R)"
		after=$(stat_of net_${way}_bytes)
		wait $!
		cp "$out" "$TMPDIR/client.json"
		# (What is under way at its end iperf3 does not wait for. Its server
		# says of itself what its client was told.)
		python3 - "$TMPDIR" $way $((after - before)) <<-'PY'
		import json, sys
		client, server = (
		    {k: v["bytes"] for k, v in json.load(open(
		        f"{sys.argv[1]}/{who}.json"))["end"].items() if k[:3] == "sum"}
		    for who in ("client", "server"))
		key = "sum_received" if sys.argv[2] == "tx" else "sum_sent"
		sent, received = client["sum_sent"], client["sum_received"]
		print(sys.argv[2:], sent, received, server)
		assert client[key] == server[key], "the ends do not agree"
		assert 0 < received <= sent, "more came than went"
		assert received <= int(sys.argv[3]), "it went another way"
		PY
	done
}

listens() {
	ip netns exec "$1" ss -Htln "sport = 5201" | grep -q 5201
}

# Two queues, large frames both ways, IPv4 and IPv6, no checksum by anybody.
test_tap_root() {
	local frames bytes

	make_ns
	in_ns ip tuntap add dev tap0 mode tap multi_queue vnet_hdr
	in_ns ip link set tap0 mtu 9000 up
	in_ns ip addr add 10.11.0.1/24 dev tap0
	in_ns ip addr add fd11::1/64 dev tap0 nodad
	make_iperf
	refused 125 "there is no such interface" in_ns hutch run \
		--net tap=nosuch -- true
	expect 0 in_ns hutch start --cpus 2 -v ./iperf:/iperf:ro \
		v --net "tap=tap0,search=lan,$(
		)address=10.11.0.2/24,gateway=10.11.0.1,dns=10.11.0.1,$(
		)address=fd11::2/64,gateway=fd11::1"
	is 9000 "$(guest 'cat /sys/class/net/eth0/mtu')" "MTU"
	is 2 "$(guest 'ls -d /sys/class/net/eth0/queues/tx-* | wc -l')" queues
	is "search lan nameserver 10.11.0.1" \
		"$(guest 'cat /etc/resolv.conf' | xargs)" "resolv.conf"
	like "default via 10.11.0.1" "$(guest 'ip route')" "IPv4 route"
	like "default via fd11::1" "$(guest 'ip -6 route')" "IPv6 route"
	expect 0 guest 'ping -c 1 -W 20 -s 8000 10.11.0.1 &&
		ping -c 1 -W 20 fd11::1'
	expect 0 guest "mkdir /w && cd /w && wget -q http://10.11.0.1:8000/data"
	is "$sum" "$(guest 'sha256sum </w/data')" "what came by the tap"
	hutch exec -d v -- httpd -f -p 80 -h /w >"$out"
	expect 0 hutch wait v --for port=80
	# Of what it sends each frame has two segments at least (tcp_min_tso_segs).
	frames=$(stat_of net_tx_frames) bytes=$(stat_of net_tx_bytes)
	is "$sum" "$(in_ns busybox wget -q -O - "http://[fd11::2]/data" |
		sha256sum)" "what went by the tap"
	frames=$(($(stat_of net_tx_frames) - frames))
	bytes=$(($(stat_of net_tx_bytes) - bytes))
	[ $((bytes / frames)) -gt 9014 ] ||
		fail "no large frames: $frames of $bytes bytes together"
	iperf "$ns" 10.11.0.1
	is 0 "$(stat_of net_tx_bad)" "frames that were none"
	is 0 "$(stat_of net_broken)" "broken rules"
	in_ns ip link del tap0
	retry 20 guest '! grep -q 1 /sys/class/net/eth0/carrier 2>&-'
	expect 0 hutch stop v
}

# As an ordinary user's: it finds a route, and reaches what is there.
test_passt_root() {
	local passt

	make_ns
	in_ns ip link add out0 type veth peer name out1
	in_ns ip addr add 203.0.113.5/24 dev out0
	in_ns ip link set out1 up
	in_ns ip link set out0 up
	in_ns ip route add default via 203.0.113.1
	make_iperf
	expect 0 in_ns hutch start -v ./iperf:/iperf:ro v --net passt
	is passt "$(field v net)" "network on record"
	expect 0 guest "mkdir /w && cd /w && wget -q http://203.0.113.5:8000/data"
	is "$sum" "$(guest 'sha256sum </w/data')" "what came by passt"
	iperf "$ns" 203.0.113.5
	passt=$(pgrep -P "$(field v keeper)" passt)
	kill "$passt"
	retry 20 guest '! grep -q 1 /sys/class/net/eth0/carrier 2>&-'
	like "net-ended" "$(hutch events v)" "events"
	expect 0 hutch stop v
}

# make_far NAME=ADDRESS...: a namespace $far, with a public address and a resolver
# that knows those.
make_far() {
	far=$ns-far
	ip netns add "$far"
	trap 'kill "$dns"; ip netns del "$far"; end_ns' EXIT
	in_ns ip link add out0 type veth peer name far0 netns "$far"
	in_ns ip addr add 10.9.0.1/24 dev out0
	in_ns ip link set out0 up
	in_ns ip route add default via 10.9.0.2
	ip -n "$far" addr add 10.9.0.2/24 dev far0
	ip -n "$far" addr add 93.184.216.34/32 dev far0
	ip -n "$far" link set far0 up
	ip -n "$far" link set lo up
	mkdir -p "/etc/netns/$ns"
	echo "nameserver 10.9.0.2" >"/etc/netns/$ns/resolv.conf"
	ip netns exec "$far" python3 "$HUTCH_TESTS/dns_server.py" 10.9.0.2 "$@" &
	dns=$!
}

# make_internet: that, and a server behind it.
make_internet() {
	make_ns
	make_far www.example.org=93.184.216.34 evil.example.org=10.9.0.2
	kill "$server"
	ip netns exec "$far" busybox httpd -f -p 8000 -h "$TMPDIR/www" &
	server=$!
}

asks_it() {
	hutch net show v | grep -q '"resolvers":\["10.9.0.2"\]'
}

# A policy decides by address and by name, says what it refused, and can change.
test_policy_root() {
	make_internet
	make_iperf
	expect 0 in_ns hutch start -v ./iperf:/iperf:ro v \
		--net internet,mtu=9000
	is internet,mtu=9000 "$(field v net)" "network on record"
	expect 0 guest "mkdir /w && cd /w && wget -q http://93.184.216.34:8000/data"
	is "$sum" "$(guest 'sha256sum </w/data')" "what came from the internet"
	iperf "$far" 93.184.216.34
	expect 1 guest "wget -q -O - http://10.9.0.2:8000/data"
	retry 20 was_denied "tcp 10.9.0.2 port 8000"
	like "tcp 10.9.0.2 port 8000" "$(cat "$HUTCH_STATE/state/v/denied.jsonl")" \
		"the file of denials"
	# It goes on as it was, by its name alone, and asks whom the host asks now.
	expect 0 hutch stop v
	: >"/etc/netns/$ns/resolv.conf"
	expect 0 in_ns hutch start v
	is internet,mtu=9000 "$(field v net)" "network of the second start"
	like '"resolvers":\[\]' "$(hutch net show v)" "whom it asks"
	echo "nameserver 10.9.0.2" >"/etc/netns/$ns/resolv.conf"
	retry 20 asks_it
	# With the resolvers of whoever changes it.
	expect 0 in_ns hutch net set --cut --allow www.example.org:8000 v
	expect 0 guest "wget -q -O - http://www.example.org:8000/data | sha256sum"
	is "$sum" "$(cat "$out")" "what came from a name"
	expect 1 guest "wget -q -O - http://evil.example.org:8000/data"
	expect 0 hutch net show v
	like '"denied":' "$(cat "$out")" "counters"
	like "allow www.example.org" "$(cat "$out")" "rules"
	pkill -9 -P "$(field v keeper)" hutch-net
	retry 20 guest '! grep -q 1 /sys/class/net/eth0/carrier 2>&-'
	like "net-ended" "$(hutch events v)" "events"
	refused 125 "the network has ended" hutch net show v
	expect 0 hutch stop v
}

# What goes to one host has a secret in it that the guest never sees. TLS is tried
# with clients that have it, where there is no guest: tests/net.
test_interception_root() {
	make_internet
	ip netns exec "$far" python3 "$HUTCH_TESTS/http_echo.py" 93.184.216.34 &
	echo=$!
	trap 'kill "$echo" "$dns"; ip netns del "$far"; end_ns' EXIT
	cat >"$TMPDIR/policy.json" <<-'EOF'
	{"rules": [{"intercept": "www.example.org", "inject": [
	  {"path": "/v1/", "plain": true,
	   "set": {"Authorization": "Bearer ${env:TOKEN}"}}]}]}
	EOF
	refused 125 "wants variable 'TOKEN', which is not set" \
		in_ns hutch start v --net "$TMPDIR/policy.json"
	TOKEN=hunter2 expect 0 in_ns hutch start v --net "$TMPDIR/policy.json"
	is "/v1/x Bearer hunter2" \
		"$(guest 'wget -q -O - http://www.example.org/v1/x')" "below the path"
	is "/v2 None" "$(guest 'wget -q -O - http://www.example.org/v2')" "elsewhere"
	expect 0 guest 'grep -q "BEGIN CERT" /etc/ssl/hutch-ca.pem'
	like NODE_EXTRA_CA_CERTS=/etc/ssl/hutch-ca.pem "$(guest env)" "environment"
	is "" "$(grep -rl hunter2 "$HUTCH_STATE" 2>&1)" "files with the secret"
	is "" "$(guest 'cat /proc/*/environ | tr "\\0" "\\n" | grep hunter2')" \
		"the guest's environments"
	like 'Bearer ..env:TOKEN' "$(hutch inspect --json v)" "record"
	expect 0 hutch stop v
}
