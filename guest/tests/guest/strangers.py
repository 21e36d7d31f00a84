"""The guest hardened, and as PID 1."""

from guest.support import *  # noqa: F403


def hides_its_token(guest):
    guest.connect()
    environ = open(f"/proc/{guest.process.pid}/environ", "rb").read()
    assert TOKEN.encode() not in environ and b"BERTH_TOKEN" not in environ and b"OTHER=seen" in environ


def works_hardened(guest):
    link = guest.connect()
    pid = link.start(1, sh("unshare -U true; echo $?; grep -E 'CapBnd|CapEff|CapInh|CapAmb|Seccomp:|NoNewPrivs' /proc/self/status; sleep 0.1"))
    assert pid and link.wait(1).value == 0
    lines = link.out(1).decode().split("\n")
    assert lines[0] != "0"
    status = dict(line.split(":") for line in lines[1:] if line)
    kept = sum(1 << c for c in (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 31, 29))
    assert int(status["CapBnd"], 16) & ~kept == 0 and int(status["CapEff"], 16) & ~kept == 0
    assert int(status["CapInh"], 16) == 0 and int(status["CapAmb"], 16) == 0
    assert status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "0"
    link.start(2, sh("id -u; tty"), flags=PTY, uid=1234, gid=1234)
    assert link.wait(2).value == 0 and link.out(2).startswith(b"1234\r\n/dev/pts/")
    link.start(3, sh(f"cat /proc/{guest.process.pid}/environ"), uid=0)
    assert link.wait(3).value != 0
    link.start(4, sh("cat /proc/self/oom_score_adj"))
    assert link.wait(4).value == 0 and link.out(4) == b"0\n"
    peer = Peer()
    dial(link, 5, peer.port)
    assert 5 in link.dialed


works_hardened.arguments = ("--harden",)


def works_as_the_first_process_of_a_namespace(guest):
    link = guest.connect()
    pid = link.start(1, sh("(sleep 0.2 &); echo $$; grep Seccomp: /proc/self/status"))
    assert pid < 10 and link.wait(1).value == 0
    assert link.out(1).split()[0] == str(pid).encode() and link.out(1).split()[-1] == b"2"
    link.start(2, sh("sleep 0.4; ls -d /proc/[0-9]* | wc -l"))
    link.wait(2)
    assert int(link.out(2)) <= 5, link.out(2)
    link.start(3, sh("kill -9 1; kill -TERM 1; kill -SEGV 1; echo still"))
    link.wait(3)
    link.start(4, ["/bin/true"])
    assert link.wait(4).value == 0


works_as_the_first_process_of_a_namespace.prefix = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
