/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/dgram.h - flows of datagrams: what UDP and echoes have in common
 *
 * Each has a connected socket, so that the host's kernel sorts out who answers
 * whom, and passes errors back. A flow ends when it was idle for a while, or
 * when a newer one needs its place.
 */
#ifndef HUTCH_HOST_NET_DGRAM_H
#define HUTCH_HOST_NET_DGRAM_H

#include "host/net/net.h"
#include "host/net/out.h"

struct dgram;
struct icmp_quote;

/**
 * struct dgram_ops - What differs
 * @deliver:	Send the guest @len bytes at @msg, of which the first @head are
 *		for a header
 * @max:	Flows of this kind
 * @idle_ns:	Of one that was answered
 * @unheard_ns:	Of one that was not yet
 */
struct dgram_ops {
	void (*deliver)(struct dgram *d, uint8_t *msg, size_t len);
	unsigned int max;
	size_t head;
	uint64_t idle_ns;
	uint64_t unheard_ns;
};

/**
 * struct dgram - A flow of datagrams
 * @used_ns:	When something went either way, last
 * @heard:	Somebody has answered
 */
struct dgram {
	struct flow f;
	const struct dgram_ops *ops;
	uint64_t used_ns;
	bool heard;
};

/**
 * dgram_send() - Send what the guest sent, in a flow of its own if need be
 * @q:		To tell it that it did not work, or is not allowed
 */
void dgram_send(struct net *n, const struct dgram_ops *ops,
		const struct flow_key *key, const struct icmp_quote *q,
		const void *buf, size_t len);

/** dgram_out() - From the peer of a flow to the guest */
struct out dgram_out(const struct dgram *d, uint8_t proto);

#endif
