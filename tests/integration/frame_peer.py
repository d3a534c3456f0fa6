#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""frame_peer.py PATH ADDRESS: a host at ADDRESS, on the other end of a link of
frames (docs/devices/net.md) that listens at PATH.  Answers ARP and ICMP echo, of
one who connects, until that one goes; then prints how many echoes there were."""

import socket
import struct
import sys

MAC = bytes.fromhex("02005e000001")
ARP, IPV4 = 0x0806, 0x0800


def exactly(sock, n):
    data = b""
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def answer(frame, address):
    """What ADDRESS says to that frame: (an answer or None, whether it is an echo)"""
    sender, kind = frame[6:12], struct.unpack_from("!H", frame, 12)[0]
    head = sender + MAC + frame[12:14]
    if kind == ARP and frame[20:22] == b"\0\1" and frame[38:42] == address:
        return head + frame[14:20] + b"\0\2" + MAC + address + frame[22:32], False
    if kind == IPV4 and frame[23] == 1 and frame[34] == 8 and frame[30:34] == address:
        # Swapping the addresses keeps the header's sum; the type's goes from 8 to 0.
        total = struct.unpack_from("!H", frame, 36)[0] + 0x0800
        total = (total & 0xFFFF) + (total >> 16)
        return head + frame[14:26] + address + frame[26:30] + b"\0\0" + \
            struct.pack("!H", total) + frame[38:], True
    return None, False


def main():
    path, address = sys.argv[1], socket.inet_aton(sys.argv[2])
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    link = listener.accept()[0]
    echoes = 0
    try:
        while True:
            frame = exactly(link, struct.unpack("!I", exactly(link, 4))[0])
            reply, echo = answer(frame, address)
            echoes += echo
            if reply:
                link.sendall(struct.pack("!I", len(reply)) + reply)
    except (EOFError, ConnectionResetError):
        print(echoes)


main()
