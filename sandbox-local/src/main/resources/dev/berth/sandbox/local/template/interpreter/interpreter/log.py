"""The server's log, which is that of the template's start command."""

import sys


def say(*words):
    try:
        print(*words, file=sys.stderr, flush=True)
    except OSError:
        # a full disk is what there may be to tell of
        pass
