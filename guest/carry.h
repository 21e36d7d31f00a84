#pragma once

#include "link.h"
#include "loop.h"
#include "pour.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A TCP connection inside the sandbox whose bytes go to and from the server, each direction with a credit of its own. It is embedded, as the first
 * member, in what whoever made it knows of it besides. It ends with the connection to the server.
 *
 * The socket is watched edge-triggered: with the server out of credit there may be bytes, or a hang-up, that we do not want to hear of again and
 * again. `readable` says what the edges said last.
 */
struct carried {
	struct grave grave;
	struct source source;
	struct watch watch;   /* .fd is -1 while there is no socket */
	struct carried *next; /* in the same chain of the table */
	uint32_t id;
	void (*ended)(struct carried *carried); /* tells whoever made it, who must not use it any more */
	uint8_t first_frame;  /* to be sent before all others; 0 when it was, or there is none */
	bool lingers;         /* the id is taken until the server has sent CLOSE */
	bool open;            /* the socket is connected */
	bool over;            /* CLOSED is sent, CLOSE is still to come */
	bool leaving;         /* both are through, and only the peer is still given what waits for it */
	bool readable;
	bool in_end;          /* the peer has ended, and DATA_END is sent */
	uint64_t sent;
	uint64_t consumed;
	struct pour pour;     /* towards the peer */
	uint64_t taken_sent;
	bool out_end;         /* DATA_END has come */
	bool out_shut;        /* … and is passed on */
};

/* Enters it in the table, by the id that is set. */
void carry_add(struct carried *carried);

/* Its socket is connected and watched: from here on bytes flow. */
void carry_open(struct carried *carried);

/* Takes it out of the table and frees it, without a word to the server. */
void carry_discard(struct carried *carried);

struct carried *carry_find(uint32_t id);

/* What the server says of one. False: against the rules. */
bool carry_message(struct carried *carried, const struct message *message);

void carry_discard_all(void);

enum { CARRY_EVENTS = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
