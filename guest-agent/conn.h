/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/conn.h - a client's connection: frames in, frames out */
#ifndef HUTCH_GUEST_AGENT_CONN_H
#define HUTCH_GUEST_AGENT_CONN_H

#include "common/list.h"
#include "common/loop.h"
#include "common/ring.h"
#include "common/wire.h"

struct agent;
struct proc;

/**
 * enum conn_state - What the next frame must be
 *
 * HELLO -> REQUEST -> EXEC, EVENTS or LAST; EXEC -> LAST; any -> GONE.
 *
 * LAST: the last frame is queued.  It is sent, then our direction is shut;
 * what the client still says is thrown away until it closes.  Closing first
 * would reset the stream under the client, who may not have read it all.
 */
enum conn_state {
	CONN_HELLO,
	CONN_REQUEST,
	CONN_EXEC,
	CONN_EVENTS,
	CONN_LAST,
	CONN_GONE
};

/**
 * struct conn - One connection
 * @link:	In agent.conns
 * @out:	What the socket would not take
 * @proc:	In EXEC, and in LAST until the client has gone
 * @shut:	Our direction is shut
 */
struct conn {
	struct agent *a;
	struct list link;
	struct loop_io io;
	struct loop_defer bury;
	enum conn_state state;
	bool shut;
	struct wire_reader in;
	struct ring out;
	struct proc *proc;
};

/** conn_new() - Serve @fd, which is taken over in any case */
void conn_new(struct agent *a, int fd);

/** conn_ready() - Whether nothing waits: data may be sent */
bool conn_ready(const struct conn *c);

/**
 * conn_send() - Send or queue one frame
 *
 * Data frames go out only when conn_ready(), so what is queued is bounded.
 *
 * Return: 0; -errno if the connection is gone, and has been cleaned up
 */
int conn_send(struct conn *c, const void *frame, size_t len);

/** conn_error() - Send ERROR as the last frame */
void conn_error(struct conn *c, enum wire_error_kind kind, const struct err *e);

/** conn_last() - No frame follows the ones queued */
void conn_last(struct conn *c);

/** conn_gone() - Drop the connection; its process goes on without it */
void conn_gone(struct conn *c);

#endif
