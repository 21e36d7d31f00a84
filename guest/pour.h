#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Bytes on their way into a descriptor that takes them when it can: a process's stdin, a carried connection. How many may wait is
 * the protocol's rule for the server. Memory is there only while something waits.
 */
struct pour {
	uint8_t *bytes;
	size_t at;   /* first byte that waits */
	size_t size; /* end of those that wait */
	size_t capacity;
	uint64_t received; /* of the whole stream */
	uint64_t taken;
};

static inline size_t pour_waiting(const struct pour *pour)
{
	return pour->size - pour->at;
}

enum pour_result { POUR_OK, POUR_OVER_CREDIT, POUR_BROKEN };

/*
 * Takes bytes from the server, writing through to `fd` (unless -1: not open yet) what it accepts at once. At most `limit` may wait.
 * POUR_BROKEN leaves errno.
 */
enum pour_result pour_in(struct pour *pour, int fd, const uint8_t *bytes, size_t size, size_t limit);

/* Writes what waits, as far as `fd` takes it. */
enum pour_result pour_on(struct pour *pour, int fd);

void pour_empty(struct pour *pour);
