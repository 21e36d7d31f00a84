"""Messages of Jupyter's protocol (version 5.3) as they go over ZeroMQ: signed, in JSON."""

import datetime
import hashlib
import hmac
import json
import uuid

DELIMITER = b"<IDS|MSG>"
# what a kernel may have on its way before it has to wait
MOST_WAITING = 64


class Message:
    __slots__ = ("routing", "header", "parent", "metadata", "content")

    def __init__(self, routing, header, parent, metadata, content):
        self.routing = routing
        self.header = header
        self.parent = parent
        self.metadata = metadata
        self.content = content

    @property
    def kind(self):
        return self.header["msg_type"]


class Wire:
    """Writes and reads the messages of one side of a connection."""

    def __init__(self, key):
        self._key = key.encode()
        self._session = uuid.uuid4().hex

    def write(self, kind, content, parent=None, metadata=None, routing=()):
        """The frames of a message, and its id."""
        header = {
            "msg_id": uuid.uuid4().hex,
            "session": self._session,
            "username": "interpreter",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z"),
            "msg_type": kind,
            "version": "5.3",
        }
        parts = [json.dumps(part).encode() for part in (header, parent or {}, metadata or {}, content)]
        return [*routing, DELIMITER, self._sign(parts), *parts], header["msg_id"]

    def read(self, frames):
        """The message of some frames, or None when they are none, or not signed by the other side."""
        try:
            at = frames.index(DELIMITER)
            parts = frames[at + 2 : at + 6]
            if len(parts) < 4 or not hmac.compare_digest(frames[at + 1], self._sign(parts)):
                return None
            message = Message(frames[:at], *(json.loads(part) for part in parts))
            return message if isinstance(message.header.get("msg_type"), str) else None
        except (ValueError, IndexError, AttributeError, RecursionError):
            return None

    def _sign(self, parts):
        mac = hmac.new(self._key, digestmod=hashlib.sha256)
        for part in parts:
            mac.update(part)
        return mac.hexdigest().encode()
