#include "serve.h"

#include "carry.h"
#include "dial.h"
#include "listen.h"
#include "process.h"

#include <errno.h>
#include <string.h>

/*
 * Ids are taken once. A server that gives them out in one thread and sends them in another lets them overtake each other a little, so the guest
 * remembers for the last ones below the lowest free one whether they were taken or passed over; older ones count as taken.
 */
enum { REMEMBERED = 1024 };

static uint32_t lowest_free = 1;
static bool passed_over[REMEMBERED]; /* by id % REMEMBERED */

static uint32_t next_id(void)
{
	return lowest_free;
}

/* Whether the server may take this id now. A refused START uses its id up like any other. */
static bool take_id(uint32_t id)
{
	bool free = id >= lowest_free && id < ACCEPTED_FIRST;

	if (free) {
		if (id - lowest_free >= REMEMBERED)
			lowest_free = id - REMEMBERED;
		while (lowest_free < id)
			passed_over[lowest_free++ % REMEMBERED] = true;
		lowest_free = id + 1;
	} else if (id < lowest_free && lowest_free - id <= REMEMBERED) {
		free = passed_over[id % REMEMBERED];
	}
	if (free)
		passed_over[id % REMEMBERED] = false;
	else
		link_refuse(id, STAGE_ID_USED, EEXIST);
	return free;
}

static bool for_process(struct process *process, struct message *message)
{
	switch (message->type) {
	case STDIN:
		return process_stdin(process, message->data.bytes, message->data.size);
	case STDIN_CLOSE:
		process_stdin_close(process);
		return true;
	case SIGNAL:
		process_signal(process, message->signal.number, message->signal.scope == 1);
		return true;
	case RESIZE:
		process_resize(process, message->resize.rows, message->resize.columns);
		return true;
	case SUBSCRIBE:
		process_subscribe(process, message->subscribe.from, message->subscribe.window);
		return true;
	case CONSUMED:
		process_consumed(process, message->consumed.stream, message->consumed.offset);
		return true;
	case RELEASE:
		process_release(process);
		return true;
	default:
		return false;
	}
}

static bool pong(const struct message *message)
{
	uint8_t *to = link_frame(PONG, 0, message->data.size);

	if (to)
		memcpy(to, message->data.bytes, message->data.size);
	return true;
}

static bool handle(struct message *message)
{
	struct process *process;
	struct carried *carried;

	switch (message->type) {
	case START:
		if (take_id(message->id))
			process_start(message->id, &message->start);
		return true;
	case DIAL:
		if (take_id(message->id))
			dial_start(message->id, message->port);
		return true;
	case LISTEN:
		listen_start(message->port);
		return true;
	case LIST:
		process_list();
		return true;
	case LIMITS:
		process_limits();
		return true;
	case PING:
		return pong(message);
	case DATA:
	case DATA_END:
	case CLOSE:
	case DATA_CONSUMED:
		carried = carry_find(message->id);
		return carried ? carry_message(carried, message) : true;
	default:
		process = process_find(message->id);
		if (!process && message->type == SUBSCRIBE)
			link_refuse(message->id, STAGE_NO_SUCH_ID, ESRCH);
		return process ? for_process(process, message) : true;
	}
}

static void lost(void)
{
	process_unsubscribe_all();
	listen_rest();
	carry_discard_all();
}

const struct link_listener serve = { .next_id = next_id, .message = handle, .lost = lost };
