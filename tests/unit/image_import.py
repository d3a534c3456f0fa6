#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hutch image, as a person uses it: images of each kind come in as they are,
and of what is hostile or damaged nothing stays but one sentence.

Usage: image_import.py HUTCH [NAME...]: speaks TAP."""
import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import image_tars as t  # noqa: E402

HUTCH = os.path.abspath(sys.argv[1])
LONG_S = 120
tests = []


def test(fn):
    tests.append(fn)
    return fn


class Box:
    """A store of its own, and a folder for archives."""

    def __init__(self, top):
        self.top = top
        self.images = top + "/s/data/images"
        self.env = dict(os.environ, HUTCH_STATE=top + "/s", LC_ALL="C.UTF-8")
        self.n = 0

    def run(self, *args, stdin=None):
        return subprocess.run([HUTCH, "image", *args], env=self.env,
                              input=stdin, capture_output=True, timeout=LONG_S)

    def ok(self, *args, stdin=None):
        p = self.run(*args, stdin=stdin)
        assert p.returncode == 0, (args, p.stderr)
        return p.stdout.decode()

    def on_terminal(self, *args):
        """Return: its exit code, output, and what came on the terminal that
        only its standard error is."""
        master, slave = os.openpty()
        p = subprocess.Popen([HUTCH, "image", *args], env=self.env,
                             stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        said = b""
        try:
            while data := os.read(master, 65536):
                said += data
        except OSError:
            # Nobody has it open any more.
            pass
        os.close(master)
        out = p.communicate(timeout=LONG_S)[0]
        return p.returncode, out, said.decode().replace("\r\n", "\n")

    def file(self, data):
        self.n += 1
        path = "%s/in%d" % (self.top, self.n)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def folder(self):
        self.n += 1
        os.mkdir("%s/in%d" % (self.top, self.n))
        return "%s/in%d" % (self.top, self.n)

    def take(self, source, name="x", *opts):
        """Imports bytes or a path. Return: the tree's path."""
        path = self.file(source) if isinstance(source, bytes) else source
        self.ok("import", *opts, path, name)
        return self.tree(name)

    def info(self, name="x"):
        return json.loads(self.ok("inspect", "--json", name))[0]

    def tree(self, name="x"):
        return "%s/id/%s/tree" % (self.images, self.info(name)["id"])

    def left(self):
        return sorted(f for d in ("id", "name", "tmp")
                      if os.path.exists(self.images + "/" + d)
                      for f in os.listdir(self.images + "/" + d))

    def refused(self, source, want, *opts, name="x"):
        """Not taken, one sentence with each word of want, nothing left."""
        before = self.left()
        path = self.file(source) if isinstance(source, bytes) else source
        p = self.run("import", *opts, "--", path, name)
        said = p.stderr.decode()
        assert p.returncode == 125, (p.returncode, said)
        assert p.stdout == b"", p.stdout
        assert said.count("\n") == 1 and said.startswith("hutch: "), said
        for w in want.split("|"):
            assert w in said, (w, said)
        assert self.left() == before, self.left()


def mapped(path):
    """What the guest sees: type, mode, uid, gid, device."""
    v, mode, uid, gid, major, minor = struct.unpack(
        "<6I", os.getxattr(path, "user.hutch.stat"))
    host = os.lstat(path)
    assert v == 1
    if stat.S_ISDIR(mode):
        assert host.st_mode == stat.S_IFDIR | 0o700, oct(host.st_mode)
    else:
        assert host.st_mode == stat.S_IFREG | 0o600, oct(host.st_mode)
    return stat.S_IFMT(mode), mode & 0o7777, uid, gid, major, minor


def read(path):
    with open(path, "rb") as f:
        return f.read()


def listing(tree):
    ret = []
    for top, dirs, files in os.walk(tree):
        ret += [os.path.relpath(os.path.join(top, n), tree)
                for n in dirs + files]
    return sorted(ret)


# ---- What is taken as it is ----

@test
def a_plain_root_comes_as_it_is(b):
    tree = b.take(t.tar(
        t.folder("./", mode=0o711),
        t.folder("etc", uid=5, gid=6),
        t.entry("etc/motd", b"hello\n", mode=0o4755, uid=4294967294, gid=7),
        t.symlink("etc/link", "/etc/motd"),
        t.link("hard", "etc/motd"),
        t.entry("fifo", type=tarfile.FIFOTYPE, mode=0o600),
        t.folder("dev"),
        t.entry("dev/null", type=tarfile.CHRTYPE, devmajor=1, devminor=3,
                mode=0o666),
        t.entry("dev/disk", type=tarfile.BLKTYPE, devmajor=259,
                devminor=70000)))
    assert mapped(tree) == (stat.S_IFDIR, 0o711, 0, 0, 0, 0)
    assert mapped(tree + "/etc") == (stat.S_IFDIR, 0o755, 5, 6, 0, 0)
    assert mapped(tree + "/etc/motd") == (
        stat.S_IFREG, 0o4755, 4294967294, 7, 0, 0)
    assert read(tree + "/etc/motd") == b"hello\n"
    assert mapped(tree + "/etc/link")[0] == stat.S_IFLNK
    assert read(tree + "/etc/link") == b"/etc/motd"
    assert os.path.samefile(tree + "/hard", tree + "/etc/motd")
    assert mapped(tree + "/fifo")[:2] == (stat.S_IFIFO, 0o600)
    assert mapped(tree + "/dev/null") == (stat.S_IFCHR, 0o666, 0, 0, 1, 3)
    assert mapped(tree + "/dev/disk")[::5] == (stat.S_IFBLK, 70000)
    for f in ["", "/etc", "/etc/motd", "/etc/link", "/fifo"]:
        assert os.lstat(tree + f).st_mtime == t.MTIME, f
    i = b.info()
    assert i["entries"] == 8 and i["bytes"] == 6, i
    assert i["names"] == ["x:latest"] and i["manifest"] is None


