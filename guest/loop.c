#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_A_TURN = 64 };

static int poll_fd = -1;
static bool again;
static uint64_t now;
static struct grave *graveyard;

static void read_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	now = (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

bool loop_open(void)
{
	read_clock();
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	return poll_fd >= 0;
}

bool loop_watch(struct watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };
	int operation;

	if (watch->fd < 0 || watch->events == events)
		return true;
	if (events == 0)
		operation = EPOLL_CTL_DEL;
	else
		operation = watch->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	if (epoll_ctl(poll_fd, operation, watch->fd, &event) < 0)
		return false;
	watch->events = events;
	return true;
}

/*
 * close(2) alone takes a descriptor out of epoll only when nobody else has its open file description (epoll(7), Q6). A child between vfork
 * and the closing of its close-on-exec descriptors does have it, so the removal is always explicit.
 */
void loop_close(struct watch *watch)
{
	if (watch->fd < 0)
		return;
	loop_watch(watch, 0);
	close(watch->fd);
	watch->fd = -1;
}

void loop_free(struct grave *grave)
{
	grave->next = graveyard;
	graveyard = grave;
}

void loop_bury(void)
{
	while (graveyard) {
		struct grave *next = graveyard->next;

		free(graveyard);
		graveyard = next;
	}
}

void loop_again(void)
{
	again = true;
}

uint64_t loop_now(void)
{
	return now;
}

void loop_wait(uint64_t deadline)
{
	struct epoll_event events[EVENTS_A_TURN];
	int timeout = -1;
	int count;

	if (again)
		timeout = 0;
	else if (deadline <= now)
		timeout = 0;
	else if (deadline != UINT64_MAX)
		timeout = deadline - now > INT_MAX ? INT_MAX : (int)(deadline - now);
	again = false;

	count = epoll_wait(poll_fd, events, EVENTS_A_TURN, timeout);
	read_clock();
	for (int i = 0; i < count; i++) {
		struct watch *watch = events[i].data.ptr;

		/* Closed, or taken out, by an event before this one in the same turn. */
		if (watch->fd >= 0 && watch->events != 0)
			watch->ready(watch, events[i].events);
	}
}
