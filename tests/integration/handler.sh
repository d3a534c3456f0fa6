# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs of the user's that answer what VMs ask of hosts which do not exist.

# guest COMMAND: by its shell, in the VM of this test.
guest() {
	hutch exec v -- sh -c "$1"
}

# serve: run the handlers, which are $server, at $sock and $other.
serve() {
	rm -f "$sock" "$other"
	/usr/bin/python3 "$HUTCH_TESTS/handler_server.py" "$sock" "$other" &
	server=$!
	retry 200 test -S "$other"
}

# has_log TEXT...: all of them are in what the network has refused.
has_log() {
	local text

	for text; do
		hutch net log v | grep -q "$text" || return 1
	done
}

# Without TLS, of which there is more where its clients are: tests/net/handler.py.
test_handler() {
	local sock=$TMPDIR/h.sock other=$TMPDIR/other.sock sum
	local get='GET /x HTTP/1.1\r\nHost: svc.internal\r\n'

	server=
	trap '[ -z "$server" ] || kill "$server"' EXIT
	refused 125 "HOST=/PATH/OF/SOCKET" hutch start v --handler a=h.sock
	expect 0 hutch start v --handler "svc.internal=$sock" \
		--handler "*.svc.internal:8080=$sock"
	# It need not be there before; nor does the name exist anywhere.
	expect 1 guest 'wget -q -O - http://svc.internal/x'
	retry 60 has_log "there is no socket where the handler"
	serve
	expect 0 guest "wget -q -O - --header 'X-Hutch-VM: other' \
		http://a.svc.internal:8080/x"
	is '{"line": "GET /x", "at": "h.sock", "n": 1, "host": "a.svc.internal:8080"' \
		"$(cut -d, -f1-4 <"$out")" "the request"
	like '"x-hutch-vm": "v"' "$(cat "$out")" "whose it is"

	# Up and down, more than any buffer holds.
	# (Its wget takes a file for a string: no NUL in it.)
	expect 0 guest "head -c $(size 4194304 104857600) /dev/urandom |
		tr '\\000' 1 >/tmp/up
		sha256sum </tmp/up | cut -d' ' -f1"
	sum=$(cat "$out")
	is "$sum" "$(guest 'wget -q -O - --post-file /tmp/up http://svc.internal/up')" \
		"what came up"
	is 8388608 "$(guest 'wget -q -O - http://svc.internal/down | wc -c')" \
		"what came down"

	# Requests on one connection are so to the handler; and a tunnel.
	expect 0 guest "printf '$get\r\n$get\r\n${get}Connection: close\r\n\r\n' |
		nc svc.internal 80"
	is '1 2 3' "$(grep -o '"n": [0-9]' "$out" | cut -c6- | xargs)" "its requests"
	expect 0 guest "printf '${get/x HTTP/ws HTTP}Connection: Upgrade\r
Upgrade: websocket\r\n\r\nto capitals' | nc svc.internal 80"
	like 'HTTP/1.1 101' "$(cat "$out")" "the upgrade"
	like 'TO CAPITALS' "$(cat "$out")" "the tunnel"

	# It lies, and it dies; others are served as before, and so is it again.
	expect 1 guest 'wget -q -O - http://svc.internal/junk'
	expect 1 guest 'wget -q -O - http://svc.internal/die'
	kill "$server"
	wait "$server" || true
	server=
	expect 1 guest 'wget -q -O - http://svc.internal/x'
	retry 60 has_log "malformed" "closed without an answer" "nobody listens"
	serve
	expect 0 guest 'wget -q -O - http://svc.internal/x'

	# Another policy: another handler, then none.
	expect 0 hutch net set --handler "svc.internal=$other" v
	like '"at": "other.sock"' "$(guest 'wget -q -O - http://svc.internal/x')" \
		"who answers"
	expect 1 guest 'wget -q -O - http://a.svc.internal:8080/x'
	like "by $other" "$(hutch net show v)" "rules"
	like "$other" "$(hutch inspect --json v)" "record"
	expect 0 hutch net set --net internet v
	expect 1 guest 'wget -q -O - http://svc.internal/x'
	expect 0 hutch stop v
}
