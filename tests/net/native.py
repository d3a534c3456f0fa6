#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""native.py - hutch-net with this kernel's TCP as the guest, without KVM

Usage: native.py TAPWIRE NETSERVE [NAME...]

Speaks TAP. Needs root and /dev/net/tun; what is done is done in network
namespaces of its own (world.py).
"""
import errno
import hashlib
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import world  # noqa: E402
from world import HOST4, HOST6, family  # noqa: E402

LONG = bool(os.environ.get("HUTCH_LONG"))
MIB = 1 << 20
BULK = (1024 if LONG else 64) * MIB
PARALLEL = 1000
FLAT_KIB = 8192  # far below what is sent; a sanitizer keeps some of its own
CHUNK = bytes(range(256)) * 4096


def settles(is_so):
    """What is said to be so in the end, however slow this machine is."""
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError("it never was so")


def listen(addr, handler):
    """A server at addr that gives each connection to a thread. Its port."""
    s = socket.socket(family(addr), socket.SOCK_STREAM)
    s.bind((addr, 0))
    s.listen(1024)

    def serve():
        while True:
            try:
                c, _ = s.accept()
            except OSError:
                return
            threading.Thread(target=handler, args=(c,), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    return s.getsockname()[1]


def connect(addr, port, timeout=60):
    s = socket.socket(family(addr), socket.SOCK_STREAM)
    s.settimeout(timeout)
    s.connect((addr, port))
    return s


def send_bulk(s, total):
    h, left = hashlib.sha256(), total
    while left:
        part = CHUNK[:min(left, len(CHUNK))]
        s.sendall(part)
        h.update(part)
        left -= len(part)
    return h.hexdigest()


def recv_all(s, pause=0.0):
    h, n = hashlib.sha256(), 0
    while True:
        part = s.recv(256 * 1024)
        if not part:
            return n, h.hexdigest()
        h.update(part)
        n += len(part)
        if pause:
            time.sleep(pause)


# ---- TCP ----

def down(g, addr, total, pause=0.0):
    sent = []

    def handler(c):
        sent.append(send_bulk(c, total))
        c.close()

    port = listen(addr, handler)

    def client():
        with connect(addr, port) as s:
            return recv_all(s, pause)
    n, digest = g.run(client, timeout=600)
    assert n == total, f"{n} of {total} bytes came"
    assert digest == sent[0], "other bytes than were sent"


def up(g, addr, total, pause=0.0):
    got, done = [], threading.Event()

    def handler(c):
        got.append(recv_all(c, pause))
        c.sendall(b"done")
        c.close()
        done.set()
    port = listen(addr, handler)

    def client():
        with connect(addr, port, 600) as s:
            digest = send_bulk(s, total)
            s.shutdown(socket.SHUT_WR)
            assert s.recv(100) == b"done"
            assert s.recv(100) == b""
            return digest
    digest = g.run(client, timeout=600)
    assert done.wait(60)
    assert got[0] == (total, digest), "other bytes than were sent"


def flat_memory(g, what, *args):
    what(g, *args[:1], 1 * MIB)
    before = g.rss()
    what(g, *args)
    assert g.rss() < before + FLAT_KIB, f"from {before} to {g.rss()} KiB"


def half_close(g, addr):
    """The guest ends its side first, and still hears; and the other way."""
    def handler(c):
        n, _ = recv_all(c)
        c.sendall(b"x" * n)
        c.close()
    port = listen(addr, handler)

    def client():
        with connect(addr, port) as s:
            s.sendall(b"y" * 100000)
            s.shutdown(socket.SHUT_WR)
            return recv_all(s)[0]
    assert g.run(client) == 100000

    heard = []

    def handler2(c):
        c.sendall(b"bye")
        c.shutdown(socket.SHUT_WR)
        heard.append(recv_all(c)[0])
        c.close()
    port = listen(addr, handler2)

    def client2():
        with connect(addr, port) as s:
            assert recv_all(s)[0] == 3
            s.sendall(b"z" * 100000)
    g.run(client2)
    settles(lambda: heard)
    assert heard == [100000]


def refused(g, addr):
    s = socket.socket(family(addr))
    s.bind((addr, 0))
    port = s.getsockname()[1]

    def client():
        try:
            connect(addr, port)
        except OSError as e:
            return e.errno
    assert g.run(client) == errno.ECONNREFUSED
    s.close()


def unreachable(g):
    def client():
        try:
            connect("203.0.113.1", 80)
        except OSError as e:
            return e.errno
    assert g.run(client) in (errno.EHOSTUNREACH, errno.ENETUNREACH)


def reset_by_host(g, addr):
    def handler(c):
        c.recv(10)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                     struct.pack("ii", 1, 0))
        c.close()
    port = listen(addr, handler)

    def client():
        with connect(addr, port) as s:
            s.sendall(b"hello")
            try:
                s.recv(10)
            except OSError as e:
                return e.errno
    assert g.run(client) == errno.ECONNRESET


def reset_by_guest(g, addr):
    seen, done = [], threading.Event()

    def handler(c):
        try:
            while c.recv(10):
                pass
            seen.append(0)
        except OSError as e:
            seen.append(e.errno)
        done.set()
    port = listen(addr, handler)

    def client():
        s = connect(addr, port)
        s.sendall(b"hello")
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                     struct.pack("ii", 1, 0))
        s.close()
    g.run(client)
    assert done.wait(60)
    assert seen == [errno.ECONNRESET]


def parallel(g, addr, n):
    def echo(ls):
        """All of them in one thread: so many threads would be the test."""
        poll, conns = select.epoll(), {}
        poll.register(ls, select.EPOLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == ls.fileno():
                    c, _ = ls.accept()
                    conns[c.fileno()] = c
                    poll.register(c, select.EPOLLIN)
                    continue
                data = conns[fd].recv(65536)
                if data:
                    conns[fd].sendall(data)
                else:
                    poll.unregister(fd)
                    conns.pop(fd).close()
    ls = socket.socket(family(addr))
    ls.bind((addr, 0))
    ls.listen(2048)
    threading.Thread(target=echo, args=(ls,), daemon=True).start()
    port = ls.getsockname()[1]

    def client():
        socks = [connect(addr, port) for _ in range(n)]
        for i, s in enumerate(socks):
            s.sendall(b"%08d" % i * 100)
        for i, s in enumerate(socks):
            want, got = b"%08d" % i * 100, b""
            while len(got) < len(want):
                got += s.recv(65536)
            assert got == want
        return len(socks)
    assert g.run(client, timeout=300) == n


def slow_readers(g, addr, n):
    """They take nothing: what waits for them waits in the host's kernel, and
    nobody else waits for them."""
    size = 128 << 10

    def push(ls):
        poll, left = select.epoll(), {}
        poll.register(ls, select.EPOLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == ls.fileno():
                    c, _ = ls.accept()
                    c.setblocking(False)
                    left[c.fileno()] = [c, size]
                    poll.register(c, select.EPOLLOUT)
                    continue
                c, more = left[fd]
                more -= c.send(CHUNK[:more])
                left[fd][1] = more
                if not more:
                    poll.unregister(c)
                    left.pop(fd)[0].close()
    ls = socket.socket(family(addr))
    ls.bind((addr, 0))
    ls.listen(2048)
    threading.Thread(target=push, args=(ls,), daemon=True).start()
    port = ls.getsockname()[1]
    down(g, addr, 1 * MIB)
    before = g.rss(), g.n_fds()
    (there, tell), (go, let_go) = os.pipe(), os.pipe()

    def client():
        socks = [connect(addr, port) for _ in range(n)]
        os.write(tell, b"x")
        os.read(go, 1)
        assert all(recv_all(s)[0] == size for s in socks)
        return len(socks)
    result = []
    t = threading.Thread(
        target=lambda: result.append(g.run(client, timeout=300)))
    t.start()
    os.read(there, 1)
    down(g, addr, 4 * MIB)
    up(g, addr, 4 * MIB)
    kib, fds = g.rss() - before[0], g.n_fds() - before[1]
    print(f"# {n} slow readers: {kib} KiB and {fds} descriptors more",
          flush=True)
    os.write(let_go, b"x")
    t.join(300)
    assert result == [n], result
    assert kib < FLAT_KIB, kib
    assert fds <= n + 8, fds


def denied(g, addr):
    def client():
        try:
            connect(addr, 6666)
        except OSError as e:
            return e.errno
    assert g.run(client) == errno.ECONNREFUSED


def gateway_is_shut(g):
    def client():
        errors = []
        for addr in (world.GATEWAY4, world.GATEWAY6):
            try:
                connect(addr, 80)
            except OSError as e:
                errors.append(e.errno)
        return errors
    assert g.run(client) == [errno.ECONNREFUSED] * 2


# ---- Datagrams ----

def udp_echo(g, addr, sizes):
    s = socket.socket(family(addr), socket.SOCK_DGRAM)
    s.bind((addr, 0))

    def serve():
        for _ in sizes:
            data, peer = s.recvfrom(65535)
            s.sendto(data, peer)
    t = threading.Thread(target=serve, daemon=True)
    t.start()
    port = s.getsockname()[1]

    def client():
        c = socket.socket(family(addr), socket.SOCK_DGRAM)
        c.settimeout(60)
        c.connect((addr, port))
        for n in sizes:
            data = os.urandom(n)
            c.send(data)
            assert c.recv(65535) == data, f"{n} bytes came back otherwise"
    g.run(client)
    s.close()


def udp_refused(g, addr):
    s = socket.socket(family(addr), socket.SOCK_DGRAM)
    s.bind((addr, 0))
    port = s.getsockname()[1]
    s.close()
    assert g.run(udp_error, addr, port) == errno.ECONNREFUSED


def udp_error(addr, port):
    c = socket.socket(family(addr), socket.SOCK_DGRAM)
    c.settimeout(60)
    c.connect((addr, port))
    try:
        c.send(b"x")
        c.recv(10)
    except OSError as e:
        return e.errno


def udp_denied(g, addr):
    assert g.run(udp_error, addr, 6666) in (errno.EHOSTUNREACH, errno.EACCES)


def udp_gateway(g, addr):
    assert g.run(udp_error, addr, 123) == errno.ECONNREFUSED


def ping(g, addr, size=56):
    def client():
        v6 = ":" in addr
        s = socket.socket(family(addr), socket.SOCK_RAW,
                          58 if v6 else socket.IPPROTO_ICMP)
        s.settimeout(60)
        s.connect((addr, 0))
        body = os.urandom(size)
        head = struct.pack(">BBHHH", 128 if v6 else 8, 0, 0, 4711, 1)
        total = sum(struct.unpack(f">{(8 + size) // 2}H", head + body))
        while total >> 16:
            total = (total >> 16) + (total & 0xffff)
        head = struct.pack(">BBHHH", 128 if v6 else 8, 0,
                           0 if v6 else ~total & 0xffff, 4711, 1)
        s.send(head + body)
        while True:
            data = s.recv(65535)
            data = data if v6 else data[20:]
            kind, _, _, ident, seq = struct.unpack(">BBHHH", data[:8])
            if kind == (129 if v6 else 0):
                return ident, seq, data[8:] == body
    assert g.run(client) == (4711, 1, True)


# ---- Whoever means ill ----

def syn_flood(g, n=5000):
    """From a raw socket, with the guest's own address: many SYNs, no ACK."""
    before = g.n_fds(), g.rss()

    def client():
        s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
        # Such as nobody answers: the half-open table is what is filled.
        for i in range(n):
            head = struct.pack(">HHIIBBHHH", 1024 + i % 60000, 81, i, 0,
                               5 << 4, 2, 65535, 0, 0)
            s.sendto(head, (world.SILENT4 % (i % 250 + 1), 0))
    g.run(client)
    down(g, HOST4, 1000)
    n = g.n_fds() - before[0]
    assert 200 < n <= 256 + 8, f"{n} descriptors"
    assert g.rss() < before[1] + FLAT_KIB, (before, g.rss())
    # And whoever is honest is served.
    down(g, HOST4, 100000)


