#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clients.py - curl, git, pip and npm through hutch-net, and large bodies

Usage: clients.py TAPWIRE HUTCH-NET [NAME...]

The clients are this machine's, in the guest's namespace; one that is not here is
not tried. Speaks TAP; needs root and /dev/net/tun (world.py).
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import native  # noqa: E402
import program  # noqa: E402
import services  # noqa: E402
import visitor  # noqa: E402
import world  # noqa: E402
from native import MIB  # noqa: E402
from world import Internet  # noqa: E402

LOGIN = "Basic aHV0Y2g6aHVudGVyMg=="
KNOWN, REFUSES = {"set": {"Authorization": LOGIN}}, {"refuse": True}
PRIVATE = [{"path": "/private/", **KNOWN}]
POLICY = {"rules": [
    {"deny": "denied.example.org"},
    {"intercept": "site.example.org", "inject": PRIVATE},
    {"intercept": "git.example.org", "inject": [
        {"path": "/git/app.git/git-receive-pack", **REFUSES},
        {"path": "/git/app.git/", **KNOWN}]},
    {"intercept": "pypi.example.org", "inject": [KNOWN]},
    {"intercept": "npm.example.org", "inject": [KNOWN]},
    {"allow": "open.example.org"}]}
BULK = native.BULK
FOLDER = program.CERTS


def have(*words):
    try:
        return subprocess.run(words, capture_output=True).returncode == 0
    except OSError:
        return False


# ---- Programs in the guest ----

class Home:
    """Where the guest's programs find what they need, and leave what they get."""

    def __init__(self, k):
        self.k = k
        self.dir = tempfile.mkdtemp(dir=FOLDER)
        ca = os.path.join(self.dir, "ca.pem")
        with open(ca, "w") as f:
            f.write(k.first["ca"])
        with open(os.path.join(self.dir, "resolv.conf"), "w") as f:
            f.write(f"nameserver {world.GATEWAY4}\n")
        # As the agent sets them: guest-agent/trust.c.
        self.env = {"PATH": os.environ["PATH"], "HOME": self.dir,
                    "LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0",
                    **dict.fromkeys((
                        "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE",
                        "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
                        "CURL_CA_BUNDLE"), ca),
                    # A machine's own may say which CAs there are.
                    "NPM_CONFIG_GLOBALCONFIG": os.devnull}

    def run(self, *words):
        """The exit code, and all that it said."""
        p = subprocess.run(
            ["nsenter", f"--net=/proc/{self.k.wire.pid}/ns/net", "unshare",
             "-m", "sh", "-c", "mount --bind resolv.conf /etc/resolv.conf &&"
             ' exec "$@"', "sh", *words], cwd=self.dir, env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=300)
        return p.returncode, p.stdout

    def good(self, *words):
        code, out = self.run(*words)
        assert code == 0, (words, code, out)
        return out

    def bad(self, sentence, *words):
        code, out = self.run(*words)
        assert code != 0 and sentence in out, (words, code, out)

    def visit(self, *steps):
        return self.good(sys.executable, visitor.__file__, *(
            ",".join(map(str, step)) for step in steps))

    def read(self, *path):
        with open(os.path.join(self.dir, *path)) as f:
            return f.read()


def seen():
    """What the servers were asked since the last time."""
    with open(os.path.join(FOLDER, "log"), "r+") as f:
        lines = f.read().splitlines()
        f.truncate(0)
    return lines


def curl(h):
    seen()
    at = "https://site.example.org"
    assert h.good("curl", "-sS", at + "/open/x") == "welcome\n"
    assert h.good("curl", "-sS", at + "/private/x") == "welcome\n"
    assert h.good("curl", "-sS", "-o", os.devnull, "-w", "%{http_code}",
                  at + "/privat%65/x") == "400"
    assert seen() == ["https GET site.example.org /open/x stranger",
                      "https GET site.example.org /private/x knows"]
    h.bad("Could not resolve host", "curl", "-sS", "https://denied.example.org")
    h.bad("onnect to 93.184.215.99", "curl", "-sS", "http://93.184.215.99/")
    # End to end, by the CA that both of them have.
    at, ca = "https://open.example.org/open/x", os.path.join(FOLDER, "ca.pem")
    assert h.good("curl", "-sS", "--cacert", ca, at) == "welcome\n"
    h.bad("certificate", "curl", "-sS", at)


