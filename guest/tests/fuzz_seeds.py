"""Writes one seed file per kind of frame, and one with a whole conversation, into the directory given."""

import os
import struct
import sys

sys.path.insert(0, os.path.dirname(__file__))
from driver import *  # noqa: E402,F403

SEEDS = {
    "welcome": frame(WELCOME, 0, struct.pack(">H", VERSION)),
    "start": frame(START, 1, start_payload(["bash", "-c", "echo $A"], groups=(4, 27), tag="t", env=("A=b", "PATH=/bin"))),
    "start-bare": frame(START, 1, start_payload(["x"], cwd="", env=())),
    "stdin": frame(STDIN, 1, b"text\n"),
    "stdin-close": frame(STDIN_CLOSE, 1),
    "signal": frame(SIGNAL, 1, b"\x0f\x00"),
    "resize": frame(RESIZE, 1, struct.pack(">HH", 50, 200)),
    "list": frame(LIST, 0),
    "subscribe": frame(SUBSCRIBE, 1, struct.pack(">QQI", 5, 0, 65536)),
    "consumed": frame(CONSUMED, 1, struct.pack(">BQ", 1, 100)),
    "release": frame(RELEASE, 1),
    "dial": frame(DIAL, 2, struct.pack(">H", 8080)),
    "data": frame(DATA, 2, b"GET / HTTP/1.0\r\n\r\n"),
    "data-end": frame(DATA_END, 2),
    "close": frame(CLOSE, 2),
    "data-consumed": frame(DATA_CONSUMED, 2, struct.pack(">Q", 100)),
    "listen": frame(LISTEN, 0, struct.pack(">H", 3128)),
    "limits": frame(LIMITS, 0),
    "ping": frame(PING, 0, b"12345678"),
}
SEEDS["conversation"] = b"".join(SEEDS.values())

for name, seed in SEEDS.items():
    with open(os.path.join(sys.argv[1], "seed-" + name), "wb") as file:
        file.write(seed)
