#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hutch image build with a stand-in for mmdebstrap: what it is asked for, what
becomes of what it makes, and that nothing stays when it fails or is killed.

Usage: image_build.py HUTCH [NAME...]: speaks TAP. With HUTCH_LONG set the real
one builds as well, twice."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import image_tars as t  # noqa: E402

HUTCH = os.path.abspath(sys.argv[1])
LONG_S = 240
tests = []

STATUS = b"""Package: zlib1g
Status: install ok installed
Architecture: amd64
Version: 1:1.2.13

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: apt
Status: hold ok installed
Architecture: amd64
Version: 2.6
"""

# Says what it was asked, and then does what $DO in its folder says.
FAKE = r"""#!/bin/sh
top=%s
for a; do printf '%%s\n' "$a"; done >>"$top/args"
echo >>"$top/args"
for a; do
	case $a in
	--simulate)
		[ ! -e "$top/no-lists" ] || { cat "$top/no-lists" >&2; exit 25; }
		mkdir -p /media/lists/var/lib/apt/lists
		cp "$top"/*Release /media/lists/var/lib/apt/lists/
		exit 0
		;;
	esac
done
echo "epoch $SOURCE_DATE_EPOCH" >>"$top/args"
. "$top/do"
"""


def test(fn):
    tests.append(fn)
    return fn


def long_test(fn):
    """One that there is with HUTCH_LONG set alone."""
    return test(fn) if os.environ.get("HUTCH_LONG") else fn


class Box:
    """A store of its own, and a folder with a mmdebstrap of ours."""

    def __init__(self, top):
        self.top = top
        self.images = top + "/s/data/images"
        self.env = dict(os.environ, HUTCH_STATE=top + "/s", LC_ALL="C.UTF-8",
                        PATH=top + ":" + os.environ["PATH"])
        self.write("mmdebstrap", FAKE % top)
        os.chmod(top + "/mmdebstrap", 0o755)
        self.write("a_InRelease", "Origin: x\nDate: Sat, 11 Jul 2026 10:16:37 UTC\n")
        self.write("b_Release", "Date: Sat, 28 Nov 2026 14:09:31 UTC\n")
        self.tar(t.folder("var"), t.folder("var/lib"), t.folder("var/lib/dpkg"),
                 t.entry("var/lib/dpkg/status", STATUS))
        self.write("do", 'cat "$top/root.tar"\n')
        # An ordinary user's root in there has no right to what is private.
        os.chmod(top, 0o755)

    def write(self, name, text):
        with open(self.top + "/" + name, "w", encoding="utf-8",
                  errors="surrogateescape") as f:
            f.write(text)

    def tar(self, *entries):
        with open(self.top + "/root.tar", "wb") as f:
            f.write(t.tar(*entries))

    def run(self, *args, **more):
        return subprocess.run([HUTCH, "image", *args], env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LONG_S, **more)

    def ok(self, *args):
        p = self.run(*args)
        assert p.returncode == 0, (args, p.stderr)
        return p.stdout.decode()

    def info(self, name):
        return json.loads(self.ok("inspect", "--json", name))[0]

    def asked(self):
        """What mmdebstrap was asked, run by run."""
        with open(self.top + "/args") as f:
            runs = f.read().split("\n\n")
        os.unlink(self.top + "/args")
        return [r.split("\n") for r in runs]

    def left(self):
        return sorted(f for d in ("id", "name", "tmp")
                      if os.path.exists(self.images + "/" + d)
                      for f in os.listdir(self.images + "/" + d))

    def refused(self, want, *args, **more):
        """One sentence of ours, the last; nothing stays. Return: all of it"""
        before = self.left()
        p = self.run("build", *args, **more)
        said = p.stderr.decode()
        assert p.returncode == 125, (p.returncode, said)
        assert p.stdout == b"", p.stdout
        assert said.count("hutch: ") == 1, said
        assert said.rstrip("\n").split("\n")[-1].startswith("hutch: "), said
        for w in want.split("|"):
            assert w in said, (w, said)
        assert self.left() == before, self.left()
        return said


