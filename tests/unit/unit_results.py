#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unit_results.py - is what scripts/unit-results.py counts what there was?

Usage: unit_results.py TREE: speaks TAP."""
import contextlib
import io
import json
import pathlib
import runpy
import sys
import tempfile

SCRIPT = pathlib.Path(sys.argv[1]) / "scripts/unit-results.py"

# What it is, meson's result, what was printed, and what is to be counted.
CASES = (
    ("tap", "OK", "1..2\nok 1 - a\nok 2 - b\n", "2 0 0"),
    ("skip", "OK", "1..3\nok 1 - a\nok 2 - b # SKIP no c\nok 3\n", "2 0 1"),
    ("word", "OK", "1..1\nok 1 - SKIP is a word\n", "1 0 0"),
    ("fails", "FAIL", "1..3\nok 1\nnot ok 2\nok 3 # SKIP d\n", "1 1 1"),
    ("crash", "FAIL", "1..2\nok 1\n", "1 1 0"),
    ("all of it skipped", "SKIP", "1..1\nok 1 # SKIP e\n", "0 1 1"),
    ("none to run", "SKIP", "1..0 # SKIP f\n", "0 1 0"),
    ("no tap", "OK", "hello\n", "1 0 0"),
    ("silent", "FAIL", None, "0 1 0"),
)


def counts(*lines, code=0):
    with tempfile.TemporaryDirectory() as top:
        log = pathlib.Path(top) / "testlog.json"
        log.write_text("".join(json.dumps(x) + "\n" for x in lines))
        sys.argv = [str(SCRIPT), str(log), str(code)]
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(SCRIPT), run_name="__main__")
        return (log.parent / "counts").read_text().strip()


def line(result, out):
    return {"name": "hutch:unit / x", "result": result, "stdout": out}


def main():
    found = [(what, counts(line(result, out)), want)
             for what, result, out, want in CASES]
    found.append(("all together", counts(*(line(r, o)
                                           for _, r, o, _ in CASES)), "8 5 3"))
    found.append(("nothing", counts(), "0 1 0"))
    found.append(("meson itself", counts(line("OK", "ok 1\n"), code=1),
                  "1 1 0"))
    print(f"1..{len(found)}")
    for i, (what, got, want) in enumerate(found, 1):
        print("ok" if got == want else f"# {got}, not {want}\nnot ok",
              f"{i} - {what}")
    return any(got != want for _, got, want in found)


sys.exit(main())
