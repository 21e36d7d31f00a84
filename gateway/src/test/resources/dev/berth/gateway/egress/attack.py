"""What hostile programs in a sandbox do on their way out. Each attempt prints what came of it."""

import base64
import errno
import os
import re
import socket
import ssl
import stat
import struct
import time

PROXY = ("127.0.0.1", 3128)
HANDSHAKE = 22
ALERT = 21


def key(name="MODEL_KEY"):
    return os.environ[name]


# ---- without the proxy ------------------------------------------------------------------------------------------


def attempt(action):
    """Prints the error that the kernel gives, or that there was none."""
    try:
        action()
        print("REACHED")
    except OSError as e:
        print(errno.errorcode.get(e.errno, str(e)) if e.errno else type(e).__name__)


def tcp(address, port):
    def go():
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(3)
            s.connect((address, port))

    attempt(go)


def question(name):
    labels = b"".join(struct.pack("B", len(part)) + part.encode() for part in name.split("."))
    return b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + labels + b"\x00\x00\x01\x00\x01"


def udp(address, port, payload=b"x"):
    def go():
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.settimeout(3)
            s.sendto(payload, (address, port))
            s.recv(1500)

    attempt(go)


# ---- through the proxy ------------------------------------------------------------------------------------------


def dial():
    s = socket.create_connection(PROXY, 15)
    s.settimeout(15)
    return s


def read_all(s, patience=15):
    """Everything until the other side ends it, or is silent for too long."""
    s.settimeout(patience)
    data = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                break
            data += piece
    except (TimeoutError, socket.timeout):
        data += b"<silence>"
    except (ConnectionError, ssl.SSLError, OSError) as e:
        data += b"<" + type(e).__name__.encode() + b">"
    return data


def read_head(s):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = s.recv(1)
        if not piece:
            break
        data += piece
    return data


def outcomes(data):
    """Of all answers in what came back, the reason of a refusal, or the status."""
    found = []
    for head in re.split(rb"(?=HTTP/1\.[01] \d{3})", data):
        status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
        if status:
            reason = re.search(rb"(?i)\r\nX-Berth-Refused: *([a-z_]+)", head.split(b"\r\n\r\n")[0] + b"\r\n")
            found.append("refused " + reason.group(1).decode() if reason else status.group(1).decode())
    if not found:
        alert = data[:1] == bytes([ALERT])
        found.append("alert" if alert else "cut" if not data or data.startswith(b"<") else "garbage")
    return ", ".join(found)


def raw(data, patience=15):
    """Says something to the proxy as it is."""
    with dial() as s:
        s.sendall(data if isinstance(data, bytes) else data.encode())
        s.shutdown(socket.SHUT_WR)
        answer = read_all(s, patience)
    print(outcomes(answer))
    return answer


def connect(authority, quiet=False):
    s = dial()
    name = authority if isinstance(authority, bytes) else authority.encode()
    s.sendall(b"CONNECT " + name + b" HTTP/1.1\r\nHost: " + name + b"\r\n\r\n")
    result = outcomes(read_head(s))
    if not quiet:
        print(result)
    return s, result


def through(authority, data, patience=5):
    """Asks for a connection and says something on it, without TLS."""
    s, result = connect(authority, quiet=True)
    if result == "200":
        s.sendall(data)
        result = outcomes(read_all(s, patience))
    print(result)


def secured(host, sni=None, port=443, alpn=None):
    """A connection with TLS, as a careless program has it."""
    s, result = connect("%s:%d" % (host, port), quiet=True)
    if result != "200":
        raise SystemExit(print(result))
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(alpn)
    try:
        return context.wrap_socket(s, server_hostname=sni)
    except (ssl.SSLError, ConnectionError, OSError) as e:
        raise SystemExit(print("no tls: " + type(e).__name__))


def opened(host, data, patience=15):
    """Says something in TLS that the proxy opens."""
    with secured(host, host) as s:
        s.sendall(data if isinstance(data, bytes) else data.encode())
        answer = read_all(s, patience)
    print(outcomes(answer))
    return answer


def hello(names, extra=b"", duplicate=False):
    """The first message of TLS, with whatever is wanted in its server_name."""
    entries = b"".join(b"\x00" + struct.pack(">H", len(name)) + name for name in names)
    server_name = struct.pack(">HHH", 0, len(entries) + 2, len(entries)) + entries
    extensions = (server_name if names else b"") * (2 if duplicate else 1) + extra
    body = (
        b"\x03\x03" + os.urandom(32) + b"\x00" + b"\x00\x02\x13\x01" + b"\x01\x00"
        + struct.pack(">H", len(extensions)) + extensions
    )
    message = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return bytes([HANDSHAKE]) + b"\x03\x01" + struct.pack(">H", len(message)) + message


