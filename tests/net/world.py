# SPDX-License-Identifier: Apache-2.0
"""world.py - a host and a guest that are network namespaces of this machine

The calling process moves to a namespace of its own, which is the host: it has
addresses of the Internet on its loopback, so that servers can be "there". The
guest is another namespace with a tap, joined by a link to the program under
test. Nothing of this machine's own network is touched. Needs root.
"""
import atexit
import ctypes
import fcntl
import json
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback

HOST4, HOST6 = "93.184.216.34", "2606:2800::1"
GATEWAY4, GATEWAY6 = "198.18.0.1", "fd00:6875:7463:6800::1"
GUEST4, GUEST6 = "198.18.0.2", "fd00:6875:7463:6800::2"
SILENT4 = "192.0.2.%d"  # 1 to 250: nobody answers
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454ca, 1, 0x1000
libc = ctypes.CDLL(None, use_errno=True)


def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def family_of(size):
    return socket.AF_INET6 if size == 16 else socket.AF_INET


def skip():
    """Say so, where there is not what it takes."""
    if os.getuid() == 0 and os.path.exists("/dev/net/tun"):
        return False
    why = "/dev/net/tun" if os.getuid() == 0 else "root"
    print(f"1..0 # SKIP taps and namespaces: needs {why}")
    return True


def new_netns():
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def ip(commands):
    subprocess.run(["ip", "-batch", "-"], input=commands, text=True,
                   check=True)


def sysctl(name, value):
    with open("/proc/sys/" + name, "w") as f:
        f.write(value)


def open_tun(name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(),
                                           IFF_TUN | IFF_NO_PI))
    return fd


def be_the_host():
    new_netns()
    # Nobody reads from it: who is asked there says nothing.
    open_tun("hole")
    ip(f"""link set lo up
addr add {HOST4}/32 dev lo
addr add {HOST6}/128 dev lo nodad
link set hole up
addr add 192.0.2.254/24 dev hole
""")
    sysctl("net/ipv4/ping_group_range", "0 2147483647")


def in_netns(pid, fn, *args, timeout=120):
    """fn(*args) in a child in the namespace of pid; its result or error."""
    rd, wr = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(rd)
            signal.alarm(timeout)
            if pid:
                with open(f"/proc/{pid}/ns/net") as f:
                    if libc.setns(f.fileno(), CLONE_NEWNET) != 0:
                        raise OSError(ctypes.get_errno(), "setns")
            try:
                result = ("ok", fn(*args))
            except BaseException:
                result = ("error", traceback.format_exc())
            with os.fdopen(wr, "wb") as f:
                pickle.dump(result, f)
            code = 0
        finally:
            os._exit(code)
    os.close(wr)
    with os.fdopen(rd, "rb") as f:
        data = f.read()
    _, status = os.waitpid(child, 0)
    if not data:
        raise RuntimeError(f"the guest's process ended with {status:#x}")
    how, value = pickle.loads(data)
    if how == "error":
        raise AssertionError("in the guest:\n" + value)
    return value


class Internet:
    """A third namespace, with addresses that are not the host's own.

    A process in it carries packets between its tun and one of the host's, and
    runs serve(), which starts threads.
    """
    ADDR4, ADDR6 = "93.184.215.14", "2606:2800:220::1"
    OTHER4, WEB4 = "93.184.215.15", "93.184.215.16"

    def __init__(self, serve):
        ours = open_tun("wan")
        ip(f"""link set wan mtu 65520 up
addr add 93.184.215.1/24 dev wan
addr add 2606:2800:220::ff/64 dev wan nodad
""")
        rd, wr = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                libc.prctl(1, signal.SIGKILL)
                new_netns()
                theirs = open_tun("net")
                ip(f"""link set lo up
link set net mtu 65520 up
addr add {self.ADDR4}/24 dev net
addr add {self.OTHER4}/24 dev net
addr add {self.WEB4}/24 dev net
addr add {self.ADDR6}/64 dev net nodad
""")
                serve()
                os.write(wr, b"x")
                self.carry(ours, theirs)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(ours)
        os.close(wr)
        if os.read(rd, 1) != b"x":
            raise RuntimeError("the Internet did not come up")
        os.close(rd)

    @staticmethod
    def carry(a, b):
        while True:
            for fd in select.select([a, b], [], [])[0]:
                packet = os.read(fd, 65535)
                try:
                    os.write(b if fd == a else a, packet)
                except OSError:
                    pass


