#include "harden.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * What nothing in a sandbox may ask of the kernel. Processes are not trusted, the kernel's large and little-used parts are where its holes are, and
 * the user namespace makes root inside look privileged to many of them. So: no new namespaces, no mounts, nothing that is about the machine rather
 * than the sandbox, no rarely used socket families. What programs can do without is answered with ENOSYS, and they do without; the rest with EPERM.
 *
 * The filter is a plain list, one comparison after the other: since Linux 5.11 the kernel remembers which system calls are always allowed and does
 * not run it for them (seccomp_cache_prepare), and the others are rare.
 */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the seccomp filter knows x86_64 and aarch64"
#endif

/* Newer than the headers we build with. All architectures number alike from 424 on. */
enum {
	SYS_quotactl_fd_ = 443,
	SYS_memfd_secret_ = 447,
	SYS_open_tree_attr_ = 467,
	NEWEST = 469, /* file_setattr, Linux 6.17: what comes after it we have not looked at */
};

enum { NONE = -1 };
#ifndef SYS_create_module /* x86_64 keeps the numbers of calls that are long gone */
#define SYS_create_module NONE
#define SYS_get_kernel_syms NONE
#define SYS_query_module NONE
#define SYS_uselib NONE
#define SYS__sysctl NONE
#define SYS_ustat NONE
#define SYS_sysfs NONE
#endif
#ifndef SYS_iopl
#define SYS_iopl NONE
#define SYS_ioperm NONE
#endif

static const int16_t FORBIDDEN[] = {
	/* Namespaces and mounts: the walls of the sandbox themselves. clone's flags are looked at below. */
	SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_move_mount,
	SYS_open_tree, SYS_open_tree_attr_, SYS_mount_setattr,
	/* Files by handle reach past the mount they were found in. */
	SYS_open_by_handle_at, SYS_name_to_handle_at,
	/* Code into the kernel, and other kernels. */
	SYS_bpf, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_create_module, SYS_get_kernel_syms, SYS_query_module, SYS_kexec_load,
	SYS_kexec_file_load,
	/* What looks across processes, or holds the kernel up at a page fault, and serves exploits better than programs. */
	SYS_perf_event_open, SYS_userfaultfd, SYS_kcmp, SYS_lookup_dcookie,
	/* The kernel's keyrings do not know containers. */
	SYS_keyctl, SYS_add_key, SYS_request_key,
	/* The machine: its power, swap, accounting, quotas, clock, ports, log, name. */
	SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_quotactl_fd_, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
	SYS_adjtimex, SYS_iopl, SYS_ioperm, SYS_syslog, SYS_vhangup, SYS_sethostname, SYS_setdomainname, SYS_nfsservctl,
	/* Relics. */
	SYS_uselib, SYS__sysctl, SYS_ustat, SYS_sysfs,
};

static const int16_t MISSING[] = {
	/* A second way to make most system calls, which filters do not see. Programs fall back to epoll. */
	SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
	/* Its flags are in memory, where a filter cannot look. The C library falls back to clone. */
	SYS_clone3,
	/* Memory that even the kernel cannot see, and so cannot reclaim. */
	SYS_memfd_secret_,
};

static const uint32_t PERSONALITIES[] = {
	0x0,        /* PER_LINUX */
	0x8,        /* PER_LINUX32 */
	0x20000,    /* … with UNAME26, for old programs that cannot read newer version numbers */
	0x20008,
	0xffffffff, /* only asks */
};

static const uint32_t FAMILIES[] = { AF_UNIX, AF_INET, AF_INET6 };

/* Of terminals' ioctls two push input into a terminal, as if somebody had typed it: a way out of su, and of a shared console. */
static const uint32_t TYPING[] = { 0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */ };

/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. NEWTIME is no flag of clone(2). */
static const uint32_t NEW_NAMESPACES = 0x7e020000;

enum { FILTER_MAX = 512 };

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short size;
};

static void add(struct filter *filter, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
	if (filter->size < FILTER_MAX)
		filter->code[filter->size] = (struct sock_filter)BPF_JUMP(code, value, if_true, if_false);
	filter->size++;
}

