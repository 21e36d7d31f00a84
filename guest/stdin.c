#include "process.h"

#include <errno.h>
#include <string.h>

/* What a terminal in its usual mode takes for the end of the file (termios(3), VEOF): control-D. */
static const uint8_t END_OF_FILE = 0x04;

enum { TYPED_ROOM = 64 };

static struct watch *stdin_watch(struct process *process)
{
	return process->pty ? &process->streams[0].watch : &process->in;
}

bool process_stdin_is_open(const struct process *process)
{
	if (process->pty)
		return process->streams[0].watch.fd >= 0;
	return process->in.fd >= 0 && !process->in_end;
}

/* Waits for room while something waits. A pipe is in epoll without that too, to hear EPOLLERR: its reader is gone (pipe(7)). */
static void rewatch(struct process *process)
{
	struct watch *watch = stdin_watch(process);
	uint32_t room = pour_waiting(&process->pour) > 0 ? EPOLLOUT : 0;

	if (process->pty)
		loop_watch(watch, (watch->events & EPOLLIN) | room);
	else
		loop_watch(watch, EPOLLERR | room);
}

static void break_off(struct process *process)
{
	pour_empty(&process->pour);
	process->in_broken = true;
	if (!process->pty)
		loop_close(&process->in);
	else
		rewatch(process);
	link_ready(&process->source);
}

static void after_pouring(struct process *process, enum pour_result result)
{
	if (result == POUR_BROKEN) {
		break_off(process);
		return;
	}
	if (process->in_end && pour_waiting(&process->pour) == 0)
		loop_close(&process->in);
	else
		rewatch(process);
	link_ready(&process->source);
}

static void on_ready(struct watch *watch, uint32_t events)
{
	process_stdin_ready(owner_of(watch, struct process, in), events);
}

void process_stdin_open(struct process *process, int fd)
{
	process->in = (struct watch){ .fd = fd, .ready = on_ready };
	if (!process->pty)
		loop_watch(&process->in, EPOLLERR);
}

void process_stdin_ready(struct process *process, uint32_t events)
{
	if (pour_waiting(&process->pour) > 0)
		after_pouring(process, pour_on(&process->pour, stdin_watch(process)->fd));
	else if (!process->pty && (events & EPOLLERR))
		break_off(process);
}

bool process_stdin(struct process *process, const uint8_t *bytes, size_t size)
{
	enum pour_result result;

	if (process->in_broken || !process_stdin_is_open(process))
		return true;
	result = pour_in(&process->pour, stdin_watch(process)->fd, bytes, size, CREDIT);
	if (result == POUR_OVER_CREDIT)
		return false;
	after_pouring(process, result);
	return true;
}

void process_stdin_close(struct process *process)
{
	if (process->in_broken || !process_stdin_is_open(process))
		return;
	if (process->pty) {
		enum pour_result result = pour_in(&process->pour, process->streams[0].watch.fd, &END_OF_FILE, 1, CREDIT + TYPED_ROOM);

		if (result == POUR_OK)
			process->typed++;
		if (result != POUR_OVER_CREDIT)
			after_pouring(process, result);
		return;
	}
	process->in_end = true;
	after_pouring(process, POUR_OK);
}

/* A typed character that still waits is counted off before it is taken: then the number is a little low for a while, never too high. */
uint64_t process_stdin_taken(const struct process *process)
{
	return process->pour.taken > process->typed ? process->pour.taken - process->typed : 0;
}

void process_stdin_pump(struct process *process)
{
	uint64_t taken = process_stdin_taken(process);
	uint8_t *to;

	if (process->in_broken) {
		if (!process->in_broken_sent)
			process->in_broken_sent = link_frame(STDIN_BROKEN, process->id, 0) != NULL;
		return;
	}
	if (taken <= process->taken_sent && !process->taken_owed)
		return;
	to = link_frame(STDIN_TAKEN, process->id, 8);
	if (to) {
		put_u64(to, taken);
		process->taken_sent = taken;
		process->taken_owed = false;
	}
}
