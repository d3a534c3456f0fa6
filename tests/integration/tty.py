#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tty.py - the person in front of a terminal, for tty.sh

Usage: tty.py SCENE [VM] [MONITOR-PID]

Each scene runs hutch on a pseudo terminal, types, and looks at what comes.
"""
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time

PATIENCE_S = 240


class Term:
    """hutch on a terminal of 33 rows and 101 columns."""

    def __init__(self, *argv):
        self.master, self.slave = os.openpty()
        self.resize(33, 101)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(self.slave, fd)
            os.closerange(3, 64)
            os.execvp(argv[0], argv)

    def resize(self, rows, cols):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def read_some(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def expect(self, *wanted):
        """Reads until one of the texts has come; drops what is before it."""
        end = time.monotonic() + PATIENCE_S
        while True:
            for w in wanted:
                at = self.seen.find(w.encode())
                if at >= 0:
                    self.seen = self.seen[at + len(w):]
                    return w
            if time.monotonic() > end:
                sys.exit(f"never saw {wanted}, but {self.seen[-2000:]!r}")
            self.read_some(1)

    def wait(self, want):
        """Waits for the end, reading on, and compares the exit code."""
        end = time.monotonic() + PATIENCE_S
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                sys.exit(f"does not end; last words {self.seen[-2000:]!r}")
            self.read_some(0.05)
        code = os.waitstatus_to_exitcode(status)
        if code not in want:
            sys.exit(f"exit code {code}, wanted {want}; {self.seen[-2000:]!r}")

    def check_restored(self):
        if termios.tcgetattr(self.slave) != self.before:
            sys.exit("the terminal is not as it was")


def shell(vm):
    t = Term("hutch", "exec", "-it", vm, "--", "sh")
    t.expect("# ", "$ ")
    return t


def size(vm):
    t = Term("hutch", "exec", "-it", vm, "--", "sh", "-c",
             "stty size; tty; test -t 0 -a -t 1 -a -t 2 && echo all three")
    t.expect("33 101")
    t.expect("/dev/pts/")
    t.expect("all three")
    t.wait([0])
    t.check_restored()


def resize(vm):
    # Not at a prompt: a shell's line editor takes SIGWINCH for itself.
    t = Term("hutch", "exec", "-it", vm, "--", "sh", "-c",
             "trap 'echo now $(stty size); exit 0' WINCH; echo ready; "
             "while :; do sleep 1; done")
    t.expect("ready")
    t.resize(20, 60)
    os.kill(t.pid, signal.SIGWINCH)
    t.expect("now 20 60")
    t.wait([0])


def vi(vm):
    t = Term("hutch", "exec", "-it", vm, "--", "vi", "/tmp/note")
    t.expect("/tmp/note")
    t.type("ihello from vi\x1b")
    t.expect("hello from vi")
    t.type(":wq\r")
    t.wait([0])
    t.check_restored()


def top(vm):
    t = Term("hutch", "exec", "-it", vm, "--", "top")
    t.expect("Mem:", "Mem ")
    t.expect("PID")
    t.type("q")
    t.wait([0])
    t.check_restored()


def ctrl_c(vm):
    t = Term("hutch", "exec", "-it", vm, "--", "sh", "-c",
             "echo up; exec sleep 1000")
    t.expect("up")
    t.type("\x03")
    t.wait([130])
    t.check_restored()


def restored_after_exit(vm):
    t = shell(vm)
    if termios.tcgetattr(t.slave) == t.before:
        sys.exit("the terminal was never raw")
    t.type("exit 3\n")
    t.wait([3])
    t.check_restored()


def restored_after_signal(vm):
    t = shell(vm)
    os.kill(t.pid, signal.SIGTERM)
    t.wait([143, -signal.SIGTERM, 129, 137])
    t.check_restored()


def restored_after_death(vm, monitor):
    t = shell(vm)
    os.kill(int(monitor), signal.SIGKILL)
    t.wait([125])
    t.check_restored()


def run():
    t = Term("hutch", "run", "--rm", "-it", "--", "sh")
    t.expect("# ")
    t.type("stty size; exit 5\n")
    t.expect("33 101")
    t.wait([5])
    t.check_restored()


def leave(t):
    """Ctrl-p, and ctrl-q in a read of its own."""
    t.type("\x10")
    time.sleep(0.2)
    t.type("\x11")


def detach(vm):
    t = Term("hutch", "exec", "-it", "--name", "shell", vm, "--", "sh")
    t.expect("# ", "$ ")
    # What does not leave is a key like any other: the last line once more.
    t.type("echo fir''st\n")
    t.expect("first")
    t.type("\x10\x10\n")
    t.expect("first")
    leave(t)
    t.expect("goes on: hutch attach")
    t.wait([0])
    t.check_restored()


def reattach(vm):
    t = Term("hutch", "attach", vm, "shell")
    t.expect("first")
    t.type("stty size\n")
    t.expect("33 101")
    t.resize(20, 60)
    os.kill(t.pid, signal.SIGWINCH)
    time.sleep(0.5)
    t.type("stty size\n")
    t.expect("20 60")
    leave(t)
    t.wait([0])
    t.check_restored()
    t = Term("hutch", "attach", "--detach-keys", "ctrl-a,d", vm, "shell")
    t.expect("20 60")
    t.type("exit 4\n")
    t.wait([4])
    t.check_restored()


SCENES = {f.__name__: f for f in (
    size, resize, vi, top, ctrl_c, restored_after_exit, restored_after_signal,
    restored_after_death, run, detach, reattach)}

if __name__ == "__main__":
    SCENES[sys.argv[1]](*sys.argv[2:])
