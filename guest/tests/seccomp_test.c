#include "harden.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The whole test runs under the filter. Forbidden calls get arguments the kernel would refuse with something other than EPERM where it can, and run
 * as root, so that an EPERM is the filter's.
 */

static int error_of(long result)
{
	return result < 0 ? errno : 0;
}

#define CALL(...) error_of(syscall(__VA_ARGS__))

static void refuses_namespaces_and_mounts(void)
{
	CHECK(CALL(SYS_unshare, CLONE_NEWUSER) == EPERM);
	CHECK(CALL(SYS_unshare, 0) == EPERM);
	CHECK(CALL(SYS_setns, -1, 0) == EPERM);
	CHECK(CALL(SYS_mount, 0, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_umount2, 0, 0) == EPERM);
	CHECK(CALL(SYS_pivot_root, 0, 0) == EPERM);
	CHECK(CALL(SYS_fsopen, 0, 0) == EPERM);
	CHECK(CALL(SYS_fsconfig, -1, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_fsmount, -1, 0, 0) == EPERM);
	CHECK(CALL(SYS_fspick, -1, 0, 0) == EPERM);
	CHECK(CALL(SYS_move_mount, -1, 0, -1, 0, 0) == EPERM);
	CHECK(CALL(SYS_open_tree, -1, 0, 0) == EPERM);
	CHECK(CALL(467 /* open_tree_attr */, -1, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_mount_setattr, -1, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_open_by_handle_at, -1, 0, 0) == EPERM);
	CHECK(CALL(SYS_name_to_handle_at, -1, 0, 0, 0, 0) == EPERM);
}

static void refuses_clone_into_every_kind_of_namespace(void)
{
	static const unsigned long FLAGS[] = {
		CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
	};
	uint64_t arguments[11] = { 0 };

	for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
		CHECK(CALL(SYS_clone, FLAGS[i] | SIGCHLD, 0, 0, 0, 0) == EPERM);
	/* Not in the high half either, where the kernel's own `unsigned long` could see what we do not. */
	CHECK(CALL(SYS_clone, FLAGS[4] | 0x100000000UL | SIGCHLD, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_clone3, arguments, sizeof arguments) == ENOSYS);
}

static void refuses_what_is_the_machines(void)
{
	CHECK(CALL(SYS_bpf, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_perf_event_open, 0, 0, 0, -1, 0) == EPERM);
	CHECK(CALL(SYS_kexec_load, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_kexec_file_load, -1, -1, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_init_module, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_finit_module, -1, 0, 0) == EPERM);
	CHECK(CALL(SYS_delete_module, 0, 0) == EPERM);
	CHECK(CALL(SYS_reboot, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_swapon, 0, 0) == EPERM);
	CHECK(CALL(SYS_swapoff, 0) == EPERM);
	CHECK(CALL(SYS_acct, "") == EPERM);
	CHECK(CALL(SYS_quotactl, -1, 0, 0, 0) == EPERM);
	CHECK(CALL(443 /* quotactl_fd */, -1, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_keyctl, -1, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_add_key, 0, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_request_key, 0, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_userfaultfd, -1) == EPERM);
	CHECK(CALL(SYS_kcmp, 1, 1, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS_settimeofday, 0, 0) == EPERM);
	CHECK(CALL(SYS_clock_settime, 0, 0) == EPERM);
	CHECK(CALL(SYS_clock_adjtime, 0, 0) == EPERM);
	CHECK(CALL(SYS_adjtimex, 0) == EPERM);
	CHECK(CALL(SYS_syslog, 10, 0, 0) == EPERM);
	CHECK(CALL(SYS_sethostname, 0, -1) == EPERM);
	CHECK(CALL(SYS_setdomainname, 0, -1) == EPERM);
	CHECK(CALL(SYS_vhangup) == EPERM);
	CHECK(CALL(SYS_lookup_dcookie, 0, 0, 0) == EPERM);
#if defined(__x86_64__)
	CHECK(CALL(SYS_iopl, 0) == EPERM);
	CHECK(CALL(SYS_ioperm, 0, 0, 0) == EPERM);
	CHECK(CALL(SYS__sysctl, 0) == EPERM);
#endif
}