# ---- HTTP/2 -----------------------------------------------------------------------------------------------------


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def fields(pairs):
    """HPACK without any of its savings."""
    out = b""
    for name, value in pairs:
        n, v = name.encode("latin-1"), value.encode("latin-1")
        out += b"\x00" + bytes([len(n)]) + n + bytes([len(v)]) + v
    return out


def h2(host, pairs, body=None):
    """One request in HTTP/2; prints the sentence of a refusal, or how it ended."""
    with secured(host, host, alpn=["h2"]) as s:
        if s.selected_alpn_protocol() != "h2":
            raise SystemExit(print("no h2"))
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
        s.sendall(frame(1, 4 | (0 if body else 1), 1, fields(pairs)))
        if body:
            s.sendall(frame(0, 1, 1, body))
        data = b""
        s.settimeout(15)
        try:
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                data += piece
                ends = list(h2_frames(data))
                if any((kind in (0, 1) and flags & 1 and stream == 1) or kind in (3, 7) for kind, flags, stream, _ in ends):
                    break
        except (TimeoutError, ConnectionError, ssl.SSLError):
            data += b""
    frames = list(h2_frames(data))
    text = b"".join(payload for kind, _, stream, payload in frames if kind == 0)
    if text.startswith(b"berth:"):
        print("refused " + text.decode().strip())
    elif any(kind == 3 for kind, _, _, _ in frames):
        print("reset")
    elif any(kind == 7 for kind, _, _, _ in frames):
        print("goaway")
    elif any(kind == 1 for kind, _, _, _ in frames):
        first = next(payload for kind, _, _, payload in frames if kind == 1)
        print("answered %02x" % first[0] if not text else "answered " + text.decode("latin-1"))
    else:
        print("cut")


def h2_frames(data):
    at = 0
    while at + 9 <= len(data):
        length = int.from_bytes(data[at:at + 3], "big")
        if at + 9 + length > len(data):
            return
        kind, flags = data[at + 3], data[at + 4]
        stream = int.from_bytes(data[at + 5:at + 9], "big") & 0x7FFFFFFF
        yield kind, flags, stream, data[at + 9:at + 9 + length]
        at += 9 + length


# ---- searching --------------------------------------------------------------------------------------------------


def search(hidden):
    """Looks for a text, given in pieces so that it is not in this very program, wherever this user can read."""
    text = hidden[::-1].encode()
    places = []

    def look(name, chunks):
        last = b""
        for chunk in chunks:
            if text in last + chunk:
                places.append(name)
                return
            last = chunk[-len(text):]

    def chunks(path):
        with open(path, "rb", buffering=0) as f:
            while True:
                piece = f.read(1 << 20)
                if not piece:
                    return
                yield piece

    def memory(pid):
        with open("/proc/%s/maps" % pid) as maps, open("/proc/%s/mem" % pid, "rb", buffering=0) as mem:
            for line in maps:
                span, rights = line.split()[:2]
                if "r" not in rights or "[v" in line:
                    continue
                begin, end = (int(part, 16) for part in span.split("-"))
                try:
                    mem.seek(begin)
                    while begin < end:
                        piece = mem.read(min(1 << 20, end - begin))
                        if not piece:
                            break
                        begin += len(piece)
                        yield piece
                except (OSError, ValueError, OverflowError):
                    continue

    files = processes = 0
    for pid in [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
        for part in ("environ", "cmdline"):
            try:
                look("/proc/%s/%s" % (pid, part), chunks("/proc/%s/%s" % (pid, part)))
                processes += 1
            except OSError:
                continue
        try:
            look("/proc/%s/mem" % pid, memory(pid))
        except OSError:
            continue
    # What was there before this sandbox was cannot hold it, and the time of a change cannot be set back.
    began = os.stat("/proc/1").st_ctime - 60
    for directory, names, here in os.walk("/"):
        names[:] = [n for n in names if os.path.join(directory, n) not in ("/proc", "/sys")]
        for name in here:
            path = os.path.join(directory, name)
            try:
                seen = os.lstat(path)
                if stat.S_ISREG(seen.st_mode) and seen.st_ctime >= began:
                    look(path, chunks(path))
                    files += 1
            except OSError:
                continue
    print("looked at %d files and %d processes, found in %s" % (files, processes, places))
