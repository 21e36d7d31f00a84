#include "dial.h"

#include "carry.h"
#include "frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

/* On the loopback only a listener with a full backlog lets a connection wait. */
enum { CONNECT_MS = 10000 };

struct dialled {
	struct carried carried;
	uint16_t port;
	bool second;          /* ::1, after 127.0.0.1 has refused */
	int first_error;
	uint64_t deadline;    /* while not connected */
};

static struct dialled *table[DIALS_MAX];
static size_t table_count;

static void on_connected(struct watch *watch, uint32_t events);

static void ended(struct carried *carried)
{
	for (size_t i = 0; i < table_count; i++)
		if (&table[i]->carried == carried) {
			table[i] = table[--table_count];
			return;
		}
}

/* Begins a connection to one of the two loopback addresses; 0, EINPROGRESS, or why not. */
static int begin(struct dialled *dialled)
{
	struct sockaddr_in six_less = { .sin_family = AF_INET, .sin_port = htons(dialled->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(dialled->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct watch *watch = &dialled->carried.watch;
	int on = 1, result;

	watch->fd = socket(dialled->second ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (watch->fd < 0)
		return errno;
	setsockopt(watch->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (dialled->second)
		result = connect(watch->fd, (struct sockaddr *)&six, sizeof six);
	else
		result = connect(watch->fd, (struct sockaddr *)&six_less, sizeof six_less);
	result = result < 0 ? errno : 0;
	if ((result == 0 || result == EINPROGRESS) && !loop_watch(watch, CARRY_EVENTS))
		result = errno;
	return result;
}

/* Goes on from what an attempt has come to: connected, waiting, the other address, or refused. */
static void proceed(struct dialled *dialled, int error)
{
	while (error != 0 && error != EINPROGRESS) {
		loop_close(&dialled->carried.watch);
		if (dialled->second) {
			link_refuse(dialled->carried.id, STAGE_DIAL, dialled->first_error);
			carry_discard(&dialled->carried);
			return;
		}
		dialled->first_error = error;
		dialled->second = true;
		error = begin(dialled);
	}
	if (error == EINPROGRESS)
		return;
	link_frame(DIALED, dialled->carried.id, 0);
	carry_open(&dialled->carried);
}

void dial_start(uint32_t id, uint16_t port)
{
	struct dialled *dialled = table_count < DIALS_MAX ? calloc(1, sizeof *dialled) : NULL;

	if (!dialled) {
		link_refuse(id, STAGE_TABLE, table_count < DIALS_MAX ? ENOMEM : EAGAIN);
		return;
	}
	dialled->carried.watch = (struct watch){ .fd = -1, .ready = on_connected };
	dialled->carried.id = id;
	dialled->carried.ended = ended;
	dialled->port = port;
	dialled->deadline = loop_now() + CONNECT_MS;
	table[table_count++] = dialled;
	carry_add(&dialled->carried);
	proceed(dialled, begin(dialled));
}

static void on_connected(struct watch *watch, uint32_t events)
{
	struct dialled *dialled = owner_of(watch, struct dialled, carried.watch);
	int error = 0;
	socklen_t size = sizeof error;

	if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	proceed(dialled, error);
}

uint64_t dial_deadline(void)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < table_count; i++)
		if (!table[i]->carried.open && table[i]->deadline < first)
			first = table[i]->deadline;
	return first;
}

void dial_expire(void)
{
	for (size_t i = table_count; i-- > 0;)
		if (!table[i]->carried.open && table[i]->deadline <= loop_now()) {
			table[i]->second = true;
			if (table[i]->first_error == 0)
				table[i]->first_error = ETIMEDOUT;
			proceed(table[i], ETIMEDOUT);
		}
}
