#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""program.py - hutch-net as its keeper runs it, with this kernel as the guest

Usage: program.py TAPWIRE HUTCH-NET [NAME...]

The policy, DNS, events and requests, jail and all. Speaks TAP; needs root and
/dev/net/tun (world.py).
"""
import atexit
import errno
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import native  # noqa: E402
import services  # noqa: E402
import world  # noqa: E402
from world import Internet  # noqa: E402

CERTS = tempfile.mkdtemp(prefix="hutch-net-")
atexit.register(shutil.rmtree, CERTS, True)
# Addresses, or the name that it is another name of.
NAMES = {
    "api.example.org": (Internet.ADDR4, Internet.ADDR6),
    "www.example.org": (Internet.ADDR4, None),
    "other.example.net": (Internet.OTHER4, None),
    "web.example.org": (Internet.WEB4, None),
    "wrong.example.net": (Internet.WEB4, None),
    "rebind.example.org": ("127.0.0.1", None),
}


# ---- What is out there ----

def question(msg):
    at, labels = 12, []
    while msg[at]:
        labels.append(msg[at + 1:at + 1 + msg[at]].decode())
        at += 1 + msg[at]
    return ".".join(labels).lower(), *struct.unpack(">H", msg[at + 1:at + 3]), \
        msg[12:at + 5]


def wire(name):
    """A name as a message has it."""
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(w)]) + w for w in labels) + b"\0"


def dns_answer(msg):
    name, kind, q = question(msg)
    rcode = 0 if name in NAMES else 3
    known = NAMES.get(name, (None, None))
    records = b""
    if isinstance(known, str):
        target = wire(known)
        records = struct.pack(">HHHIH", 0xc00c, 5, 1, 60, len(target)) + target
    owner = wire(known) if records else b"\xc0\x0c"
    v4, v6 = NAMES[known] if records else known
    data = None
    if kind == 1 and v4:
        data = socket.inet_pton(socket.AF_INET, v4)
    elif kind == 28 and v6:
        data = socket.inet_pton(socket.AF_INET6, v6)
    count = bool(records) + bool(data)
    if data:
        records += owner + struct.pack(">HHIH", kind, 1, 60, len(data)) + data
    return msg[:2] + struct.pack(">HHHHH", 0x8180 | rcode, 1, count, 0, 0) + \
        q + records


def serve_dns():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind((Internet.ADDR4, 53))
    t = socket.socket()
    t.bind((Internet.ADDR4, 53))
    t.listen(16)

    def by_udp():
        while True:
            msg, peer = u.recvfrom(4096)
            u.sendto(dns_answer(msg), peer)

    def by_tcp():
        while True:
            c, _ = t.accept()
            n, = struct.unpack(">H", c.recv(2))
            a = dns_answer(c.recv(n))
            c.sendall(struct.pack(">H", len(a)) + a)
            c.close()
    for f in (by_udp, by_tcp):
        threading.Thread(target=f, daemon=True).start()


def serve_echo(addr, port):
    s = socket.socket(world.family(addr))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, port))
    s.listen(64)

    def one(c):
        try:
            while True:
                data = c.recv(65536)
                if not data:
                    break
                c.sendall(data)
        except OSError:
            pass
        c.close()

    def run():
        while True:
            c, _ = s.accept()
            threading.Thread(target=one, args=(c,), daemon=True).start()
    threading.Thread(target=run, daemon=True).start()


def serve_udp(addr, port):
    s = socket.socket(world.family(addr), socket.SOCK_DGRAM)
    s.bind((addr, port))

    def run():
        while True:
            data, peer = s.recvfrom(65535)
            s.sendto(data, peer)
    threading.Thread(target=run, daemon=True).start()


def serve_http(addr, port, tls=None):
    """Answers with the credential that it was sent, and the path."""
    s = socket.socket(world.family(addr))
    s.bind((addr, port))
    s.listen(64)

    def one(c):
        try:
            if tls:
                c = tls.wrap_socket(c, server_side=True)
            f = c.makefile("rwb")
            while True:
                line = f.readline().split()
                if not line:
                    break
                heads = {}
                while (h := f.readline().strip()):
                    k, v = h.split(b":", 1)
                    heads[k.lower()] = v.strip()
                body = f.read(int(heads.get(b"content-length", 0)))
                text = line[1] + b" " + heads.get(b"x-token", b"none") + \
                    b" %d" % len(body)
                f.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                        % (len(text), text))
                f.flush()
        except OSError:
            pass
        c.close()

    def run():
        while True:
            c, _ = s.accept()
            threading.Thread(target=one, args=(c,), daemon=True).start()
    threading.Thread(target=run, daemon=True).start()


def internet():
    serve_dns()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.path.join(CERTS, "leaf.pem"),
                        os.path.join(CERTS, "leaf.key"))
    serve_http(Internet.WEB4, 443, tls)
    serve_http(Internet.WEB4, 80)
    for addr in (Internet.ADDR4, Internet.ADDR6, Internet.OTHER4):
        serve_echo(addr, 443)
        serve_echo(addr, 80)
        serve_udp(addr, 443)
        serve_udp(addr, 1000)


# ---- The keeper's side ----

class Keeper(world.Guest):
    """A guest whose program is hutch-net, and its control socket."""

    def __init__(self, wire, net, policy, resolvers=(Internet.ADDR4,), **kw):
        self.control, theirs = socket.socketpair(socket.AF_UNIX,
                                                 socket.SOCK_SEQPACKET)
        self.control.settimeout(60)
        self.events = []

        def program(link, mtu):
            p = subprocess.Popen(
                ["bash", "-c", f'exec "$0" "$1" 3<&{link.fileno()} '
                 f'4<&{theirs.fileno()}', net, "box"],
                pass_fds=[link.fileno(), theirs.fileno()], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                # In its jail nobody can look for leaks: netserve's can. What is
                # freed is not kept, since memory is to be flat.
                env={**os.environ, "ASAN_OPTIONS":
                     os.environ.get("ASAN_OPTIONS", "") +
                     ":detect_leaks=0:quarantine_size_mb=1",
                     "SSL_CERT_FILE": os.path.join(CERTS, "ca.pem")})
            self.say({"policy": policy, "resolvers": list(resolvers),
                      "mtu": mtu})
            return p
        super().__init__(wire, program, **kw)
        theirs.close()
        self.first = self.answer()

    def say(self, doc):
        self.control.send(json.dumps(doc).encode())

    def answer(self):
        while True:
            doc = json.loads(self.control.recv(1 << 20))
            if "event" not in doc:
                return doc
            self.events.append(doc)

    def ask(self, doc):
        self.say(doc)
        return self.answer()

    def event(self):
        """The next one that has not been looked at."""
        while not self.events:
            self.events.append(json.loads(self.control.recv(1 << 20)))
        return self.events.pop(0)

    def end(self):
        self.control.close()
        _, err = self.serve.communicate(timeout=60)
        self.wire.wait(60)
        assert self.serve.returncode == 0, (self.serve.returncode, err)


# ---- The guest's side ----

def resolve(name, kind=1, tcp=False):
    """Addresses of a name as the gateway gives them, and the code."""
    msg = struct.pack(">HHHHHH", 77, 0x0100, 1, 0, 0, 0) + wire(name) + \
        struct.pack(">HH", kind, 1)
    s = socket.socket(socket.AF_INET,
                      socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect((world.GATEWAY4, 53))
    if tcp:
        # Twice, to see that the stream goes on.
        for _ in range(2):
            s.sendall(struct.pack(">H", len(msg)) + msg)
            n, = struct.unpack(">H", s.recv(2, socket.MSG_WAITALL))
            data = s.recv(n, socket.MSG_WAITALL)
    else:
        s.send(msg)
        data = s.recv(65535)
    assert data[:2] == msg[:2]
    count, = struct.unpack(">H", data[6:8])
    size = 16 if kind == 28 else 4
    return data[3] & 15, [socket.inet_ntop(world.family_of(size), data[
        len(data) - size:])] if count == 1 else count


def hello(name):
    """A ClientHello for that name, as small as can be."""
    sni = name.encode()
    sni = struct.pack(">BH", 0, len(sni)) + sni
    ext = struct.pack(">HHH", 0, len(sni) + 2, len(sni)) + sni
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0" + \
        struct.pack(">H", len(ext)) + ext
    msg = b"\1" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\3\1" + struct.pack(">H", len(msg)) + msg


def talk(addr, port, data, pieces=1):
    """Send it, and have it back: 0; or how it failed."""
    s = socket.socket(world.family(addr))
    s.settimeout(60)
    try:
        s.connect((addr, port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        step = (len(data) + pieces - 1) // pieces
        for at in range(0, len(data), step):
            s.sendall(data[at:at + step])
            if pieces > 1:
                time.sleep(0.05)
        got = b""
        while len(got) < len(data):
            part = s.recv(65536)
            if not part:
                return "end"
            got += part
        return 0 if got == data else "other bytes"
    except OSError as e:
        return e.errno
    finally:
        s.close()


def datagram(addr, port):
    s = socket.socket(world.family(addr), socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect((addr, port))
    try:
        s.send(b"x")
        return 0 if s.recv(10) == b"x" else "other bytes"
    except OSError as e:
        return e.errno


def request(addr, port, path, ca=None, name="web.example.org", body=b""):
    """The answer's status and text; twice on one connection."""
    s = socket.create_connection((addr, port), 60)
    if ca:
        tls = ssl.create_default_context(cadata=ca)
        s = tls.wrap_socket(s, server_hostname=name)
    f = s.makefile("rwb")
    for _ in range(2):
        f.write(b"POST %s HTTP/1.1\r\nHost: %s\r\nX-Token: mine\r\n"
                b"Content-Length: %d\r\n\r\n" %
                (path.encode(), name.encode(), len(body)) + body)
        f.flush()
        status = int(f.readline().split()[1])
        size = 0
        while (h := f.readline().strip()):
            if h.lower().startswith(b"content-length:"):
                size = int(h.split(b":")[1])
        text = f.read(size).decode()
        if status != 200:
            break
    return status, text


