/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/net.h - the guest's network, as the boot message has it */
#ifndef HUTCH_GUEST_AGENT_NET_H
#define HUTCH_GUEST_AGENT_NET_H

#include "common/wire_net.h"

struct boot;

/* All requests of one boot message, and a header of each more. */
#define NET_BATCH_MAX 4096u

/**
 * struct net_batch - Requests to the kernel, sent and answered at once
 * @what:	Of each, for a sentence; the request's number is its index
 */
struct net_batch {
	uint8_t buf[NET_BATCH_MAX];
	size_t len;
	unsigned int n;
	const char *what[1 + WIRE_NET_ADDRS_MAX + WIRE_NET_ROUTES_MAX];
};

/** net_compose() - An interface up, its addresses, its routes */
void net_compose(struct net_batch *b, const struct msg_net *m,
		 unsigned int index);

/**
 * net_answers() - What the kernel says to some of them
 * @n_done:	Requests answered so far; the caller's, 0 at first
 *
 * Return: 0, or -errno with a sentence of the first that failed
 */
MUST_CHECK int net_answers(const struct net_batch *b, const void *p, size_t len,
			   unsigned int *n_done, struct err *e);

/* Longest text of resolv.conf: three servers, and domains with their blanks. */
#define NET_RESOLV_MAX                                  \
	(WIRE_NET_DNS_MAX * 64ul + sizeof("search\n") + \
	 WIRE_NET_SEARCH_MAX * (WIRE_NET_DOMAIN_MAX + 1ul))

/** net_resolv_text() - Of /etc/resolv.conf */
void net_resolv_text(const struct msg_net *m, char text[NET_RESOLV_MAX]);

/**
 * net_write_resolv() - Put it in place of what is there, a link too
 * @dirfd:	/etc.  An image has a link there often, to a file of a service
 *		that does not run in a guest of ours
 *
 * Return: 0 or -errno
 */
MUST_CHECK int net_write_resolv(int dirfd, const char *text);

/** net_set_up() - All of it; what fails is kept as b->failed */
void net_set_up(struct boot *b);

#endif