static void says_that_what_programs_can_do_without_is_not_there(void)
{
	CHECK(CALL(SYS_io_uring_setup, 0, 0) == ENOSYS);
	CHECK(CALL(SYS_io_uring_enter, -1, 0, 0, 0, 0, 0) == ENOSYS);
	CHECK(CALL(SYS_io_uring_register, -1, 0, 0, 0) == ENOSYS);
	CHECK(CALL(447 /* memfd_secret */, 0) == ENOSYS);
	CHECK(CALL(470) == ENOSYS);
	CHECK(CALL(100000) == ENOSYS);
#if defined(__x86_64__)
	CHECK(CALL(0x40000000 | SYS_getpid) == ENOSYS); /* x32 */
	{
		/* i386's getpid is 20. Numbers of the other architecture must not be read as ours. A kernel without it sends SIGSEGV. */
		int status;
		pid_t child = fork();

		if (child == 0) {
			long result;

			signal(SIGSEGV, SIG_DFL);
			__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L), "b"(0L) : "memory", "r8", "r9", "r10", "r11");
			_exit((int)result == -ENOSYS ? 0 : 1);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	}
#endif
}

static int socket_error(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);
	int error = error_of(fd);

	if (fd >= 0)
		close(fd);
	return error;
}

static void allows_only_everyday_sockets(void)
{
	static const int OTHERS[] = { AF_PACKET, AF_VSOCK, AF_ALG, AF_BLUETOOTH, AF_CAN, AF_TIPC, AF_RDS, AF_KCM, AF_XDP, AF_KEY, AF_NFC };

	CHECK(socket_error(AF_UNIX, SOCK_STREAM, 0) == 0);
	CHECK(socket_error(AF_INET, SOCK_STREAM, 0) == 0);
	CHECK(socket_error(AF_INET, SOCK_DGRAM, 0) == 0);
	CHECK(socket_error(AF_INET6, SOCK_STREAM, 0) != EPERM);
	CHECK(socket_error(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) == 0);
	CHECK(socket_error(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER) == EAFNOSUPPORT);
	CHECK(socket_error(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT) == EAFNOSUPPORT);
	for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
		CHECK(socket_error(OTHERS[i], SOCK_RAW, 0) == EAFNOSUPPORT);
	/* The high half of an int argument does not count, for the kernel or for us. */
	CHECK(CALL(SYS_socket, 0x100000000UL | AF_PACKET, SOCK_RAW, 0) == EAFNOSUPPORT);
	CHECK(CALL(SYS_socketpair, AF_INET, SOCK_STREAM, 0, 0) == EAFNOSUPPORT); /* without the filter EOPNOTSUPP or EFAULT */
	CHECK(CALL(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, 0) == EFAULT);
}

static void refuses_typing_into_terminals(void)
{
	char letter = 'x';

	CHECK(CALL(SYS_ioctl, -1, 0x5412UL, &letter) == EPERM);
	CHECK(CALL(SYS_ioctl, -1, 0xffffffff00005412UL, &letter) == EPERM);
	CHECK(CALL(SYS_ioctl, -1, 0x541CUL, &letter) == EPERM);
	CHECK(CALL(SYS_ioctl, -1, 0x5413UL, &letter) == EBADF); /* TIOCGWINSZ */
}

static void allows_harmless_personalities(void)
{
	int before = personality(0xffffffff);

	CHECK(before >= 0);
	CHECK(personality(0x8) >= 0 && personality(0x20008) >= 0 && personality(0x20000) >= 0 && personality(0) >= 0);
	CHECK(CALL(SYS_personality, 0x0400000UL /* READ_IMPLIES_EXEC */) == EPERM);
	CHECK(CALL(SYS_personality, 0x0040000UL /* ADDR_NO_RANDOMIZE */) == EPERM);
}

static void *nothing(void *argument)
{
	return argument;
}

static void leaves_ordinary_work_alone(void)
{
	pthread_t thread;
	int status;
	pid_t child;

	CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(system("true") == 0);
	child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status)); /* gdb and strace of one's own */
	CHECK(ptrace(PTRACE_CONT, child, 0, 0) == 0);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK(CALL(SYS_landlock_create_ruleset, 0, 0, 1) != EPERM);
	CHECK(CALL(SYS_pkey_alloc, 0, 0) != EPERM);
	CHECK(CALL(SYS_getpid) == 0);
}

int main(void)
{
	if (geteuid() != 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	CHECK(seccomp_install() == 0);
	refuses_namespaces_and_mounts();
	refuses_clone_into_every_kind_of_namespace();
	refuses_what_is_the_machines();
	says_that_what_programs_can_do_without_is_not_there();
	allows_only_everyday_sockets();
	refuses_typing_into_terminals();
	allows_harmless_personalities();
	leaves_ordinary_work_alone();
	return TALLY();
}
