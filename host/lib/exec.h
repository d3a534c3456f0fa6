/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/exec.h - struct hutch_exec, which a few files share */
#ifndef HUTCH_HOST_LIB_EXEC_H
#define HUTCH_HOST_LIB_EXEC_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/session.h"

/* What a guest gets beyond a command's time-out and grace. */
#define EXEC_MARGIN_MS 10000
/* And, before it has said anything at all, to boot, if it has not. */
#define EXEC_BOOT_MS 120000

/**
 * struct exec_stream - stdout or stderr, as it comes
 * @next:	Cursor of the next byte, if @known
 * @known:	Not until the first bytes of an attached one, as a cursor may
 *		lie beyond the end, or count from it
 * @from:	What an attached one has asked for
 * @shut:	We have said that nobody reads it
 */
struct exec_stream {
	uint64_t next;
	uint64_t from;
	bool known;
	bool shut;
};

/**
 * struct hutch_exec - See hutch.h
 * @over:	-ENODATA after the last event, or the failure that ended it
 * @why:	Sentence of that failure
 * @attached:	By hutch_attach(): output may be TRUNCATED
 * @back:	Cursors counted from the end
 * @follow:	DONE, which is END, is no answer
 * @detach:	STARTED is the last event
 * @started:	STARTED has come
 * @sent:	Bytes of stdin sent
 * @acked:	Of them, those that the agent gave the room back for
 * @unread:	It has said that nobody can read any more
 * @patience_ms: How long the guest may say nothing, from HELLO; 0: for ever
 * @deadline_ns: When that is over; see deadline_in()
 * @msg:	Behind an event's msg and id
 */
struct hutch_exec {
	struct session s;
	int over;
	struct err why;
	bool attached;
	bool back;
	bool follow;
	bool detach;
	bool started;
	bool greeted;
	bool stdin_open;
	bool unread;
	uint64_t sent;
	uint64_t acked;
	uint64_t patience_ms;
	uint64_t deadline_ns;
	struct exec_stream out[2];
	char msg[HUTCH_ERR_MAX];
};

/**
 * execin_next() - Take in the next event
 *
 * Return: 1; 0: none yet; negative: it is over, with @x->why
 */
MUST_CHECK int execin_next(struct hutch_exec *x, struct hutch_exec_event *ev);

/** exec_stalled() - The guest keeps no time. Return: -ETIMEDOUT */
int exec_stalled(const char *name, struct err *e);

/** execin_exit() - Fill in the event of an EXIT, as what it is */
void execin_exit(const struct msg_exit *m, struct hutch_exec_event *ev);

#endif
