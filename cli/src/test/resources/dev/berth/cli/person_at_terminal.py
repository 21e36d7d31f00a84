"""A person at a real terminal who runs berth: python3 person_at_terminal.py SCENE KEY. Ends with 0 if all was as it should be."""
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60


class Person:
    """Has one terminal, on which one command after the other may run."""

    def __init__(self):
        self.master, self.slave = os.openpty()
        self.resize(33, 99)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def run(self, *words):
        self.seen = b""
        # As the leader of a session whose terminal this is: Ctrl-C and a change of its size are signals then.
        self.process = subprocess.Popen(
            words,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=self.sit_down,
        )

    @staticmethod
    def sit_down():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        # Whoever runs the tests in the background has it ignored, and so would all that is started by them.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def type(self, text):
        os.write(self.master, text)

    def await_text(self, text):
        """Reads until this comes; what comes behind it is kept for the next time."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not ready:
                sys.exit("waited for %r and saw %r" % (text, self.seen))
            self.seen += os.read(self.master, 65536)
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def await_end(self, code):
        """Reads until the command has ended, which has to be with this code."""
        ended = os.pidfd_open(self.process.pid)
        end = time.monotonic() + PATIENCE
        while True:
            ready, _, _ = select.select([self.master, ended], [], [], max(0, end - time.monotonic()))
            if self.master in ready:
                self.seen += os.read(self.master, 65536)
            elif ended in ready:
                break
            else:
                sys.exit("it did not end; the last that was seen is %r" % self.seen)
        os.close(ended)
        if self.process.wait() != code:
            sys.exit("it ended with %d, not %d, and said %r" % (self.process.returncode, code, self.seen))

    def require_raw(self):
        if termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO | termios.ISIG):
            sys.exit("the terminal is not raw, so keys do not arrive as they are")

    def require_restored(self):
        now = termios.tcgetattr(self.slave)
        if now != self.before:
            sys.exit("the terminal was left as %r, and was %r" % (now, self.before))

    def shell(self, *words):
        self.run("berth", "shell", *words)
        # Typed before it is raw, it would be shown twice; what is typed is split, so that its echo is not what is awaited.
        self.type(b"echo re''ady\r")
        self.await_text(b"ready")
        self.require_raw()


def vim(person, key):
    person.shell(key)
    person.type(b"vim -u NONE notes.txt\r")
    person.await_text(b"[New File]")
    person.type(b"ihello from vim\rsecond line\x1b")
    person.await_text(b"second line")
    person.type(b"kddp:wq\r")  # swaps the lines
    person.await_text(b"written")
    person.type(b"paste -sd+ notes.txt\r")
    person.await_text(b"second line+hello from vim")
    person.type(b"exit\r")
    person.await_end(0)
    person.require_restored()


def resize(person, key):
    person.shell(key)
    person.type(b"stty size\r")
    person.await_text(b"33 99")
    person.resize(40, 120)
    person.type(b"until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo re''sized\r")
    person.await_text(b"resized")
    person.type(b"exit\r")
    person.await_end(0)


def interrupt(person, key):
    person.shell(key)
    person.type(b"sh -c 'echo slee\"\"ping; exec sleep 1000'\r")
    person.await_text(b"sleeping")
    person.type(b"\x03")
    person.type(b"echo co''de $?\r")
    person.await_text(b"code 130")
    person.type(b"exit 7\r")
    person.await_end(7)
    person.require_restored()


def tmux(person, key):
    person.shell(key)
    person.type(b"tmux -f /dev/null -L scene new-session -s panes\r")
    person.await_text(b"[panes]")
    person.type(b"echo in''side $TERM\r")
    person.await_text(b"inside ")
    person.type(b"\x02%")  # another pane beside it
    person.type(b"tmux -L scene list-panes | wc -l | sed s/^/pan''es=/\r")
    person.await_text(b"panes=2")
    person.type(b"tmux -L scene kill-server\r")
    person.await_text(b"exited")
    person.type(b"exit 0\r")
    person.await_end(0)
    person.require_restored()


def come_back(person, key):
    person.shell(key)
    person.type(b"x=kept; echo mar''ked\r")
    person.await_text(b"marked")
    person.type(b"\x1dq")
    person.await_text(b"comes back to it")
    person.await_end(0)
    person.require_restored()
    person.run("berth", "shell", key)
    person.await_text(b"marked")  # what was on the screen
    person.type(b"echo x is $x\r")
    person.await_text(b"x is kept")
    person.type(b"exit 3\r")
    person.await_end(3)
    person.require_restored()


def terminated(person, key):
    person.shell(key)
    person.process.send_signal(signal.SIGTERM)
    person.await_end(128 + signal.SIGTERM)
    person.require_restored()
    person.shell(key)  # the shell itself goes on
    person.type(b"exit\r")
    person.await_end(0)


def watch(person, key):
    person.shell(key)
    other = Person()
    other.run("berth", "shell", key, "--watch")
    other.await_text(b"ready")
    other.type(b"touch typed-by-a-watcher\r")
    person.type(b"echo on bo''th\r")
    other.await_text(b"on both")
    person.type(b"ls; echo li''sted\r")
    person.await_text(b"listed")
    if b"typed-by-a-watcher" in person.seen:
        sys.exit("what a watcher typed was passed on")
    person.type(b"exit 5\r")
    person.await_end(5)
    other.await_end(5)
    other.require_restored()


def top(person, key):
    person.run("berth", "top")
    person.await_text(b"\x1b[?1049h")
    person.await_text(key.encode())
    person.await_text(b"\x1b[H")  # drawn again
    person.await_text(key.encode())
    person.type(b"\x03")
    person.await_end(128 + signal.SIGINT)
    if not person.seen.endswith(b"\x1b[?25h\x1b[?1049l"):
        sys.exit("the screen was left as it was: %r" % person.seen)
    person.require_restored()


SCENES = [vim, resize, interrupt, tmux, come_back, terminated, watch, top]
{scene.__name__: scene for scene in SCENES}[sys.argv[1]](Person(), sys.argv[2])
