#include "listen.h"

#include "carry.h"
#include "frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BACKLOG = 512,
	ACCEPTED_A_TURN = 16,
	SHORTAGE_MS = 100, /* without descriptors or memory; nothing tells when there are some again */
};

static void on_waiting(struct watch *watch, uint32_t events);

/* 127.0.0.1 and, where there is IPv6, ::1. */
static struct watch listeners[2] = { { .fd = -1, .ready = on_waiting }, { .fd = -1, .ready = on_waiting } };
static uint16_t current_port; /* 0: none */
static bool wanted;           /* the server is there, and has said LISTEN */
static uint64_t shortage_until = UINT64_MAX;
static struct carried *table[ACCEPTED_MAX];
static size_t table_count;
static uint32_t next_id = ACCEPTED_FIRST;

static void watch_listeners(void)
{
	bool able = wanted && table_count < ACCEPTED_MAX && shortage_until == UINT64_MAX;

	for (size_t i = 0; i < 2; i++)
		loop_watch(&listeners[i], able ? EPOLLIN : 0);
}

static void ended(struct carried *carried)
{
	for (size_t i = 0; i < table_count; i++)
		if (table[i] == carried) {
			table[i] = table[--table_count];
			break;
		}
	watch_listeners();
}

/* The next id that no connection has; 0xffffffff is none. */
static uint32_t take_id(void)
{
	uint32_t id;

	do {
		id = next_id;
		next_id = next_id + 1 == UINT32_MAX ? ACCEPTED_FIRST : next_id + 1;
	} while (carry_find(id));
	return id;
}

static void adopt(int fd)
{
	struct carried *carried = calloc(1, sizeof *carried);
	int on = 1;

	if (!carried) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	carried->watch.fd = fd;
	carried->id = take_id();
	carried->ended = ended;
	carried->first_frame = ACCEPTED;
	carried->lingers = true;
	table[table_count++] = carried;
	carry_add(carried);
	if (loop_watch(&carried->watch, CARRY_EVENTS))
		carry_open(carried);
	else
		carry_discard(carried);
}

static void on_waiting(struct watch *watch, uint32_t events)
{
	(void)events;
	for (int i = 0; i < ACCEPTED_A_TURN && table_count < ACCEPTED_MAX; i++) {
		int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			adopt(fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			shortage_until = loop_now() + SHORTAGE_MS;
		/* All others are of a connection that did not come about (accept(2)), or say that there is none. */
		break;
	}
	watch_listeners();
}

/* A socket that listens; -1 and errno. */
static int open_listener(int family, uint16_t port)
{
	struct sockaddr_in six_less = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, result, error;

	if (fd < 0)
		return -1;
	/* Connections of before that are still in TIME_WAIT do not hold the port. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (family == AF_INET6)
		result = bind(fd, (struct sockaddr *)&six, sizeof six);
	else
		result = bind(fd, (struct sockaddr *)&six_less, sizeof six_less);
	if (result == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static void close_listeners(void)
{
	for (size_t i = 0; i < 2; i++)
		loop_close(&listeners[i]);
	current_port = 0;
}

/* 0, or why the port cannot be had. */
static int open_listeners(uint16_t port)
{
	listeners[0].fd = open_listener(AF_INET, port);
	if (listeners[0].fd < 0)
		return errno;
	listeners[1].fd = open_listener(AF_INET6, port);
	/* Without IPv6 there is no ::1 that a program could try; one that is somebody else's would lead it there. */
	if (listeners[1].fd < 0 && errno == EADDRINUSE) {
		close_listeners();
		return EADDRINUSE;
	}
	current_port = port;
	return 0;
}

void listen_start(uint16_t port)
{
	int error = 0;
	uint8_t *to;

	if (port != current_port) {
		close_listeners();
		while (table_count > 0)
			carry_discard(table[table_count - 1]);
		if (port != 0)
			error = open_listeners(port);
	}
	wanted = current_port != 0;
	watch_listeners();
	to = link_frame(LISTENING, 0, 6);
	if (to)
		put_u32(put_u16(to, port), (uint32_t)error);
}

void listen_rest(void)
{
	wanted = false;
	watch_listeners();
}

uint64_t listen_deadline(void)
{
	return shortage_until;
}

void listen_expire(void)
{
	if (shortage_until <= loop_now()) {
		shortage_until = UINT64_MAX;
		watch_listeners();
	}
}
