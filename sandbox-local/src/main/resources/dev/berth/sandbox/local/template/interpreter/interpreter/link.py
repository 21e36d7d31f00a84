"""One kernel: its process, and the connection over which it is told what to do (Jupyter's messaging protocol 5.3).

The sockets are abstract Unix sockets, so that no port is taken and no file is left. A kernel is a session and process
group of its own and belongs to nobody: when the server dies, the next one finds it by its process id and the time it
started, and goes on talking to it.
"""

import asyncio
import json
import os
import secrets
import signal
import subprocess

import zmq
import zmq.asyncio

from .wire import DELIMITER, MOST_WAITING, Message, Wire

START_PATIENCE = 60
KERNELSPECS = "/usr/local/share/jupyter/kernels"
LARGEST_MESSAGE = 32 * 1024 * 1024


class Failed(Exception):
    """A kernel that did not start."""


class Kernel:
    def __init__(self, pid, started, key, name):
        self.pid = pid
        self.started = started
        self._key = key
        self._name = name
        self._wire = Wire(key)
        self._sockets = []
        self._process = None
        self._pidfd = os.pidfd_open(pid)
        self.dead = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._pidfd, self._died)

    # ---- its process

    @staticmethod
    async def launch(kernelspec, cwd, env, state):
        """Starts a kernel and waits until it answers."""
        try:
            with open(f"{KERNELSPECS}/{kernelspec}/kernel.json", encoding="utf-8") as file:
                argv = json.load(file)["argv"]
        except (OSError, ValueError, KeyError) as e:
            raise Failed(f"There is no kernel for {kernelspec}: {e}") from None
        key = secrets.token_hex(32)
        name = "@interpreter-" + secrets.token_hex(8)
        connection = {
            "transport": "ipc",
            "ip": name,
            "key": key,
            "signature_scheme": "hmac-sha256",
            "shell_port": 1,
            "iopub_port": 2,
            "stdin_port": 3,
            "control_port": 4,
            "hb_port": 5,
        }
        path = os.path.join(state, f"kernel-{name[1:]}.json")
        kernel = None
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                json.dump(connection, file)
            process = subprocess.Popen(
                [path if word == "{connection_file}" else word for word in argv],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                # IPython repeats here what programs write that the code starts, and a log of that would never end
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            kernel = Kernel(process.pid, start_time(process.pid), key, name)
            kernel._process = process
            kernel._connect()
            await kernel._answers()
            return kernel
        except BaseException as e:
            if kernel is not None:
                await kernel.end()
            if isinstance(e, OSError):
                raise Failed(f"The kernel for {kernelspec} did not start: {e.strerror}") from None
            raise
        finally:
            # it is read when the kernel starts, and has the key in it
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass

    @staticmethod
    def adopt(record):
        """A kernel that another server started, or None if it has ended since."""
        try:
            pid, started = int(record["pid"]), int(record["started"])
            if start_time(pid) != started:
                return None
            kernel = Kernel(pid, started, str(record["key"]), str(record["name"]))
        except (KeyError, TypeError, ValueError, OSError):
            return None
        kernel._connect()
        return kernel

    def record(self):
        return {"pid": self.pid, "started": self.started, "key": self._key, "name": self._name}

    def interrupt(self):
        if self.dead.is_set():
            return
        try:
            # the group, so that what the code has started is interrupted too
            os.killpg(self.pid, signal.SIGINT)
        except ProcessLookupError:
            pass

    async def end(self):
        if not self.dead.is_set():
            for pid in session_of(self.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
            await self.dead.wait()
        self._close()

    def _died(self):
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        if self._process is not None:
            self._process.wait()
        self.dead.set()

    # ---- its connection

    def _connect(self):
        # a request never has to wait, so only what comes from the kernel is asyncio's
        self._shell = zmq.Context.instance().socket(zmq.DEALER)
        self._iopub = zmq.asyncio.Context.instance().socket(zmq.SUB)
        self._iopub.rcvhwm = MOST_WAITING
        self._iopub.subscribe(b"")
        for socket, port in ((self._shell, 1), (self._iopub, 2)):
            socket.linger = 0
            self._sockets.append(socket)
            socket.connect(f"ipc://{self._name}-{port}")

    def _close(self):
        for socket in self._sockets:
            socket.close()
        self._sockets.clear()

    async def _answers(self):
        """Asks until something comes back on both ways: a subscription takes effect some time after it was made."""
        try:
            async with asyncio.timeout(START_PATIENCE):
                while not self.dead.is_set():
                    self.send("kernel_info_request", {})
                    if await self._iopub.poll(100):
                        await self._iopub.recv_multipart(copy=False)
                        return
        except TimeoutError:
            raise Failed(f"The kernel did not answer within {START_PATIENCE} seconds") from None
        raise Failed("The kernel ended as soon as it was started; there may be too little memory")

    def send(self, kind, content, metadata=None):
        """Sends a request; gives its id, which what comes back has as its parent."""
        frames, id = self._wire.write(kind, content, metadata=metadata)
        self._shell.send_multipart(frames, zmq.NOBLOCK)
        return id

    def execute(self, code, env):
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            # one request at a time is sent, so there is none to give up when one fails
            "stop_on_error": False,
        }
        return self.send("execute_request", content, {"env_vars": env})

    async def has_more(self):
        """Whether something of it is still on its way, though it may have ended."""
        try:
            return bool(self._sockets and await self._iopub.poll(100))
        except zmq.ZMQError:
            return False

    async def next(self):
        """The next message to everyone; one that is not the kernel's own or cannot be read is passed over."""
        while True:
            self._forget_replies()
            frames = await self._iopub.recv_multipart(copy=False)
            size = sum(len(frame) for frame in frames)
            if size > LARGEST_MESSAGE:
                message = self._left_out([bytes(frame) for frame in frames[:-1]], size)
            else:
                message = self._wire.read([bytes(frame) for frame in frames])
            if message is not None:
                return message

    @staticmethod
    def _left_out(frames, size):
        """What is said in place of a message that is too large."""
        content = {
            "ename": "OutputTooLarge",
            "evalue": f"a result of {size >> 20} MB was left out; write it into a file instead",
            "traceback": [],
        }
        try:
            parent = json.loads(frames[frames.index(DELIMITER) + 3])
        except (ValueError, IndexError):
            return None
        return Message([], {"msg_type": "error"}, parent, {}, content)

    def _forget_replies(self):
        """What comes back on the shell's way says nothing that is not also said to everyone."""
        try:
            while True:
                self._shell.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            pass


def start_time(pid):
    """When a process started, in ticks since the machine did (proc(5), field 22): with its id, this names it."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    if fields[0] == b"Z":
        raise ProcessLookupError(pid)
    return int(fields[19])


def session_of(pid):
    """Everything that a kernel has started and that did not make a session of its own."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    if int(file.read().rpartition(b")")[2].split()[3]) == pid:
                        found.append(int(name))
            except OSError:
                pass
    return found
