"""The server's side of PROTOCOL.md, small and blocking: what the tests and the latency measurement speak to a guest with."""

import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections import namedtuple

WELCOME, START, STDIN, STDIN_CLOSE, SIGNAL, RESIZE, LIST, SUBSCRIBE, CONSUMED, RELEASE = range(1, 11)
DIAL, DATA, DATA_END, CLOSE, DATA_CONSUMED, LIMITS, PING, LISTEN = range(11, 19)
(HELLO, STARTED, REFUSED, OUTPUT, OUTPUT_END, EXITED, STDIN_TAKEN, STDIN_BROKEN, PROCESSES,
 DIALED, DATA_OUT, DATA_OUT_END, CLOSED, DATA_TAKEN, LIMITS_HIT, PONG, LISTENING, ACCEPTED) = range(65, 83)
PTY, KEEP_STDIN, BLOCK, NO_NEW_PRIVS = 1, 2, 4, 8
VERSION = 2
CREDIT = 256 << 10
CARRY_CREDIT = 1 << 20
TOKEN = "the-token-of-this-sandbox"

Frame = namedtuple("Frame", "type id payload")
Exit = namedtuple("Exit", "kind value flags ends")
Listed = namedtuple("Listed", "id pid flags kind value oldest ends stdin tag command")


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack(">I", len(data)) + data


def strings(texts):
    return struct.pack(">I", len(texts)) + b"".join(string(t) for t in texts)


def start_payload(argv, flags=0, ring=1 << 20, window=1 << 20, timeout_ms=0, uid=0, gid=0, groups=(), rows=24, cols=80,
                  tag="", cwd="/", env=("PATH=/usr/local/bin:/usr/bin:/bin",)):
    return (struct.pack(">BIIQIIH", flags, ring, window, timeout_ms, uid, gid, len(groups))
            + b"".join(struct.pack(">I", g) for g in groups) + struct.pack(">HH", rows, cols)
            + string(tag) + string(cwd) + strings(argv) + strings(env))


def frame(kind, id, payload=b""):
    return struct.pack(">IBI", len(payload) + 5, kind, id) + payload


class Lost(Exception):
    """The guest closed the connection."""