def git(h):
    seen()
    h.good("git", "clone", "-q", "https://git.example.org/git/app.git", "app")
    assert h.read("app", "README") == "by git\n"
    asked = seen()
    assert asked and all(line.endswith(" knows") for line in asked), asked
    assert LOGIN.split()[1] not in h.good("git", "-C", "app", "config", "-l")
    h.bad("error: 403", "git", "-C", "app", "push", "-q", "origin",
          "HEAD:refs/heads/other")
    assert not [line for line in seen() if " POST " in line]
    h.bad("Could not resolve host", "git", "clone", "-q",
          "https://denied.example.org/git/app.git", "other")


def pip(h):
    seen()
    at = ["--no-cache-dir", "--disable-pip-version-check", "--retries", "1",
          "--target", "lib", "--index-url"]
    h.good(sys.executable, "-m", "pip", "install", "-q", *at,
           "https://pypi.example.org/simple/", services.PACKAGE)
    assert "by pip" in h.read("lib", services.PACKAGE + ".py")
    asked = seen()
    assert len(asked) >= 2 and all(" knows" in line for line in asked), asked
    h.bad("Name or service not known", sys.executable, "-m", "pip", "install",
          *at, "https://denied.example.org/simple/", services.PACKAGE)


def npm(h):
    seen()
    at = ["--no-audit", "--no-fund", "--no-update-notifier", "--registry"]
    h.good("npm", "install", *at, "https://npm.example.org/npm/",
           services.PACKAGE)
    assert "by npm" in h.read("node_modules", services.PACKAGE, "index.js")
    asked = seen()
    assert len(asked) >= 2 and all(" knows" in line for line in asked), asked
    h.bad("ENOTFOUND", "npm", "install", *at, "https://denied.example.org/npm/",
          "other")


def nothing_is_known(h):
    """The credential is in no file of the guest's; and what is denied is told."""
    code, out = h.run("grep", "-rlF", LOGIN.split()[1], ".")
    assert (code, out) == (1, ""), out
    h.k.ask({"show": True})
    names = {e["name"] for e in h.k.events}
    assert "denied.example.org" in names, names
    assert LOGIN.split()[1] not in json.dumps(h.k.events)


# ---- Sizes ----

def flat(h, step, host, size):
    h.visit((step, host, 443, MIB))
    before = h.k.rss()
    h.visit((step, host, 443, size))
    after = h.k.rss()
    assert after < before + native.FLAT_KIB, f"from {before} to {after} KiB"


def many(h, host, port, n):
    before = h.k.n_fds()
    h.visit(("parallel", host, port, n))
    native.settles(lambda: h.k.n_fds() <= before + 8)


def tests(tap, only, wire, net):
    def run(name, *args):
        if not only or any(o in name for o in only):
            tap.run(name, *args)

    k = program.Keeper(wire, net, POLICY)
    h = Home(k)
    for client, *there in ((curl, "curl", "--version"),
                           (git, "git", "--version"),
                           (pip, sys.executable, "-m", "pip", "--version"),
                           (npm, "npm", "--version")):
        if have(*there):
            run(client.__name__, client, h)
        else:
            print(f"# {client.__name__} is not here, and not tried")
    run("what the guest knows", nothing_is_known, h)

    site, plain = "site.example.org", "open.example.org"
    run("keep-alive", h.visit, ("keepalive", site, 443, 100),
        ("keepalive", plain, 80, 100))
    run("WebSocket", h.visit, ("websocket", site, 443),
        ("websocket", site, 80), ("websocket", plain, 80))
    run("half-close", h.visit, ("half_close", site, 80),
        ("half_close", plain, 80))
    run("a slow reader", h.visit, ("down", site, 443, 4 * MIB, 0.02))
    run("intercepted: chunks down, flat memory", flat, h, "down", site, BULK)
    run("intercepted: chunks up, flat memory", flat, h, "up", site, BULK)
    run("200 intercepted in parallel", many, h, site, 443, 200)
    run("1000 in parallel", many, h, plain, 80, 1000)
    run("its end", k.end)


def internet():
    program.serve_dns()
    services.Site(FOLDER, LOGIN, [Internet.WEB4, Internet.OTHER4])


if __name__ == "__main__":
    program.NAMES.update(dict.fromkeys(services.NAMES,
                                       (Internet.WEB4, None)))
    # Of its own: what is no TLS is intercepted for any name of an address.
    program.NAMES["open.example.org"] = (Internet.OTHER4, None)
    program.play(tests, certs=services.NAMES, serve=internet)
