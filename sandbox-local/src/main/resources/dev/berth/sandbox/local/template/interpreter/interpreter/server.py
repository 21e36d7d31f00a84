"""The server of port 49999. Who may talk to it was decided before: it listens on the loopback only."""

import asyncio
import json
import os
import re

from .contexts import HOME, Contexts, language_of
from .log import say
from .web import LARGEST_HEAD, Gone, Lines, Refused, answer, linger, read_request

PORT = int(os.environ.get("INTERPRETER_PORT", "49999"))
MOST_CONNECTIONS = 512
_CONTEXT = re.compile(r"/contexts/([^/]+)(/restart)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Server:
    def __init__(self):
        self._contexts = Contexts()
        self._open = 0

    async def run(self):
        listening = await asyncio.start_server(
            self._connection, "127.0.0.1", PORT, limit=LARGEST_HEAD, backlog=256, reuse_address=True
        )
        await self._contexts.open()
        warming = asyncio.create_task(self._contexts.warm())
        async with listening:
            await listening.serve_forever()
        await warming

    async def _connection(self, reader, writer):
        self._open += 1
        try:
            if self._open > MOST_CONNECTIONS:
                answer(writer, 429, "Too many connections", "text/plain; charset=utf-8", close=True)
                return
            while (request := await read_request(reader, writer)) is not None:
                if not await self._answered(request, reader, writer):
                    return
                await writer.drain()
        except Refused as e:
            answer(writer, e.status, e.text, "text/plain; charset=utf-8", close=True)
            await linger(reader, writer)
        except (Gone, OSError, asyncio.LimitOverrunError):
            pass
        except Exception as e:
            say("a request failed:", repr(e))
        finally:
            self._open -= 1
            writer.close()

    async def _answered(self, request, reader, writer):
        """Whether the connection can take another request."""
        if request.method == "POST" and request.path == "/execute":
            await self._execute(request, reader, writer)
            return False
        try:
            answer(writer, 200, json.dumps(await self._simple(request)), close=request.last)
        except Refused as e:
            answer(writer, e.status, e.text, "text/plain; charset=utf-8", close=request.last)
        return not request.last

    async def _simple(self, request):
        match request.method, request.path.rstrip("/"):
            case "GET", "/health":
                return "OK"
            case "GET", "/contexts":
                return self._contexts.list()
            case "POST", "/contexts":
                body = request.json()
                cwd = body.get("cwd") or HOME
                if not isinstance(cwd, str) or not cwd.startswith("/") or "\0" in cwd:
                    raise Refused(400, "The working directory has to be a whole path like /home/user")
                return (await self._contexts.create(language_of(body.get("language")), cwd)).shown()
            case method, path if named := _CONTEXT.fullmatch(path):
                if method == "DELETE" and not named[2]:
                    await self._contexts.remove(named[1])
                    return None
                if method == "POST" and named[2]:
                    await self._contexts.get(named[1]).restart()
                    return None
                raise Refused(405, "Contexts are removed with DELETE and restarted with POST …/restart")
        raise Refused(404, "There is no such path; the paths are /execute, /contexts and /health")

    async def _execute(self, request, reader, writer):
        body = request.json()
        code, id, language = body.get("code"), body.get("context_id"), body.get("language")
        if not isinstance(code, str):
            raise Refused(400, "There is no code; send it as a string in 'code'")
        if id is not None and language is not None:
            raise Refused(400, "Only one of context_id or language can be provided")
        env = body.get("env_vars") or {}
        if not isinstance(env, dict) or not all(
            _VARIABLE.fullmatch(k) and isinstance(v, str) and "\0" not in v for k, v in env.items()
        ):
            raise Refused(400, "env_vars has to be an object of names and strings")
        context = self._contexts.get(id) if id is not None else self._contexts.of_language(language_of(language))
        client = Lines(reader, writer)
        try:
            await context.execute(code, env, client)
        finally:
            client.close()


def serve():
    asyncio.run(Server().run())
