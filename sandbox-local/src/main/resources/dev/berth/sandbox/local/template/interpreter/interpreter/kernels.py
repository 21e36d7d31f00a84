"""Starts the kernel of a language."""

import os
import sys


def run(language, argv):
    try:
        # when memory runs out, the code that took it goes, and the server stays to say so
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        pass
    if language == "python":
        from . import python

        python.run(argv)
        return
    if language == "bash":
        from .bash import BashKernel as Kernel
    elif language == "typescript":
        from .node import TypeScriptKernel as Kernel
    elif language == "javascript":
        from .node import JavaScriptKernel as Kernel
    else:
        sys.exit(f"there is no kernel for {language}")
    if len(argv) != 2 or argv[0] != "-f":
        sys.exit("a kernel takes -f and the file of its connection")
    Kernel(os.path.abspath(argv[1])).serve()
