#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""json_doc.py - hold JSON against the tables of docs/json.md

Usage: json_doc.py DOC examples         every example in DOC has its shape
       json_doc.py DOC list             "SHAPE<tab>COMMAND" of each example
       json_doc.py DOC check SHAPE      so has what stands on stdin

SHAPE is the name of a table, [NAME] for an array of such objects, or "NAME
lines" for one object a line; the shape "event" is that of its member "event".
An object must have every member of its table, and no other.
"""
import json
import re
import sys

KINDS = {"string": str, "number": int, "boolean": bool, "object": dict}


def read_doc(path):
    """Returns shapes: name -> {member: type}; examples: (shape, command,
    text)."""
    shapes, examples = {}, []
    table = example = None
    fenced = False
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if m := re.fullmatch(r"<!-- shape: (.*) -->", line):
            table = shapes.setdefault(m[1], {})
        elif m := re.fullmatch(r"<!-- example: ([^:]*): (.*) -->", line):
            example = [m[1], m[2], ""]
        elif line.startswith("```"):
            if fenced and example:
                examples.append(example)
                example = None
            fenced = not fenced
        elif fenced:
            if example:
                example[2] += line + "\n"
        elif m := re.match(r"\| `(\w+)` \| ([^|]*) \|", line):
            table[m[1]] = m[2].strip()
        elif line and not line.startswith("|"):
            table = None
    return shapes, examples


class Wrong(Exception):
    pass


def check_value(shapes, kind, value, where):
    for alternative in kind.split(" or "):
        if alternative == "null" and value is None:
            return
        if m := re.fullmatch(r"\[(\w+)\]", alternative):
            if isinstance(value, list):
                for i, v in enumerate(value):
                    check_value(shapes, m[1], v, f"{where}[{i}]")
                return
        elif alternative in KINDS:
            # A bool is an int to Python, not to us.
            if type(value) is KINDS[alternative]:
                return
        elif alternative in shapes and isinstance(value, dict):
            check_object(shapes, alternative, value, where)
            return
    raise Wrong(f"{where}: {value!r} is no {kind}")


def check_object(shapes, name, value, where):
    if not isinstance(value, dict):
        raise Wrong(f"{where}: {value!r} is no object")
    if name == "event":
        name = f"event {value.get('event')}"
    if name not in shapes:
        raise Wrong(f"{where}: there is no shape '{name}'")
    for member, kind in shapes[name].items():
        if member in value:
            check_value(shapes, kind, value[member], f"{where}.{member}")
        elif "absent" not in kind:
            raise Wrong(f"{where}: '{member}' is missing")
    for member in value:
        if member not in shapes[name]:
            raise Wrong(f"{where}: '{member}' is in no table")
    if "base64" in shapes[name] and ("text" in value) == ("base64" in value):
        raise Wrong(f"{where}: not one of text and base64")


def check_text(shapes, shape, text):
    if shape.endswith(" lines"):
        lines = text.splitlines()
        if not lines:
            raise Wrong("no line at all")
        for n, line in enumerate(lines, 1):
            check_object(shapes, shape[:-6], json.loads(line), f"line {n}")
    elif shape.startswith("["):
        check_value(shapes, shape, json.loads(text), shape)
    else:
        check_object(shapes, shape, json.loads(text), shape)


def main():
    shapes, examples = read_doc(sys.argv[1])
    if sys.argv[2] == "list":
        for shape, command, _ in examples:
            print(f"{shape}\t{command}")
        return 0
    if sys.argv[2] == "examples":
        todo = [(s, t) for s, _, t in examples]
    else:
        todo = [(sys.argv[3], sys.stdin.read())]
    if not todo:
        print("nothing to check")
        return 1
    for shape, text in todo:
        try:
            check_text(shapes, shape, text)
        except (Wrong, json.JSONDecodeError) as e:
            print(f"shape '{shape}': {e}\n{text}")
            return 1
    return 0


sys.exit(main())
