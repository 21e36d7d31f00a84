/*
 * Exchanges two names as fast as it can, so that whoever looks a path up in steps finds something else at each: `swap A B`. Runs until it is
 * killed; says "ready" first. Exchanging is one step to everybody else (renameat2(2)), so that neither name is ever missing; where the kernel cannot, as in
 * older gVisors, it is three renames.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void in_three_steps(const char *a, const char *b)
{
	char between[4096];

	snprintf(between, sizeof between, "%s-between", a);
	rename(a, between);
	rename(b, a);
	rename(between, b);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	long exchanged = syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], 2 /* RENAME_EXCHANGE */);

	puts("ready");
	fflush(stdout);
	for (;;)
		if (exchanged < 0)
			in_three_steps(argv[1], argv[2]);
		else
			syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], 2);
}
