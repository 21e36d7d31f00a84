"""What the cases of the guest share beside the driver."""

import os
import socket
import struct
import time

from driver import *  # noqa: F403


def sh(script):
    return ["/bin/sh", "-c", script]


def alive(pid):
    """Running, not a zombie and not gone."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(condition, timeout=5):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def pattern(size, seed=0):
    piece = bytes((i * 31 + (i >> 8) + seed) & 255 for i in range(4999))
    return (piece * (size // len(piece) + 1))[:size]


class Peer:
    """A TCP server of the sandbox."""

    def __init__(self, family=socket.AF_INET):
        self.server = socket.socket(family)
        self.server.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
        self.server.listen(1)
        self.server.settimeout(10)
        self.port = self.server.getsockname()[1]

    def accept(self):
        connection = self.server.accept()[0]
        connection.settimeout(10)
        return connection


def dial(link, id, port):
    link.send(DIAL, id, struct.pack(">H", port))
    link.until(lambda: id in link.dialed or id in link.refused)


def free_port():
    """A port that is free on both loopback addresses."""
    while True:
        with socket.socket() as four, socket.socket(socket.AF_INET6) as six:
            four.bind(("127.0.0.1", 0))
            try:
                six.bind(("::1", four.getsockname()[1]))
                return four.getsockname()[1]
            except OSError:
                continue


def listening(guest):
    """A link, and a port that the guest listens on."""
    link, port = guest.connect(), free_port()
    assert link.listen(port) == (port, 0)
    return link, port


def program(port, address="127.0.0.1"):
    connection = socket.create_connection((address, port), timeout=10)
    connection.settimeout(10)
    return connection


def accepted(link, count=1):
    link.until(lambda: len(link.accepted) >= count)
    return link.accepted[count - 1]


def fill(link, id):
    """Sends until the kernel's buffers are full, and the guest's after them; returns how much that was."""
    sent, allowed = 0, CARRY_CREDIT
    while allowed >= TAKEN_STEP:
        link.send(DATA, id, bytes(allowed))
        sent += allowed
        link.list()
        allowed = link.data_taken.get(id, 0) + CARRY_CREDIT - sent
    return sent


def ticks(guest):
    """CPU time the guest has used, in hundredths of a second."""
    with open(f"/proc/{guest.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def expect_lost(link):
    try:
        link.until(lambda: False, 5)
    except (Lost, ConnectionResetError, BrokenPipeError):
        return
    assert False, "the connection is still there"
