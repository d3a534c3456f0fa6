#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py - clang-tidy over the tree, in parallel, each state of a file once

Usage: tidy.py BUILD CACHE [FILE...]

BUILD is a folder that meson has set up for clang and ninja has built, so that
it knows the flags of each file and the headers each one reads. A file is
analysed again when its text, its flags, a header of ours that it reads, the
configuration or clang-tidy itself has changed. CACHE keeps one empty file for
each state that was found clean; what was not used for a month goes.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

TIDY = "clang-tidy-14"
KEEP_S = 31 * 24 * 3600


def digest(*parts):
    h = hashlib.sha256()
    for p in parts:
        h.update(p if isinstance(p, bytes) else str(p).encode())
        h.update(b"\0")
    return h.hexdigest()


def file_digests():
    """Returns a function: path -> hash of its bytes, remembered."""
    seen = {}

    def get(path):
        if path not in seen:
            seen[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return seen[path]
    return get


def headers_by_object(build, tree):
    """What ninja noted while compiling: object -> files of ours it read."""
    out = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    deps, now = {}, None
    for line in out.splitlines():
        m = re.match(r"(\S+): #deps", line)
        if m:
            now = deps.setdefault(m.group(1), [])
        elif line.strip() and now is not None:
            path = (build / line.strip()).resolve()
            if tree in path.parents:
                now.append(path)
    return deps


def configs(path, tree):
    """The .clang-tidy files that apply: the folder's and all above it."""
    for folder in path.parents:
        if (folder / ".clang-tidy").exists():
            yield folder / ".clang-tidy"
        if folder == tree:
            return


def analyse(build, path):
    r = subprocess.run([TIDY, "--quiet", "-p", str(build), str(path)],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True)
    if r.returncode == 0:
        return ""
    # The notes under a finding are many; clang-tidy -p BUILD FILE has them.
    errors = [line for line in r.stdout.splitlines() if ": error: " in line]
    return "\n".join(errors) or r.stdout + r.stderr


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    tree = pathlib.Path(__file__).resolve().parent.parent
    build = pathlib.Path(sys.argv[1]).resolve()
    cache = pathlib.Path(sys.argv[2])
    only = {pathlib.Path(f).resolve() for f in sys.argv[3:]}
    cache.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], check=True,
                             stdout=subprocess.PIPE).stdout
    # The analyser reads libc's headers too.
    libc = os.confstr("CS_GNU_LIBC_VERSION")
    deps = headers_by_object(build, tree)
    sha = file_digests()

    todo = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix != ".c" or tree not in path.parents:
            continue
        if (only and path not in only) or path in todo:
            continue
        read = sorted(set(deps.get(entry["output"], [])) | {path})
        flags = re.sub(r"-(MQ|MF|o) \S+", "", entry["command"])
        # Where the tree and the build lie is no part of a file's state.
        rel = os.path.relpath(tree, build)
        flags = flags.replace(str(tree), "").replace(rel, "")
        key = digest(version, libc, flags,
                     *(f"{p.relative_to(tree)}={sha(p)}" for p in read),
                     *(sha(p) for p in configs(path, tree)))
        todo[path] = key

    stale = {p: key for p, key in todo.items() if not (cache / key).exists()}
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(analyse, build, p): (p, key)
                for p, key in stale.items()}
        for job in concurrent.futures.as_completed(jobs):
            path, key = jobs[job]
            text = job.result()
            if text:
                bad += 1
                print(f"{path.relative_to(tree)}:\n{text}", flush=True)
            else:
                (cache / key).touch()
    for path, key in todo.items():
        if path not in stale:
            os.utime(cache / key)
    for f in cache.iterdir():
        if f.stat().st_mtime < time.time() - KEEP_S:
            f.unlink(missing_ok=True)
    print(f"{len(todo)} files, {len(stale)} analysed, {bad} with findings")
    sys.exit(bad > 0 or not todo)


if __name__ == "__main__":
    main()