@test
def each_compression_is_known_by_its_bytes(b):
    plain = t.tar(t.entry("f", b"x" * 300000))
    ids = set()
    for how, pack in t.PACK.items():
        assert os.path.getsize(b.take(pack(plain), "n:" + (how or "none")) +
                               "/f") == 300000
        ids.add(b.info("n:" + (how or "none"))["id"])
    # The same root, and so the same image, whatever it was packed with.
    assert len(ids) == 1
    b.take(t.PACK["gzip"](plain[:5000]) + t.PACK["gzip"](plain[5000:]), "two")
    assert b.info("two")["id"] in ids


@test
def one_zero_block_is_the_end_of_a_tar(b):
    for n, data in enumerate((b"", b"1", bytes(2048))):
        name = "x%d" % n
        tree = b.take(t.raw(b"f", data) + t.END[:512], name)
        assert read(tree + "/f") == data


@test
def through_a_pipe(b):
    data = t.PACK["gzip"](t.tar(t.entry("f", b"1")))
    assert b.ok("import", "-", "p:1", stdin=data) == "p:1\n"
    assert listing(b.tree("p:1")) == ["f"]
    assert sorted(os.listdir(b.images + "/id/" + b.info("p:1")["id"])) == [
        "image.json", "tree"]


@test
def long_names_and_names_that_are_no_text(b):
    deep = "/".join(["d" * 200] * 12)
    for fmt in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        tree = b.take(t.tar(
            t.entry(deep + "/file", b"1", uid=fmt),
            t.entry("e" * 255, b"2"),
            t.entry("caf\u00e9", b"3"),
            t.symlink("s", "t/" * 1500 + "u"), format=fmt), "n:%d" % fmt)
        assert read(tree + "/" + deep + "/file") == b"1"
        assert mapped(tree + "/" + "d" * 200)[1] == 0o755
        assert read(tree + "/" + "e" * 255) == b"2"
        assert read(tree + "/caf\u00e9") == b"3"
        assert read(tree + "/s") == b"t/" * 1500 + b"u"
    tree = b.take(t.raw(b"caf\xe9\n", b"4") + t.END, "latin")
    assert os.listdir(tree.encode()) == [b"caf\xe9\n"]


@test
def sizes_in_base_256(b):
    def big(h):
        h[124:136] = b"\x80" + (3).to_bytes(11, "big")
        h[108:116] = b"\x80" + (3000000).to_bytes(7, "big")
    tree = b.take(t.raw(b"f", b"abc", edit=big) + t.END)
    assert read(tree + "/f") == b"abc"
    assert mapped(tree + "/f")[2] == 3000000


@test
def holes_stay_holes(b):
    os.mkdir(b.top + "/r")
    with open(b.top + "/r/f", "wb") as f:
        f.seek(6 << 30)
        f.write(b"end")
        f.truncate(9 << 30)
    for fmt in ["gnu", "pax"]:
        out = b.top + "/sparse." + fmt
        subprocess.run(["tar", "-C", b.top + "/r", "--sparse", "--format", fmt,
                        "-cf", out, "."], check=True)
        tree = b.take(out, "n:" + fmt)
        st = os.stat(tree + "/f")
        assert st.st_size == 9 << 30 and st.st_blocks < 100, st
        with open(tree + "/f", "rb") as f:
            f.seek(6 << 30)
            assert f.read(4) == b"end\0"
    assert b.info("n:pax")["bytes"] < 1 << 20


@test
def attributes_and_capabilities(b):
    cap = "\x01\x00\x00\x02\x00\x20\x00\x00" + "\x00" * 12
    tree = b.take(t.tar(
        t.entry("f", b"x", pax_headers={
            "SCHILY.xattr.security.capability": cap,
            "SCHILY.xattr.user.mine": "v",
            "SCHILY.xattr.trusted.t": "w",
            "SCHILY.xattr.com.apple.quarantine": "no"}),
        t.folder("d", pax_headers={"SCHILY.xattr.user.mine": "d"}),
        t.entry("s", type=tarfile.SYMTYPE, linkname="f", pax_headers={
            "SCHILY.xattr.security.x": "s"})))
    f = tree + "/f"
    assert sorted(os.listxattr(f)) == [
        "user.hutch.stat", "user.hutch.x.security.capability",
        "user.hutch.x.trusted.t", "user.mine"]
    assert os.getxattr(f, "user.hutch.x.security.capability") == cap.encode()
    assert os.getxattr(f, "user.mine") == b"v"
    assert os.getxattr(tree + "/d", "user.mine") == b"d"
    assert os.getxattr(tree + "/s", "user.hutch.x.security.x") == b"s"


# Of Linux: a version, and tag, permissions and number of each entry.
def linux_acl(*entries):
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, perm, who & 0xffffffff)
        for tag, perm, who in entries)


