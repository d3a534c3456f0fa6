# SPDX-License-Identifier: Apache-2.0
"""protocol.py - scenes of protocol.sh: what the command line does not reach"""
import errno
import random
import struct
import sys
import time

import agent_client as c
from scenes import (agent_is_well, agent_kib, ended, out, play, refused, same,
                    sh, true, until)


# Connections when nobody else asks: STAT's own, and the keeper's for EVENTS.
QUIET = 2


# ---- Each request, as the page has it ------------------------------------

def exec_(agent):
    r = agent.run([b"sh", b"-c", b"cat; echo err >&2; exit 7"], b"input",
                  id=b"one")
    same((b"input", b"err\n"), (r.stdout, r.stderr), "output")
    same((c.EXITED, c.NONE_LEFT, 0, 7), r.exit[:4], "exit")
    same((5, 4, 0, 0), r.exit[4:8], "totals")
    same(b"one", r.started.id, "id")
    true(r.started.start <= r.exit.end, "it has begun before its end")
    r = agent.run([b"sh", b"-c", b"kill -9 $$"])
    same((c.SIGNALLED, c.NONE_LEFT, 0, 9), r.exit[:4], "exit by a signal")
    r = agent.run([b"sleep", b"1000"], timeout=200, grace=100)
    same((c.SIGNALLED, c.TIMED_OUT, 15), (r.exit.how, r.exit.flags,
                                          r.exit.value), "time-out")
    same(b"A=2 PATH", sh(agent, b"echo A=$A ${PATH:+PATH}", flags=c.ENV_CLEAR,
                         env=[b"A=1", b"A=2"]).strip(), "environment")
    same(b"33 101", sh(agent, b"stty size", flags=c.PTY, columns=101,
                       rows=33).strip(), "terminal")
    same(b"oe", agent.run([b"sh", b"-c", b"printf o; printf e >&2"],
                          flags=c.COMBINED).stdout, "both in one")
    same(b"", agent.run([b"echo", b"o"], flags=c.STDOUT_NULL).stdout, "none")
    refused(c.NOT_FOUND, "no program", agent.run, [b"no-such"])
    refused(c.NOT_EXECUTABLE, "no program", agent.run, [b"/etc/passwd"])
    refused(c.GENERAL, "no user", agent.run, [b"true"], user=b"nosuchuser")
    refused(c.BAD_REQUEST, "two terminals", agent.run, [b"true"],
            flags=c.PTY | c.COMBINED)


def objects(agent):
    """DETACH, LIST, ATTACH, KILL, DROP, STAT."""
    before = agent.stat()
    agent.spawn([b"sh", b"-c", b"echo up; read x; echo got $x; "
                 b"exec sleep 1000"], c.STDIN, id=b"job", cwd=b"/tmp",
                env=[b"K=V"], pids=20, memory=32 << 20, cpu_weight=200,
                ring=8192, timeout=3600000)
    p = agent.list(b"job", env=True)[0]
    same((c.RUNNING, b"job", b"/tmp", 20, 32 << 20, 200, 3600000, 0),
         (p.state, p.id, p.cwd, p.pids, p.memory, p.cpu_weight, p.timeout,
          p.attached), "what LIST says")
    same(b"sh", p.argv[0], "argv")
    true(b"K=V" in p.env, "env is told when asked for")
    same([], agent.list(b"job")[0].env, "env when not asked for")
    with agent.attach(b"job", c.A_FOLLOW | c.A_STDIN) as a:
        same(b"up\n", a.recv().data, "the replay")
        a.write(b"this\n")
        seen = b""
        while b"got this\n" not in seen:
            f = a.recv()
            seen += f.data if isinstance(f, c.Output) else b""
        same(1, agent.list(b"job")[0].attached, "clients attached")
        refused(c.GENERAL, "drop of a live one", agent.drop, b"job",
                code=errno.EBUSY)
        agent.kill(b"job", 15)
        while a.recv() is not None:
            pass
        same((c.SIGNALLED, 15), (a.last.how, a.last.value), "its end")
    same(c.ENDED, agent.list(b"job")[0].state, "state")
    refused(c.GENERAL, "kill of an ended one", agent.kill, b"job", 15,
            code=errno.ESRCH)
    agent.drop(b"job")
    for what, call in (("kill", lambda: agent.kill(b"job", 15)),
                       ("drop", lambda: agent.drop(b"job")),
                       ("attach", lambda: agent.attach(b"job")),
                       ("list", lambda: agent.list(b"job"))):
        refused(c.NO_PROCESS, f"{what} of nobody", call, code=errno.ESRCH)
    after = agent.stat()
    same(before.started + 1, after.started, "processes started")
    same(QUIET, after.connections, "connections")


