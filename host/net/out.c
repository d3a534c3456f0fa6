/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/out.c - see out.h */
#include <string.h>

#include "host/net/ends.h"
#include "host/net/csum.h"
#include "host/net/limits.h"
#include "host/net/out.h"

#define HOPS 64u

size_t out_ip_head(const struct out *o)
{
	return addr_is_v4(&o->dst) ? sizeof(struct ip4_hdr)
				   : sizeof(struct ip6_hdr);
}

size_t out_head(const struct out *o)
{
	return OUT_PREFIX + out_ip_head(o);
}

void out_ip4(struct net *n, const struct out *o, struct ip4_hdr *ip,
	     size_t l4_len)
{
	*ip = (struct ip4_hdr){
		.ver_ihl = 0x45,
		.len = be16_put((uint16_t)(sizeof(*ip) + l4_len)),
		.id = be16_put(n->ip4_id++),
		.frag = be16_put(o->proto == IP_TCP ? IP4_DF : 0),
		.ttl = o->hops ? o->hops : HOPS,
		.proto = o->proto,
	};
	memcpy(ip->src, o->src.b + 12, 4);
	memcpy(ip->dst, o->dst.b + 12, 4);
	ip->csum = csum_end(csum_add(0, ip, sizeof(*ip)));
}

void out_ip6(const struct out *o, struct ip6_hdr *ip, size_t l4_len)
{
	*ip = (struct ip6_hdr){
		.ver_flow = be32_put(6u << 28),
		.len = be16_put((uint16_t)l4_len),
		.next = o->proto,
		.hops = o->hops ? o->hops : HOPS,
	};
	memcpy(ip->src, o->src.b, 16);
	memcpy(ip->dst, o->dst.b, 16);
}

static void fill_vnet(const struct out *o, struct vnet_hdr *h, size_t l4_at,
		      size_t l4_len)
{
	const bool v4 = addr_is_v4(&o->dst);

	*h = (struct vnet_hdr){ .num_buffers = le16_put(1) };
	if (!o->csum)
		return;
	h->flags = VNET_NEEDS_CSUM;
	h->csum_start = le16_put((uint16_t)l4_at);
	h->csum_offset = le16_put(o->csum_off);
	if (!o->gso_size || l4_len - o->gso_head <= o->gso_size)
		return;
	h->gso_type = v4 ? VNET_GSO_TCPV4 : VNET_GSO_TCPV6;
	h->gso_size = le16_put(o->gso_size);
	h->hdr_len = le16_put((uint16_t)(l4_at + o->gso_head));
}

static void fill_eth(struct eth_hdr *eth, uint16_t type)
{
	memcpy(eth->dst, ends_guest_mac, ETH_ADDR);
	memcpy(eth->src, ends_gateway_mac, ETH_ADDR);
	eth->type = be16_put(type);
}

size_t out_fill(struct net *n, const struct out *o, uint8_t *at, size_t l4_len)
{
	const bool v4 = addr_is_v4(&o->dst);
	const size_t ip_len = out_ip_head(o);
	const size_t len = OUT_PREFIX - sizeof(be32) + ip_len + l4_len;
	const be32 prefix = be32_put((uint32_t)len);
	uint8_t *eth = at + sizeof(be32) + sizeof(struct vnet_hdr);
	uint8_t *ip = at + OUT_PREFIX;
	be16 sum;

	memcpy(at, &prefix, sizeof(prefix));
	fill_vnet(o, (void *)(at + sizeof(be32)),
		  sizeof(struct eth_hdr) + ip_len, l4_len);
	fill_eth((void *)eth, v4 ? ETH_IP4 : ETH_IP6);
	if (v4)
		out_ip4(n, o, (void *)ip, l4_len);
	else
		out_ip6(o, (void *)ip, l4_len);
	if (o->csum) {
		sum = csum_fold(csum_pseudo(ip, !v4, o->proto, l4_len));
		memcpy(ip + ip_len + o->csum_off, &sum, sizeof(sum));
	}
	n->stats.frames_out++;
	return sizeof(be32) + len;
}

void *out_begin(struct net *n, const struct out *o, size_t l4_len)
{
	uint8_t *at = link_reserve(&n->link, out_head(o) + l4_len);

	return at ? at + out_head(o) : NULL;
}