@test
def acls_are_kept_as_linux_has_them(b):
    def acl(**kinds):
        return {"SCHILY.acl." + k: v for k, v in kinds.items()}

    def mode(path):
        return struct.unpack("<6I", os.getxattr(path, "user.hutch.stat"))[1]

    def kept(path, kind="access"):
        return os.getxattr(path, "user.hutch.x.system.posix_acl_" + kind)

    many = ",".join("user:%d:r--" % i for i in range(500))
    tree = b.take(t.tar(
        # As star writes it, by name and number, in any order; setuid stays.
        t.entry("f", b"x", mode=0o4660, pax_headers=acl(
            access="mask::rw-,group:staff:r-x:50,user::rw-,other::---,"
            "user:ann:rwx:1000,group::r--")),
        # A number where the name would be; no mask.
        t.folder("d", mode=0o755, pax_headers=acl(
            access="user::rwx,user:7:-w-,group::r--,other::r-x",
            default="user::rwx,user:1000:rwx,group::r-x,mask::rw-,other::--x")),
        # No more than a mode; default of a file; names alone; too large.
        t.entry("m", b"x", mode=0o640, pax_headers=acl(
            access="user::rw-,group::r--,other::---", default="user::rwx")),
        t.entry("n", b"x", mode=0o660, pax_headers=acl(
            access="user::rw-,user:ann:rw-,group::r--,group:4294967296:rw-,"
            "mask::rw-,other::---")),
        t.entry("no", b"x", mode=0o640, pax_headers=acl(access="rubbish")),
        t.folder("half", pax_headers=acl(default="user::rwx,mask::rwx")),
        t.entry("s", type=tarfile.SYMTYPE, linkname="f", pax_headers=acl(
            access="user::rwx,user:7:rwx,group::r--,mask::rwx,other::---"))))
    assert kept(tree + "/f") == linux_acl(
        (1, 6, -1), (2, 7, 1000), (4, 4, -1), (8, 5, 50), (16, 6, -1),
        (32, 0, -1))
    assert mode(tree + "/f") == 0o104660, oct(mode(tree + "/f"))
    assert kept(tree + "/d") == linux_acl(
        (1, 7, -1), (2, 2, 7), (4, 4, -1), (16, 6, -1), (32, 5, -1))
    assert mode(tree + "/d") == 0o40765, oct(mode(tree + "/d"))
    assert kept(tree + "/d", "default") == linux_acl(
        (1, 7, -1), (2, 7, 1000), (4, 5, -1), (16, 6, -1), (32, 1, -1))
    # Nobody is left, so that the mask is for the group alone.
    assert kept(tree + "/n") == linux_acl(
        (1, 6, -1), (4, 4, -1), (16, 6, -1), (32, 0, -1))
    for name in "m", "no", "half", "s":
        assert os.listxattr(tree + "/" + name) == ["user.hutch.stat"], name
    assert mode(tree + "/m") == mode(tree + "/no") == 0o100640
    b.refused(t.tar(t.entry("f", b"x", pax_headers=acl(
        access="user::rw-," + many + ",group::r--," + ",".join(
            "group:%d:r--" % i for i in range(20)) + ",other::---"))),
              "its ACL has more than 511")


@test
def what_comes_again_takes_the_place(b):
    tree = b.take(t.tar(
        t.folder("a"), t.entry("a/x", b"1"), t.entry("a", b"file"),
        t.entry("b", b"file"), t.folder("b"), t.entry("b/x", b"2"),
        t.entry("c", b"old"), t.link("d", "c"), t.entry("c", b"new"),
        t.folder("e", mode=0o700), t.entry("e/x", b"3"),
        t.folder("e", mode=0o711)))
    assert listing(tree) == ["a", "b", "b/x", "c", "d", "e", "e/x"]
    assert read(tree + "/a") == b"file"
    assert read(tree + "/c") == b"new" and read(tree + "/d") == b"old"
    assert mapped(tree + "/e")[1] == 0o711


# ---- Images ----

CONFIG = {"Env": ["PATH=/bin", "A="], "Entrypoint": ["/e", "a b"],
          "Cmd": ["c"], "WorkingDir": "/w", "User": "u:g",
          "StopSignal": "SIGINT", "Volumes": {"/v": {}, "/a": {}},
          "Labels": {"k": "v=w", "a": ""}, "ExposedPorts": {"80/tcp": {}}}


def three():
    return t.Image(t.tar(t.entry("f", b"1"), t.folder("d")),
                   t.tar(t.entry("d/g", b"2")), t.tar(t.entry("h", b"3")),
                   config=CONFIG, pack="gzip")


def check_three(b, img, name="x", manifest=True):
    i = b.info(name)
    assert listing(b.tree(name)) == ["d", "d/g", "f", "h"]
    assert i["id"] == img.id
    want = t.digest(img.manifest_bytes) if manifest else None
    assert i["manifest"] == want, i
    assert i["layers"] == img.config["rootfs"]["diff_ids"]
    assert i["env"] == CONFIG["Env"] and i["cmd"] == ["c"]
    assert i["entrypoint"] == CONFIG["Entrypoint"]
    assert i["workdir"] == "/w" and i["user"] == "u:g"
    assert i["stop_signal"] == "SIGINT" and i["volumes"] == ["/a", "/v"]
    assert i["labels"] == CONFIG["Labels"]
    assert sorted(os.listdir(b.images + "/id/" + img.id)) == [
        "image.json", "tree"]


@test
def a_layout_in_a_folder(b):
    img = three()
    b.take(img.write_layout(b.folder()))
    check_three(b, img)


@test
def a_layout_in_a_tar(b):
    img = three()
    for how, pack in t.PACK.items():
        b.take(pack(img.layout_tar()))
        check_three(b, img)
        b.ok("rm", "x")
        assert b.left() == []


@test
def an_archive_of_docker_save(b):
    img = three()
    b.take(t.tar(*img.docker_save()))
    check_three(b, img, manifest=False)
    # Of equal layers the old ones are links.
    layer = t.tar(t.entry("f", b"1"))
    img = t.Image(layer, layer)
    parts = img.docker_save()
    parts[3] = t.symlink("%064x/layer.tar" % 1, "../%064x/layer.tar" % 0)
    assert listing(b.take(t.tar(*parts), "two")) == ["f"]


