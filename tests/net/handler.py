#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""handler.py - hutch-net with rules that have a handler, this kernel as the guest

Usage: handler.py TAPWIRE HUTCH-NET EXAMPLE [NAME...]

The keeper's part is played here. Speaks TAP; needs root and /dev/net/tun
(world.py).
"""
import array
import base64
import hashlib
import json
import os
import queue
import socket
import ssl
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]
import handler_server  # noqa: E402
import native  # noqa: E402
import program  # noqa: E402
from world import Internet  # noqa: E402

SOCK = os.path.join(program.CERTS, "h.sock")
EXAMPLE = os.path.join(program.CERTS, "example.sock")
BIG = handler_server.DOWN
NAME = "svc.internal"


class Keeper(program.Keeper):
    """One that connects to handlers; its answers and events come by a queue."""

    def __init__(self, *args):
        self.docs = None
        self.asked = []
        self.word = None
        super().__init__(*args)
        self.docs = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                text = self.control.recv(1 << 20)
            except OSError:
                return
            if not text:
                return
            doc = json.loads(text)
            if "connect" in doc:
                self.connect(doc)
            else:
                self.docs.put(doc)

    def connect(self, doc):
        self.asked.append(doc["connect"])
        s = socket.socket(socket.AF_UNIX)
        answer, fds = {"connected": doc["id"]}, []
        try:
            s.connect(doc["connect"])
            fds = [s.fileno()]
        except OSError:
            answer["error"] = "refused"
        if self.word:
            answer["error"], self.word, fds = self.word, None, []
        self.control.sendmsg(
            [json.dumps(answer).encode()],
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            if fds else [])
        s.close()

    def next(self):
        if self.docs is None:
            return json.loads(self.control.recv(1 << 20))
        return self.docs.get(timeout=60)

    def answer(self):
        while "event" in (doc := self.next()):
            self.events.append(doc)
        return doc

    def event(self):
        while not self.events:
            self.events.append(self.next())
        return self.events.pop(0)

    def end(self):
        # Who listens holds it open.
        self.control.shutdown(socket.SHUT_RDWR)
        super().end()


# ---- The guest ----

class Web:
    """A connection of the guest's, by name: over TLS if there is a CA."""

    def __init__(self, ca=None, name=NAME, port=None, alpn=None, kind=1):
        code, addrs = program.resolve(name, kind)
        assert code == 0, code
        self.addr = addrs[0]
        self.s = socket.create_connection(
            (self.addr, port or (443 if ca else 80)), 60)
        self.name = name
        if ca:
            tls = ssl.create_default_context(cadata=ca)
            if alpn:
                tls.set_alpn_protocols(alpn)
            self.s = tls.wrap_socket(self.s, server_hostname=name)
        self.f = self.s.makefile("rwb")

    def ask(self, path, body=None, more=b"", head="GET"):
        if body is not None:
            head, more = "POST", more + b"Content-Length: %d\r\n" % len(body)
        self.f.write(b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (
            head.encode(), path.encode(), self.name.encode(), more))
        self.f.flush()
        if body:
            self.f.write(body)
            self.f.flush()
        return self.answer()

    def answer(self):
        line = self.f.readline().split()
        if not line:
            return 0, b""
        size = chunked = None
        while (h := self.f.readline().strip().lower()):
            if h.startswith(b"content-length:"):
                size = int(h.split(b":")[1])
            chunked = chunked or h == b"transfer-encoding: chunked"
        if chunked:
            data = b""
            while (n := int(self.f.readline(), 16)):
                data += self.f.read(n)
                self.f.readline()
            self.f.readline()
            return int(line[1]), data
        return int(line[1]), self.f.read(size) if size else b""


def get(path, ca=None, name=NAME, kind=1):
    w = Web(ca, name, kind=kind)
    status, text = w.ask(path)
    return status, text, w.addr


# ---- Tests ----

def by_a_name_that_is_none(k):
    """No resolver has it, and none is asked: there is none."""
    status, text, addr = k.run(get, "/x")
    doc = json.loads(text)
    assert status == 200 and addr == "198.19.0.1", (status, addr)
    assert doc == {"line": "GET /x", "at": "h.sock", "n": 1, "host": NAME, "x-hutch-vm": "box",
                   "x-hutch-scheme": "http", "connection": "keep-alive"}, doc
    status, text, addr = k.run(get, "/x", k.first["ca"], NAME, 28)
    assert addr == "fd00:6875:7463:6801::1", addr
    assert json.loads(text)["x-hutch-scheme"] == "https", text
    assert k.run(get, "/x", None, "other." + NAME)[2] == "198.19.0.2"