# ---- Tests ----

def says_ok(k):
    assert k.first == {"ok": True}, k.first


def by_address(k):
    assert k.run(talk, Internet.ADDR4, 443, b"hello") == 0
    assert k.run(talk, Internet.ADDR6, 443, b"hello") == 0
    assert k.run(datagram, Internet.ADDR4, 443) == 0


def host_is_not_internet(k):
    for addr in (world.HOST4, world.HOST6):
        assert k.run(talk, addr, 443, b"hello") == errno.ECONNREFUSED
        e = k.event()
        assert (e["event"], e["proto"], e["address"], e["port"], e["count"]) \
            == ("net-denied", "tcp", addr, 443, 1), e
    assert k.run(datagram, world.HOST4, 443) == errno.EHOSTUNREACH
    assert k.event()["proto"] == "udp"


def becomes_the_host(k):
    """What it was allowed when it was somebody else's ends."""
    addr, port = Internet.OTHER4, 1000

    def flows():
        return [f for f in k.ask({"show": True})["flows"]
                if f["address"] == addr]
    assert k.run(datagram, addr, port) == 0
    assert len(flows()) == 1
    world.ip(f"addr add {addr}/32 dev lo\n")
    try:
        native.settles(lambda: not flows())
        assert k.run(datagram, addr, port) == errno.EHOSTUNREACH
        assert k.event()["address"] == addr
    finally:
        world.ip(f"addr del {addr}/32 dev lo\n")
    native.settles(lambda: k.run(datagram, addr, port) == 0)