@test
def what_mmdebstrap_makes_is_the_image(b):
    assert b.ok("build", "debian") == "debian\n"
    i = b.info("debian:latest")
    assert i["packages"] == ["apt:amd64=2.6", "zlib1g:amd64=1:1.2.13"], i
    assert i["cmd"] == ["bash"]
    assert i["env"][0].startswith("PATH=/usr/local/sbin:")
    assert i["env"][1:] == ["LANG=C.UTF-8"]
    assert i["labels"] == {"org.opencontainers.image.title": "debian",
                           "org.opencontainers.image.version": "bookworm"}
    first, second, rest = b.asked()
    include = "--include=python3,git,curl,ca-certificates"
    assert include in first and include in second
    assert first[-3:] == ["--", "bookworm", "/media/lists"], first
    assert second[-3:] == ["--", "bookworm", "-"], second
    # The newest list's date.
    assert rest[0] == "epoch 1795874971", rest
    # The same once more is the same image; a plain import of it is not.
    b.ok("build", "debian", "again:1")
    assert b.info("again:1")["id"] == i["id"]
    b.ok("import", b.top + "/root.tar", "plain")
    assert b.info("plain")["id"] != i["id"]
    assert b.info("plain")["packages"] is None


@test
def options_and_recipes_of_ones_own(b):
    b.write("mine", "# a comment\n\nbase debian\n suite\tsid \ninclude a\n"
            "include b,c\nenv A=1 2\nenv _b=\ncmd x  -y\n")
    b.ok("build", "--suite", "trixie", "--include=g++,b", "--include",
         "x:amd64=1:2~3", "--mirror", "file:///m", "--mirror=deb [a=b] http://x y z",
         b.top + "/mine")
    i = b.info("mine")
    assert i["env"][1:] == ["A=1 2", "_b="] and i["cmd"] == ["x", "-y"], i
    assert i["labels"]["org.opencontainers.image.version"] == "trixie"
    first, second = b.asked()[:2]
    assert "--include=a,b,c,g++,x:amd64=1:2~3" in second
    assert second[-5:] == ["--", "trixie", "-", "file:///m",
                           "deb [a=b] http://x y z"], second


@test
def lists_without_a_date(b):
    b.write("a_InRelease", "")
    b.write("b_Release", "")
    b.ok("build", "debian")
    assert "epoch 315532800" in str(b.asked())


@test
def refused_words(b):
    for word in ("--help", "-x", "", "a b", "a;b", "a/b", "$(a)", "\u00e4",
                 "x" * 65):
        b.refused("suite '|is not right", "--suite=" + word, "debian")
    for word in ("-x", "a-", "A", "a;b", "?a", "~n", "./a.deb", "/a.deb", "a=",
                 "a=-", "a:", "a:-", "a:b-", "a/sid", "a*", "a\nb", "x" * 201):
        b.refused("package '|is not right", "--include=" + word, "debian")
    b.refused("list of packages '", "--include=, ,", "debian")
    for word in ("-x", "/etc/passwd", "./x", "http://", "http://a b", "deb ",
                 "ftp://a", "deb http://a\n", "file://a", "http://\u00e4"):
        b.refused("mirror '|is not right", "--mirror=" + word, "debian")
    b.refused("more than 16 mirrors", *["--mirror=http://x"] * 17, "debian")
    many = ",".join("p%d" % i for i in range(501))
    b.refused("more than 500 packages", "--include=" + many, "debian")
    b.refused("no recipe 'nosuch'", "nosuch")
    b.refused("a build needs a recipe", "x/")
    b.refused("no name", "debian", "UPPER")
    assert not os.path.exists(b.top + "/args")


@test
def refused_recipes(b):
    good = "base debian\nsuite sid\n"
    for text, want in (
            ("", "it names no suite"),
            ("base debian\n", "it names no suite"),
            (good + "base fedora\n", "line 3: base 'fedora'"),
            (good + "\n\nsteal x\n", "line 5: key 'steal'"),
            (good + "include\n", "line 3: include ''|empty"),
            (good + "include \t \n", "line 3: include ''|empty"),
            (good + "include --x\n", "line 3: package '--x'"),
            (good + "suite --x\n", "line 3: suite '--x'"),
            (good + "env X\n", "line 3: env 'X'"),
            (good + "env =X\n", "line 3: env '=X'"),
            (good + "env A=\udcff\n", "line 3: it is not UTF-8"),
            (good + "cmd \udcff\n", "line 3: it is not UTF-8"),
            (good + "env A=1\n" * 65, "line 67: more than 64 variables"),
            (good + "cmd " + "a " * 65, "line 3: more than 64 words"),
            (good + "\0", "zero bytes"),
            (good + "#" * 65536, "larger than 65536 bytes"),
            (good + "\033[1m x", "key '\\x1b[1m'")):
        b.write("mine", text)
        b.refused(want, b.top + "/mine")
    b.refused("cannot open", b.top + "/nosuch")


@test
def refused_without_what_it_takes(b):
    b.env["PATH"] = b.top + "/s"
    b.refused("building needs mmdebstrap: apt install mmdebstrap", "debian")


