/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/handlers.h - connections to handlers, which the keeper makes
 *
 * hutch-net has no file system, so the keeper is asked on the control socket:
 *
 *	ask:	{"connect": "/run/user/1000/h.sock", "id": 7}
 *	answer:	{"connected": 7}, with a descriptor
 *		{"connected": 7, "error": "refused"}
 *
 * It connects without waiting, and only to where a rule of the policy that is in
 * force leads. A handler whose queue is full is asked for again, until its time
 * is up; so is a keeper that has no ear.
 */
#ifndef HUTCH_HOST_NET_HANDLERS_H
#define HUTCH_HOST_NET_HANDLERS_H

#include "common/list.h"
#include "common/loop.h"

#define HANDLERS_WAIT_NS  10000000000ull /* for a connection, in all */
#define HANDLERS_AGAIN_NS 50000000ull    /* until it is asked for again */

/** struct handlers - Who waits; @fd is the control socket, borrowed */
struct handlers {
	struct loop *loop;
	int fd;
	struct list asks;
	uint64_t last_id;
};

/**
 * struct handler_ask - Who waits for a connection, embedded in its owner
 * @path:	Borrowed, as long as it waits
 * @done:	Once: @fd, nonblocking, which is the owner's; or -1, with a status
 *		for the guest and a constant clause that says why
 * @id:		Of the question that is under way; 0: none is
 */
struct handler_ask {
	struct list link;
	struct loop_timer timer;
	struct handlers *of;
	const char *path;
	void (*done)(struct handler_ask *a, int fd, unsigned int status,
		     const char *why);
	uint64_t id;
	uint64_t until_ns;
};

/** handlers_init() - Nobody waits */
void handlers_init(struct handlers *h, struct loop *loop, int fd);

/** handlers_ask() - Have a connection; @a->path and @a->done are set */
void handlers_ask(struct handlers *h, struct handler_ask *a);

/** handlers_cancel() - It is not wanted any more; zeroed is fine */
void handlers_cancel(struct handler_ask *a);

/**
 * handlers_answer() - The keeper's answer
 * @fd:		Taken, whatever becomes of it; -1: none came
 * @error:	A word for why; NULL: none
 */
void handlers_answer(struct handlers *h, uint64_t id, int fd,
		     const char *error);

#endif
