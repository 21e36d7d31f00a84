/* What is about the machine and not about the sandbox: the kernel's code, clock, log, swap, keys, ports, and ways past the system call filter. */
#include "attack.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static char buffer[4096];

/* Sets the clock to what it is, so that nothing happens to a machine that allows it. */
static int set_time(const struct attack *self)
{
	struct timeval now;

	(void)self;
	gettimeofday(&now, NULL);
	return result(syscall(SYS_settimeofday, &now, NULL));
}

static int set_clock(const struct attack *self)
{
	struct timespec now;

	(void)self;
	clock_gettime(CLOCK_REALTIME, &now);
	return result(syscall(SYS_clock_settime, CLOCK_REALTIME, &now));
}

/* open_by_handle_at(2) knows no mount namespaces: "shocker" read the host's files with guessed handles. */
static int open_root_by_handle(const struct attack *self)
{
	struct { unsigned bytes; int type; uint32_t inode[2]; } handle = { 8, 1, { 2, 0 } };
	int fd = open("/usr", O_RDONLY);

	(void)self;
	return fd < 0 ? errno : result(syscall(SYS_open_by_handle_at, fd, &handle, O_RDONLY));
}

static int name_handle(const struct attack *self)
{
	struct { unsigned bytes; int type; char data[128]; } handle = { 128, 0, { 0 } };
	int mount;

	(void)self;
	return result(syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &handle, &mount, 0));
}

static int io_uring(const struct attack *self)
{
	(void)self;
	memset(buffer, 0, sizeof buffer);
	return result(syscall(SYS_io_uring_setup, 4, buffer));
}

static int perf(const struct attack *self)
{
	uint32_t attributes[32] = { 1 /* software */, 128, 0 /* cpu clock */ };

	return result(syscall(SYS_perf_event_open, attributes, self->args[0], self->args[1], -1, 0));
}

static int bpf_program(const struct attack *self)
{
	static const uint64_t code[] = { 0x00000000000000b7, 0x0000000000000095 }; /* return 0 */
	uint64_t attributes[16] = { 1 /* socket filter */ | 2ULL << 32, P(code), P("GPL") };

	(void)self;
	return result(syscall(SYS_bpf, 5, attributes, sizeof attributes));
}

static int bpf_map(const struct attack *self)
{
	uint32_t attributes[32] = { 2 /* array */, 4, 4, 1 };

	(void)self;
	return result(syscall(SYS_bpf, 0, attributes, sizeof attributes));
}

/* i386 numbers another table of system calls; a filter for x86_64's alone does not see them. 310 is unshare there. */
static int unshare_as_i386(const struct attack *self)
{
	(void)self;
#ifdef __x86_64__
	long answer;

	__asm__ volatile("int $0x80" : "=a"(answer) : "a"(310L), "b"(0x10000000L) : "memory", "r8", "r9", "r10", "r11");
	return answer < 0 ? (int)-answer : 0;
#else
	return ENOSYS;
#endif
}

static int drop_filter(const struct attack *self)
{
	(void)self;
	return result(prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
}

/* A filter of one's own that allows all: the kernel takes the strictest answer of all filters, so the first one must still hold. */
static int allow_all(const struct attack *self)
{
	static const uint64_t allow = 0x7fff000000000006;
	struct { uint16_t length; const void *code; } program = { 1, &allow };

	(void)self;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_seccomp, 1, 0, &program);
	return result(syscall(SYS_unshare, 0x10000000));
}

#define CALL(what, number, ...) { what, NULL, number, { __VA_ARGS__ }, { 0 } }
#define RUN(what, function, ...) { what, function, 0, { __VA_ARGS__ }, { 0 } }

const struct attack KERNEL[] = {
	RUN("loads a bpf program", bpf_program, 0),
	RUN("makes a bpf map", bpf_map, 0),
	RUN("samples every process by perf_event_open", perf, -1, 0),
	RUN("samples PID 1 by perf_event_open", perf, 1, -1),
	CALL("holds the kernel up by userfaultfd", SYS_userfaultfd, 0),
	CALL("holds its own page faults up by userfaultfd", SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */),
	RUN("makes an io_uring", io_uring, 0),
	CALL("hides memory by memfd_secret", 447, 0),
	CALL("loads another kernel", SYS_kexec_load, 0, 0, 0, 0),
	CALL("loads another kernel from a file", SYS_kexec_file_load, -1, -1, 0, 0, 0),
	CALL("loads a module", SYS_init_module, P(buffer), 0, P("")),
	CALL("loads a module from a file", SYS_finit_module, 0, P(""), 0),
	CALL("unloads a module", SYS_delete_module, P("berth_no_such_module"), 0),
#ifdef __x86_64__
	CALL("opens all I/O ports", SYS_iopl, 3),
	CALL("opens one I/O port", SYS_ioperm, 0x80, 1, 1),
	CALL("calls sysfs", SYS_sysfs, 3),
	CALL("calls ustat", SYS_ustat, 0, P(buffer)),
	CALL("calls uselib", SYS_uselib, P("/lib/ld-linux.so.2")),
	CALL("unshares by the x32 numbers", SYS_unshare | 0x40000000, 0x10000000),
#endif
	RUN("unshares by the i386 numbers", unshare_as_i386, 0),
	CALL("calls a number that no kernel has yet", 900),
	{ "takes its system call filter off", drop_filter, 0, { 0 }, { EINVAL } },
	RUN("unshares behind a filter of its own that allows all", allow_all, 0),
	CALL("switches ctrl-alt-del off", SYS_reboot, 0xfee1dead, 672274793, 0, 0),
	CALL("swaps to a file", SYS_swapon, P("/etc/passwd"), 0),
	CALL("takes swap away", SYS_swapoff, P("/etc/passwd")),
	CALL("switches process accounting off", SYS_acct, 0),
	CALL("reads quotas", SYS_quotactl, 0x80000700, 0, 0, P(buffer)),
	CALL("reads quotas by a descriptor", 443, 0, 0x80000700, 0, P(buffer)),
	CALL("reads the kernel's log", SYS_syslog, 3, P(buffer), sizeof buffer),
	CALL("asks for the size of the kernel's log", SYS_syslog, 10, 0, 0),
	RUN("sets the time", set_time, 0),
	RUN("sets the clock", set_clock, 0),
	CALL("tunes the clock", SYS_adjtimex, P(buffer)),
	CALL("tunes the clock by clock_adjtime", SYS_clock_adjtime, 0, P(buffer)),
	CALL("renames the host", SYS_sethostname, P("attacker"), 8),
	CALL("renames the domain", SYS_setdomainname, P("attacker"), 8),
	CALL("adds a key", SYS_add_key, P("user"), P("berth"), P("secret"), 6, -3),
	CALL("joins a new session keyring", SYS_keyctl, 1, 0),
	CALL("looks at the user's keyring, which all sandboxes would share", SYS_keyctl, 0, -4, 0),
	CALL("requests a key from the host", SYS_request_key, P("user"), P("berth"), P(""), -3),
	RUN("opens the host's root by a guessed handle", open_root_by_handle, 0),
	RUN("asks for a file's handle", name_handle, 0),
	CALL("hangs the terminal up", SYS_vhangup, 0),
	CALL("compares kernel objects", SYS_kcmp, 1, 1, 2, 0, 0),
	CALL("turns address randomisation off", SYS_personality, 0x0040000),
	CALL("maps page zero by a personality", SYS_personality, 0x0100000),
	END,
};
