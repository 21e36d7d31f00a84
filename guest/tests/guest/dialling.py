"""Connections into the sandbox."""

import errno
import socket
import struct
import threading

from guest.support import *  # noqa: F403


def carries_data_both_ways_and_half_closes(guest):
    for family in (socket.AF_INET, socket.AF_INET6):
        peer, link = Peer(family), guest.connect()
        id = link.hello[3]
        dial(link, id, peer.port)
        assert id in link.dialed, link.refused
        connection = peer.accept()
        link.send(DATA, id, b"to the peer")
        link.send(DATA_END, id)
        assert b"".join(iter(lambda: connection.recv(100), b"")) == b"to the peer"
        connection.sendall(b"to the server")
        link.until(lambda: link.data.get(id) == b"to the server")
        assert id not in link.closed and id not in link.data_taken, "so little is not worth a frame"
        connection.close()
        link.until(lambda: id in link.closed)
        assert link.closed[id] == 0 and id in link.data_ends
        link.close()


def carries_much_data_with_credit_both_ways(guest):
    peer, link = Peer(), guest.connect()
    dial(link, 1, peer.port)
    connection = peer.accept()
    there, back, got = pattern(3 << 20), pattern(3 << 20, 5), bytearray()

    def serve():
        while len(got) < len(there):
            got.extend(connection.recv(65536))
        connection.sendall(back)
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    sent = 0
    while sent < len(there):
        size = min(link.data_taken.get(1, 0) + CARRY_CREDIT - sent, len(there) - sent)
        if size:
            link.send(DATA, 1, there[sent:sent + size])
            sent += size
        else:
            taken = link.data_taken.get(1, 0)
            link.until(lambda: link.data_taken.get(1, 0) > taken)
    link.until(lambda: 1 in link.data_ends)
    thread.join()
    link.send(DATA_END, 1)
    link.until(lambda: 1 in link.closed)
    assert bytes(got) == there and bytes(link.data[1]) == back


def holds_a_peer_back_that_the_server_does_not_consume(guest):
    peer, link = Peer(), guest.connect()
    link.consume = False
    dial(link, 1, peer.port)
    connection = peer.accept()
    threading.Thread(target=lambda: (connection.sendall(bytes(1 << 20)), connection.close()), daemon=True).start()
    link.quiet(0.3)
    assert len(link.data[1]) == CREDIT
    cpu = ticks(guest)
    link.quiet(0.5)
    assert ticks(guest) - cpu < 10, "the guest spins while it waits for credit"
    link.consume = True
    link.send(DATA_CONSUMED, 1, struct.pack(">Q", CREDIT))
    link.until(lambda: 1 in link.data_ends)
    assert len(link.data[1]) == 1 << 20


def refuses_a_dial_to_a_closed_port(guest):
    peer, link = Peer(), guest.connect()
    peer.server.close()
    dial(link, 1, peer.port)
    assert link.refused[1] == (7, errno.ECONNREFUSED)


def ends_a_dialled_connection_on_close_and_reset(guest):
    peer, link = Peer(), guest.connect()
    dial(link, 1, peer.port)
    connection = peer.accept()
    link.send(CLOSE, 1)
    link.until(lambda: 1 in link.closed)
    assert link.closed[1] == 0 and connection.recv(10) == b""
    link.send(DATA, 1, b"late")
    dial(link, 2, peer.port)
    connection = peer.accept()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    link.until(lambda: 2 in link.closed)
    assert link.closed[2] == errno.ECONNRESET


def takes_data_before_it_is_dialled_and_drops_all_with_the_connection(guest):
    peer, link = Peer(), guest.connect()
    link.sock.sendall(frame(DIAL, 1, struct.pack(">H", peer.port)) + frame(DATA, 1, b"early"))
    connection = peer.accept()
    assert connection.recv(10) == b"early"
    link.close()
    assert connection.recv(10) == b""
    assert guest.connect().hello[3] == 2


def holds_a_bounded_number_of_connections(guest):
    peer, link = Peer(), guest.connect()
    peer.server.listen(300)
    for id in range(1, 258):
        dial(link, id, peer.port)
    assert link.refused == {257: (5, errno.EAGAIN)}


def takes_a_credit_of_data_that_the_peer_does_not_read_and_no_more(guest):
    peer, link = Peer(), guest.connect()
    dial(link, 1, peer.port)
    connection = peer.accept()
    fill(link, 1)
    # It may have taken almost a step more than it told, and there may be almost one that was not used.
    link.send(DATA, 1, bytes(2 * TAKEN_STEP))
    expect_lost(link)
    connection.close()
