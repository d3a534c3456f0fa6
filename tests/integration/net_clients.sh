# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Networks of VMs as curl, git and pip have them, and with much on them. The
# servers are in a namespace (net.sh), with a CA that nobody else has. The same is
# tried in full size, and with npm, where there is no guest: tests/net/clients.py.

# shellcheck source=tests/integration/net.sh
. "$HUTCH_TESTS/net.sh"

secret=aHV0Y2g6aHVudGVyMg==
site=93.184.216.34 other=93.184.216.35

# make_site: what tests/net/services.py serves, at two addresses and, by IPv6, at
# one; $TMPDIR/site/log has what it was asked.
make_site() {
	local name words=()

	new_ns
	mkdir "$TMPDIR/site" "$TMPDIR/share"
	for name in site git pypi denied; do
		words+=("$name.example.org=$site")
	done
	make_far "${words[@]}" "open.example.org=$other"
	ip -n "$far" addr add $other/32 dev far0
	ip -n "$far" addr add 2606:2800:220::2/64 dev far0 nodad
	in_ns ip addr add 2606:2800:220::1/64 dev out0 nodad
	ip netns exec "$far" python3 "$HUTCH_TESTS/../net/services.py" \
		"$TMPDIR/site" "Basic $secret" $site $other 2606:2800:220::2 &
	server=$!
	cp "$HUTCH_TESTS/../net/visitor.py" "$TMPDIR/share/"
	retry 200 test -e "$TMPDIR/site/up"
	export SSL_CERT_FILE=$TMPDIR/site/ca.pem
}

# hutch as whose the images are, an ordinary user; what it needs is that one's.
hutch() {
	in_ns setpriv --reuid "$(stat -c %u /images/store)" \
		--regid "$(stat -c %g /images/store)" \
		--groups "$(stat -c %g /dev/kvm)" hutch "$@"
}

# start_guest NET: VM v of the image with the clients.
start_guest() {
	use_images
	chmod 711 "${HUTCH_LIBEXEC%/*}" "$TMPDIR/../.."
	chown -hR --reference /images/store "$HUTCH_STATE" "$TMPDIR/share"
	LOGIN=$secret expect 0 hutch start --memory 1G --net "$1" \
		-v "$TMPDIR/share:/share:ro" v debian-test
	net=$(pgrep -P "$(field v keeper)" hutch-net)
}

# visit STEP...: of tests/net/visitor.py, in the guest.
visit() {
	expect 0 hutch exec v -- python3 -B /share/visitor.py "$@"
}

# says PATTERN COMMAND: what the guest's command says when it fails, and that it
# does so at once, in the first attempt.
says() {
	local code=0

	guest "$2" >"$out" 2>&1 || code=$?
	[ $code != 0 ] || fail "'$2' has what is denied"
	like "$1" "$(cat "$out")" "what '$2' says"
}

# knows: what the servers were asked by somebody with the credential.
knows() {
	sed -n 's/ knows$//p' "$TMPDIR/site/log"
}

# descriptors: of hutch-net.
descriptors() {
	find "/proc/$net/fd" -mindepth 1 | wc -l
}

# all_ended: nothing is left of the connections there were.
all_ended() {
	[ "$(descriptors)" -le 40 ]
}

# with_pip: a package by the credential, and none of a host that is denied.
with_pip() {
	expect 0 guest "pip install -q --disable-pip-version-check --no-cache-dir \
		--target /root/lib -i https://pypi.example.org/simple/ hutchdemo &&
		cat /root/lib/hutchdemo.py"
	like "by pip" "$(cat "$out")" "what was installed"
	like "pypi.example.org /packages/" "$(knows)" "what pip was given"
	says "Name or service not known" "pip download --no-cache-dir -d /root \
		--retries 1 -i https://denied.example.org/simple/ hutchdemo"
}

