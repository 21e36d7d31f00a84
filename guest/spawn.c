#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/*
 * A child is made as posix_spawn(3) makes it: clone(2) with CLONE_VM and CLONE_VFORK, on a stack of its own. It runs in the guest's memory while the
 * guest stands still, until execve or _exit, so nothing is copied and errors come back in plain variables. The price is a rule: the child calls
 * nothing but system calls, since malloc, stdio and the like would work on the guest's own state. The IDs are set by raw system calls for the same
 * reason: the C library's setuid(3) tells all threads of what it takes to be its process. The guest stands still for chdir and the opening of the
 * program too, which is short, since nothing in a sandbox can mount a filesystem that does not answer.
 */

#define STANDARD_PATH "/usr/local/bin:/usr/bin:/bin"

enum { STACK = 32 << 10, PATH_LONGEST = 4096 };

struct child {
	struct start *start;
	int in, out, err;
	bool terminal;
	int stage;
	int error;
};

static _Alignas(16) char stack[STACK];

static int null_fd = -1;
static bool own_oom_score, own_nice, own_groups;
static struct rlimit files;

/* No sanitizer in what runs on the borrowed stack: it ends without returning, and would leave its marks on it. */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined")))

void spawn_remember(void)
{
	char score[8] = "";
	int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, score, sizeof score - 1) > 0)
			own_oom_score = strcmp(score, "0\n") != 0;
		close(fd);
	}
	own_nice = getpriority(PRIO_PROCESS, 0) != 0;
	own_groups = getgroups(0, NULL) > 0;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* 1024 processes have three descriptors each; the children start with the limit that was given. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		struct rlimit all = { .rlim_cur = files.rlim_max, .rlim_max = files.rlim_max };

		setrlimit(RLIMIT_NOFILE, &all);
	}
}

/* execvp(3)'s rule: what the kernel does not know is a shell script. */
IN_CHILD static void execute(struct start *start, char *path)
{
	execve(path, start->argv, start->env);
	if (errno == ENOEXEC) {
		char *name = start->argv[0];

		start->argv[-1] = "/bin/sh";
		start->argv[0] = path;
		execve("/bin/sh", start->argv - 1, start->env);
		start->argv[0] = name;
		errno = ENOEXEC;
	}
}

IN_CHILD static const char *path_of(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return STANDARD_PATH;
}

/* execvp(3) again: a directory that does not have the program, or does not let us in, is passed over. */
IN_CHILD static int search(struct start *start)
{
	static char path[PATH_LONGEST];
	const char *name = start->argv[0];
	size_t name_size = strlen(name);
	const char *at = path_of(start->env);
	bool denied = false;

	if (name_size == 0)
		return ENOENT;
	if (strchr(name, '/')) {
		execute(start, start->argv[0]);
		return errno;
	}
	for (;;) {
		const char *end = strchrnul(at, ':');
		size_t size = (size_t)(end - at);

		if (size + name_size + 2 <= sizeof path) {
			memcpy(path, at, size);
			if (size > 0)
				path[size++] = '/';
			memcpy(path + size, name, name_size + 1);
			execute(start, path);
			if (errno == EACCES)
				denied = true;
			else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV && errno != ETIMEDOUT)
				return errno;
		}
		if (!*end)
			return denied ? EACCES : ENOENT;
		at = end + 1;
	}
}