def ports(agent):
    """WAIT_PORT: before and after, loopback, IPv6, and never."""
    for id, address, port in ((b"p4", b"127.0.0.1", 8080),
                              (b"any", b"0.0.0.0", 8081),
                              (b"p6", b"::1", 8082)):
        with agent.open(c.wait_port_request(port)) as conn:
            agent.spawn([b"sh", b"-c", b"sleep 0.3; exec /bin/guest_tool "
                         b"listen %s %d" % (address, port)], id=id)
            same(c.Done(), conn.recv(), f"answer for {address}")
        same(c.Done(), agent.wait_port(port, id), f"{address} once more")
        agent.kill(id, 9)
    agent.spawn([b"sh", b"-c", b"sleep 0.3; exit 5"], id=b"no")
    got = agent.wait_port(8090, b"no")
    same((c.EXITED, 5), (got.how, got.value), "the process has ended first")
    got = agent.wait_port(8090, b"no")
    same(5, got.value, "and is still known")
    refused(c.NO_PROCESS, "a port of nobody", agent.wait_port, 80, b"nobody")
    # One that gives up: the agent forgets it.
    agent.open(c.wait_port_request(8091)).close()
    until(lambda: agent.stat().connections == QUIET, "connections are closed")


def kill_scopes(agent):
    script = b"sh -c 'trap \"\" TERM; echo up; sleep 1000' & wait"
    p = agent.exec([b"sh", b"-c", script], id=b"tree")
    same(b"up\n", p.recv().data, "output")
    p.signal(15, c.ONE)
    end = p.finish().exit
    same((c.SIGNALLED, 15, c.SOME_LEFT), (end.how, end.value, end.state),
         "the end of the one")
    refused(c.GENERAL, "the one again", agent.kill, b"tree", 15, c.ONE,
            code=errno.ESRCH)
    # SIGTERM is not enough for those that are left.
    agent.kill(b"tree", 15, c.TREE, grace=200)
    until(lambda: b"sleep" not in sh(agent, b"ps -o comm"), "SIGKILL comes")


# ---- Quantities and odd bytes --------------------------------------------

def large(agent):
    """128 KiB of arguments, and of environment, in one and in many."""
    one = b"x" * ((128 << 10) - 1)
    many = [b"%0127d" % i for i in range(1024)]
    count = b"printf %s \"$@\" | wc -c"
    for argv in ([one], many):
        got = out(agent.run([b"sh", b"-c", count, b"sh", *argv]))
        same(sum(len(a) for a in argv), int(got), "bytes of arguments")
    env = [b"BIG=" + one[4:]]
    same(len(env[0]) - 4, int(sh(agent, b"printf %s \"$BIG\" | wc -c",
                                 env=env)), "bytes of a variable")
    env = [b"V%d=" % i + b"v" * 122 for i in range(1024)]
    got = sh(agent, b"env | grep -c ^V", env=env)
    same(1024, int(got), "variables")
    # One byte more than Linux takes is a sentence.
    refused(c.NOT_EXECUTABLE, "an argument that is too long", agent.run,
            [b"true", one + b"x"], code=errno.E2BIG)
    agent.spawn([b"true", *many], id=b"big", env=env)
    p = agent.list(b"big", env=True)[0]
    true(p.flags & 0x180, "LIST says that argv or env is cut")
    same(many[0], p.argv[1], "the first of its arguments")
    ended(agent, b"big")
    agent.drop(b"big")


