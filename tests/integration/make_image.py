#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make_image.py - an image of busybox in an OCI layout, for tests

Usage: make_image.py FOLDER [CONFIG]

CONFIG is JSON, the "config" of the image's configuration. The image has a user
ann, a second layer that takes /gone away, and below /old what a guest changes.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "unit"))
import image_tars as t  # noqa: E402

BUSYBOX = "/bin/busybox"


def layer():
    with open(BUSYBOX, "rb") as f:
        busybox = f.read()
    applets = subprocess.run([BUSYBOX, "--list"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.split()
    return t.tar(
        *[t.folder(n) for n in ("bin", "etc", "old", "old/sub", "usr")],
        t.folder("tmp", mode=0o1777), t.folder("root", mode=0o700),
        t.entry("bin/busybox", busybox, mode=0o755),
        *[t.symlink("bin/" + a, "busybox") for a in applets if a != "busybox"],
        t.entry("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n"
                b"ann:x:1000:1000::/home/ann:/bin/sh\n"),
        t.entry("etc/group", b"root:x:0:\nann:x:1000:\nstaff:x:50:\n"),
        t.entry("etc/hosts", b"10.9.8.7 db\n"),
        t.entry("old/file", b"of the image\n", uid=1000, gid=50, mode=0o640),
        t.entry("old/sub/deep", b"deep\n"), t.link("old/hard", "old/file"),
        t.entry("old/doomed", b"doomed\n"), t.symlink("old/link", "file"),
        t.entry("gone", b"gone\n"))


def main():
    folder = sys.argv[1]
    config = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    os.makedirs(folder, exist_ok=True)
    t.Image(layer(), t.tar(t.entry(".wh.gone")),
            config=config).write_layout(folder)


main()
