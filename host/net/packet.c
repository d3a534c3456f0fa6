/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/packet.c - see packet.h */
#include <errno.h>
#include <string.h>

#include "common/rd.h"
#include "host/net/csum.h"
#include "host/net/limits.h"
#include "host/net/packet.h"
#include "host/net/proto.h"

static const be16 zero_sum;

int packet_ip4(const void *buf, size_t len, struct packet *ret)
{
	const struct ip4_hdr *h = buf;
	size_t head, total, frag;

	if (len < sizeof(*h))
		return -EBADMSG;
	head = (size_t)(h->ver_ihl & 15u) * 4;
	total = be16_get(h->len);
	frag = be16_get(h->frag);
	if (h->ver_ihl >> 4 != 4 || head < sizeof(*h) || total < head ||
	    total > len || h->ttl == 0)
		return -EBADMSG;
	/* With its own checksum in it, the sum of a header is zero. */
	if (be16_get(csum_end(csum_add(0, buf, head))) != be16_get(zero_sum))
		return -EBADMSG;
	*ret = (struct packet){
		.src = addr_v4(h->src),
		.dst = addr_v4(h->dst),
		.proto = h->proto,
		.hops = h->ttl,
		.l4 = (const uint8_t *)buf + head,
		.l4_len = total - head,
		.frag = (frag & (IP4_MF | IP4_OFF_MASK)) != 0,
		.frag_more = (frag & IP4_MF) != 0,
		.frag_off = (uint32_t)(frag & IP4_OFF_MASK) * 8,
		.frag_id = be16_get(h->id),
	};
	return 0;
}

/* One extension header; 1 if there was one, 0 if it is the transport's turn. */
static int pass_ext(struct rd *rd, struct packet *p)
{
	const struct ip6_ext *ext;
	const struct ip6_frag *f;

	switch (p->proto) {
	case IP_ROUTING:
	case IP_HOPOPTS:
	case IP_DSTOPTS:
		ext = rd_bytes(rd, sizeof(*ext));
		if (!ext || !rd_bytes(rd, (size_t)ext->len * 8))
			return -EBADMSG;
		if (p->proto == IP_ROUTING && ext->segments_left)
			return -EBADMSG;
		p->proto = ext->next;
		return 1;
	case IP_FRAGMENT:
		f = rd_bytes(rd, sizeof(*f));
		/* A piece of a piece is nobody's honest work. */
		if (!f || p->frag)
			return -EBADMSG;
		p->frag_off = be16_get(f->off) & 0xfff8u;
		p->frag_more = (be16_get(f->off) & IP6_MF) != 0;
		p->frag_id = be32_get(f->id);
		p->frag = p->frag_off || p->frag_more;
		p->proto = f->next;
		/* What follows is a header only if this is all of it. */
		return !p->frag;
	default:
		return 0;
	}
}

int packet_ip6(const void *buf, size_t len, struct packet *ret)
{
	struct rd rd = rd_init(buf, len);
	const struct ip6_hdr *h = rd_bytes(&rd, sizeof(*h));
	struct packet p = { .v6 = true };
	unsigned int n = 0;
	int r;

	if (!h || be32_get(h->ver_flow) >> 28 != 6 || h->hops == 0 ||
	    be16_get(h->len) > rd.left)
		return -EBADMSG;
	rd.left = be16_get(h->len);
	memcpy(p.src.b, h->src, sizeof(p.src.b));
	memcpy(p.dst.b, h->dst, sizeof(p.dst.b));
	/* IPv4 has a packet of its own; in this one it is a disguise. */
	if (addr_is_v4(&p.src) || addr_is_v4(&p.dst))
		return -EBADMSG;
	p.proto = h->next;
	p.hops = h->hops;
	do {
		r = pass_ext(&rd, &p);
		if (r < 0 || ++n > IP6_EXT_MAX)
			return -EBADMSG;
	} while (r > 0);
	p.l4 = rd.p;
	p.l4_len = rd.left;
	*ret = p;
	return 0;
}
