#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names.py - what a name may lead to: hutch-net, tried by a table

Usage: names.py TAPWIRE HUTCH-NET [NAME...]

What each name of the first table resolves to in a guest, and how each connection
of the second ends. The parts have tables of their own in tests/unit. Speaks TAP;
needs root and /dev/net/tun (world.py).
"""
import errno
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import program  # noqa: E402
import world  # noqa: E402
from program import hello, resolve, talk  # noqa: E402
from world import Internet  # noqa: E402

PUBLIC, PUBLIC6, WEB = Internet.ADDR4, Internet.ADDR6, Internet.WEB4
BELOW = ".example.org"
# On the wire that is 255 bytes, the most that there is; and one more.
LONGEST = ".".join(["a" * 63] * 3 + ["b" * (253 - 3 * 64 - len(BELOW))]) + BELOW
TOO_LONG = "b" + LONGEST
RULES = {"rules": [
    {"intercept": "web.example.org", "inject": [
        {"path": "/v1/", "set": {"X-Token": program.SECRET}}]},
    {"deny": "denied.example.org"},
    {"allow": "*.example.org"},
    {"allow": "b\u00fccher.example"},
    {"allow": "inner.example", "private": True}]}
INTERNET = {"rules": [{"deny": "denied.example.org"}, {"allow": "internet"}]}
NXDOMAIN, FORMERR = 3, 1

# What the resolver outside says.
OUTSIDE = {
    "to-loopback.example.org": ("127.0.0.1", "::1"),
    "to-metadata.example.org": ("169.254.169.254", "fd00:ec2::254"),
    "to-private.example.org": ("10.0.0.2", "fd00::1"),
    "to-host.example.org": (world.HOST4, world.HOST6),
    "to-mapped.example.org": (None, "::ffff:127.0.0.1"),
    "to-mapped-public.example.org": (None, "::ffff:" + PUBLIC),
    "to-nat64.example.org": (None, "64:ff9b::7f00:1"),
    "inner.example": ("10.0.0.1", None),
    "inner-loopback.example.org": "to-loopback.example.org",
    "alias.example.org": "cdn.example.net",
    "cdn.example.net": (PUBLIC, None),
    "alias-of-denied.example.org": "denied.example.org",
    "denied.example.org": (PUBLIC, None),
    "xn--bcher-kva.example": (PUBLIC, None),
    LONGEST: (PUBLIC, None),
    TOO_LONG: (PUBLIC, None),
}

# Name, type, policy, and what the guest is told.
RESOLVED = (
    ("api.example.org", 1, RULES, (0, [PUBLIC])),
    ("API.Example.ORG", 28, RULES, (0, [PUBLIC6])),
    ("api.example.org.", 1, RULES, (0, [PUBLIC])),
    ("xn--bcher-kva.example", 1, RULES, (0, [PUBLIC])),
    (LONGEST, 1, RULES, (0, [PUBLIC])),
    ("alias.example.org", 1, RULES, (0, [PUBLIC])),
    # Of what is not public by itself: only where the rule says so.
    ("inner.example", 1, RULES, (0, ["10.0.0.1"])),
    ("to-loopback.example.org", 1, RULES, (0, 0)),
    ("to-loopback.example.org", 28, RULES, (0, 0)),
    ("to-loopback.example.org", 1, INTERNET, (0, 0)),
    ("to-metadata.example.org", 1, RULES, (0, 0)),
    ("to-metadata.example.org", 28, RULES, (0, 0)),
    ("to-metadata.example.org", 1, INTERNET, (0, 0)),
    ("to-private.example.org", 1, RULES, (0, 0)),
    ("to-private.example.org", 28, INTERNET, (0, 0)),
    ("to-host.example.org", 1, RULES, (0, 0)),
    ("to-host.example.org", 28, INTERNET, (0, 0)),
    ("to-mapped.example.org", 28, RULES, (0, 0)),
    ("to-mapped-public.example.org", 28, RULES, (0, 0)),
    ("to-nat64.example.org", 28, INTERNET, (0, 0)),
    ("inner-loopback.example.org", 1, RULES, (0, 0)),
    # Denied, and by another name.
    ("denied.example.org", 1, RULES, (NXDOMAIN, 0)),
    ("DENIED.example.org.", 1, INTERNET, (NXDOMAIN, 0)),
    ("alias-of-denied.example.org", 1, RULES, (NXDOMAIN, 0)),
    ("alias-of-denied.example.org", 1, INTERNET, (NXDOMAIN, 0)),
    # Nobody's names: these are not what they look like.
    ("example.org", 1, RULES, (NXDOMAIN, 0)),
    ("cdn.example.net", 1, RULES, (NXDOMAIN, 0)),
    ("api.example.org.evil.example", 1, RULES, (NXDOMAIN, 0)),
    ("api%2eexample.example.org", 1, RULES, (NXDOMAIN, 0)),
    ("b\u00fccher.example", 1, RULES, (NXDOMAIN, 0)),
    ("127.0.0.1", 1, INTERNET, (NXDOMAIN, 0)),
    ("0x7f000001", 1, INTERNET, (NXDOMAIN, 0)),
    ("2130706433", 1, INTERNET, (NXDOMAIN, 0)),
    (TOO_LONG, 1, RULES, (FORMERR, 0)),
)

# Name that is asked for first, address, port, what is said, how it ends.
RESET, REFUSED = errno.ECONNRESET, errno.ECONNREFUSED
CONNECTED = (
    ("api.example.org", PUBLIC, 443, "api.example.org", 0),
    ("api.example.org", PUBLIC, 443, "API.EXAMPLE.ORG", 0),
    ("api.example.org", PUBLIC6, 443, "api.example.org", 0),
    ("xn--bcher-kva.example", PUBLIC, 443, "xn--bcher-kva.example", 0),
    # Other names than those of the address, and none.
    ("api.example.org", PUBLIC, 443, "other.example.org", RESET),
    ("api.example.org", PUBLIC, 443, "denied.example.org", RESET),
    ("api.example.org", PUBLIC, 443, "cdn.example.net", RESET),
    ("alias.example.org", PUBLIC, 443, "cdn.example.net", RESET),
    ("api.example.org", PUBLIC, 443, PUBLIC, RESET),
    ("api.example.org", PUBLIC, 443, "api%2eexample.org", RESET),
    ("api.example.org", PUBLIC, 443, "b\u00fccher.example", RESET),
    # Literals that no name led to.
    ("api.example.org", Internet.OTHER4, 443, "api.example.org", REFUSED),
    ("to-host.example.org", world.HOST4, 443, "to-host.example.org", REFUSED),
    ("to-host.example.org", world.HOST6, 443, "to-host.example.org", REFUSED),
    ("to-metadata.example.org", "169.254.169.254", 80,
     "to-metadata.example.org", REFUSED),
    ("to-private.example.org", "10.0.0.2", 443, "to-private.example.org",
     REFUSED),
)


def resolved(k, rows):
    wrong = [(name[:40], kind, want, got) for name, kind, _, want in rows
             if (got := k.run(resolve, name, kind)) != want]
    assert not wrong, wrong


def connected(k):
    wrong = []
    for asked, addr, port, sni, want in CONNECTED:
        k.run(resolve, asked)
        k.run(resolve, asked, 28)
        got = k.run(talk, addr, port, hello(sni))
        if got != want:
            wrong.append((asked, addr, sni, want, got))
    assert not wrong, wrong


def flips(k):
    """The second answer is another: no way there, and the first one stays."""
    assert k.run(resolve, "inner.example") == (0, ["10.0.0.1"])
    assert k.run(resolve, "web.example.org") == (0, [WEB])
    assert k.run(talk, world.HOST4, 443, hello("web.example.org")) == REFUSED


def host_is_the_sni(k):
    """Inside of what is terminated, a request is for that name alone."""
    k.run(resolve, "web.example.org")
    ca = k.first["ca"]
    for host, want in (("web.example.org", 200), ("WEB.example.org", 200),
                       ("web.example.org.", 200), ("web.example.org:443", 200),
                       ("api.example.org", 421), ("denied.example.org", 421),
                       ("web%2eexample.org", 400), ("127.0.0.1", 400),
                       (PUBLIC, 400), ("[::1]", 400), ("x" * 256, 400)):
        got = k.run(asks_as, WEB, 443, host, ca)
        assert got == want, (host, want, got)
    for host, want in (("web.example.org", 200), ("denied.example.org", 403),
                       ("api.example.org", 403), (WEB, 400)):
        got = k.run(asks_as, WEB, 80, host, None)
        assert got == want, (host, want, got)


def asks_as(addr, port, host, ca):
    """The status of a request at web.example.org that says another Host."""
    import http.client
    import socket
    import ssl
    s = socket.create_connection((addr, port), 60)
    if ca:
        tls = ssl.create_default_context(cadata=ca)
        s = tls.wrap_socket(s, server_hostname="web.example.org")
    s.sendall(b"GET /other HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
    r = http.client.HTTPResponse(s)
    r.begin()
    return r.status


def tests(tap, only, wire, net):
    def run(name, *args):
        if not only or any(o in name for o in only):
            tap.run(name, *args)

    for what, policy in (("names", RULES), ("the Internet", INTERNET)):
        k = program.Keeper(wire, net, policy)
        run(f"{what}: what is resolved", resolved, k,
            [row for row in RESOLVED if row[2] is policy])
        if policy is RULES:
            run(f"{what}: what is connected", connected, k)
            run(f"{what}: a name that changes", flips, k)
            run(f"{what}: Host and SNI agree", host_is_the_sni, k)
        run(f"{what}: its end", k.end)


if __name__ == "__main__":
    program.NAMES.update(OUTSIDE)
    program.play(tests)
