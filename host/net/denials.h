/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/denials.h - tell the keeper what was denied, and not too often
 *
 * A guest that tries again and again must not fill anybody's log: there is a
 * bucket of DENIALS_BURST events, into which one comes back each second. What is
 * not told is counted into the next that is; if none comes, the first of those is
 * told for all as soon as one may be.
 */
#ifndef HUTCH_HOST_NET_DENIALS_H
#define HUTCH_HOST_NET_DENIALS_H

#include "common/loop.h"
#include "host/net/policy/policy.h"

struct json_t;

#define DENIALS_BURST   20u
#define DENIALS_EACH_NS 1000000000ull

/**
 * struct denials - The bucket
 * @fd:		The control socket; borrowed
 * @left:	Events that may be told now
 * @untold:	Since the last that was
 * @kept:	The first of those, if there was memory for it
 * @timer:	Set while there is one
 */
struct denials {
	struct loop *loop;
	int fd;
	unsigned int left;
	uint64_t filled_ns;
	uint64_t untold;
	struct json_t *kept;
	struct loop_timer timer;
};

/** denials_init() - A full bucket */
void denials_init(struct denials *d, struct loop *loop, int fd);

/** denials_done() - Zeroed is fine */
void denials_done(struct denials *d);

/** denials_flow() - A flow was denied */
void denials_flow(struct denials *d, const struct attempt *a,
		  const struct verdict *v);

/** denials_name() - A name was not resolved; @rule as of struct verdict */
void denials_name(struct denials *d, const char *name, int rule,
		  const char *why);

#endif
