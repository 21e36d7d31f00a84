#include "ring.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 4096, GROWTH = 4 };

bool ring_open(struct ring *ring, size_t max)
{
	*ring = (struct ring){ .max = max, .capacity = max < SMALLEST ? max : SMALLEST };
	ring->bytes = malloc(ring->capacity);
	return ring->bytes != NULL;
}

void ring_close(struct ring *ring)
{
	free(ring->bytes);
	ring->bytes = NULL;
	ring->capacity = 0;
	ring->max = 0;
}

void ring_read(const struct ring *ring, uint64_t from, uint8_t *to, size_t size)
{
	size_t at, first;

	if (size == 0)
		return;
	at = (size_t)(from % ring->capacity);
	first = ring->capacity - at;
	if (first > size)
		first = size;
	memcpy(to, ring->bytes + at, first);
	memcpy(to + first, ring->bytes, size - first);
}

/* Offsets fall on other places in a ring of another size, so the bytes are moved one by one piece, not with realloc. */
static bool grow(struct ring *ring, size_t wanted)
{
	size_t capacity = ring->capacity;
	uint64_t offset = ring->oldest;
	uint8_t *bytes;

	while (capacity < wanted && capacity < ring->max)
		capacity = capacity > ring->max / GROWTH ? ring->max : capacity * GROWTH;
	if (capacity == ring->capacity)
		return false;
	bytes = malloc(capacity);
	if (!bytes)
		return false; /* the ring goes on as small as it is */

	while (offset < ring->end) {
		size_t to = (size_t)(offset % capacity);
		size_t size = capacity - to;

		if (size > ring->end - offset)
			size = (size_t)(ring->end - offset);
		ring_read(ring, offset, bytes + to, size);
		offset += size;
	}
	free(ring->bytes);
	ring->bytes = bytes;
	ring->capacity = capacity;
	return true;
}

size_t ring_room(struct ring *ring, uint64_t keep)
{
	size_t kept;

	if (keep < ring->oldest)
		keep = ring->oldest;
	if (keep > ring->end)
		keep = ring->end;
	kept = (size_t)(ring->end - keep);
	if (ring->capacity - kept < SMALLEST && ring->capacity < ring->max)
		grow(ring, kept + SMALLEST);
	return ring->capacity - kept;
}

void ring_write(struct ring *ring, const uint8_t *bytes, size_t size)
{
	uint64_t held = ring->end - ring->oldest;
	size_t at, first;

	if (size == 0)
		return;
	if (held + size > ring->capacity && ring->capacity < ring->max)
		grow(ring, (size_t)held + size);

	if (size > ring->capacity) {
		size_t lost = size - ring->capacity;

		bytes += lost;
		size -= lost;
		ring->end += lost;
	}
	at = (size_t)(ring->end % ring->capacity);
	first = ring->capacity - at;
	if (first > size)
		first = size;
	memcpy(ring->bytes + at, bytes, first);
	memcpy(ring->bytes, bytes + first, size - first);
	ring->end += size;
	if (ring->end - ring->oldest > ring->capacity)
		ring->oldest = ring->end - ring->capacity;
}
