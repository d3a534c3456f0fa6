/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/stream.h - a process's output and input on their way */
#ifndef HUTCH_GUEST_AGENT_STREAM_H
#define HUTCH_GUEST_AGENT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/loop.h"
#include "common/ring.h"
#include "common/wire.h"

struct proc;

/**
 * struct out_stream - Read end of a pipe, or a terminal's master
 * @type:	WIRE_STDOUT or WIRE_STDERR
 * @total:	Bytes read so far: the cursor of the next one
 * @dropped:	Bytes that fell out of @ring
 * @draining:	The process has ended: only @left bytes are waited for
 * @left:	What was in the pipe then and has not been read
 * @ring:	Latest output that no client took
 *
 * With a client attached a byte is read only when the socket can take it, so
 * a slow client stops the writer.  Without one, all is read and the ring
 * keeps the end of it, so that a client that left stops nobody.
 */
struct out_stream {
	struct proc *p;
	struct loop_io io;
	int fd;
	bool tty;
	enum wire_type type;
	uint64_t total;
	uint64_t dropped;
	bool draining;
	uint64_t left;
	struct ring ring;
};

/** out_open() - Begin to read @fd, which is taken over. Return: 0 or -errno */
MUST_CHECK int out_open(struct out_stream *s, struct proc *p, int fd,
			enum wire_type type);

/** out_drain() - The process has ended: read what is there, and no more */
void out_drain(struct out_stream *s);

/** out_drained() - Whether all that EXIT must wait for has been read */
bool out_drained(const struct out_stream *s);

/** out_resume() - The client can take more, or has gone: read again */
void out_resume(struct out_stream *s);

/** out_close() - Writers get SIGPIPE from now on; may be called twice */
void out_close(struct out_stream *s);

/**
 * struct in_stream - Write end of a pipe, or a terminal's master
 * @received:	Bytes of STDIN that came
 * @consumed:	Of these, written or thrown away
 * @acked:	The last STDIN_ACK said so much
 * @close_due:	STDIN_CLOSE came: close once the ring is empty
 * @closed:	Nobody can read any more
 * @told:	...and the client knows
 * @ring:	What the pipe would not take: at most the window
 */
struct in_stream {
	struct proc *p;
	struct loop_io io;
	int fd;
	bool tty;
	uint64_t received;
	uint64_t consumed;
	uint64_t acked;
	bool close_due;
	bool closed;
	bool told;
	struct ring ring;
};

/** in_open() - Make @fd, which is taken over, writable. Return: 0 or -errno */
MUST_CHECK int in_open(struct in_stream *s, struct proc *p, int fd);

/** in_put() - Take STDIN bytes. Return: 0; -EPROTO if the window is broken */
MUST_CHECK int in_put(struct in_stream *s, const uint8_t *data, size_t len,
		      struct err *e);

/** in_finish() - Close when what was received has been written */
void in_finish(struct in_stream *s);

/** in_ack() - Send STDIN_ACK if it is due and the connection can take it */
void in_ack(struct in_stream *s);

/** in_close() - Close now; may be called twice */
void in_close(struct in_stream *s);

#endif