@test
def nested_indexes_and_other_machines(b):
    img = three()
    other = dict(t.desc(b"{}", t.MANIFEST),
                 platform={"os": "linux", "architecture": "s390x"})
    img.index["manifests"][0]["platform"] = {"os": "linux",
                                             "architecture": t.ARCH}
    img.index["manifests"].insert(0, other)
    inner = t.dump(img.index)
    img.blobs["blobs/sha256/" + t.digest(inner)[7:]] = inner
    img.index = {"schemaVersion": 2, "manifests": [t.desc(inner, t.INDEX)]}
    b.take(img.write_layout(b.folder()))
    check_three(b, img)


@test
def one_of_several(b):
    a, c = three(), t.Image(t.tar(t.entry("other", b"")))
    key = "org.opencontainers.image.ref.name"
    a.blobs = c.files()
    a.blobs.pop("index.json")
    a.index["manifests"] = [
        dict(a.index["manifests"][0], annotations={key: "v1"}),
        dict(c.index["manifests"][0], annotations={key: "v2"})]
    layout = a.write_layout(b.folder())
    b.refused(layout, "2 images|--pick")
    b.refused(layout, "of that name", "--pick", "v3")
    assert listing(b.take(layout, "x", "--pick", "v2")) == ["other"]
    docs = [json.loads(i.docker_save(tags)[0][1])[0]
            for i, tags in ((a, ["a:1"]), (c, ["c:1"]))]
    docs[1]["Layers"] = ["c.tar"]
    saved = t.tar(t.entry("manifest.json", t.dump(docs)),
                  t.entry("c.tar", c.layers[0]), c.docker_save()[1],
                  *a.docker_save()[1:])
    b.refused(saved, "2 images|--pick")
    assert listing(b.take(saved, "y", "--pick", "c:1")) == ["other"]


@test
def whiteouts(b):
    low = t.tar(t.folder("d"), t.entry("d/a", b"1"), t.entry("d/b", b"1"),
                t.folder("o"), t.entry("o/a", b"1"), t.folder("o/sub"),
                t.entry("o/sub/x", b"1"), t.entry("gone", b"1"),
                t.folder("tree"), t.entry("tree/x", b"1"),
                t.entry("kept", b"1"), t.folder("o/new"),
                t.entry("o/new/old", b"1"))
    # Of what is below only; wherever in the tar they stand.
    top = t.tar(t.entry("d/.wh.a"), t.entry("d/.wh.none"),
                t.entry("o/new/y", b"2"), t.entry("o/z", b"2"),
                t.entry("o/.wh..wh..opq"), t.entry(".wh.gone"),
                t.entry("tree", b"now a file"), t.entry(".wh.tree"),
                t.entry("none/.wh.x"), t.entry(".wh..wh.plnk"))
    tree = b.take(t.Image(low, top).write_layout(b.folder()))
    assert listing(tree) == ["d", "d/b", "kept", "o", "o/new", "o/new/y",
                             "o/z", "tree"], listing(tree)
    assert read(tree + "/tree") == b"now a file"
    # Opaque at the root: all below is gone.
    tree = b.take(t.Image(low, t.tar(t.entry("only", b"2"),
                                     t.entry(".wh..wh..opq")))
                  .write_layout(b.folder()), "y")
    assert listing(tree) == ["only"]
    # With nothing below they say nothing, and are no files.
    assert listing(b.take(top, "z")) == [
        "o", "o/new", "o/new/y", "o/z", "tree"]


@test
def links_to_what_is_below(b):
    tree = b.take(t.Image(t.tar(t.entry("a", b"1"), t.symlink("s", "a")),
                          t.tar(t.link("b", "a"), t.link("s2", "s"),
                                t.entry("a", b"2")))
                  .write_layout(b.folder()))
    assert read(tree + "/a") == b"2" and read(tree + "/b") == b"1"
    assert mapped(tree + "/s2")[0] == stat.S_IFLNK


# ---- The store ----

@test
def again_is_the_same_image(b):
    img = three()
    layout = img.write_layout(b.folder())
    b.take(layout)
    b.take(layout, "other:1")
    b.take(layout)
    assert b.info()["names"] == ["other:1", "x:latest"]
    assert len(os.listdir(b.images + "/id")) == 1
    assert os.listdir(b.images + "/tmp") == []


@test
def several_at_once_are_one_image(b):
    data = b.file(t.tar(*[t.entry("f%d" % i, b"x" * 10000)
                          for i in range(300)]))
    ps = [subprocess.Popen([HUTCH, "image", "import", data, "n:%d" % i],
                           env=b.env, stdout=subprocess.DEVNULL)
          for i in range(6)]
    assert [p.wait(LONG_S) for p in ps] == [0] * 6
    assert b.info("n:0")["names"] == ["n:%d" % i for i in range(6)]
    assert len(os.listdir(b.images + "/id")) == 1
    assert os.listdir(b.images + "/tmp") == []


@test
def json_is_one_document(b):
    path = b.file(t.tar(t.entry("f", b"1")))
    made = json.loads(b.ok("import", "--json", path, "x"))
    assert made == b.info() and made["names"] == ["x:latest"]
    assert json.loads(b.ok("list", "--json")) == [made]
    assert json.loads(b.ok("rm", "--json", "x")) == [
        {"name": "x", "error": None}]
    assert json.loads(b.ok("prune", "--json")) == []


@test
def a_root_may_have_files_of_those_names(b):
    tree = b.take(t.tar(t.entry("manifest.json", b"[{}]"),
                        t.entry("index.json", b"{}")))
    assert listing(tree) == ["index.json", "manifest.json"]


@test
def a_name_moves_and_prune_takes_what_has_none(b):
    b.take(t.tar(t.entry("a", b"")))
    first = b.info()["id"]
    b.take(t.tar(t.entry("b", b"")))
    assert b.info()["id"] != first
    assert b.info(first[:8])["names"] == []
    assert b.ok("prune") == first[:12] + "\n"
    assert b.ok("list", "-q").split() == [b.info()["id"][:12]]
    assert b.ok("prune") == ""
    b.ok("prune", "--all")
    assert b.left() == []


