/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/net/rate.h - token buckets: so many bytes and packets a second
 *
 * A frame goes if neither bucket is in debt, and is then taken from both: so
 * the largest one goes whatever the rate is, and the next waits the longer for
 * it.  What is saved up is a tenth of a second's worth.
 */
#ifndef HUTCH_VMM_NET_RATE_H
#define HUTCH_VMM_NET_RATE_H

#include <stdint.h>

#include "common/err.h"

/* Rates a second; beyond them no link of ours goes. */
#define NET_RATE_BYTES_MAX   (1ull << 36)
#define NET_RATE_PACKETS_MAX 1000000000ull

/**
 * struct net_rate - What a user asked for, of each direction
 * @bytes:	A second; 0 for no limit
 * @packets:	Likewise
 */
struct net_rate {
	uint64_t bytes;
	uint64_t packets;
};

/**
 * struct net_bucket - Tokens of one kind
 * @rate:	A second; 0: no limit
 * @level:	Tokens, in billionths: as many a nanosecond as @rate says
 * @at_ns:	CLOCK_MONOTONIC of @level
 */
struct net_bucket {
	uint64_t rate;
	int64_t level;
	uint64_t at_ns;
};

/** struct net_limit - The buckets of one direction */
struct net_limit {
	struct net_bucket bytes;
	struct net_bucket packets;
};

/** net_rate_parse() - "10M", "10M/1000p" or "1000p". Return: 0 or -errno */
MUST_CHECK int net_rate_parse(const char *what, const char *s,
			      struct net_rate *ret, struct err *e);

/** net_limit_init() - Full buckets */
void net_limit_init(struct net_limit *l, const struct net_rate *rate,
		    uint64_t now_ns);

/** net_limit_wait() - Nanoseconds until a frame may go; 0: now */
uint64_t net_limit_wait(struct net_limit *l, uint64_t now_ns);

/** net_limit_take() - A frame of @len bytes went */
void net_limit_take(struct net_limit *l, size_t len);

/** net_limit_any() - Whether there is one at all: else no clock is read */
static inline int net_limit_any(const struct net_limit *l)
{
	return l->bytes.rate || l->packets.rate;
}

#endif
