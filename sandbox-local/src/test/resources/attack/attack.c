/*
 * Runs one attack: `attack --list` names them all, `attack SENTENCE` tries one. Exits with 0 when the attack worked, with 3 when it was refused and
 * with 4 when it failed for a reason that is no refusal.
 */
#include "attack.h"

#include <sys/wait.h>

enum { WORKED = 0, REFUSED = 3, UNCLEAR = 4 };

static const struct attack *const ALL[] = { NAMESPACES, MOUNTS, KERNEL, PROCESSES, SOCKETS, FILES, DEVICES };

static int is_refusal(const struct attack *attack, int error)
{
	static const int always[] = { EPERM, EACCES, ENOSYS, EROFS };

	for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
		if (error == always[i])
			return 1;
	for (size_t i = 0; i < 3; i++)
		if (error == attack->also[i])
			return 1;
	return 0;
}

static int attempt(const struct attack *attack)
{
	const long *a = attack->args;
	int error;

	errno = 0;
	error = attack->run ? attack->run(attack) : result(syscall(attack->number, a[0], a[1], a[2], a[3], a[4], a[5]));
	if (!error) {
		puts("worked");
		return WORKED;
	}
	printf("%s\n", strerrorname_np(error) ? strerrorname_np(error) : "unknown error");
	return is_refusal(attack, error) ? REFUSED : UNCLEAR;
}

/* In a child, since being killed for it is a refusal too. */
static int isolated(const struct attack *attack)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		int code = attempt(attack);

		fflush(stdout);
		_exit(code);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return UNCLEAR;
	if (WIFSIGNALED(status)) {
		printf("killed by signal %d\n", WTERMSIG(status));
		return REFUSED;
	}
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int listing = argc == 2 && strcmp(argv[1], "--list") == 0;

	for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
		for (const struct attack *attack = ALL[i]; attack->sentence; attack++)
			if (listing)
				puts(attack->sentence);
			else if (argc == 2 && strcmp(argv[1], attack->sentence) == 0)
				return isolated(attack);
	return listing ? 0 : UNCLEAR;
}
