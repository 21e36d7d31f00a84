#include "frame.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static uint8_t buffer[4096];

static size_t make(uint8_t type, uint32_t id, const void *payload, size_t size)
{
	uint8_t *to = put_header(buffer, type, id, size);

	if (size > 0)
		memcpy(to, payload, size);
	return FRAME_HEADER + size;
}

/* In a block of just that size, so that the sanitizer sees the first byte too many. */
static enum frame_result decode(const uint8_t *bytes, size_t size, struct message *message, uint8_t **held)
{
	size_t used;
	uint8_t *copy = malloc(size ? size : 1);
	enum frame_result result;

	memcpy(copy, bytes, size);
	result = frame_decode(copy, size, message, &used);
	if (held && result == FRAME_WHOLE) {
		*held = copy;
	} else {
		if (result == FRAME_WHOLE)
			message_free(message);
		free(copy);
	}
	return result;
}

static enum frame_result result_of(uint8_t type, uint32_t id, const void *payload, size_t size)
{
	struct message message;

	return decode(buffer, make(type, id, payload, size), &message, NULL);
}

struct start_spec {
	uint8_t flags;
	uint32_t uid;
	uint16_t groups;
	const char *tag;
	size_t tag_size;
	uint32_t argc;
	const char *argv[4];
	size_t argv_size; /* of argv[0], 0 for strlen */
	uint32_t envc;
	const char *env[2];
};

static size_t make_start(const struct start_spec *spec)
{
	uint8_t *to = buffer + FRAME_HEADER;

	to = put_u64(put_u32(put_u32(put_u8(to, spec->flags), 65536), 4096), 1234567890123);
	to = put_u16(put_u32(put_u32(to, spec->uid), 1001), spec->groups);
	for (uint32_t i = 0; i < spec->groups; i++)
		to = put_u32(to, 2000 + i);
	to = put_u16(put_u16(to, 24), 80);
	to = put_string(to, spec->tag, spec->tag_size);
	to = put_string(to, "/work", 5);
	to = put_u32(to, spec->argc);
	for (uint32_t i = 0; i < spec->argc; i++)
		to = put_string(to, spec->argv[i], i == 0 && spec->argv_size ? spec->argv_size : strlen(spec->argv[i]));
	to = put_u32(to, spec->envc);
	for (uint32_t i = 0; i < spec->envc; i++)
		to = put_string(to, spec->env[i], strlen(spec->env[i]));
	put_header(buffer, START, 7, (size_t)(to - buffer) - FRAME_HEADER);
	return (size_t)(to - buffer);
}

static const struct start_spec USUAL = {
	.flags = START_PTY | START_BLOCK, .uid = 1000, .groups = 3, .tag = "job 7", .tag_size = 5,
	.argc = 3, .argv = { "bash", "-c", "" }, .envc = 2, .env = { "PATH=/bin", "A=b" },
};

static void decodes_a_start_with_everything_in_it(void)
{
	struct message message;
	uint8_t *held = NULL;

	CHECK(decode(buffer, make_start(&USUAL), &message, &held) == FRAME_WHOLE);
	CHECK(message.type == START && message.id == 7);
	CHECK(message.start.flags == 5 && message.start.ring == 65536 && message.start.window == 4096);
	CHECK(message.start.timeout_ms == 1234567890123 && message.start.uid == 1000 && message.start.gid == 1001);
	CHECK(message.start.group_count == 3 && message.start.groups[0] == 2000 && message.start.groups[2] == 2002);
	CHECK(message.start.rows == 24 && message.start.columns == 80);
	CHECK(message.start.tag_size == 5 && memcmp(message.start.tag, "job 7", 5) == 0);
	CHECK(strcmp(message.start.cwd, "/work") == 0);
	CHECK(strcmp(message.start.argv[0], "bash") == 0 && strcmp(message.start.argv[1], "-c") == 0);
	CHECK(strcmp(message.start.argv[2], "") == 0 && message.start.argv[3] == NULL);
	CHECK(strcmp(message.start.env[0], "PATH=/bin") == 0 && strcmp(message.start.env[1], "A=b") == 0 && message.start.env[2] == NULL);
	message.start.argv[-1] = message.start.argv[0]; /* the spare place is there */
	message_free(&message);
	free(held);
}

static void refuses_a_start_cut_short_anywhere(void)
{
	size_t size = make_start(&USUAL);

	for (size_t cut = FRAME_HEADER; cut < size; cut++) {
		struct message message;
		uint8_t shorter[512];

		memcpy(shorter, buffer, cut);
		put_u32(shorter, (uint32_t)(cut - 4));
		CHECK(decode(shorter, cut, &message, NULL) == FRAME_BAD);
	}
}

static void refuses_starts_that_break_a_rule(void)
{
	struct start_spec spec;
	struct message message;
	char long_tag[TAG_MAX + 1];

	memset(long_tag, 't', sizeof long_tag);
	spec = USUAL, spec.argc = 0;
	CHECK(decode(buffer, make_start(&spec), &message, NULL) == FRAME_BAD);
	spec = USUAL, spec.flags = 16;
	CHECK(decode(buffer, make_start(&spec), &message, NULL) == FRAME_BAD);
	spec = USUAL, spec.uid = UINT32_MAX;
	CHECK(decode(buffer, make_start(&spec), &message, NULL) == FRAME_BAD);
	spec = USUAL, spec.argv[0] = "ba\0sh", spec.argv_size = 5;
	CHECK(decode(buffer, make_start(&spec), &message, NULL) == FRAME_BAD);
	spec = USUAL, spec.tag = long_tag, spec.tag_size = TAG_MAX;
	CHECK(decode(buffer, make_start(&spec), &message, NULL) == FRAME_WHOLE);
	spec.tag_size = TAG_MAX + 1;
	CHECK(decode(buffer, make_start(&spec), &message, NULL) == FRAME_BAD);
	spec = USUAL;
	{
		size_t size = make_start(&spec);

		buffer[size] = 0; /* a byte behind the last list */
		put_u32(buffer, (uint32_t)(size + 1 - 4));
		CHECK(decode(buffer, size + 1, &message, NULL) == FRAME_BAD);
	}
}

