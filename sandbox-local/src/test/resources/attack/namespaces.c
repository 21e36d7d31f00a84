/* New namespaces, other processes' namespaces, and ways around the root directory. */
#include "attack.h"

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int clone_into(const struct attack *self)
{
	long child = syscall(SYS_clone, self->args[0] | SIGCHLD, 0, 0, 0, 0);

	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid((pid_t)child, NULL, 0);
	return result(child);
}

static int clone3_into(const struct attack *self)
{
	uint64_t arguments[8] = { (uint64_t)self->args[0], [4] = SIGCHLD };
	long child = syscall(SYS_clone3, arguments, sizeof arguments);

	if (child == 0)
		_exit(0);
	return result(child);
}

static int enter(const struct attack *self)
{
	int fd = open((const char *)self->args[0], O_RDONLY);

	return fd < 0 ? errno : result(syscall(SYS_setns, fd, 0));
}

static int enter_by_pidfd(const struct attack *self)
{
	int fd = (int)syscall(SYS_pidfd_open, 1, 0);

	(void)self;
	return fd < 0 ? errno : result(syscall(SYS_setns, fd, CLONE_NEWNS | CLONE_NEWPID));
}

static int sees_canary(void)
{
	return access(canary(), F_OK) < 0 ? errno : 0;
}

/* chroot(2): with a directory open outside of the new root, `..` is not stopped by it. */
static int double_chroot(const struct attack *self)
{
	char directory[] = "/tmp/chroot-XXXXXX";
	int root = open("/", O_RDONLY | O_DIRECTORY);

	(void)self;
	if (!mkdtemp(directory) || chroot(directory) < 0 || fchdir(root) < 0)
		return errno;
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return errno;
	return chroot(".") < 0 ? errno : sees_canary();
}

static int climb(const struct attack *self)
{
	(void)self;
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return errno;
	return access(canary() + 1, F_OK) < 0 ? errno : 0;
}

/* The directories and links through which one process sees another's root. */
static int through_proc(const struct attack *self)
{
	char path[4096];
	int seen = ENOENT;

	for (int pid = 1; pid < 100; pid++) {
		snprintf(path, sizeof path, (const char *)self->args[0], pid, canary());
		if (access(path, F_OK) == 0)
			return 0;
		if (errno == EACCES)
			seen = EACCES;
	}
	return seen;
}

static int write_uid_map(const struct attack *self)
{
	int fd = open("/proc/self/uid_map", O_WRONLY);

	(void)self;
	return fd < 0 ? errno : result(write(fd, "0 0 1\n", 6));
}

#define NEW(name, flag) \
	{ "unshares a new " name " namespace", NULL, SYS_unshare, { flag }, { 0 } }, \
	{ "clones into a new " name " namespace", clone_into, 0, { flag }, { 0 } }, \
	{ "clones into a new " name " namespace by clone3", clone3_into, 0, { flag }, { 0 } }
#define JOIN(name) { "enters the " name " namespace of PID 1", enter, 0, { P("/proc/1/ns/" name) }, { ENOENT } }

const struct attack NAMESPACES[] = {
	NEW("user", CLONE_NEWUSER),
	NEW("mount", CLONE_NEWNS),
	NEW("network", CLONE_NEWNET),
	NEW("pid", CLONE_NEWPID),
	NEW("ipc", CLONE_NEWIPC),
	NEW("uts", CLONE_NEWUTS),
	NEW("cgroup", CLONE_NEWCGROUP),
	{ "unshares a new time namespace", NULL, SYS_unshare, { 0x80 }, { 0 } },
	{ "clones into a new user and mount namespace at once", clone_into, 0, { CLONE_NEWUSER | CLONE_NEWNS }, { 0 } },
	{ "clones with a namespace flag and garbage in the unused upper half", clone_into, 0, { CLONE_NEWUSER | 0x7fff00000000 }, { 0 } },
	JOIN("user"), JOIN("mnt"), JOIN("net"), JOIN("pid"), JOIN("ipc"), JOIN("uts"), JOIN("cgroup"),
	{ "enters the namespaces of PID 1 by a pidfd", enter_by_pidfd, 0, { 0 }, { 0 } },
	{ "maps the host's root into its user namespace", write_uid_map, 0, { 0 }, { 0 } },
	{ "leaves its root by two chroots", double_chroot, 0, { 0 }, { ENOENT } },
	{ "climbs above its root by '..'", climb, 0, { 0 }, { ENOENT } },
	{ "reaches the host through /proc/*/root", through_proc, 0, { P("/proc/%d/root%s") }, { ENOENT } },
	{ "reaches the host through /proc/*/root/..", through_proc, 0, { P("/proc/%d/root/../../../..%s") }, { ENOENT } },
	{ "reaches the host through /proc/*/cwd", through_proc, 0, { P("/proc/%d/cwd/../../../../..%s") }, { ENOENT } },
	{ "reaches the host through /proc/*/fd/3", through_proc, 0, { P("/proc/%d/fd/3/../../../../..%s") }, { ENOENT } },
	{ "reaches the host through /proc/*/map_files", through_proc, 0, { P("/proc/%d/map_files/../../../..%s") }, { ENOENT } },
	END,
};
