/* PID 1, which holds the token, other processes, and more rights for oneself. */
#include "attack.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

static char buffer[4096];
static struct iovec here = { buffer, 64 }, there = { (void *)0x400000, 64 };

static int reads(const struct attack *self)
{
	int fd = open((const char *)self->args[0], O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return errno;
	n = pread(fd, buffer, sizeof buffer, self->args[1]);
	return n < 0 ? errno : n > 0 ? 0 : ENODATA;
}

/*
 * The token came in the environment, and the guest wiped it. Where the kernel shows the place at all there may be short variables of the runtime's,
 * but nothing as long as a token.
 */
static int reads_environment(const struct attack *self)
{
	int error = reads(self);
	size_t run = 0;

	for (size_t i = 0; !error && i < sizeof buffer; i++) {
		run = buffer[i] ? run + 1 : 0;
		if (run >= 16)
			return 0;
	}
	return error ? error : ENODATA;
}

static int follows(const struct attack *self)
{
	return result(readlink((const char *)self->args[0], buffer, sizeof buffer));
}

static int takes_descriptor(const struct attack *self)
{
	int fd = (int)syscall(SYS_pidfd_open, 1, 0);

	if (fd < 0)
		return errno;
	for (int i = 0; i < 64; i++)
		if (syscall(SYS_pidfd_getfd, fd, i, 0) >= 0)
			return 0;
	(void)self;
	return errno;
}

static int raises_limit(const struct attack *self)
{
	struct rlimit limit;

	getrlimit((int)self->args[0], &limit);
	if (limit.rlim_max == RLIM_INFINITY)
		return ENODATA;
	limit.rlim_max = limit.rlim_max * 2 + 1;
	return result(setrlimit((int)self->args[0], &limit));
}

static int raises_capabilities(const struct attack *self)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[2] = { { 0 } };
	long capability = self->args[0];

	sets[capability / 32].permitted = sets[capability / 32].effective = 1U << capability % 32;
	return result(syscall(SYS_capset, &header, sets));
}

static int raises_ambient(const struct attack *self)
{
	return result(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, self->args[0], 0, 0));
}

/* prctl(PR_CAPBSET_READ) says what execve(2) could ever give. */
static int keeps_in_bounds(const struct attack *self)
{
	return prctl(PR_CAPBSET_READ, self->args[0], 0, 0, 0) == 1 ? 0 : EPERM;
}

/* After setuid(2) away from root the capabilities are kept, if asked for; but those that matter were never there. */
static int keeps_capabilities(const struct attack *self)
{
	(void)self;
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	if (getuid() == 0 && setuid(1234) < 0)
		return errno;
	return raises_capabilities(&(struct attack){ .args = { CAP_SYS_ADMIN } });
}