test_clients_root() {
	make_site
	cat >"$TMPDIR/policy.json" <<-'POLICY'
	{"rules": [
	  {"deny": "denied.example.org"},
	  {"intercept": "site.example.org", "inject": [
	    {"path": "/private/", "set": {"Authorization": "Basic ${env:LOGIN}"}}]},
	  {"intercept": "git.example.org", "inject": [
	    {"path": "/git/app.git/git-receive-pack", "refuse": true},
	    {"path": "/git/", "set": {"Authorization": "Basic ${env:LOGIN}"}}]},
	  {"intercept": "pypi.example.org", "inject": [
	    {"set": {"Authorization": "Basic ${env:LOGIN}"}}]},
	  {"allow": "open.example.org"}]}
	POLICY
	cp "$TMPDIR/site/ca.pem" "$TMPDIR/share/"
	start_guest "$TMPDIR/policy.json"

	# Past the VM's CA; end to end, by the one that the guest was given.
	is "welcome welcome 401 welcome" "$(guest 'set -e
		curl -sS https://site.example.org/open/x
		curl -sS https://site.example.org/private/x
		curl -sS -o /dev/null -w "%{http_code}\n" \
			--cacert /share/ca.pem https://open.example.org/private/x
		curl -sS --cacert /share/ca.pem https://open.example.org/open/x
		' | xargs)" "curl"
	is "https GET site.example.org /private/x" "$(knows)" "what was injected"
	says "unable to get local issuer" \
		"curl -sS https://open.example.org/open/x"

	# By the image's own store, of OpenSSL, of Python and of GnuTLS.
	is "welcome welcome HEAD" "$(guest 'set -e
		env -i /usr/bin/curl -sS https://site.example.org/open/x
		env -i /usr/bin/python3 -c "import urllib.request as r
print(r.urlopen(\"https://site.example.org/open/x\").read().decode())"
		env -i /usr/bin/git ls-remote \
			https://git.example.org/git/app.git HEAD | cut -f2
		' | xargs)" "who has no variables"

	expect 0 guest 'cd /root && git clone -q \
		https://git.example.org/git/app.git && cat app/README'
	is "by git" "$(cat "$out")" "what was cloned"
	says "error: 403" 'cd /root/app && git push -q origin HEAD:refs/heads/b'

	# (pip takes minutes of an emulated lab; natively it is tried each time.)
	[ -z "${HUTCH_LONG:-}" ] || with_pip

	# Denied: in the words of each, and in ours.
	says "Could not resolve host: denied" \
		"curl -sS https://denied.example.org/"
	says "connect to $site port 8000" "curl -sS http://$site:8000/"
	says "Could not resolve host: denied" \
		"git clone -q https://denied.example.org/git/app.git /root/no"
	retry 20 was_denied "denied.example.org"
	retry 20 was_denied "tcp $site port 8000"
	like "net-denied" "$(hutch events v)" "events"

	# The servers were shown it each time, and the guest has it nowhere.
	is 0 "$(grep -c 'POST.*receive-pack' "$TMPDIR/site/log" || true)" pushes
	like "git.example.org .*upload-pack" "$(knows)" "what git was given"
	expect 1 guest "p='[a]${secret#a}'
		grep -arlE \"\$p\" /root /tmp /run /etc /var/log ||
		cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | grep -acE \"\$p\""
	is 0 "$(cat "$out")" "places in the guest that have it"
	is "" "$(grep -rl "$secret" "$HUTCH_STATE/run" 2>&1)" "files that have it"
	expect 0 hutch stop v
}

# Much at once and large, through what is intercepted and what is not; and a guest
# that floods: hutch-net has bounded memory and descriptors.
test_load_root() {
	local net memory n ports

	make_site
	cat >"$TMPDIR/policy.json" <<-'POLICY'
	{"rules": [{"intercept": "site.example.org"}, {"allow": "open.example.org"},
	  {"allow": "198.51.100.0/24"}]}
	POLICY
	start_guest "$TMPDIR/policy.json"
	visit down,site.example.org,443,100000 up,site.example.org,443,100000
	memory=$(memory_kib "$net")
	n=$(size 524288 1073741824)
	visit keepalive,site.example.org,443,20 \
		websocket,site.example.org,443 websocket,open.example.org,80 \
		half_close,site.example.org,80 half_close,open.example.org,80 \
		"down,site.example.org,443,$n" "up,site.example.org,443,$n" \
		down,site.example.org,443,262144,0.05 \
		udp,open.example.org,1,1400,65507 \
		"parallel,site.example.org,80,$(size 20 200)" \
		"parallel,open.example.org,80,$(size 50 1000)"
	at_most $((memory + 16384)) "$(memory_kib "$net")" "KiB after that"
	retry 60 all_ended

	# A scan of what is allowed, one of what is not, and SYNs without an end.
	ports=$(size 50 3000)
	visit "scan,$other,20000,$ports" "scan,10.9.0.2,1000,$ports" \
		"flood,198.51.100.%d,$(size 500 50000)"
	is 2 "$(grep -c "^scan,.* $ports\$" "$out")" "scans that found nothing"
	at_most 400 "$(descriptors)" "descriptors in a flood"
	visit down,open.example.org,80,100000
	at_most $((memory + 16384)) "$(memory_kib "$net")" "KiB after a flood"
	at_most 200 "$(hutch events v | grep -c net-denied)" "events of a scan"
	expect 0 hutch stop v
}

# A host that has IPv6 alone, and no resolver; packets are the smallest there are.
test_ipv6_only_root() {
	local there=2606:2800:220::2

	make_site
	in_ns ip -4 addr flush dev out0
	: >"/etc/netns/$ns/resolv.conf"
	start_guest internet,mtu=1280
	is 1280 "$(guest 'cat /sys/class/net/eth0/mtu')" "MTU"
	visit "down,$there,80,$(size 1048576 67108864)" \
		"up,$there,80,$(size 1048576 67108864)" "udp,$there,1,1280,65507"
	says "Could not resolve host" "curl -sS https://site.example.org/"
	says "onnect to $site" "curl -sS http://$site/"
	expect 0 hutch stop v
}
