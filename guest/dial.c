#include "dial.h"

#include "frame.h"
#include "link.h"
#include "loop.h"
#include "pour.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* On the loopback only a listener with a full backlog lets a connection wait. */
enum { CONNECT_MS = 10000 };

/*
 * The socket is watched edge-triggered: with the server out of credit there may be bytes, or a hang-up, that we do not want to hear of again and
 * again. `readable` and `writable` say what the edges said last.
 */
struct dialled {
	struct grave grave;
	struct source source;
	struct watch watch;
	uint32_t id;
	uint16_t port;
	bool connected;
	bool second;          /* ::1, after 127.0.0.1 has refused */
	int first_error;
	uint64_t deadline;    /* while not connected */
	bool readable;
	bool in_end;          /* the peer has ended, and DATA_END is sent */
	uint64_t sent;
	uint64_t consumed;
	struct pour pour;     /* towards the peer */
	uint64_t taken_sent;
	bool out_end;         /* DATA_END has come */
	bool out_shut;        /* … and is passed on */
};

static struct dialled *table[DIALS_MAX];
static size_t table_count;

static void on_ready(struct watch *watch, uint32_t events);
static bool pump(struct source *source);

struct dialled *dial_find(uint32_t id)
{
	for (size_t i = 0; i < table_count; i++)
		if (table[i]->id == id)
			return table[i];
	return NULL;
}

static void discard(struct dialled *dialled)
{
	for (size_t i = 0; i < table_count; i++)
		if (table[i] == dialled) {
			table[i] = table[--table_count];
			break;
		}
	link_forget(&dialled->source);
	loop_close(&dialled->watch);
	pour_empty(&dialled->pour);
	loop_free(&dialled->grave);
}

static void finish(struct dialled *dialled, int error)
{
	uint8_t *to = link_frame(CLOSED, dialled->id, 4);

	if (to)
		put_u32(to, (uint32_t)error);
	discard(dialled);
}

