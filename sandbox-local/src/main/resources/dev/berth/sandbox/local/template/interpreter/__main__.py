"""Runs code for the clients of port 49999.

    python3 DIRECTORY serve              the server, in the foreground
    python3 DIRECTORY kernel LANGUAGE -f FILE
                                         one Jupyter kernel, as kernelspecs start it
"""

import sys


def main() -> None:
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    if verb == "serve":
        from interpreter.server import serve

        serve()
    elif verb == "kernel" and len(sys.argv) > 2:
        from interpreter.kernels import run

        run(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)


main()
