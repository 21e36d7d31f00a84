#include "link.h"

#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	RETRY_FIRST_MS = 20,
	RETRY_LAST_MS = 500,
	WELCOME_MS = 10000,
	IN_USUAL = 64 << 10,
	OUT_USUAL = 64 << 10,
	SOCKET_BUFFER = 512 << 10,  /* more than usual: the fewer times a sender finds it full, the fewer times it has to be woken */
	OUT_ENOUGH = 64 << 10,      /* sources are not asked while this much waits */
	ANSWERS_MAX = 1 << 20,
	WORK_A_TURN = 64,           /* frames handled before others have their turn */
	WORK_OF_START = 8,          /* … of which a START, with its fork, is worth several */
};

enum state { APART, GREETED, WELCOMED };

static struct {
	enum state state;
	struct watch watch;
	struct sockaddr_un address;
	const char *token;
	const char *boot;
	const struct link_listener *listener;
	uint64_t deadline;          /* APART: when to dial; GREETED: when to give up waiting */
	uint64_t retry_ms;

	uint8_t *in;
	size_t in_at, in_size, in_capacity;
	bool in_more;

	uint8_t *out;
	size_t out_at, out_size, out_capacity;
	bool broken;                /* to be closed when whoever is using it has returned */

	struct source *first, *last;
} link_;

static void on_ready(struct watch *watch, uint32_t events);

static void drop_buffers(void)
{
	free(link_.in);
	free(link_.out);
	link_.in = link_.out = NULL;
	link_.in_at = link_.in_size = link_.in_capacity = 0;
	link_.out_at = link_.out_size = link_.out_capacity = 0;
	link_.in_more = false;
}

static void lose(void)
{
	bool was_welcomed = link_.state == WELCOMED;

	loop_close(&link_.watch);
	link_.state = APART;
	link_.broken = false;
	drop_buffers();
	while (link_.first) {
		struct source *next = link_.first->next;

		link_.first->queued = false;
		link_.first = next;
	}
	link_.last = NULL;
	if (was_welcomed) {
		link_.retry_ms = RETRY_FIRST_MS;
		link_.listener->lost();
	}
	link_.deadline = loop_now() + link_.retry_ms;
	link_.retry_ms = link_.retry_ms * 2 > RETRY_LAST_MS ? RETRY_LAST_MS : link_.retry_ms * 2;
}

void link_open(const char *path, const char *token, const char *boot, const struct link_listener *listener)
{
	link_.watch = (struct watch){ .fd = -1, .ready = on_ready };
	link_.address.sun_family = AF_UNIX;
	strncpy(link_.address.sun_path, path, sizeof link_.address.sun_path - 1);
	link_.token = token;
	link_.boot = boot;
	link_.listener = listener;
	link_.retry_ms = RETRY_FIRST_MS;
	link_.deadline = loop_now();
}

/* Makes room for `size` more bytes at the end of the outgoing buffer. */
static bool reserve(size_t size)
{
	size_t waiting = link_.out_size - link_.out_at;
	size_t capacity = link_.out_capacity ? link_.out_capacity : OUT_USUAL;
	uint8_t *grown;

	if (size <= link_.out_capacity - link_.out_size)
		return true;
	if (link_.out_at > 0) {
		memmove(link_.out, link_.out + link_.out_at, waiting);
		link_.out_at = 0;
		link_.out_size = waiting;
		if (size <= link_.out_capacity - waiting)
			return true;
	}
	while (capacity < waiting + size)
		capacity *= 2;
	grown = realloc(link_.out, capacity);
	if (!grown)
		return false;
	link_.out = grown;
	link_.out_capacity = capacity;
	return true;
}

static uint8_t *append(uint8_t type, uint32_t id, size_t size)
{
	size_t waiting = link_.out_size - link_.out_at;
	uint8_t *frame;

	if (waiting + size > ANSWERS_MAX || !reserve(FRAME_HEADER + size)) {
		link_.broken = true;
		return NULL;
	}
	frame = link_.out + link_.out_size;
	link_.out_size += FRAME_HEADER + size;
	return put_header(frame, type, id, size);
}

uint8_t *link_frame(uint8_t type, uint32_t id, size_t size)
{
	if (link_.state != WELCOMED || link_.broken)
		return NULL;
	return append(type, id, size);
}

void link_trim(size_t by, size_t left)
{
	uint8_t *frame;

	if (left == 0) {
		link_.out_size -= FRAME_HEADER + by;
		return;
	}
	link_.out_size -= by;
	frame = link_.out + link_.out_size - left - FRAME_HEADER;
	put_u32(frame, (uint32_t)(left + 5));
}

void link_refuse(uint32_t id, enum refused_stage stage, int error)
{
	uint8_t *to = link_frame(REFUSED, id, 5);

	if (to)
		put_u32(put_u8(to, (uint8_t)stage), (uint32_t)error);
}

void link_ready(struct source *source)
{
	if (source->queued || link_.state != WELCOMED)
		return;
	source->queued = true;
	source->next = NULL;
	if (link_.last)
		link_.last->next = source;
	else
		link_.first = source;
	link_.last = source;
}

static struct source *next_source(void)
{
	struct source *source = link_.first;

	if (source) {
		link_.first = source->next;
		if (!link_.first)
			link_.last = NULL;
		source->queued = false;
	}
	return source;
}

void link_forget(struct source *source)
{
	struct source *before = NULL;

	if (!source->queued)
		return;
	for (struct source *at = link_.first; at != source; at = at->next)
		before = at;
	if (before)
		before->next = source->next;
	else
		link_.first = source->next;
	if (link_.last == source)
		link_.last = before;
	source->queued = false;
}

