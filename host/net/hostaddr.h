/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/hostaddr.h - the host's own addresses, as they come and go
 *
 * "internet" does not mean the host, whatever addresses it has: the policy is
 * told them (pins_set_local()). A netlink socket, opened before the jail.
 */
#ifndef HUTCH_HOST_NET_HOSTADDR_H
#define HUTCH_HOST_NET_HOSTADDR_H

#include "common/loop.h"
#include "host/net/policy/pins.h"

struct hostaddr;

/** hostaddr_fn - All of them, @n at @a; -errno of @r: they are not known */
typedef void hostaddr_fn(struct hostaddr *h, int r);

/**
 * struct hostaddr - The socket, and what was last heard
 * @addr:	@n of them, or what has come of a list that is under way
 * @listing:	A list is under way
 * @stale:	And something has changed meanwhile
 */
struct hostaddr {
	struct loop_io io;
	int fd;
	hostaddr_fn *fn;
	bool listing;
	bool stale;
	size_t n;
	struct net_addr addr[PINS_LOCAL_MAX];
};

/** hostaddr_open() - Return: 0 or -errno with a sentence */
MUST_CHECK int hostaddr_open(struct hostaddr *h, struct err *e);

/**
 * hostaddr_watch() - Get all of them now, and again when one changes
 *
 * @fn is called once before this returns, and later from the loop.
 */
MUST_CHECK int hostaddr_watch(struct hostaddr *h, struct loop *l,
			      hostaddr_fn *fn, struct err *e);

/** hostaddr_close() - Idempotent */
void hostaddr_close(struct hostaddr *h);

#endif
