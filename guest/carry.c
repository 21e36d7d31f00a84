#include "carry.h"

#include "frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CHAINS = 256,
	TAKEN_STEP = CREDIT / 4, /* what is taken before the server is told; less than any window it may keep, or it would wait for ever */
	LEAVING_MAX = 64,        /* peers that do not read are not waited for by the hundred; no clock, which would go on while the sandbox is paused */
	DROPPED_LAST = 128,      /* portions before the close: as much as a socket holds, not what one that never stops says */
};

static struct carried *table[CHAINS];
static struct carried *leaving[LEAVING_MAX]; /* the oldest first */
static size_t leaving_count;

static bool pump(struct source *source);

static struct carried **chain_of(uint32_t id)
{
	return &table[id % CHAINS];
}

struct carried *carry_find(uint32_t id)
{
	struct carried *carried = *chain_of(id);

	while (carried && carried->id != id)
		carried = carried->next;
	return carried;
}

void carry_add(struct carried *carried)
{
	struct carried **chain = chain_of(carried->id);

	carried->source.pump = pump;
	carried->next = *chain;
	*chain = carried;
}

static void close_socket(struct carried *carried)
{
	link_forget(&carried->source);
	loop_close(&carried->watch);
	pour_empty(&carried->pour);
	carried->open = false;
}

static void has_left(struct carried *carried)
{
	size_t at = 0;

	while (leaving[at] != carried)
		at++;
	leaving_count--;
	memmove(leaving + at, leaving + at + 1, (leaving_count - at) * sizeof leaving[0]);
}

void carry_discard(struct carried *carried)
{
	struct carried **at = chain_of(carried->id);

	while (*at != carried)
		at = &(*at)->next;
	*at = carried->next;
	close_socket(carried);
	if (carried->leaving)
		has_left(carried);
	else
		carried->ended(carried);
	loop_free(&carried->grave);
}

static void tell_closed(struct carried *carried, int error)
{
	uint8_t *to = link_frame(CLOSED, carried->id, 4);

	if (to)
		put_u32(to, (uint32_t)error);
}

static void finish(struct carried *carried, int error)
{
	if (!carried->leaving)
		tell_closed(carried, error);
	if (!carried->lingers) {
		carry_discard(carried);
		return;
	}
	close_socket(carried);
	carried->over = true;
}

/* The server is done with it, but as with close(2) the peer still gets what was written: from now on between the two of us. */
static void leave(struct carried *carried)
{
	tell_closed(carried, 0);
	carried->ended(carried);
	if (leaving_count == LEAVING_MAX)
		carry_discard(leaving[0]);
	leaving[leaving_count++] = carried;
	carried->leaving = true;
	link_ready(&carried->source);
}

/*
 * What the peer still says: one that cannot say it might not come to read, and closing a socket with unread bytes resets it. True when there may
 * be more.
 */
static bool drop_data(struct carried *carried)
{
	static uint8_t unwanted[PORTION];
	ssize_t got;

	if (!carried->readable)
		return false;
	got = recv(carried->watch.fd, unwanted, sizeof unwanted, 0);
	if (got > 0 || (got < 0 && errno == EINTR))
		return true;
	carried->readable = false;
	return false;
}

static void pour_out(struct carried *carried)
{
	if (pour_on(&carried->pour, carried->watch.fd) == POUR_BROKEN) {
		finish(carried, errno);
		return;
	}
	if (carried->leaving && pour_waiting(&carried->pour) == 0) {
		for (int i = 0; i < DROPPED_LAST && drop_data(carried); i++)
			;
		finish(carried, 0);
		return;
	}
	if (carried->out_end && !carried->out_shut && pour_waiting(&carried->pour) == 0) {
		shutdown(carried->watch.fd, SHUT_WR);
		carried->out_shut = true;
	}
	link_ready(&carried->source);
}

