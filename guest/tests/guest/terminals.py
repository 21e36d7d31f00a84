"""Processes on a PTY."""

import struct

from guest.support import *  # noqa: F403


def runs_a_terminal_with_size_resize_and_end_of_file(guest):
    link = guest.connect()
    link.start(1, ["/bin/bash", "--norc", "-c", "tty; stty size; trap 'stty size' WINCH; cat; echo done; exit 5"],
               flags=PTY, rows=33, cols=99, env=("PATH=/usr/bin:/bin", "TERM=xterm"))
    link.until(lambda: b"33 99" in link.out(1))
    assert link.out(1).startswith(b"/dev/pts/")
    assert link.list()[1].flags & 3 == 3
    link.send(STDIN, 1, b"typed\n")
    link.until(lambda: link.out(1).count(b"typed") == 2)
    assert link.taken[1] == 6
    link.send(RESIZE, 1, struct.pack(">HH", 40, 120))
    link.send(STDIN_CLOSE, 1)
    assert link.wait(1)[:2] == (0, 5)
    assert link.list()[1].stdin == (6, 6)
    assert b"40 120" in link.out(1) and link.out(1).endswith(b"done\r\n")
    link.until(lambda: (1, 1) in link.ends)
    assert (1, 2) not in link.ends and link.taken[1] == 6 and link.exited[1].ends == (len(link.out(1)), 0)


def interrupts_the_foreground_of_a_terminal(guest):
    link = guest.connect()
    link.start(1, ["/bin/bash", "--norc", "-i"], flags=PTY, env=("PATH=/usr/bin:/bin", "TERM=dumb", "PS1=ready "))
    link.until(lambda: b"ready " in link.out(1))
    link.send(STDIN, 1, b"sleep 1000\n")
    link.quiet(0.3)
    link.send(STDIN, 1, b"\x03")
    link.until(lambda: link.out(1).count(b"ready ") >= 2)
    link.send(STDIN, 1, b"exit 6\n")
    assert link.wait(1)[:2] == (0, 6)


def hands_the_terminal_to_its_user(guest):
    link = guest.connect()
    link.start(1, sh("stat -Lc '%u %g %a' $(tty); echo again > $(tty)"), flags=PTY, uid=1234, gid=2345)
    assert link.wait(1)[:2] == (0, 0), link.out(1)
    assert link.out(1) == b"1234 2345 620\r\nagain\r\n"


def loses_nothing_of_a_terminals_tail(guest):
    link = guest.connect()
    for id in range(1, 21):
        link.start(id, sh("seq 1 5000"), flags=PTY)
        link.wait(id)
        assert link.out(id).split()[-1] == b"5000" and link.exited[id].ends[0] == len(link.out(id))
