#include "frame.h"

#include <stdlib.h>
#include <string.h>

/* What is left of a payload. Reading past its end sets `bad` and yields zeroes, so that a decoder checks once, when it is through. */
struct reader {
	uint8_t *at;
	size_t left;
	bool bad;
};

static uint8_t *take(struct reader *reader, size_t size)
{
	uint8_t *at = reader->at;

	if (reader->bad || size > reader->left) {
		reader->bad = true;
		return NULL;
	}
	reader->at += size;
	reader->left -= size;
	return at;
}

static uint64_t take_number(struct reader *reader, size_t size)
{
	const uint8_t *at = take(reader, size);
	uint64_t value = 0;

	for (size_t i = 0; at && i < size; i++)
		value = value << 8 | at[i];
	return value;
}

static uint8_t take_u8(struct reader *reader)
{
	return (uint8_t)take_number(reader, 1);
}

static uint16_t take_u16(struct reader *reader)
{
	return (uint16_t)take_number(reader, 2);
}

static uint32_t take_u32(struct reader *reader)
{
	return (uint32_t)take_number(reader, 4);
}

static uint64_t take_u64(struct reader *reader)
{
	return take_number(reader, 8);
}

/*
 * A string of the wire made into a C string where it stands: its bytes move one place down over their own length, which makes room for the NUL
 * without touching what follows.
 */
static char *take_c_string(struct reader *reader)
{
	size_t size = take_u32(reader);
	uint8_t *bytes = take(reader, size);
	char *text;

	if (!bytes || memchr(bytes, 0, size)) {
		reader->bad = true;
		return NULL;
	}
	text = (char *)bytes - 1;
	memmove(text, bytes, size);
	text[size] = 0;
	return text;
}

/* Counts the strings of a list and steps over them; every one takes at least its length's four bytes, so the count cannot run away. */
static size_t skip_list(struct reader *reader)
{
	size_t count = take_u32(reader);

	for (size_t i = 0; i < count && !reader->bad; i++)
		take(reader, take_u32(reader));
	return reader->bad ? 0 : count;
}

static void take_list(struct reader *reader, char **to)
{
	size_t count = take_u32(reader);

	for (size_t i = 0; i < count && !reader->bad; i++)
		to[i] = take_c_string(reader);
}

static enum frame_result decode_start(struct reader *reader, struct start *start)
{
	struct reader lists, groups;
	size_t argc, envc;
	char **pointers;

	start->flags = take_u8(reader);
	start->ring = take_u32(reader);
	start->window = take_u32(reader);
	start->timeout_ms = take_u64(reader);
	start->uid = take_u32(reader);
	start->gid = take_u32(reader);
	start->group_count = take_u16(reader);
	groups = *reader;
	take(reader, start->group_count * 4);
	start->rows = take_u16(reader);
	start->columns = take_u16(reader);
	start->tag_size = take_u32(reader);
	start->tag = (const char *)take(reader, start->tag_size);
	start->cwd = take_c_string(reader);

	/* Twice over the lists: once to know how many pointers there are, once to set them, all in one block. */
	lists = *reader;
	argc = skip_list(reader);
	envc = skip_list(reader);
	if (reader->bad || reader->left != 0 || argc == 0)
		return FRAME_BAD;
	if (start->tag_size > TAG_MAX || start->flags > (START_PTY | START_STDIN | START_BLOCK | START_NO_NEW_PRIVS))
		return FRAME_BAD;
	/* (uid_t)-1 and (gid_t)-1 mean "leave as it is" to setresuid(2) and its like, which would be root. */
	if (start->uid == UINT32_MAX || start->gid == UINT32_MAX)
		return FRAME_BAD;

	start->block = calloc(argc + envc + 3 + (start->group_count + 1) / 2, sizeof(char *));
	if (!start->block)
		return FRAME_NO_MEMORY;
	pointers = start->block;
	start->argv = pointers + 1;
	start->env = start->argv + argc + 1;
	start->groups = (uint32_t *)(start->env + envc + 1);
	for (size_t i = 0; i < start->group_count; i++)
		start->groups[i] = take_u32(&groups);
	take_list(&lists, start->argv);
	take_list(&lists, start->env);
	if (lists.bad) {
		free(start->block);
		start->block = NULL;
		return FRAME_BAD;
	}
	return FRAME_WHOLE;
}

static enum frame_result decode_payload(struct reader *reader, struct message *message)
{
	bool whole_sandbox = false; /* frames that name no process or connection carry id 0 */

	switch (message->type) {
	case START:
		return decode_start(reader, &message->start);
	case STDIN:
	case DATA:
	case PING:
		message->data.size = reader->left;
		message->data.bytes = take(reader, reader->left);
		whole_sandbox = message->type == PING;
		if (message->type == PING && message->data.size > PING_MAX)
			return FRAME_BAD;
		break;
	case WELCOME:
		message->version = take_u16(reader);
		whole_sandbox = true;
		break;
	case SIGNAL:
		message->signal.number = take_u8(reader);
		message->signal.scope = take_u8(reader);
		if (message->signal.number > 64 || message->signal.scope > 1)
			return FRAME_BAD;
		break;
	case RESIZE:
		message->resize.rows = take_u16(reader);
		message->resize.columns = take_u16(reader);
		break;
	case SUBSCRIBE:
		message->subscribe.from[0] = take_u64(reader);
		message->subscribe.from[1] = take_u64(reader);
		message->subscribe.window = take_u32(reader);
		break;
	case CONSUMED:
		message->consumed.stream = take_u8(reader);
		message->consumed.offset = take_u64(reader);
		if (message->consumed.stream != 1 && message->consumed.stream != 2)
			return FRAME_BAD;
		break;
	case DATA_CONSUMED:
		message->consumed.offset = take_u64(reader);
		break;
	case DIAL:
	case LISTEN:
		message->port = take_u16(reader);
		whole_sandbox = message->type == LISTEN;
		break;
	case LIST:
	case LIMITS:
		whole_sandbox = true;
		break;
	case STDIN_CLOSE:
	case RELEASE:
	case DATA_END:
	case CLOSE:
		break;
	default:
		return FRAME_BAD;
	}
	if (reader->bad || reader->left != 0 || (whole_sandbox && message->id != 0))
		return FRAME_BAD;
	return FRAME_WHOLE;
}

enum frame_result frame_decode(uint8_t *bytes, size_t size, struct message *message, size_t *size_of_frame)
{
	struct reader reader = { .at = bytes, .left = size };
	size_t length;

	*size_of_frame = 0;
	if (size < 4)
		return FRAME_PARTIAL;
	length = take_u32(&reader);
	if (length < 5 || length > FRAME_IN_MAX)
		return FRAME_BAD;
	*size_of_frame = 4 + length;
	if (size < 4 + length)
		return FRAME_PARTIAL;

	reader.left = length;
	memset(message, 0, sizeof *message);
	message->type = take_u8(&reader);
	message->id = take_u32(&reader);
	return decode_payload(&reader, message);
}

void message_free(struct message *message)
{
	if (message->type == START) {
		free(message->start.block);
		message->start.block = NULL;
	}
}

uint8_t *put_string(uint8_t *to, const void *bytes, size_t size)
{
	to = put_u32(to, (uint32_t)size);
	if (size > 0)
		memcpy(to, bytes, size);
	return to + size;
}

uint8_t *put_header(uint8_t *to, uint8_t type, uint32_t id, size_t size)
{
	return put_u32(put_u8(put_u32(to, (uint32_t)(size + 5)), type), id);
}
