/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/intercept/carrier.h - an interception between two sockets, in a loop
 *
 * Context: one thread, the loop's.
 */
#ifndef HUTCH_HOST_NET_INTERCEPT_CARRIER_H
#define HUTCH_HOST_NET_INTERCEPT_CARRIER_H

#include "common/loop.h"
#include "host/net/intercept/icpt.h"

/* How long what the guest still sends is thrown away after the last answer. */
#define CARRIER_LINGER_NS 2000000000ull

struct carrier;

/**
 * struct carrier_opts - What is carried
 * @icpt:	The session
 * @guest_fd:	A stream to the guest; nonblocking
 * @up_fd:	A socket that is connected to @icpt's address or will be;
 *		nonblocking. -1: there is none, the rule has a handler
 * @begin_ns:	How long TLS may take, of both sides
 * @rest_ns:	How long it may wait for a request
 * @idle_ns:	How long for anything else, a handler's answer too
 * @want_up:	Of a handler: connect to it, then call carrier_up() or
 *		carrier_no_up(), but not from within; called once at most
 * @ended:	It is over, both are closed, and the carrier is about to be freed;
 *		@why as icpt_why(). Not called after carrier_stop(). May be NULL
 */
struct carrier_opts {
	struct loop *loop;
	struct icpt_opts icpt;
	int guest_fd;
	int up_fd;
	uint64_t begin_ns;
	uint64_t rest_ns;
	uint64_t idle_ns;
	void (*want_up)(void *arg, struct carrier *c);
	void (*ended)(void *arg, struct carrier *c, const char *why);
	void *arg;
};

/**
 * carrier_start() - Begin; both descriptors are the carrier's on success
 *
 * Return: 0; -ENOMEM; -EIO: OpenSSL failed; what loop_add() says
 */
MUST_CHECK int carrier_start(const struct carrier_opts *o, struct carrier **ret,
			     struct err *e);

/** carrier_rests_ns() - How long it has waited for a request; 0: it does not */
uint64_t carrier_rests_ns(const struct carrier *c);

/** carrier_up() - Connected to the handler: @fd is the carrier's, nonblocking */
void carrier_up(struct carrier *c, int fd);

/** carrier_no_up() - It cannot be: see icpt_no_up() */
void carrier_no_up(struct carrier *c, unsigned int status, const char *why);

/** carrier_retire() - As icpt_retire(); @ended is called when it is over */
void carrier_retire(struct carrier *c);

/** carrier_stop() - End at once. NULL is fine */
void carrier_stop(struct carrier *c);

#endif
