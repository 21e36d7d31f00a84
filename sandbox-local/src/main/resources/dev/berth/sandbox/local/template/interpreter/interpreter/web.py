"""As much HTTP/1.1 as the server needs, on asyncio's streams.

An answer is either whole or a stream of lines. While a stream is written, the connection is watched: its end tells at
once that the client is gone, also when there is nothing to write.
"""

import asyncio
import json

LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 16 * 1024 * 1024
LARGEST_LINE = 64 * 1024
PATIENCE = 60

REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Content Too Large",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
}


class Refused(Exception):
    """An answer that is an error: a status and a sentence."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.text = text


class Gone(Exception):
    """The client has closed its connection."""


class Request:
    def __init__(self, method, path, body, last):
        self.method = method
        self.path = path
        self.body = body
        self.last = last

    def json(self):
        """The body, which has to be an object; nothing at all counts as an empty one."""
        if not self.body.strip():
            return {}
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            raise Refused(400, "The body is not JSON; send an object") from None
        if not isinstance(value, dict):
            raise Refused(400, "The body is not a JSON object; send an object")
        return value


async def read_request(reader, writer):
    """The next request of a connection, or None when there is none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise Refused(431, f"The headers are longer than {LARGEST_HEAD} bytes") from None
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(400, "This is not an HTTP/1.1 request")
    headers = {}
    for line in lines[1:-2]:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise Refused(400, "A header is malformed")
        headers[name.lower()] = value.strip()
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        async with asyncio.timeout(PATIENCE):
            body = await _body(reader, headers)
    except TimeoutError:
        raise Refused(408, "The body did not come in time") from None
    except asyncio.IncompleteReadError:
        return None
    last = words[2] == "HTTP/1.0" or headers.get("connection", "").lower() == "close"
    return Request(words[0], words[1].partition("?")[0], body, last)


async def _body(reader, headers):
    if "transfer-encoding" in headers:
        if headers["transfer-encoding"].lower() != "chunked" or "content-length" in headers:
            raise Refused(400, "The transfer encoding is not 'chunked'")
        return await _chunks(reader)
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise Refused(400, "The content length is no number")
    if len(length) > 12 or int(length) > LARGEST_BODY:
        raise _too_large()
    return await reader.readexactly(int(length))


async def _chunks(reader):
    body = bytearray()
    while True:
        line = (await reader.readuntil(b"\r\n")).partition(b";")[0].strip()
        try:
            size = int(line, 16)
        except ValueError:
            raise Refused(400, "A chunk has no size") from None
        if size < 0 or len(body) + size > LARGEST_BODY:
            raise _too_large()
        if size == 0:
            while await reader.readuntil(b"\r\n") != b"\r\n":
                pass
            return bytes(body)
        body += await reader.readexactly(size)
        if await reader.readexactly(2) != b"\r\n":
            raise Refused(400, "A chunk is longer than it says")


def _too_large():
    return Refused(413, f"The body is larger than {LARGEST_BODY} bytes; write the code into a file and run that")


def answer(writer, status, content, content_type="application/json", close=False):
    body = content if isinstance(content, bytes) else content.encode()
    writer.write(
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        f"{'Connection: close' + chr(13) + chr(10) if close else ''}\r\n".encode() + body
    )


async def linger(reader, writer):
    """Reads on for a moment, since a client that still sends would miss an answer if the connection just broke."""
    try:
        writer.write_eof()
        async with asyncio.timeout(2):
            while await reader.read(65536):
                pass
    except (OSError, TimeoutError):
        pass


class Lines:
    """A stream of lines of JSON. Each goes out whole, in one chunk, and waits for a client that is slow."""

    def __init__(self, reader, writer):
        self._reader = reader
        self._writer = writer
        self._watch = None
        self.gone = asyncio.Event()

    def begin(self):
        self._writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nCache-Control: no-store\r\n"
            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        self._watch = asyncio.create_task(self._watching())

    async def _watching(self):
        try:
            # what a client sends after its request is of no use here, since the connection ends with this answer
            while await self._reader.read(4096):
                pass
        except OSError:
            pass
        self.gone.set()

    async def send(self, value):
        if self.gone.is_set():
            raise Gone()
        # ASCII only, since E2B's client decodes what comes piece by piece and would break a character that is in two
        line = json.dumps(value, allow_nan=False).encode() + b"\n"
        self._writer.write(b"%x\r\n%b\r\n" % (len(line), line))
        try:
            await self._drained()
        except OSError:
            raise Gone() from None

    async def _drained(self):
        if self._writer.transport.get_write_buffer_size() == 0:
            return
        drain = asyncio.ensure_future(self._writer.drain())
        gone = asyncio.ensure_future(self.gone.wait())
        try:
            await asyncio.wait((drain, gone), return_when=asyncio.FIRST_COMPLETED)
            if not drain.done():
                raise Gone()
            drain.result()
        finally:
            drain.cancel()
            gone.cancel()

    async def end(self):
        self._writer.write(b"0\r\n\r\n")
        await self._drained()

    def close(self):
        if self._watch is not None:
            self._watch.cancel()