def host_that_is_named(wire, net):
    k = Keeper(wire, net, {"rules": [{"allow": world.HOST4, "ports": [4444]}]})
    serve_echo(world.HOST4, 4444)
    assert k.run(talk, world.HOST4, 4444, b"hello") == 0
    assert k.run(talk, world.HOST4, 4445, b"hello") == errno.ECONNREFUSED
    k.end()


def local_range(k):
    """A route to the host itself, of which no address is on a device."""
    ls = socket.create_server(("0.0.0.0", 4443))
    world.ip("route add local 203.0.112.0/24 dev lo\n")
    try:
        native.settles(
            lambda: k.run(talk, "203.0.112.9", 4443, b"x") ==
            errno.ECONNREFUSED)
    finally:
        world.ip("route del local 203.0.112.0/24 dev lo\n")
        ls.close()
    while k.event()["address"] != "203.0.112.9":
        pass


def by_name(k):
    assert k.run(talk, Internet.ADDR4, 443, hello("api.example.org")) == \
        errno.ECONNREFUSED, "before anybody asked for it"
    assert k.event()["address"] == Internet.ADDR4
    assert k.run(resolve, "api.example.org") == (0, [Internet.ADDR4])
    assert k.run(resolve, "API.example.org", 28) == (0, [Internet.ADDR6])
    for addr in (Internet.ADDR4, Internet.ADDR6):
        assert k.run(talk, addr, 443, hello("api.example.org")) == 0


