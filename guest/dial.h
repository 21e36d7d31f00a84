#pragma once

#include <stdint.h>

/* TCP connections that the server makes to ports inside the sandbox, through the guest. */

enum { DIALS_MAX = 256 };

/* DIAL with an id that is free. Answers DIALED or REFUSED, now or later. */
void dial_start(uint32_t id, uint16_t port);

uint64_t dial_deadline(void);
void dial_expire(void);
