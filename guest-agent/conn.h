/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/conn.h - a client's connection: frames in, frames out */
#ifndef HUTCH_GUEST_AGENT_CONN_H
#define HUTCH_GUEST_AGENT_CONN_H

#include "common/list.h"
#include "common/loop.h"
#include "common/ring.h"
#include "common/wire.h"
#include "guest-agent/attach.h"

struct agent;
struct proc;
struct tunnel;

/**
 * enum conn_state - What the next frame must be
 *
 * HELLO -> REQUEST -> EXEC, ATTACH, LIST, WAIT, CONNECT, EVENTS or LAST; these
 * -> LAST; any -> GONE.
 *
 * LAST: the last frame is queued.  It is sent, then our direction is shut;
 * what the client still says is thrown away until it closes.  Closing first
 * would reset the stream under the client, who may not have read it all.
 */
enum conn_state {
	CONN_HELLO,
	CONN_REQUEST,
	CONN_EXEC,
	CONN_ATTACH,
	CONN_LIST,
	CONN_WAIT,
	CONN_CONNECT,
	CONN_EVENTS,
	CONN_LAST,
	CONN_GONE
};

/**
 * struct listing - How far LIST has come
 * @flags:	WIRE_LIST_*
 * @next:	Number of the first process not told yet
 * @id:		The only one wanted, or ""
 */
struct listing {
	uint32_t flags;
	uint64_t next;
	char id[WIRE_ID_MAX + 1];
};

/**
 * struct conn - One connection
 * @link:	In agent.conns
 * @out:	What the socket would not take
 * @proc:	In EXEC and ATTACH, and then in LAST until the client has gone;
 *		in WAIT the one whose end ends the waiting, or NULL
 * @at:		What it has of @proc, save in WAIT
 * @shut:	Our direction is shut
 * @subscribed:	Counted in agent.events
 * @busy_missed: It has yet to be told how busy the agent is
 * @listing:	In LIST: where it is
 * @waiting:	In agent.waiting, in WAIT
 * @port:	In WAIT
 * @tunnel:	In CONNECT: what it is to become
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
	struct attach at;
	bool subscribed;
	bool busy_missed;
	struct listing listing;
	struct list waiting;
	uint16_t port;
	struct tunnel *tunnel;
};

/** conn_new() - Serve @fd, which is taken over in any case */
void conn_new(struct agent *a, int fd);

/** conn_attached() - Whether it is a client of its process */
bool conn_attached(const struct conn *c);

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

/** conn_send_empty() - Send a frame without payload; as conn_send() */
int conn_send_empty(struct conn *c, enum wire_type type);

/** conn_call_again() - There is more to send, when others had their turn */
void conn_call_again(struct conn *c);

/** conn_done() - Send DONE as the last frame */
void conn_done(struct conn *c);

/** conn_error() - Send ERROR as the last frame */
void conn_error(struct conn *c, enum wire_error_kind kind, const struct err *e);

/** conn_last() - No frame follows the ones queued */
void conn_last(struct conn *c);

/** conn_give_away() - Drop it, but not its socket, which is the caller's */
MUST_CHECK int conn_give_away(struct conn *c);

/** conn_gone() - Drop the connection; its process goes on without it */
void conn_gone(struct conn *c);

#endif
