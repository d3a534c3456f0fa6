#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""http_echo.py - answers with the path and the credentials it was sent

Usage: http_echo.py ADDRESS
"""
import http.server
import sys


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        text = f"{self.path} {self.headers['Authorization']}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


def main():
    server = http.server.ThreadingHTTPServer((sys.argv[1], 80), Echo)
    server.serve_forever()


main()
