"""Bounds, and servers that break the rules."""

import errno
import struct

from guest.support import *  # noqa: F403


def closes_only_the_connection_for_bad_frames(guest):
    bad = (
        frame(99, 0), frame(0, 0), frame(WELCOME, 0, struct.pack(">H", VERSION)), frame(START, 9, b"\0" * 10), frame(PING, 0, b"x" * 65),
        frame(LIST, 7), frame(LISTEN, 7, b"\x0c\x38"), frame(LISTEN, 0, b"\x0c"), frame(SIGNAL, 1, b"\x09\x02"), frame(CONSUMED, 1, b"\x03" + bytes(8)), frame(HELLO, 0), struct.pack(">I", 4) + bytes(4),
        struct.pack(">I", (4 << 20) + 1), struct.pack(">I", 0xffffffff), frame(STDIN_CLOSE, 1, b"x"),
    )
    link = guest.connect()
    pid = link.start(1, ["/bin/sleep", "1000"])
    for bytes_ in bad:
        link.sock.sendall(bytes_)
        expect_lost(link)
        link = guest.connect()
        assert link.list()[1].pid == pid and alive(pid)


def closes_the_connection_when_greeted_wrongly(guest):
    link = guest.accept()
    link.send(LIST)
    expect_lost(link)
    link = guest.accept()
    link.send(WELCOME, 0, struct.pack(">H", VERSION + 1))
    expect_lost(link)
    assert guest.connect().list() == {}


def understands_frames_that_come_byte_by_byte(guest):
    link = guest.accept()
    for byte in frame(WELCOME, 0, struct.pack(">H", VERSION)) + frame(START, 1, start_payload(sh("echo hi"))):
        link.sock.sendall(bytes([byte]))
    assert link.wait(1).value == 0 and link.out(1) == b"hi\n"


def understands_many_frames_in_one_piece(guest):
    link = guest.connect()
    link.sock.sendall(b"".join(frame(START, id, start_payload(["/bin/echo", str(id)])) for id in range(1, 101)) + frame(PING, 0, b"last"))
    link.until(lambda: len(link.exited) == 100, 30)
    assert all(link.out(id) == f"{id}\n".encode() for id in range(1, 101))
    assert link.of(0, PONG)[0].payload == b"last"


def drops_a_server_that_asks_without_reading(guest):
    link = guest.connect()
    link.start(1, ["/bin/sleep", "1000"])
    link.sock.settimeout(10)
    try:
        while True:
            link.sock.sendall(frame(PING, 0, b"x" * 64) * 1000)
    except (BrokenPipeError, ConnectionResetError):
        pass
    link.close()
    assert 1 in guest.connect().list()


def holds_a_bounded_number_of_processes(guest):
    link = guest.connect()
    link.sock.sendall(b"".join(frame(START, id, start_payload(["/bin/true"], tag="t" * 128, ring=4096)) for id in range(1, 1026)))
    link.until(lambda: len(link.exited) == 1024 and 1025 in link.refused, 120)
    assert link.refused == {1025: (5, errno.EAGAIN)}
    listed = link.list()
    assert len(listed) == 1024 and all(p.tag == "t" * 128 and p.command == "/bin/true" for p in listed.values())
    link.sock.sendall(b"".join(frame(RELEASE, id) for id in range(1, 1025)))
    assert link.list() == {}
    link.start(1026, ["/bin/true"])
    assert link.wait(1026).value == 0


def holds_no_descriptors_after_much_use(guest):
    peer, link = Peer(), guest.connect()
    link.list()
    before = os.listdir(f"/proc/{guest.process.pid}/fd")
    for id in range(1, 200, 4):
        link.start(id, sh("head -c 100000 /dev/zero; (sleep 0.05; echo late) &"), flags=KEEP_STDIN)
        link.start(id + 1, sh("echo hi"), flags=PTY)
        link.start(id + 2, ["/no/such/program"], flags=KEEP_STDIN)
        dial(link, id + 3, peer.port)
        peer.accept().close()
        link.wait(id)
        link.wait(id + 1)
        link.sock.sendall(frame(RELEASE, id) + frame(RELEASE, id + 1) + frame(CLOSE, id + 3))
    assert link.list() == {}
    eventually(lambda: os.listdir(f"/proc/{guest.process.pid}/fd") == before)
    assert children(guest.process.pid) == []


def cuts_long_commands_in_the_list(guest):
    link = guest.connect()
    link.start(1, ["/bin/sh", "-c", "exit", "é" * 500])
    command = link.list()[1].command
    assert command.startswith("/bin/sh -c exit é") and 250 <= len(command.encode()) <= 256
