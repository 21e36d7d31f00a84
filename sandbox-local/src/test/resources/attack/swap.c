/*
 * Exchanges two names as fast as it can, so that whoever looks a path up in steps finds something else at each: `swap A B`. Runs until it is
 * killed; says "ready" first. Exchanging is one step to everybody else (renameat2(2)), so that neither name is ever missing.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 3 || syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], 2 /* RENAME_EXCHANGE */) < 0) {
		perror("swap");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], 2);
}
