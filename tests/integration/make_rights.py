#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make_rights.py - an image of files that let somebody do something, for tests

Usage: make_rights.py FOLDER TOOL

TOOL is tests/integration/guest_rights.c, which knows what is in it.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "unit"))
import image_tars as t  # noqa: E402

# VFS_CAP_REVISION_2, effective; CAP_NET_RAW permitted; nothing inherited.
CAP = "\x01\0\0\x02" + "\0\x20\0\0" + "\0" * 12
ACL = "user::rw-,user:1000:rw-,group::r--,mask::rw-,other::---"
DEFAULT = "user::rwx,user:1000:r-x,group::r-x,mask::rwx,other::---"
XATTRS = {"SCHILY.xattr.user.mine": "m", "SCHILY.xattr.trusted.t": "t",
          "mtime": "1000000000.123456789"}


def sparse():
    """64 MiB of which one block is there, as GNU tar writes it."""
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/sparse", "wb") as f:
            f.seek(32 << 20)
            f.write(b"data")
            f.truncate(64 << 20)
        return subprocess.run(
            ["tar", "-C", d, "--sparse", "--format=pax", "--owner=0",
             "--group=0", "-cf-", "sparse"], check=True,
            stdout=subprocess.PIPE).stdout


def layer(tool):
    def program(name, mode, **pax):
        return t.entry(name, tool, mode=mode, gid=50,
                       pax_headers=dict(XATTRS, **pax))
    return t.tar(
        program("tool", 0o755), program("plain", 0o755),
        program("suid", 0o4755), program("sgid", 0o2755),
        program("cap", 0o755, **{"SCHILY.xattr.security.capability": CAP}),
        t.entry("acl", b"acl\n", mode=0o660,
                pax_headers=dict(XATTRS, **{"SCHILY.acl.access": ACL})),
        t.folder("dir", mode=0o2775, gid=50,
                 pax_headers={"SCHILY.acl.default": DEFAULT}),
        t.entry("dir/in", b"in\n"),
        t.entry("one", b"one\n"), t.link("two", "one"))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    with open(sys.argv[2], "rb") as f:
        t.Image(layer(f.read()), sparse()).write_layout(folder)


main()
