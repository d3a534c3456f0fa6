/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/packet.h - an IP packet of the guest's, taken apart
 *
 * Nothing in it is believed: lengths lie within what came, addresses are
 * checked by the caller, header checksums of IPv4 are verified. Checksums of
 * the transport are not: over the link nothing gets lost or changed, and what
 * leaves the host is a new packet with a new one.
 */
#ifndef HUTCH_HOST_NET_PACKET_H
#define HUTCH_HOST_NET_PACKET_H

#include <stdbool.h>

#include "common/base.h"
#include "host/net/policy/policy.h"

/**
 * struct packet - Where the parts of an IP packet are; borrows its bytes
 * @src, @dst:	IPv4 as ::ffff:a.b.c.d
 * @v6:		Its version
 * @proto:	Of @l4: never one of IPv6's extension headers
 * @hops:	Time to live, hop limit
 * @l4, @l4_len: The transport's header and data; of a fragment, a part
 * @frag:	Is one, and these say which:
 * @frag_off:	Bytes before it, a multiple of 8
 * @frag_more:	There are bytes after it
 * @frag_id:	What its pieces have in common
 */
struct packet {
	struct net_addr src;
	struct net_addr dst;
	bool v6;
	uint8_t proto;
	uint8_t hops;
	const uint8_t *l4;
	size_t l4_len;
	bool frag;
	bool frag_more;
	uint32_t frag_off;
	uint32_t frag_id;
};

/**
 * packet_ip4() - Take an IPv4 packet apart
 * @buf:	@len bytes, of which the last may be padding
 *
 * Options are passed over: what we send on has none.
 *
 * Return: 0, or -EBADMSG
 */
MUST_CHECK int packet_ip4(const void *buf, size_t len, struct packet *ret);

/**
 * packet_ip6() - The same of IPv6
 *
 * At most IP6_EXT_MAX extension headers; a routing header that is not at its
 * end is refused, and so is what is hidden behind any other.
 */
MUST_CHECK int packet_ip6(const void *buf, size_t len, struct packet *ret);

#endif
