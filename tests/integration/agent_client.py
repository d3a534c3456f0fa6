# SPDX-License-Identifier: Apache-2.0
"""agent_client.py - a client of the guest's agent, from docs/protocol.md alone

Standard library only; strings are bytes. See agent_wire.py for the frames.

    agent = Agent(path_of_the_vsock_socket)
    end = agent.run([b"echo", b"hi"])          # Result(stdout=b"hi\\n", ...)
    job = agent.exec([b"cat"], flags=STDIN)    # a Process, frames one by one
"""
import os
import select
import socket
import struct
import time

# All of its names are meant to be had from here too.
from agent_wire import *  # noqa: F401,F403

PATIENCE_S = 240


# ---- A connection --------------------------------------------------------

class Connection:
    """Frames over one stream. recv() gives None when the agent has shut it."""

    def __init__(self, path, port=PORT):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE_S)
        # A path of any depth: a socket's name has 107 bytes at the most.
        folder = os.open(os.path.dirname(path) or ".", os.O_PATH)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/"
                              f"{os.path.basename(path)}")
        finally:
            os.close(folder)
        self.inbox = bytearray()
        self.outbox = bytearray()
        self.greeted = False
        self.sock.sendall(b"CONNECT %d\n" % port)
        answer = self._line()
        if not answer.startswith(b"OK "):
            raise Broken(f"CONNECT was answered with {answer!r}")

    def _line(self):
        line = b""
        while not line.endswith(b"\n"):
            b = self.sock.recv(1)
            if not b:
                raise Broken("closed in answer to CONNECT")
            line += b
        return line

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        """Takes it all; what the agent has no room for waits for recv()."""
        self.outbox += data
        self._flush()

    def _flush(self):
        while self.outbox:
            try:
                n = self.sock.send(memoryview(self.outbox)[:1 << 16],
                                   socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            del self.outbox[:n]

    def fill(self, timeout=PATIENCE_S):
        """Waits for bytes. True: some; False: none in time; None: the end."""
        end = time.monotonic() + timeout
        while True:
            left = max(0, end - time.monotonic())
            want = [self.sock] if self.outbox else []
            can = select.select([self.sock], want, [], left)
            if can[1]:
                self._flush()
            if can[0]:
                data = self.sock.recv(1 << 18)
                self.inbox += data
                return True if data else None
            if not can[1] and left == 0:
                return False

    def _header(self):
        """Type and length of the next frame, checked before it is there."""
        length, number, reserved = struct.unpack_from("<IHH", self.inbox)
        zero(reserved)
        if number not in BY_NUMBER or \
                BY_NUMBER[number][2] not in ("agent", "both"):
            raise Broken(f"a frame of type {number:#x}")
        name, _, _, least, most = BY_NUMBER[number]
        if not least <= length <= most:
            raise Broken(f"{name} of {length} bytes")
        return name, length

    def ready(self):
        """The next frame if all of it is here, else None."""
        if len(self.inbox) < 8:
            return None
        name, length = self._header()
        if len(self.inbox) < 8 + length:
            return None
        payload = bytes(self.inbox[8:8 + length])
        del self.inbox[:8 + length]
        answer = parse(name, payload)
        # Who is no client of the protocol gets no HELLO, but an ERROR.
        if (name == "HELLO") == self.greeted and \
                (self.greeted or name != "ERROR"):
            raise Broken("HELLO is not the first frame, or not the only one")
        self.greeted = True
        return answer

    def recv(self, timeout=PATIENCE_S):
        """The next frame but HELLO; None at the end; TimeoutError."""
        end = time.monotonic() + timeout
        while True:
            answer = self.ready()
            if isinstance(answer, Hello):
                if answer.version != VERSION:
                    raise Broken(f"version {answer.version}")
                continue
            if answer is not None:
                return answer
            got = self.fill(max(0, end - time.monotonic()))
            if got is None:
                if self.inbox:
                    raise Broken(f"{len(self.inbox)} bytes of a frame, then "
                                 "the end")
                return None
            if not got:
                raise TimeoutError(f"no frame within {timeout} s")


# ---- A process -----------------------------------------------------------

Result = named("Result", "started stdout stderr truncated exit")


class Process:
    """One EXEC or ATTACH under way."""

    def __init__(self, conn, first):
        self.conn, self.started = conn, first
        self.sent = self.consumed = 0
        self.deaf = False
        self.next = {1: None, 2: None}
        self.last = None

    def close(self):
        self.conn.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def room(self):
        return WINDOW - (self.sent - self.consumed)

    def write(self, data):
        """As much as the window takes now. Return: how much that was."""
        n = 0
        while n < len(data) and self.room() and not self.deaf:
            piece = data[n:n + min(DATA_MAX, self.room())]
            self.conn.send(frame("STDIN", piece))
            self.sent += len(piece)
            n += len(piece)
        return n

    def close_stdin(self):
        self.conn.send(frame("STDIN_CLOSE"))

    def signal(self, number, scope=ONE):
        self.conn.send(signal_frame(number, scope))

    def resize(self, columns, rows):
        self.conn.send(resize_frame(columns, rows))

    def close_output(self, stream):
        self.conn.send(frame("CLOSE_STDOUT" if stream == 1
                             else "CLOSE_STDERR"))

    def _check(self, f):
        """Cursors have no gap that was not told."""
        if isinstance(f, StdinAck):
            if not self.consumed <= f.consumed <= self.sent:
                raise Broken(f"{f.consumed} of {self.sent} consumed")
            self.consumed, self.deaf = f.consumed, self.deaf or f.flags == 1
        elif isinstance(f, Truncated):
            at = self.next[f.stream]
            if at is not None and f.cursor - f.lost != at:
                raise Broken(f"TRUNCATED at {at}: {f}")
            self.next[f.stream] = f.cursor
        elif isinstance(f, Output):
            at = self.next[f.stream]
            if at is not None and f.cursor != at:
                raise Broken(f"output at {f.cursor}, after {at}")
            self.next[f.stream] = f.cursor + len(f.data)
        elif isinstance(f, (Exit, Done)):
            self.last = f
        elif isinstance(f, Refused):
            raise f
        else:
            raise Broken(f"{f} in the middle")

    def recv(self, timeout=PATIENCE_S):
        """The next frame; None after the last."""
        f = self.conn.recv(timeout)
        if f is None:
            if self.last is None:
                raise Broken("the end without EXIT")
            return None
        if self.last is not None:
            raise Broken(f"{f} after the last frame")
        self._check(f)
        return f

    def finish(self, stdin=None):
        """Writes all of stdin while it reads all there is. -> Result"""
        out = {1: bytearray(), 2: bytearray()}
        cut = []
        at = 0
        while True:
            if stdin is not None:
                at += self.write(stdin[at:at + WINDOW])
                if at == len(stdin) or self.deaf:
                    self.close_stdin()
                    stdin = None
            f = self.recv()
            if f is None:
                break
            if isinstance(f, Output):
                out[f.stream] += f.data
            elif isinstance(f, Truncated):
                cut.append(f)
        self.close()
        return Result(self.started, bytes(out[1]), bytes(out[2]), cut,
                      self.last)


class Agent:
    """The agent of a VM, by the path of its vsock socket."""

    def __init__(self, path):
        self.path = path

    def open(self, *frames):
        """A connection with HELLO and these frames sent."""
        conn = Connection(self.path)
        conn.send(hello() + b"".join(frames))
        return conn

    def _process(self, request):
        conn = self.open(request)
        first = conn.recv()
        if isinstance(first, Refused):
            conn.close()
            raise first
        if not isinstance(first, Started):
            raise Broken(f"{first} in place of STARTED")
        return Process(conn, first)

    def exec(self, argv, **options):
        """-> Process; the first output may be cut only where it says so."""
        p = self._process(exec_request(argv, **options))
        p.next = {1: 0, 2: 0}
        return p

    def spawn(self, argv, flags=0, **options):
        """EXEC with DETACH. -> Started"""
        with self._process(exec_request(argv, flags=flags | DETACH,
                                        **options)) as p:
            if p.conn.recv() is not None:
                raise Broken("more after STARTED with DETACH")
            return p.started

    def run(self, argv, stdin=None, flags=0, **options):
        """-> Result"""
        if stdin is not None:
            flags |= STDIN
        return self.exec(argv, flags=flags, **options).finish(stdin)

    def attach(self, id, flags=A_FOLLOW, stdout_from=0, stderr_from=0):
        p = self._process(attach_request(id, flags, stdout_from,
                                         stderr_from))
        # Of another cursor it is not known whether it is beyond the end.
        if not flags & A_BACK:
            p.next = {1: None if stdout_from else 0,
                      2: None if stderr_from else 0}
        return p

    def ask(self, request):
        """All answers up to the last; ERROR is raised."""
        with self.open(request) as conn:
            answers = []
            while True:
                f = conn.recv()
                if isinstance(f, Refused):
                    raise f
                if f is None:
                    return answers
                answers.append(f)

    def _done(self, request):
        if self.ask(request) != [Done()]:
            raise Broken("not DONE alone")

    def list(self, id=b"", env=False):
        answers = self.ask(list_request(id, env))
        if not answers or answers[-1] != Done() or not all(
                isinstance(a, ProcessInfo) for a in answers[:-1]):
            raise Broken(f"LIST was answered with {answers}")
        return answers[:-1]

    def kill(self, id, signal, scope=TREE, grace=0):
        self._done(kill_request(id, signal, scope, grace))

    def drop(self, id):
        self._done(drop_request(id))

    def wait_port(self, port, id=b""):
        """-> Done() or Exit"""
        answers = self.ask(wait_port_request(port, id))
        if len(answers) != 1 or not isinstance(answers[0], (Done, Exit)):
            raise Broken(f"WAIT_PORT was answered with {answers}")
        return answers[0]

    def stat(self):
        answers = self.ask(frame("STAT"))
        if len(answers) != 1 or not isinstance(answers[0], Stat):
            raise Broken(f"STAT was answered with {answers}")
        return answers[0]

    def clock(self, ns):
        self._done(frame("CLOCK", struct.pack("<Q", ns)))

    def shutdown(self, grace):
        self._done(frame("SHUTDOWN", struct.pack("<II", grace, 0)))

    def events(self):
        """A connection on which EVENT frames come."""
        return self.open(frame("EVENTS"))
