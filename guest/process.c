#include "process.h"

#include "spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

enum { RING_LEAST = 4096 };

static struct process *table[PROCESSES_MAX];
static size_t table_count;
static struct process *lingering[LINGER_MAX]; /* oldest first */
static size_t lingering_count;
static uint64_t next_deadline = UINT64_MAX;

static struct {
	uint32_t pids;
	uint32_t memory;
	uint32_t killed;
	uint64_t dropped;
} limits;

struct process *process_find(uint32_t id)
{
	for (size_t i = 0; i < table_count; i++)
		if (table[i]->id == id && !table[i]->released)
			return table[i];
	return NULL;
}

static void take_out(struct process **from, size_t *count, const struct process *process)
{
	for (size_t i = 0; i < *count; i++)
		if (from[i] == process) {
			(*count)--;
			memmove(from + i, from + i + 1, (*count - i) * sizeof *from);
			return;
		}
}

static bool is_read(const struct process *process)
{
	return process->streams[0].watch.fd >= 0 || process->streams[1].watch.fd >= 0;
}

static void discard(struct process *process)
{
	link_forget(&process->source);
	for (int i = 0; i < 2; i++) {
		loop_close(&process->streams[i].watch);
		ring_close(&process->streams[i].ring);
	}
	loop_close(&process->in);
	pour_empty(&process->pour);
	loop_free(&process->grave);
}

/* A released process that is dead: gone at once, or read on until its children have closed what they inherited. */
static void bury(struct process *process)
{
	take_out(table, &table_count, process);
	if (!is_read(process)) {
		discard(process);
		return;
	}
	if (lingering_count == LINGER_MAX) {
		struct process *oldest = lingering[0];

		take_out(lingering, &lingering_count, oldest);
		discard(oldest);
	}
	lingering[lingering_count++] = process;
}

/* EXITED may be sent once all that the process wrote is in the rings; where the streams stand then is what it says. */
static void settle(struct process *process)
{
	if (process->settled || !process->dead || !stream_drained(&process->streams[0]) || !stream_drained(&process->streams[1]))
		return;
	process->settled = true;
	for (int i = 0; i < 2; i++)
		process->ends[i] = process->streams[i].ring.end;
}

static void on_output(struct watch *watch, uint32_t events)
{
	struct stream *stream = owner_of(watch, struct stream, watch);
	struct process *process = stream->process;

	if (process->pty && (events & (EPOLLOUT | EPOLLERR)))
		process_stdin_ready(process, events);
	/* A terminal that has ended while its ring is full: nothing can be written to it either, and its EPOLLHUP would keep us awake. */
	if (stream->waiting && (events & EPOLLHUP))
		loop_watch(watch, 0);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || stream->waiting)
		return;
	stream_read(stream, &limits.dropped);
	if (process->dead && process->released) {
		if (!is_read(process)) {
			take_out(lingering, &lingering_count, process);
			discard(process);
		}
		return;
	}
	settle(process);
	link_ready(&process->source);
}

static bool pump_stream(struct process *process, struct stream *stream)
{
	size_t size = stream_sendable(stream);
	uint8_t *to;

	if (size > 0) {
		to = link_frame(OUTPUT, process->id, 9 + size);
		if (!to)
			return false;
		to = put_u64(put_u8(to, stream->number), stream->sent);
		ring_read(&stream->ring, stream->sent, to, size);
		stream_sent(stream, size);
		if (stream_sendable(stream) > 0)
			return true;
	}
	if (stream->watch.fd < 0 && !stream->end_sent && stream->sent == stream->ring.end) {
		to = link_frame(OUTPUT_END, process->id, 9);
		if (to) {
			put_u64(put_u8(to, stream->number), stream->sent);
			stream->end_sent = true;
		}
	}
	return false;
}

static void pump_exit(struct process *process)
{
	uint8_t *to;

	if (!process->settled || process->exit_sent)
		return;
	to = link_frame(EXITED, process->id, 3 + 16);
	if (!to)
		return;
	to = put_u8(put_u8(put_u8(to, process->kind), process->value), process->timed_out ? 1 : 0);
	put_u64(put_u64(to, process->ends[0]), process->ends[1]);
	process->exit_sent = true;
}

static bool pump(struct source *source)
{
	struct process *process = owner_of(source, struct process, source);
	bool more;

	if (!process->subscribed)
		return false;
	process_stdin_pump(process);
	more = pump_stream(process, &process->streams[0]);
	if (!process->pty && pump_stream(process, &process->streams[1]))
		more = true;
	if (!more)
		pump_exit(process);
	return more;
}

static bool open_stream(struct process *process, int index, int fd, const struct start *start)
{
	struct stream *stream = &process->streams[index];
	size_t ring = start->ring;

	/* At least a thirty-second of the window, so that the gaps in one window are no more than `gaps` can hold. */
	if (ring < start->window / GAPS)
		ring = start->window / GAPS;
	if (ring < RING_LEAST)
		ring = RING_LEAST;
	if (ring > RING_MAX)
		ring = RING_MAX;
	stream->process = process;
	stream->number = (uint8_t)(index + 1);
	stream->watch = (struct watch){ .fd = fd, .ready = on_output };
	stream->block = start->flags & START_BLOCK;
	stream->terminal = start->flags & START_PTY;
	stream->window = start->window;
	return process->pty && index == 1 ? true : ring_open(&stream->ring, ring);
}

static void count_refusal(const struct refusal *refusal)
{
	if (refusal->stage == STAGE_FORK && refusal->error == EAGAIN)
		limits.pids++;
	if (refusal->error == ENOMEM)
		limits.memory++;
}