def odd_bytes(agent):
    bytes_ = bytes(range(1, 256))
    same(bytes_, out(agent.run([b"printf", b"%s", bytes_])), "argument")
    same(bytes_, sh(agent, b"printf %s \"$X\"", env=[b"X=" + bytes_]),
         "variable")
    every = bytes(range(256)) * 3
    same(every, out(agent.run([b"cat"], every)), "bytes through cat")
    r = agent.run([b"/bin/guest_tool", b"zero"])
    same((b"ab", b"ab"), (r.stdout, r.stderr), "around writes of no bytes")
    same((2, 2), (r.exit.stdout_total, r.exit.stderr_total), "totals")
    r = agent.run([b"/bin/guest_tool", b"zero"], flags=c.PTY)
    same(b"abab", r.stdout, "around writes of no bytes on a terminal")
    refused(c.BAD_REQUEST, "a NUL in an argument", agent.run,
            [b"echo", b"a\0b"])
    refused(c.BAD_REQUEST, "a NUL in a variable", agent.run, [b"true"],
            env=[b"A=a\0b"])
    refused(c.BAD_REQUEST, "no argv", agent.run, [])
    # No STDIN at all, and no bytes of it.
    same(b"", out(agent.run([b"cat"])), "cat without STDIN")
    same(b"", out(agent.run([b"cat"], b"")), "cat of nothing")


def both_ways(agent, mib):
    """In and out at once; what does not read does not block the rest."""
    source = random.Random(1).randbytes(int(mib) << 20)
    same(source, out(agent.run([b"cat"], source)), "bytes through cat")
    p = agent.exec([b"sh", b"-c", b"echo up; exec sleep 1000"], flags=c.STDIN,
                   id=b"deaf")
    same(b"up\n", p.recv().data, "output")
    while p.write(source):
        pass
    same(0, p.room(), "the window is full")
    agent_is_well(agent)
    p.signal(15)
    same((c.SIGNALLED, 15), p.finish().exit[0:4:3], "a signal gets past it")


# ---- An enemy as the client ----------------------------------------------

def answers_to(agent, data, patience=20):
    """What comes for these bytes, until the agent closes."""
    got = []
    with c.Connection(agent.path) as conn:
        try:
            conn.send(data)
            conn.sock.shutdown(1)
        except (BrokenPipeError, ConnectionResetError, OSError):
            pass
        conn.outbox.clear()
        try:
            while (f := conn.recv(patience)) is not None:
                got.append(f)
        except ConnectionResetError:
            pass
    return got


