"""Kernels whose code runs in another program: a shell or node, which lives as long as its context.

The program has three ways to us: its standard output and error, and a socket on which it is given code and says how
that ended. All three are read while code runs. What background work writes between two executions waits in the pipes.

Such a kernel is small and there at once: it has what Jupyter's protocol asks for, and nothing of IPython.
"""

import codecs
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time

import zmq

from .wire import MOST_WAITING, Wire

PIECE = 64 * 1024
# programs that write line by line would make a message of every line
GATHERED_FOR = 0.02


class Ended(Exception):
    """The program has ended, with this status."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class DrivenKernel:
    language_info = {}

    def __init__(self, file):
        with open(file, encoding="utf-8") as opened:
            connection = json.load(opened)
        self._wire = Wire(connection["key"])
        self._shell = self._bound(zmq.ROUTER, connection, "shell_port")
        self._control = self._bound(zmq.ROUTER, connection, "control_port")
        self._iopub = self._bound(zmq.PUB, connection, "iopub_port")
        self._heart = self._bound(zmq.REP, connection, "hb_port")
        self._interrupted = False
        self._woken, wakes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # a signal that comes just before a wait ends it nevertheless
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        self.execution_count = 0

    @staticmethod
    def _bound(kind, connection, port):
        bound = zmq.Context.instance().socket(kind)
        bound.linger = 1000
        if kind == zmq.PUB:
            bound.sndhwm = MOST_WAITING
            bound.setsockopt(zmq.XPUB_NODROP, 1)
        colon = "-" if connection["transport"] == "ipc" else ":"
        bound.bind(f"{connection['transport']}://{connection['ip']}{colon}{connection[port]}")
        return bound

    # ---- what a language says about itself

    def argv(self, fd):
        """The program, which talks on the socket with this number."""
        raise NotImplementedError

    def evaluate(self, code, env):
        """Runs code; gives the content of a reply."""
        raise NotImplementedError

    def wanted(self, name, text):
        """What of a piece of output is the code's."""
        return text

    def interrupt(self):
        """Interrupts what runs; gives whether that could be done by now."""
        try:
            os.killpg(self._program.pid, signal.SIGINT)
        except ProcessLookupError:
            # that it has ended is heard next
            pass
        return True

    # ---- its program

    standard_input = subprocess.DEVNULL
    _program = None

    def program(self):
        if self._program is None:
            self._start()

    def _start(self):
        ours, theirs = socket.socketpair()
        try:
            self._program = subprocess.Popen(
                self.argv(theirs.fileno()),
                stdin=self.standard_input,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                process_group=0,
                bufsize=0,
            )
        finally:
            theirs.close()
        self.control = ours
        self._said = b""
        self._gathered = ""
        self._gathered_from = None
        self._texts = {}
        for name, pipe in (("stdout", self._program.stdout), ("stderr", self._program.stderr)):
            os.set_blocking(pipe.fileno(), False)
            self._texts[pipe.fileno()] = (name, codecs.getincrementaldecoder("utf-8")("replace"))

    def forget_program(self):
        """Ends the program if it has not, and gives its status."""
        program, self._program = self._program, None
        self.control.close()
        try:
            status = program.wait(1)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            status = program.wait()
        program.stdout.close()
        program.stderr.close()
        if program.stdin is not None:
            program.stdin.close()
        return status

    def hear(self, end, interruptible=True):
        """What the program says on its socket up to an end, while its output and interrupts are passed on."""
        while end not in self._said:
            try:
                if self._interrupted and interruptible:
                    self._interrupted = not self.interrupt()
                readable = select.select([self.control, self._woken, *self._texts], [], [], self._patience())[0]
                if self._gathered and time.monotonic() >= self._due:
                    self._send()
                for fd in readable:
                    if fd in self._texts:
                        self._pass_on(fd)
                if self._woken in readable:
                    os.read(self._woken, PIECE)
                if self.control in readable:
                    said = self.control.recv(PIECE)
                    if not said:
                        self._drain()
                        raise Ended(self.forget_program())
                    self._said += said
            except ConnectionResetError:
                self._drain()
                raise Ended(self.forget_program()) from None
        line, _, self._said = self._said.partition(end)
        self._drain()
        return line

    def _patience(self):
        """How long to wait for more: until output is due, or an interrupt is tried again."""
        due = [self._due - time.monotonic()] if self._gathered else []
        again = [GATHERED_FOR] if self._interrupted else []
        return max(0, min(due + again)) if due or again else None

    def _drain(self):
        """What was written before the end was said is in the pipes by now."""
        for fd in list(self._texts):
            for _ in range(64):
                if not self._pass_on(fd):
                    break
        self._send()

    def _pass_on(self, fd):
        try:
            data = os.read(fd, PIECE)
        except BlockingIOError:
            return False
        name, decoder = self._texts[fd]
        text = self.wanted(name, decoder.decode(data))
        if text and not self._quiet:
            self._gather(name, text)
        if not data:
            # the program has closed it, and a closed pipe is always readable
            del self._texts[fd]
        return bool(data)

    def _gather(self, name, text):
        if self._gathered and self._gathered_from != name:
            self._send()
        if not self._gathered:
            self._due = time.monotonic() + GATHERED_FOR
        self._gathered += text
        self._gathered_from = name
        if len(self._gathered) >= PIECE:
            self._send()

    def _send(self):
        text, self._gathered = self._gathered, ""
        if not text:
            return
        self._publish("stream", {"name": self._gathered_from, "text": text})

    # ---- Jupyter's side

    _quiet = False
    _request = None

    def serve(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=self._beat, daemon=True).start()
        poller = zmq.Poller()
        poller.register(self._control, zmq.POLLIN)
        poller.register(self._shell, zmq.POLLIN)
        while True:
            for way, _ in poller.poll():
                request = self._wire.read(way.recv_multipart())
                if request is not None:
                    self._answer(way, request)

    def _beat(self):
        try:
            while True:
                self._heart.send(self._heart.recv())
        except zmq.ContextTerminated:
            # a socket belongs to one thread, and nothing ends while one is open
            self._heart.close(linger=0)

    def _answer(self, way, request):
        self._request = request
        self._publish("status", {"execution_state": "busy"})
        reply = {"status": "ok"}
        match request.kind:
            case "execute_request":
                reply = self._execute(request)
            case "kernel_info_request":
                reply |= {
                    "protocol_version": "5.3",
                    "implementation": "interpreter",
                    "implementation_version": "1",
                    "language_info": self.language_info,
                    "banner": "",
                    "help_links": [],
                }
            case "is_complete_request":
                reply = {"status": "unknown"}
            case "shutdown_request":
                reply |= {"restart": bool(request.content.get("restart"))}
        kind = request.kind.removesuffix("_request") + "_reply"
        way.send_multipart(self._wire.write(kind, reply, request.header, routing=request.routing)[0])
        self._publish("status", {"execution_state": "idle"})
        if request.kind == "shutdown_request":
            if self._program is not None:
                os.killpg(self._program.pid, signal.SIGKILL)
            self.leave(0)

    def leave(self, status):
        """Ends this kernel when what it has said is on its way."""
        for mine in (self._shell, self._control, self._iopub):
            mine.close(linger=1000)
        zmq.Context.instance().term()
        os._exit(status)

    def _execute(self, request):
        code = str(request.content.get("code", ""))
        self._quiet = bool(request.content.get("silent"))
        if not self._quiet:
            self.execution_count += 1
            self._publish("execute_input", {"code": code, "execution_count": self.execution_count})
        if not code.strip():
            return self.ok()
        self._interrupted = False
        # It only takes note. An exception could come anywhere, such as between an answer and what is done with it, and
        # then the next execution would get that answer. What has such a handler is no longer ignored in a new program.
        signal.signal(signal.SIGINT, self._note_interrupt)
        try:
            self.program()
            return self.evaluate(code, request.metadata.get("env_vars") or {})
        except OSError as e:
            if self._program is not None:
                # nobody knows what it has done by now, so the next execution gets another
                self.forget_program()
            return self.error("KernelError", f"the program of this context failed: {e.strerror}", [])
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _note_interrupt(self, *_):
        self._interrupted = True

    def ok(self):
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def show(self, data):
        self._publish("execute_result", {"execution_count": self.execution_count, "data": data, "metadata": {}})

    def error(self, name, value, traceback):
        content = {"ename": name, "evalue": value, "traceback": traceback}
        self._publish("error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    def _publish(self, kind, content):
        """Tells everyone. It waits until there is room for that."""
        self._iopub.send_multipart(self._wire.write(kind, content, self._request.header, routing=[kind.encode()])[0])