static int clears_no_new_privs(const struct attack *self)
{
	(void)self;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 0;
	return result(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static int writes(const struct attack *self)
{
	const char *text = (const char *)self->args[1];
	int fd = open((const char *)self->args[0], O_WRONLY);

	return fd < 0 ? errno : result(write(fd, text, strlen(text)));
}

static int runs_first(const struct attack *self)
{
	struct sched_param first = { .sched_priority = 1 };

	return result(sched_setscheduler(0, (int)self->args[0], &first));
}

#define PTRACE(what, request) { what, NULL, SYS_ptrace, { request, 1, 0, 0 }, { 0 } }
#define READ(path) { "reads " path, reads, 0, { P(path), 0 }, { ENODATA, ENOENT, EIO } }
#define CAPABILITY(name) \
	{ "raises " #name, raises_capabilities, 0, { name }, { 0 } }, { "has " #name " in its bounding set", keeps_in_bounds, 0, { name }, { 0 } }

const struct attack PROCESSES[] = {
	PTRACE("attaches to PID 1 by ptrace", PTRACE_ATTACH),
	PTRACE("seizes PID 1 by ptrace", 0x4206),
	{ "reads the memory of PID 1 by process_vm_readv", NULL, SYS_process_vm_readv, { 1, P(&here), 1, P(&there), 1, 0 }, { 0 } },
	{ "writes the memory of PID 1 by process_vm_writev", NULL, SYS_process_vm_writev, { 1, P(&here), 1, P(&there), 1, 0 }, { 0 } },
	{ "reads the memory of PID 1 by /proc/1/mem", reads, 0, { P("/proc/1/mem"), 0x400000 }, { EIO, ENODATA, ENOENT } },
	{ "takes a descriptor of PID 1", takes_descriptor, 0, { 0 }, { 0 } },
	{ "reads /proc/1/environ", reads_environment, 0, { P("/proc/1/environ"), 0 }, { ENODATA } },
	READ("/proc/1/maps"), READ("/proc/1/auxv"), READ("/proc/1/stack"), READ("/proc/1/syscall"),
	{ "follows /proc/1/fd/4", follows, 0, { P("/proc/1/fd/4") }, { ENOENT } },
	{ "overwrites the guest through /proc/1/exe", writes, 0, { P("/proc/1/exe"), P("x") }, { ETXTBSY } },
	{ "moves the memory of PID 1", NULL, SYS_migrate_pages, { 1, 64, P(buffer), P(buffer) }, { ESRCH, EINVAL } },
	{ "exempts itself from the OOM killer", writes, 0, { P("/proc/self/oom_score_adj"), P("-1000") }, { 0 } },
	{ "exempts itself from the OOM killer by the old file", writes, 0, { P("/proc/self/oom_adj"), P("-17") }, { ENOENT } },
	{ "runs at a better priority", NULL, SYS_setpriority, { 0, 0, -10 }, { 0 } },
	{ "runs at a real-time priority", runs_first, 0, { SCHED_FIFO }, { EINVAL } },
	{ "runs round-robin in real time", runs_first, 0, { SCHED_RR }, { EINVAL } },
	{ "reads and writes disks first", NULL, SYS_ioprio_set, { 1, 0, 1 << 13 }, { 0 } },
	{ "raises its limit of open files", raises_limit, 0, { RLIMIT_NOFILE }, { ENODATA } },
	{ "raises its limit of locked memory", raises_limit, 0, { RLIMIT_MEMLOCK }, { ENODATA } },
	{ "raises its limit of core files", raises_limit, 0, { RLIMIT_CORE }, { ENODATA } },
	{ "raises its limit of message queues", raises_limit, 0, { RLIMIT_MSGQUEUE }, { ENODATA } },
	CAPABILITY(CAP_SYS_ADMIN), CAPABILITY(CAP_SYS_PTRACE), CAPABILITY(CAP_SYS_MODULE), CAPABILITY(CAP_SYS_RAWIO), CAPABILITY(CAP_NET_ADMIN),
	CAPABILITY(CAP_NET_RAW), CAPABILITY(CAP_MKNOD), CAPABILITY(CAP_DAC_READ_SEARCH), CAPABILITY(CAP_SYS_RESOURCE), CAPABILITY(CAP_SYS_TIME),
	CAPABILITY(CAP_SYS_BOOT), CAPABILITY(CAP_SYSLOG), CAPABILITY(CAP_BPF), CAPABILITY(CAP_LINUX_IMMUTABLE), CAPABILITY(CAP_IPC_LOCK),
	{ "makes CAP_SYS_ADMIN ambient", raises_ambient, 0, { CAP_SYS_ADMIN }, { EINVAL } },
	{ "makes CAP_SETUID ambient", raises_ambient, 0, { CAP_SETUID }, { EINVAL } },
	{ "keeps capabilities over setuid to raise CAP_SYS_ADMIN", keeps_capabilities, 0, { 0 }, { 0 } },
	{ "takes no_new_privs back", clears_no_new_privs, 0, { 0 }, { EINVAL } },
	END,
};
