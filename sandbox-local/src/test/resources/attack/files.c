/* Files of the machine that show through /proc and /sys, and those that the server put into the sandbox. */
#include "attack.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>

/* Writes back what it read, so that nothing happens to a machine that allows it. */
static int rewrites(const struct attack *self)
{
	const char *path = (const char *)self->args[0];
	char value[4096];
	ssize_t n;
	int fd = open(path, O_RDWR);

	if (fd < 0)
		return errno;
	n = read(fd, value, sizeof value);
	if (n < 0)
		return errno;
	lseek(fd, 0, SEEK_SET);
	return result(write(fd, value, (size_t)n));
}

static int writes(const struct attack *self)
{
	const char *text = (const char *)self->args[1];
	int fd = open((const char *)self->args[0], O_WRONLY);

	return fd < 0 ? errno : result(write(fd, text, strlen(text)));
}

static int reads(const struct attack *self)
{
	char value[4096];
	int fd = open((const char *)self->args[0], O_RDONLY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, value, sizeof value);

	return n < 0 ? errno : n > 0 ? 0 : ENODATA;
}

/* These files are shown to everybody, but with zeroes for the addresses (proc(5), kptr_restrict). */
static int reads_address(const struct attack *self)
{
	unsigned long address = 0;
	FILE *symbols = fopen((const char *)self->args[0], "r");

	if (!symbols)
		return errno;
	if (fscanf(symbols, "%lx", &address) != 1)
		return ENODATA;
	return address ? 0 : EPERM;
}

static int links(const struct attack *self)
{
	return result(link(self->args[0] ? (const char *)self->args[0] : canary(), own("/tmp/linked")));
}

static int opens_canary(const struct attack *self)
{
	char path[4096];

	snprintf(path, sizeof path, "%s%s", (const char *)self->args[0], canary());
	return result(open(path, O_RDONLY));
}

static int through_link(const struct attack *self)
{
	const char *path = own("/tmp/to-the-host");

	unlink(path);
	if (symlink(canary(), path) < 0)
		return errno;
	(void)self;
	return result(open(path, O_RDONLY));
}

/* These extended attributes steer overlayfs: a redirect would make any directory of a lower layer appear. */
static int steers_overlay(const struct attack *self)
{
	const char *path = own("/tmp/steered");

	mkdir(path, 0777);
	return result(setxattr(path, (const char *)self->args[0], "/etc", 4, 0));
}

static int binds_over_socket(const struct attack *self)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, (const char *)self->args[0]);
	return fd < 0 ? errno : result(bind(fd, (struct sockaddr *)&address, sizeof address));
}

static int controls(const struct attack *self)
{
	char argument[4096] = { 0 };
	int fd = open((const char *)self->args[0], O_RDONLY);

	return fd < 0 ? errno : result(ioctl(fd, (unsigned long)self->args[1], argument));
}

#define SYSCTL(path) { "writes " path, rewrites, 0, { P(path) }, { ENOENT, EIO } }
#define WRITE(path, text) { "writes " path, writes, 0, { P(path), P(text) }, { ENOENT, EISDIR } }
#define READ(path) { "reads " path, reads, 0, { P(path) }, { ENOENT, ENODATA, EISDIR } }
#define CALL(what, number, ...) { what, NULL, number, { __VA_ARGS__ }, { EBUSY, ENOTEMPTY, EXDEV } }