static void on_ready(struct watch *watch, uint32_t events)
{
	struct carried *carried = owner_of(watch, struct carried, watch);

	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		carried->readable = true;
		link_ready(&carried->source);
	}
	if (events & EPOLLOUT)
		pour_out(carried);
}

void carry_open(struct carried *carried)
{
	carried->watch.ready = on_ready;
	carried->open = true;
	carried->readable = true;
	pour_out(carried);
}

/* Reads straight into the frame; true when there may be more. Ends the connection itself when that is how it went. */
static bool pump_data(struct carried *carried)
{
	uint64_t credit = CREDIT - (carried->sent - carried->consumed);
	size_t size = credit < PORTION ? (size_t)credit : PORTION;
	uint8_t *to;
	ssize_t got;

	if (!carried->readable || carried->in_end || size == 0)
		return false;
	to = link_frame(DATA_OUT, carried->id, size);
	if (!to)
		return false;
	got = recv(carried->watch.fd, to, size, 0);
	link_trim(got > 0 ? size - (size_t)got : size, got > 0 ? (size_t)got : 0);
	if (got > 0) {
		carried->sent += (size_t)got;
		return true;
	}
	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0 && errno == EAGAIN) {
		carried->readable = false;
		return false;
	}
	if (got < 0) {
		finish(carried, errno);
		return false;
	}
	carried->in_end = true;
	link_frame(DATA_OUT_END, carried->id, 0);
	return false;
}

static bool pump(struct source *source)
{
	struct carried *carried = owner_of(source, struct carried, source);
	bool more;

	if (!carried->open)
		return false;
	if (carried->leaving)
		return drop_data(carried);
	if (carried->first_frame != 0) {
		if (!link_frame(carried->first_frame, carried->id, 0))
			return false;
		carried->first_frame = 0;
	}
	if (carried->pour.taken - carried->taken_sent >= TAKEN_STEP) {
		uint8_t *to = link_frame(DATA_TAKEN, carried->id, 8);

		if (!to)
			return false;
		put_u64(to, carried->pour.taken);
		carried->taken_sent = carried->pour.taken;
	}
	more = pump_data(carried);
	if (carried->open && carried->in_end && carried->out_shut)
		finish(carried, 0);
	return more;
}

static bool take_data(struct carried *carried, const uint8_t *bytes, size_t size)
{
	if (carried->out_end)
		return false;
	switch (pour_in(&carried->pour, carried->open ? carried->watch.fd : -1, bytes, size, CARRY_CREDIT)) {
	case POUR_OVER_CREDIT:
		return false;
	case POUR_BROKEN:
		finish(carried, errno);
		return true;
	case POUR_OK:
		link_ready(&carried->source);
		return true;
	}
	return true;
}

static void take_end(struct carried *carried)
{
	carried->out_end = true;
	if (carried->open)
		pour_out(carried);
}

static void take_consumed(struct carried *carried, uint64_t offset)
{
	if (offset > carried->sent)
		offset = carried->sent;
	if (offset > carried->consumed)
		carried->consumed = offset;
	link_ready(&carried->source);
}

bool carry_message(struct carried *carried, const struct message *message)
{
	if (carried->leaving)
		return true;
	if (message->type == CLOSE) {
		carried->lingers = false;
		if (carried->over)
			carry_discard(carried);
		else if (carried->open && pour_waiting(&carried->pour) > 0)
			leave(carried);
		else
			finish(carried, 0);
		return true;
	}
	if (carried->over)
		return true;
	switch (message->type) {
	case DATA:
		return take_data(carried, message->data.bytes, message->data.size);
	case DATA_END:
		take_end(carried);
		return true;
	case DATA_CONSUMED:
		take_consumed(carried, message->consumed.offset);
		return true;
	default:
		return false;
	}
}

void carry_discard_all(void)
{
	for (size_t i = 0; i < CHAINS; i++)
		while (table[i])
			carry_discard(table[i]);
}
