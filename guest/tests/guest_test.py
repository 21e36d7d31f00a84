"""
The real guest, sanitized, driven over a real Unix socket: `python3 tests/guest_test.py BINARY [CASE]...`, as root.

A case is a function of one argument, a guest that was started for it alone. It may have `arguments` for the guest, and a `prefix` of its command line.
"""

import importlib
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from driver import Guest  # noqa: E402

MODULES = ("starting", "signals", "stdin", "terminals", "output", "manners", "dialling", "listening", "strangers")


def cases():
    for name in MODULES:
        module = importlib.import_module("guest." + name)
        for case in list(vars(module).values()):
            if getattr(case, "__module__", None) == module.__name__ and callable(case):
                yield case


def trouble_with(case, binary):
    """What went wrong, or an empty string. A guest that says anything, or ends, is trouble too: it may be the sanitizer's."""
    guest = Guest(binary, *getattr(case, "arguments", ()), prefix=getattr(case, "prefix", ()))
    trouble = ""
    try:
        case(guest)
        if guest.process.poll() is not None:
            trouble = f"the guest ended with {guest.process.returncode}\n"
    except Exception:
        trouble = traceback.format_exc()
    finally:
        said = guest.stop()
    return trouble + said


def main():
    binary, wanted = sys.argv[1], sys.argv[2:]
    if os.geteuid() != 0:
        sys.exit("could not run the guest's tests: they switch users; run them as root")
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
    passed = failed = 0
    for case in cases():
        if wanted and case.__name__ not in wanted:
            continue
        begin = time.monotonic()
        trouble = trouble_with(case, binary)
        if trouble:
            failed += 1
            print(f"FAILED {case.__name__}\n{trouble}", flush=True)
            continue
        passed += 1
        if time.monotonic() - begin > 5:
            print(f"slow: {case.__name__} took {time.monotonic() - begin:.1f} s", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
