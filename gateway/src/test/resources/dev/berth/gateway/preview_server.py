"""What listens in a sandbox, for the tests of previews. Only the standard library. Says "ready" when it listens."""
import base64
import hashlib
import http.server
import json
import socket
import struct
import threading
import urllib.parse

BIG = 200 * 1024 * 1024
BLOCK = bytes(range(256)) * 256
go = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            while True:
                size = int(self.rfile.readline(), 16)
                if size == 0:
                    self.rfile.readline()
                    return
                left = size
                while left > 0:
                    data = self.rfile.read(min(left, 65536))
                    left -= len(data)
                    yield data
                self.rfile.readline()
        else:
            left = int(self.headers.get("Content-Length", "0"))
            while left > 0:
                data = self.rfile.read(min(left, 65536))
                left -= len(data)
                yield data

    def handle_any(self):
        path = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(path.query))
        if path.path == "/ws":
            return self.websocket()
        if path.path == "/raw":
            return self.raw()
        if path.path == "/big":
            self.send_response(200)
            self.send_header("Content-Length", str(BIG))
            self.end_headers()
            for _ in range(BIG // len(BLOCK)):
                self.wfile.write(BLOCK)
            return
        if path.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number in range(5):
                data = b"piece %d\n" % number
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\nX-Trailer: ignored\r\n\r\n")
            return
        if path.path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"data: first\n\n")
            self.wfile.flush()
            go.wait()
            self.wfile.write(b"data: second\n\n")
            self.close_connection = True
            return
        if path.path == "/truncated":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"only this")
            self.close_connection = True
            return
        if path.path == "/early":
            self.answer(413, b"too much", [("Connection", "close")])
            self.connection.shutdown(socket.SHUT_WR)
            while self.rfile.read1(65536):
                pass  # closing with unread bytes would reset the connection, and with it take the answer back
            self.close_connection = True
            return
        if path.path == "/huge-headers":
            return self.answer(200, b"", [("X-%d" % i, "x" * 4000) for i in range(20)])
        if path.path == "/upload":
            digest = hashlib.sha256()
            length = 0
            for data in self.body():
                digest.update(data)
                length += len(data)
            return self.answer(200, json.dumps({"sha256": digest.hexdigest(), "length": length}).encode())
        if path.path == "/go":
            go.set()
            return self.answer(204)
        if path.path == "/set":
            return self.answer(int(query.get("status", "200")), b"set", [(query["name"], query["value"])])
        headers = [[name, value] for name, value in self.headers.items()]
        shown = {"method": self.command, "target": self.path, "headers": headers}
        self.answer(200, json.dumps(shown).encode(), [("Content-Type", "application/json"), ("X-Own", "yes")])

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_PROPFIND = handle_any

    def raw(self):
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nhello ")
        self.wfile.flush()
        count = 0
        while data := self.rfile.read1(65536):
            count += len(data)
        self.wfile.write(b"got %d" % count)
        self.close_connection = True

    def websocket(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Accept: %s\r\n\r\n" % accept
        self.wfile.write(head.encode() + frame(1, b"welcome"))
        while True:
            first, second = self.rfile.read(2)
            length = second & 127
            if length == 126:
                (length,) = struct.unpack("!H", self.rfile.read(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", self.rfile.read(8))
            mask = self.rfile.read(4)
            data = bytes(value ^ mask[i % 4] for i, value in enumerate(self.rfile.read(length)))
            self.wfile.write(frame(first & 15, data, first & 128))
            if first & 15 == 8:
                self.close_connection = True
                return


def frame(opcode, data, last=128):
    if len(data) < 126:
        return bytes([last | opcode, len(data)]) + data
    if len(data) < 65536:
        return bytes([last | opcode, 126]) + struct.pack("!H", len(data)) + data
    return bytes([last | opcode, 127]) + struct.pack("!Q", len(data)) + data


def speak(port, text):
    listener = socket.create_server(("127.0.0.1", port))

    def serve():
        while True:
            client, _ = listener.accept()
            client.recv(65536)
            client.sendall(text)
            client.close()

    threading.Thread(target=serve, daemon=True).start()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
speak(8001, b"\x00\xffgarbage\r\n\x01\x02\r\n\r\n")
speak(8002, b"")
speak(8003, b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello")
speak(8004, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000000)
speak(8005, b"HTTP/1.1 100 Continue\r\n\r\n" * 10000)
print("ready", flush=True)
server.serve_forever()
