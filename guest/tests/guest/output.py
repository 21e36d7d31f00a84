"""Rings, windows and subscriptions."""

import errno
import time

from guest.support import *  # noqa: F403


def loses_nothing_of_a_finished_process(guest):
    link = guest.connect()
    for id, flags in ((1, 0), (2, BLOCK)):
        link.start(id, sh("head -c 3000000 /dev/zero; echo end; head -c 100000 /dev/zero >&2"), flags=flags, ring=4 << 20)
        exit = link.wait(id)
        assert exit.ends == (3000004, 100000)
        link.until(lambda: (id, 1) in link.ends and (id, 2) in link.ends)
        assert link.out(id) == bytes(3000000) + b"end\n" and link.out(id, 2) == bytes(100000)


def sends_no_further_than_the_window(guest):
    link = guest.connect()
    link.consume = False
    link.start(1, sh("head -c 100000 /dev/zero; head -c 50000 /dev/zero >&2"), window=10000)
    exit = link.wait(1)
    link.quiet(0.1)
    assert exit.ends == (100000, 50000)
    assert len(link.out(1)) == 10000 and len(link.out(1, 2)) == 10000
    link.consumed(1, 1, 4000)
    link.until(lambda: len(link.out(1)) == 14000)
    link.quiet(0.1)
    assert len(link.out(1)) == 14000 and len(link.out(1, 2)) == 10000
    link.consumed(1, 1, 1 << 60)
    link.until(lambda: len(link.out(1)) == 24000)
    link.consume = True
    link.consumed(1, 1, 24000)
    link.consumed(1, 2, 10000)
    link.until(lambda: (1, 1) in link.ends and (1, 2) in link.ends)


def drops_the_oldest_and_shows_the_gap(guest):
    link = guest.connect()
    link.consume = False
    link.start(1, sh("seq 1 100000"), ring=20000, window=8000)
    link.wait(1)
    total = sum(len(str(i)) + 1 for i in range(1, 100001))
    assert link.exited[1].ends == (total, 0)
    listed = link.list()[1]
    assert listed.ends[0] == total and listed.oldest[0] == total - 20000
    assert len(link.out(1)) <= 8000
    link.consume = True
    link.consumed(1, 1, sum(link.pieces[1, 1][-1]))
    link.until(lambda: (1, 1) in link.ends)
    offset, size = link.pieces[1, 1][-1]
    assert offset + size == total
    last = link.out(1)[-20000:]
    assert last.endswith(b"99999\n100000\n")
    assert link.limits()[3] > 0


def goes_on_after_gaps_with_a_server_that_acknowledges_late(guest):
    """Every half window, as a frugal server does; and it stops reading now and then, so that there are many gaps."""
    link = guest.connect()
    link.consume = False
    window, ring = 65536, 16384
    link.start(1, sh("seq 1 3000000; echo end"), ring=ring, window=window)
    acknowledged, unacknowledged, seen = 0, 0, 0
    deadline = time.monotonic() + 60
    while (1, 1) not in link.ends:
        assert time.monotonic() < deadline, (acknowledged, unacknowledged)
        link.read(1)
        pieces = link.pieces.get((1, 1), [])
        for offset, size in pieces[seen:]:
            unacknowledged += size
            assert unacknowledged <= window
            if unacknowledged >= window // 2:
                time.sleep(0.002)
                link.consumed(1, 1, offset + size)
                unacknowledged = 0
        seen = len(pieces)
    assert link.out(1).endswith(b"3000000\nend\n")
    assert any(b[0] > a[0] + a[1] for a, b in zip(link.pieces[1, 1], link.pieces[1, 1][1:]))


def blocks_a_process_whose_ring_is_full(guest):
    link = guest.connect()
    link.consume = False
    pid = link.start(1, sh("head -c 1000000 /dev/zero | tr '\\0' x; echo end"), flags=BLOCK, ring=50000, window=20000)
    link.quiet(0.5)
    assert alive(pid) and len(link.out(1)) == 20000
    assert link.list()[1].ends[0] == 50000
    link.consume = True
    link.consumed(1, 1, 20000)
    exit = link.wait(1)
    link.until(lambda: (1, 1) in link.ends)
    assert exit.ends[0] == 1000004 and link.out(1) == b"x" * 1000000 + b"end\n"
    assert link.limits()[3] == 0


def goes_on_with_a_blocked_process_when_a_server_subscribes(guest):
    link = guest.connect()
    link.consume = False
    link.start(1, sh("head -c 300000 /dev/zero; echo end"), flags=BLOCK, ring=40000, window=1 << 20)
    link.until(lambda: len(link.out(1)) == 40000)
    link.consumed(1, 1, 10000)
    link.until(lambda: len(link.out(1)) == 50000)
    link.close()
    link = guest.connect()
    link.quiet(0.2)
    assert link.frames[1:] == [] and link.list()[1].flags & 4 == 0
    assert link.list()[1].oldest[0] == 10000
    link.subscribe(1, out=10000)
    exit = link.wait(1)
    link.until(lambda: (1, 1) in link.ends)
    assert link.pieces[1, 1][0][0] == 10000 and exit.ends[0] == 300004
    assert link.out(1) == bytes(290000) + b"end\n"


