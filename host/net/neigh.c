/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/neigh.c - see neigh.h */
#include <string.h>

#include "common/rd.h"
#include "host/net/ends.h"
#include "host/net/neigh.h"
#include "host/net/out.h"

/* All nodes of a link, who hear what is for an address that is not set yet. */
static const struct net_addr all_nodes = { { 0xff, 0x02, [15] = 1 } };
static const struct net_addr nobody;

static bool arp_is_sound(const struct arp *a, size_t len)
{
	static const uint8_t none[4];

	return len >= sizeof(*a) && be16_get(a->htype) == ARP_ETHERNET &&
	       be16_get(a->ptype) == ETH_IP4 && a->hlen == ETH_ADDR &&
	       a->plen == 4 &&
	       memcmp(a->from_mac, ends_guest_mac, ETH_ADDR) == 0 &&
	       (memcmp(a->from_ip, ends_guest4.b + 12, 4) == 0 ||
		memcmp(a->from_ip, none, 4) == 0);
}

void neigh_arp(struct net *n, const uint8_t *buf, size_t len)
{
	const struct arp *a = (const void *)buf;
	const size_t need = OUT_PREFIX + sizeof(*a);
	const be32 prefix = be32_put((uint32_t)(need - sizeof(be32)));
	struct vnet_hdr vnet = { .num_buffers = le16_put(1) };
	struct eth_hdr eth = { .type = be16_put(ETH_ARP) };
	struct arp reply;
	uint8_t *at;

	if (!arp_is_sound(a, len)) {
		n->stats.bad_frames++;
		return;
	}
	if (be16_get(a->op) != ARP_REQUEST ||
	    memcmp(a->to_ip, ends_gateway4.b + 12, 4) != 0)
		return;
	reply = *a;
	reply.op = be16_put(ARP_REPLY);
	memcpy(reply.from_mac, ends_gateway_mac, ETH_ADDR);
	memcpy(reply.from_ip, a->to_ip, 4);
	memcpy(reply.to_mac, a->from_mac, ETH_ADDR);
	memcpy(reply.to_ip, a->from_ip, 4);
	memcpy(eth.dst, ends_guest_mac, ETH_ADDR);
	memcpy(eth.src, ends_gateway_mac, ETH_ADDR);
	at = link_reserve(&n->link, need);
	if (!at)
		return;
	memcpy(at, &prefix, sizeof(prefix));
	memcpy(at + sizeof(prefix), &vnet, sizeof(vnet));
	memcpy(at + sizeof(prefix) + sizeof(vnet), &eth, sizeof(eth));
	memcpy(at + OUT_PREFIX, &reply, sizeof(reply));
	link_commit(&n->link, need);
	n->stats.frames_out++;
}

/* Options are pieces of eight bytes, of which none may have length 0. */
static bool options_are_sound(const uint8_t *buf, size_t len, bool from_nobody)
{
	struct rd rd = rd_init(buf, len);

	while (rd.left) {
		uint8_t type = rd_u8(&rd), eights = rd_u8(&rd);

		if (eights == 0 || !rd_bytes(&rd, eights * 8u - 2))
			return false;
		if (from_nobody && type == ND_OPT_SOURCE)
			return false;
	}
	return true;
}

static bool solicit_is_sound(const struct packet *p)
{
	const struct nd *s = (const void *)p->l4;

	return p->l4_len >= sizeof(*s) && p->hops == ND_HOPS && s->code == 0 &&
	       s->target[0] != 0xff &&
	       options_are_sound(p->l4 + sizeof(*s), p->l4_len - sizeof(*s),
				 addr_eq(&p->src, &nobody));
}

/** struct advert - A neighbour advertisement with the one option it needs */
struct advert {
	struct nd nd;
	uint8_t type;
	uint8_t eights;
	uint8_t mac[ETH_ADDR];
};
_Static_assert(sizeof(struct advert) == 32, "RFC 4861, 4.4 and 4.6.1");

void neigh_solicit(struct net *n, const struct packet *p)
{
	struct out o = { .proto = IP_ICMP6, .hops = ND_HOPS, .csum_off = 2 };
	struct advert ad = { .nd.type = ICMP6_NA,
			     .type = ND_OPT_TARGET,
			     .eights = 1 };
	uint32_t flags = ND_ROUTER | ND_OVERRIDE;
	const struct nd *s = (const void *)p->l4;

	if (!solicit_is_sound(p)) {
		n->stats.bad_frames++;
		return;
	}
	memcpy(o.src.b, s->target, sizeof(o.src.b));
	if (!ends_is_gateway(&o.src) || addr_is_v4(&o.src))
		return;
	o.dst = all_nodes;
	if (!addr_eq(&p->src, &nobody)) {
		o.dst = p->src;
		flags |= ND_SOLICITED;
	}
	ad.nd.flags = be32_put(flags);
	memcpy(ad.nd.target, s->target, sizeof(ad.nd.target));
	memcpy(ad.mac, ends_gateway_mac, ETH_ADDR);
	out_checksum(&o, (uint8_t *)&ad, sizeof(ad));
	out_datagram(n, &o, (uint8_t *)&ad, sizeof(ad));
}
