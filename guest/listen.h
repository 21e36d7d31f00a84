#pragma once

#include <stdint.h>

/*
 * The port on the sandbox's loopback whose connections are carried to the server. The sockets stay while the server is away, and who connects then
 * waits in their backlog. Likewise when the table is full: nobody is refused.
 */

enum {
	ACCEPTED_MAX = 512,
	ACCEPTED_FIRST = 1U << 31, /* ids of accepted connections are the guest's, from here on; the server's are below */
};

/* LISTEN; 0 ends it, and all connections that were accepted. Answers LISTENING. */
void listen_start(uint16_t port);

/* The server is away: what it had accepted ends elsewhere, and nobody is accepted until it says LISTEN again. */
void listen_rest(void);

uint64_t listen_deadline(void);
void listen_expire(void);