def keeps_alive(k):
    def client():
        w = Web(k.first["ca"])
        return [w.ask(f"/{i}")[0] for i in range(50)]
    k.asked.clear()
    assert k.run(client) == [200] * 50
    assert k.asked == [SOCK], k.asked


def streams_both_ways(k):
    body = os.urandom(BIG)

    def client(ca):
        w = Web(ca)
        return w.ask("/up", body)[1].decode(), len(w.ask("/down")[1])
    for ca in (None, k.first["ca"]):
        assert k.run(client, ca) == (hashlib.sha256(body).hexdigest(), BIG)


def switches(k):
    def client():
        w = Web(k.first["ca"])
        key = base64.b64encode(b"x" * 16)
        status, _ = w.ask("/ws", more=b"Connection: Upgrade\r\nUpgrade: "
                          b"websocket\r\nSec-WebSocket-Key: %s\r\n" % key)
        got = []
        for i in range(20):
            w.f.write(b"word %d" % i)
            w.f.flush()
            got.append(w.f.read(len(b"word %d" % i)))
        return status, got
    assert k.run(client) == (101, [b"WORD %d" % i for i in range(20)])


def lies(k):
    for path, want, why in (
            ("/die", 502, "closed without an answer"),
            ("/junk", 502, "malformed"), ("/half", 200, "broke off")):
        assert k.run(get, path)[0] == want, path
        e = k.event()
        assert why in e["why"] and e["rule"] == 1 and e["name"] == NAME, e


def answers_early(k):
    def client():
        w = Web()
        try:
            return w.ask("/early", bytes(BIG))[0]
        except OSError:
            return w.answer()[0]
    assert k.run(client) == 413


def is_not_there(k):
    assert k.run(get, "/x", None, "gone.example")[0] == 502
    e = k.event()
    assert "nobody listens" in e["why"] and e["rule"] == 3, e
    assert k.asked[-1] == SOCK + ".none"
    # It comes, and needs no telling.
    ls = handler_server.serve(SOCK + ".none")
    assert k.run(get, "/x", None, "gone.example")[0] == 200
    ls.close()
    # The queue of one is full for a while: asked again.
    k.word = "busy"
    k.asked.clear()
    assert k.run(get, "/x")[0] == 200
    assert len(k.asked) == 2, k.asked


def wants_h2(k):
    """A client that insists on HTTP/2 is told off, with the reason in the event."""
    def client():
        try:
            Web(k.first["ca"], alpn=["h2"])
        except ssl.SSLError as e:
            return repr(e)
    got = k.run(client)
    assert "no application protocol" in got.lower().replace("_", " "), got
    e = k.event()
    assert "insists on HTTP/2" in e["why"], e
    assert k.run(lambda: Web(k.first["ca"], alpn=["h2", "http/1.1"])
                 .ask("/x")[0]) == 200


def nothing_else_is_there(k):
    code, addrs = k.run(program.resolve, NAME)
    assert code == 0
    assert k.run(program.talk, addrs[0], 22, b"x") == 111
    e = k.event()
    assert e["port"] == 22, e
    assert k.run(program.datagram, addrs[0], 443) in (113, 13)
    k.event()
    # Another name at this address, and an address that nobody was told.
    got = k.run(program.talk, addrs[0], 443, program.hello("api.example.org"))
    assert got == 104, got
    k.event()
    assert k.run(program.talk, "198.19.77.7", 80, b"x") == 111
    k.event()


def is_replaced(k):
    """Under another policy the next request goes to the new one."""
    other = handler_server.serve(SOCK + ".2")
    k.asked.clear()

    def client(me):
        w = Web()
        first = w.ask("/1")[0]
        me.reach()
        # It was idle, so it has ended; the name has its address still.
        end = w.f.read(1)
        return first, end, Web().ask("/2")[0]
    there = k.beside(client)
    there.reached()
    a = k.ask({"policy": {"rules": [
        {"intercept": NAME, "handler": SOCK + ".2"}]}, "apply": "new"})
    assert a["ok"] and a["ca"] == k.first["ca"], a
    there.go_on()
    assert there.result() == (200, b"", 200)
    assert k.asked == [SOCK, SOCK + ".2"], k.asked
    other.close()
    k.ask({"policy": {"rules": [{"allow": "internet"}]}, "apply": "new"})
    got = k.run(program.talk, "198.19.0.1", 80, b"x")
    assert got == 111, got
    k.event()