def port_scan(g, n=3000):
    before = g.rss()

    def client():
        refused = 0
        for port in range(20000, 20000 + n):
            s = socket.socket()
            s.settimeout(60)
            refused += s.connect_ex((HOST4, port)) == errno.ECONNREFUSED
            s.close()
        return refused
    assert g.run(client) >= n - 5
    assert g.rss() < before + FLAT_KIB, (before, g.rss())
    settles(lambda: g.n_fds() < 64)


def udp_scan(g, n=3000):
    before = g.rss()

    def client():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for port in range(20000, 20000 + n):
            s.sendto(b"x", (HOST4, port))
    g.run(client)
    udp_echo(g, HOST4, [100])
    assert g.n_fds() <= 1024 + 64, g.n_fds()
    assert g.rss() < before + FLAT_KIB, (before, g.rss())
    udp_echo(g, HOST4, [100])


def link_end(g):
    """The flood above is still there when the link ends."""
    assert g.end()["evicted"] > 4000


# ---- What is run ----

def tests(tap, only, guest):
    def run(name, *args):
        if not only or any(o in name for o in only):
            tap.run(name, *args)

    g = guest()
    for v, a in (("v4", HOST4), ("v6", HOST6)):
        run(f"{v}: bulk down, flat memory", flat_memory, g, down, a, BULK)
        run(f"{v}: bulk up, flat memory", flat_memory, g, up, a, BULK)
        run(f"{v}: a slow reader in the guest", down, g, a, 12 * MIB, 0.01)
        run(f"{v}: a slow reader outside", up, g, a, 12 * MIB, 0.01)
        run(f"{v}: half-close", half_close, g, a)
        run(f"{v}: refused", refused, g, a)
        run(f"{v}: reset by the host", reset_by_host, g, a)
        run(f"{v}: reset by the guest", reset_by_guest, g, a)
        run(f"{v}: denied is refused at once", denied, g, a)
        run(f"{v}: UDP", udp_echo, g, a, [0, 1, 1000, 30000, 65507])
        run(f"{v}: UDP refused", udp_refused, g, a)
        run(f"{v}: UDP denied", udp_denied, g, a)
        run(f"{v}: echo outside", ping, g, a)
    run("echo of the gateway", ping, g, world.GATEWAY4)
    run("v6: echo of the gateway", ping, g, world.GATEWAY6)
    run("echo of the gateway, large", ping, g, world.GATEWAY4, 60000)
    run("nobody there", unreachable, g)
    run("the gateway has nothing else", gateway_is_shut, g)
    run("the gateway's UDP is shut", udp_gateway, g, world.GATEWAY4)
    run("parallel connections", parallel, g, HOST4, PARALLEL)
    run("slow readers", slow_readers, g, HOST4, PARALLEL)
    run("port scan", port_scan, g)
    run("UDP scan", udp_scan, g)
    run("SYN flood", syn_flood, g)
    run("the link's end is the end", link_end, g)

    for mtu in (1280, 1500):
        g = guest(mtu=mtu)
        for v, a in (("v4", HOST4), ("v6", HOST6)):
            run(f"{v}: MTU {mtu}: down", down, g, a, 8 * MIB)
            run(f"{v}: MTU {mtu}: up", up, g, a, 8 * MIB)
            run(f"{v}: MTU {mtu}: UDP", udp_echo, g, a, [1, 1400, 65507])
        run(f"MTU {mtu}: its end", g.end)

    g = guest(families="6")
    run("IPv6 only", down, g, HOST6, 8 * MIB)
    run("IPv6 only: its end", g.end)

    g = guest(extra=["no-peek-off"])
    run("without SO_PEEK_OFF: down", down, g, HOST4, 16 * MIB)
    run("without SO_PEEK_OFF: half-close", half_close, g, HOST4)
    run("without SO_PEEK_OFF: a slow reader", down, g, HOST4, 12 * MIB, 0.01)
    run("without SO_PEEK_OFF: its end", g.end)


def main():
    wire, serve = sys.argv[1:3]
    if world.skip():
        return
    world.be_the_host()

    def guest(mtu=65520, families="46", extra=()):
        def program(link, mtu):
            return subprocess.Popen(
                [serve, str(link.fileno()), str(mtu), "deny=6666", *extra],
                pass_fds=[link.fileno()], stdout=subprocess.PIPE, text=True,
                env={**os.environ, "ASAN_OPTIONS":
                     os.environ.get("ASAN_OPTIONS", "") +
                     ":quarantine_size_mb=1"})
        return world.Guest(wire, program, mtu, families)
    tap = world.Tap()
    tests(tap, sys.argv[3:], guest)
    tap.end()


if __name__ == "__main__":
    main()
