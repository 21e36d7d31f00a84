/*
 * berth-statx.so: preloaded in sandboxes of gVisor builds before April 2023, by /etc/ld.so.preload (ld.so(8)).
 *
 * Those builds refuse AT_NO_AUTOMOUNT with EINVAL, and coreutils 9 sets it in every stat: without this `ls` and `stat` fail on every path. Nothing is
 * ever automounted in a sandbox, so the flag means nothing there, and is taken out.
 *
 * It is linked with no library. errno and the system call are the C library's of whatever program it is loaded into.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict buffer)
{
	return (int)syscall(SYS_statx, directory, path, flags & ~AT_NO_AUTOMOUNT, mask, buffer);
}

/* On 64-bit machines the kernel's struct stat is the C library's, and there is one of it. */
int fstatat(int directory, const char *restrict path, struct stat *restrict buffer, int flags)
{
	return (int)syscall(SYS_newfstatat, directory, path, buffer, flags & ~AT_NO_AUTOMOUNT);
}

int fstatat64(int directory, const char *restrict path, struct stat64 *restrict buffer, int flags)
{
	return (int)syscall(SYS_newfstatat, directory, path, buffer, flags & ~AT_NO_AUTOMOUNT);
}