const struct attack FILES[] = {
	SYSCTL("/proc/sys/kernel/core_pattern"), SYSCTL("/proc/sys/kernel/modprobe"), SYSCTL("/proc/sys/kernel/hotplug"), SYSCTL("/proc/sys/kernel/sysrq"),
	SYSCTL("/proc/sys/kernel/hostname"), SYSCTL("/proc/sys/kernel/randomize_va_space"), SYSCTL("/proc/sys/kernel/pid_max"),
	SYSCTL("/proc/sys/kernel/yama/ptrace_scope"), SYSCTL("/proc/sys/kernel/dmesg_restrict"), SYSCTL("/proc/sys/kernel/ns_last_pid"),
	SYSCTL("/proc/sys/vm/overcommit_memory"), SYSCTL("/proc/sys/vm/swappiness"), SYSCTL("/proc/sys/vm/panic_on_oom"), SYSCTL("/proc/sys/fs/file-max"),
	SYSCTL("/proc/sys/fs/suid_dumpable"), SYSCTL("/proc/sys/fs/protected_hardlinks"), SYSCTL("/proc/sys/user/max_user_namespaces"),
	SYSCTL("/sys/kernel/uevent_helper"), SYSCTL("/sys/kernel/mm/transparent_hugepage/enabled"), SYSCTL("/sys/module/kernel/parameters/panic"),
	WRITE("/proc/sys/vm/drop_caches", "0"), WRITE("/proc/sys/fs/binfmt_misc/register", ""), WRITE("/proc/sysrq-trigger", "h"),
	WRITE("/proc/irq/default_smp_affinity", ""), WRITE("/proc/bus/pci/devices", ""), WRITE("/proc/mtrr", ""),
	WRITE("/sys/power/state", "none"), WRITE("/sys/kernel/profiling", ""), WRITE("/sys/fs/cgroup/cgroup.procs", "1"),
	WRITE("/sys/fs/cgroup/memory/cgroup.procs", "1"), WRITE("/sys/fs/cgroup/release_agent", "/bin/true"), WRITE("/sys/fs/cgroup/memory/release_agent", "/x"),
	WRITE("/sys/bus/pci/rescan", "0"), WRITE("/sys/class/net/lo/mtu", "65536"),
	READ("/proc/kcore"), READ("/proc/keys"), READ("/proc/key-users"), READ("/proc/kmsg"), READ("/proc/timer_list"), READ("/proc/sched_debug"),
	READ("/proc/latency_stats"), READ("/proc/kpagecount"), READ("/proc/kpageflags"), READ("/proc/vmallocinfo"), READ("/proc/slabinfo"),
	READ("/sys/firmware/dmi/tables/DMI"), READ("/sys/firmware/acpi/tables/DSDT"),
	READ("/sys/kernel/debug/sched/debug"), READ("/sys/kernel/security/lsm"), READ("/sys/kernel/tracing/trace"), READ("/sys/fs/cgroup/cgroup.procs"),
	READ("/sys/fs/cgroup/memory/tasks"), READ("/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj"),
	{ "learns a kernel address from /proc/kallsyms", reads_address, 0, { P("/proc/kallsyms") }, { ENOENT, ENODATA } },
	{ "learns physical addresses from /proc/iomem", reads_address, 0, { P("/proc/iomem") }, { ENOENT, ENODATA } },
	{ "opens a file of the host by its path", opens_canary, 0, { P("") }, { ENOENT } },
	{ "opens a file of the host by '..'", opens_canary, 0, { P("/../../../../../../..") }, { ENOENT } },
	{ "opens a file of the host by /proc/self/root", opens_canary, 0, { P("/proc/self/root/../..") }, { ENOENT } },
	{ "opens a file of the host by /proc/self/cwd", opens_canary, 0, { P("/proc/self/cwd/../../../../../..") }, { ENOENT } },
	{ "opens a file of the host from beside the control socket", opens_canary, 0, { P("/.berth/link/../../../../..") }, { ENOENT } },
	{ "opens a file of the host from below its /usr", opens_canary, 0, { P("/usr/..") }, { ENOENT } },
	{ "opens a file of the host through a symbolic link", through_link, 0, { 0 }, { ENOENT } },
	{ "links a file of the host", links, 0, { 0 }, { ENOENT } },
	{ "links a program of the host, to write to it", links, 0, { P("/usr/bin/env") }, { EXDEV } },
	{ "links the guest", links, 0, { P("/.berth/guest") }, { EXDEV } },
	{ "links the control socket", links, 0, { P("/.berth/link/guest.sock") }, { EXDEV } },
	WRITE("/usr/bin/env", "x"), WRITE("/.berth/guest", "x"),
	CALL("makes a file in the host's /usr", SYS_openat, AT_FDCWD, P("/usr/planted"), O_CREAT | O_WRONLY, 0644),
	CALL("removes the guest", SYS_unlinkat, AT_FDCWD, P("/.berth/guest"), 0),
	CALL("renames the guest", SYS_renameat2, AT_FDCWD, P("/.berth/guest"), AT_FDCWD, P("/.berth/old"), 0),
	CALL("makes the guest setuid", SYS_fchmodat, AT_FDCWD, P("/.berth/guest"), 04755),
	CALL("gives the guest to another user", SYS_fchownat, AT_FDCWD, P("/.berth/guest"), 1000, 1000, 0),
	CALL("truncates the guest", SYS_truncate, P("/.berth/guest"), 0),
	CALL("removes the control socket", SYS_unlinkat, AT_FDCWD, P("/.berth/link/guest.sock"), 0),
	CALL("renames the control socket", SYS_renameat2, AT_FDCWD, P("/.berth/link/guest.sock"), AT_FDCWD, P("/.berth/link/old"), 0),
	CALL("opens the control socket to everybody", SYS_fchmodat, AT_FDCWD, P("/.berth/link/guest.sock"), 0777),
	CALL("removes the directory of the control socket", SYS_unlinkat, AT_FDCWD, P("/.berth/link"), AT_REMOVEDIR),
	CALL("renames the directory of the control socket", SYS_renameat2, AT_FDCWD, P("/.berth/link"), AT_FDCWD, P("/.berth/old"), 0),
	CALL("plants a file beside the control socket", SYS_openat, AT_FDCWD, P("/.berth/link/planted"), O_CREAT | O_WRONLY, 0644),
	{ "listens beside the control socket", binds_over_socket, 0, { P("/.berth/link/other.sock") }, { 0 } },
	{ "redirects a directory of the overlay", steers_overlay, 0, { P("trusted.overlay.redirect") }, { EOPNOTSUPP } },
	{ "makes a directory of the overlay opaque", steers_overlay, 0, { P("trusted.overlay.opaque") }, { EOPNOTSUPP } },
	{ "makes a subvolume in the pool", controls, 0, { P("/tmp"), 0x5000940e }, { ENOTTY } },
	{ "switches the pool's quotas off", controls, 0, { P("/tmp"), 0xc0109428 }, { ENOTTY } },
	{ "searches the pool's trees", controls, 0, { P("/tmp"), 0xd0009411 }, { ENOTTY } },
	{ "trims the host's disk", controls, 0, { P("/usr"), 0xc0185879 }, { ENOTTY } },
	{ "makes a file immutable", controls, 0, { P("/.berth/link"), 0x40086602 }, { ENOTTY } },
	END,
};
