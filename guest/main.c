#include "dial.h"
#include "harden.h"
#include "link.h"
#include "listen.h"
#include "loop.h"
#include "process.h"
#include "serve.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define TOKEN_VARIABLE "BERTH_TOKEN"

static char token[512];
static char boot[17];
static bool children_died;

static void say(const char *text)
{
	if (write(2, text, strlen(text)) < 0)
		errno = 0;
}

void die(int code, const char *what, int error)
{
	say("berth-guest: ");
	say(what);
	if (error) {
		say(": ");
		say(strerror(error));
	}
	say("\n");
	_exit(code);
}

/* The environment stands where the kernel put it, and /proc/1/environ shows that memory (proc(5)); so the token is overwritten in place. */
static void take_token(void)
{
	char *value = getenv(TOKEN_VARIABLE);
	size_t size = value ? strlen(value) : 0;

	if (!value)
		die(64, "the environment variable " TOKEN_VARIABLE " is missing: it proves to the server which sandbox this is", 0);
	if (size >= sizeof token)
		die(64, TOKEN_VARIABLE " is longer than 511 bytes", 0);
	memcpy(token, value, size);
	explicit_bzero(value - sizeof TOKEN_VARIABLE, size + sizeof TOKEN_VARIABLE);
	environ = NULL;
}

/*
 * Stands in the socket's directory and dials from there by name alone. Root in the sandbox can rename what is above that mount, and would be sent the
 * token by a guest that looks the whole path up again.
 */
static const char *hold_directory(char *path)
{
	char *name = strrchr(path, '/');

	if (!name || name == path)
		return path;
	*name = 0;
	if (chdir(path) == 0)
		return name + 1;
	*name = '/';
	return path;
}

static void make_boot(void)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[8];

	if (getrandom(random, sizeof random, 0) != sizeof random)
		die(71, "could not get random bytes", errno);
	for (size_t i = 0; i < sizeof random; i++) {
		boot[2 * i] = digits[random[i] >> 4];
		boot[2 * i + 1] = digits[random[i] & 15];
	}
}

/* Descriptors 0 to 2 exist, so that none of ours is among them; whatever else was inherited stays out of the children. */
static void tidy_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd >= 0)
		close(fd);
	syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
}

static void on_child(struct watch *watch, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	/* Signals of one kind merge while pending (signal(7)), so one note may stand for many children. */
	while (read(watch->fd, &info, sizeof info) == sizeof info)
		;
	children_died = true;
}

static void tidy_signals(void)
{
	static struct watch children = { .ready = on_child };
	static const uint64_t standard[4]; /* the kernel's own struct sigaction, which says SIG_DFL in zeroes */
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t mask;

	/*
	 * What the runtime ignored, the children would ignore too: ignored signals live through execve(2). By the system call itself, since the C
	 * library keeps 32 and 33 to itself.
	 */
	for (int number = 1; number <= 64; number++)
		syscall(SYS_rt_sigaction, number, standard, NULL, sizeof(uint64_t));
	sigaction(SIGPIPE, &ignore, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	children.fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	if (children.fd < 0 || !loop_watch(&children, EPOLLIN))
		die(71, "could not watch for the end of children", errno);
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The order matters in one place: deaths are looked at after the output that was ready with them, and everything is sent together at the end. */
__attribute__((noreturn)) static void run(void)
{
	for (;;) {
		loop_wait(earliest(earliest(link_deadline(), process_deadline()), earliest(dial_deadline(), listen_deadline())));
		if (children_died) {
			children_died = false;
			process_reap();
		}
		process_expire();
		dial_expire();
		listen_expire();
		link_turn();
		link_flush();
		loop_bury();
	}
}

static void usage(void)
{
	die(64, "usage: berth-guest --socket PATH [--no-seccomp] [--harden]", 0);
}

int main(int argc, char **argv)
{
	bool with_seccomp = true, first = getpid() == 1, hardened = first;
	char *socket_path = NULL;
	struct rlimit none = { 0, 0 };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc)
			socket_path = argv[++i];
		else if (strcmp(argv[i], "--no-seccomp") == 0)
			with_seccomp = false;
		else if (strcmp(argv[i], "--harden") == 0) /* for tests, where it is not PID 1 */
			hardened = true;
		else
			usage();
	}
	if (!socket_path)
		usage();
	if (strlen(socket_path) >= sizeof ((struct sockaddr_un *)0)->sun_path)
		die(64, "the socket's path is too long for a Unix socket", 0);

	take_token();
	make_boot();
	tidy_descriptors();
	/* Blocks of this size go back to the system when freed, instead of staying in the heap; by default the threshold climbs (mallopt(3)). */
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	umask(022);
	setrlimit(RLIMIT_CORE, &none);
	/* PID 1 gets the orphans anyway. */
	if (!first)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (!loop_open())
		die(71, "could not open an event loop", errno);
	tidy_signals();
	if (hardened)
		harden(with_seccomp);
	spawn_remember();
	link_open(hold_directory(socket_path), token, boot, &serve);
	run();
}
