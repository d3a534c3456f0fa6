#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forward_client.py - clients of forwarded ports that an echo server answers

Usage: forward_client.py many HOST PORT N	N at once, 4 KiB each
       forward_client.py big HOST PORT BYTES	one, as much both ways at once
       forward_client.py refused HOST PORT	is reset before a byte comes
       forward_client.py late HOST PORT BYTES	says that much when the other is done
       forward_client.py held HOST PORT		says "held", waits for its end

Each says all, then its end, and reads to the other's end.
"""
import hashlib
import socket
import sys
import threading


def connect(host, port):
    s = socket.create_connection((host, port), timeout=240)
    s.settimeout(240)
    return s


def read_all(s):
    data = bytearray()
    while piece := s.recv(65536):
        data += piece
    return bytes(data)


def many(host, port, n):
    """All are open before one says a word, and all have ended before one goes."""
    conns = [connect(host, port) for _ in range(n)]
    said = [hashlib.sha256(b"%d" % i).digest() * 128 for i in range(n)]
    for s, data in zip(conns, said):
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
    wrong = sum(read_all(s) != data for s, data in zip(conns, said))
    if wrong:
        sys.exit(f"{wrong} of {n} came back otherwise")


def big(host, port, size):
    s = connect(host, port)
    said, heard = hashlib.sha256(), hashlib.sha256()

    def talk():
        for i in range(size // 65536):
            piece = hashlib.sha256(b"%d" % i).digest() * 2048
            said.update(piece)
            s.sendall(piece)
        s.shutdown(socket.SHUT_WR)

    t = threading.Thread(target=talk)
    t.start()
    got = 0
    while piece := s.recv(65536):
        heard.update(piece)
        got += len(piece)
    t.join()
    if said.digest() != heard.digest():
        sys.exit(f"{got} bytes of {size} came back, or others")


def refused(host, port):
    try:
        s = connect(host, port)
        data = s.recv(1)
    except ConnectionResetError:
        return
    sys.exit(f"{data} came, and no reset")


def late(host, port, size):
    s = connect(host, port)
    if (data := read_all(s)) != b"bye":
        sys.exit(f"{data} came, and no bye")
    s.sendall(bytes(size))
    s.shutdown(socket.SHUT_WR)


def held(host, port):
    s = connect(host, port)
    s.sendall(b"x")
    if s.recv(1) != b"x":
        sys.exit("no echo")
    print("held", flush=True)
    try:
        while s.recv(1):
            pass
        print("ended")
    except ConnectionResetError:
        print("reset")


def main():
    what, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    {"many": many, "big": big, "refused": refused, "late": late,
     "held": held}[what](host, port, *map(int, sys.argv[4:]))


main()