def bad_requests():
    """Each breaks the page in one way, and is otherwise sound."""
    ok = c.exec_request([b"true"])
    yield "no HELLO", c.frame("STAT")
    yield "wrong magic", c.hello().replace(b"HTCH", b"HTTP") + ok
    yield "a version to come", c.hello(2) + ok
    yield "a HELLO that is long", struct.pack("<IHH", 17, 1, 0) + bytes(17)
    yield "two HELLOs", c.hello() + c.hello() + ok
    for number in (0, 0x1a, 0x26, 0x50, 0x60, 0xffff):
        yield f"type {number:#x}", c.hello() + struct.pack("<IHH", 0, number,
                                                           0)
    for kind in ("STARTED", "EXIT", "DONE", "PROCESS", "STDOUT"):
        yield f"{kind} from a client", c.hello() + c.frame(kind, bytes(120))
    yield "a reserved field", c.hello() + struct.pack("<IHH", 0, 0x14, 1)
    for kind in ("STDIN", "SIGNAL", "RESIZE", "STDIN_CLOSE"):
        least = next(t[3] for t in c.TYPES if t[0] == kind)
        yield f"{kind} first", c.hello() + c.frame(kind, bytes(least))
    for name, number, sender, least, most in c.TYPES:
        if sender != "client":
            continue
        for length in {least - 1, most + 1, 0xffffffff} - {-1}:
            yield (f"{name} of {length} bytes", c.hello() +
                   struct.pack("<IHH", length, number, 0) + bytes(16))
    yield "EXEC with unknown flags", c.hello() + c.exec_request(
        [b"true"], flags=0x200)
    yield "EXEC with bytes left over", c.hello() + c.frame("EXEC",
                                                           ok[8:] + b"\0")
    yield "EXEC with a bad id", c.hello() + c.exec_request([b"true"],
                                                           id=b"../x")
    yield "a small ring", c.hello() + c.exec_request([b"true"], ring=4095)
    yield "a large ring", c.hello() + c.exec_request([b"true"],
                                                     ring=(64 << 20) + 1)
    yield "little memory", c.hello() + c.exec_request([b"true"],
                                                      memory=(1 << 20) - 1)
    yield "a great weight", c.hello() + c.exec_request([b"true"],
                                                       cpu_weight=10001)
    yield "ATTACH with unknown flags", c.hello() + c.attach_request(b"x", 0x40)
    yield "a stdout cursor of 2^63", c.hello() + c.attach_request(
        b"x", 0, 1 << 63)
    yield "a stderr cursor of 2^63", c.hello() + c.attach_request(
        b"x", 0, 0, 1 << 63)
    yield "LIST with unknown flags", c.hello() + c.frame(
        "LIST", struct.pack("<II", 2, 0) + c.string(b""))
    for signal in (0, 65):
        yield f"signal {signal}", c.hello() + c.kill_request(b"x", signal)
    yield "scope 3", c.hello() + c.kill_request(b"x", 15, 3)
    yield "a grace for one", c.hello() + c.kill_request(b"x", 15, c.ONE, 5)
    yield "port 0", c.hello() + c.wait_port_request(0)
    yield "CLOCK to 0", c.hello() + c.frame("CLOCK", bytes(8))


def bad_words_to_a_process():
    yield "STDIN without the flag", 0, c.frame("STDIN", b"x")
    yield "more than the window", c.STDIN, c.frame("STDIN", bytes(65536)) * 6
    yield "RESIZE without PTY", 0, c.resize_frame(80, 24)
    yield "RESIZE to nothing", c.PTY, c.resize_frame(0, 24)
    yield "SIGNAL 0", 0, c.signal_frame(0)
    yield "a second request", 0, c.frame("STAT")
    yield "HELLO once more", 0, c.hello()


def bad_client(agent):
    for what, data in bad_requests():
        got = answers_to(agent, data)
        true(got and isinstance(got[-1], c.Refused) and
             got[-1].kind == c.BAD_REQUEST, f"{what} is a bad request: {got}")
    n = 0
    for what, flags, data in bad_words_to_a_process():
        id = b"bad-%d" % n
        n += 1
        p = agent.exec([b"sleep", b"1000"], flags=flags, id=id)
        p.conn.send(data)
        # What is acknowledged of it before the refusal is right to be.
        p.sent = len(data)
        refused(c.BAD_REQUEST, what, p.finish)
        p.close()
        same(c.RUNNING, agent.list(id)[0].state, f"the process after {what}")
        agent.kill(id, 9)
        ended(agent, id)
    for n in range(n):
        agent.drop(b"bad-%d" % n)
    until(lambda: agent.stat().connections == QUIET, "connections are closed")
    agent_is_well(agent)


