"""Starting commands, and how they end."""

import errno
import os
import resource
import signal
import struct
import sys

from guest.support import *  # noqa: F403


def says_hello_with_token_boot_and_first_id(guest):
    link = guest.accept()
    version, token, boot, next_id = link.hello
    assert (version, token, next_id) == (VERSION, TOKEN, 1)
    assert len(boot) == 16 and set(boot) <= set("0123456789abcdef")


def runs_a_command_and_tells_output_and_exit_code(guest):
    link = guest.connect()
    pid = link.start(1, sh("echo out; echo err >&2; exit 3"))
    assert pid > 0
    assert link.wait(1) == Exit(0, 3, 0, (4, 4))
    assert link.out(1) == b"out\n" and link.out(1, 2) == b"err\n"
    link.until(lambda: {(1, 1), (1, 2)} <= link.ends.keys())
    assert link.ends[1, 1] == 4 and link.ends[1, 2] == 4
    kinds = [f.type for f in link.frames if f.id == 1]
    assert kinds[0] == STARTED and kinds.index(EXITED) > max(i for i, k in enumerate(kinds) if k == OUTPUT)


def gives_every_exit_code_back(guest):
    link = guest.connect()
    for code in (0, 1, 127, 255):
        link.start(code + 1, sh(f"exit {code}"))
        assert link.wait(code + 1)[:3] == (0, code, 0)


def tells_the_signal_a_process_died_of(guest):
    link = guest.connect()
    link.start(1, sh("kill -SEGV $$"))
    assert link.wait(1)[:3] == (1, signal.SIGSEGV, 0)


