#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The newest bytes of a stream, addressed by their offset in the whole stream: byte `o` stands at `o % capacity` while `oldest <= o < end`.
 * The memory grows with what is written, up to `max`; a process that prints one line costs one page.
 */
struct ring {
	uint8_t *bytes;
	size_t capacity;
	size_t max;
	uint64_t oldest;
	uint64_t end;
};

bool ring_open(struct ring *ring, size_t max);
void ring_close(struct ring *ring);

/* How many bytes can be written now without losing one at or after `keep`. Grows the ring when that gets small. */
size_t ring_room(struct ring *ring, uint64_t keep);

/* Appends; the oldest bytes make room once the ring cannot grow. More bytes than the ring holds are as good as their tail. */
void ring_write(struct ring *ring, const uint8_t *bytes, size_t size);

/* Copies out bytes that are there: oldest <= from, from + size <= end. */
void ring_read(const struct ring *ring, uint64_t from, uint8_t *to, size_t size);