def by_tcp(k):
    assert k.run(resolve, "api.example.org", 1, True) == (0, [Internet.ADDR4])


def in_pieces(k):
    data = hello("api.example.org") + bytes(200000)
    assert k.run(talk, Internet.ADDR4, 443, data, 20) == 0


def other_sni(k):
    got = k.run(talk, Internet.ADDR4, 443, hello("www.example.org"))
    assert got == errno.ECONNRESET, got
    e = k.event()
    assert e["name"] == "www.example.org" and e["port"] == 443, e


def n_denied(k):
    """What no rule allowed."""
    return k.ask({"show": True})["rules"][-1]["count"]


def no_tls(k):
    """The pin alone is what there is to go by."""
    assert k.run(talk, Internet.ADDR4, 80, b"GET / HTTP/1.1\r\n\r\n") == 0


def odd_tls(k):
    """Of a version that there is none of, but some servers take it."""
    before = n_denied(k)
    got = k.run(talk, Internet.ADDR4, 443,
                b"\x16\x04" + hello("www.example.org")[2:])
    assert got == errno.ECONNRESET, got
    assert "first bytes" in k.event()["why"]
    assert n_denied(k) == before + 1


def quic(k):
    assert k.run(datagram, Internet.ADDR4, 443) in (errno.EHOSTUNREACH,
                                                    errno.EACCES)
    assert k.event()["proto"] == "udp"
    assert k.run(datagram, Internet.ADDR4, 1000) == 0


def names_that_are_not(k):
    before = n_denied(k)
    assert k.run(resolve, "other.example.net") == (3, 0)
    e = k.event()
    assert (e["proto"], e["name"]) == ("dns", "other.example.net"), e
    assert n_denied(k) == before + 1


def rebinding(k):
    code, n = k.run(resolve, "rebind.example.org")
    assert n == 0, (code, n)
    assert k.event()["name"] == "rebind.example.org"


def replaced(k):
    """A connection that is there stays with "new", and ends with "all"."""
    def client(me):
        s = socket.create_connection((Internet.ADDR4, 443), 60)
        s.sendall(b"hello")
        assert s.recv(10) == b"hello"
        me.reach()
        s.sendall(b"again")
        assert s.recv(10) == b"again"
        me.reach(wait=False)
        try:
            s.recv(10)
        except OSError as e:
            return e.errno
    there = k.beside(client)
    there.reached()
    none = {"rules": []}
    assert k.ask({"policy": none, "apply": "new"}) == {"ok": True}
    assert k.run(talk, Internet.ADDR4, 443, b"x") == errno.ECONNREFUSED
    there.go_on()
    there.reached()
    assert k.ask({"policy": none, "apply": "all"}) == {"ok": True}
    assert there.result() == errno.ECONNRESET