class Link:
    """One connection, from accept to close. Keeps every frame it read, and what each process has said."""

    def __init__(self, sock):
        self.sock = sock
        self.pending = bytearray()
        self.frames = []
        self.started, self.refused, self.exited, self.ends, self.taken, self.broken = {}, {}, {}, {}, {}, set()
        self.output = {}      # (id, stream) -> bytearray
        self.pieces = {}      # (id, stream) -> [(offset, size)]
        self.data, self.data_ends, self.dialed, self.closed, self.data_taken = {}, set(), set(), {}, {}
        self.accepted = []
        self.consume = True
        self.lost = False

    def send(self, kind, id=0, payload=b""):
        self.sock.sendall(frame(kind, id, payload))

    def read(self, timeout):
        """Takes in what has come; False when nothing did in time."""
        if not select.select([self.sock], [], [], max(0, timeout))[0]:
            return False
        try:
            got = self.sock.recv(1 << 20)
        except ConnectionResetError:
            got = b""
        if not got:
            self.lost = True
            raise Lost()
        self.pending += got
        at = 0
        while len(self.pending) - at >= 4:
            length = struct.unpack_from(">I", self.pending, at)[0]
            assert 5 <= length <= 256 << 10, f"frame of {length} bytes"
            if len(self.pending) - at < 4 + length:
                break
            kind, id = struct.unpack_from(">BI", self.pending, at + 4)
            self.take(Frame(kind, id, bytes(self.pending[at + 9:at + 4 + length])))
            at += 4 + length
        del self.pending[:at]
        return True

    def take(self, f):
        self.frames.append(f._replace(payload=b"") if f.type == OUTPUT else f)
        p = f.payload
        if f.type == STARTED:
            self.started[f.id] = struct.unpack(">I", p)[0]
        elif f.type == REFUSED:
            self.refused[f.id] = struct.unpack(">BI", p)
        elif f.type == OUTPUT:
            stream, offset = struct.unpack_from(">BQ", p)
            self.output.setdefault((f.id, stream), bytearray()).extend(p[9:])
            self.pieces.setdefault((f.id, stream), []).append((offset, len(p) - 9))
            if self.consume:
                self.consumed(f.id, stream, offset + len(p) - 9)
        elif f.type == OUTPUT_END:
            stream, offset = struct.unpack(">BQ", p)
            self.ends[f.id, stream] = offset
        elif f.type == EXITED:
            kind, value, flags, out, err = struct.unpack(">BBBQQ", p)
            self.exited[f.id] = Exit(kind, value, flags, (out, err))
        elif f.type == STDIN_TAKEN:
            self.taken[f.id] = struct.unpack(">Q", p)[0]
        elif f.type == STDIN_BROKEN:
            self.broken.add(f.id)
        elif f.type == DIALED:
            self.dialed.add(f.id)
        elif f.type == ACCEPTED:
            self.accepted.append(f.id)
        elif f.type == DATA_OUT:
            self.data.setdefault(f.id, bytearray()).extend(p)
            if self.consume:
                self.send(DATA_CONSUMED, f.id, struct.pack(">Q", len(self.data[f.id])))
        elif f.type == DATA_OUT_END:
            self.data_ends.add(f.id)
        elif f.type == CLOSED:
            self.closed[f.id] = struct.unpack(">I", p)[0]
        elif f.type == DATA_TAKEN:
            self.data_taken[f.id] = struct.unpack(">Q", p)[0]

    def consumed(self, id, stream, offset):
        self.send(CONSUMED, id, struct.pack(">BQ", stream, offset))

    def until(self, condition, timeout=10):
        deadline = time.monotonic() + timeout
        while not condition():
            if not self.read(deadline - time.monotonic()) and time.monotonic() > deadline:
                raise AssertionError(f"timed out; last frames {self.frames[-5:]}")

    def quiet(self, seconds):
        """Reads for a while, whatever comes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read(deadline - time.monotonic())

    def of(self, id, kind):
        return [f for f in self.frames if f.id == id and f.type == kind]

    def start(self, id, argv, **options):
        self.send(START, id, start_payload(argv, **options))
        self.until(lambda: id in self.started or id in self.refused)
        return self.started.get(id)

    def wait(self, id, timeout=10):
        self.until(lambda: id in self.exited, timeout)
        return self.exited[id]

    def out(self, id, stream=1):
        return bytes(self.output.get((id, stream), b""))

    def ask(self, kind, answer):
        seen = len(self.of(0, answer))
        self.send(kind)
        self.until(lambda: len(self.of(0, answer)) > seen)
        return self.of(0, answer)[-1].payload

    def list(self):
        payload = self.ask(LIST, PROCESSES)
        listed, at = {}, 4
        for _ in range(struct.unpack_from(">I", payload)[0]):
            id, pid, flags, kind, value, o1, e1, o2, e2, *stdin = struct.unpack_from(">IIBBBQQQQQQ", payload, at)
            at += 59
            texts = []
            for _ in range(2):
                size = struct.unpack_from(">I", payload, at)[0]
                texts.append(payload[at + 4:at + 4 + size].decode())
                at += 4 + size
            listed[id] = Listed(id, pid, flags, kind, value, (o1, o2), (e1, e2), tuple(stdin), *texts)
        assert at == len(payload)
        return listed

    def listen(self, port):
        """Has the guest listen; returns what it answers, the port and an errno."""
        seen = len(self.of(0, LISTENING))
        self.send(LISTEN, 0, struct.pack(">H", port))
        self.until(lambda: len(self.of(0, LISTENING)) > seen)
        return struct.unpack(">HI", self.of(0, LISTENING)[-1].payload)

    def limits(self):
        return struct.unpack(">IIIQ", self.ask(LIMITS, LIMITS_HIT))

    def subscribe(self, id, out=0, err=0, window=1 << 20):
        self.exited.pop(id, None)
        self.send(SUBSCRIBE, id, struct.pack(">QQI", out, err, window))

    def close(self):
        self.sock.close()


class Guest:
    """A guest and the socket it dials."""

    def __init__(self, binary, *arguments, prefix=()):
        self.directory = tempfile.mkdtemp(prefix="berth-guest-")
        self.path = os.path.join(self.directory, "socket")
        self.listen()
        self.stderr = open(os.path.join(self.directory, "stderr"), "w+b")
        self.process = subprocess.Popen([*prefix, binary, "--socket", self.path, *arguments], stderr=self.stderr, stdin=subprocess.DEVNULL,
                                        env={**os.environ, "BERTH_TOKEN": TOKEN, "OTHER": "seen"})

    def listen(self):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen(4)
        self.server.settimeout(10)

    def deaf(self):
        self.server.close()
        os.unlink(self.path)

    def accept(self):
        """A connection whose HELLO has come but has no answer yet; hello says what it said."""
        link = Link(self.server.accept()[0])
        link.until(lambda: link.frames)
        hello = link.frames[0]
        assert hello.type == HELLO and hello.id == 0
        version, size = struct.unpack_from(">HI", hello.payload)
        token = hello.payload[6:6 + size].decode()
        boot_size = struct.unpack_from(">I", hello.payload, 6 + size)[0]
        boot = hello.payload[10 + size:10 + size + boot_size].decode()
        next_id, = struct.unpack(">I", hello.payload[10 + size + boot_size:])
        link.hello = (version, token, boot, next_id)
        return link

    def connect(self):
        link = self.accept()
        link.send(WELCOME, 0, struct.pack(">H", VERSION))
        return link

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.server.close()
        self.stderr.seek(0)
        said = self.stderr.read().decode(errors="replace")
        self.stderr.close()
        shutil.rmtree(self.directory)
        return said
