"""Signals, timeouts, orphans and what grandchildren do."""

import os
import signal
import time

from guest.support import *  # noqa: F403


def signals_a_process_alone_or_its_whole_group(guest):
    link = guest.connect()
    link.start(1, sh("sleep 1000 & echo $!; wait"))
    link.until(lambda: link.out(1).endswith(b"\n"))
    child = int(link.out(1))
    link.send(SIGNAL, 1, bytes([signal.SIGKILL, 1]))
    assert link.wait(1)[:2] == (1, 9)
    assert alive(child)
    link.send(SIGNAL, 1, bytes([signal.SIGTERM, 0]))
    eventually(lambda: not alive(child))
    link.start(2, sh("trap 'echo got; exit 4' TERM; sleep 1000 & echo up; wait"))
    link.until(lambda: link.out(2) == b"up\n")
    link.send(SIGNAL, 2, bytes([signal.SIGTERM, 0]))
    assert link.wait(2)[:2] == (0, 4) and link.out(2) == b"up\ngot\n"


def kills_the_group_at_the_timeout_and_keeps_what_was_written(guest):
    link = guest.connect()
    begin = time.monotonic()
    link.start(1, sh("echo before; sleep 1000 & echo $!; wait"), timeout_ms=300)
    exit = link.wait(1)
    assert exit[:3] == (1, 9, 1) and 0.28 < time.monotonic() - begin < 3
    first, child = link.out(1).split()
    assert first == b"before"
    eventually(lambda: not alive(int(child)))
    assert link.limits()[2] == 0
    link.start(2, ["/bin/true"], timeout_ms=300)
    assert link.wait(2)[:3] == (0, 0, 0)


def keeps_the_time_while_no_server_is_there(guest):
    link = guest.connect()
    pid = link.start(1, ["/bin/sleep", "1000"], timeout_ms=300)
    guest.deaf()
    link.close()
    eventually(lambda: not alive(pid))
    guest.listen()
    link = guest.connect()
    listed = link.list()[1]
    assert listed.flags & 12 == 12 and (listed.kind, listed.value) == (1, 9)
    link.subscribe(1)
    assert link.wait(1)[:3] == (1, 9, 1)


def counts_kills_that_nobody_asked_for(guest):
    link = guest.connect()
    pid = link.start(1, ["/bin/sleep", "1000"])
    os.kill(pid, signal.SIGKILL)
    link.wait(1)
    assert link.limits()[2] == 1
    link.start(2, ["/bin/sleep", "1000"])
    link.send(SIGNAL, 2, bytes([9, 0]))
    link.wait(2)
    assert link.limits()[2] == 1


def reaps_orphans(guest):
    link = guest.connect()
    link.start(1, sh("for i in 1 2 3 4 5; do (sleep 0.1 &) ; done"))
    link.wait(1)
    link.send(RELEASE, 1)
    eventually(lambda: children(guest.process.pid) == [])


def tells_the_exit_though_a_grandchild_holds_the_pipe(guest):
    link = guest.connect()
    begin = time.monotonic()
    link.start(1, sh("(sleep 1; echo late) & echo early"))
    exit = link.wait(1)
    assert time.monotonic() - begin < 0.8
    assert exit.ends == (6, 0) and link.out(1) == b"early\n"
    assert (1, 1) not in link.ends
    link.until(lambda: (1, 1) in link.ends)
    assert link.out(1) == b"early\nlate\n"


def tells_the_exit_though_a_grandchild_floods_the_pipe(guest):
    link = guest.connect()
    link.start(1, sh("yes & echo $$"), ring=65536)
    exit = link.wait(1)
    assert exit.value == 0
    link.send(SIGNAL, 1, bytes([9, 0]))
    link.until(lambda: (1, 1) in link.ends)


def reads_on_for_grandchildren_after_release(guest):
    marker = os.path.join(guest.directory, "written")
    link = guest.connect()
    link.start(1, sh(f"(sleep 0.3; head -c 300000 /dev/zero && echo $? > {marker}) & true"), flags=BLOCK, ring=4096)
    link.wait(1)
    link.send(RELEASE, 1)
    eventually(lambda: os.path.exists(marker) and open(marker).read() == "0\n")
    assert link.list() == {}


def lets_a_released_process_go_on_unseen(guest):
    marker = os.path.join(guest.directory, "done")
    link = guest.connect()
    link.start(1, sh(f"sleep 0.2; head -c 200000 /dev/zero; touch {marker}"), flags=BLOCK, ring=4096)
    link.send(RELEASE, 1)
    assert link.list() == {}
    link.subscribe(1)
    link.until(lambda: 1 in link.refused)
    assert link.refused[1][0] == 9
    eventually(lambda: os.path.exists(marker))
    eventually(lambda: children(guest.process.pid) == [])
    assert 1 not in link.exited