def only_pinned_stay(k):
    """Of what any name was allowed, a rule by name keeps what it would allow."""
    names = ("api.example.org", "www.example.org")

    def client(me):
        socks = []
        for name in names:
            s = socket.create_connection((Internet.ADDR4, 443), 60)
            s.sendall(hello(name))
            assert s.recv(1000) == hello(name)
            socks.append(s)
        me.reach()
        socks[0].sendall(b"again")
        assert socks[0].recv(10) == b"again"
        try:
            socks[1].recv(10)
        except OSError as e:
            return e.errno
    assert k.run(resolve, names[0]) == (0, [Internet.ADDR4])
    there = k.beside(client)
    there.reached()
    assert k.ask({"policy": {"rules": [{"allow": n} for n in names]},
                  "apply": "all"}) == {"ok": True}
    there.go_on()
    assert there.result() == errno.ECONNRESET
    assert k.event()["name"] == names[1]


def shows(k):
    a = k.ask({"show": True})
    assert a["ok"] and a["rules"] and a["counters"]["tcp_opened"] > 0, a


def refuses(k):
    for bad, word in (
            ({"policy": {"rules": [{"allows": "x"}]}, "apply": "new"}, "allows"),
            ({"policy": {"rules": []}, "apply": "now"}, "apply"),
            ({"polcy": {}}, "polcy"), ([1], "object"),
            ({"show": 1}, "show")):
        a = k.ask(bad)
        assert word in a.get("error", ""), a
    k.control.send(b"{" + b" " * 70000)
    assert "65536" in k.answer()["error"]
    k.control.send(b"\0")
    assert "error" in k.answer()


def rate_limited(k):
    """Far fewer events than denials, and in the end each is counted."""
    def client():
        for port in range(1, 501):
            socket.socket().connect_ex((world.HOST4, port))
    k.events.clear()
    k.run(client)
    done = told = 0
    while told < 500:
        assert done < 300, told
        k.ask({"show": True})
        told = sum(e["count"] for e in k.events)
        time.sleep(0.2)
        k.run(talk, world.HOST4, 9, b"x")
        done += 1
    assert len(k.events) < 400, len(k.events)
    k.events.clear()


def jailed(k):
    """Nothing to open, nothing to become."""
    with open(f"/proc/{k.serve.pid}/status") as f:
        text = dict(line.split(":\t", 1) for line in f if ":\t" in line)
    assert text["Seccomp"].strip() == "2", text["Seccomp"]
    assert text["NoNewPrivs"].strip() == "1"
    assert int(text["CapEff"], 16) == 0
    assert int(text["CapBnd"], 16) == 0


def killed(k):
    """It dies: the guest has no network, and its wire sees the end."""
    k.serve.send_signal(signal.SIGKILL)
    k.serve.communicate(timeout=60)
    assert k.wire.wait(60) == 0


# (A sanitizer writes over the first bytes of what is freed.)
SECRET = "0123456789abcdef-s3cret-t0ken"
MARK = SECRET[-12:].encode()


def intercepted(k):
    """What the guest does not know is sent in its name."""
    assert "BEGIN CERTIFICATE" in k.first["ca"], k.first
    k.run(resolve, "web.example.org")
    ca = k.first["ca"]
    assert k.run(request, Internet.WEB4, 443, "/v1/x", ca) == \
        (200, f"/v1/x {SECRET} 0")
    assert k.run(request, Internet.WEB4, 443, "/other", ca) == \
        (200, "/other mine 0")
    n = 3 << 20
    assert k.run(request, Internet.WEB4, 443, "/v1/x", ca,
                 "web.example.org", bytes(n)) == (200, f"/v1/x {SECRET} {n}")


def intercepted_plain(k):
    assert k.run(request, Internet.WEB4, 80, "/other") == \
        (200, "/other mine 0")
    status, _ = k.run(request, Internet.WEB4, 80, "/v1/x")
    assert status == 403
    e = k.event()
    assert SECRET not in json.dumps(e) and e["port"] == 80, e


