"""START to EXITED through the guest, beside a bare posix_spawn and wait of the same command, taken in turns in one run."""

import os
import statistics
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from driver import *  # noqa: E402,F403

ROUNDS = 300


def bare(argv):
    begin = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, {"PATH": "/usr/bin:/bin"})
    os.waitpid(pid, 0)
    return time.perf_counter() - begin


def through(link, id, argv):
    begin = time.perf_counter()
    link.send(START, id, start_payload(argv, env=("PATH=/usr/bin:/bin",)))
    link.until(lambda: id in link.exited)
    taken = time.perf_counter() - begin
    link.send(RELEASE, id)
    return taken


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return {line.split()[0]: int(line.split()[1]) for line in status if line.startswith(("VmRSS", "RssAnon", "RssFile"))}


def main():
    guest = Guest(sys.argv[1], *sys.argv[2:])
    link = guest.connect()
    link.list()
    print("resident, idle:", resident(guest.process.pid))
    id = link.hello[3]
    for argv in (["/bin/true"], ["/bin/bash", "-c", "true"]):
        bares, throughs = [], []
        for _ in range(ROUNDS):
            bares.append(bare(argv))
            throughs.append(through(link, id, argv))
            id += 1
        a, b = statistics.median(bares) * 1000, statistics.median(throughs) * 1000
        p99a, p99b = (statistics.quantiles(x, n=100)[98] * 1000 for x in (bares, throughs))
        print(f"{' '.join(argv):22} posix_spawn {a:.3f} ms (p99 {p99a:.3f})   guest {b:.3f} ms (p99 {p99b:.3f})   x{b / a:.2f}")
    print("resident, after:", resident(guest.process.pid))
    said = guest.stop()
    if said:
        print(said)


main()
