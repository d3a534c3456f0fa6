#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""protocol_page.py - does the Python client say what docs/protocol.md says?

Usage: protocol_page.py TREE

Each hex example of the page is composed, or parsed, by the client, and its
table of types is compared with the client's. Prints TAP.
"""
import pathlib
import re
import sys

TREE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(TREE / "tests/integration"))
sys.dont_write_bytecode = True
import agent_client as c  # noqa: E402

PAGE = (TREE / "docs/protocol.md").read_text()
START = 0x17979cfe362a0000
END = 0x17979cfe8f922f00

NOTES_TXT = c.Entry(c.REGULAR, 0o644, 1000, 100, 2, 1, 0, 0, 5, 8, 4711, START,
                    END, END, b"notes.txt", b"")

COMPOSED = {
    "HELLO": c.hello(),
    "EXEC": c.exec_request(
        [b"sh", b"-c", b"exit 7"], flags=0x122, env=[b"LANG=C"],
        id=b"build-1", user=b"1000:1000", cwd=b"/tmp", grace=5000,
        timeout=60000, ring=4096, pids=64, memory=1 << 20, cpu_weight=200),
    "STDIN": c.frame("STDIN", b"hi\n"),
    "STDIN_CLOSE": c.frame("STDIN_CLOSE"),
    "SIGNAL": c.signal_frame(2, c.TREE),
    "RESIZE": c.resize_frame(132, 43),
    "CLOSE_STDOUT": c.frame("CLOSE_STDOUT"),
    "CLOSE_STDERR": c.frame("CLOSE_STDERR"),
    "ATTACH": c.attach_request(b"build-1", c.A_FOLLOW | c.A_BACK, 262144, 0),
    "LIST": c.list_request(env=True),
    "KILL": c.kill_request(b"build-1", 15, c.TREE, 10000),
    "DROP": c.drop_request(b"build-1"),
    "WAIT_PORT": c.wait_port_request(8080, b"web"),
    "CONNECT": c.connect_request(8080),
    "PORTS": c.frame("PORTS"),
    "EVENTS": c.frame("EVENTS"),
    "SHUTDOWN": c.frame("SHUTDOWN", (10000).to_bytes(8, "little")),
    "CLOCK": c.frame("CLOCK", START.to_bytes(8, "little")),
    "STAT": c.frame("STAT"),
    "FILE": c.file_request(c.PUT, b"/srv", flags=c.F_ARCHIVE | c.F_CONTENTS,
                           user=b"1000:1000", other=b"app"),
    "FILE_ENTRY": c.entry_frame(NOTES_TXT),
    "FILE_DATA": c.file_data(4096, b"hi\n"),
    "FILE_XATTR": c.xattr_frame(b"user.a", b"1"),
    "FILE_END": c.file_end(4099),
    "FILE_UP": c.frame("FILE_UP"),
    "FILE_COMMIT": c.frame("FILE_COMMIT"),
}
PARSED = {
    "HELLO": c.Hello(1, 0),
    "STARTED": c.Started(57, START, b"build-1"),
    "STDOUT": c.Output(1, 1021, START, b"hi\n"),
    "STDERR": c.Output(2, 0, START, b"oh\n"),
    "STDIN_ACK": c.StdinAck(65536, 1),
    "EXIT": c.Exit(c.EXITED, 1, 0, 7, 1024, 6, 1000, 0, END),
    "TRUNCATED": c.Truncated(1, 4096, 1000),
    "PROCESS": c.ProcessInfo(
        57, c.LINGERING, c.EXITED, 0x220, 7, START, END, 60000, 1024, 6, 1000,
        0, 1 << 20, 64, 200, 1, 5000, b"build-1", b"1000:1000", b"/tmp",
        [b"sh", b"-c", b"exit 7"], [b"LANG=C"]),
    "ERROR": (2, c.NOT_FOUND, b"'foo' is not found"),
    "EVENT": c.Event(c.MAIN_ENDED, c.SIGNALLED, c.TIMED_OUT, 9, END,
                     b"build-1", b""),
    "FILE_ENTRY": NOTES_TXT,
    "FILE_DATA": c.FileData(4096, b"hi\n"),
    "FILE_XATTR": c.Xattr(b"user.a", b"1"),
    "FILE_END": c.FileEnd(4099, 0),
    "FILE_UP": c.Up(),
    "FILE_NOTE": c.Note(13, b"'x': Permission denied"),
    "FILE_EVENT": c.FileEvent(6, 1, 77, b"src/old"),
    "PORT": c.Port(8080, 4, 57, bytes([127, 0, 0, 1]) + bytes(12), b"webd"),
    "DONE": c.Done(),
    "STAT_ANSWER": c.Stat(5_000_000_000, 264241152, 240123904, 12, 2, 1, 9, 3),
}


def examples():
    for name, text in re.findall(r"```hex (\w+)\n(.*?)```", PAGE, re.S):
        yield name, bytes.fromhex(text)


def bytes_of(word):
    n, _, unit = word.strip().partition(" ")
    return int(n) << (20 if unit == "MiB" else 0)


def page_types():
    """Rows such as | 0x10 | EXEC | client | 56 to 2 MiB | |"""
    for row in re.findall(r"^\| (0x\w\w) \| (\w+) \| ([\w ]+) \| ([^|]+) \| "
                          r"[^|]*\|$", PAGE, re.M):
        least, _, most = row[3].partition(" to ")
        sender = row[2].replace("a file", "file")
        yield (row[1], int(row[0], 16), sender, bytes_of(least),
               bytes_of(most or least))


def looks(got):
    if isinstance(got, c.Refused):
        return got.code, got.kind, got.text
    return got


def checks():
    yield "types", list(page_types()), c.TYPES
    seen = set()
    for name, example in examples():
        seen.add(name)
        if name in COMPOSED:
            yield f"{name} composed", COMPOSED[name], example
        if name in PARSED:
            yield f"{name} parsed", looks(c.parse(name, example[8:])), \
                PARSED[name]
    # The boot message is a file's, not a client's.
    yield "examples", seen, {t[0] for t in c.TYPES}


def main():
    results = list(checks())
    print(f"1..{len(results)}")
    bad = 0
    for i, (name, got, want) in enumerate(results, 1):
        ok = got == want
        bad += not ok
        print(f"{'ok' if ok else 'not ok'} {i} - {name}")
        if not ok:
            print(f"# got  {got}\n# want {want}")
    return bad > 0


sys.exit(main())
