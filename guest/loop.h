#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

/* One descriptor in the event loop. It is embedded in what owns the descriptor; `ready` finds the owner from it. */
struct watch {
	int fd;
	uint32_t events; /* 0 while epoll does not have it */
	void (*ready)(struct watch *watch, uint32_t events);
};

/* The owner of an embedded member. */
#define owner_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

bool loop_open(void);

/* Sets what is waited for; 0 takes the descriptor out altogether, which alone keeps a level-triggered EPOLLHUP from spinning. */
bool loop_watch(struct watch *watch, uint32_t events);

/* Takes the descriptor out and closes it. */
void loop_close(struct watch *watch);

/*
 * Stands first in every block that has a watch in it. loop_free(&block->grave) frees the block when the turn is over: events of this turn may
 * still point into it.
 */
struct grave {
	struct grave *next;
};

void loop_free(struct grave *grave);

/* The next wait returns at once: somebody stopped in the middle of his work to let others have their turn. */
void loop_again(void);

/* One turn: waits until `deadline` (ms of loop_now, UINT64_MAX for none), then calls everything that is ready. */
void loop_wait(uint64_t deadline);

/* Ends the turn. */
void loop_bury(void);

/* Milliseconds of CLOCK_MONOTONIC, read once a turn. */
uint64_t loop_now(void);