static void refuses_counts_that_promise_more_than_there_is(void)
{
	size_t size = make_start(&USUAL);
	struct message message;

	for (size_t at = FRAME_HEADER + 1; at + 4 <= size; at++) {
		uint8_t wrong[512];

		memcpy(wrong, buffer, size);
		put_u32(wrong + at, UINT32_MAX - 3);
		/* Some places are plain numbers, where that is allowed; the sanitizer watches the others. */
		decode(wrong, size, &message, NULL);
	}
	CHECK(true);
}

static void takes_frames_only_when_they_are_whole(void)
{
	struct message message;
	size_t size = make(PING, 0, "hello", 5), used;

	for (size_t have = 0; have < size; have++) {
		CHECK(frame_decode(buffer, have, &message, &used) == FRAME_PARTIAL);
		CHECK(used == (have < 4 ? 0 : size));
	}
	CHECK(frame_decode(buffer, sizeof buffer, &message, &used) == FRAME_WHOLE && used == size);
	CHECK(message.data.size == 5 && memcmp(message.data.bytes, "hello", 5) == 0);
}

static void refuses_lengths_out_of_bounds(void)
{
	struct message message;
	size_t used;
	uint32_t lengths[] = { 0, 4, FRAME_IN_MAX + 1, UINT32_MAX };

	for (size_t i = 0; i < 4; i++) {
		put_u32(buffer, lengths[i]);
		CHECK(frame_decode(buffer, 4, &message, &used) == FRAME_BAD);
	}
	put_u32(buffer, FRAME_IN_MAX);
	CHECK(frame_decode(buffer, 4, &message, &used) == FRAME_PARTIAL && used == FRAME_IN_MAX + 4);
}

static void knows_the_size_of_every_frame(void)
{
	static const struct { uint8_t type; size_t size; bool zero; } FIXED[] = {
		{ WELCOME, 2, true }, { STDIN_CLOSE, 0, false }, { SIGNAL, 2, false }, { RESIZE, 4, false }, { LIST, 0, true },
		{ SUBSCRIBE, 20, false }, { CONSUMED, 9, false }, { RELEASE, 0, false }, { DIAL, 2, false }, { DATA_END, 0, false },
		{ CLOSE, 0, false }, { DATA_CONSUMED, 8, false }, { LIMITS, 0, true }, { LISTEN, 2, true },
	};
	uint8_t payload[64] = { 1, 1 };

	for (size_t i = 0; i < sizeof FIXED / sizeof *FIXED; i++) {
		uint32_t id = FIXED[i].zero ? 0 : 5;

		CHECK(result_of(FIXED[i].type, id, payload, FIXED[i].size) == FRAME_WHOLE);
		CHECK(result_of(FIXED[i].type, id, payload, FIXED[i].size + 1) == FRAME_BAD);
		if (FIXED[i].size > 0)
			CHECK(result_of(FIXED[i].type, id, payload, FIXED[i].size - 1) == FRAME_BAD);
		if (FIXED[i].zero)
			CHECK(result_of(FIXED[i].type, 5, payload, FIXED[i].size) == FRAME_BAD);
	}
}

static void refuses_values_without_a_meaning(void)
{
	uint8_t payload[65] = { 0 };

	CHECK(result_of(0, 0, NULL, 0) == FRAME_BAD);
	CHECK(result_of(19, 0, NULL, 0) == FRAME_BAD);
	CHECK(result_of(HELLO, 0, NULL, 0) == FRAME_BAD);
	CHECK(result_of(SIGNAL, 1, "\x41\0", 2) == FRAME_BAD);
	CHECK(result_of(SIGNAL, 1, "\x40\x01", 2) == FRAME_WHOLE);
	CHECK(result_of(SIGNAL, 1, "\x09\x02", 2) == FRAME_BAD);
	CHECK(result_of(CONSUMED, 1, payload, 9) == FRAME_BAD);
	payload[0] = 3;
	CHECK(result_of(CONSUMED, 1, payload, 9) == FRAME_BAD);
	CHECK(result_of(PING, 0, payload, 64) == FRAME_WHOLE);
	CHECK(result_of(PING, 0, payload, 65) == FRAME_BAD);
	CHECK(result_of(STDIN, 1, NULL, 0) == FRAME_WHOLE);
}

static void writes_numbers_with_the_high_byte_first(void)
{
	uint8_t bytes[32];

	put_u64(put_u32(put_u16(put_u8(bytes, 1), 0x0203), 0x04050607), 0x08090a0b0c0d0e0f);
	for (uint8_t i = 0; i < 15; i++)
		CHECK(bytes[i] == i + 1);
	put_header(bytes, EXITED, 0x01020304, 19);
	CHECK(memcmp(bytes, "\0\0\0\x18\x46\1\2\3\4", 9) == 0);
}

int main(void)
{
	decodes_a_start_with_everything_in_it();
	refuses_a_start_cut_short_anywhere();
	refuses_starts_that_break_a_rule();
	refuses_counts_that_promise_more_than_there_is();
	takes_frames_only_when_they_are_whole();
	refuses_lengths_out_of_bounds();
	knows_the_size_of_every_frame();
	refuses_values_without_a_meaning();
	writes_numbers_with_the_high_byte_first();
	return TALLY();
}
