# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# hutch forward, run -p and ports: TCP to a guest that has no network

client() {
	/usr/bin/python3 "$HUTCH_TESTS/forward_client.py" "$@"
}

# place LINE-NUMBER: the port of this host in a line of hutch forward.
place() {
	sed -n "$1s/.*:\([0-9]*\) -> [0-9]*$/\1/p" "$out"
}

test_ports_of_a_guest_without_network() {
	local v4 v6 again pid

	hutch start -p 0:7 v >"$out" 2>"$err"
	like '^hutch: 127\.0\.0\.1:[0-9]+ leads to port 7$' "$(cat "$err")" \
		"which port was free"
	bring_tool v
	expect 0 hutch forward v
	v4=$(place 1)
	like "^127\.0\.0\.1:$v4 -> 7\$" "$(cat "$out")" "the list"
	expect 0 hutch inspect --json v
	is "$v4" "$(json 0.forwards.0.port <"$out")" "port on record"

	# Nobody listens yet: reset, which a client takes for refused.
	client refused 127.0.0.1 "$v4"
	expect 0 hutch exec -d --name e4 v -- guest_tool echo 127.0.0.1 7
	expect 0 hutch exec -d --name e6 v -- guest_tool echo ::1 8
	expect 0 hutch wait --for port=7 v e4
	expect 0 hutch wait --for port=8 v e6
	expect 0 hutch forward v '[::1]:0:8'
	v6=$(place 1)

	client many 127.0.0.1 "$v4" "$(size 200 1000)"
	client many ::1 "$v6" 3
	client big 127.0.0.1 "$v4" "$(size 8388608 268435456)"

	# Each socket that listens, whose it is.
	expect 0 hutch ports v
	like '^127\.0\.0\.1 +7 +[0-9]+ +guest_tool$' "$(cat "$out")" "ports"
	like '^::1 +8 +[0-9]+ +guest_tool$' "$(cat "$out")" "ports"
	expect 0 hutch ports --json v
	is guest_tool "$(json 0.process <"$out")" "process in JSON"

	# A port has one listener, and none when it is taken back.
	refused 125 'leads to the VM already' hutch forward v "$v4:7"
	refused 125 'is no IPv4 or IPv6 address' hutch forward v web:80:80
	refused 125 'does not lead' hutch forward --rm v 1
	client held ::1 "$v6" >held6 &
	retry 30 grep -q held held6
	expect 0 hutch forward --rm v "[::1]:$v6"
	! client many ::1 "$v6" 1 2>/dev/null || fail "it still listens"

	# With the VM its connections end, and its ports are free.
	client held 127.0.0.1 "$v4" >held4 &
	pid=$!
	retry 30 grep -q held held4
	hutch kill v
	wait $pid
	wait
	is reset "$(tail -n 1 held4)" "a connection at the VM's end"
	is reset "$(tail -n 1 held6)" "one whose port was taken back"
	expect 0 hutch inspect --json v
	is 7 "$(json 0.forwards.0.guest_port <"$out")" "forward of a stopped VM"
	expect 0 hutch start -p "$v4:7" v
	expect 0 hutch forward v
	again=$(place 1)
	is "$v4" "$again" "the port of the next VM"
	refused 125 'in use' hutch start -p "$v4:7" w
	refused 125 'no VM named' hutch inspect w

	# It leads there again, each side may end first, and nobody may be there.
	bring_tool v
	client refused 127.0.0.1 "$v4"
	expect 0 hutch exec -d --name bye v -- guest_tool bye 127.0.0.1 7
	expect 0 hutch wait --for port=7 v bye
	client late 127.0.0.1 "$v4" 300000
	expect 0 hutch wait v bye
	is 300000 "$(hutch logs v bye)" "what came when the guest had ended"
	client refused 127.0.0.1 "$v4"
	expect 0 hutch ports v
	is 0 "$(grep -c guest_tool "$out" || true)" "sockets of who has ended"
	hutch stop v
	expect 0 hutch start -p "$v4:7" v
	client refused 127.0.0.1 "$v4"
	hutch kill v
}
