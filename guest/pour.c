#include "pour.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALLEST = 4096 };

void pour_empty(struct pour *pour)
{
	free(pour->bytes);
	pour->bytes = NULL;
	pour->at = pour->size = pour->capacity = 0;
}

/* SIGPIPE is ignored in the guest, so write(2) serves pipes, terminals and sockets alike. -1 is a real error, not "later". */
static ssize_t write_some(int fd, const uint8_t *bytes, size_t size)
{
	ssize_t done = 0;

	if (fd >= 0 && size > 0)
		done = write(fd, bytes, size);
	if (done < 0 && (errno == EAGAIN || errno == EINTR))
		done = 0;
	return done;
}

static bool keep(struct pour *pour, const uint8_t *bytes, size_t size)
{
	size_t waiting = pour_waiting(pour);

	if (pour->at > 0) {
		memmove(pour->bytes, pour->bytes + pour->at, waiting);
		pour->at = 0;
		pour->size = waiting;
	}
	if (waiting + size > pour->capacity) {
		size_t capacity = pour->capacity ? pour->capacity : SMALLEST;
		uint8_t *grown;

		while (capacity < waiting + size)
			capacity *= 2;
		grown = realloc(pour->bytes, capacity);
		if (!grown)
			return false;
		pour->bytes = grown;
		pour->capacity = capacity;
	}
	memcpy(pour->bytes + waiting, bytes, size);
	pour->size = waiting + size;
	return true;
}

enum pour_result pour_in(struct pour *pour, int fd, const uint8_t *bytes, size_t size, size_t limit)
{
	ssize_t done = 0;

	if (size + pour_waiting(pour) > limit)
		return POUR_OVER_CREDIT;
	if (pour_waiting(pour) == 0)
		done = write_some(fd, bytes, size);
	if (done < 0)
		return POUR_BROKEN;
	pour->received += size;
	pour->taken += (size_t)done;
	if ((size_t)done < size && !keep(pour, bytes + done, size - (size_t)done)) {
		errno = ENOMEM;
		return POUR_BROKEN;
	}
	return POUR_OK;
}

enum pour_result pour_on(struct pour *pour, int fd)
{
	ssize_t done;

	if (pour_waiting(pour) == 0)
		return POUR_OK;
	done = write_some(fd, pour->bytes + pour->at, pour_waiting(pour));
	if (done < 0)
		return POUR_BROKEN;
	pour->at += (size_t)done;
	pour->taken += (size_t)done;
	if (pour_waiting(pour) == 0)
		pour_empty(pour);
	return POUR_OK;
}
