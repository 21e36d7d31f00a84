"""Contexts: named kernels that keep their state from one execution to the next.

Python's own context is there from the start, with a kernel that is being started; that of JavaScript is listed but
gets its kernel when it is first used. Executions of a context take turns. What there is, is written down after every
change, so that a server that comes after a crash has the same contexts, and the kernels that still run.
"""

import asyncio
import json
import os
import uuid

from . import output
from .link import Failed, Kernel
from .log import say
from .web import Gone, Refused

HOME = "/home/user"
STATE = os.environ.get("INTERPRETER_STATE", "/var/lib/interpreter")
KERNELS = {"python": "python3", "javascript": "javascript", "typescript": "typescript", "bash": "bash"}
NAMES = {"js": "javascript", "ts": "typescript", "py": "python", "python3": "python", "sh": "bash"}
MOST_CONTEXTS = 64
MOST_WAITING = 64
KEEPALIVE = 5
# What is written to a connection whose other end is gone is lost in silence the first time, and fails the second. On the
# way to a client that has left there may be such a connection, so each keepalive has another one behind it.
KEEPALIVE_AGAIN = 0.5
# how long code may take to notice that it was interrupted before its kernel is started anew
INTERRUPT_PATIENCE = 20


def language_of(text):
    if text is None:
        return "python"
    if not isinstance(text, str):
        raise Refused(400, "The language has to be a string")
    name = text.strip().lower()
    name = NAMES.get(name, name)
    if name not in KERNELS:
        raise Refused(400, f"There is no kernel for '{text[:40]}'; the languages are {', '.join(KERNELS)}")
    return name


class Silence:
    """How long to wait before saying that there is nothing to say."""

    def __init__(self):
        self._again = False

    def patience(self):
        return KEEPALIVE_AGAIN if self._again else KEEPALIVE

    def keepalive(self):
        self._again = not self._again
        return {"type": "keepalive"}


class Execution:
    """Code that runs, and the lines it has for the client. They are few: a kernel waits for a client that is slow."""

    def __init__(self):
        self.id = ""
        self.lines = asyncio.Queue(16)
        self.unwanted = False
        self.over = asyncio.Event()

    async def tell(self, line):
        if not self.unwanted:
            await self.lines.put(line)

    def abandon(self):
        """Nobody reads the lines any more."""
        self.unwanted = True
        while not self.lines.empty():
            self.lines.get_nowait()