@test
def names_go_and_with_the_last_the_image(b):
    data = t.tar(t.entry("a", b""))
    b.take(data, "one:1")
    b.take(data, "h.example:5000/two/three:x")
    i = b.info("one:1")
    p = b.run("rm", i["id"][:12])
    assert p.returncode == 125 and b"several names" in p.stderr
    assert b.ok("rm", "one:1") == "one:1\n"
    assert b.run("inspect", "one:1").returncode == 125
    assert b.info(i["id"])["names"] == ["h.example:5000/two/three:x"]
    b.ok("rm", i["id"][:4])
    assert b.left() == []
    p = b.run("rm", "one:1")
    assert p.returncode == 125 and b"no image 'one:1'" in p.stderr


@test
def progress_is_for_a_terminal_and_leaves_nothing_there(b):
    path = b.file(t.tar(t.entry("f", os.urandom(3 << 20))))
    shown = ["unpacking archive: %dM of 3.0M" % n for n in (1, 2, 3)]
    wipe = "\r\033[K"
    code, out, said = b.on_terminal("import", path, "x")
    assert (code, out) == (0, b"x\n"), (code, out, said)
    assert said == "".join(s + wipe for s in shown), said
    # A sentence begins where it was.
    code, out, said = b.on_terminal("import", "--max-size", "2M", path, "y")
    assert (code, out) == (125, b""), (code, out, said)
    *steps, last = said.split(wipe)
    assert steps == shown[:2] and last.startswith("hutch: archive: "), said
    assert last.count("\n") == 1, said
    p = b.run("import", path, "z")
    assert (p.returncode, p.stdout, p.stderr) == (0, b"z\n", b""), p


@test
def killed_on_the_way_leaves_what_the_next_sweeps(b):
    p = subprocess.Popen([HUTCH, "image", "import", "-", "x"], env=b.env,
                         stdin=subprocess.PIPE)
    p.stdin.write(t.tar(t.entry("f", b"x" * 100000)))
    p.stdin.flush()
    while not (os.path.exists(b.images + "/tmp") and
               any(os.path.exists(b.images + "/tmp/" + d + "/spool")
                   for d in os.listdir(b.images + "/tmp"))):
        time.sleep(0.01)
    p.send_signal(signal.SIGKILL)
    p.wait()
    p.stdin.close()
    # Its helper goes with it, and then the next finds it unlocked.
    end = time.monotonic() + LONG_S
    while os.listdir(b.images + "/tmp") and time.monotonic() < end:
        b.ok("prune")
    assert b.left() == []
    b.take(t.tar(t.entry("f", b"1")))


@test
def a_damaged_image_is_named_removed_and_replaced(b):
    data = t.tar(t.entry("f", b"1"))

    def damage(how):
        b.take(data, "x:1")
        b.take(t.tar(t.entry("other", b"")), "y:1")
        i = b.info("x:1")["id"]
        path = "%s/id/%s/image.json" % (b.images, i)
        os.unlink(path)
        if how is not None:
            with open(path, "wb") as f:
                f.write(how)
        return i

    for how in (None, b"", b"{", b'{"version":1}'):
        i = damage(how)
        p = b.run("list", "--no-trunc")
        said = p.stderr.decode()
        assert p.returncode == 0 and said.count("\n") == 1, p
        assert "image.json" in said and "image rm " + i[:12] in said, said
        assert i in p.stdout.decode() and b"y:1" in p.stdout, p.stdout
        assert [n["names"] for n in json.loads(b.ok("list", "--json"))] == [
            ["x:1"], ["y:1"]]
        p = b.run("inspect", "x:1")
        assert p.returncode == 125 and b"image.json" in p.stderr, p
        # What comes again takes its place.
        b.take(data, "z:1")
        assert b.info("z:1")["names"] == ["x:1", "z:1"]
        assert b.run("list").stderr == b"" and os.listdir(b.images + "/tmp") == []
        b.ok("rm", "z:1")
        for rm in (("rm", "x:1"), ("rm", i[:12]), ("prune", "-a")):
            damage(how)
            b.ok(*rm)
            assert not os.path.exists(b.images + "/id/" + i)
            assert "x:1" not in os.listdir(b.images + "/name")
        b.ok("prune", "-a")
        assert b.left() == []


@test
def a_name_that_leads_nowhere_goes(b):
    data = t.tar(t.entry("f", b"1"))
    for heal in (("rm", "x:1"), ("prune",)):
        b.take(data, "x:1")
        shutil.rmtree("%s/id/%s" % (b.images, b.info("x:1")["id"]))
        assert "x:1" in os.listdir(b.images + "/name")
        b.take(t.tar(t.entry("g", b"2")), "y:1")
        b.ok(*heal)
        assert os.listdir(b.images + "/name") == ["y:1"]
    b.ok("prune", "-a")
    assert b.left() == []


@test
def names_that_are_none_are_refused(b):
    tar = b.file(t.tar(t.entry("f", b"1")))
    for bad in ["", "A", "a//b", "/a", "a/", "a:", "a:-x", "a@sha256:0",
                "../a", "a..b", "a:b:c", "-a", "a_-b", "a" * 256, "f" * 64,
                "host:port/a", "a\nb"]:
        b.refused(tar, "no name of an image", name=bad)
    b.refused(tar, "named by a tag", name="a@sha256:" + "0" * 64)


# ---- What is refused ----

GOOD = (t.entry("good", b"1"), t.folder("d"))


