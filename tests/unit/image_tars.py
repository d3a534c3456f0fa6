# SPDX-License-Identifier: Apache-2.0
"""Archives and images for tests, sound ones and hostile ones: standard library
only, so that what is in them is what a test says, byte for byte."""
import gzip
import hashlib
import io
import json
import lzma
import os
import tarfile

LAYER = "application/vnd.oci.image.layer.v1.tar"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
MTIME = 1000000000


def entry(name, data=b"", type=tarfile.REGTYPE, **more):
    """An entry of tar(); data is bytes."""
    t = tarfile.TarInfo(name)
    t.type = type
    t.size = len(data)
    t.mtime = MTIME
    t.mode = 0o755 if type == tarfile.DIRTYPE else 0o644
    for k, v in more.items():
        setattr(t, k, v)
    return t, data


def folder(name, **more):
    return entry(name, type=tarfile.DIRTYPE, **more)


def symlink(name, to):
    return entry(name, type=tarfile.SYMTYPE, linkname=to)


def link(name, to):
    return entry(name, type=tarfile.LNKTYPE, linkname=to)


def tar(*entries, format=tarfile.PAX_FORMAT, **more):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format, **more) as t:
        for info, data in entries:
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def raw(name, data=b"", size=None, type=b"0", link=b"", edit=None):
    """One entry as it lies in a tar, for what tarfile refuses to write."""
    h = bytearray(512)
    h[0:len(name)] = name
    h[100:108] = b"0000644\0"
    h[108:116] = h[116:124] = b"0000000\0"
    h[124:136] = b"%011o\0" % (len(data) if size is None else size)
    h[136:148] = b"%011o\0" % MTIME
    h[156:157] = type
    h[157:157 + len(link)] = link
    h[257:265] = b"ustar\00000"
    if edit:
        edit(h)
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h) + data + bytes(-len(data) % 512)


END = bytes(1024)


def zstd(data):
    """A frame of stored blocks: no compressor is needed."""
    out = b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little")
    pieces = [data[i:i + 100000] for i in range(0, len(data), 100000)] or [b""]
    for i, p in enumerate(pieces):
        last = i == len(pieces) - 1
        out += (last | len(p) << 3).to_bytes(3, "little") + p
    return out


PACK = {"": lambda b: b, "gzip": lambda b: gzip.compress(b, mtime=0),
        "xz": lzma.compress, "zstd": zstd}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def desc(data, media, **more):
    return dict({"mediaType": media, "digest": digest(data),
                 "size": len(data)}, **more)


def dump(doc):
    return json.dumps(doc).encode()


class Image:
    """An image in memory; change what a test is about, then write it."""

    def __init__(self, *layers, config=None, pack="", **more):
        self.layers = [PACK[pack](b) for b in layers]
        self.suffix = "+" + pack if pack else ""
        self.config = dict({
            "os": "linux", "architecture": ARCH, "config": config or {},
            "rootfs": {"type": "layers",
                       "diff_ids": [digest(b) for b in layers]}}, **more)
        self.blobs = {}
        self.finish()

    def finish(self):
        """Makes all that follows from layers and configuration."""
        self.config_bytes = dump(self.config)
        self.manifest = {
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": desc(self.config_bytes, CONFIG),
            "layers": [desc(b, LAYER + self.suffix) for b in self.layers]}
        self.finish_manifest()
        return self

    def finish_manifest(self):
        self.manifest_bytes = dump(self.manifest)
        self.index = {"schemaVersion": 2, "manifests": [
            desc(self.manifest_bytes, MANIFEST)]}
        return self

    @property
    def id(self):
        return digest(self.config_bytes)[7:]

    def files(self):
        """Of an OCI layout: name to bytes."""
        ret = {"oci-layout": dump({"imageLayoutVersion": "1.0.0"}),
               "index.json": dump(self.index)}
        for b in self.layers + [self.config_bytes, self.manifest_bytes]:
            ret["blobs/sha256/" + digest(b)[7:]] = b
        ret.update(self.blobs)
        return ret

    def write_layout(self, path):
        for name, data in self.files().items():
            f = os.path.join(path, name)
            os.makedirs(os.path.dirname(f), exist_ok=True)
            with open(f, "wb") as out:
                out.write(data)
        return path

    def layout_tar(self):
        return tar(*[entry(n, d) for n, d in self.files().items()])

    def docker_save(self, tags=("a:1",), **more):
        """As docker save once wrote it: a folder a layer."""
        names = ["%064x/layer.tar" % i for i in range(len(self.layers))]
        doc = dict({"Config": self.id + ".json", "RepoTags": list(tags),
                    "Layers": names}, **more)
        return [entry("manifest.json", dump([doc])),
                entry(self.id + ".json", self.config_bytes)] + [
            entry(n, b) for n, b in zip(names, self.layers)]
