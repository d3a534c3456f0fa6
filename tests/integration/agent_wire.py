# SPDX-License-Identifier: Apache-2.0
"""agent_wire.py - frames of the agent, from docs/protocol.md alone

Composes what a client sends and parses what the agent sends, complaining of
all that the page does not allow. Written from that page without a look at the
code on either side, so that what the page leaves out shows. Strings are bytes.
"""
import collections
import struct

PORT = 1000
VERSION = 1
MAGIC = 0x48435448
DATA_MAX = 65536
WINDOW = 256 << 10
DAY_MS = 86400000

# Types: name, number, who sends it, smallest and largest payload.
TYPES = [
    ("HELLO", 0x01, "both", 16, 16),
    ("EXEC", 0x10, "client", 56, 2 << 20),
    ("EVENTS", 0x11, "client", 0, 0),
    ("SHUTDOWN", 0x12, "client", 8, 8),
    ("CLOCK", 0x13, "client", 8, 8),
    ("STAT", 0x14, "client", 0, 0),
    ("ATTACH", 0x15, "client", 30, 92),
    ("LIST", 0x16, "client", 13, 76),
    ("KILL", 0x17, "client", 22, 84),
    ("DROP", 0x18, "client", 6, 68),
    ("WAIT_PORT", 0x19, "client", 13, 76),
    ("CONNECT", 0x1a, "client", 8, 8),
    ("PORTS", 0x1b, "client", 0, 0),
    ("STDIN", 0x20, "client", 1, DATA_MAX),
    ("STDIN_CLOSE", 0x21, "client", 0, 0),
    ("SIGNAL", 0x22, "client", 8, 8),
    ("RESIZE", 0x23, "client", 4, 4),
    ("CLOSE_STDOUT", 0x24, "client", 0, 0),
    ("CLOSE_STDERR", 0x25, "client", 0, 0),
    ("FILE", 0x30, "client", 32, 8476),
    ("FILE_ENTRY", 0x31, "both", 90, 4440),
    ("FILE_DATA", 0x32, "both", 9, DATA_MAX + 8),
    ("FILE_XATTR", 0x33, "both", 6, 65796),
    ("FILE_END", 0x34, "both", 16, 16),
    ("FILE_UP", 0x35, "both", 0, 0),
    ("FILE_COMMIT", 0x36, "client", 0, 0),
    ("STARTED", 0x40, "agent", 22, 84),
    ("STDOUT", 0x41, "agent", 17, DATA_MAX + 16),
    ("STDERR", 0x42, "agent", 17, DATA_MAX + 16),
    ("EXIT", 0x43, "agent", 56, 56),
    ("ERROR", 0x44, "agent", 13, 1036),
    ("EVENT", 0x45, "agent", 34, 1120),
    ("DONE", 0x46, "agent", 0, 0),
    ("STAT_ANSWER", 0x47, "agent", 48, 48),
    ("STDIN_ACK", 0x48, "agent", 16, 16),
    ("TRUNCATED", 0x49, "agent", 24, 24),
    ("PROCESS", 0x4a, "agent", 120, 65536),
    ("FILE_NOTE", 0x4b, "agent", 13, 1036),
    ("FILE_EVENT", 0x4c, "agent", 13, 4108),
    ("PORT", 0x4d, "agent", 29, 92),
    ("BOOT", 0x60, "file", 24, 2 << 20),
]
NUMBER = {name: number for name, number, _, _, _ in TYPES}
BY_NUMBER = {t[1]: t for t in TYPES}

# Flags of EXEC.
PTY, STDIN, STDOUT_NULL, STDERR_NULL, COMBINED = 0x01, 0x02, 0x04, 0x08, 0x10
MAIN, ENV_CLEAR, DETACH, KEEP_HEAD = 0x20, 0x40, 0x80, 0x100

# Flags of ATTACH.
A_STDIN, A_FOLLOW, A_NO_STDOUT, A_NO_STDERR = 0x01, 0x02, 0x04, 0x08
A_BACK, A_QUIET = 0x10, 0x20

# Scopes of SIGNAL and KILL.
ONE, TREE = 1, 2

# Kinds of ERROR.
GENERAL, NOT_FOUND, NOT_EXECUTABLE, BAD_REQUEST, LIMIT, NO_PROCESS, \
    BOOT = range(1, 8)