void out_end(struct net *n, const struct out *o, size_t l4_len)
{
	uint8_t *at = link_reserve(&n->link, out_head(o) + l4_len);

	bug_on(!at);
	link_commit(&n->link, out_fill(n, o, at, l4_len));
}

/* ---- Pieces ---- */

/** struct piece - Which bytes, and whose they are */
struct piece {
	const uint8_t *bytes;
	size_t len;
	size_t off;
	bool more;
	uint32_t id;
};

static void send_piece4(struct net *n, const struct out *o,
			const struct piece *p)
{
	uint8_t *l4 = out_begin(n, o, p->len);
	struct ip4_hdr *ip;

	if (!l4)
		return;
	memcpy(l4, p->bytes, p->len);
	out_end(n, o, p->len);
	ip = (void *)(l4 - sizeof(*ip));
	ip->id = be16_put((uint16_t)p->id);
	ip->frag = be16_put((uint16_t)(p->off / 8 | (p->more ? IP4_MF : 0)));
	ip->csum = be16_put(0);
	ip->csum = csum_end(csum_add(0, ip, sizeof(*ip)));
}

static void send_piece6(struct net *n, const struct out *o,
			const struct piece *p)
{
	const struct ip6_frag head = {
		.next = o->proto,
		.off = be16_put((uint16_t)(p->off | (p->more ? IP6_MF : 0))),
		.id = be32_put(p->id),
	};
	struct out as = *o;
	uint8_t *at;

	as.proto = IP_FRAGMENT;
	at = out_begin(n, &as, sizeof(head) + p->len);
	if (!at)
		return;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), p->bytes, p->len);
	out_end(n, &as, sizeof(head) + p->len);
}

/* Of the addresses, protocol and length; ICMP of IPv4 has no such part. */
static uint64_t pseudo_sum(const struct out *o, size_t l4_len)
{
	struct ip6_hdr ip6 = { 0 };
	struct ip4_hdr ip4 = { 0 };

	if (o->proto == IP_ICMP)
		return 0;
	if (!addr_is_v4(&o->dst)) {
		memcpy(ip6.src, o->src.b, 16);
		memcpy(ip6.dst, o->dst.b, 16);
		return csum_pseudo(&ip6, true, o->proto, l4_len);
	}
	memcpy(ip4.src, o->src.b + 12, 4);
	memcpy(ip4.dst, o->dst.b + 12, 4);
	return csum_pseudo(&ip4, false, o->proto, l4_len);
}

void out_checksum(const struct out *o, uint8_t *l4, size_t l4_len)
{
	be16 sum = csum_end(csum_add(pseudo_sum(o, l4_len), l4, l4_len));

	/* Zero would say that there is none. */
	if (o->proto == IP_UDP && be16_get(sum) == 0)
		sum = be16_put(0xffff);
	memcpy(l4 + o->csum_off, &sum, sizeof(sum));
}

static void send_pieces(struct net *n, const struct out *given, uint8_t *l4,
			size_t l4_len)
{
	const bool v4 = addr_is_v4(&given->dst);
	const size_t head = v4 ? sizeof(struct ip4_hdr)
			       : sizeof(struct ip6_hdr) +
					    sizeof(struct ip6_frag);
	const size_t step = (n->cfg.mtu - head) & ~(size_t)7;
	const uint32_t id = n->ip6_id++;
	struct out o = *given;

	/* Over several frames it can be left to nobody. */
	if (o.csum)
		out_checksum(&o, l4, l4_len);
	o.csum = false;
	for (size_t off = 0; off < l4_len; off += step) {
		struct piece p = { .bytes = l4 + off,
				   .len = MIN(step, l4_len - off),
				   .off = off,
				   .more = l4_len - off > step,
				   .id = id };

		if (v4)
			send_piece4(n, &o, &p);
		else
			send_piece6(n, &o, &p);
	}
}

void out_datagram(struct net *n, const struct out *o, uint8_t *l4,
		  size_t l4_len)
{
	void *at;

	if (l4_len > n->cfg.mtu - out_ip_head(o)) {
		send_pieces(n, o, l4, l4_len);
		return;
	}
	at = out_begin(n, o, l4_len);
	if (!at)
		return;
	memcpy(at, l4, l4_len);
	out_end(n, o, l4_len);
}
