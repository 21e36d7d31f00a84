#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The wire format of PROTOCOL.md over plain byte buffers, without any I/O. Everything the server sends passes through here first, so this is
 * the part that is fuzzed.
 */

enum {
	PROTOCOL_VERSION = 2,
	FRAME_HEADER = 9,             /* length, type and id */
	FRAME_IN_MAX = 4 << 20,       /* what `length` may say in a frame to the guest */
	FRAME_OUT_MAX = 256 << 10,    /* … and to the server */
	TAG_MAX = 128,
	PING_MAX = 64,
	CREDIT = 256 << 10,           /* bytes in flight of one stdin, or of a carried connection on its way to the server */
	CARRY_CREDIT = 1 << 20,       /* … and on its way into the sandbox, whose memory holds what its programs do not take */
};

enum to_guest {
	WELCOME = 1, START, STDIN, STDIN_CLOSE, SIGNAL, RESIZE, LIST, SUBSCRIBE, CONSUMED, RELEASE,
	DIAL, DATA, DATA_END, CLOSE, DATA_CONSUMED, LIMITS, PING, LISTEN,
};

enum to_server {
	HELLO = 65, STARTED, REFUSED, OUTPUT, OUTPUT_END, EXITED, STDIN_TAKEN, STDIN_BROKEN, PROCESSES,
	DIALED, DATA_OUT, DATA_OUT_END, CLOSED, DATA_TAKEN, LIMITS_HIT, PONG, LISTENING, ACCEPTED,
};

enum start_flag { START_PTY = 1, START_STDIN = 2, START_BLOCK = 4, START_NO_NEW_PRIVS = 8 };

enum listed_flag { LISTED_PTY = 1, LISTED_STDIN = 2, LISTED_EXITED = 4, LISTED_TIMED_OUT = 8 };

enum refused_stage {
	STAGE_FORK = 1, STAGE_CWD, STAGE_USER, STAGE_EXEC, STAGE_TABLE, STAGE_TERMINAL, STAGE_DIAL, STAGE_ID_USED, STAGE_NO_SUCH_ID,
};

struct start {
	uint8_t flags;
	uint32_t ring;
	uint32_t window;
	uint64_t timeout_ms;
	uint32_t uid;
	uint32_t gid;
	uint32_t *groups;
	size_t group_count;
	uint16_t rows;
	uint16_t columns;
	const char *tag; /* bytes, without a NUL behind them */
	size_t tag_size;
	char *cwd;
	char **argv; /* argv[-1] is a spare place, for "/bin/sh" in front of a script without #! */
	char **env;
	void *block; /* holds groups, argv and env */
};

struct message {
	uint8_t type;
	uint32_t id;
	union {
		uint16_t version;
		struct start start;
		struct { const uint8_t *bytes; size_t size; } data; /* STDIN, DATA, PING */
		struct { uint8_t number; uint8_t scope; } signal;
		struct { uint16_t rows; uint16_t columns; } resize;
		struct { uint64_t from[2]; uint32_t window; } subscribe;
		struct { uint8_t stream; uint64_t offset; } consumed; /* CONSUMED, and DATA_CONSUMED without the stream */
		uint16_t port; /* DIAL, LISTEN */
	};
};

enum frame_result { FRAME_WHOLE, FRAME_PARTIAL, FRAME_BAD, FRAME_NO_MEMORY };

/*
 * Takes the frame at the start of `bytes`. FRAME_WHOLE: `size_of_frame` bytes are used up and `message` is filled, pointing into `bytes`, which
 * are changed (strings get their NUL in place). FRAME_PARTIAL: it will be `size_of_frame` bytes long, or 0 when not even that is known.
 */
enum frame_result frame_decode(uint8_t *bytes, size_t size, struct message *message, size_t *size_of_frame);

/* Frees what a decoded message holds beside the buffer. */
void message_free(struct message *message);

static inline uint8_t *put_u8(uint8_t *to, uint8_t value)
{
	*to = value;
	return to + 1;
}

static inline uint8_t *put_u16(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
	return to + 2;
}

static inline uint8_t *put_u32(uint8_t *to, uint32_t value)
{
	to[0] = (uint8_t)(value >> 24);
	to[1] = (uint8_t)(value >> 16);
	to[2] = (uint8_t)(value >> 8);
	to[3] = (uint8_t)value;
	return to + 4;
}

static inline uint8_t *put_u64(uint8_t *to, uint64_t value)
{
	return put_u32(put_u32(to, (uint32_t)(value >> 32)), (uint32_t)value);
}

uint8_t *put_string(uint8_t *to, const void *bytes, size_t size);

/* Writes the nine bytes in front of a payload of `size` bytes. */
uint8_t *put_header(uint8_t *to, uint8_t type, uint32_t id, size_t size);