# How a process ended, what EXIT and PROCESS say of its state, and flags.
EXITED, SIGNALLED = 1, 2
SOME_LEFT, NONE_LEFT = 1, 2
RUNNING, LINGERING, ENDED = 1, 2, 3
TIMED_OUT, OOM, CORE = 1, 2, 4

# What an EVENT says.
MAIN_ENDED, BOOT_PROBLEM, PROCESS_STARTED, PROCESS_EXITED = 1, 2, 3, 4
OOM_EVENT, BUSY, BOOT_FAILED = 5, 6, 7

# Operations of FILE, and its flags.
READ, WRITE, STAT_FILE, LIST_FOLDER, MKDIR, REMOVE, RENAME, GET, PUT, \
    WATCH = range(1, 11)
F_FOLLOW, F_PARENTS, F_RECURSIVE, F_FORCE = 0x01, 0x02, 0x04, 0x08
F_ATOMIC, F_ARCHIVE, F_CONTENTS, F_ONE_FS = 0x10, 0x20, 0x40, 0x80
F_REPLACE = 0x100

# Kinds of an entry.
REGULAR, FOLDER, SYMLINK, FIFO, SOCKET, CHAR, BLOCK, LINK = range(1, 9)


class Broken(Exception):
    """The agent did not keep to the page."""


class Refused(Exception):
    """The agent answered ERROR."""

    def __init__(self, code, kind, text):
        super().__init__(f"{text.decode(errors='replace')} "
                         f"(errno {code}, kind {kind})")
        self.code, self.kind, self.text = code, kind, text


def named(name, fields):
    return collections.namedtuple(name, fields)


Hello = named("Hello", "version features")
Started = named("Started", "pid start id")
Output = named("Output", "stream cursor time data")
Exit = named("Exit", "how state flags value stdout_total stderr_total "
             "stdout_cut stderr_cut end")
Event = named("Event", "what how flags value time id text")
Done = named("Done", "")
Stat = named("Stat", "uptime memory available started running lingering "
             "exited connections")
StdinAck = named("StdinAck", "consumed flags")
Truncated = named("Truncated", "stream cursor lost")
ProcessInfo = named(
    "ProcessInfo", "pid state how flags value start end timeout stdout_total "
    "stderr_total stdout_cut stderr_cut memory pids cpu_weight attached "
    "grace id user cwd argv env")
Entry = named("Entry", "kind mode uid gid nlink link major minor size blocks "
              "ino atime mtime ctime name target")
FileData = named("FileData", "offset data")
Xattr = named("Xattr", "name value")
FileEnd = named("FileEnd", "size flags")
Up = named("Up", "")
Note = named("Note", "code text")
FileEvent = named("FileEvent", "what flags cookie path")
Port = named("Port", "port family pid address name")


# ---- Payloads ------------------------------------------------------------

def string(b):
    return struct.pack("<I", len(b)) + b + b"\0"


