/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/conn.h - a connection to the agent in a VM, never blocking
 *
 * Through the VM's vsock socket: "CONNECT 1000\n", then frames (common/wire.h).
 * The monitor answers "OK <n>\n" when the guest has accepted, which may be when
 * it has booted; what we send before that waits in the socket.  Every byte
 * that comes is from the guest and treated as hostile.
 */
#ifndef HUTCH_HOST_LIB_CONN_H
#define HUTCH_HOST_LIB_CONN_H

#include <stdbool.h>

#include "common/err.h"
#include "common/ring.h"
#include "common/wire.h"

#define CONN_LINE_MAX 32 /* bytes of "OK <n>\n" */

/* What may wait to be sent: the largest request, and a little beside it. */
#define CONN_OUT_MAX (WIRE_MSG_MAX + 2 * WIRE_DATA_MAX)

/**
 * struct conn - A connection; a zeroed one with @fd -1 is closed
 * @greeted:	"OK" has come
 * @hello:	HELLO has come
 * @broken:	Nothing can be sent any more
 * @line:	Of the greeting, so far
 * @out:	Waits to be sent
 */
struct conn {
	int fd;
	bool greeted;
	bool hello;
	bool broken;
	size_t line_len;
	char line[CONN_LINE_MAX];
	struct ring out;
	struct wire_reader in;
};

/**
 * conn_open() - Connect, and have CONNECT and HELLO ready to be sent
 * @run_fd:	Folder RUN/NAME
 * @flags:	SOCK_NONBLOCK: do not wait while the VM's backlog is full
 *
 * Return: 0; -ENOENT or -ECONNREFUSED if no VM is there; -EAGAIN; or -errno
 */
MUST_CHECK int conn_open(struct conn *c, int run_fd, int flags, struct err *e);

/** conn_adopt() - The same over a connected socket, which it takes over */
MUST_CHECK int conn_adopt(struct conn *c, int fd, struct err *e);

/** conn_close() - Idempotent */
void conn_close(struct conn *c);

/**
 * conn_queue() - Have bytes ready to be sent, sending none
 *
 * Return: 0; -EAGAIN if they do not fit now; -EPIPE if broken; -ENOMEM
 */
MUST_CHECK int conn_queue(struct conn *c, const void *buf, size_t len);

/** conn_flush() - Send what waits. Return: 0; -EAGAIN if some still does;
 *  -EPIPE
 */
int conn_flush(struct conn *c);

/**
 * conn_send_data() - Send a frame of data from where it lies
 * @len:	1 to WIRE_DATA_MAX
 *
 * Taken as a whole or not at all; the part that the socket has no room for
 * is copied.
 *
 * Return: 0; -EAGAIN while earlier bytes wait; -EPIPE; -ENOMEM
 */
MUST_CHECK int conn_send_data(struct conn *c, enum wire_type type,
			      const void *data, size_t len);

/**
 * conn_next() - The next frame after HELLO, which it checks itself
 *
 * Return: 1 with *@ret set; 0 if there is none yet; -EPIPE at the end of the
 *         stream; -EBADMSG with a sentence
 */
MUST_CHECK int conn_next(struct conn *c, struct wire_frame *ret, struct err *e);

/** conn_poll_events() - POLLIN, and POLLOUT while bytes wait */
short conn_poll_events(const struct conn *c);

#endif
