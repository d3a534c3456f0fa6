#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""services.py - what real clients ask for, ports 80 and 443, and UDP 7, of addresses

Usage: services.py FOLDER LOGIN ADDRESS...

FOLDER gets ca.pem, leaf.pem and leaf.key (make_certs), and "up" when all is
served. Each request is a line in FOLDER/log: scheme, method, Host, path, "knows"
or "stranger". LOGIN is what knows: the value of Authorization.

    /open/...            "welcome"
    /private/...         "welcome" for who has LOGIN, else 401
    /bulk/N              N bytes, in chunks
    /sink                how many bytes came, chunked or not
    /ws                  a WebSocket that says each message again
    /git/app.git         git-http-backend, for who has LOGIN
    /simple/, /packages/ a Python index with one wheel, for who has LOGIN
    /npm/                an npm registry with one package, for who has LOGIN
"""
import base64
import functools
import hashlib
import http.server
import io
import json
import os
import ssl
import socket
import subprocess
import sys
import threading

NAMES = ("site.example.org", "git.example.org", "pypi.example.org",
         "npm.example.org", "open.example.org")
PACKAGE = "hutchdemo"
WHEEL = f"{PACKAGE}-1.0-py3-none-any.whl"
PIECE = bytes(range(256)) * 256


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def make_certs(folder, names=NAMES):
    """A private CA, and a certificate of it for names."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    key = ["req", "-x509", "-newkey", "ec", "-pkeyopt",
           "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    openssl(*key, "-keyout", "ca.key", "-out", "ca.pem", "-subj",
            "/CN=private CA")
    openssl(*key, "-keyout", "leaf.key", "-out", "leaf.pem", "-subj",
            f"/CN={names[0]}", "-CA", "ca.pem", "-CAkey", "ca.key", "-addext",
            "subjectAltName=" + ",".join(f"DNS:{n}" for n in names), "-addext",
            "basicConstraints=critical,CA:FALSE")


def make_repo(folder):
    """repo/app.git, with one commit, to clone and to push to; only once."""
    repo = os.path.join(folder, "repo", "app.git")
    if os.path.exists(repo):
        return
    env = {"PATH": os.environ["PATH"], "HOME": folder,
           "GIT_CONFIG_NOSYSTEM": "1",
           **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
              for what, value in (("NAME", "a"), ("EMAIL", "a@b"))}}

    def git(*args, data=None):
        return subprocess.run(["git", *args], check=True, env=env, input=data,
                              stdout=subprocess.PIPE).stdout.strip().decode()
    git("init", "-q", "--bare", "-b", "main", repo)
    at = f"--git-dir={repo}"
    blob = git(at, "hash-object", "-w", "--stdin", data=b"by git\n")
    tree = git(at, "mktree", data=f"100644 blob {blob}\tREADME\n".encode())
    git(at, "update-ref", "refs/heads/main",
        git(at, "commit-tree", "-m", "first", tree))
    git(at, "config", "http.receivepack", "true")


def wheel():
    # Here, and tarfile below: where modules load slowly not all are wanted.
    import zipfile
    info = f"{PACKAGE}-1.0.dist-info"
    files = {f"{PACKAGE}.py": "words = 'by pip'\n",
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\n"
             "Version: 1.0\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: site\n"
             "Root-Is-Purelib: true\nTag: py3-none-any\n"}
    names = [*files, f"{info}/RECORD"]
    files[f"{info}/RECORD"] = "".join(f"{n},,\n" for n in names)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name in names:
            z.writestr(name, files[name])
    return out.getvalue()


@functools.cache
def node_package():
    import tarfile
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for name, text in (("package.json", json.dumps(
                {"name": PACKAGE, "version": "1.0.0", "main": "index.js"})),
                ("index.js", "module.exports = 'by npm';\n")):
            member = tarfile.TarInfo("package/" + name)
            member.size = len(text)
            t.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


def node_index(host, tarball):
    sha = base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    return json.dumps({
        "name": PACKAGE, "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {
            "name": PACKAGE, "version": "1.0.0", "main": "index.js",
            "dist": {"integrity": "sha512-" + sha, "tarball":
                     f"https://{host}/npm/{PACKAGE}/-/{PACKAGE}-1.0.0.tgz"}}}})