def takes_what_was_resolved(k):
    """A name that had a server: what is connected there goes to the handler."""
    code, addrs = k.run(program.resolve, "web.example.org")
    assert (code, addrs) == (0, [Internet.WEB4]), (code, addrs)
    k.ask({"policy": {"rules": [
        {"intercept": "web.example.org", "handler": SOCK}]}, "apply": "new"})

    def client():
        s = socket.create_connection((Internet.WEB4, 80), 60)
        s.sendall(b"GET /x HTTP/1.1\r\nHost: web.example.org\r\n\r\n")
        return s.recv(65536)
    assert b"x-hutch-vm" in k.run(client)
    assert k.asked[-1] == SOCK


def leaves_nothing(k):
    """All is over: no descriptor more than at first."""
    native.settles(lambda: k.n_fds() <= k.fds0)


def example(k, path):
    p = subprocess.Popen([sys.executable, path, EXAMPLE],
                         stderr=subprocess.DEVNULL)
    try:
        native.settles(lambda: os.path.exists(EXAMPLE))

        def client():
            w = Web(name="hello.example")
            a = json.loads(w.ask("/hello")[1])
            b = json.loads(w.ask("/x", bytes(100000))[1])
            w.f.write(b"POST / HTTP/1.1\r\nHost: hello.example\r\n"
                      b"Transfer-Encoding: chunked\r\n\r\n"
                      b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            w.f.flush()
            return a, b, json.loads(w.answer()[1])
        assert k.run(client) == (
            {"hello": "box", "scheme": "http", "host": "hello.example"},
            {"bytes": 100000}, {"bytes": 5})
    finally:
        p.kill()
        p.wait()


def needs_no_bundle(wire, net):
    """Handlers alone: no server's certificate is checked."""
    pem = os.path.join(program.CERTS, "ca.pem")
    os.rename(pem, pem + ".away")
    open(pem, "w").close()
    try:
        k = Keeper(wire, net, {"rules": [{"intercept": NAME,
                                          "handler": SOCK}]}, [])
        assert k.first["ok"] and "BEGIN" in k.first["ca"], k.first
        assert k.run(get, "/x", k.first["ca"])[0] == 200
        a = k.ask({"policy": {"rules": [{"intercept": "b.example"}]},
                   "apply": "new"})
        assert "no certificate" in a["error"], a
        k.end()
    finally:
        os.rename(pem + ".away", pem)


def cannot_begin_later(wire, net):
    """Without a rule that intercepts there is no OpenSSL, and there will be none."""
    k = Keeper(wire, net, {"rules": [{"allow": "internet"}]}, [])
    a = k.ask({"policy": {"rules": [{"intercept": NAME, "handler": SOCK}]},
               "apply": "new"})
    assert "began without" in a["error"], a
    k.end()


def tests(tap, only, wire, net, path):
    def run(name, *args):
        if not only or any(o in name for o in only):
            tap.run(name, *args)

    def keeper(rules, resolvers):
        return Keeper(wire, net, {"rules": rules}, resolvers)

    k = keeper([{"intercept": NAME, "handler": SOCK},
                {"intercept": "*." + NAME, "handler": SOCK},
                {"intercept": "gone.example", "handler": SOCK + ".none"},
                {"intercept": "hello.example", "handler": EXAMPLE}], [])
    k.fds0 = k.n_fds()
    run("a name that does not exist", by_a_name_that_is_none, k)
    run("keep-alive is one connection", keeps_alive, k)
    run("streams in both directions", streams_both_ways, k)
    run("an upgrade", switches, k)
    run("a handler that lies", lies, k)
    run("an answer before the request has ended", answers_early, k)
    run("a handler that is not there", is_not_there, k)
    run("a client that insists on h2", wants_h2, k)
    run("nothing else at the address", nothing_else_is_there, k)
    run("the example", example, k, path)
    run("nothing is left", leaves_nothing, k)
    run("another policy", is_replaced, k)
    run("its end", k.end)
    k = keeper([{"allow": "web.example.org"},
                {"intercept": "x.example", "handler": SOCK}],
               [Internet.ADDR4])
    run("a name that had a server", takes_what_was_resolved, k)
    run("its end again", k.end)
    run("no bundle is needed", needs_no_bundle, wire, net)
    run("it cannot begin later", cannot_begin_later, wire, net)


if __name__ == "__main__":
    program.play(tests, 3, first=lambda: handler_server.serve(SOCK))
