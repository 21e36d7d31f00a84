#include "harden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What root in a sandbox needs to be root of his own files and processes: install packages, switch users, serve on port 80. */
static const uint8_t KEPT[] = {
	CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETPCAP,
	CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_SETFCAP, CAP_AUDIT_WRITE,
};

static uint64_t kept_capabilities(void)
{
	uint64_t kept = 0;

	for (size_t i = 0; i < sizeof KEPT; i++)
		kept |= UINT64_C(1) << KEPT[i];
	return kept;
}

/*
 * The bounding set is what execve(2) can ever give back, so it goes first, while CAP_SETPCAP is there. The inheritable and ambient sets end up
 * empty: a file's inheritable capabilities, or none at all, must not hand root's to somebody else (capabilities(7)).
 */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	uint64_t kept = kept_capabilities();

	for (unsigned long capability = 0; capability < 64; capability++) {
		int held = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);

		if (held < 0)
			break; /* EINVAL: past the last one this kernel has */
		if (held == 1 && !(kept >> capability & 1) && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
			die(70, "could not drop a capability from the bounding set", errno);
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);

	if (syscall(SYS_capget, &header, sets) < 0)
		die(70, "could not read the capabilities", errno);
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		sets[i].permitted &= (uint32_t)(kept >> (32 * i));
		sets[i].effective = sets[i].permitted;
		sets[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, sets) < 0)
		die(70, "could not drop the capabilities", errno);
}

/* Last for the OOM killer. Below what the runtime gave it this needs CAP_SYS_RESOURCE on the host, so mostly the runtime has to do it. */
static void rank_last(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "-1000", 5) < 0)
			errno = 0;
		close(fd);
	}
}

void harden(bool with_seccomp)
{
	int error;

	rank_last();
	/* Without this any process of the same user may ptrace the guest, and read the token in its memory (ptrace(2), access mode checking). */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		die(70, "could not make the guest undumpable", errno);
	/* Pages it has touched stay, so that it answers when the sandbox is short of memory. No MCL_FUTURE: rings may be larger than the limit. */
	if (mlockall(MCL_CURRENT | MCL_ONFAULT) < 0)
		errno = 0;
	error = with_seccomp ? seccomp_install() : 0;
	if (error)
		die(70, "could not install the seccomp filter (it needs CAP_SYS_ADMIN in the sandbox's user namespace at start)", error);
	drop_capabilities();
}
