#pragma once

#include "loop.h"
#include "ring.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One output stream of a process: the pipe or terminal it is read from, the ring it is kept in, and how far the server's subscription is.
 *
 *   ring.oldest … consumed … sent … ring.end
 *
 * `consumed` and `sent` belong to the subscription and go back when a new one starts earlier. In policy *drop* the ring's oldest byte may overtake
 * both; the bytes between `sent` and `ring.oldest` are then a *gap*. A gap takes nothing from the window, or a server that waits for the window to
 * move would wait for bytes that will never come. So gaps behind `consumed` are remembered until they are passed; when GAPS of them are, sending
 * waits for the server, which by the protocol has acknowledged something by then.
 */

enum { GAPS = 32, READ_A_TURN = 64 << 10, RING_MAX = 16 << 20 };

struct gap {
	uint64_t at; /* gaps are kept in order, all of them at or after `consumed` */
	uint64_t end;
};

struct process;

struct stream {
	struct process *process;
	uint8_t number;     /* 1 stdout or a terminal, 2 stderr */
	struct watch watch; /* .fd is -1 once the stream has ended, or never was */
	struct ring ring;
	bool block;         /* wait for the reader instead of dropping */
	bool terminal;
	bool discard;       /* released: read so that writers go on, but keep nothing */
	bool waiting;       /* not read, since the ring is full */
	bool end_sent;
	bool dead;          /* its process is */
	uint64_t drain_to;  /* what the dead process wrote ends at this offset at the latest */

	uint64_t sent;
	uint64_t consumed;
	uint64_t ever_sent; /* over all subscriptions */
	uint32_t window;
	struct gap gaps[GAPS];
	size_t gap_count;
};

/* Reads once; true when something changed. Adds to `dropped` the bytes that went before any server saw them. */
bool stream_read(struct stream *stream, uint64_t *dropped);

/* The process is dead: fixes drain_to and reads what it left, as far as there is room. */
void stream_drain(struct stream *stream, uint64_t *dropped);

/* All that its dead process wrote is in the ring. */
bool stream_drained(const struct stream *stream);

void stream_subscribe(struct stream *stream, uint64_t from, uint32_t window);
void stream_consumed(struct stream *stream, uint64_t offset);

/* How many bytes may be sent now; steps over a gap first. */
size_t stream_sendable(struct stream *stream);
void stream_sent(struct stream *stream, size_t size);

/* Stops keeping anything. */
void stream_release(struct stream *stream);
