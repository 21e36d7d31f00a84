"""JavaScript and TypeScript as kernels: one node for all executions of a context. node.js has the other side."""

import json
import os

from .driven import DrivenKernel, Ended


class JavaScriptKernel(DrivenKernel):
    language = "javascript"
    language_info = {"name": "javascript", "mimetype": "text/javascript", "file_extension": ".js"}

    def argv(self, fd):
        driver = os.path.join(os.path.dirname(__file__), "node.js")
        return ["node", "--no-warnings", driver, str(fd)]

    def interrupt(self):
        self._say({"interrupt": True})
        return True

    def evaluate(self, code, env):
        try:
            self._say({"code": code, "env": env, "typescript": self.language == "typescript"})
            said = json.loads(self.hear(b"\n"))
        except (Ended, BrokenPipeError):
            # The context is its node. Without it the kernel is done for, and the server starts another.
            self.leave(1)
        if "error" in said:
            error = said["error"]
            return self.error(error["name"], error["value"], error["traceback"])
        if said.get("data"):
            self.show(said["data"])
        return self.ok()

    def _say(self, value):
        self.control.sendall(json.dumps(value).encode() + b"\n")


class TypeScriptKernel(JavaScriptKernel):
    language = "typescript"
    language_info = {"name": "typescript", "mimetype": "text/typescript", "file_extension": ".ts"}