/* Non-blocking connect(2) of a Unix stream socket is done or has failed when it returns; EAGAIN is a full backlog. */
static void dial(void)
{
	size_t token_size = strlen(link_.token), boot_size = strlen(link_.boot);
	int buffer = SOCKET_BUFFER;
	uint8_t *to;

	link_.watch.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (link_.watch.fd < 0 || connect(link_.watch.fd, (struct sockaddr *)&link_.address, sizeof link_.address) < 0 ||
	    !loop_watch(&link_.watch, EPOLLIN)) {
		lose();
		return;
	}
	setsockopt(link_.watch.fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
	link_.state = GREETED;
	link_.deadline = loop_now() + WELCOME_MS;
	to = append(HELLO, 0, 2 + 4 + token_size + 4 + boot_size + 4);
	if (!to)
		return;
	to = put_u16(to, PROTOCOL_VERSION);
	to = put_string(to, link_.token, token_size);
	to = put_string(to, link_.boot, boot_size);
	put_u32(to, link_.listener->next_id());
}

uint64_t link_deadline(void)
{
	return link_.state == WELCOMED ? UINT64_MAX : link_.deadline;
}

static bool handle(struct message *message)
{
	if (link_.state == WELCOMED)
		return message->type != WELCOME && link_.listener->message(message);
	if (message->type != WELCOME || message->version != PROTOCOL_VERSION)
		return false;
	link_.state = WELCOMED;
	return true;
}

/* Room for a whole frame of `size` bytes from in_at on. A big START grows the buffer; drop_large gives that back. */
static bool in_room(size_t size)
{
	size_t waiting = link_.in_size - link_.in_at;
	size_t capacity = size > IN_USUAL ? size : IN_USUAL;
	uint8_t *grown;

	if (link_.in_at > 0) {
		memmove(link_.in, link_.in + link_.in_at, waiting);
		link_.in_at = 0;
		link_.in_size = waiting;
	}
	if (capacity <= link_.in_capacity)
		return true;
	grown = realloc(link_.in, capacity);
	if (!grown)
		return false;
	link_.in = grown;
	link_.in_capacity = capacity;
	return true;
}

static void drop_large(void)
{
	if (link_.in_at == link_.in_size) {
		link_.in_at = link_.in_size = 0;
		if (link_.in_capacity > IN_USUAL) {
			free(link_.in);
			link_.in = NULL;
			link_.in_capacity = 0;
		}
	}
}

static void take_frames(void)
{
	int work = 0;

	link_.in_more = false;
	while (!link_.broken && link_.in_size > link_.in_at) {
		struct message message;
		size_t size;
		bool rightful;

		if (work >= WORK_A_TURN) {
			link_.in_more = true;
			loop_again();
			return;
		}
		switch (frame_decode(link_.in + link_.in_at, link_.in_size - link_.in_at, &message, &size)) {
		case FRAME_PARTIAL:
			if (!in_room(size))
				link_.broken = true;
			return;
		case FRAME_BAD:
		case FRAME_NO_MEMORY:
			link_.broken = true;
			return;
		case FRAME_WHOLE:
			break;
		}
		link_.in_at += size;
		work += message.type == START ? WORK_OF_START : 1;
		rightful = handle(&message);
		message_free(&message);
		if (!rightful)
			link_.broken = true;
	}
	drop_large();
}

static void receive(void)
{
	ssize_t size;

	if (link_.in_size == link_.in_capacity && !in_room(0)) {
		link_.broken = true;
		return;
	}
	size = recv(link_.watch.fd, link_.in + link_.in_size, link_.in_capacity - link_.in_size, 0);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0) {
		link_.broken = true;
		return;
	}
	link_.in_size += (size_t)size;
	take_frames();
}

static void on_ready(struct watch *watch, uint32_t events)
{
	(void)watch;
	/* Frames of the last turn come first; while they last, the socket's buffer holds the server back. */
	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !link_.in_more)
		receive();
}

void link_turn(void)
{
	if (link_.state == WELCOMED && link_.in_more && !link_.broken)
		take_frames();
	if (link_.broken || (link_.state == GREETED && link_.deadline <= loop_now()))
		lose();
	if (link_.state == APART && link_.deadline <= loop_now())
		dial();
}

static void send_out(void)
{
	ssize_t size = send(link_.watch.fd, link_.out + link_.out_at, link_.out_size - link_.out_at, MSG_NOSIGNAL);

	if (size > 0)
		link_.out_at += (size_t)size;
	else if (size < 0 && errno != EAGAIN && errno != EINTR)
		link_.broken = true;
	if (link_.out_at < link_.out_size)
		return;
	link_.out_at = link_.out_size = 0;
	if (link_.out_capacity > OUT_USUAL && !link_.first) {
		free(link_.out);
		link_.out = NULL;
		link_.out_capacity = 0;
	}
}

void link_flush(void)
{
	bool full = false;

	/* Several rounds, since the socket takes about two portions at a time; not for ever, since a fast reader could hold us here. */
	for (int round = 0; round < 4 && link_.state != APART && !link_.broken && !full; round++) {
		while (link_.out_size - link_.out_at < OUT_ENOUGH && !link_.broken) {
			struct source *source = next_source();

			if (!source)
				break;
			if (source->pump(source))
				link_ready(source);
		}
		if (link_.broken || link_.out_size == link_.out_at)
			break;
		send_out();
		full = link_.out_size > link_.out_at;
	}
	if (link_.broken) {
		lose();
		return;
	}
	if (link_.state == APART)
		return;
	if (link_.first && !full)
		loop_again();
	loop_watch(&link_.watch, full ? EPOLLIN | EPOLLOUT : EPOLLIN);
}