@test
def refused_when_there_are_no_such_packages(b):
    b.write("no-lists", "I: something\nE: Unable to locate package x\nE: more\n")
    said = b.refused("failed (exit code|: Unable to locate package x\n",
                     "debian")
    assert "I: something\nE: Unable" in said, said


@test
def refused_when_it_dies_in_the_middle(b):
    b.write("do", 'head -c 2000 "$top/root.tar"; echo "E: \033[1mno" >&2; exit 3')
    b.refused("failed (exit code 3): \\x1b[1mno", "debian")
    b.write("do", 'cat "$top/root.tar"; exit 1')
    b.refused("failed (exit code 1)", "debian")
    b.write("do", 'cat "$top/root.tar"; seq 100000 >&2; exit 1')
    said = b.refused("failed (exit code 1): 100000\n", "debian")
    assert "\n99987\n" in said and "99980" not in said, said


@test
def refused_when_what_it_made_is_no_root(b):
    b.write("do", 'head -c 2000 "$top/root.tar"')
    b.refused("archive", "debian")
    b.write("do", "true")
    b.refused("hutch: ", "debian")
    b.write("do", 'cat "$top/root.tar"')
    b.tar(t.entry("f", b""))
    b.refused("var/lib/dpkg/status", "debian")
    b.tar(t.entry("../f", b""))
    b.refused("'../f'", "debian")
    # What is a document elsewhere is a file here.
    b.tar(t.entry("manifest.json", b"no"), t.folder("var"), t.folder("var/lib"),
          t.folder("var/lib/dpkg"), t.entry("var/lib/dpkg/status", b""))
    b.ok("build", "debian", "empty")
    assert b.info("empty")["packages"] is None


@test
def refused_records_of_dpkg(b):
    for text, want in (
            (b"Package: a\nStatus: install ok installed\n", "number 1 has no"),
            (STATUS + b"\nPackage: a b\nArchitecture: all\nVersion: 1\n"
             b"Status: install ok installed\n", "number 3 has no"),
            (b"".join(b"Package: p%d\nArchitecture: all\nVersion: 1\n"
                      b"Status: install ok installed\n\n" % i
                      for i in range(4097)), "more than 4096 packages"),
            (b"\n" * 4194305, "status")):
        b.tar(t.folder("var"), t.folder("var/lib"), t.folder("var/lib/dpkg"),
              t.entry("var/lib/dpkg/status", text))
        b.refused(want, "debian")
    b.tar(t.folder("var"), t.folder("var/lib"), t.folder("var/lib/dpkg"),
          t.symlink("var/lib/dpkg/status", "/etc/passwd"))
    b.refused("var/lib/dpkg/status", "debian")


@test
def refused_when_there_is_no_room(b):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    b.refused("failed (exit code", "debian", preexec_fn=small)


def killed(b, how):
    """The stand-in hangs when hutch is killed: it goes, with all it started."""
    os.mkfifo(b.top + "/fifo")
    b.write("do", 'sleep 1000 >"$top/fifo" & exec 3>"$top/fifo"; '
            'touch /media/x; trap "" INT TERM; echo up >&3; sleep 1000')
    p = subprocess.Popen([HUTCH, "image", "build", "debian"], env=b.env,
                         stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)
    with open(b.top + "/fifo", "rb") as f:
        assert f.readline() == b"up\n"
        how(p)
        # The end comes when nobody is left who holds it.
        assert f.read() == b""
    assert p.wait() < 0
    b.ok("prune")
    assert b.left() == []
    assert not os.path.exists("/media/x")


@test
def killed_it_takes_all_with_it(b):
    killed(b, lambda p: p.send_signal(signal.SIGKILL))


@test
def interrupted_it_takes_all_with_it(b):
    killed(b, lambda p: os.killpg(p.pid, signal.SIGINT))


@long_test
def the_real_one_twice(b):
    os.unlink(b.top + "/mmdebstrap")
    b.ok("build", "debian", "a")
    time.sleep(2)
    b.ok("build", "debian", "b")
    assert b.info("a")["id"] == b.info("b")["id"]
    assert len(b.info("a")["packages"]) > 80


def main():
    only = sys.argv[2:]
    todo = [f for f in tests if not only or f.__name__ in only]
    failed = 0
    print("1..%d" % len(todo), flush=True)
    for i, fn in enumerate(todo, 1):
        # Not in /tmp, which may have no user attributes.
        top = tempfile.mkdtemp(prefix="hutch-build-", dir=os.getcwd())
        try:
            fn(Box(top))
            print("ok %d - %s" % (i, fn.__name__), flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print("not ok %d - %s" % (i, fn.__name__), flush=True)
        finally:
            shutil.rmtree(top)
    return 1 if failed else 0


sys.exit(main())
