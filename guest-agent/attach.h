/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/attach.h - what a connection has of a process it is attached to
 *
 * The foreground client, who started the process, gets bytes as they are read
 * (stream.c).  The others each have a cursor into what is kept of each stream;
 * they get more whenever their socket takes it, and the process never waits.
 */
#ifndef HUTCH_GUEST_AGENT_ATTACH_H
#define HUTCH_GUEST_AGENT_ATTACH_H

#include "common/list.h"
#include "common/wire_proc.h"
#include "guest-agent/input.h"

struct conn;
struct proc;

/* Output that one client gets before others have their turn. */
#define ATTACH_TURN_MAX (1u << 20)

/* No end is known yet. */
#define ATTACH_NO_END UINT64_MAX

/**
 * struct attach - Embedded in struct conn
 * @link:	In proc.clients
 * @counted:	One that makes the agent busy
 * @exit_due:	EXIT is the last frame, and not DONE
 * @exit_sent:	It is on its way
 * @clean:	The client closed of its own accord
 * @want:	Which streams it gets
 * @cursor:	Of the next byte; of no meaning for the foreground one
 * @end:	Where each stream ends for it, or ATTACH_NO_END
 */
struct attach {
	struct list link;
	bool counted;
	bool exit_due;
	bool exit_sent;
	bool clean;
	bool want[2];
	uint64_t cursor[2];
	uint64_t end[2];
	struct in_client in;
};

/** attach_join() - Make @c one of the clients of @p */
void attach_join(struct conn *c, struct proc *p, bool counted);

/** attach_leave() - The opposite; nothing if it is none */
void attach_leave(struct conn *c);

/** attach_serve() - Serve ATTACH: STARTED, and what there is */
void attach_serve(struct conn *c, struct proc *p, const struct msg_attach *m);

/** attach_feed() - Send an attached client what it can take */
void attach_feed(struct conn *c);

/** attach_stop() - It wants no more of stdout (0) or stderr (1) */
void attach_stop(struct conn *c, int which);

/** attach_ended() - The process has ended and all has been read */
void attach_ended(struct conn *c);

#endif
