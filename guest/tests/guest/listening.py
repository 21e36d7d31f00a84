"""Connections out of the sandbox, to the port that the guest listens on."""

import errno
import os
import resource
import socket
import struct
import threading

from guest.support import *  # noqa: F403


def carries_accepted_connections_both_ways_and_half_closes(guest):
    link, port = listening(guest)
    for count, address in enumerate(("127.0.0.1", "::1"), 1):
        connection = program(port, address)
        connection.sendall(b"to the server")
        id = accepted(link, count)
        assert id >= 1 << 31
        link.until(lambda: link.data.get(id) == b"to the server")
        link.send(DATA, id, b"to the program")
        link.send(DATA_END, id)
        assert b"".join(iter(lambda: connection.recv(100), b"")) == b"to the program"
        connection.sendall(b", and more")
        connection.shutdown(socket.SHUT_WR)
        link.until(lambda: id in link.closed)
        assert link.closed[id] == 0 and link.data[id] == b"to the server, and more" and id in link.data_ends
        assert link.of(id, ACCEPTED) == [f for f in link.frames if f.id == id][:1]
        link.send(CLOSE, id)
        connection.close()
    assert link.list() == {} and link.of(id, CLOSED)[1:] == []


def carries_much_data_of_accepted_connections(guest):
    link, port = listening(guest)
    connections = [program(port) for _ in range(8)]
    content = pattern(2 << 20)

    def talk(connection):
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)

    threads = [threading.Thread(target=talk, args=(c,)) for c in connections]
    for thread in threads:
        thread.start()
    link.until(lambda: len(link.data_ends) == 8, 60)
    for thread in threads:
        thread.join()
    assert all(bytes(link.data[id]) == content for id in link.accepted)


def a_connection_the_server_does_not_read_holds_up_no_other(guest):
    link, port = listening(guest)
    link.consume = False
    slow = program(port)
    slow.setblocking(False)
    slow.send(bytes(1 << 22))
    first = accepted(link)
    link.until(lambda: len(link.data.get(first, b"")) == CREDIT)
    quick = program(port)
    quick.sendall(b"quick")
    second = accepted(link, 2)
    link.until(lambda: link.data.get(second) == b"quick")
    assert len(link.data[first]) == CREDIT
    cpu = ticks(guest)
    link.quiet(0.5)
    assert ticks(guest) - cpu < 10, "the guest spins while it waits for credit"


def gives_the_program_all_that_was_written_before_the_close(guest):
    link, port = listening(guest)
    connections = [program(port) for _ in range(2)]
    ids = [accepted(link, count) for count in (1, 2)]
    sent = [fill(link, id) for id in ids]
    link.send(DATA_END, ids[0])
    for id in ids:
        link.send(CLOSE, id)
    link.until(lambda: all(link.closed.get(id) == 0 for id in ids))
    for connection, size in zip(connections, sent):
        # It says more than the kernel holds, before it reads: that is taken from it.
        connection.sendall(bytes(16 << 20))
        assert sum(map(len, iter(lambda: connection.recv(1 << 20), b""))) == size


def does_not_wait_for_ever_for_programs_that_do_not_read(guest):
    link, port = listening(guest)
    connections, missing = [], []
    for count in range(1, 66):
        connections.append(program(port))
        id = accepted(link, count)
        missing.append(fill(link, id))
        link.send(CLOSE, id)
    link.list()
    for i in (0, 1):
        missing[i] -= sum(map(len, iter(lambda: connections[i].recv(1 << 20), b"")))
    assert missing[0] > 0 and missing[1] == 0, "only the oldest is given up"


def says_that_the_port_is_taken_and_keeps_what_it_had_not(guest):
    link = guest.connect()
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        port = free_port()
        with socket.socket(family) as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind((address, port))
            other.listen(1)
            assert link.listen(port) == (port, errno.EADDRINUSE)
        assert link.listen(port) == (port, 0)
        program(port).close()


