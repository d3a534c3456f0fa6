/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/session.h - one request to a VM's agent, and why it came to nothing
 *
 * Two connections.  One to the agent carries the request and what comes of it.
 * One to the VM's keeper has a "wait for=exit" under way: when the first
 * breaks, the second knows why, even if the VM's record has been removed by
 * then.
 */
#ifndef HUTCH_HOST_LIB_SESSION_H
#define HUTCH_HOST_LIB_SESSION_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/conn.h"
#include "host/lib/hutch.h"

/**
 * struct session - A request under way
 * @keeper_fd:	-1 if the keeper had no room
 * @rec:	How the VM ended, once known
 */
struct session {
	struct hutch *h;
	struct conn conn;
	int keeper_fd;
	struct hutch_record *rec;
	char name[HUTCH_NAME_MAX + 1];
};

/** session_init() - Nothing open; @name is that of a VM, and checked */
void session_init(struct session *s, struct hutch *h, const char *name);

/**
 * session_open() - Connect to the VM
 *
 * Return: 0; -ENOENT if there is no such VM; -ESRCH if it is not running, with
 *         the reason; or -errno
 */
MUST_CHECK int session_open(struct session *s, struct err *e);

/** session_is_up() - Whether the VM's guest has been up, as its record says */
bool session_is_up(const struct session *s);

/**
 * session_send() - Send a whole frame, or have it ready to be sent
 *
 * Return: 0, also over a broken connection, which tells why when it is read;
 *         -ENOMEM
 */
MUST_CHECK int session_send(struct session *s, const void *frame, size_t len,
			    struct err *e);

/**
 * session_broken() - Why the connection has ended
 * @what:	"the command ended": what has not happened yet
 *
 * May wait up to HUTCH_ANSWER_MS for the VM's keeper.
 *
 * Return: -ESRCH if the VM ended, with its reason; -ECONNRESET if it lives;
 *         or another -errno
 */
MUST_CHECK int session_broken(struct session *s, const char *what,
			      struct err *e);

/**
 * session_await() - Wait for the next frame
 * @ret:	Borrowed until the next call
 * @end_ns:	See deadline_in()
 *
 * Return: 0; -ETIMEDOUT; -ESRCH and others as session_broken(); -EBADMSG
 */
MUST_CHECK int session_await(struct session *s, uint64_t end_ns,
			     struct wire_frame *ret, struct err *e);

/** session_close() - Idempotent; @rec goes too */
void session_close(struct session *s);

/**
 * session_main() - The id of the VM's main process
 *
 * Return: 0; -ENOENT if there is no such VM, or it has no main process
 */
MUST_CHECK int session_main(struct hutch *h, const char *name, const char **ret,
			    struct err *e);

/** session_check_proc() - 0, or -EINVAL if @proc cannot be a process's id */
MUST_CHECK int session_check_proc(const char *proc, struct err *e);

#define SESSION_MAIN "main" /* id of a VM's main process */

#endif
