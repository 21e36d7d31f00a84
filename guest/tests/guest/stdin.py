"""Feeding processes."""

import os

from guest.support import *  # noqa: F403


def feeds_stdin_and_closes_it(guest):
    link = guest.connect()
    link.start(1, ["/bin/cat"], flags=KEEP_STDIN)
    link.send(STDIN, 1, b"hello ")
    link.send(STDIN, 1, b"world")
    link.send(STDIN_CLOSE, 1)
    assert link.wait(1).value == 0
    assert link.out(1) == b"hello world" and link.taken[1] == 11


def gives_dev_null_for_stdin_unless_asked(guest):
    link = guest.connect()
    link.start(1, ["/bin/cat"])
    link.send(STDIN, 1, b"ignored")
    assert link.wait(1)[:2] == (0, 0) and link.out(1) == b""


def holds_stdin_back_while_the_process_does_not_read(guest):
    go = os.path.join(guest.directory, "go")
    link = guest.connect()
    link.start(1, sh(f"while [ ! -e {go} ]; do sleep 0.05; done; wc -c"), flags=KEEP_STDIN)
    link.send(STDIN, 1, b"x" * CREDIT)
    link.quiet(0.3)
    assert link.taken[1] == 65536
    open(go, "w").close()
    total, sent = 2 << 20, CREDIT
    while sent < total:
        link.until(lambda: link.taken[1] + CREDIT > sent)
        size = min(link.taken[1] + CREDIT - sent, total - sent)
        link.send(STDIN, 1, b"z" * size)
        sent += size
    link.send(STDIN_CLOSE, 1)
    link.wait(1)
    assert int(link.out(1)) == total and link.taken[1] == total


def closes_the_connection_when_stdin_overruns_the_credit(guest):
    link = guest.connect()
    link.start(1, ["/bin/sleep", "1000"], flags=KEEP_STDIN)
    link.send(STDIN, 1, b"x" * (CREDIT + 65536 + 1))
    expect_lost(link)
    assert 1 in guest.connect().list()


def says_that_stdin_is_broken(guest):
    link = guest.connect()
    link.start(1, sh("exec <&-; echo closed; exec sleep 1000"), flags=KEEP_STDIN)
    link.until(lambda: 1 in link.broken)
    link.send(STDIN, 1, b"x" * CREDIT)
    link.send(STDIN, 1, b"x" * CREDIT)
    assert link.list()[1].flags & 2 == 0


def counts_stdin_on_after_a_new_connection(guest):
    link = guest.connect()
    link.start(1, sh("read line; sleep 0.8; exec cat"), flags=KEEP_STDIN)
    link.send(STDIN, 1, b"go\n" + b"a" * 200000)
    link.quiet(0.1)
    link.close()
    link = guest.connect()
    listed = link.list()[1]
    assert listed.flags & 2 and 65536 <= listed.stdin[0] < 80000 and listed.stdin[1] == 200003
    link.subscribe(1)
    link.until(lambda: 1 in link.taken)
    assert link.taken[1] == listed.stdin[0]
    link.send(STDIN, 1, b"b" * 10)
    link.send(STDIN_CLOSE, 1)
    link.wait(1)
    assert link.out(1) == b"a" * 200000 + b"b" * 10