/* Begins a connection to one of the two loopback addresses; 0, EINPROGRESS, or why not. */
static int begin(struct dialled *dialled)
{
	struct sockaddr_in six_less = { .sin_family = AF_INET, .sin_port = htons(dialled->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(dialled->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int on = 1, result;

	dialled->watch.fd = socket(dialled->second ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (dialled->watch.fd < 0)
		return errno;
	setsockopt(dialled->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (dialled->second)
		result = connect(dialled->watch.fd, (struct sockaddr *)&six, sizeof six);
	else
		result = connect(dialled->watch.fd, (struct sockaddr *)&six_less, sizeof six_less);
	result = result < 0 ? errno : 0;
	if ((result == 0 || result == EINPROGRESS) && !loop_watch(&dialled->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET))
		result = errno;
	return result;
}

static void pour_out(struct dialled *dialled)
{
	if (pour_on(&dialled->pour, dialled->watch.fd) == POUR_BROKEN) {
		finish(dialled, errno);
		return;
	}
	if (dialled->out_end && !dialled->out_shut && pour_waiting(&dialled->pour) == 0) {
		shutdown(dialled->watch.fd, SHUT_WR);
		dialled->out_shut = true;
	}
	link_ready(&dialled->source);
}

/* Goes on from what an attempt has come to: connected, waiting, the other address, or refused. */
static void proceed(struct dialled *dialled, int error)
{
	while (error != 0 && error != EINPROGRESS) {
		loop_close(&dialled->watch);
		if (dialled->second) {
			link_refuse(dialled->id, STAGE_DIAL, dialled->first_error);
			discard(dialled);
			return;
		}
		dialled->first_error = error;
		dialled->second = true;
		error = begin(dialled);
	}
	if (error == EINPROGRESS)
		return;
	dialled->connected = true;
	dialled->readable = true;
	link_frame(DIALED, dialled->id, 0);
	pour_out(dialled);
}

void dial_start(uint32_t id, uint16_t port)
{
	struct dialled *dialled = table_count < DIALS_MAX ? calloc(1, sizeof *dialled) : NULL;

	if (!dialled) {
		link_refuse(id, STAGE_TABLE, table_count < DIALS_MAX ? ENOMEM : EAGAIN);
		return;
	}
	dialled->source.pump = pump;
	dialled->watch = (struct watch){ .fd = -1, .ready = on_ready };
	dialled->id = id;
	dialled->port = port;
	dialled->deadline = loop_now() + CONNECT_MS;
	table[table_count++] = dialled;
	proceed(dialled, begin(dialled));
}

static void on_ready(struct watch *watch, uint32_t events)
{
	struct dialled *dialled = owner_of(watch, struct dialled, watch);

	if (!dialled->connected) {
		int error = 0;
		socklen_t size = sizeof error;

		if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
			return;
		if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
			error = errno;
		proceed(dialled, error);
		return;
	}
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		dialled->readable = true;
		link_ready(&dialled->source);
	}
	if (events & EPOLLOUT)
		pour_out(dialled);
}

/* Reads straight into the frame; true when there may be more. Ends the connection itself when that is how it went. */
static bool pump_data(struct dialled *dialled)
{
	uint64_t credit = CREDIT - (dialled->sent - dialled->consumed);
	size_t size = credit < PORTION ? (size_t)credit : PORTION;
	uint8_t *to;
	ssize_t got;

	if (!dialled->readable || dialled->in_end || size == 0)
		return false;
	to = link_frame(DATA_OUT, dialled->id, size);
	if (!to)
		return false;
	got = recv(dialled->watch.fd, to, size, 0);
	link_trim(got > 0 ? size - (size_t)got : size, got > 0 ? (size_t)got : 0);
	if (got > 0) {
		dialled->sent += (size_t)got;
		return true;
	}
	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0 && errno == EAGAIN) {
		dialled->readable = false;
		return false;
	}
	if (got < 0) {
		finish(dialled, errno);
		return false;
	}
	dialled->in_end = true;
	link_frame(DATA_OUT_END, dialled->id, 0);
	return false;
}

static bool pump(struct source *source)
{
	struct dialled *dialled = owner_of(source, struct dialled, source);
	bool more;

	if (!dialled->connected)
		return false;
	if (dialled->pour.taken > dialled->taken_sent) {
		uint8_t *to = link_frame(DATA_TAKEN, dialled->id, 8);

		if (!to)
			return false;
		put_u64(to, dialled->pour.taken);
		dialled->taken_sent = dialled->pour.taken;
	}
	more = pump_data(dialled);
	if (dialled->watch.fd >= 0 && dialled->in_end && dialled->out_shut)
		finish(dialled, 0);
	return more;
}

bool dial_data(struct dialled *dialled, const uint8_t *bytes, size_t size)
{
	if (dialled->out_end)
		return false;
	switch (pour_in(&dialled->pour, dialled->connected ? dialled->watch.fd : -1, bytes, size, CREDIT)) {
	case POUR_OVER_CREDIT:
		return false;
	case POUR_BROKEN:
		finish(dialled, errno);
		return true;
	case POUR_OK:
		link_ready(&dialled->source);
		return true;
	}
	return true;
}

void dial_data_end(struct dialled *dialled)
{
	dialled->out_end = true;
	if (dialled->connected)
		pour_out(dialled);
}

void dial_consumed(struct dialled *dialled, uint64_t offset)
{
	if (offset > dialled->sent)
		offset = dialled->sent;
	if (offset > dialled->consumed)
		dialled->consumed = offset;
	link_ready(&dialled->source);
}

void dial_close(struct dialled *dialled)
{
	finish(dialled, 0);
}

void dial_close_all(void)
{
	while (table_count > 0)
		discard(table[table_count - 1]);
}

uint64_t dial_deadline(void)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < table_count; i++)
		if (!table[i]->connected && table[i]->deadline < first)
			first = table[i]->deadline;
	return first;
}

void dial_expire(void)
{
	for (size_t i = table_count; i-- > 0;)
		if (!table[i]->connected && table[i]->deadline <= loop_now()) {
			table[i]->second = true;
			if (table[i]->first_error == 0)
				table[i]->first_error = ETIMEDOUT;
			proceed(table[i], ETIMEDOUT);
		}
}