class Context:
    def __init__(self, id, language, cwd, default, changed):
        self.id = id
        self.language = language
        self.cwd = cwd
        self.default = default
        self.kernel = None
        self.removed = False
        self._changed = changed
        self._turn = asyncio.Lock()
        self._starting = asyncio.Lock()
        self._waiting = 0
        self._current = None
        self._pump = None
        # held while a message is given to its execution
        self._telling = asyncio.Lock()

    def shown(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    def record(self):
        kernel = self.kernel.record() if self.kernel is not None and not self.kernel.dead.is_set() else None
        return {**self.shown(), "default": self.default, "kernel": kernel}

    # ---- the kernel

    async def ready(self):
        """Sees to it that there is a kernel."""
        async with self._starting:
            if self.removed:
                raise not_found(self.id)
            if self.kernel is not None and not self.kernel.dead.is_set():
                return
            try:
                fresh = await Kernel.launch(KERNELS[self.language], self.cwd, dict(os.environ), STATE)
            except Failed as e:
                raise Refused(500, str(e)) from None
            self._use(fresh)
            self._changed()

    def adopt(self, record):
        kernel = Kernel.adopt(record) if isinstance(record, dict) else None
        if kernel is not None:
            # whoever waited for what it does has gone with the server before
            kernel.interrupt()
            self._use(kernel)

    def _use(self, kernel):
        self.kernel = kernel
        self._pump = asyncio.create_task(self._pumping(kernel))

    async def _pumping(self, kernel):
        """Takes what the kernel says for as long as it lives, and gives what belongs to the execution to it."""
        messages = asyncio.create_task(self._messages(kernel))
        death = asyncio.create_task(kernel.dead.wait())
        try:
            await asyncio.wait((messages, death), return_when=asyncio.FIRST_COMPLETED)
            # the last words of one that has ended by itself are told too
            while kernel is self.kernel and not self.removed and not messages.done() and await kernel.has_more():
                await asyncio.sleep(0.01)
            async with self._telling:
                messages.cancel()
            if messages.done() and not messages.cancelled() and messages.exception() is not None:
                say("kernel", kernel.pid, "is not understood:", repr(messages.exception()))
        finally:
            messages.cancel()
            death.cancel()
        await kernel.end()
        if kernel is self.kernel and not self.removed:
            await self._lost()

    async def _messages(self, kernel):
        while True:
            message = await kernel.next()
            async with self._telling:
                await self._take(message)

    async def _take(self, message):
        execution = self._current
        if execution is None or message.parent.get("msg_id") != execution.id:
            return
        if message.kind == "status":
            if message.content.get("execution_state") == "idle":
                execution.over.set()
            return
        line = output.line_of(message.kind, message.content, message.header.get("date"))
        if line is not None:
            await execution.tell(line)

    async def _lost(self):
        """The kernel is gone by itself: says so, and starts another."""
        execution = self._current
        if execution is not None:
            await execution.tell(restarting())
            execution.over.set()
        try:
            await self.ready()
        except Refused as e:
            say(f"context {self.id}:", e.text)

    async def restart(self):
        old, self.kernel = self.kernel, None
        execution = self._current
        if old is not None:
            await old.end()
        if execution is not None and not execution.over.is_set():
            await execution.tell(restarting())
            execution.over.set()
        await self.ready()

    async def remove(self):
        self.removed = True
        execution = self._current
        async with self._starting:
            if self.kernel is not None:
                await self.kernel.end()
        if execution is not None and not execution.over.is_set():
            await execution.tell(output.error("ContextRemoved", "The context was removed while this ran", []))
            execution.over.set()

    # ---- executions

    async def execute(self, code, env, client):
        """Runs code and streams what it says to the client."""
        if self._waiting >= MOST_WAITING:
            raise Refused(429, f"{MOST_WAITING} executions wait for this context; try again when some are done")
        self._waiting += 1
        try:
            await self.ready()
            client.begin()
            await self._await_turn(client)
        finally:
            self._waiting -= 1
        try:
            await self._run(code, env, client)
        finally:
            self._turn.release()

    async def _await_turn(self, client):
        turn = asyncio.ensure_future(self._turn.acquire())
        gone = asyncio.ensure_future(client.gone.wait())
        silence = Silence()
        try:
            while not turn.done():
                await asyncio.wait((turn, gone), timeout=silence.patience(), return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    raise Gone()
                if not turn.done():
                    await client.send(silence.keepalive())
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._turn.release()
            turn.cancel()
            raise
        finally:
            gone.cancel()

    async def _run(self, code, env, client):
        execution = Execution()
        try:
            await self.ready()
        except Refused as e:
            await client.send(output.error("ContextFailed", e.text, []))
            await client.send({"type": "end_of_execution"})
            await client.end()
            return
        self._current = execution
        try:
            execution.id = self.kernel.execute(code, env)
            await self._relay(execution, client)
            await client.send({"type": "end_of_execution"})
            await client.end()
        except BaseException:
            execution.abandon()
            if not execution.over.is_set():
                await asyncio.shield(self._interrupted(execution))
            raise
        finally:
            execution.abandon()
            self._current = None

    async def _relay(self, execution, client):
        over = asyncio.ensure_future(execution.over.wait())
        gone = asyncio.ensure_future(client.gone.wait())
        # one that is not cancelled while something else is sent, as it may have taken a line by then
        line = asyncio.ensure_future(execution.lines.get())
        silence = Silence()
        try:
            while True:
                await asyncio.wait((line, over, gone), timeout=silence.patience(), return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    raise Gone()
                if line.done():
                    silence = Silence()
                    said, line = line.result(), asyncio.ensure_future(execution.lines.get())
                    await client.send(said)
                elif not over.done():
                    await client.send(silence.keepalive())
                elif execution.lines.empty():
                    return
        finally:
            line.cancel()
            over.cancel()
            gone.cancel()

    async def _interrupted(self, execution):
        """Makes the context free again: by SIGINT, and if that is not heeded, with another kernel."""
        kernel = self.kernel
        for _ in range(INTERRUPT_PATIENCE):
            if kernel is None or kernel is not self.kernel:
                return
            kernel.interrupt()
            try:
                async with asyncio.timeout(1):
                    await execution.over.wait()
                    return
            except TimeoutError:
                continue
        await self.restart()


class Contexts:
    def __init__(self):
        self._all = {}

    async def open(self):
        os.makedirs(STATE, mode=0o700, exist_ok=True)
        for record in self._read():
            try:
                context = self._add(record["language"], record["cwd"], record["default"], record["id"])
            except (KeyError, TypeError):
                continue
            context.adopt(record.get("kernel"))
        for language in ("python", "javascript"):
            if self._default(language) is None:
                self._add(language, HOME, True)
        self.changed()

    async def warm(self):
        """The first execution should not have to wait for its kernel."""
        try:
            python = self._default("python")
            if python is not None:
                await python.ready()
        except Refused as e:
            say("the kernel for python:", e.text)

    def list(self):
        return [context.shown() for context in self._all.values()]

    def get(self, id):
        context = self._all.get(id) if isinstance(id, str) else None
        if context is None:
            raise not_found(id)
        return context

    def of_language(self, language):
        context = self._default(language)
        return context if context is not None else self._added(language, HOME, True)

    async def create(self, language, cwd):
        if not os.path.isdir(cwd) or not os.access(cwd, os.X_OK):
            raise Refused(400, f"There is no directory {cwd[:200]!r} that this user may enter; make it first")
        context = self._added(language, cwd, False)
        try:
            await context.ready()
        except BaseException:
            self._all.pop(context.id, None)
            self.changed()
            await asyncio.shield(context.remove())
            raise
        return context

    async def remove(self, id):
        context = self.get(id)
        del self._all[context.id]
        self.changed()
        await context.remove()

    def _added(self, language, cwd, default):
        if len(self._all) >= MOST_CONTEXTS:
            raise Refused(429, f"There are {MOST_CONTEXTS} contexts already; remove one")
        context = self._add(language, cwd, default)
        self.changed()
        return context

    def _add(self, language, cwd, default, id=None):
        context = Context(id or str(uuid.uuid4()), language, cwd, default, self.changed)
        self._all[context.id] = context
        return context

    def _default(self, language):
        return next((c for c in self._all.values() if c.default and c.language == language), None)

    # ---- what a later server has to know

    def changed(self):
        path = os.path.join(STATE, "contexts.json")
        try:
            with open(path + ".new", "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as file:
                json.dump([context.record() for context in self._all.values()], file)
            os.replace(path + ".new", path)
        except OSError as e:
            # as on a full disk; this server goes on, and a later one has the contexts of before
            say("the contexts could not be written down:", e)

    @staticmethod
    def _read():
        try:
            with open(os.path.join(STATE, "contexts.json"), encoding="utf-8") as file:
                records = json.load(file)
        except (OSError, ValueError):
            return []
        return [r for r in records if isinstance(r, dict) and r.get("language") in KERNELS] if isinstance(records, list) else []


def restarting():
    return output.error("ContextRestarting", "The context was restarted, what it held is lost", [])


def not_found(id):
    return Refused(404, f"Context {str(id)[:200]} not found")