IN_CHILD static void give_back(void)
{
	static const struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* Of the guest's own signal set-up only an ignored SIGPIPE and the mask live through execve(2). */
	sigaction(SIGPIPE, &standard, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (own_oom_score) {
		/* Raising it needs no privilege. In a vfork child it does not touch the guest, though they share memory (__set_oom_adj). */
		int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

		if (fd >= 0) {
			if (write(fd, "0", 1) < 0)
				errno = 0;
			close(fd);
		}
	}
	if (own_nice)
		setpriority(PRIO_PROCESS, 0, 0);
	setrlimit(RLIMIT_NOFILE, &files);
}

IN_CHILD static bool switch_user(const struct start *start)
{
	if ((start->group_count > 0 || own_groups) && syscall(SYS_setgroups, start->group_count, start->groups) < 0)
		return false;
	if (syscall(SYS_setresgid, start->gid, start->gid, start->gid) < 0)
		return false;
	return syscall(SYS_setresuid, start->uid, start->uid, start->uid) == 0;
}

IN_CHILD static int fail(struct child *child, enum refused_stage stage, int error)
{
	child->stage = (int)stage;
	child->error = error;
	_exit(127);
}

IN_CHILD static int be_child(void *argument)
{
	struct child *child = argument;
	struct start *start = child->start;

	setsid();
	give_back();
	if (child->terminal && ioctl(child->in, TIOCSCTTY, 0) < 0)
		return fail(child, STAGE_TERMINAL, errno);
	/* None of these is below 3 (main opens 0 to 2 first), so no dup2 overwrites the next one's source; the copies live through execve. */
	if (dup2(child->in, 0) < 0 || dup2(child->out, 1) < 0 || dup2(child->err, 2) < 0)
		return fail(child, STAGE_FORK, errno);
	if (!switch_user(start))
		return fail(child, STAGE_USER, errno);
	/* As the user: root may be let in where he is not. */
	if (chdir(start->cwd) < 0)
		return fail(child, STAGE_CWD, errno);
	if ((start->flags & START_NO_NEW_PRIVS) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail(child, STAGE_USER, errno);
	return fail(child, STAGE_EXEC, search(start));
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* The guest's end does not block; the child's does, as programs expect. The two ends are two open file descriptions (pipe(7)). */
static bool open_pipe(int *guest_end, int *child_end, bool guest_writes)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	*guest_end = ends[guest_writes ? 1 : 0];
	*child_end = ends[guest_writes ? 0 : 1];
	return fcntl(*guest_end, F_SETFL, O_NONBLOCK) == 0;
}

static int open_slave(int master)
{
	int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	unsigned number;
	char path[32];

	/* gVisor, and kernels before 4.13, know only the way by name. */
	if (slave < 0 && ioctl(master, TIOCGPTN, &number) == 0) {
		snprintf(path, sizeof path, "/dev/pts/%u", number);
		slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	}
	return slave;
}

static bool open_terminal(const struct start *start, int *master, int *slave)
{
	struct winsize size = { .ws_row = start->rows, .ws_col = start->columns };
	struct termios modes;
	int unlocked = 0;

	*master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (*master < 0 || ioctl(*master, TIOCSPTLCK, &unlocked) < 0)
		return false;
	*slave = open_slave(*master);
	if (*slave < 0)
		return false;
	ioctl(*master, TIOCSWINSZ, &size);
	/* So that erase takes a character, not a byte. */
	if (tcgetattr(*slave, &modes) == 0) {
		modes.c_iflag |= IUTF8;
		tcsetattr(*slave, TCSANOW, &modes);
	}
	/* Programs that reopen /dev/tty or their ttyname need it to be theirs; where that cannot be, it still works as it is. */
	if (fchown(*slave, start->uid, start->gid) == 0)
		fchmod(*slave, 0620);
	return true;
}

static bool open_stdio(const struct start *start, struct spawned *spawned, struct child *child)
{
	if (start->flags & START_PTY) {
		child->terminal = true;
		if (!open_terminal(start, &spawned->out, &child->in))
			return false;
		child->out = child->err = child->in;
		return true;
	}
	if (!(start->flags & START_STDIN))
		child->in = null_fd;
	else if (!open_pipe(&spawned->in, &child->in, true))
		return false;
	return open_pipe(&spawned->out, &child->out, false) && open_pipe(&spawned->err, &child->err, false);
}

bool spawn(struct start *start, struct spawned *spawned, struct refusal *refusal)
{
	struct child child = { .start = start, .in = -1, .out = -1, .err = -1 };
	bool failed;

	*spawned = (struct spawned){ .pid = -1, .in = -1, .out = -1, .err = -1 };
	if (!open_stdio(start, spawned, &child)) {
		refusal->error = errno;
		refusal->stage = start->flags & START_PTY ? STAGE_TERMINAL : STAGE_FORK;
		if (errno == EMFILE || errno == ENFILE)
			refusal->stage = STAGE_TABLE;
		failed = true;
	} else {
		spawned->pid = clone(be_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
		failed = spawned->pid < 0 || child.stage != 0;
		refusal->stage = spawned->pid < 0 ? STAGE_FORK : (enum refused_stage)child.stage;
		refusal->error = spawned->pid < 0 ? errno : child.error;
		/* It has called _exit, so this does not wait for anything but the scheduler. */
		if (failed && spawned->pid > 0)
			while (waitpid(spawned->pid, NULL, 0) < 0 && errno == EINTR)
				;
	}

	if (child.terminal)
		child.out = child.err = -1;
	if (child.in == null_fd)
		child.in = -1;
	close_all((int[]){ child.in, child.out, child.err }, 3);
	if (failed) {
		close_all((int[]){ spawned->in, spawned->out, spawned->err }, 3);
		*spawned = (struct spawned){ .pid = -1, .in = -1, .out = -1, .err = -1 };
	}
	return !failed;
}