class Reader:
    """The payload of one frame; complains of whatever the page forbids."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def fields(self, form):
        form = "<" + form
        size = struct.calcsize(form)
        if size > len(self.data) - self.at:
            raise Broken(f"a payload of {len(self.data)} bytes ends early")
        values = struct.unpack_from(form, self.data, self.at)
        self.at += size
        return values

    def string(self, limit=None):
        n = self.fields("I")[0]
        if n >= len(self.data) - self.at:
            raise Broken(f"a string of {n} bytes goes past the end")
        s = self.data[self.at:self.at + n]
        if self.data[self.at + n] != 0 or b"\0" in s:
            raise Broken("a string with its NUL in the wrong place")
        if limit is not None and n > limit:
            raise Broken(f"a string of {n} bytes, where {limit} is the most")
        self.at += n + 1
        return s

    def end(self):
        if self.at != len(self.data):
            raise Broken(f"{len(self.data) - self.at} bytes too many")


def zero(*values):
    if any(values):
        raise Broken("a reserved field that is not 0")


def below_2_63(*values):
    if any(v >> 63 for v in values):
        raise Broken("a time or cursor of 2^63 or more")


def one_of(value, allowed, what):
    if value not in allowed:
        raise Broken(f"{what} {value}")


def check_end(how, value, flags):
    one_of(how, (EXITED, SIGNALLED), "how")
    if how == EXITED and value > 255 or \
            how == SIGNALLED and not 1 <= value <= 64:
        raise Broken(f"how {how} with the value {value}")
    if flags & ~7:
        raise Broken(f"flags {flags:#x} of an exit")


def parse_hello(r):
    magic, version, reserved, features = r.fields("IHHQ")
    zero(reserved)
    if magic != MAGIC:
        raise Broken(f"magic {magic:#x}")
    return Hello(version, features)


def parse_started(r):
    pid, reserved, start = r.fields("IIQ")
    zero(reserved)
    below_2_63(start)
    return Started(pid, start, r.string(63))


def parse_output(r, stream):
    cursor, when = r.fields("QQ")
    below_2_63(cursor, when)
    data = r.data[r.at:]
    r.at = len(r.data)
    return Output(stream, cursor, when, data)


def parse_exit(r):
    how, state, flags, value, reserved = r.fields("HHIII")
    totals = r.fields("QQQQQ")
    zero(reserved)
    below_2_63(*totals)
    check_end(how, value, flags)
    one_of(state, (SOME_LEFT, NONE_LEFT), "state")
    if totals[2] > totals[0] or totals[3] > totals[1]:
        raise Broken("more is cut than there was")
    return Exit(how, state, flags, value, *totals)


def parse_error(r):
    code, kind, reserved = r.fields("IHH")
    zero(reserved)
    one_of(kind, range(1, 7), "kind of error")
    return Refused(code, kind, r.string(1023))


def parse_event(r):
    what, how, flags, value, reserved, when = r.fields("HHIIIQ")
    zero(reserved)
    below_2_63(when)
    one_of(what, range(1, 7), "event")
    if what in (MAIN_ENDED, PROCESS_EXITED):
        check_end(how, value, flags)
    elif how or what != PROCESS_STARTED and flags:
        raise Broken(f"event {what} with how {how} and flags {flags:#x}")
    return Event(what, how, flags, value, when, r.string(63), r.string())


def parse_stat(r):
    return Stat(*r.fields("QQQQIIII"))


def parse_stdin_ack(r):
    consumed, flags, reserved = r.fields("QII")
    zero(reserved, flags & ~1)
    below_2_63(consumed)
    return StdinAck(consumed, flags)


def parse_truncated(r):
    stream, a, b, cursor, lost = r.fields("HHIQQ")
    zero(a, b)
    one_of(stream, (1, 2), "stream")
    below_2_63(cursor, lost)
    if lost == 0:
        raise Broken("TRUNCATED of nothing")
    return Truncated(stream, cursor, lost)


def parse_process(r):
    pid, state, how, flags, value = r.fields("IHHII")
    longs = r.fields("8Q")
    pids, weight, attached, argc, envc, grace = r.fields("6I")
    one_of(grace, range(DAY_MS + 1), "grace")
    one_of(state, (RUNNING, LINGERING, ENDED), "state")
    if flags & ~0x3f7:
        raise Broken(f"flags {flags:#x} of a process")
    if state == RUNNING:
        zero(how, value, flags & 7, longs[1])
    else:
        check_end(how, value, flags & 7)
    below_2_63(*longs[0:2], *longs[3:7])
    name, user, cwd = r.string(63), r.string(), r.string()
    argv = [r.string() for _ in range(argc)]
    env = [r.string() for _ in range(envc)]
    return ProcessInfo(pid, state, how, flags, value, *longs, pids, weight,
                       attached, grace, name, user, cwd, argv, env)


def check_name(name):
    if b"/" in name or name in (b".", b"..") or len(name) > 255:
        raise Broken(f"an entry called {name!r}")
    return name


def parse_entry(r):
    kind, reserved, mode, *ids = r.fields("HHIIIIIII")
    numbers = r.fields("QQQqqq")
    zero(reserved)
    one_of(kind, range(1, 9), "kind of entry")
    one_of(mode, range(0o10000), "mode")
    below_2_63(*numbers[:2])
    name, target = check_name(r.string()), r.string(4095)
    if (kind == SYMLINK) != bool(target):
        raise Broken(f"kind {kind} with the target {target!r}")
    return Entry(kind, mode, *ids, *numbers, name, target)


def rest(r):
    data = r.data[r.at:]
    r.at = len(r.data)
    return data


def parse_file_data(r):
    offset, = r.fields("Q")
    below_2_63(offset)
    return FileData(offset, rest(r))


def parse_xattr(r):
    return Xattr(r.string(255), rest(r))


def parse_file_end(r):
    size, flags, reserved = r.fields("QII")
    zero(reserved, flags & ~1)
    below_2_63(size)
    return FileEnd(size, flags)


def parse_note(r):
    code, reserved = r.fields("II")
    zero(reserved)
    return Note(code, r.string(1023))


def parse_file_event(r):
    what, flags, cookie = r.fields("HHI")
    zero(flags & ~1)
    one_of(what, range(1, 11), "event of a file")
    return FileEvent(what, flags, cookie, r.string(4095))


def parse_port(r):
    port, family, pid, address = r.fields("HHI16s")
    one_of(family, (4, 6), "family")
    if family == 4 and any(address[4:]):
        raise Broken("an IPv4 address of more than 4 bytes")
    return Port(port, family, pid, address, r.string(63))


PARSERS = {
    "HELLO": parse_hello,
    "STARTED": parse_started,
    "STDOUT": lambda r: parse_output(r, 1),
    "STDERR": lambda r: parse_output(r, 2),
    "EXIT": parse_exit,
    "ERROR": parse_error,
    "EVENT": parse_event,
    "DONE": lambda r: Done(),
    "STAT_ANSWER": parse_stat,
    "STDIN_ACK": parse_stdin_ack,
    "TRUNCATED": parse_truncated,
    "PROCESS": parse_process,
    "FILE_ENTRY": parse_entry,
    "FILE_DATA": parse_file_data,
    "FILE_XATTR": parse_xattr,
    "FILE_END": parse_file_end,
    "FILE_UP": lambda r: Up(),
    "FILE_NOTE": parse_note,
    "FILE_EVENT": parse_file_event,
    "PORT": parse_port,
}


def parse(kind, payload):
    r = Reader(payload)
    answer = PARSERS[kind](r)
    r.end()
    return answer


# ---- Requests ------------------------------------------------------------

def frame(kind, payload=b""):
    return struct.pack("<IHH", len(payload), NUMBER[kind], 0) + payload


def hello(version=VERSION):
    return frame("HELLO", struct.pack("<IHHQ", MAGIC, version, 0, 0))


def exec_request(argv, *, flags=0, env=(), id=b"", user=b"", cwd=b"",
                 grace=0, timeout=0, columns=0, rows=0, ring=0, pids=0,
                 memory=0, cpu_weight=0):
    return frame("EXEC", struct.pack(
        "<IIQHHIIIIIQII", flags, grace, timeout, columns, rows, len(argv),
        len(env), 0, ring, pids, memory, cpu_weight, 0) + b"".join(
            string(s) for s in (id, user, cwd, *argv, *env)))


def attach_request(id, flags=0, stdout_from=0, stderr_from=0):
    return frame("ATTACH", struct.pack("<IIQQ", flags, 0, stdout_from,
                                       stderr_from) + string(id))


def list_request(id=b"", env=False):
    return frame("LIST", struct.pack("<II", int(env), 0) + string(id))


def kill_request(id, signal, scope=TREE, grace=0):
    return frame("KILL", struct.pack("<IHHII", signal, scope, 0, grace, 0) +
                 string(id))


def drop_request(id):
    return frame("DROP", string(id))


def wait_port_request(port, id=b""):
    return frame("WAIT_PORT", struct.pack("<HHI", port, 0, 0) + string(id))


def connect_request(port):
    return frame("CONNECT", struct.pack("<HHI", port, 0, 0))


def file_request(op, path, *, flags=0, mode=0, user=b"", other=b""):
    return frame("FILE", struct.pack("<HHIII", op, 0, flags, mode, 0) +
                 string(user) + string(path) + string(other))


def entry_frame(e):
    return frame("FILE_ENTRY", struct.pack(
        "<HHIIIIIIIQQQqqq", e.kind, 0, *e[1:14]) + string(e.name) +
        string(e.target))


def file_data(offset, data):
    return frame("FILE_DATA", struct.pack("<Q", offset) + data)


def xattr_frame(name, value):
    return frame("FILE_XATTR", string(name) + value)


def file_end(size, flags=0):
    return frame("FILE_END", struct.pack("<QII", size, flags, 0))


def signal_frame(signal, scope=ONE):
    return frame("SIGNAL", struct.pack("<IHH", signal, scope, 0))


def resize_frame(columns, rows):
    return frame("RESIZE", struct.pack("<HH", columns, rows))
