/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/tcp_seg.c - TCP headers, in and out: see tcp.h */
#include <errno.h>
#include <string.h>

#include "common/rd.h"
#include "host/net/ends.h"
#include "host/net/limits.h"
#include "host/net/tcp.h"

#define CSUM_OFF 16u
#define WS_MAX   14u /* RFC 7323, 2.3 */

/* Return: 0, or -EBADMSG for an option that is not as long as it says. */
static int parse_options(const uint8_t *buf, size_t len, struct tcp_seg *s)
{
	struct rd rd = rd_init(buf, len);

	while (rd.left) {
		uint8_t type = rd_u8(&rd), size;
		const uint8_t *v;

		if (type == TCP_OPT_END)
			return 0;
		if (type == TCP_OPT_NOP)
			continue;
		size = rd_u8(&rd);
		v = size < 2 ? NULL : rd_bytes(&rd, size - 2u);
		if (!v)
			return -EBADMSG;
		if (type == TCP_OPT_MSS && size == 4)
			s->mss = (uint16_t)(v[0] << 8 | v[1]);
		else if (type == TCP_OPT_WSCALE && size == 3)
			s->ws = MIN(v[0], WS_MAX);
	}
	return 0;
}

int tcp_seg_parse(const struct packet *p, struct tcp_seg *ret)
{
	const struct tcp_hdr *h = (const void *)p->l4;
	struct tcp_seg s;
	size_t head;

	if (p->l4_len < sizeof(*h))
		return -EBADMSG;
	head = (size_t)(h->off >> 4) * 4;
	if (head < sizeof(*h) || head > p->l4_len)
		return -EBADMSG;
	s = (struct tcp_seg){
		.sport = be16_get(h->sport),
		.dport = be16_get(h->dport),
		.seq = be32_get(h->seq),
		.ack = be32_get(h->ack),
		.flags = h->flags,
		.window = be16_get(h->window),
		.data = p->l4 + head,
		.len = p->l4_len - head,
		.mss = TCP_MSS_UNSAID,
		.ws = -1,
	};
	if (s.dport == 0 || s.sport == 0)
		return -EBADMSG;
	if ((s.flags & TCP_SYN) &&
	    parse_options(p->l4 + sizeof(*h), head - sizeof(*h), &s) < 0)
		return -EBADMSG;
	*ret = s;
	return 0;
}

struct out tcp_seg_out(const struct tcp *c)
{
	return (struct out){ .src = c->f.key.peer,
			     .dst = *ends_guest(&c->f.key.peer),
			     .proto = IP_TCP,
			     .csum = true,
			     .csum_off = CSUM_OFF,
			     .gso_size = c->mss,
			     .gso_head = sizeof(struct tcp_hdr) };
}

uint32_t tcp_seg_most(const struct tcp *c)
{
	const struct out o = tcp_seg_out(c);

	return c->f.net->cfg.mtu -
	       (uint32_t)(out_ip_head(&o) + sizeof(struct tcp_hdr));
}

void tcp_seg_fill(struct tcp *c, void *at, uint8_t flags, uint32_t seq)
{
	const uint8_t ws = flags & TCP_SYN ? 0 : c->our_ws;
	uint32_t wnd = tcp_in_window(c) >> ws;
	struct tcp_hdr h = {
		.sport = be16_put(c->f.key.peer_port),
		.dport = be16_put(c->f.key.guest_port),
		.seq = be32_put(seq),
		.ack = be32_put(c->rcv_nxt),
		.off = sizeof(h) / 4 << 4,
		.flags = flags,
	};

	wnd = MIN(wnd, 65535u);
	h.window = be16_put((uint16_t)wnd);
	memcpy(at, &h, sizeof(h));
	c->rcv_edge = c->rcv_nxt + (wnd << ws);
	c->rcv_most = MAX(c->rcv_most, wnd << ws);
	tcp_ack_told(c);
}

/** struct syn_options - What is said once, when it begins */
struct syn_options {
	uint8_t mss_type;
	uint8_t mss_len;
	be16 mss;
	uint8_t nop;
	uint8_t ws_type;
	uint8_t ws_len;
	uint8_t ws;
};
_Static_assert(sizeof(struct syn_options) == 8, "RFC 9293, 3.1");

static void add_options(const struct tcp *c, uint8_t *at)
{
	struct syn_options opt = {
		.mss_type = TCP_OPT_MSS,
		.mss_len = 4,
		.mss = be16_put((uint16_t)tcp_seg_most(c)),
		.nop = TCP_OPT_NOP,
		.ws_type = TCP_OPT_WSCALE,
		.ws_len = 3,
		.ws = c->our_ws,
	};

	/* Who did not offer a scale must not be given one: RFC 7323, 2.2. */
	if (!c->our_ws)
		opt.ws_type = opt.ws_len = opt.ws = TCP_OPT_NOP;
	memcpy(at, &opt, sizeof(opt));
}

void tcp_seg_send(struct tcp *c, uint8_t flags, uint32_t seq)
{
	const size_t extra = flags & TCP_SYN ? sizeof(struct syn_options) : 0;
	const size_t len = sizeof(struct tcp_hdr) + extra;
	struct out o = tcp_seg_out(c);
	uint8_t *at = out_begin(c->f.net, &o, len);
	struct tcp_hdr *h = (void *)at;

	/* No room: whatever it was, the guest asks again. */
	if (!at)
		return;
	tcp_seg_fill(c, at, flags, seq);
	h->off = (uint8_t)(len / 4 << 4);
	if (extra)
		add_options(c, at + sizeof(*h));
	o.gso_size = 0;
	out_end(c->f.net, &o, len);
}

void tcp_seg_refuse(struct net *n, const struct packet *p,
		    const struct tcp_seg *s)
{
	const uint32_t len = (uint32_t)s->len + !!(s->flags & TCP_SYN) +
			     !!(s->flags & TCP_FIN);
	const struct out o = { .src = p->dst,
			       .dst = p->src,
			       .proto = IP_TCP,
			       .csum = true,
			       .csum_off = CSUM_OFF };
	struct tcp_hdr h = { .sport = be16_put(s->dport),
			     .dport = be16_put(s->sport),
			     .off = sizeof(h) / 4 << 4,
			     .flags = TCP_RST };
	uint8_t *at;

	if (s->flags & TCP_RST)
		return;
	if (s->flags & TCP_ACK) {
		h.seq = be32_put(s->ack);
	} else {
		h.ack = be32_put(s->seq + len);
		h.flags |= TCP_ACK;
	}
	at = out_begin(n, &o, sizeof(h));
	if (!at)
		return;
	memcpy(at, &h, sizeof(h));
	out_end(n, &o, sizeof(h));
}
