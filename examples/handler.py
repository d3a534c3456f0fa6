#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""handler.py - answers the HTTP requests of VMs, at a Unix socket

	python3 handler.py /run/user/1000/api.sock &
	hutch run --handler api.internal=/run/user/1000/api.sock -- \\
		wget -q -O - http://api.internal/hello

The name api.internal exists in that VM alone. Who asks is in X-Hutch-VM, which
the VM cannot forge; all else in a request is what the VM likes, and is to be
taken as such. docs/network-policy.md has the rules. Standard library only.
"""
import http.server
import json
import os
import socketserver
import sys

CHUNK = 65536
LINE_MAX = 256


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 600

    def body(self):
        """The request's body, piece by piece."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            left = int(self.headers.get("Content-Length", 0))
            while left and (data := self.rfile.read(min(left, CHUNK))):
                left -= len(data)
                yield data
            return
        while (left := int(self.rfile.readline(LINE_MAX), 16)):
            while left and (data := self.rfile.read(min(left, CHUNK))):
                left -= len(data)
                yield data
            self.rfile.readline(LINE_MAX)
        self.rfile.readline(LINE_MAX)

    def answer(self, status, doc):
        text = json.dumps(doc).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if self.path != "/hello":
            self.answer(404, {"error": "there is only /hello"})
            return
        self.answer(200, {"hello": self.headers["X-Hutch-VM"],
                          "scheme": self.headers["X-Hutch-Scheme"],
                          "host": self.headers["Host"]})

    def do_POST(self):
        self.answer(200, {"bytes": sum(len(data) for data in self.body())})

    def address_string(self):
        return self.headers["X-Hutch-VM"] if hasattr(self, "headers") else "-"


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Listens at a path, in the place of whoever did before."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path):
        if os.path.exists(path):
            os.unlink(path)
        os.umask(0o077)
        super().__init__(path, Handler)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: handler.py PATH")
    Server(sys.argv[1]).serve_forever()
