#include "process.h"

#include <string.h>

/* What a listed process takes beside its texts. */
enum { LISTED_SIZE = 4 + 4 + 3 + 6 * 8 + 4 + 4 };

/* Cuts a text where it gets long, but not inside a UTF-8 character. */
static size_t cut(const char *text, size_t size, size_t limit)
{
	if (size <= limit)
		return size;
	while (limit > 0 && ((unsigned char)text[limit] & 0xC0) == 0x80)
		limit--;
	return limit;
}

size_t process_describe(char *to, char *const *argv)
{
	size_t size = 0;

	for (; *argv && size < COMMAND_MAX; argv++) {
		size_t whole = strlen(*argv), length;

		if (size > 0)
			to[size++] = ' ';
		length = cut(*argv, whole, COMMAND_MAX - size);
		memcpy(to + size, *argv, length);
		size += length;
		if (length < whole)
			break;
	}
	return size;
}

static uint8_t listed_flags(const struct process *process)
{
	return (uint8_t)((process->pty ? LISTED_PTY : 0) | (process_stdin_is_open(process) ? LISTED_STDIN : 0) |
			 (process->dead ? LISTED_EXITED : 0) | (process->timed_out ? LISTED_TIMED_OUT : 0));
}

void process_list(void)
{
	size_t size = 4, count = 0, command_max = COMMAND_MAX;
	struct process *const *table;
	size_t table_count;
	uint8_t *to;

	table = process_table(&table_count);
	for (size_t i = 0; i < table_count; i++)
		if (!table[i]->released) {
			size += LISTED_SIZE + table[i]->tag_size;
			count++;
		}
	/* A full table has to fit into one frame: then the commands are cut shorter. */
	if (count > 0 && (FRAME_OUT_MAX - 5 - size) / count < command_max)
		command_max = (FRAME_OUT_MAX - 5 - size) / count;
	for (size_t i = 0; i < table_count; i++)
		if (!table[i]->released)
			size += cut(table[i]->text + table[i]->tag_size, table[i]->command_size, command_max);

	to = link_frame(PROCESSES, 0, size);
	if (!to)
		return;
	to = put_u32(to, (uint32_t)count);
	for (size_t i = 0; i < table_count; i++) {
		const struct process *process = table[i];
		const char *command = process->text + process->tag_size;

		if (process->released)
			continue;
		to = put_u32(put_u32(to, process->id), (uint32_t)process->pid);
		to = put_u8(put_u8(put_u8(to, listed_flags(process)), process->kind), process->value);
		for (int s = 0; s < 2; s++)
			to = put_u64(put_u64(to, process->streams[s].ring.oldest), process->streams[s].ring.end);
		to = put_u64(put_u64(to, process_stdin_taken(process)), process->pour.received - process->typed);
		to = put_string(to, process->text, process->tag_size);
		to = put_string(to, command, cut(command, process->command_size, command_max));
	}
}
