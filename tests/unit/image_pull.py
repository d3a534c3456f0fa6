#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hutch image pull against a registry that is honest, and one that is not: it
cuts, stalls, lies about lengths and digests, and sends us elsewhere.

Usage: image_pull.py HUTCH [NAME...]: speaks TAP. From Debian's docker-registry,
which skopeo fills, it pulls as well, by a good wire and by a bad one."""
import base64
import contextlib
import http.server
import json
import os
import re
import select
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import image_tars as t  # noqa: E402

HUTCH = os.path.abspath(sys.argv[1])
LONG_S = 240
USER = "me:pass:word"
tests = []


def test(fn):
    tests.append(fn)
    return fn


class Registry:
    """Serves images; what it does wrong is in self.fault, a function that
    takes the request's handler and body, and says whether it has answered."""

    def __init__(self, host="127.0.0.1"):
        self.blobs, self.tags, self.seen = {}, {}, []
        self.fault = self.challenge = self.token = None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                outer.get(self)

            def handle(self):
                # Who has heard enough hangs up.
                try:
                    super().handle()
                except ConnectionError:
                    pass

        self.server = http.server.ThreadingHTTPServer((host, 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.place = "%s:%d" % (host, self.port)
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def put(self, img, name="a/b", tag="1"):
        for b in img.layers + [img.config_bytes]:
            self.blobs[t.digest(b)] = b
        for k, b in img.blobs.items():
            self.blobs["sha256:" + k.rsplit("/", 1)[1]] = b
        self.put_manifest(img.manifest_bytes, name, tag)

    def put_manifest(self, data, name="a/b", tag="1"):
        media = json.loads(data).get("mediaType", t.INDEX)
        for key in (tag, t.digest(data)):
            self.tags[name + ":" + key] = (data, media)

    def get(self, h):
        path = urllib.parse.urlparse(h.path)
        auth = h.headers.get("Authorization", "")
        self.seen.append((path.path, auth, h.headers.get("Range", ""),
                          urllib.parse.parse_qs(path.query)))
        parts = path.path.split("/")
        if path.path == "/token":
            return self.send(h, 200, t.dump({"token": self.token}))
        if self.token and auth != "Bearer " + self.token or \
                self.challenge and not self.token and auth != "Basic " + \
                base64.b64encode(USER.encode()).decode():
            return self.send(h, 401, b"{}",
                             {"WWW-Authenticate": self.challenge})
        name, kind, what = "/".join(parts[2:-2]), parts[-2], parts[-1]
        found, media = self.tags.get(name + ":" + what, (None, "")) \
            if kind == "manifests" else (self.blobs.get(what), "x/y")
        if found is None:
            return self.send(h, 404, b"{}")
        if self.fault and self.fault(h, kind, found):
            return None
        rng = h.headers.get("Range", "")
        if rng:
            start = int(rng[6:].split("-")[0])
            return self.send(h, 206, found[start:], {
                "Content-Range": "bytes %d-%d/%d" % (
                    start, len(found) - 1, len(found))})
        return self.send(h, 200, found, {"Content-Type": media})

    @staticmethod
    def send(h, status, body, headers=None, length=None):
        h.send_response(status)
        for k, v in (headers or {}).items():
            for one in v if isinstance(v, list) else [v]:
                h.send_header(k, one)
        h.send_header("Content-Length",
                      str(len(body) if length is None else length))
        h.end_headers()
        h.wfile.write(body)
        if length is not None:
            h.close_connection = True


class Box:
    def __init__(self, top):
        self.top = top
        self.images = top + "/s/data/images"
        self.env = dict(os.environ, HUTCH_STATE=top + "/s", HOME=top,
                        LC_ALL="C.UTF-8")
        for k in list(self.env):
            if k.lower().endswith("_proxy") or k == "DOCKER_CONFIG":
                self.env.pop(k)
        # Nobody is to be asked in our place.
        self.env["https_proxy"] = self.env["http_proxy"] = \
            "http://127.0.0.1:9"
        self.regs = []

    def registry(self, *args):
        self.regs.append(Registry(*args))
        return self.regs[-1]

    def run(self, *args):
        return subprocess.run([HUTCH, "image", *args], env=self.env,
                              capture_output=True, timeout=LONG_S,
                              stdin=subprocess.DEVNULL)

    def ok(self, *args):
        p = self.run(*args)
        assert p.returncode == 0, (args, p.stderr)
        return p.stdout.decode()

    def pull(self, reg, name="a/b:1", *opts):
        ref = reg.place + "/" + name
        assert self.ok("pull", *opts, ref) == ref + "\n"
        i = json.loads(self.ok("inspect", "--json", ref))[0]
        tree = self.images + "/id/" + i["id"] + "/tree"
        assert self.left("part") == [] and self.left("tmp") == []
        return i, sorted(os.listdir(tree))

    def left(self, *dirs):
        return sorted(f for d in dirs
                      if os.path.exists(self.images + "/" + d)
                      for f in os.listdir(self.images + "/" + d))

    def refused(self, reg, want, *opts, name="a/b:1", part=0):
        p = self.run("pull", *opts, reg.place + "/" + name)
        said = p.stderr.decode()
        assert p.returncode == 125, (p.returncode, said)
        assert p.stdout == b"" and said.count("\n") == 1, said
        for w in want.split("|"):
            assert w in said, (w, said)
        assert self.left("id", "name", "tmp") == []
        assert len(self.left("part")) == part, self.left("part")


def image():
    big = t.entry("big", os.urandom(300000))
    return t.Image(t.tar(t.entry("f", b"1"), big), t.tar(t.entry("g", b"2")),
                   config={"Cmd": ["x"]}, pack="gzip")


# ---- An honest registry ----

@test
def by_tag_and_by_digest(b):
    reg, img = b.registry(), image()
    reg.put(img)
    i, files = b.pull(reg)
    assert files == ["big", "f", "g"] and i["id"] == img.id and i["cmd"] == ["x"]
    assert i["manifest"] == t.digest(img.manifest_bytes)
    n = len(reg.seen)
    i, _ = b.pull(reg, "a/b@" + t.digest(img.manifest_bytes))
    # What is there is not fetched again.
    assert not any("/blobs/" + t.digest(img.layers[0]) in s[0]
                   for s in reg.seen[n:])
    assert i["names"] == [reg.place + "/a/b:1", reg.place + "/a/b@" +
                          t.digest(img.manifest_bytes)]


@test
def of_several_machines_this_one(b):
    reg, img = b.registry(), image()
    reg.put(img)
    other = t.Image(t.tar(t.entry("no", b"")), architecture="s390x")
    reg.put(other, tag="other")
    reg.put_manifest(t.dump({"schemaVersion": 2, "manifests": [
        t.desc(other.manifest_bytes, t.MANIFEST, platform={
            "os": "linux", "architecture": "s390x"}),
        t.desc(img.manifest_bytes, t.MANIFEST, platform={
            "os": "linux", "architecture": t.ARCH}),
        t.desc(b"{}", t.MANIFEST, platform={
            "os": "unknown", "architecture": "unknown"})]}), tag="all")
    assert b.pull(reg, "a/b:all")[0]["id"] == img.id
    b.ok("rm", reg.place + "/a/b:all")
    b.refused(reg, "s390x", name="a/b:other")
    reg.put_manifest(t.dump({"schemaVersion": 2, "manifests": []}), tag="no")
    b.refused(reg, "no image in it", name="a/b:no")


@test
def debian_is_docker_hub_s_and_it_is_said(b):
    p = b.run("pull", "--max-idle", "1s", "debian")
    assert p.returncode == 125
    said = p.stderr.decode().splitlines()
    assert said[0] == ("hutch: debian is taken as "
                       "docker.io/library/debian:latest"), said
    # By TLS, through the proxy that is not there.
    assert len(said) == 2 and "cannot reach" in said[1], said


@test
def with_a_name_and_a_token(b):
    reg = b.registry()
    reg.put(image())
    reg.token = "tok.en-1"
    reg.challenge = ('Bearer realm="http://%s/token",service="s v",'
                     'scope="repository:a/b:pull"' % reg.place)
    b.pull(reg)
    asked = [s for s in reg.seen if s[0] == "/token"]
    assert len(asked) == 1 and asked[0][1] == "", asked
    assert asked[0][3] == {"service": ["s v"],
                           "scope": ["repository:a/b:pull"]}
    b.ok("prune", "-a")
    b.env["LOGIN"] = USER
    b.pull(reg, "a/b:1", "--creds", "env:LOGIN")
    basic = "Basic " + base64.b64encode(USER.encode()).decode()
    asked = [s for s in reg.seen if s[0] == "/token"]
    assert asked[1][1] == basic
    # The name is for the realm alone.
    assert not any(s[1] == basic for s in reg.seen if s[0] != "/token")


@test
def of_several_challenges_the_best(b):
    reg = b.registry()
    reg.put(image())
    bearer = 'Bearer realm="http://%s/token"' % reg.place
    reg.token = "x"
    for reg.challenge in ([bearer, "Negotiate"], ["Negotiate", bearer],
                          ["Basic realm=x", bearer, bearer + "no"],
                          ["Digest realm=x", bearer, "Basic realm=x"]):
        b.pull(reg)
        b.ok("prune", "-a")
    reg.token, reg.challenge = None, ["Negotiate", "Basic realm=x", "NTLM"]
    b.env["LOGIN"] = USER
    b.pull(reg, "a/b:1", "--creds", "env:LOGIN")


@test
def with_a_name_alone(b):
    reg = b.registry()
    reg.put(image())
    reg.challenge = "Basic realm=x"
    b.refused(reg, "--creds")
    b.env["LOGIN"] = "me:wrong"
    b.refused(reg, "are the credentials right", "--creds", "env:LOGIN")
    b.env["LOGIN"] = USER
    b.pull(reg, "a/b:1", "--creds", "env:LOGIN")
    b.ok("prune", "-a")
    os.mkdir(b.top + "/.docker")

    def docker(doc):
        with open(b.top + "/.docker/config.json", "wb") as f:
            f.write(doc if isinstance(doc, bytes) else t.dump(doc))
    auth = base64.b64encode(USER.encode()).decode()
    docker({"auths": {reg.place: {"auth": auth}}})
    b.pull(reg)
    b.ok("prune", "-a")
    docker({"auths": {"other:1": {"auth": auth}}})
    b.refused(reg, "--creds")
    docker({"auths": {reg.place: {"auth": "%%"}}})
    b.refused(reg, "no right 'auth'")
    docker(b"[")
    b.refused(reg, "config.json")


# ---- A broken one ----

def cut(times, at, stall=False):
    """Cuts the large layer off behind `at` more bytes, so many times; or sends
    no more of it, until whoever waits for it has gone."""
    left = [times]

    def fault(h, kind, body):
        if kind != "blobs" or len(body) < 100000 or not left[0]:
            return False
        left[0] -= 1
        rng = h.headers.get("Range", "")
        start = int(rng[6:].split("-")[0]) if rng else 0
        extra = {"Content-Range": "bytes %d-%d/%d" % (
            start, len(body) - 1, len(body))} if rng else {}
        Registry.send(h, 206 if rng else 200, body[start:start + at], extra,
                      length=len(body) - start)
        if stall:
            h.rfile.read(1)
        return True
    return fault


@test
def what_is_cut_or_stalls_is_gone_on_with(b):
    reg, img = b.registry(), image()
    reg.put(img)
    cuts, stalls = cut(4, 40000), cut(2, 40000, stall=True)
    reg.fault = lambda *a: cuts(*a) or stalls(*a)
    assert b.pull(reg, "a/b:1", "--max-idle", "1s")[1] == ["big", "f", "g"]
    starts = [s[2] for s in reg.seen if t.digest(img.layers[0]) in s[0]]
    assert starts == [""] + ["bytes=%d-" % (i * 40000)
                             for i in range(1, 7)], starts


@test
def and_so_it_is_by_the_next_call(b):
    reg, img = b.registry(), image()
    reg.put(img)
    first = [True]

    def fault(h, kind, body):
        if kind == "blobs" and len(body) > 100000 and first[0]:
            first[0] = False
            return cut(1, 50000)(h, kind, body)
        if not first[0] and kind == "blobs" and len(body) > 100000:
            h.close_connection = True
            return True
        return False
    reg.fault = fault
    b.refused(reg, "broke", part=1)
    reg.fault, reg.seen = None, []
    assert b.pull(reg)[1] == ["big", "f", "g"]
    starts = [s[2] for s in reg.seen if t.digest(img.layers[0]) in s[0]]
    assert starts == ["bytes=50000-"], starts


def gone_on_with(b, reg, img, start):
    reg.fault, reg.seen = None, []
    assert b.pull(reg)[1] == ["big", "f", "g"]
    starts = [s[2] for s in reg.seen if t.digest(img.layers[0]) in s[0]]
    assert starts == start, starts
    b.ok("prune", "-a")


@test
def a_part_stays_when_the_registry_does_not_let_us(b):
    reg, img = b.registry(), image()
    reg.put(img)
    for status, want in ((401, "does not know"), (403, "let us have"),
                         (429, "429"), (500, "HTTP 500"), (404, "has no")):
        once = cut(1, 50000)
        reg.fault = lambda h, kind, body, s=status, once=once: \
            kind == "blobs" and len(body) > 100000 and (
                once(h, kind, body) or Registry.send(h, s, b"") or True)
        b.refused(reg, want, part=1)
        gone_on_with(b, reg, img, ["bytes=50000-"])


@test
def a_part_stays_when_the_registry_goes_away(b):
    reg, img = b.registry(), image()
    reg.put(img)
    once = cut(1, 50000)

    def fault(h, kind, body):
        if kind == "blobs" and len(body) > 100000:
            reg.close()
            return once(h, kind, body)
        return False
    reg.fault = fault
    start = time.monotonic()
    b.refused(reg, "cannot reach", part=1)
    # It is asked again, with a pause before each but the first.
    assert time.monotonic() - start >= 4


@test
def a_layer_stays_that_was_not_unpacked_for_want_of_room(b):
    reg, img = b.registry(), image()
    reg.put(img)
    b.refused(reg, "more than 1 entries", "--max-files", "1", part=1)
    gone_on_with(b, reg, img, [])


@test
def prune_takes_parts(b):
    reg = b.registry()
    reg.put(image())

    def fault(h, kind, body):
        if kind == "blobs" and len(body) > 100000:
            if not h.headers.get("Range"):
                return cut(1, 50000)(h, kind, body)
            h.close_connection = True
            return True
        return False
    reg.fault = fault
    b.refused(reg, "broke", part=1)
    b.ok("prune")
    assert b.left("part") == []


@test
def who_knows_no_ranges_begins_anew(b):
    reg, img = b.registry(), image()
    reg.put(img)
    once = cut(1, 50000)

    def fault(h, kind, body):
        if once(h, kind, body):
            return True
        Registry.send(h, 200, body)
        return True
    reg.fault = fault
    assert b.pull(reg)[1] == ["big", "f", "g"]


@test
def a_part_that_is_not_the_one_asked_for(b):
    reg = b.registry()
    reg.put(image())
    once = cut(1, 50000)

    def fault(h, kind, body):
        if once(h, kind, body):
            return True
        if h.headers.get("Range"):
            Registry.send(h, 206, body[1:], {
                "Content-Range": "bytes 1-%d/%d" % (len(body) - 1,
                                                    len(body))})
            return True
        return False
    reg.fault = fault
    b.refused(reg, "another part")


@test
def a_part_that_others_have_spoilt(b):
    reg, img = b.registry(), image()
    reg.put(img)
    b.ok("prune")
    part = b.images + "/part/" + t.digest(img.layers[0])[7:]
    with open(part, "wb") as f:
        f.write(b"x" * 1000)
    b.refused(reg, "not what it should be")
    # Longer than the whole: begun anew.
    with open(part, "wb") as f:
        f.write(b"x" * 1000000)
    b.pull(reg)


@test
def one_that_stalls_is_given_up(b):
    reg = b.registry()
    reg.put(image())
    done = threading.Event()

    def fault(h, kind, body):
        if kind != "manifests":
            return False
        h.send_response(200)
        h.send_header("Content-Length", "1000")
        h.end_headers()
        h.wfile.write(b"{")
        h.wfile.flush()
        done.wait(LONG_S)
        return True
    reg.fault = fault
    b.refused(reg, "in time", "--max-idle", "1s")
    done.set()


@test
def so_is_a_layer_that_stalls_but_what_came_is_kept(b):
    reg, img = b.registry(), image()
    reg.put(img)
    first, more = cut(1, 50000, stall=True), cut(LONG_S, 0, stall=True)
    reg.fault = lambda *a: first(*a) or more(*a)
    b.refused(reg, "in time", "--max-idle", "1s", part=1)
    reg.fault, reg.seen = None, []
    b.pull(reg)
    starts = [s[2] for s in reg.seen if t.digest(img.layers[0]) in s[0]]
    assert starts == ["bytes=50000-"], starts


@test
def one_that_is_not_there(b):
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    p = b.run("pull", "127.0.0.1:%d/a" % s.getsockname()[1])
    assert p.returncode == 125 and b"cannot reach" in p.stderr, p.stderr


@test
def statuses(b):
    reg = b.registry()
    b.refused(reg, "has no manifests/1")
    reg.put(image())
    for status, want in ((403, "let us have"), (429, "429"), (500, "HTTP 500"),
                         (204, "HTTP 204"), (302, "HTTP 302")):
        reg.fault = lambda h, k, body, s=status: Registry.send(h, s, b"") or \
            True
        b.refused(reg, want)


# ---- A hostile one ----

def instead(kind, change, status=200):
    def fault(h, k, body):
        if k != kind:
            return False
        Registry.send(h, status, change(body))
        return True
    return fault


@test
def digests_that_are_not_as_said(b):
    reg, img = b.registry(), image()
    reg.put(img)
    reg.fault = instead("blobs", lambda d: d[:-1] + bytes([d[-1] ^ 1]))
    b.refused(reg, "not what it should be")
    small = t.digest(img.config_bytes)
    reg.fault = lambda h, k, d: k == "blobs" and t.digest(d) != small and \
        instead("blobs", lambda d: d[:-1] + bytes([d[-1] ^ 1]))(h, k, d)
    b.refused(reg, "not what it should be")
    reg.fault = instead("manifests", lambda d: d + b" ")
    b.refused(reg, "not what it should be",
              name="a/b@" + t.digest(img.manifest_bytes))

    def lie(h, k, d):
        if k != "manifests":
            return False
        Registry.send(h, 200, d, {"Docker-Content-Digest": t.digest(b"")})
        return True
    reg.fault = lie
    b.refused(reg, "not what it should be")


@test
def lengths_that_are_not_as_said(b):
    reg, img = b.registry(), image()
    reg.put(img)
    small = t.digest(img.config_bytes)

    def layers(change):
        return lambda h, k, d: k == "blobs" and t.digest(d) != small and \
            instead("blobs", change)(h, k, d)
    reg.fault = layers(lambda d: d + bytes(1 << 20))
    b.refused(reg, "more bytes than")
    reg.fault = layers(lambda d: d[:-1] if len(d) > 1 else d)
    b.refused(reg, "and should have", part=1)
    b.ok("prune")
    reg.fault = instead("manifests", lambda d: bytes(5 << 20))
    b.refused(reg, "more than 4194304 bytes")
    reg.fault = None
    img.manifest["layers"][0]["size"] = 1 << 40
    img.finish_manifest()
    reg.put(img)
    b.refused(reg, "layers have more than")


@test
def bodies_that_nobody_wants_and_that_do_not_end(b):
    reg = b.registry()
    reg.put(image())

    def endless(status, data, pause):
        def fault(h, kind, body):
            h.send_response(status)
            h.send_header("Connection", "close")
            h.end_headers()
            while True:
                h.wfile.write(data)
                time.sleep(pause)
        return fault
    for status, want in ((404, "has no manifests/1"), (500, "HTTP 500")):
        reg.fault = endless(status, bytes(4096), 0)
        b.refused(reg, want)
        reg.fault = endless(status, b"x", 0.2)
        b.refused(reg, want, "--max-idle", "1s")


@test
def what_it_sends_is_as_hostile_as_a_file(b):
    reg = b.registry()
    reg.put(t.Image(t.tar(t.entry("../x", b""))))
    b.refused(reg, "'../x'|'..'")
    reg.put_manifest(b'{"schemaVersion":1,"mediaType":"x"}')
    b.refused(reg, "schema 1")
    doc = {"schemaVersion": 2, "manifests": []}
    reg.put_manifest(t.dump(doc))
    for _ in range(5):
        data = t.dump(doc)
        reg.put_manifest(data)
        doc = {"schemaVersion": 2, "manifests": [t.desc(data, t.INDEX)]}
    reg.put_manifest(t.dump(doc))
    b.refused(reg, "deep")


@test
def redirects_are_followed_without_a_name(b):
    reg, store, img = b.registry(), b.registry("127.0.0.2"), image()
    reg.put(img)
    store.put(img)
    reg.challenge = "Basic realm=x"
    b.env["LOGIN"] = USER

    def fault(h, kind, body):
        if kind != "blobs":
            return False
        Registry.send(h, 307, b"", {"Location": "http://%s%s" % (
            store.place, h.path)})
        return True
    reg.fault = fault
    b.pull(reg, "a/b:1", "--creds", "env:LOGIN")
    assert store.seen and all(s[1] == "" for s in store.seen), store.seen
    # On one host another port is another place.
    b.ok("prune", "-a")
    store = b.registry()
    store.put(img)
    b.pull(reg, "a/b:1", "--creds", "env:LOGIN")
    assert store.seen and all(s[1] == "" for s in store.seen), store.seen


@test
def where_a_redirect_leads_no_realm_is_believed(b):
    reg, store, img = b.registry(), b.registry("127.0.0.2"), image()
    reg.put(img)
    store.put(img)
    store.token = "x"
    store.challenge = 'Bearer realm="http://%s/token"' % store.place
    b.env["LOGIN"] = USER
    reg.fault = lambda h, kind, body: kind == "blobs" and redirect(
        lambda h: "http://%s%s" % (store.place, h.path))(h, kind, body)
    b.refused(reg, "does not let us have", "--creds", "env:LOGIN")
    assert len(store.seen) == 1 and store.seen[0][1] == "", store.seen


def redirect(where):
    def fault(h, kind, body):
        Registry.send(h, 302, b"", {"Location": where(h)})
        return True
    return fault


@test
def redirects_that_are_none_of_ours(b):
    reg = b.registry()
    reg.put(image())
    reg.fault = redirect(lambda h: h.path)
    b.refused(reg, "on and on")
    assert len(reg.seen) == 6, len(reg.seen)
    for where, want in (("http://192.0.2.1/x", "TLS"),
                        ("file:///etc/passwd", "http"),
                        ("ftp://127.0.0.1/x", "TLS"),
                        ("http://u:p@127.0.0.1/x", "user"),
                        ("http://[", "no URL"),
                        ("http://127.0.0.1@192.0.2.1/", "user"),
                        ("http://127.0.0.1.example/", "TLS")):
        reg.fault = redirect(lambda h, w=where: w)
        p = b.run("pull", reg.place + "/a/b:1")
        assert p.returncode == 125 and p.stderr.count(b"\n") == 1, p.stderr
        assert want.encode() in p.stderr or b"URL" in p.stderr, p.stderr
    assert b.left("id", "name", "tmp", "part") == []


@test
def challenges_that_are_none(b):
    reg = b.registry()
    reg.put(image())
    reg.token = "x"
    for bad, want in (("", "does not know"), ("Digest realm=x", "know"),
                      ("Bearer", "know"), ("Bearer service=x", "no known way"),
                      ('Bearer realm="x', "no known way"),
                      ("Bearer realm=http://192.0.2.1/t", "no known way"),
                      ('Bearer realm="http://192.0.2.1/t"', "TLS"),
                      ('Bearer realm="file:///etc/passwd"', "tokens"),
                      ('Bearer realm="http://%s/none"' % reg.place,
                       "no token")):
        reg.challenge = bad
        b.refused(reg, want)
    reg.challenge = 'Bearer realm="http://%s/token"' % reg.place
    for bad in ("a b", "a\nX: y", "", "t" * 20000, 5, None):
        reg.token = bad or ""
        real = reg.get
        reg.server.RequestHandlerClass.do_GET = \
            lambda h: Registry.send(h, 200, t.dump({"token": bad})) \
            if h.path.startswith("/token") else Registry.send(
                h, 401, b"", {"WWW-Authenticate": reg.challenge})
        b.refused(reg, "token")
        reg.server.RequestHandlerClass.do_GET = lambda h: real(h)


@test
def only_this_machine_without_tls(b):
    p = b.run("pull", "--max-idle", "1s", "192.0.2.1:5000/a")
    assert p.returncode == 125, p.stderr
    # It was asked by TLS, which means by the proxy here.
    assert b"cannot reach" in p.stderr, p.stderr


# ---- By TLS ----

class Wire(threading.Thread):
    """Each connection leads to one port of this machine."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.to = port
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                c = self.sock.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(c,),
                             daemon=True).start()

    def serve(self, c):
        """Until either end has gone."""
        seen = 0
        s = socket.create_connection(("127.0.0.1", self.to))
        with c, s:
            try:
                while True:
                    a = select.select([c, s], [], [])[0][0]
                    data = a.recv(65536)
                    if not data:
                        return
                    if a is c:
                        s.sendall(self.there(data))
                    else:
                        c.sendall(self.back(c, seen, data))
                        seen += len(data)
            except OSError:
                pass

    def there(self, data):
        return data

    def back(self, c, seen, data):
        """What to send instead of data, which comes behind `seen` bytes."""
        return data


class Tunnel(Wire):
    """A proxy by which every name leads to one port."""

    def __init__(self, port):
        self.asked, self.more = [], b""
        super().__init__(port)

    def serve(self, c):
        head = b""
        while b"\r\n\r\n" not in head:
            got = c.recv(1)
            if not got:
                return
            head += got
        self.asked.append(head.split()[1].decode())
        c.sendall(b"HTTP/1.1 200 OK\r\n" + self.more + b"\r\n")
        super().serve(c)


class BadWire(Wire):
    """Knows nothing of HTTP: what is next in self.todo, (how, at), happens to
    the first connection that brings more than `at` bytes."""

    def __init__(self, port):
        self.todo, self.asked = [], b""
        super().__init__(port)

    def there(self, data):
        self.asked += data
        return data

    def back(self, c, seen, data):
        if not self.todo or seen + len(data) <= self.todo[0][1]:
            return data
        how, at = self.todo.pop(0)
        at = max(at - seen, 0)
        if how == "lie":
            return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
        c.sendall(data[:at])
        if how == "stall":
            # Until whoever waits has gone.
            c.recv(1)
        elif how == "reset":
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         struct.pack("ii", 1, 0))
        raise ConnectionAbortedError(how)


@test
def by_tls(b):
    cert, key = b.top + "/cert", b.top + "/key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj",
                    "/CN=reg.example", "-addext",
                    "subjectAltName=DNS:reg.example"],
                   check=True, capture_output=True)
    reg, plain = b.registry(), b.registry()
    img = image()
    reg.put(img)
    plain.put(img)
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(cert, key)
    reg.server.socket = ctx.wrap_socket(reg.server.socket, server_side=True)
    way = Tunnel(reg.port)
    b.env["https_proxy"] = "http://127.0.0.1:%d" % way.port
    b.env["LOGIN"] = USER

    def refused(want, ref="reg.example/a/b:1"):
        p = b.run("pull", "--creds", "env:LOGIN", ref)
        assert p.returncode == 125 and p.stderr.count(b"\n") == 1, p.stderr
        assert want.encode() in p.stderr, (want, p.stderr)
    # Nobody vouches for it; then somebody does, but for another name.
    refused("certificate")
    b.env["SSL_CERT_FILE"] = cert
    refused("certificate", "other.example/a/b:1")
    assert reg.seen == []
    # From there nothing leads to where there is no TLS, nor to ourselves.
    for where in ("http://%s/x" % plain.place, "http://reg.example/x",
                  "https://127.0.0.1:1/x"):
        reg.fault = redirect(lambda h, w=where: w)
        p = b.run("pull", "reg.example/a/b:1")
        assert p.returncode == 125, p.stderr
        assert b"less safe" in p.stderr or b"TLS" in p.stderr, p.stderr
    reg.fault = None
    reg.token = "x"
    reg.challenge = 'Bearer realm="http://%s/token"' % plain.place
    refused("less safe")
    assert plain.seen == []
    reg.challenge = 'Bearer realm="https://reg.example/token",service="s"'
    assert b.ok("pull", "--creds", "env:LOGIN", "reg.example/a/b:1")
    assert set(way.asked) == {"reg.example:443", "other.example:443"}
    # What the proxy says in plain is not taken for what the registry says.
    way.more = (b'WWW-Authenticate: Bearer realm="https://evil.example/t"\r\n'
                b"Location: https://evil.example/\r\n")
    b.ok("prune", "-a")
    reg.token = reg.challenge = None
    reg.fault = lambda h, k, body: Registry.send(h, 401, b"") or True
    way.asked = []
    refused("does not know")
    assert set(way.asked) == {"reg.example:443"}, way.asked
    way.sock.close()


# ---- A real one ----

@contextlib.contextmanager
def debian_s_registry(b, img):
    """Debian's, with img as x/y:z. Yields its port."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    conf = b.top + "/registry.yml"
    with open(conf, "w") as f:
        json.dump({"version": 0.1, "http": {"addr": "127.0.0.1:%d" % port},
                   "log": {"level": "error"}, "storage": {
                       "filesystem": {"rootdirectory": b.top + "/reg"}}}, f)
    p = subprocess.Popen(["docker-registry", "serve", conf],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        layout = img.write_layout(b.top + "/layout")
        for _ in range(600):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            try:
                p.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        subprocess.run(["skopeo", "--insecure-policy", "copy", "-q",
                        "--dest-tls-verify=false", "oci:" + layout,
                        "docker://127.0.0.1:%d/x/y:z" % port], check=True,
                       env=dict(os.environ, HOME=b.top))
        yield port
    finally:
        p.terminate()
        p.wait()


@test
def from_debian_s_registry(b):
    img = image()
    with debian_s_registry(b, img) as port:
        ref = "localhost:%d/x/y:z" % port
        b.ok("pull", ref)
        i = json.loads(b.ok("inspect", "--json", ref))[0]
        assert i["id"] == img.id, i


@test
def from_debian_s_registry_by_a_bad_wire(b):
    img = image()
    with debian_s_registry(b, img) as port:
        wire = BadWire(port)
        ref = "localhost:%d/x/y:z" % wire.port
        wire.todo = [("cut", 100000), ("reset", 50000), ("stall", 50000)]
        b.ok("pull", "--max-idle", "1s", ref)
        assert wire.todo == []
        i = json.loads(b.ok("inspect", "--json", ref))[0]
        assert i["id"] == img.id, i
        # It went on each time; of what was reset, all or nothing may come.
        starts = [int(n) for n in re.findall(rb"Range: bytes=(\d+)-",
                                             wire.asked)]
        assert len(starts) == 3 and starts == sorted(starts), starts
        assert starts[0] > 90000 and starts[2] > starts[0] + 40000, starts
        b.ok("prune", "-a")
        wire.todo = [("lie", 100000)]
        p = b.run("pull", ref)
        assert p.returncode == 125 and wire.todo == [], p
        assert b"not what it should be" in p.stderr, p.stderr
        assert b.left("id", "name", "tmp", "part") == []
        wire.sock.close()


def main():
    only = sys.argv[2:]
    todo = [f for f in tests if not only or f.__name__ in only]
    failed = 0
    print("1..%d" % len(todo), flush=True)
    for i, fn in enumerate(todo, 1):
        top = tempfile.mkdtemp(prefix="hutch-pull-", dir=os.getcwd())
        b = Box(top)
        try:
            fn(b)
            print("ok %d - %s" % (i, fn.__name__), flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print("not ok %d - %s" % (i, fn.__name__), flush=True)
        finally:
            for r in b.regs:
                r.close()
            shutil.rmtree(top)
    return 1 if failed else 0


sys.exit(main())
