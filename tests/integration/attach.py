# SPDX-License-Identifier: Apache-2.0
"""attach.py - scenes of attach.sh: what is kept, replayed and cut"""
import agent_client as c
from scenes import agent_is_well, ended, play, same, sh, true, until

MIB = 1 << 20


def lines(n):
    """What seq 1 N writes."""
    return b"".join(b"%d\n" % i for i in range(1, n + 1))


def gather(process):
    """All that comes. -> pieces [(stream, cursor, data)], [Truncated], last"""
    pieces, cut = [], []
    while (f := process.recv()) is not None:
        if isinstance(f, c.Output):
            pieces.append((f.stream, f.cursor, f.data))
        elif isinstance(f, c.Truncated):
            cut.append(f)
    process.close()
    return pieces, cut, process.last


def check_bytes(whole, pieces, what, stream=1):
    for s, cursor, data in pieces:
        if s == stream:
            same(whole[cursor:cursor + len(data)], data,
                 f"{what}, bytes at {cursor}")


def total(pieces, stream=1):
    return sum(len(d) for s, _, d in pieces if s == stream)


def replay(agent):
    """From the start, a cursor, the end; with and without FOLLOW; twice."""
    whole = lines(20000)
    agent.spawn([b"sh", b"-c", b"seq 1 20000; echo err >&2; read x; echo $x;"
                 b" exit 3"], c.STDIN, id=b"job")
    until(lambda: agent.list(b"job")[0].stderr_total == 4, "it has written")
    for start in (0, 1, 65536, len(whole) - 1, len(whole)):
        pieces, cut, last = gather(agent.attach(b"job", 0, start))
        same(([], c.Done()), (cut, last), "nothing is cut, and it lives")
        same(whole[start:], b"".join(d for s, _, d in pieces if s == 1),
             f"replay from {start}")
        same(b"err\n", b"".join(d for s, _, d in pieces if s == 2), "stderr")
    pieces, _, _ = gather(agent.attach(b"job", c.A_BACK, 100, 0))
    same([(1, len(whole) - 100, whole[-100:])], pieces, "the last 100 bytes")
    pieces, _, _ = gather(agent.attach(b"job", c.A_BACK, 10 * MIB, 10 * MIB))
    same(len(whole), total(pieces), "more than there is, counted back")
    pieces, _, last = gather(agent.attach(b"job", 0, 1 << 62, 1 << 62))
    same(([], c.Done()), (pieces, last), "beyond the end")
    pieces, _, _ = gather(agent.attach(b"job", c.A_NO_STDOUT))
    same([(2, 0, b"err\n")], pieces, "stderr alone")
    # Beyond the end, following: what is new. A second client feeds it.
    with agent.attach(b"job", c.A_FOLLOW, 1 << 62, 1 << 62) as one, \
            agent.attach(b"job", c.A_FOLLOW | c.A_STDIN | c.A_NO_STDERR,
                         len(whole)) as two:
        two.write(b"word\n")
        for who in (one, two):
            pieces, _, last = gather(who)
            same([(1, len(whole), b"word\n")], pieces, "what is new")
            same((c.EXITED, c.NONE_LEFT, 0, 3, len(whole) + 5, 4, 0, 0),
                 last[:8], "the end")
    # Of one that has ended all can still be had, as often as one likes.
    for flags in (0, c.A_FOLLOW, 0):
        pieces, cut, last = gather(agent.attach(b"job", flags))
        check_bytes(whole + b"word\n", pieces, "after its end")
        same((len(whole) + 5, [], 3), (total(pieces), cut, last.value),
             "after its end")
    agent.drop(b"job")


def slow_client(agent):
    """One reads all, one nothing: neither waits, and the slow one is told."""
    n = 300000
    whole = lines(n)
    agent.spawn([b"sh", b"-c", b"read x; exec seq 1 %d" % n], c.STDIN,
                id=b"job", ring=65536)
    slow = agent.attach(b"job")
    dead = agent.attach(b"job")
    with agent.attach(b"job", c.A_FOLLOW | c.A_STDIN) as fast:
        fast.write(b"go\n")
        pieces, cut, last = gather(fast)
    check_bytes(whole, pieces, "the fast one")
    same((len(whole), 0), (last.stdout_total, last.value), "its end")
    same(len(whole), total(pieces) + sum(t.lost for t in cut),
         "bytes that came or were told to be lost")
    pieces, cut, last = gather(slow)
    true(cut, "the slow one is told that it was cut")
    check_bytes(whole, pieces, "the slow one")
    same(len(whole), total(pieces) + sum(t.lost for t in cut),
         "bytes of the slow one")
    same(0, last.value, "its end")
    dead.close()
    true(last.stdout_cut >= len(whole) - 2 * 65536 - 65536,
         f"the ring is small: {last.stdout_cut} of {len(whole)} are cut")
    # From a cursor that is no more.
    pieces, cut, _ = gather(agent.attach(b"job", 0, 5))
    same((1, last.stdout_cut, last.stdout_cut - 5), tuple(cut[0]),
         "TRUNCATED says where it goes on")
    same(len(whole) - last.stdout_cut, total(pieces), "what is kept")
    check_bytes(whole, pieces, "what is kept")
    agent.drop(b"job")


