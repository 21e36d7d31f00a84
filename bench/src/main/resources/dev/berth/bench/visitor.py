"""Visits a server as it is ordered to, and tells how long it took.

An order is a line: what to do, how often or how much, the server's host, its port, and the file with whom to trust if it is TLS. The answer is a line of
nanoseconds. Timed here, for the way of an order and its answer is none of what is measured.
"""
import socket
import ssl
import struct
import sys
import threading
import time

PROXY = int(sys.argv[1])  # 0: none
REQUEST = 64  # bytes of a small request, and of its answer
CROWD = 8
now = time.perf_counter_ns
contexts = {}


def connect(host, port, trusted):
    connection = socket.create_connection(("127.0.0.1", PROXY or port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if PROXY:
        connection.sendall(b"CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (host.encode(), port, host.encode(), port))
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += connection.recv(4096)
        if b" 200 " not in answer.split(b"\r\n")[0]:
            raise OSError(answer.decode())
    if trusted:
        if trusted not in contexts:
            contexts[trusted] = ssl.create_default_context(cafile=trusted)
        connection = contexts[trusted].wrap_socket(connection, server_hostname=host)
    return connection


def request(kind, count=0):
    return (kind + struct.pack(">Q", count)).ljust(REQUEST, b".")


def read(connection, count, buffer):
    while count > 0:
        n = connection.recv_into(buffer, min(count, len(buffer)))
        if n == 0:
            raise OSError("the server broke off")
        count -= n


def get(megabytes, *server):
    buffer = memoryview(bytearray(1 << 20))
    with connect(*server) as connection:
        start = now()
        connection.sendall(request(b"G", megabytes << 20))
        read(connection, megabytes << 20, buffer)
        return [now() - start]


def put(megabytes, *server):
    buffer = memoryview(bytearray(1 << 20))
    with connect(*server) as connection:
        start = now()
        connection.sendall(request(b"P", megabytes << 20))
        for _ in range(megabytes):
            connection.sendall(buffer)
        read(connection, REQUEST, buffer)
        return [now() - start]


def echo(connection, buffer):
    connection.sendall(request(b"E"))
    read(connection, REQUEST, buffer)


def fresh(times, *server):
    buffer = memoryview(bytearray(REQUEST))
    nanos = []
    for _ in range(times):
        start = now()
        with connect(*server) as connection:
            echo(connection, buffer)
            nanos.append(now() - start)
    return nanos


def kept(times, *server):
    buffer = memoryview(bytearray(REQUEST))
    nanos = []
    with connect(*server) as connection:
        echo(connection, buffer)
        for _ in range(times):
            start = now()
            echo(connection, buffer)
            nanos.append(now() - start)
    return nanos


def ask(connection, host, port, _):
    connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n" % (host.encode(), port, KEY))
    answer = b""
    while not answer.endswith((b"\r\n\r\nwell", b"well\r\n0\r\n\r\n")):
        piece = connection.recv(4096)
        answer += piece
        if not piece or not answer.startswith(b"HTTP/1.1 200 "):
            raise OSError("the server answered " + answer.decode())


def http(times, *server):
    nanos = []
    with connect(*server) as connection:
        ask(connection, *server)
        for _ in range(times):
            start = now()
            ask(connection, *server)
            nanos.append(now() - start)
    return nanos


def crowd(times, *server):
    """As many requests on each of eight connections at the same time; one number, for all of them."""
    failures = []
    there = threading.Barrier(CROWD + 1)

    def one():
        try:
            with connect(*server) as connection:
                ask(connection, *server)
                there.wait()
                for _ in range(times):
                    ask(connection, *server)
        except (OSError, threading.BrokenBarrierError) as e:
            there.abort()
            failures.append(e)

    threads = [threading.Thread(target=one) for _ in range(CROWD)]
    for thread in threads:
        thread.start()
    try:
        there.wait()
    except threading.BrokenBarrierError as e:
        failures.append(e)
    start = now()
    for thread in threads:
        thread.join()
    if failures:
        raise OSError(failures[0])
    return [now() - start]


# Without a key in the request it is put in on the way; whoever goes directly has to have it.
KEY = b"" if PROXY else b"Authorization: Bearer " + sys.argv[2].encode() + b"\r\n"
ORDERS = {"get": get, "put": put, "fresh": fresh, "kept": kept, "http": http, "crowd": crowd}

for line in sys.stdin:
    order, count, host, port, *trusted = line.split()
    try:
        answer = ORDERS[order](int(count), host, int(port), trusted[0] if trusted else None)
        print(*answer, flush=True)
    except OSError as e:
        print("failed:", " ".join(str(e).split()), flush=True)
