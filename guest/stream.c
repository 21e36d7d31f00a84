#include "stream.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What a terminal can hold back at most: its flip buffers stop at 64 KiB (tty_buffer.c), its line discipline at 4 KiB. */
enum { TERMINAL_HOLDS = 128 << 10 };

static uint8_t scratch[READ_A_TURN];

static void resume(struct stream *stream)
{
	if (stream->waiting) {
		stream->waiting = false;
		loop_watch(&stream->watch, stream->watch.events | EPOLLIN);
	}
}

/* A full pipe whose writers are gone shows EPOLLHUP, which cannot be masked: with nothing else to wait for, the descriptor leaves epoll. */
static void pause_reading(struct stream *stream)
{
	stream->waiting = true;
	loop_watch(&stream->watch, stream->watch.events & EPOLLOUT);
}

static void keep(struct stream *stream, size_t size, uint64_t *dropped)
{
	uint64_t unseen_from = stream->ring.oldest > stream->ever_sent ? stream->ring.oldest : stream->ever_sent;

	ring_write(&stream->ring, scratch, size);
	if (stream->ring.oldest > unseen_from)
		*dropped += stream->ring.oldest - unseen_from;
}

bool stream_read(struct stream *stream, uint64_t *dropped)
{
	size_t room = sizeof scratch;
	ssize_t size;

	if (stream->watch.fd < 0)
		return false;
	if (stream->block && !stream->discard) {
		size_t ring_has = ring_room(&stream->ring, stream->consumed);

		if (ring_has < room)
			room = ring_has;
		if (room == 0) {
			pause_reading(stream);
			return false;
		}
	}
	size = read(stream->watch.fd, scratch, room);
	if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
		/* A terminal pushes what its slave wrote through before it says EAGAIN (n_tty_read), so this is the end of it. */
		if (stream->dead && errno == EAGAIN)
			stream->drain_to = stream->ring.end;
		return false;
	}
	/* A terminal's end is EIO: no process has the slave open any more. */
	if (size <= 0)
		loop_close(&stream->watch);
	else if (!stream->discard)
		keep(stream, (size_t)size, dropped);
	return true;
}

void stream_drain(struct stream *stream, uint64_t *dropped)
{
	int held = 0;

	stream->dead = true;
	stream->drain_to = stream->ring.end;
	if (stream->watch.fd < 0)
		return;
	/* Others may be writing to the same pipe without pause, so the end of what the dead process wrote has to be fixed now. */
	if (stream->terminal)
		stream->drain_to += TERMINAL_HOLDS;
	else if (ioctl(stream->watch.fd, FIONREAD, &held) == 0 && held > 0)
		stream->drain_to += (uint64_t)held;
	/* Mostly this also meets the end of the file, and saves a turn. A pipe holds 64 KiB unless the process enlarged it. */
	while (stream_read(stream, dropped) && !stream_drained(stream))
		;
	if (!stream->terminal && stream->watch.fd >= 0)
		stream_read(stream, dropped);
}

bool stream_drained(const struct stream *stream)
{
	return stream->dead && (stream->watch.fd < 0 || stream->ring.end >= stream->drain_to);
}

void stream_subscribe(struct stream *stream, uint64_t from, uint32_t window)
{
	if (from < stream->ring.oldest)
		from = stream->ring.oldest;
	if (from > stream->ring.end)
		from = stream->ring.end;
	stream->sent = stream->consumed = from;
	stream->window = window;
	/* See open_stream: the ring is never small beside the window. */
	if (stream->ring.bytes && stream->ring.max < window / GAPS)
		stream->ring.max = window / GAPS < RING_MAX ? window / GAPS : RING_MAX;
	stream->gap_count = 0;
	stream->end_sent = false;
	resume(stream);
}

static void forget_gaps(struct stream *stream, size_t count)
{
	stream->gap_count -= count;
	memmove(stream->gaps, stream->gaps + count, stream->gap_count * sizeof *stream->gaps);
}

void stream_consumed(struct stream *stream, uint64_t offset)
{
	size_t passed = 0;

	if (offset > stream->sent)
		offset = stream->sent;
	if (offset <= stream->consumed)
		return;
	while (passed < stream->gap_count && stream->gaps[passed].at <= offset) {
		if (offset < stream->gaps[passed].end)
			offset = stream->gaps[passed].end;
		passed++;
	}
	forget_gaps(stream, passed);
	stream->consumed = offset;
	resume(stream);
}

static uint64_t window_left(const struct stream *stream)
{
	uint64_t unacknowledged = stream->sent - stream->consumed;

	for (size_t i = 0; i < stream->gap_count; i++)
		unacknowledged -= stream->gaps[i].end - stream->gaps[i].at;
	return unacknowledged < stream->window ? stream->window - unacknowledged : 0;
}

/* Steps over what the ring has lost; false when that has to wait for the server. */
static bool skip_gap(struct stream *stream)
{
	uint64_t from = stream->sent, to = stream->ring.oldest;
	uint64_t worth = stream->window / 4 < READ_A_TURN ? stream->window / 4 : READ_A_TURN;

	if (stream->consumed == from) {
		stream->consumed = stream->sent = to;
		return true;
	}
	/* Only for a good run of bytes, so that the gaps of one window are few. */
	if (window_left(stream) < worth)
		return false;
	if (stream->gap_count > 0 && stream->gaps[stream->gap_count - 1].end == from)
		stream->gaps[stream->gap_count - 1].end = to;
	else if (stream->gap_count < GAPS)
		stream->gaps[stream->gap_count++] = (struct gap){ .at = from, .end = to };
	else
		return false;
	stream->sent = to;
	return true;
}

size_t stream_sendable(struct stream *stream)
{
	uint64_t left, there;

	if (stream->sent < stream->ring.oldest && !skip_gap(stream))
		return 0;
	left = window_left(stream);
	there = stream->ring.end - stream->sent;
	if (there > left)
		there = left;
	return there < READ_A_TURN ? (size_t)there : READ_A_TURN;
}

void stream_sent(struct stream *stream, size_t size)
{
	stream->sent += size;
	if (stream->ever_sent < stream->sent)
		stream->ever_sent = stream->sent;
}

void stream_release(struct stream *stream)
{
	stream->discard = true;
	ring_close(&stream->ring);
	stream->ring.oldest = stream->ring.end;
	resume(stream);
}