class Visit(http.server.BaseHTTPRequestHandler):
    """A connection: its requests, one after the other."""
    protocol_version = "HTTP/1.1"
    # Head and body are not to wait for each other's acknowledgement.
    wbufsize = 65536
    disable_nagle_algorithm = True

    def do_GET(self):
        site = self.server.site
        knows = self.headers.get("Authorization") == site.login
        site.note(self, knows)
        kind = self.path.split("/")[1].split("?")[0]
        if kind in ("private", "git", "simple", "packages", "npm") \
                and not knows:
            self.body()
            return self.give("who are you?", status=401)
        what = getattr(self, "at_" + kind, None)
        if not what:
            self.body()
            return self.give("no such thing", status=404)
        what()

    do_POST = do_PUT = do_GET

    def handle_expect_100(self):
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def give(self, data, kind="text/plain", status=200):
        data = data.encode() if isinstance(data, str) else data
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def pieces(self):
        """The request's body, as it comes."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            left = int(self.headers.get("Content-Length", 0))
            while left:
                part = self.rfile.read(min(left, 65536))
                if not part:
                    raise ConnectionError("a body that is cut off")
                left -= len(part)
                yield part
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def body(self):
        return b"".join(self.pieces())

    def at_open(self):
        self.body()
        self.give("welcome\n")

    at_private = at_open

    def at_sink(self):
        self.give(str(sum(map(len, self.pieces()))))

    def at_bulk(self):
        left = int(self.path.split("/")[2])
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while left:
            part = PIECE[:min(left, len(PIECE))]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            left -= len(part)
        self.wfile.write(b"0\r\n\r\n")

    def at_ws(self):
        key = self.headers["Sec-WebSocket-Key"].encode() + \
            b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(
            hashlib.sha1(key).digest()).decode())
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        while head := self.rfile.read(2):
            size = head[1] & 127
            if size == 126:
                size = int.from_bytes(self.rfile.read(2), "big")
            mask = self.rfile.read(4)
            data = self.rfile.read(size)
            data = bytes(b ^ mask[i & 3] for i, b in enumerate(data))
            size = bytes([size]) if size < 126 else \
                b"\x7e" + size.to_bytes(2, "big")
            self.wfile.write(head[:1] + size + data)
            self.wfile.flush()
            if head[0] & 15 == 8:
                return

    def at_git(self):
        path, _, query = self.path.partition("?")
        data = self.body()
        with self.server.site.lock:
            make_repo(self.server.site.folder)
        out = subprocess.run(
            ["git", "http-backend"], input=data, check=True,
            stdout=subprocess.PIPE, env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": os.path.join(self.server.site.folder,
                                                 "repo"),
                "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path[len("/git"):],
                "QUERY_STRING": query, "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING":
                    self.headers.get("Content-Encoding", ""),
                "CONTENT_LENGTH": str(len(data)),
                "REMOTE_USER": "a", "REMOTE_ADDR": "-"}).stdout
        head, _, data = out.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1)
                      for line in head.decode().splitlines())
        status = int(fields.pop("Status", "200").split()[0])
        self.give(data, fields.get("Content-Type", ""), status)

    def at_simple(self):
        if self.path == f"/simple/{PACKAGE}/":
            return self.give(f'<a href="/packages/{WHEEL}">{WHEEL}</a>',
                             "text/html")
        self.give("no such package", status=404)

    def at_packages(self):
        self.give(wheel(), "application/zip")

    def at_npm(self):
        # Made once, since when it was made is in it.
        tarball = node_package()
        if self.path.endswith(".tgz"):
            return self.give(tarball, "application/octet-stream")
        if self.path == f"/npm/{PACKAGE}":
            return self.give(node_index(self.headers["Host"], tarball),
                             "application/json")
        self.give("{}", "application/json", status=404)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, site, address, port, tls=None):
        self.site, self.tls = site, tls
        self.address_family = family(address)
        super().__init__((address, port), Visit)

    def finish_request(self, request, client_address):
        # In the connection's own thread: a slow handshake holds up nobody.
        if self.tls:
            request = self.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


class Site:
    def __init__(self, folder, login, addresses):
        self.folder, self.login = folder, login
        self.lock = threading.Lock()
        self.log = open(os.path.join(folder, "log"), "a", buffering=1)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(os.path.join(folder, "leaf.pem"),
                            os.path.join(folder, "leaf.key"))
        for address in addresses:
            self.echo(address)
            for port, context in ((80, None), (443, tls)):
                server = Server(self, address, port, context)
                threading.Thread(target=server.serve_forever,
                                 daemon=True).start()

    @staticmethod
    def echo(address):
        s = socket.socket(family(address), socket.SOCK_DGRAM)
        s.bind((address, 7))

        def serve():
            while True:
                s.sendto(*s.recvfrom(65535))
        threading.Thread(target=serve, daemon=True).start()

    def note(self, visit, knows):
        scheme = "https" if visit.server.tls else "http"
        self.log.write(f"{scheme} {visit.command} {visit.headers['Host']} "
                       f"{visit.path} {'knows' if knows else 'stranger'}\n")


def main():
    folder, login = sys.argv[1:3]
    make_certs(folder)
    Site(folder, login, sys.argv[3:])
    # Who waits for this file waits for the servers.
    open(os.path.join(folder, "up"), "w").close()
    threading.Event().wait()


if __name__ == "__main__":
    main()