/* A number that was an exited leader's is a new leader's now: signals for the old one's group must not reach it. */
static void take_over_group(pid_t pid)
{
	for (size_t i = 0; i < table_count; i++)
		if (table[i]->dead && table[i]->pid == pid)
			table[i]->group_gone = true;
}

static struct process *create(uint32_t id, const struct start *start)
{
	struct process *process = calloc(1, sizeof *process + TAG_MAX + COMMAND_MAX);

	if (!process)
		return NULL;
	process->source.pump = pump;
	process->id = id;
	process->pty = start->flags & START_PTY;
	process->in.fd = -1;
	process->tag_size = (uint16_t)start->tag_size;
	if (start->tag_size > 0)
		memcpy(process->text, start->tag, start->tag_size);
	process->command_size = (uint16_t)process_describe(process->text + start->tag_size, start->argv);
	if (!open_stream(process, 0, -1, start) || !open_stream(process, 1, -1, start)) {
		discard(process);
		return NULL;
	}
	return process;
}

void process_start(uint32_t id, struct start *start)
{
	struct refusal refusal = { .stage = STAGE_FORK, .error = ENOMEM };
	struct spawned spawned;
	struct process *process;
	uint8_t *to;

	if (table_count == PROCESSES_MAX) {
		link_refuse(id, STAGE_TABLE, EAGAIN);
		return;
	}
	process = create(id, start);
	if (!process || !spawn(start, &spawned, &refusal)) {
		if (process)
			discard(process);
		count_refusal(&refusal);
		link_refuse(id, refusal.stage, refusal.error);
		return;
	}
	take_over_group(spawned.pid);
	process->pid = spawned.pid;
	process->streams[0].watch.fd = spawned.out;
	process->streams[1].watch.fd = spawned.err;
	loop_watch(&process->streams[0].watch, EPOLLIN);
	loop_watch(&process->streams[1].watch, EPOLLIN);
	process_stdin_open(process, spawned.in);
	process->deadline = start->timeout_ms > 0 && start->timeout_ms < UINT64_MAX - loop_now() ? loop_now() + start->timeout_ms : UINT64_MAX;
	if (process->deadline < next_deadline)
		next_deadline = process->deadline;
	process->subscribed = true;
	table[table_count++] = process;

	to = link_frame(STARTED, id, 4);
	if (to)
		put_u32(to, (uint32_t)process->pid);
}

static void bury_or_settle(struct process *process, int status)
{
	process->dead = true;
	process->deadline = UINT64_MAX;
	process->kind = WIFSIGNALED(status) ? 1 : 0;
	process->value = (uint8_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	process->group_gone = kill(-process->pid, 0) < 0 && errno == ESRCH;
	if (process->kind == 1 && process->value == SIGKILL && !process->kill_asked)
		limits.killed++;
	if (process->released) {
		bury(process);
		return;
	}
	for (int i = 0; i < 2; i++)
		stream_drain(&process->streams[i], &limits.dropped);
	settle(process);
	link_ready(&process->source);
}

void process_reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < table_count; i++)
			if (table[i]->pid == pid && !table[i]->dead) {
				bury_or_settle(table[i], status);
				break;
			}
}

uint64_t process_deadline(void)
{
	return next_deadline;
}

void process_expire(void)
{
	if (next_deadline > loop_now())
		return;
	next_deadline = UINT64_MAX;
	for (size_t i = 0; i < table_count; i++) {
		struct process *process = table[i];

		if (process->deadline <= loop_now()) {
			process->deadline = UINT64_MAX;
			process->timed_out = true;
			process_signal(process, SIGKILL, false);
		} else if (process->deadline < next_deadline) {
			next_deadline = process->deadline;
		}
	}
}

void process_signal(struct process *process, int number, bool alone)
{
	if (alone ? process->dead : process->group_gone)
		return;
	if (number == SIGKILL)
		process->kill_asked = true;
	kill(alone ? process->pid : -process->pid, number);
}

void process_resize(struct process *process, uint16_t rows, uint16_t columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };

	/* The kernel tells the terminal's foreground group with SIGWINCH (ioctl_tty(2)). */
	if (process->pty && process->streams[0].watch.fd >= 0)
		ioctl(process->streams[0].watch.fd, TIOCSWINSZ, &size);
}

void process_subscribe(struct process *process, const uint64_t from[2], uint32_t window)
{
	for (int i = 0; i < 2; i++)
		stream_subscribe(&process->streams[i], from[i], window);
	process->subscribed = true;
	process->exit_sent = false;
	process->in_broken_sent = false;
	process->taken_owed = process_stdin_is_open(process);
	link_ready(&process->source);
}

void process_consumed(struct process *process, uint8_t stream, uint64_t offset)
{
	if (!process->subscribed)
		return;
	stream_consumed(&process->streams[stream - 1], offset);
	link_ready(&process->source);
}

void process_release(struct process *process)
{
	process->released = true;
	process->subscribed = false;
	link_forget(&process->source);
	loop_close(&process->in);
	pour_empty(&process->pour);
	for (int i = 0; i < 2; i++)
		stream_release(&process->streams[i]);
	if (process->dead)
		bury(process);
}

void process_unsubscribe_all(void)
{
	for (size_t i = 0; i < table_count; i++)
		table[i]->subscribed = false;
}

struct process *const *process_table(size_t *count)
{
	*count = table_count;
	return table;
}

void process_limits(void)
{
	uint8_t *to = link_frame(LIMITS_HIT, 0, 3 * 4 + 8);

	if (to)
		put_u64(put_u32(put_u32(put_u32(to, limits.pids), limits.memory), limits.killed), limits.dropped);
}
