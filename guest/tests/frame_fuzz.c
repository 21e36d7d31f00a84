#include "frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void touch(const char *text)
{
	volatile size_t length = strlen(text);

	(void)length;
}

/* The input is what a connection brings: frames one after the other, until one is bad or the bytes end. All that a message points to is read. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);
	size_t at = 0, used;
	struct message message;

	if (!bytes)
		return 0;
	if (size > 0)
		memcpy(bytes, input, size);
	while (frame_decode(bytes + at, size - at, &message, &used) == FRAME_WHOLE) {
		if (used < FRAME_HEADER || used > size - at)
			abort();
		at += used;
		if (message.type == START) {
			volatile uint32_t sum = 0;

			for (size_t i = 0; i < message.start.group_count; i++)
				sum += message.start.groups[i];
			for (size_t i = 0; i < message.start.tag_size; i++)
				sum += (uint8_t)message.start.tag[i];
			touch(message.start.cwd);
			if (!message.start.argv[0])
				abort();
			for (char **text = message.start.argv; *text; text++)
				touch(*text);
			for (char **text = message.start.env; *text; text++)
				touch(*text);
			message.start.argv[-1] = message.start.argv[0];
		}
		if (message.type == STDIN || message.type == DATA || message.type == PING) {
			volatile uint8_t sum = 0;

			for (size_t i = 0; i < message.data.size; i++)
				sum = (uint8_t)(sum + message.data.bytes[i]);
		}
		message_free(&message);
	}
	free(bytes);
	return 0;
}
