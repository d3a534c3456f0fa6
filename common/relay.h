/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/relay.h - bytes both ways between two stream sockets
 *
 * How it works.  What one side sends goes to the other at once; what the
 * other does not take is kept, at most RELAY_CHUNK bytes, and until it has
 * gone nothing more is read.  So a slow reader slows the writer down, and the
 * rest waits in the kernel's own buffers.
 *
 * The end of one direction is passed on as such, and the other goes on.  A
 * connection that breaks, on either side, is broken on the other one too, if
 * its owner closes what relay_reset() has prepared: who waits for more must
 * not take it for a proper end.  A vsock or a Unix socket has no reset: a peer
 * that has closed both directions while ours was still open has broken it.
 *
 * Context: one thread, that of the loop.
 */
#ifndef HUTCH_COMMON_RELAY_H
#define HUTCH_COMMON_RELAY_H

#include <stdbool.h>

#include "common/loop.h"
#include "common/ring.h"

/* Bytes read at a time, and kept at most of each direction. */
#define RELAY_CHUNK (32u << 10)

struct relay;

/**
 * typedef relay_fn - It is over; called once, and the relay is stopped
 * @error:	0: both directions have ended; or the -errno that broke it
 */
typedef void relay_fn(struct relay *r, int error);

/**
 * struct relay_side - One of the two
 * @fd:		Borrowed, non-blocking
 * @out:	What it has yet to take
 * @ended:	It sends no more
 * @shut:	It has been told that no more comes
 */
struct relay_side {
	struct loop_io io;
	struct relay *r;
	int fd;
	struct ring out;
	bool ended;
	bool shut;
};

/**
 * struct relay - Embedded in its owner
 * @buf:	The owner's: RELAY_CHUNK bytes that nobody else uses meanwhile;
 *		relays of one loop share it
 */
struct relay {
	struct loop *loop;
	uint8_t *buf;
	relay_fn *fn;
	struct relay_side side[2];
};

/** relay_init() - Between two descriptors, which stay the caller's */
void relay_init(struct relay *r, int a, int b, uint8_t *buf, relay_fn *fn);

/**
 * relay_put() - Bytes that side @to shall have before all others
 *
 * Between relay_init() and relay_start().  Return: 0; -ENOBUFS if they are more
 * than RELAY_CHUNK; -ENOMEM
 */
MUST_CHECK int relay_put(struct relay *r, int to, const void *p, size_t len);

/** relay_start() - Begin. Return: 0, or -errno and nothing is watched */
MUST_CHECK int relay_start(struct relay *r, struct loop *l);

/** relay_stop() - Watch no more, forget what waits; may be called twice */
void relay_stop(struct relay *r);

/** relay_reset() - Closing @fd, a TCP socket, shall reset the connection */
void relay_reset(int fd);

#endif