def cuts_everything_when_it_is_to_stop(guest):
    link, port = listening(guest)
    connection = program(port)
    accepted(link)
    assert link.listen(0) == (0, 0)
    assert connection.recv(10) == b""
    try:
        program(port)
        assert False, "it still listens"
    except ConnectionRefusedError:
        pass
    assert link.listen(0) == (0, 0)
    assert link.listen(port) == (port, 0)
    program(port)
    accepted(link, 2)


def moves_to_another_port(guest):
    link, port = listening(guest)
    connection = program(port)
    accepted(link)
    other = free_port()
    assert link.listen(other) == (other, 0)
    assert connection.recv(10) == b""
    program(other)
    accepted(link, 2)


def keeps_connections_when_it_is_told_the_same_again(guest):
    link, port = listening(guest)
    connection = program(port)
    id = accepted(link)
    assert link.listen(port) == (port, 0)
    connection.sendall(b"still")
    link.until(lambda: link.data.get(id) == b"still")


def lets_programs_wait_while_the_server_is_away(guest):
    link, port = listening(guest)
    before = program(port)
    first = accepted(link)
    link.close()
    assert before.recv(10) == b"", "an accepted connection ends with the link"
    waiting = program(port)
    waiting.sendall(b"patient")
    link = guest.connect()
    link.list()
    assert link.accepted == [], "nobody is accepted before LISTEN"
    assert link.listen(port) == (port, 0)
    id = accepted(link)
    assert id > first
    link.until(lambda: link.data.get(id) == b"patient")
    assert link.hello[3] == 1, "accepted connections take none of the server's ids"


def lets_programs_wait_while_the_table_is_full(guest):
    link, port = listening(guest)
    connections = [program(port) for _ in range(513)]
    connections[512].sendall(b"late")
    accepted(link, 512)
    cpu = ticks(guest)
    link.quiet(0.3)
    assert len(link.accepted) == 512 and ticks(guest) - cpu < 10
    connections[0].close()
    link.until(lambda: link.accepted[0] in link.data_ends)
    link.quiet(0.1)
    assert len(link.accepted) == 512, "half an end is none"
    link.send(CLOSE, link.accepted[0])
    id = accepted(link, 513)
    link.until(lambda: link.data.get(id) == b"late")


def an_ended_connection_counts_until_the_server_is_through_with_it(guest):
    link, port = listening(guest)
    for _ in range(512):
        connection = program(port)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    link.until(lambda: len(link.closed) == 512)
    late = program(port)
    late.sendall(b"late")
    link.quiet(0.2)
    assert len(link.accepted) == 512
    link.send(DATA, link.accepted[7], b"crossed its end")
    link.send(CLOSE, link.accepted[7])
    id = accepted(link, 513)
    link.until(lambda: link.data.get(id) == b"late")
    assert len(link.of(link.accepted[7], CLOSED)) == 1


def a_flood_of_connections_costs_the_server_nothing_it_did_not_read(guest):
    link, port = listening(guest)
    link.consume = False
    done = threading.Event()

    def flood():
        while not done.is_set():
            try:
                connection = program(port)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            except OSError:
                pass

    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    time.sleep(0.5)
    assert link.listen(port) == (port, 0)
    done.set()
    assert len(link.accepted) <= 512


def refuses_ids_that_are_the_guests(guest):
    link = guest.connect()
    link.start(1 << 31, ["/bin/true"])
    assert link.refused[1 << 31] == (8, errno.EEXIST)
    link.start(1, ["/bin/true"])
    assert link.wait(1).value == 0


def goes_on_after_a_shortage_of_descriptors(guest):
    link, port = listening(guest)
    link.list()
    used = len(os.listdir(f"/proc/{guest.process.pid}/fd"))
    before = resource.prlimit(guest.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(guest.process.pid, resource.RLIMIT_NOFILE, (used + 4, before[1]))
    connections = [program(port) for _ in range(10)]
    accepted(link, 1)
    link.quiet(0.3)
    held = len(link.accepted)
    assert held < 10
    cpu = ticks(guest)
    link.quiet(0.3)
    assert ticks(guest) - cpu < 10, "the guest spins without descriptors"
    resource.prlimit(guest.process.pid, resource.RLIMIT_NOFILE, before)
    connections[9].sendall(b"last")
    accepted(link, 10)
