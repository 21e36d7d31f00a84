#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TCP connections that the server makes to ports inside the sandbox, through the guest. They end with the connection to the server. */

enum { DIALS_MAX = 256 };

struct dialled;

/* DIAL with an id that is free. Answers DIALED or REFUSED, now or later. */
void dial_start(uint32_t id, uint16_t port);

struct dialled *dial_find(uint32_t id);

/* False: more than the credit allows. */
bool dial_data(struct dialled *dialled, const uint8_t *bytes, size_t size);
void dial_data_end(struct dialled *dialled);
void dial_consumed(struct dialled *dialled, uint64_t offset);
void dial_close(struct dialled *dialled);
void dial_close_all(void);

uint64_t dial_deadline(void);
void dial_expire(void);