static void load(struct filter *filter, size_t offset)
{
	add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The low half of an argument. The ones looked at here are ints to the kernel, which does not look at the other half either. */
static void load_argument(struct filter *filter, size_t index)
{
	size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;

	load(filter, offsetof(struct seccomp_data, args) + index * 8 + low);
}

static void answer(struct filter *filter, uint32_t value)
{
	add(filter, BPF_RET | BPF_K, value, 0, 0);
}

static void answer_if_equal(struct filter *filter, uint32_t value, uint32_t result)
{
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	answer(filter, result);
}

static uint32_t error(int number)
{
	return SECCOMP_RET_ERRNO | (uint32_t)number;
}

static void answer_all(struct filter *filter, const int16_t *calls, size_t count, uint32_t result)
{
	for (size_t i = 0; i < count; i++)
		if (calls[i] != NONE)
			answer_if_equal(filter, (uint32_t)calls[i], result);
}

/* Opens a block for one system call; close_block fills in how far to jump for all others. */
static unsigned short open_block(struct filter *filter, long call)
{
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0);
	return (unsigned short)(filter->size - 1);
}

static void close_block(struct filter *filter, unsigned short at)
{
	filter->code[at].jf = (uint8_t)(filter->size - at - 1);
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void assemble(struct filter *filter)
{
	unsigned short block;

	filter->size = 0;
	/* Another architecture has other numbers; i386 programs on x86_64 would walk past the whole list. x32 is in the range above NEWEST. */
	load(filter, offsetof(struct seccomp_data, arch));
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	answer(filter, error(ENOSYS));
	load(filter, offsetof(struct seccomp_data, nr));
	add(filter, BPF_JMP | BPF_JGT | BPF_K, NEWEST, 0, 1);
	answer(filter, error(ENOSYS));

	answer_all(filter, FORBIDDEN, COUNT(FORBIDDEN), error(EPERM));
	answer_all(filter, MISSING, COUNT(MISSING), error(ENOSYS));

	block = open_block(filter, SYS_clone);
	load_argument(filter, 0);
	add(filter, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1);
	answer(filter, error(EPERM));
	answer(filter, SECCOMP_RET_ALLOW);
	close_block(filter, block);

	block = open_block(filter, SYS_ioctl);
	load_argument(filter, 1);
	for (size_t i = 0; i < COUNT(TYPING); i++)
		answer_if_equal(filter, TYPING[i], error(EPERM));
	answer(filter, SECCOMP_RET_ALLOW);
	close_block(filter, block);

	block = open_block(filter, SYS_socket);
	load_argument(filter, 0);
	for (size_t i = 0; i < COUNT(FAMILIES); i++)
		answer_if_equal(filter, FAMILIES[i], SECCOMP_RET_ALLOW);
	/* Netlink only for routes and addresses, which getaddrinfo(3) and `ip` read. */
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3);
	load_argument(filter, 2);
	answer_if_equal(filter, 0 /* NETLINK_ROUTE */, SECCOMP_RET_ALLOW);
	answer(filter, error(EAFNOSUPPORT));
	close_block(filter, block);

	/* It makes sockets as well, and loads a family's module for it; only Unix sockets come in pairs to anybody's use. */
	block = open_block(filter, SYS_socketpair);
	load_argument(filter, 0);
	answer_if_equal(filter, AF_UNIX, SECCOMP_RET_ALLOW);
	answer(filter, error(EAFNOSUPPORT));
	close_block(filter, block);

	block = open_block(filter, SYS_personality);
	load_argument(filter, 0);
	for (size_t i = 0; i < COUNT(PERSONALITIES); i++)
		answer_if_equal(filter, PERSONALITIES[i], SECCOMP_RET_ALLOW);
	answer(filter, error(EPERM));
	close_block(filter, block);

	answer(filter, SECCOMP_RET_ALLOW);
}

int seccomp_install(void)
{
	static struct filter filter;
	struct sock_fprog program = { .filter = filter.code };

	assemble(&filter);
	if (filter.size > FILTER_MAX)
		return E2BIG;
	program.len = filter.size;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? errno : 0;
}