def keeps_the_tail_of_a_blocked_process_that_is_killed(guest):
    link = guest.connect()
    link.consume = False
    link.start(1, ["/usr/bin/yes"], flags=BLOCK, ring=8192, window=4096)
    link.quiet(0.3)
    link.send(SIGNAL, 1, bytes([9, 0]))
    link.quiet(0.2)
    assert 1 not in link.exited
    listed = link.list()[1]
    assert listed.flags & 4 and (listed.kind, listed.value) == (1, 9)
    link.consume = True
    link.consumed(1, 1, 4096)
    exit = link.wait(1)
    link.until(lambda: (1, 1) in link.ends)
    assert exit[:2] == (1, 9) and exit.ends[0] == link.ends[1, 1] == len(link.out(1)) >= 8192 + 4096
    assert link.out(1).replace(b"y\n", b"") in (b"", b"y")


def reads_on_after_a_new_connection(guest):
    link = guest.connect()
    link.start(1, sh("echo one; read x; echo two; read x; echo three"), flags=KEEP_STDIN, tag="tag of it")
    link.until(lambda: link.out(1) == b"one\n")
    boot = link.hello[2]
    guest.deaf()
    link.close()
    time.sleep(0.3)
    guest.listen()
    link = guest.connect()
    assert link.hello[2:] == (boot, 2)
    listed = link.list()[1]
    assert listed.tag == "tag of it" and listed.command.startswith("/bin/sh -c echo one;") and listed.ends == (4, 0)
    link.subscribe(1, out=4)
    link.send(STDIN, 1, b"\n")
    link.until(lambda: link.out(1) == b"two\n")
    assert link.pieces[1, 1] == [(4, 4)]
    link.subscribe(1, out=2)
    link.until(lambda: link.out(1) == b"two\ne\ntwo\n")
    link.send(STDIN, 1, b"\n")
    assert link.wait(1).value == 0


def keeps_the_exit_until_release(guest):
    link = guest.connect()
    link.start(1, sh("echo out; exit 9"))
    link.wait(1)
    link.close()
    link = guest.connect()
    for _ in range(2):
        link.subscribe(1)
        assert link.wait(1) == Exit(0, 9, 0, (4, 0))
    link.until(lambda: link.out(1) == b"out\nout\n")
    link.send(RELEASE, 1)
    assert link.list() == {}
    link.subscribe(1)
    link.until(lambda: 1 in link.refused)
    assert link.refused[1] == (9, errno.ESRCH)


def starts_at_the_end_for_a_subscription_from_beyond(guest):
    link = guest.connect()
    link.start(1, sh("echo old; read x; echo new"), flags=KEEP_STDIN)
    link.until(lambda: link.out(1) == b"old\n")
    link.subscribe(1, out=(1 << 64) - 1, err=(1 << 64) - 1)
    link.send(STDIN, 1, b"\n")
    link.wait(1)
    assert link.out(1) == b"old\nnew\n" and link.pieces[1, 1][-1] == (4, 4)


def answers_while_a_process_floods(guest):
    link = guest.connect()
    link.start(1, ["/usr/bin/yes"], ring=1 << 20, window=1 << 20)
    link.start(2, ["/usr/bin/yes"], ring=1 << 20, window=1 << 20, flags=BLOCK)
    times = []
    for id in range(3, 23):
        begin = time.monotonic()
        link.start(id, sh("echo quick"))
        link.wait(id)
        times.append(time.monotonic() - begin)
        assert link.out(id) == b"quick\n"
    assert sorted(times)[len(times) // 2] < 0.25, times
    assert len(link.out(1)) > 0 and len(link.out(2)) > 0


def answers_while_a_flood_is_not_read_at_all(guest):
    link = guest.connect()
    link.consume = False
    link.start(1, ["/usr/bin/yes"], ring=65536, window=65536)
    link.start(2, sh("echo quick"))
    link.wait(2, 3)


def sleeps_while_a_dead_process_waits_for_its_reader(guest):
    link = guest.connect()
    link.consume = False
    link.start(1, ["/usr/bin/yes"], flags=BLOCK, ring=8192, window=4096)
    link.start(2, ["/usr/bin/yes"], flags=BLOCK | PTY, ring=8192, window=4096)
    link.quiet(0.3)
    for id in (1, 2):
        link.send(SIGNAL, id, bytes([9, 0]))
    link.send(STDIN, 2, b"x" * 100000)
    link.quiet(0.2)
    before = ticks(guest)
    link.quiet(0.5)
    assert ticks(guest) - before < 10, "the guest spins"
