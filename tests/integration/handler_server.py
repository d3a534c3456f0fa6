#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""handler_server.py - a handler that does what it is asked to, and lies if so

Usage: handler_server.py SOCKET...

	/up	the SHA-256 of the body	/down	DOWN bytes, in chunks
	/ws	101, then all in capitals	/die	ends without a word
	/half	breaks off	/junk	says what is no HTTP
	/early	413, with the body unread	else	the request, as JSON
"""
import contextlib
import hashlib
import json
import os
import socket
import sys
import threading

DOWN = 8 << 20


class Request:
    def __init__(self, f):
        line = f.readline()
        self.line = line.split()
        self.heads = {}
        while (h := f.readline().strip()):
            k, v = h.decode().split(":", 1)
            self.heads[k.lower()] = v.strip()


def serve_one(c, name):
    f = c.makefile("rwb")
    n_requests = 0
    while (r := Request(f)).line:
        n_requests += 1
        path = r.line[1].decode()
        if path == "/up":
            n, h = int(r.heads["content-length"]), hashlib.sha256()
            while n:
                data = f.read(min(n, 65536))
                h.update(data)
                n -= len(data)
            say(f, h.hexdigest().encode())
        elif path == "/down":
            f.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(DOWN // 65536):
                f.write(b"10000\r\n" + bytes(65536) + b"\r\n")
            f.write(b"0\r\n\r\n")
            f.flush()
        elif path == "/ws":
            f.write(b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n"
                    b"Upgrade: websocket\r\n\r\n")
            f.flush()
            while (data := c.recv(65536)):
                c.sendall(data.upper())
            return
        elif path == "/die":
            return
        elif path == "/half":
            f.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
            f.flush()
            return
        elif path == "/junk":
            f.write(b"SSH-2.0-OpenSSH\r\n")
            f.flush()
        elif path == "/early":
            f.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n"
                    b"Connection: close\r\n\r\n")
            f.flush()
            return
        else:
            say(f, json.dumps({"line": r.line[0].decode() + " " + path,
                               "at": name, "n": n_requests, **r.heads}).encode())


def say(f, text):
    f.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    f.flush()


def guarded(c, name):
    try:
        serve_one(c, name)
    except OSError:
        pass
    finally:
        with contextlib.suppress(OSError):
            c.shutdown(socket.SHUT_RDWR)
        c.close()


def serve(path):
    ls = socket.socket(socket.AF_UNIX)
    ls.bind(path)
    ls.listen(64)

    def run():
        while True:
            try:
                c, _ = ls.accept()
            except OSError:
                return
            threading.Thread(target=guarded, args=(c, os.path.basename(path)), daemon=True).start()
    threading.Thread(target=run, daemon=True).start()
    return ls


def main():
    listening = [serve(path) for path in sys.argv[1:]]
    threading.Event().wait()
    for s in listening:
        s.close()


if __name__ == "__main__":
    main()