def hostile(name, want, *entries, opts=()):
    """Sound but for the last entries; the same as upper layer of an image."""
    def plain(b):
        b.take(t.tar(*GOOD))
        b.ok("rm", "x")
        b.refused(t.tar(*GOOD, *entries), want, *opts)

    def layer(b):
        img = t.Image(t.tar(*GOOD), t.tar(*entries))
        b.refused(img.write_layout(b.folder()), want, *opts)
    plain.__name__ = "refused_" + name
    layer.__name__ = "refused_in_a_layer_" + name
    tests.extend([plain, layer])


def tar_of(name, want, data, opts=()):
    def run(b):
        b.refused(data() if callable(data) else data, want, *opts)
    run.__name__ = "refused_" + name
    tests.append(run)


hostile("absolute_name", "'/etc/x'|absolute", t.entry("/etc/x", b"1"))
hostile("dot_dot", "'a/../../x'|'..'", t.entry("a/../../x", b"1"))
hostile("dot_dot_that_stays", "'d/../x'|'..'", t.entry("d/../x", b"1"))
hostile("only_dot_dot", "'..'", t.folder(".."))
hostile("folder_absolute", "'/'|absolute", t.folder("/"))
hostile("link_out", "'l'|'..'", t.link("l", "../../../etc/passwd"))
hostile("link_absolute", "'l'|absolute", t.link("l", "/etc/passwd"))
hostile("link_to_nothing", "'l'|'none'", t.link("l", "none"))
hostile("link_to_folder", "'l'|'d'", t.link("l", "d"))
hostile("link_to_root", "'l'", t.link("l", "."))
hostile("link_to_itself", "'l'|'l'", t.link("l", "l"))
hostile("link_over_its_folder", "'d'|'d/t'", t.entry("d/t", b"1"),
        t.link("d", "d/t"))
hostile("link_through_link", "'l'|'s/x'", t.symlink("s", "/"),
        t.link("l", "s/x"))
hostile("through_symlink", "'s/x'|'s'|no folder", t.symlink("s", "/tmp"),
        t.entry("s/x", b"1"))
hostile("through_symlink_to_good", "'s/x'|'s'", t.symlink("s", "d"),
        t.entry("s/x", b"1"))
hostile("folder_through_symlink", "'s/a/b'|'s'", t.symlink("s", ".."),
        t.folder("s/a/b"))
hostile("through_file", "'good/x'|'good'", t.entry("good/x", b"1"))
hostile("root_as_file", "root must be", t.entry(".", b"1"))
hostile("root_as_link", "root must be", t.link(".", "good"))
hostile("forged_stat", "'f'|user.hutch.", t.entry("f", b"1", pax_headers={
    "SCHILY.xattr.user.hutch.stat": "x"}))
hostile("forged_attribute", "'f'|user.hutch.", t.entry("f", b"1", pax_headers={
    "SCHILY.xattr.user.hutch.x.security.capability": "x"}))
hostile("large_attribute", "'f'|attribute", t.entry("f", b"1", pax_headers={
    "SCHILY.xattr.user.x": "x" * 70000}))
hostile("long_part", "too long", t.entry("n" * 256, b"1"))
hostile("long_name", "too long", t.entry("/".join(["n" * 250] * 17), b"1"))
hostile("deep", "in one another", t.folder("/".join("d" * 257)))
hostile("owner", "'f'|32-bit", t.entry("f", b"1", uid=1 << 32))
hostile("owner_minus_one", "'f'|32-bit", t.entry("f", b"1", gid=(1 << 32) - 1))
hostile("device_number", "'f'|device", t.entry(
    "f", type=tarfile.CHRTYPE, devmajor=0o7777777, devminor=0))
hostile("too_many_bytes", "'f'|more than 1048576", t.entry("f", bytes(1 << 20)),
        opts=("--max-size", "1M"))
hostile("too_many_entries", "more than 4 entries",
        *[t.entry("f%d" % i, b"") for i in range(5)],
        opts=("--max-files", "4"))
hostile("too_many_implied", "'a/b/c/d/e/f'|more than 4 entries",
        t.entry("a/b/c/d/e/f", b""), opts=("--max-files", "4"))
tar_of("escaped_name", r"'/a\x1b[31m\n'|absolute",
       t.raw(b"/a\x1b[31m\n", b"") + t.END)

tar_of("whiteout_of_dot_dot", "'.wh...'|no name", lambda: t.tar(
    *[t.entry(n, d) for n, d in t.Image(
        t.tar(*GOOD), t.tar(t.entry(".wh..."))).files().items()]))
tar_of("whiteout_of_nothing", "'d/.wh.'|no name", lambda: t.tar(
    *[t.entry(n, d) for n, d in t.Image(
        t.tar(*GOOD), t.tar(t.entry("d/.wh."))).files().items()]))
tar_of("bomb", "more than|bytes", lambda: t.PACK["gzip"](
    t.tar(t.entry("f", bytes(64 << 20)))), opts=("--max-size", "1M"))
tar_of("bomb_of_padding", "more than|bytes", lambda: t.PACK["gzip"](
    t.tar(t.entry("f", b"")) + bytes(64 << 20)),
    opts=("--max-size", "1M", "--max-files", "10"))
tar_of("bomb_of_repeated_names", "more than 3 entries", lambda: t.tar(
    *[t.folder("d")] * 4), opts=("--max-files", "3"))
tar_of("not_a_tar", "damaged", b"hello, I am no archive at all\n" * 100)
tar_of("empty_file", "nothing in it", b"")
tar_of("empty_tar", "nothing in it", t.END)
tar_of("cut_gzip", "damaged|runcated", lambda: t.PACK["gzip"](
    t.tar(t.entry("f", os.urandom(100000))))[:50000])
tar_of("cut_tar", "damaged|runcated",
       lambda: t.tar(t.entry("f", bytes(100000)))[:50000])
