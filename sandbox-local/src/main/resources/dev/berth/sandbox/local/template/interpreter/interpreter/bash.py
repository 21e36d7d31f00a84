"""Bash as a kernel: one shell for all executions of a context.

It is an interactive one, since only such a shell gives up the whole of its code at an interrupt and lives on. It reads
its commands from a pipe: each is one line that takes the code from the socket and evaluates it. Before it would prompt
for the next, it says the status on the socket. What such a shell tells a person at a terminal is left out.
"""

import array
import fcntl
import re
import shlex
import subprocess
import termios

from .driven import DrivenKernel, Ended

_START = (
    "PS1= PS2= HISTFILE= ; set +m +H +o history ; unset MAILCHECK ; exit() {{ builtin exit \"${{@:-$?}}\" 2>/dev/null; }} ; "
    "PROMPT_COMMAND='printf \"%s\\n\" \"$?\" >&{fd}'\n"
)
_STEP = "IFS= read -r -d '' -u {fd} INTERPRETER_CODE; eval \"$INTERPRETER_CODE\" </dev/null {fd}>&-\n"
# that a command died of a signal, which may have left a terminal in disorder, and what becomes of jobs
_TO_A_PERSON = re.compile(
    r"^(?:bash: \[\d+: \d+ \(\d+\)\] tcsetattr: Inappropriate ioctl for device"
    r"|\[\d+\] \d+|\[\d+\][-+]? +(?:Done|Exit|Terminated|Killed|Hangup|Interrupt|Segmentation)\b.*)\n",
    re.MULTILINE,
)


class BashKernel(DrivenKernel):
    language = "bash"
    language_info = {"name": "bash", "mimetype": "text/x-sh", "file_extension": ".sh"}

    def argv(self, fd):
        self._fd = fd
        return ["/bin/bash", "--noprofile", "--norc", "--noediting", "-i", "+m"]

    standard_input = subprocess.PIPE

    def program(self):
        if self._program is None:
            super().program()
            # it says that it cannot control jobs
            self._quiet, quiet = True, self._quiet
            self._write(_START)
            self.hear(b"\n", interruptible=False)
            self._quiet = quiet

    def interrupt(self):
        # While the shell still takes the code, the rest of it would be left for the next.
        return not self._untaken() and super().interrupt()

    def _untaken(self):
        """How much is on its way to the shell."""
        waiting = array.array("i", [0])
        fcntl.ioctl(self.control, termios.TIOCOUTQ, waiting)
        return waiting[0]

    def wanted(self, name, text):
        return _TO_A_PERSON.sub("", text) if name == "stderr" else text

    def evaluate(self, code, env):
        if "\0" in code:
            return self.error("ValueError", "the code has a NUL character in it", [])
        try:
            if env:
                self._step(_set(env), interruptible=False)
            try:
                status = self._step(code)
            finally:
                if env and self._program is not None:
                    self._step(_restore(env), interruptible=False)
        except Ended as e:
            # a shell that was told to exit has done so; the next execution gets another
            status = e.status if e.status >= 0 else 128 - e.status
        if status == 0:
            return self.ok()
        return self.error("ExitStatus", str(status), [f"the code ended with status {status}"])

    def _step(self, code, interruptible=True):
        self._write(_STEP)
        self.control.sendall(code.encode("utf-8", "replace") + b"\0")
        return int(self.hear(b"\n", interruptible))

    def _write(self, line):
        self._program.stdin.write(line.format(fd=self._fd).encode())


def _set(env):
    return "\n".join(
        f'if [ "${{{name}+x}}" ]; then INTERPRETER_OLD_{name}=${name}; fi; export {name}={shlex.quote(value)}'
        for name, value in env.items()
    )


def _restore(env):
    return "\n".join(
        f'if [ "${{INTERPRETER_OLD_{name}+x}}" ]; then export {name}="$INTERPRETER_OLD_{name}"; unset INTERPRETER_OLD_{name};'
        f" else unset {name}; fi"
        for name in env
    )
