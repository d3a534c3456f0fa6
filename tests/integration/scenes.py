# SPDX-License-Identifier: Apache-2.0
"""scenes.py - what the Python scenes of integration tests share

A scene is a function that gets an Agent and words; play() runs the one that
the command line names: FILE.py SCENE SOCKET [WORD...].
"""
import sys
import time

import agent_client as c

PATIENCE_S = 240


def same(want, got, what):
    if want != got:
        sys.exit(f"{what}: wanted {want!r:.400}, got {got!r:.400}")


def true(value, what):
    if not value:
        sys.exit(f"not so: {what}")


def refused(kind, what, call, *words, code=None, **named):
    """That the agent refuses it with an error of this kind. -> the error"""
    try:
        got = call(*words, **named)
    except c.Refused as e:
        same(kind, e.kind, f"kind of the error of {what}: {e}")
        if code is not None:
            same(code, e.code, f"errno of the error of {what}: {e}")
        true(e.text, f"{what} has a sentence")
        return e
    return sys.exit(f"{what} was not refused: {got!r:.400}")


def until(question, what):
    """Asks until the answer is true. -> it"""
    end = time.monotonic() + PATIENCE_S
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            sys.exit(f"gave up waiting: {what}")
        time.sleep(0.05)


def ended(agent, id):
    """Waits for the end of a process. -> ProcessInfo"""
    return until(lambda: [p for p in agent.list(id)
                          if p.state == c.ENDED], f"the end of {id}")[0]


def out(result):
    """The output of one that went well."""
    same((c.EXITED, 0, b""),
         (result.exit.how, result.exit.value, result.stderr), "its end")
    return result.stdout


def sh(agent, script, **options):
    return out(agent.run([b"sh", b"-c", script], **options))


def agent_kib(agent):
    """Resident memory of the agent."""
    status = sh(agent, b"grep ^VmRSS: /proc/1/status")
    return int(status.split()[1])


def agent_is_well(agent):
    same(b"hutch-agent", sh(agent, b"cat /proc/1/cmdline").split(b"\0")[0]
         .rpartition(b"/")[2].replace(b"init", b"hutch-agent"), "PID 1")
    same(b"hello\n", sh(agent, b"echo hello"), "its work")


def play(*scenes):
    for scene in scenes:
        if scene.__name__ == sys.argv[1]:
            scene(c.Agent(sys.argv[2]), *sys.argv[3:])
            return
    sys.exit(f"no scene '{sys.argv[1]}'")
