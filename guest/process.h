#pragma once

#include "frame.h"
#include "link.h"
#include "loop.h"
#include "pour.h"
#include "stream.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The processes the server started. One is in the table from START until RELEASE (and until it is dead, when it was released before). What its
 * children still write after that is read and thrown away by the same structure, which then stands in a short list of its own.
 */
struct process {
	struct grave grave;
	struct source source;
	uint32_t id;
	pid_t pid;
	bool pty;
	bool subscribed;
	bool released;
	uint64_t deadline;        /* ms, UINT64_MAX for none */
	bool timed_out;
	bool kill_asked;          /* SIGKILL came from the server or the timeout */

	bool dead;
	uint8_t kind;             /* 0 exit code, 1 signal */
	uint8_t value;
	bool group_gone;          /* its process group's number may belong to somebody else */
	bool settled;             /* dead, drained, and `ends` is fixed */
	uint64_t ends[2];
	bool exit_sent;

	struct stream streams[2];

	struct watch in;          /* stdin's pipe; a PTY is written to through streams[0].watch */
	struct pour pour;
	uint64_t typed;           /* end-of-file characters the guest itself put into the pour */
	uint64_t taken_sent;
	bool taken_owed;          /* SUBSCRIBE is told where stdin stands, news or not */
	bool in_end;              /* to be closed when nothing waits */
	bool in_broken;
	bool in_broken_sent;

	uint16_t tag_size;
	uint16_t command_size;
	char text[];              /* tag, then command */
};

enum { PROCESSES_MAX = 1024, LINGER_MAX = 256, COMMAND_MAX = 256 };

/* START with an id that is free. Answers STARTED or REFUSED. */
void process_start(uint32_t id, struct start *start);

/* By id, NULL when it is gone. */
struct process *process_find(uint32_t id);

void process_signal(struct process *process, int number, bool alone);
void process_resize(struct process *process, uint16_t rows, uint16_t columns);
void process_subscribe(struct process *process, const uint64_t from[2], uint32_t window);
void process_consumed(struct process *process, uint8_t stream, uint64_t offset);
void process_release(struct process *process);
void process_limits(void);

/* Takes the status of every child that is dead, ours or an orphan. */
void process_reap(void);

/* Kills what is over its time; tells when it wants to be called next. */
uint64_t process_deadline(void);
void process_expire(void);

/* The connection is gone. */
void process_unsubscribe_all(void);

/* All of them, also those released while they run. */
struct process *const *process_table(size_t *count);

/* list.c: PROCESSES, and its `command`: argv with blanks between, for people. At most COMMAND_MAX bytes are written. */
void process_list(void);
size_t process_describe(char *to, char *const *argv);

/* stdin.c. False: more than the credit allows. */
bool process_stdin(struct process *process, const uint8_t *bytes, size_t size);
void process_stdin_close(struct process *process);
void process_stdin_open(struct process *process, int fd);
void process_stdin_ready(struct process *process, uint32_t events);
void process_stdin_pump(struct process *process);
bool process_stdin_is_open(const struct process *process);
uint64_t process_stdin_taken(const struct process *process);