for n, data in (("file", t.raw(b"f", b"1")), ("zeros", t.raw(b"f", bytes(2048))),
                ("nothing", t.raw(b"f")),
                ("gzip", t.PACK["gzip"](t.raw(b"f", b"1")))):
    tar_of("cut_behind_" + n, "without the zero block", data)
tar_of("cut_header", "damaged", lambda: t.tar(*GOOD)[:700])
tar_of("cut_zstd", "damaged", lambda: t.zstd(
    t.tar(t.entry("f", os.urandom(300000))))[:150000])
tar_of("cut_xz", "damaged", lambda: t.PACK["xz"](
    t.tar(t.entry("f", os.urandom(300000))))[:150000])
tar_of("flipped_xz", "damaged", lambda: bytes(
    c ^ (i == 50050) for i, c in enumerate(t.PACK["xz"](
        t.tar(t.entry("f", os.urandom(100000)))))))
tar_of("endless_name", "damaged", lambda: t.raw(
    b"././@LongLink", b"", size=1 << 33, type=b"L") + t.END)


def broken(name, want, change, save=False, opts=()):
    """An image that is sound but for one thing."""
    def run(b):
        img = t.Image(t.tar(*GOOD), t.tar(t.entry("d/h", b"2")))
        files = change(img)
        if save:
            b.refused(t.tar(*files), want, *opts)
            return
        img.blobs.update(files or {})
        b.refused(img.write_layout(b.folder()), want, *opts)
        b.refused(img.layout_tar(), want, *opts)
    run.__name__ = "refused_" + name
    tests.append(run)


def blob(data):
    return "blobs/sha256/" + t.digest(data)[7:]


def flip(data, at=100):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def other_config(img, change):
    change(img.config)
    img.finish()


def other_manifest(img, change):
    change(img.manifest)
    img.finish_manifest()


broken("flipped_layer", "not what it should be",
       lambda i: {blob(i.layers[1]): flip(i.layers[1], 600)})
broken("flipped_config", "not what it should be",
       lambda i: {blob(i.config_bytes): flip(i.config_bytes)})
broken("flipped_manifest", "not what it should be",
       lambda i: {blob(i.manifest_bytes): flip(i.manifest_bytes)})
broken("longer_layer", "and should have",
       lambda i: {blob(i.layers[0]): i.layers[0] + b"\0"})
broken("shorter_config", "and should have",
       lambda i: {blob(i.config_bytes): i.config_bytes[:-1]})
broken("wrong_diff_id", "not what it should be", lambda i: other_config(
    i, lambda c: c["rootfs"]["diff_ids"].reverse()))
broken("missing_diff_id", "1 layers|2", lambda i: other_config(
    i, lambda c: c["rootfs"]["diff_ids"].pop()))
broken("no_diff_ids", "rootfs", lambda i: other_config(
    i, lambda c: c["rootfs"].pop("diff_ids")))
broken("diff_id_of_another_kind", "rootfs", lambda i: other_config(
    i, lambda c: c["rootfs"].update(diff_ids=["md5:0", "md5:1"])))
broken("too_many_diff_ids", "more than 256 layers", lambda i: other_config(
    i, lambda c: c["rootfs"].update(diff_ids=[t.digest(b"")] * 257)))
broken("other_machine", "s390x", lambda i: other_config(
    i, lambda c: c.update(architecture="s390x")))
broken("other_system", "windows", lambda i: other_config(
    i, lambda c: c.update(os="windows")))
broken("env_without_value", "Env|'NAME'", lambda i: other_config(
    i, lambda c: c["config"].update(Env=["NAME"])))
broken("env_without_name", "Env", lambda i: other_config(
    i, lambda c: c["config"].update(Env=["=x"])))
broken("env_of_numbers", "Env", lambda i: other_config(
    i, lambda c: c["config"].update(Env=[1])))
broken("cmd_that_is_text", "Cmd", lambda i: other_config(
    i, lambda c: c["config"].update(Cmd="sh")))
broken("cmd_with_nul", "no JSON", lambda i: other_config(
    i, lambda c: c["config"].update(Cmd=["a\0b"])))
broken("too_many_strings", "more than 4096", lambda i: other_config(
    i, lambda c: c["config"].update(Cmd=["a"] * 4097)))
broken("relative_workdir", "WorkingDir|'w'", lambda i: other_config(
    i, lambda c: c["config"].update(WorkingDir="w")))
broken("long_user", "User", lambda i: other_config(
    i, lambda c: c["config"].update(User="u" * 5000)))
broken("relative_volume", "Volumes", lambda i: other_config(
    i, lambda c: c["config"].update(Volumes={"v": {}})))
broken("label_of_number", "Labels", lambda i: other_config(
    i, lambda c: c["config"].update(Labels={"a": 1})))
broken("label_with_equals", "Labels", lambda i: other_config(
    i, lambda c: c["config"].update(Labels={"a=b": "1"})))
broken("config_that_is_a_list", "config", lambda i: other_config(
    i, lambda c: c.update(config=[])))
broken("config_too_large", "more than 4194304", lambda i: other_config(
    i, lambda c: c.update(x="x" * (4 << 20))))
broken("layer_of_another_type", "encrypted", lambda i: other_manifest(
    i, lambda m: m["layers"][0].update(mediaType=t.LAYER + "+encrypted")))
broken("config_of_another_type", "helm", lambda i: other_manifest(
    i, lambda m: m["config"].update(mediaType="application/helm")))
broken("old_manifest", "schema 1", lambda i: other_manifest(
    i, lambda m: m.update(schemaVersion=1)))
broken("layer_without_digest", "no sha256 digest", lambda i: other_manifest(
    i, lambda m: m["layers"][0].pop("digest")))
broken("digest_that_is_a_path", "no sha256 digest", lambda i: other_manifest(
    i, lambda m: m["layers"][0].update(digest="sha256:../../../etc/passwd")))
