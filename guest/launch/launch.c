/*
 * berth-launch: the few steps between the server and an OCI runtime that only a process can do for itself.
 *
 *   berth-launch [--cgroup DIR]... [--unmount DIR]... [--nice N] [--open-files N] [--oom-score N] [--log FILE] -- PROGRAM [ARGUMENT]...
 *
 * It leaves the server's session (killing the server's process group must not take sandboxes along), enters the
 * sandbox's cgroups, so that everything the runtime starts is born inside them, and executes the runtime.
 *
 * --unmount hides a directory from the runtime alone, in a private mount namespace: crun refuses to start where cgroup
 * v1 and v2 are both mounted (the hybrid layout), although it is not asked to touch either; and runc makes cgroups in
 * every hierarchy it sees.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what, const char *which)
{
	fprintf(stderr, "berth-launch: could not %s %s: %s\n", what, which, strerror(errno));
	exit(71);
}

/* "0" means the writing process, see cgroups(7). */
static bool write_self(const char *dir, const char *file)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof path) {
		errno = ENAMETOOLONG;
		return false;
	}
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool written = write(fd, "0", 1) == 1;
	close(fd);
	return written;
}

/* Goes on as a child in the cgroup; the parent stays to pass its exit status on. */
static bool be_reborn(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	struct clone_args how = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (__u64)fd};
	long child = syscall(SYS_clone3, &how, sizeof how);
	close(fd);
	if (child <= 0)
		return child == 0;
	int status;
	while (waitpid((pid_t)child, &status, 0) < 0)
		if (errno != EINTR)
			fail("wait for the process in cgroup", dir);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/*
 * Into a cgroup without waiting. Writing to cgroup.procs moves a thread group, for which the kernel keeps every process from
 * forking and exiting meanwhile, and getting there takes an RCU grace period: 5 to 15 ms, more than all the rest of a start. Two
 * kinds of entry are spared that. A thread that moves only itself, for which version 1 has the file tasks; this program has one
 * thread. And a process that is born inside, in version 2 (clone3(2), CLONE_INTO_CGROUP, since Linux 5.7).
 */
static void enter_cgroup(const char *dir)
{
	if (!write_self(dir, "tasks") && !be_reborn(dir) && !write_self(dir, "cgroup.procs"))
		fail("enter cgroup", dir);
}

/*
 * As many as asked for, or as many as this process may have: the runtime is root of a user namespace when it would do this,
 * and may not raise a limit any more (setrlimit(2)).
 */
static void allow_open_files(const char *count)
{
	struct rlimit limit;
	rlim_t n = (rlim_t)strtoul(count, NULL, 10);
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		fail("read the limit of open files, to set it to", count);
	struct rlimit wanted = {n, n};
	if (setrlimit(RLIMIT_NOFILE, &wanted) == 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		fail("set the limit of open files to", count);
}

/*
 * Ranks what is started, the guest, behind everything else for the OOM killer (proc(5)). Needs CAP_SYS_RESOURCE, which root in a
 * container may lack; the guest ranks its children higher than itself in any case. Not -1000: children could set that too, and
 * would then be exempt from the killer; with -999 the largest goes first, and that is never the guest.
 */
static void spare_from_oom_killer(const char *score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		fail("open /proc/self/oom_score_adj to write", score);
	if (write(fd, score, strlen(score)) < 0 && errno != EACCES)
		fail("set the OOM score to", score);
	close(fd);
}

static void hide(const char *dir)
{
	static int alone;
	if (!alone && unshare(CLONE_NEWNS) != 0)
		fail("make a mount namespace to hide", dir);
	/* Without this the unmount would propagate to the machine. */
	if (!alone && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		fail("make private the mounts to hide", dir);
	alone = 1;
	if (umount2(dir, MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT)
		fail("hide", dir);
}

/* Nothing that the server has open, or in its environment, is for the runtime. */
static void forget_the_server(void)
{
	const char *path = getenv("PATH");
	static char kept[4096] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	static char *environment[] = {kept, NULL};
	if (path && strlen(path) < sizeof kept - 5)
		strcpy(kept + 5, path);
	environ = environment;
	syscall(SYS_close_range, 3, ~0U, 0); /* Linux 5.9; before that the runtime closes them itself */
}

static void log_to(const char *file)
{
	int in = open("/dev/null", O_RDONLY);
	int out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		fail("write to", file);
	close(in);
	close(out);
}

int main(int argc, char **argv)
{
	int i = 1;
	forget_the_server();
	setsid(); /* fails only for a group leader, which then has a group of its own already */
	umask(022);
	for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		if (strcmp(argv[i], "--cgroup") == 0) {
			enter_cgroup(argv[i + 1]);
		} else if (strcmp(argv[i], "--unmount") == 0) {
			hide(argv[i + 1]);
		} else if (strcmp(argv[i], "--nice") == 0) {
			if (setpriority(PRIO_PROCESS, 0, atoi(argv[i + 1])) != 0)
				fail("set niceness", argv[i + 1]);
		} else if (strcmp(argv[i], "--open-files") == 0) {
			allow_open_files(argv[i + 1]);
		} else if (strcmp(argv[i], "--log") == 0) {
			log_to(argv[i + 1]);
		} else if (strcmp(argv[i], "--oom-score") == 0) {
			spare_from_oom_killer(argv[i + 1]);
		} else {
			break;
		}
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
		fprintf(stderr, "usage: berth-launch [OPTION VALUE]... -- PROGRAM [ARGUMENT]...\n");
		return 64;
	}
	execvp(argv[i + 1], argv + i + 1);
	fail("execute", argv[i + 1]);
}
