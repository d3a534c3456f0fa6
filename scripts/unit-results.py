#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unit-results.py - what meson's tests said, counted by test function

Usage: unit-results.py TESTLOG.JSON MESON-EXIT-CODE

Prints a line a program, and the output of those that failed. Writes
"PASSED FAILED SKIPPED" to a file named counts beside the log. A program that
crashed or timed out counts as one failure more than it reported, and so does
one that skips all it has; one that speaks no TAP is one test, told by its exit
code.
"""
import json
import pathlib
import re
import sys


def main():
    log, code = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    passed = failed = skipped = 0
    lines = log.read_text().splitlines() if log.exists() else []
    for line in lines:
        t = json.loads(line)
        out = t.get("stdout") or ""
        skip = len(re.findall(r"^ok\b.* # SKIP\b", out, re.M))
        good = len(re.findall(r"^ok\b", out, re.M)) - skip
        bad = len(re.findall(r"^not ok\b", out, re.M))
        name = t["name"].split(" / ")[-1]
        if t["result"] == "OK" and not good and not bad:
            good = 1
        if t["result"] != "OK" and not bad:
            bad = 1
        passed += good
        failed += bad
        skipped += skip
        also = f", {skip} skipped" if skip else ""
        if not bad:
            print(f"ok - {name}: {good} passed{also}")
            continue
        print(out[-20000:])
        print((t.get("stderr") or "")[-20000:])
        print(f"not ok - {name}: {good} passed, {bad} failed{also} "
              f"({t['result'].lower()})")
    if not lines or code and not failed:
        print(f"not ok - meson test ended with {code}")
        failed += 1
    (log.parent / "counts").write_text(
        f"{passed} {failed} {skipped}\n")


if __name__ == "__main__":
    main()
