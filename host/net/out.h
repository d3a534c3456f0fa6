/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/out.h - frames for the guest, headers filled in
 *
 * out_begin() reserves room on the link and says where the transport's part
 * goes; out_end() writes what is before it. Checksums of the transport are
 * left for whoever needs them (NEEDS_CSUM), which is nobody.
 */
#ifndef HUTCH_HOST_NET_OUT_H
#define HUTCH_HOST_NET_OUT_H

#include "host/net/net.h"
#include "host/net/proto.h"

#define OUT_PREFIX \
	(sizeof(be32) + sizeof(struct vnet_hdr) + sizeof(struct eth_hdr))
#define OUT_HEAD_MAX (OUT_PREFIX + sizeof(struct ip6_hdr))
#define OUT_IP_MAX   65535u

/**
 * struct out - A frame under way, or what several have in common
 * @src:	From whom, of the outside or of the gateway
 * @dst:	The guest's, of the same family
 * @proto:	IP_TCP and so on
 * @hops:	0 for the usual
 * @csum_off:	Of the checksum in the transport's header; with @csum
 * @csum:	The transport has a checksum that is left undone
 * @gso_size:	TCP payload of each segment, if it is to be cut; or 0
 * @gso_head:	Then: bytes of the TCP header
 */
struct out {
	struct net_addr src;
	struct net_addr dst;
	uint8_t proto;
	uint8_t hops;
	bool csum;
	uint8_t csum_off;
	uint16_t gso_size;
	uint8_t gso_head;
};

/** out_ip_head() - Bytes of the IP header: 20 or 40 */
size_t out_ip_head(const struct out *o);

/** out_head() - Bytes before the transport's part, the length and all */
size_t out_head(const struct out *o);

/** out_ip4() - Write an IPv4 header, for @l4_len bytes behind it */
void out_ip4(struct net *n, const struct out *o, struct ip4_hdr *ip,
	     size_t l4_len);

/** out_ip6() - Write an IPv6 header */
void out_ip6(const struct out *o, struct ip6_hdr *ip, size_t l4_len);

/**
 * out_fill() - Write all that is before the transport's part
 * @at:		Of the length; out_head() bytes and then @l4_len
 *
 * With @csum the field is set to the sum of the pseudo-header.
 *
 * Return: bytes of it all
 */
size_t out_fill(struct net *n, const struct out *o, uint8_t *at, size_t l4_len);

/** out_begin() - Room for a frame. Return: for the transport's part, or NULL */
void *out_begin(struct net *n, const struct out *o, size_t l4_len);

/** out_end() - Send what out_begin() gave room for */
void out_end(struct net *n, const struct out *o, size_t l4_len);

/**
 * out_checksum() - Compute the checksum of @l4, whose field is zero
 *
 * Of everything that is not left to the guest: what comes in pieces, ICMP.
 */
void out_checksum(const struct out *o, uint8_t *l4, size_t l4_len);

/**
 * out_datagram() - Send @l4_len bytes, in pieces if they are beyond the MTU
 * @l4:		With the field of its checksum zero, which is filled in
 */
void out_datagram(struct net *n, const struct out *o, uint8_t *l4,
		  size_t l4_len);

#endif