broken("negative_size", "size", lambda i: other_manifest(
    i, lambda m: m["layers"][0].update(size=-1)))
broken("size_beyond_63_bits", "not JSON", lambda i: other_manifest(
    i, lambda m: m["layers"][0].update(size=1 << 64)))
broken("size_of_text", "size", lambda i: other_manifest(
    i, lambda m: m["layers"][0].update(size="1")))
broken("too_many_layers", "more than 256 layers", lambda i: other_manifest(
    i, lambda m: m.update(layers=m["layers"] * 129)))
broken("index_without_manifests", "no image", lambda i: i.index.update(
    manifests=[]))
broken("index_of_another_kind", "no index", lambda i: i.index.update(
    schemaVersion=1))


@test
def refused_index_in_itself(b):
    img = three()
    doc = img.index
    for _ in range(4):
        data = t.dump(doc)
        img.blobs[blob(data)] = data
        doc = {"schemaVersion": 2, "manifests": [t.desc(data, t.INDEX)]}
    img.index = doc
    b.refused(img.write_layout(b.folder()), "deep")


@test
def refused_other_packing_of_the_same_layer(b):
    img = three()
    layout = img.write_layout(b.folder())
    data = img.layers[1]
    # gzip's own time: what is in it is the same to the byte.
    with open(layout + "/" + blob(data), "wb") as f:
        f.write(flip(data, 4))
    b.refused(layout, "not what it should be")


@test
def refused_missing_blob(b):
    img = three()
    layout = img.write_layout(b.folder())
    os.unlink(layout + "/" + blob(img.layers[2]))
    b.refused(layout, t.digest(img.layers[2])[7:])


@test
def refused_deep_json(b):
    img = three()
    layout = img.write_layout(b.folder())
    with open(layout + "/index.json", "wb") as f:
        f.write(b"[" * 1000000)
    b.refused(layout, "not JSON")


@test
def refused_layout_that_leads_out(b):
    img = three()
    layout = img.write_layout(b.folder())
    victim = layout + "/" + blob(img.layers[1])
    os.rename(victim, b.top + "/outside")
    os.symlink("../../../outside", victim)
    b.refused(layout, "leads out")
    os.unlink(victim)
    os.symlink(b.top + "/outside", victim)
    b.refused(layout, "leads out")
    # A FIFO holds nobody up, a folder is no blob.
    os.unlink(victim)
    os.mkfifo(victim)
    b.refused(layout, "Invalid argument")
    os.unlink(victim)
    os.mkdir(victim)
    b.refused(layout, "Is a directory")
    # Within it a link is a way of storing things.
    os.rmdir(victim)
    os.rename(b.top + "/outside", layout + "/kept")
    os.symlink("../../kept", victim)
    b.take(layout)


@test
def refused_saved_archive_that_leads_out(b):
    img = three()
    for bad in ["../../../../../etc/passwd", "/etc/passwd", "none", "."]:
        b.refused(t.tar(*img.docker_save(Layers=[bad] * 3)), "'%s' in it" % bad)
        b.refused(t.tar(*img.docker_save(Config=bad)), "'%s' in it" % bad)
    parts = img.docker_save()
    name = parts[3][0].name
    for to in ["/etc/passwd", "../../../../../etc/passwd"]:
        parts[3] = t.symlink(name, to)
        b.refused(t.tar(*parts), "leads out")
    parts[3] = t.symlink(name, "layer.tar")
    b.refused(t.tar(*parts), "links")
    b.refused(t.tar(*img.docker_save()[:-1]), "No such file")
    parts = img.docker_save()
    parts[2] = t.entry(parts[2][0].name, t.tar(t.entry("f", b"changed")))
    b.refused(t.tar(*parts), "not what it should be")


@test
def refused_name_of_a_config_is_escaped(b):
    doc = [{"Config": "a\u202e\u0085b", "Layers": []}]
    b.refused(t.tar(t.entry("manifest.json", t.dump(doc)),
                    t.entry("a\u202e\u0085b", bytes(5 << 20))),
              "'a\\xe2\\x80\\xae\\xc2\\x85b'|more than 4194304")


@test
def refused_saved_archives_that_are_none(b):
    img = three()
    saved = img.docker_save
    many = ["%064x/layer.tar" % i for i in range(257)]
    for head, want in (
            (saved(Layers=many)[0], "docker save|more than 256 layers"),
            (saved(Layers=[1])[0], "docker save|no name"),
            (saved(more=["x" * 1000] * 5000)[0], "docker save|more than 4194304"),
            (t.entry("manifest.json", t.dump([{}])[:-1]), "docker save|not JSON"),
            (t.entry("manifest.json", b""), "docker save|not JSON")):
        parts = [head] + saved()[1:]
        b.refused(t.tar(*parts), want)


@test
def refused_sources_that_are_none(b):
    b.refused(b.top + "/none", "cannot open|No such file")
    b.refused(b.folder(), "no OCI layout")
    b.refused("/dev/null", "neither a file nor a folder")
    b.refused(t.tar(*GOOD), "plain root", "--pick", "a")


@test
def the_old_image_stays_when_the_new_is_refused(b):
    b.take(t.tar(*GOOD))
    old = b.info()
    b.refused(t.tar(*GOOD, t.entry("/x", b"")), "absolute")
    assert b.info() == old


def main():
    only = sys.argv[2:]
    todo = [f for f in tests if not only or f.__name__ in only]
    failed = 0
    print("1..%d" % len(todo), flush=True)
    for i, fn in enumerate(todo, 1):
        # Not in /tmp, which may have no user attributes.
        top = tempfile.mkdtemp(prefix="hutch-image-", dir=os.getcwd())
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