def keep_head(agent):
    n = 200000
    whole = lines(n)
    for ring in (4096, 65536):
        id = b"head-%d" % ring
        agent.spawn([b"seq", b"1", b"%d" % n], c.KEEP_HEAD, id=id, ring=ring)
        ended(agent, id)
        pieces, cut, last = gather(agent.attach(id))
        check_bytes(whole, pieces, "head and tail")
        same(1, len(cut), "it is cut once")
        head = sum(len(d) for _, cursor, d in pieces if cursor < cut[0].cursor)
        true(ring <= head < 2 * ring + 65536, f"{head} bytes of head")
        true(len(whole) - cut[0].cursor >= 32768, "there is a tail")
        same(cut[0].lost, last.stdout_cut, "how much is cut")
        same(len(whole), total(pieces) + cut[0].lost, "all is accounted for")
    agent.spawn([b"seq", b"1", b"100"], c.KEEP_HEAD, id=b"short", ring=4096)
    ended(agent, b"short")
    same(lines(100), agent.attach(b"short").finish().stdout, "a short one")


def order(agent):
    """As written, if each is read before the next is: on two pipes."""
    agent.spawn([b"/bin/guest_tool", b"order", b"50"], id=b"job")
    ended(agent, b"job")
    pieces, _, _ = gather(agent.attach(b"job"))
    got = b"".join(d for _, _, d in pieces)
    same(b"".join(b"o%d\ne%d\n" % (i, i) for i in range(50)), got, "order")
    r = agent.run([b"/bin/guest_tool", b"order", b"50"], flags=c.COMBINED)
    same(got, r.stdout, "order on one pipe")


def sum_is_capped(agent):
    """Many with large rings in a small guest: each keeps some while it runs,
    and what has ended makes room for what comes."""
    n = 12
    ids = [b"p-%d" % i for i in range(n)]
    for id in ids:
        agent.spawn([b"sh", b"-c", b"head -c 1048576 /dev/zero; read x"],
                    flags=c.STDIN, id=id)
    for id in ids:
        until(lambda: agent.list(id)[0].stdout_total == MIB,
              f"all of {id}")
    kept = 0
    for id in ids:
        pieces, cut, _ = gather(agent.attach(id, flags=0))
        same(MIB, total(pieces) + sum(t.lost for t in cut), "all told")
        true(total(pieces) >= 16384, "16 KiB of each are kept")
        kept += total(pieces)
    memory = agent.stat().memory
    limit = max(memory // 8, 4 * MIB) + n * 16384
    true(limit < n * MIB, f"{memory} bytes of memory are too many for this")
    true(kept <= limit + n * 65536, f"{kept} bytes are kept, {limit} may be")
    for id in ids:
        agent.kill(id, 9)
        ended(agent, id)
    agent.spawn([b"head", b"-c", b"1048576", b"/dev/zero"], id=b"new")
    same(0, ended(agent, b"new").stdout_cut, "bytes of the newest that are cut")
    agent_is_well(agent)


def foreground_client_leaves(agent):
    """It goes on as if it had been detached; another can have the rest."""
    whole = lines(100000)
    p = agent.exec([b"sh", b"-c", b"seq 1 100000; echo over >/tmp/over; "
                    b"read x; exit 4"], flags=c.STDIN, id=b"job")
    first = p.recv()
    true(isinstance(first, c.Output), "some has come")
    true(agent.list(b"job")[0].flags & 0x200, "FOREGROUND")
    p.close()
    until(lambda: sh(agent, b"cat /tmp/over 2>/dev/null || true"), "it writes on")
    info = agent.list(b"job")
    if info:
        same(0, info[0].flags & 0x200, "FOREGROUND when it has gone")
    pieces, cut, last = gather(agent.attach(b"job"))
    check_bytes(whole, pieces, "what is kept")
    same(len(whole), total(pieces) + sum(t.lost for t in cut), "all told")
    # Its stdin has ended with its client.
    same((c.EXITED, 4), (last.how, last.value), "the end")
    agent.drop(b"job")


def raw_terminal(agent):
    """All 256 values in both directions, and the last bytes before the end."""
    every = bytes(range(256))
    p = agent.exec([b"sh", b"-c", b"stty raw -echo; printf up; "
                    b"dd bs=1 count=1024 2>/dev/null; printf end"],
                   flags=c.PTY | c.STDIN)
    seen = b""
    while seen != b"up":
        seen += p.recv().data
    source = every + every[::-1] + every * 2
    p.write(source)
    r = p.finish()
    same(source + b"end", r.stdout, "bytes of a raw terminal")
    same((c.EXITED, 0), (r.exit.how, r.exit.value), "its end")
    # Much of it, with nobody to read until it has ended; nothing is lost.
    p = agent.exec([b"sh", b"-c", b"stty raw; seq 1 50000"], flags=c.PTY)
    same(lines(50000), p.finish().stdout, "a long output of a terminal")
    # A child that keeps the terminal open does not hold up the end.
    r = agent.run([b"sh", b"-c", b"sleep 1000 & echo last; exit 2"],
                  flags=c.PTY)
    same((b"last\r\n", 2), (r.stdout, r.exit.value), "end of a terminal")
    sh(agent, b"killall -9 sleep 2>/dev/null || true")


def many_clients(agent, n):
    """Each attached client gets the same; the dead ones hold up nobody."""
    agent.spawn([b"sh", b"-c", b"read x; seq 1 2000; exit 9"], c.STDIN,
                id=b"job")
    clients = [agent.attach(b"job") for _ in range(int(n))]
    for p in clients[::2]:
        p.close()
    until(lambda: agent.list(b"job")[0].attached == len(clients[1::2]),
          "those that left are not counted")
    with agent.attach(b"job", c.A_STDIN | c.A_FOLLOW) as feeder:
        feeder.write(b"\n")
        for p in [*clients[1::2], feeder]:
            pieces, _, last = gather(p)
            same(lines(2000), b"".join(d for _, _, d in pieces), "output")
            same(9, last.value, "exit code")


play(replay, slow_client, keep_head, order, sum_is_capped,
     foreground_client_leaves, raw_terminal, many_clients)