def intercepted_many(k, n=300):
    """One too many takes the place of one that has had its answer."""
    def client():
        ctx = ssl.create_default_context(cadata=k.first["ca"])
        socks = []
        for _ in range(n):
            s = socket.create_connection((Internet.WEB4, 443), 60)
            s = ctx.wrap_socket(s, server_hostname="web.example.org")
            s.sendall(b"GET /other HTTP/1.1\r\nHost: web.example.org\r\n\r\n")
            got = b""
            while not got.endswith(b"none 0"):
                part = s.recv(4096)
                assert part, got
                got += part
            socks.append(s)
        return len(socks)
    k.run(resolve, "web.example.org")
    k.events.clear()
    assert k.run(client, timeout=300) == n
    assert not k.events, k.events
    print(f"# {k.rss()} KiB, {k.n_fds()} descriptors", flush=True)
    # Buffers of TLS and of HTTP, of 256 of them at most.
    assert k.n_fds() < 256 * 3 + 64, k.n_fds()


def intercepted_begun(k, n=1000):
    """Who begins and does not go on has no more than 128 that are held, and is
    in nobody's way."""
    def client():
        socks = []
        for _ in range(n):
            s = socket.create_connection((Internet.WEB4, 443), 60)
            s.sendall(b"\x16\x03\x01")
            socks.append(s)
        more = k.rss() - rss, k.n_fds() - fds
        return more, request(Internet.WEB4, 443, "/other", k.first["ca"])
    k.run(resolve, "web.example.org")
    # Those of others linger.
    for _ in range(600):
        if k.n_fds() < 64:
            break
        time.sleep(0.1)
    rss, fds = k.rss(), k.n_fds()
    (kib, fds), answer = k.run(client, timeout=300)
    print(f"# {n} begun: {kib} KiB and {fds} descriptors more", flush=True)
    assert answer == (200, "/other mine 0"), answer
    assert fds <= 128 + 16, fds
    assert kib < 128 * 192, kib


def intercepted_wrong_server(k):
    """Its certificate is for another name: nothing is sent to it."""
    k.run(resolve, "wrong.example.net")
    status, _ = k.run(request, Internet.WEB4, 443, "/v1/x", k.first["ca"],
                      "wrong.example.net")
    assert status == 502, status
    e = k.event()
    assert e["name"] == "wrong.example.net", e


def interception_ends(k):
    """With another policy for all, who was intercepted is not any more."""
    assert "ca" not in k.ask({"policy": {"rules": [
        {"allow": "api.example.org"}]}, "apply": "all"})
    k.run(resolve, "api.example.org")
    assert k.run(talk, Internet.ADDR4, 443, hello("api.example.org")) == 0


def places_of(pid, word):
    """Where in a process's memory that word is."""
    found = []
    with open(f"/proc/{pid}/maps") as maps, \
            open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            at, how, *_ = line.split()
            start, end = (int(x, 16) for x in at.split("-"))
            # (What a sanitizer has set aside is larger, and empty.)
            if not how.startswith("rw") or end - start > 256 << 20:
                continue
            mem.seek(start)
            found += [line.split()[-1]] * mem.read(end - start).count(word)
    return found


def forgotten(k):
    """Of a policy that is not there any more no credential is left."""
    assert not (p := places_of(k.serve.pid, MARK)), p
    k.ask({"policy": {"rules": [{"intercept": "web.example.org", "inject": [
        {"set": {"X-Token": SECRET}}]}]}, "apply": "all"})
    assert places_of(k.serve.pid, MARK)
    # At once: what was left would be used again, some time.
    k.ask({"policy": {"rules": []}, "apply": "all"})
    assert not (p := places_of(k.serve.pid, MARK)), p


