/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/udp.c - see udp.h */
#include <string.h>

#include "host/net/dgram.h"
#include "host/net/ends.h"
#include "host/net/icmp.h"
#include "host/net/limits.h"
#include "host/net/out.h"
#include "host/net/udp.h"

#define CSUM_OFF 6u

void udp_to_guest(struct net *n, const struct flow_key *key, uint8_t *msg,
		  size_t len)
{
	const struct udp_hdr h = {
		.sport = be16_put(key->peer_port),
		.dport = be16_put(key->guest_port),
		.len = be16_put((uint16_t)len),
	};
	const struct out o = { .src = key->peer,
			       .dst = *ends_guest(&key->peer),
			       .proto = IP_UDP,
			       .csum = true,
			       .csum_off = CSUM_OFF };

	/* Only a jumbogram could hold it. */
	if (len > OUT_IP_MAX - (addr_is_v4(&o.dst) ? out_ip_head(&o) : 0))
		return;
	memcpy(msg, &h, sizeof(h));
	out_datagram(n, &o, msg, len);
}

static void deliver(struct dgram *d, uint8_t *msg, size_t len)
{
	udp_to_guest(d->f.net, &d->f.key, msg, len);
}

static const struct dgram_ops ops = {
	.deliver = deliver,
	.max = NET_UDP_MAX,
	.head = sizeof(struct udp_hdr),
	.idle_ns = UDP_IDLE_NS,
	.unheard_ns = UDP_UNHEARD_NS,
};

void udp_input(struct net *n, const struct packet *p)
{
	const struct udp_hdr *h = (const void *)p->l4;
	struct icmp_quote q = icmp_quote(p);
	struct flow_key key;
	size_t len;

	if (p->l4_len < sizeof(*h) || be16_get(h->len) < sizeof(*h) ||
	    be16_get(h->len) > p->l4_len || be16_get(h->dport) == 0) {
		n->stats.bad_frames++;
		return;
	}
	len = be16_get(h->len);
	key = (struct flow_key){ .peer = p->dst,
				 .peer_port = be16_get(h->dport),
				 .guest_port = be16_get(h->sport),
				 .proto = NET_UDP };
	if (ends_is_gateway(&p->dst)) {
		if (be16_get(h->dport) == NET_DNS_PORT && n->cfg.dns)
			n->cfg.dns(n->cfg.arg, &key, p->l4 + sizeof(*h),
				   len - sizeof(*h));
		else
			icmp_error(n, &q, ICMP_WHY_PORT);
		return;
	}
	dgram_send(n, &ops, &key, &q, p->l4 + sizeof(*h), len - sizeof(*h));
}
