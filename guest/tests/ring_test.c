#include "ring.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* The byte that a test stream has at an offset. */
static uint8_t at(uint64_t offset)
{
	return (uint8_t)(offset * 7 + offset / 251);
}

static void feed(struct ring *ring, size_t size)
{
	uint8_t *bytes = malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		bytes[i] = at(ring->end + i);
	ring_write(ring, bytes, size);
	free(bytes);
}

static bool holds(const struct ring *ring)
{
	size_t size = (size_t)(ring->end - ring->oldest);
	uint8_t *bytes = malloc(size + 1);
	bool right = true;

	ring_read(ring, ring->oldest, bytes, size);
	for (size_t i = 0; i < size; i++)
		right = right && bytes[i] == at(ring->oldest + i);
	free(bytes);
	return right;
}

static void keeps_everything_until_it_is_full(void)
{
	struct ring ring;

	CHECK(ring_open(&ring, 100000));
	for (int i = 0; i < 100; i++) {
		feed(&ring, 1000);
		CHECK(ring.oldest == 0 && ring.end == (uint64_t)(i + 1) * 1000 && holds(&ring));
	}
	CHECK(ring.capacity == 100000);
	feed(&ring, 1);
	CHECK(ring.oldest == 1 && holds(&ring));
	ring_close(&ring);
}

static void starts_small_and_grows_with_what_is_written(void)
{
	struct ring ring;

	CHECK(ring_open(&ring, 16 << 20));
	CHECK(ring.capacity == 4096);
	feed(&ring, 4096);
	CHECK(ring.capacity == 4096);
	feed(&ring, 1);
	CHECK(ring.capacity == 16384 && ring.oldest == 0 && holds(&ring));
	feed(&ring, 1 << 20);
	CHECK(ring.oldest == 0 && holds(&ring));
	ring_close(&ring);
}

static void keeps_the_tail_of_more_than_it_holds(void)
{
	struct ring ring;

	CHECK(ring_open(&ring, 5000));
	feed(&ring, 123);
	feed(&ring, 20000);
	CHECK(ring.end == 20123 && ring.oldest == 15123 && holds(&ring));
	ring_close(&ring);
}

static void has_room_only_for_what_loses_nothing_kept(void)
{
	struct ring ring;

	CHECK(ring_open(&ring, 8192));
	CHECK(ring_room(&ring, 0) == 4096);
	feed(&ring, 4096);
	CHECK(ring_room(&ring, 0) == 4096 && ring.capacity == 8192);
	feed(&ring, 4096);
	CHECK(ring_room(&ring, 0) == 0);
	CHECK(ring_room(&ring, 100) == 100);
	feed(&ring, 100);
	CHECK(ring.oldest == 100 && holds(&ring));
	CHECK(ring_room(&ring, 100) == 0);
	CHECK(ring_room(&ring, ring.end) == 8192);
	CHECK(ring_room(&ring, 0) == 0); /* what is gone already counts for nothing */
	ring_close(&ring);
}

static void grows_rightly_when_it_has_wrapped_before(void)
{
	struct ring ring;

	CHECK(ring_open(&ring, 50000));
	feed(&ring, 4000);
	/* As a blocked stream does: consumed bytes go, so the ring wraps while it is still small. */
	for (int i = 0; i < 20; i++) {
		size_t room = ring_room(&ring, ring.end - 100);

		feed(&ring, room < 900 ? room : 900);
		CHECK(holds(&ring));
	}
	feed(&ring, 30000);
	CHECK(holds(&ring));
	ring_close(&ring);
}

static void agrees_with_a_plain_stream_whatever_the_sizes(void)
{
	srandom(1);
	for (int round = 0; round < 200; round++) {
		struct ring ring;
		size_t max = 1 + (size_t)random() % 70000;

		CHECK(ring_open(&ring, max));
		for (int i = 0; i < 30; i++) {
			uint64_t end = ring.end;
			size_t size = (size_t)random() % (max * 2);

			feed(&ring, size);
			if (ring.end != end + size || ring.end - ring.oldest > max || !holds(&ring)) {
				CHECK(!"the ring and the stream agree");
				break;
			}
		}
		ring_close(&ring);
	}
}

int main(void)
{
	keeps_everything_until_it_is_full();
	starts_small_and_grows_with_what_is_written();
	keeps_the_tail_of_more_than_it_holds();
	has_room_only_for_what_loses_nothing_kept();
	grows_rightly_when_it_has_wrapped_before();
	agrees_with_a_plain_stream_whatever_the_sizes();
	return TALLY();
}
