#pragma once

#include "frame.h"

#include <sys/types.h>

/* The descriptors of a new process as the guest sees them, all close-on-exec and non-blocking, or -1. */
struct spawned {
	pid_t pid;
	int in;  /* a PTY's master stands in `out` alone */
	int out;
	int err;
};

struct refusal {
	enum refused_stage stage;
	int error;
};

/* Looks at what children have to get back. To be called once, after harden(). */
void spawn_remember(void);

/* True, or `refusal` says what went wrong; then nothing is left behind. */
bool spawn(struct start *start, struct spawned *spawned, struct refusal *refusal);
