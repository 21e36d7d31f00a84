#ifndef ATTACK_H
#define ATTACK_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * One attempt to get out of a sandbox, or to touch the machine from inside. Most are a single system call; the others have a function, which
 * returns 0 when the attack worked and the errno that it met otherwise.
 *
 * Only a refusal counts as a failed attack: EPERM, EACCES, ENOSYS, EROFS and what `also` names. Any other error means that the kernel looked at
 * the arguments, so that better ones might have worked.
 */
struct attack {
	const char *sentence;
	int (*run)(const struct attack *self);
	long number;
	long args[6];
	int also[3];
};

extern const struct attack NAMESPACES[], MOUNTS[], KERNEL[], PROCESSES[], SOCKETS[], FILES[], DEVICES[];

#define P(pointer) ((long)(uintptr_t)(pointer))
#define END { NULL, NULL, 0, { 0 }, { 0 } }

static inline int result(long returned)
{
	return returned < 0 ? errno : 0;
}

/* A file of the host that no path in the sandbox may lead to. */
static inline const char *canary(void)
{
	const char *path = getenv("BERTH_CANARY");

	return path ? path : "/nowhere";
}

/* Root and user share /tmp, and neither may remove what is the other's there. */
static inline const char *own(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s-%d", name, (int)getuid());
	return path;
}

#endif