def mutants(rng, count):
    """Sound requests with some bytes changed, and frames of random bytes."""
    sound = [
        c.exec_request([b"true"], env=[b"A=B"], user=b"root", cwd=b"/",
                       id=b"mutant"),
        c.exec_request([b"cat"], flags=c.STDIN) + c.frame("STDIN", b"x") +
        c.frame("STDIN_CLOSE"),
        c.attach_request(b"mutant", c.A_FOLLOW), c.list_request(env=True),
        c.kill_request(b"mutant", 9), c.drop_request(b"mutant"),
        c.wait_port_request(1), c.frame("STAT"), c.frame("EVENTS"),
    ]
    # A sound SHUTDOWN would be obeyed.
    numbers = [t[1] for t in c.TYPES if t[0] != "SHUTDOWN"]
    for i in range(count):
        if i % 3:
            data = bytearray(rng.choice(sound))
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            if data[4] == c.NUMBER["SHUTDOWN"]:
                data[4] = 0
        else:
            data = b""
            for _ in range(rng.randrange(1, 4)):
                length = rng.choice([0, 1, 4, 8, 24, 60, 200, 70000])
                body = rng.randbytes(rng.choice([length, length // 2]))
                data += struct.pack("<IHH", length, rng.choice(numbers),
                                    rng.choice([0, 0, 0, 7])) + body
        yield (c.hello() if rng.random() < 0.9 else b"") + bytes(data)


def mutated(agent, count, seed):
    """Thousands of random ones; seed makes a failure come again."""
    print(f"seed {seed}")
    rng = random.Random(int(seed))
    sh(agent, b"true")
    before = agent_kib(agent)
    for data in mutants(rng, int(count)):
        try:
            answers_to(agent, data)
        except TimeoutError:
            sys.exit(f"no end in answer to {data[:300].hex()}")
    for p in agent.list():
        if p.state != c.ENDED:
            agent.kill(p.id, 9)
            ended(agent, p.id)
    # Foreground ones may go by themselves meanwhile.
    for p in agent.list():
        try:
            agent.drop(p.id)
        except c.Refused as e:
            same(c.NO_PROCESS, e.kind, f"the error of drop: {e}")
    until(lambda: agent.stat().connections == QUIET, "connections are closed")
    agent_is_well(agent)
    agent.clock(time.time_ns())
    grown = agent_kib(agent) - before
    true(grown < 2048, f"the agent has grown by {grown} KiB, not 2048")


def crowd(agent):
    """More connections than there is room for, each half a frame long."""
    conns = []
    refused_one = None
    for _ in range(1100):
        try:
            conn = c.Connection(agent.path)
        except (c.Broken, OSError) as e:
            refused_one = e
            break
        conn.send(c.hello() + b"\x08")
        conns.append(conn)
    true(len(conns) >= 100, f"{len(conns)} connections fit: {refused_one}")
    print(f"{len(conns)} connections, then {refused_one!r}")
    for conn in conns:
        conn.close()
    until(lambda: stat_or_none(agent), "there is room again")
    until(lambda: agent.stat().connections == QUIET, "connections are closed")
    agent_is_well(agent)


def stat_or_none(agent):
    try:
        return agent.stat()
    except (c.Broken, c.Refused, OSError):
        return None


TABLE = 1024


def table(agent, count):
    """More processes than there is room for: the oldest ended one goes."""
    count = int(count)
    agent.spawn([b"sleep", b"1000"], id=b"first")
    for i in range(count):
        agent.spawn([b"echo", b"%d" % i], id=b"p-%d" % i)
    newest = b"p-%d" % (count - 1)
    ended(agent, newest)
    ids = [p.id for p in agent.list()]
    same(min(TABLE, count + 1), len(ids), "processes in the table")
    same([b"first", newest], [ids[0], ids[-1]],
         "the oldest, which lives, and the newest")
    if count >= TABLE:
        refused(c.NO_PROCESS, "the oldest ended", agent.attach, b"p-0")
    for id in (ids[1], newest):
        same(id[2:] + b"\n", agent.attach(id).finish().stdout, "its output")
    agent.kill(b"first", 9)


def many_execs(agent, count):
    """Of programs with long names, as far as events tell them."""
    name = b"./" * 100 + b"bin/true"
    for _ in range(int(count)):
        same(0, agent.run([name], cwd=b"/").exit.value, "exit code")


play(exec_, objects, ports, kill_scopes, large, odd_bytes, both_ways,
     bad_client, mutated, crowd, table, many_execs)