def silent_resolver(wire, net):
    """The first says nothing, the second is refused, the third knows."""
    k = Keeper(wire, net, {"rules": [{"allow": "api.example.org"}]},
               [world.SILENT4 % 7, world.HOST4, Internet.ADDR4])
    assert k.run(resolve, "api.example.org") == (0, [Internet.ADDR4])
    k.end()
    k = Keeper(wire, net, {"rules": [{"allow": "api.example.org"}]}, [])
    assert k.run(resolve, "api.example.org") == (2, 0)
    k.ask({"policy": {"rules": [{"allow": "api.example.org"}]},
           "apply": "new", "resolvers": [Internet.ADDR4]})
    assert k.run(resolve, "api.example.org") == (0, [Internet.ADDR4])
    k.end()


def bad_start(wire, net):
    """One sentence, and no network."""
    k = Keeper(wire, net, {"rules": [{"allow": "999.1.1.1/8"}]}, families="")
    assert "rule 1" in k.first["error"], k.first
    _, err = k.serve.communicate(timeout=60)
    assert k.serve.returncode == 1 and "rule 1" in err, err
    k.wire.wait(60)


def tests(tap, only, wire, net):
    def run(name, *args):
        if not only or any(o in name for o in only):
            tap.run(name, *args)

    k = Keeper(wire, net, {"rules": [{"allow": "internet"}]})
    run("the first message is answered", says_ok, k)
    run("by address", by_address, k)
    run("an echo", native.ping, k, Internet.ADDR4)
    run("an echo by IPv6", native.ping, k, Internet.ADDR6)
    run("the host itself is not the Internet", host_is_not_internet, k)
    run("an address becomes the host's", becomes_the_host, k)
    run("a range is the host's", local_range, k)
    run("counters and flows are shown", shows, k)
    run("bad requests get a sentence", refuses, k)
    run("the jail is shut", jailed, k)
    run("a policy is replaced", replaced, k)
    run("events are rate limited", rate_limited, k)
    run("its end, by the control socket", k.end)

    k = Keeper(wire, net, {"rules": [{"deny": "*.ads.example"},
                                     {"allow": "internet"}]})
    run("names in TLS are no pins", only_pinned_stay, k)
    run("its end, with connections", k.end)

    k = Keeper(wire, net, {"rules": [{"allow": "api.example.org"},
                                     {"allow": "rebind.example.org"}]})
    run("a name, resolved and connected", by_name, k)
    run("DNS by TCP", by_tcp, k)
    run("a ClientHello in pieces", in_pieces, k)
    run("another name in the ClientHello", other_sni, k)
    run("no TLS", no_tls, k)
    run("TLS that there is none of", odd_tls, k)
    run("QUIC is refused under a name", quic, k)
    run("other names are no names", names_that_are_not, k)
    run("rebinding", rebinding, k)
    run("it dies", killed, k)

    inject = [{"path": "/v1/", "set": {"X-Token": SECRET}}]
    k = Keeper(wire, net, {"rules": [
        {"intercept": "web.example.org", "inject": inject},
        {"intercept": "wrong.example.net", "inject": inject}]})
    run("HTTPS, intercepted", intercepted, k)
    run("HTTP, intercepted", intercepted_plain, k)
    run("a server that is somebody else", intercepted_wrong_server, k)
    run("HTTPS, many at once", intercepted_many, k)
    run("HTTPS, many that only begin", intercepted_begun, k)
    run("interception ends", interception_ends, k)
    run("credentials are forgotten", forgotten, k)
    run("its end, with interception", k.end)

    run("the host itself, by its address", host_that_is_named, wire, net)
    run("resolvers that do not answer", silent_resolver, wire, net)
    run("a policy that is none", bad_start, wire, net)


def play(tests, n_args=2, certs=("web.example.org",), serve=internet,
         first=None):
    """What each program of such tests does, with n_args arguments of its own."""
    own, only = sys.argv[1:n_args + 1], sys.argv[n_args + 1:]
    if world.skip():
        return
    services.make_certs(CERTS, list(certs))
    world.be_the_host()
    Internet(serve)
    if first:
        first()
    tap = world.Tap()
    tests(tap, only, *own)
    tap.end()


if __name__ == "__main__":
    play(tests)
