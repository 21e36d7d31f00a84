#pragma once

#include "frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The connection to the server. There is one way out, a buffer of frames in the order they go:
 *
 * - Answers (STARTED, REFUSED, PONG, …) are put at its end at once. A server that asks without reading the answers loses the connection when
 *   ANSWERS_MAX of them wait.
 * - What processes and carried connections have to tell is not queued at all. They are *sources*: one with news is put in a circle, and is asked
 *   for one portion at a time while the buffer is short. So a flood takes its turn like everybody, and what waits is bounded whatever happens.
 */

struct source {
	struct source *next;
	bool queued;
	/* Puts at most a portion of frames into the link; true when there is more to send now. */
	bool (*pump)(struct source *source);
};

enum { PORTION = 64 << 10 };

/* What the link tells the rest of the guest. */
struct link_listener {
	uint32_t (*next_id)(void);                      /* for HELLO */
	bool (*message)(struct message *message);       /* false: against the rules, the connection is closed */
	void (*lost)(void);                             /* subscriptions and carried connections end here */
};

void link_open(const char *path, const char *token, const char *boot, const struct link_listener *listener);

/* When link_turn wants to be called at the latest, in ms of loop_now. */
uint64_t link_deadline(void);

/* Dials when it is time, and goes on with frames that were left over from the last turn. */
void link_turn(void);

/* Lets the sources fill the buffer and sends it. */
void link_flush(void);

/* The source has news. Without a welcomed connection this does nothing: what a process has to tell is told again after SUBSCRIBE. */
void link_ready(struct source *source);
void link_forget(struct source *source);

/* Appends a frame with a payload of `size` bytes and returns where to write it; NULL without a connection. */
uint8_t *link_frame(uint8_t type, uint32_t id, size_t size);

/* Shortens the payload of the frame just appended, or takes it back when that leaves nothing. */
void link_trim(size_t by, size_t left);

void link_refuse(uint32_t id, enum refused_stage stage, int error);
