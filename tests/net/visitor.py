#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""visitor.py - the guest's side of what is tried with services.py

Usage: visitor.py STEP[,ARGUMENT...]...

Each step is a function below, with its arguments; one that fails ends it. Needs
nothing but Python's library, since it is brought into guests.
"""
import http.client
import os
import socket
import ssl
import struct
import sys
import time

PIECE = bytes(range(256)) * 256


def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def visit(host, port):
    """A connection to a site; in TLS, but for port 80."""
    # (Without a port of its own ":2" of an IPv6 address would be taken for one.)
    if int(port) == 80:
        return http.client.HTTPConnection(host, 80, timeout=240)
    return http.client.HTTPSConnection(host, int(port), timeout=240)


def must(response, status=200):
    assert response.status == status, (response.status, response.read(1000))
    return response


def keepalive(host, port, n):
    """One connection, n requests."""
    c = visit(host, port)
    for i in range(int(n)):
        c.request("GET", f"/open/{i}")
        assert must(c.getresponse()).read() == b"welcome\n"
        mine = c.sock.getsockname()
        assert i == 0 or mine == first, "another connection"
        first = mine


def down(host, port, size, pause="0"):
    """Chunked; read as it comes, or slowly."""
    c, left = visit(host, port), int(size)
    c.request("GET", f"/bulk/{size}")
    r, pos = must(c.getresponse()), 0
    assert r.getheader("Transfer-Encoding") == "chunked"
    while data := r.read(65536):
        at = pos % 256
        assert data == (PIECE + PIECE[:256])[at:at + len(data)], pos
        pos += len(data)
        time.sleep(float(pause))
    assert pos == left, f"{pos} of {left} bytes"


def up(host, port, size):
    """In chunks, and of no length that is told before."""
    def parts(left=int(size)):
        while left:
            yield PIECE[:min(left, len(PIECE))]
            left -= min(left, len(PIECE))
    c = visit(host, port)
    c.request("PUT", "/sink", body=parts(), encode_chunked=True,
              headers={"Transfer-Encoding": "chunked"})
    got = must(c.getresponse()).read()
    assert got == size.encode(), f"{got} bytes of {size} came"


def websocket(host, port):
    """Messages come back as they were; then both say that it ends."""
    c = visit(host, port)
    c.request("GET", "/ws", headers={
        "Upgrade": "websocket", "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
    s = c.sock
    r = must(c.getresponse(), 101)
    assert r.getheader("Sec-WebSocket-Accept") == \
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", r.headers
    f = s.makefile("rb")
    for kind, data in ((1, b"hello"), (2, bytes(range(256)) * 200),
                       (8, b"\3\350")):
        size = struct.pack(">B", 128 | len(data)) if len(data) < 126 else \
            struct.pack(">BH", 254, len(data))
        mask = b"\1\2\3\4"
        s.sendall(bytes([128 | kind]) + size + mask +
                  bytes(b ^ mask[i & 3] for i, b in enumerate(data)))
        head = f.read(2)
        n = head[1] if head[1] < 126 else \
            struct.unpack(">H", f.read(2))[0]
        assert (head[0], f.read(n)) == (128 | kind, data), head
    assert f.read(1) == b"", "more after the end"


def parallel(host, port, n):
    """All are connected and have asked before one hears."""
    all_of_them = [visit(host, port) for _ in range(int(n))]
    for c in all_of_them:
        c.request("GET", "/open/one-of-many")
    for c in all_of_them:
        assert must(c.getresponse()).read() == b"welcome\n"


def half_close(host, port):
    """Who has asked all it will ask ends its side, and hears the answer."""
    s = socket.create_connection((host, int(port)), 240)
    size = 300000
    s.sendall(f"GET /bulk/{size} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    s.shutdown(socket.SHUT_WR)
    got = b"".join(iter(lambda: s.recv(65536), b""))
    assert got.startswith(b"HTTP/1.1 200") and got.endswith(b"\r\n0\r\n\r\n") \
        and len(got) > size, (len(got), got[:100])


def udp(addr, *sizes):
    """Datagrams come back whole, whatever the MTU."""
    s = socket.socket(family(addr), socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect((addr, 7))
    for n in map(int, sizes):
        data = os.urandom(n)
        s.send(data)
        assert s.recv(65535) == data, f"{n} bytes came back otherwise"


def refused(addr, port):
    try:
        socket.create_connection((addr, int(port)), 240)
    except ConnectionRefusedError:
        return
    raise AssertionError("it is not refused")


def unknown(host):
    try:
        socket.getaddrinfo(host, 443)
    except socket.gaierror as e:
        assert e.errno == socket.EAI_NONAME, e
        return
    raise AssertionError("there is such a name")


def scan(addr, first, n):
    """A range of ports, one after the other: how many were refused."""
    closed = 0
    for port in range(int(first), int(first) + int(n)):
        with socket.socket(family(addr)) as s:
            s.settimeout(60)
            closed += s.connect_ex((addr, port)) != 0
    return closed


def flood(pattern, n):
    """SYNs from a raw socket, to addresses such as nobody answers at."""
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    for i in range(int(n)):
        head = struct.pack(">HHIIBBHHH", 1024 + i % 60000, 81, i, 0, 5 << 4,
                           2, 65535, 0, 0)
        s.sendto(head, (pattern % (i % 250 + 1), 0))


def main():
    for word in sys.argv[1:]:
        what, *args = word.split(",")
        result = globals()[what](*args)
        print(word, "" if result is None else result, flush=True)


if __name__ == "__main__":
    main()
