/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/input.h - a process's stdin, from one client or several */
#ifndef HUTCH_GUEST_AGENT_INPUT_H
#define HUTCH_GUEST_AGENT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/loop.h"
#include "common/ring.h"
#include "common/wire.h"

struct conn;
struct proc;

/*
 * What may wait for a program that does not read, of all clients; a window is
 * set aside for the foreground client.
 */
#define INPUT_QUEUE_MAX (4ul * WIRE_STDIN_WINDOW)

/* Runs of bytes of one client in the queue that are accounted for apart. */
#define INPUT_RUNS_MAX 8u

/**
 * struct in_stream - Write end of a pipe, or a terminal's master
 * @taken:	Bytes that have left @ring: the position of its first byte
 * @close_due:	STDIN_CLOSE came: close once the ring is empty
 * @closed:	Nobody can read any more, or it never was open
 * @ring:	What the pipe would not take
 */
struct in_stream {
	struct proc *p;
	struct loop_io io;
	int fd;
	bool tty;
	bool close_due;
	bool closed;
	uint64_t taken;
	struct ring ring;
};

/** struct in_run - A client's bytes in the queue: @len before position @end */
struct in_run {
	uint64_t end;
	uint64_t len;
};

/**
 * struct in_client - A client's side of it
 * @allowed:	It said that STDIN would come
 * @received:	Bytes of STDIN that came
 * @consumed:	Of these, written or thrown away
 * @acked:	The last STDIN_ACK said so much
 * @sent_close:	It sent STDIN_CLOSE
 * @told:	It knows that nobody can read any more
 * @run:	Where in the queue its bytes are; when there are too many runs
 *		the last two count as one that lies at the later's place
 */
struct in_client {
	bool allowed;
	bool sent_close;
	bool told;
	uint64_t received;
	uint64_t consumed;
	uint64_t acked;
	unsigned int n_runs;
	struct in_run run[INPUT_RUNS_MAX];
};

/** in_open() - Make @fd, which is taken over, writable. Return: 0 or -errno */
MUST_CHECK int in_open(struct in_stream *s, struct proc *p, int fd);

/**
 * in_put() - Take STDIN bytes of @c
 *
 * Return: 0; -EPROTO if it broke the window; -ENOBUFS if others filled the
 *         queue; -ENOMEM
 */
MUST_CHECK int in_put(struct in_stream *s, struct conn *c, const uint8_t *data,
		      size_t len, struct err *e);

/** in_finish() - Close when what was received has been written */
void in_finish(struct in_stream *s);

/** in_ack() - Send STDIN_ACK to @c if it is due and can be taken */
void in_ack(const struct in_stream *s, struct conn *c);

/** in_close() - Close now; may be called twice */
void in_close(struct in_stream *s);

#endif