class Guest:
    """A guest: its namespace, and the program under test at its link."""

    def __init__(self, wire, program, mtu=65520, families="46"):
        ours, theirs = socket.socketpair()
        self.wire = subprocess.Popen(
            [wire, str(ours.fileno()), "eth0"], stdout=subprocess.PIPE,
            pass_fds=[ours.fileno()], preexec_fn=new_netns)
        # Without its wire the other program ends too.
        atexit.register(self.wire.kill)
        self.serve = program(theirs, mtu)
        ours.close()
        theirs.close()
        if self.wire.stdout.readline() != b"ready\n":
            raise RuntimeError("tapwire did not come up")
        if families:
            in_netns(self.wire.pid, self.configure, mtu, families)

    @staticmethod
    def configure(mtu, families):
        sysctl("net/ipv6/conf/all/accept_ra", "0")
        sysctl("net/ipv6/conf/eth0/accept_ra", "0")
        text = f"link set lo up\nlink set eth0 mtu {mtu} up\n"
        if "4" in families:
            text += (f"addr add {GUEST4}/24 dev eth0\n"
                     f"route add default via {GATEWAY4}\n")
        if "6" in families:
            text += (f"addr add {GUEST6}/64 dev eth0 nodad\n"
                     f"route add ::/0 via {GATEWAY6}\n")
        ip(text)

    def run(self, fn, *args, **kw):
        return in_netns(self.wire.pid, fn, *args, **kw)

    def beside(self, fn):
        """fn(its Beside) in the guest, while we do something else."""
        return Beside(self, fn)

    def rss(self):
        """KiB of memory that the program under test has touched."""
        with open(f"/proc/{self.serve.pid}/status") as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0

    def n_fds(self):
        return len(os.listdir(f"/proc/{self.serve.pid}/fd"))

    def end(self):
        """End the link: the program must end by itself. Its last words."""
        self.wire.kill()
        self.wire.wait()
        out, _ = self.serve.communicate(timeout=60)
        if self.serve.returncode != 0:
            raise AssertionError(f"it ended with {self.serve.returncode}")
        return json.loads(out.splitlines()[-1]) if out else {}


class Beside:
    """What goes on in a guest, and waits for us at its own places.

    It calls reach(), which returns when we have called go_on(); that we do when
    reached() has returned. At its last place it may leave the waiting out.
    """
    def __init__(self, guest, fn):
        self.there, self.on = os.pipe(), os.pipe()
        self.results = []
        self.thread = threading.Thread(
            target=lambda: self.results.append(guest.run(fn, self)))
        self.thread.start()

    def reach(self, wait=True):
        os.write(self.there[1], b"1")
        if wait:
            os.read(self.on[0], 1)

    def reached(self):
        os.read(self.there[0], 1)

    def go_on(self):
        os.write(self.on[1], b"1")

    def result(self):
        """What it returned, when it has ended; and all that was kept for it."""
        self.thread.join(60)
        for fd in (*self.there, *self.on):
            os.close(fd)
        assert self.results, "it has not ended"
        return self.results[0]


class Tap:
    """Results, as the Test Anything Protocol has them."""

    def __init__(self):
        self.n = self.failed = 0

    def run(self, name, fn, *args):
        self.n += 1
        try:
            fn(*args)
            print(f"ok {self.n} - {name}", flush=True)
        except Exception:
            self.failed += 1
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            print(f"not ok {self.n} - {name}", flush=True)

    def end(self):
        print(f"1..{self.n}")
        sys.exit(self.failed > 0)