def starts_children_clean(guest):
    link = guest.connect()
    link.start(1, ["/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable, "-c", """
import os, signal, resource
print(os.getpid() == os.getsid(0) == os.getpgid(0), os.umask(0), resource.getrlimit(resource.RLIMIT_CORE)[0], os.getcwd())
print(sorted(os.listdir('/proc/self/fd'), key=int)[:3], len(os.listdir('/proc/self/fd')) <= 4)
status = dict(l.split(':', 1) for l in open('/proc/self/status'))
print(int(status['SigBlk'], 16), int(status['SigIgn'], 16) & ~(1 << 12 | 1 << 24), sorted(os.environ))
print(os.readlink('/proc/self/fd/0'), open('/proc/self/oom_score_adj').read().strip(), os.nice(0))
"""], cwd="/tmp", env=("A=1", "B=2"))
    assert link.wait(1)[:2] == (0, 0), link.out(1, 2)
    lines = link.out(1).decode().splitlines()
    assert lines[0] == "True 18 0 /tmp", lines
    assert lines[1].endswith("True"), lines
    assert lines[2].startswith("0 0 ") and "'A', 'B'" in lines[2] and "BERTH" not in lines[2], lines
    assert lines[3] == "/dev/null 500 0", lines


def gives_children_the_file_limit_it_was_started_with(guest):
    link = guest.connect()
    link.start(1, sh("ulimit -n; ulimit -Hn"))
    link.wait(1)
    assert link.out(1).split() == [str(n).encode() for n in resource.getrlimit(resource.RLIMIT_NOFILE)]


def switches_user_group_and_groups(guest):
    link = guest.connect()
    link.start(1, sh("id -u; id -g; id -G; grep CapEff /proc/self/status"), uid=1234, gid=2345, groups=(3456, 4567))
    assert link.wait(1)[:2] == (0, 0)
    uid, gid, groups, _, capabilities = link.out(1).decode().split(None, 4)[0:3] + [None, link.out(1).decode().split()[-1]]
    assert uid == "1234" and gid == "2345" and "3456 4567" in link.out(1).decode()
    assert int(capabilities, 16) == 0


def changes_directory_as_the_user(guest):
    closed = os.path.join(guest.directory, "closed")
    os.mkdir(closed, 0o700)
    link = guest.connect()
    os.chmod(guest.directory, 0o755)
    link.start(1, sh("pwd"), cwd=closed)
    assert link.wait(1).value == 0
    link.start(2, sh("pwd"), cwd=closed, uid=1234, gid=1234)
    assert link.refused[2] == (2, errno.EACCES)


def sets_no_new_privs_when_asked(guest):
    link = guest.connect()
    for id, flags, expected in ((1, 0, b"0"), (2, NO_NEW_PRIVS, b"1")):
        link.start(id, sh("grep NoNewPrivs /proc/self/status"), flags=flags)
        link.wait(id)
        assert link.out(id).split()[1] == expected


def finds_programs_in_the_path_of_the_given_environment(guest):
    directory = os.path.join(guest.directory, "bin")
    os.mkdir(directory)
    with open(os.path.join(directory, "hello"), "w") as script:
        script.write("#!/bin/sh\necho hello $1\n")
    os.chmod(script.name, 0o755)
    link = guest.connect()
    link.start(1, ["hello", "you"], env=(f"PATH=/nowhere:{directory}",))
    assert link.wait(1).value == 0 and link.out(1) == b"hello you\n"
    link.start(2, ["true"], env=())
    assert link.wait(2).value == 0
    link.start(3, ["hello"], env=())
    assert link.refused[3] == (4, errno.ENOENT)


def runs_a_script_without_interpreter_line_as_the_shell_does(guest):
    script = os.path.join(guest.directory, "plain")
    with open(script, "w") as file:
        file.write("echo $0 $1 $2\n")
    os.chmod(script, 0o755)
    link = guest.connect()
    link.start(1, [script, "a", "b"])
    assert link.wait(1).value == 0 and link.out(1) == f"{script} a b\n".encode()


def refuses_what_cannot_start_and_says_why(guest):
    plain = os.path.join(guest.directory, "plain")
    open(plain, "w").close()
    link = guest.connect()
    cases = (
        (1, dict(argv=["/no/such/program"]), (4, errno.ENOENT)),
        (2, dict(argv=["no-such-program"]), (4, errno.ENOENT)),
        (3, dict(argv=[plain]), (4, errno.EACCES)),
        (4, dict(argv=["/bin/true"], cwd="/no/such/directory"), (2, errno.ENOENT)),
        (5, dict(argv=["/bin/true"], cwd=plain), (2, errno.ENOTDIR)),
        (6, dict(argv=[""]), (4, errno.ENOENT)),
        (7, dict(argv=["/bin/true", "x" * (200 << 10)]), (4, errno.E2BIG)),
    )
    for id, options, expected in cases:
        link.start(id, **options)
        assert link.refused.get(id) == expected, (id, link.refused.get(id))
    assert link.list() == {}
    assert children(guest.process.pid) == []
    link.start(8, ["/bin/true"])
    assert link.wait(8).value == 0


def refuses_an_id_that_was_used(guest):
    link = guest.connect()
    link.start(5, ["/bin/sleep", "60"])
    link.send(START, 5, start_payload(["/bin/true"]))
    link.until(lambda: 5 in link.refused)
    assert link.refused[5][0] == 8 and 5 in link.list()
    link.start(7, ["/no/such/program"])
    link.send(DIAL, 7, struct.pack(">H", 1))
    link.until(lambda: len(link.of(7, REFUSED)) == 2)
    assert link.refused[7][0] == 8
    link.send(START, 0xffffffff, start_payload(["/bin/true"]))
    link.until(lambda: 0xffffffff in link.refused)
    link.close()
    assert guest.accept().hello[3] == 8


def takes_ids_that_overtook_each_other_but_none_twice(guest):
    link = guest.connect()
    for id in (5, 3, 4, 3000, 2999, 1):
        link.start(id, ["/bin/true"])
    assert link.started.keys() == {5, 3, 4, 3000, 2999} and link.refused[1][0] == 8
    for id in (3, 4, 5, 2999, 3000, 0):
        link.send(START, id, start_payload(["/bin/true"]))
        link.until(lambda: id in link.refused)
        assert link.refused[id] == (8, errno.EEXIST)


def starts_a_command_of_megabytes(guest):
    link = guest.connect()
    env = tuple(f"V{i}={'x' * 100000}" for i in range(12))
    link.start(1, sh("echo ${#V0} ${#V11}"), env=env)
    assert link.wait(1).value == 0 and link.out(1) == b"100000 100000\n"
    link.start(2, ["/bin/true"])
    assert link.wait(2).value == 0
