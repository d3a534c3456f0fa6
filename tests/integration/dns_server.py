#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dns_server.py - a resolver that knows what its command line says

Usage: dns_server.py ADDRESS NAME=ADDRESS...
"""
import socket
import struct
import sys


def question(msg):
    """Return name, type and the question as it stands."""
    labels, at = [], 12
    while msg[at]:
        labels.append(msg[at + 1:at + 1 + msg[at]].decode())
        at += 1 + msg[at]
    kind, = struct.unpack(">H", msg[at + 1:at + 3])
    return ".".join(labels).lower(), kind, msg[12:at + 5]


def answer(msg, names):
    name, kind, q = question(msg)
    data = b""
    if kind == 1 and name in names:
        data = socket.inet_aton(names[name])
    rcode = 0 if name in names else 3
    out = msg[:2] + struct.pack(">HHHHH", 0x8180 | rcode, 1,
                                1 if data else 0, 0, 0) + q
    if data:
        out += struct.pack(">HHHIH", 0xc00c, kind, 1, 60, len(data)) + data
    return out


def main():
    names = dict(word.split("=") for word in sys.argv[2:])
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((sys.argv[1], 53))
    while True:
        msg, peer = s.recvfrom(4096)
        s.sendto(answer(msg, names), peer)


main()
