"""The kernels: processes of Jupyter's kind, of which each runs the code of one context. This is Python's, IPython itself.

What a kernel writes goes to the server through a socket that holds little. When the server, or the client behind it, is
slow, that is full and the code that writes has to wait: no output is lost and none piles up.
"""

import os
import sys
import threading

import zmq

# Nobody debugs here, and the debugger would take a third of the memory of a kernel that has done nothing yet.
sys.modules["debugpy"] = None

from ipykernel.iostream import OutStream  # noqa: E402
from ipykernel.ipkernel import IPythonKernel  # noqa: E402
from ipykernel.kernelapp import IPKernelApp  # noqa: E402
from traitlets.config import Config  # noqa: E402

del sys.modules["debugpy"]

from . import formats  # noqa: E402
from .wire import MOST_WAITING  # noqa: E402

LARGEST_PIECE = 128 * 1024


class Stream(OutStream):
    """Standard output or error of the code. Text goes in pieces, and after each the writer waits until it was sent."""

    flush_interval = 0.05
    _unsent = 0

    def write(self, string):
        if not isinstance(string, str) or not self._is_master_process():
            return super().write(string)
        for begin in range(0, len(string), LARGEST_PIECE):
            piece = string[begin : begin + LARGEST_PIECE]
            super().write(piece)
            self._unsent += len(piece)
            if self._unsent >= LARGEST_PIECE:
                self.flush()
        return len(string)

    def flush(self):
        self._unsent = 0
        thread = self.pub_thread
        if thread is None or not self._is_master_process():
            super().flush()
            return
        thread.schedule(self._flush)
        if thread.thread.is_alive() and thread.thread is not threading.current_thread():
            # an interrupt ends the wait
            sent = threading.Event()
            thread.schedule(sent.set)
            sent.wait()


class Environment:
    """Variables that are set for one execution."""

    def __init__(self, variables):
        self._variables = variables
        self._before = {name: os.environ.get(name) for name in variables}

    def __enter__(self):
        os.environ.update(self._variables)

    def __exit__(self, *_):
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class PythonKernel(IPythonKernel):
    async def execute_request(self, stream, ident, parent):
        with Environment((parent.get("metadata") or {}).get("env_vars") or {}):
            await super().execute_request(stream, ident, parent)


class App(IPKernelApp):
    outstream_class = "interpreter.python.Stream"

    def _try_bind_socket(self, s, port):
        if s.type == zmq.PUB:
            s.sndhwm = MOST_WAITING
            s.setsockopt(zmq.XPUB_NODROP, 1)
        return super()._try_bind_socket(s, port)

    def init_poller(self):
        """A kernel outlives the server that started it, so it does not look for its parent."""


def run(argv):
    config = Config()
    config.InteractiveShell.colors = "NoColor"
    config.HistoryManager.enabled = False
    config.IPKernelApp.log_level = "ERROR"
    app = App.instance(kernel_class=PythonKernel, config=config)
    # the code's imports are the code's own business
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.dirname(__file__))]
    app.initialize(argv)
    formats.install(app.shell)
    app.start()
