/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/hostaddr.h - the host's own addresses, as they come and go
 *
 * "internet" does not mean the host, whatever addresses it has: the policy is
 * told them (pins_take_local()). These are the addresses of its devices, and all
 * that its table "local" leads to itself: ranges (AnyIP), and the anycast address
 * of each prefix that a host has which forwards IPv6. A netlink socket, opened
 * before the jail.
 */
#ifndef HUTCH_HOST_NET_HOSTADDR_H
#define HUTCH_HOST_NET_HOSTADDR_H

#include "common/loop.h"
#include "host/net/policy/locals.h"

struct hostaddr;

/**
 * hostaddr_fn - All of them, at @h->list, which may be taken
 * @r:		0, or -errno: they are not known, and what was told before is not
 *		so any more
 */
typedef void hostaddr_fn(struct hostaddr *h, int r);

/** enum hostaddr_state - Which list is under way */
enum hostaddr_state {
	HOSTADDR_IDLE,
	HOSTADDR_ADDRS,
	HOSTADDR_ROUTES
};

/**
 * struct hostaddr - The socket, and what was last heard
 * @seq:	Of the list that was asked for last
 * @bad:	-errno: why the lists that are under way are not to be used
 * @stale:	Something has changed since they were asked for
 * @list:	What has come of them
 */
struct hostaddr {
	struct loop_io io;
	int fd;
	hostaddr_fn *fn;
	enum hostaddr_state state;
	uint32_t seq;
	int bad;
	bool stale;
	struct locals list;
};

/** hostaddr_open() - Return: 0 or -errno with a sentence */
MUST_CHECK int hostaddr_open(struct hostaddr *h, struct err *e);

/**
 * hostaddr_watch() - Get all of them now, and again when one changes
 *
 * @fn is called once before this returns, and later from the loop, always with
 * whole lists. When they cannot be had, they are asked for again when something
 * changes, not before.
 */
MUST_CHECK int hostaddr_watch(struct hostaddr *h, struct loop *l,
			      hostaddr_fn *fn, struct err *e);

/** hostaddr_close() - Idempotent */
void hostaddr_close(struct hostaddr *h);

#endif
