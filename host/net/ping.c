/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/ping.c - see ping.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/dgram.h"
#include "host/net/icmp.h"
#include "host/net/limits.h"
#include "host/net/out.h"
#include "host/net/ping.h"

/* The kernel has put its own identifier in: the guest gets its own back. */
static void deliver(struct dgram *d, uint8_t *msg, size_t len)
{
	const bool v4 = addr_is_v4(&d->f.key.peer);
	const uint8_t type = v4 ? ICMP_ECHO_REPLY : ICMP6_ECHO_REPLY;
	struct out o = dgram_out(d, v4 ? IP_ICMP : IP_ICMP6);
	struct icmp_hdr *h = (void *)msg;

	if (len < sizeof(*h) || h->type != type)
		return;
	h->a = be16_put(d->f.key.guest_port);
	h->csum = be16_put(0);
	o.csum_off = 2;
	out_checksum(&o, msg, len);
	out_datagram(d->f.net, &o, msg, len);
}

static const struct dgram_ops ops = {
	.deliver = deliver,
	.max = NET_PING_MAX,
	.head = 0,
	.idle_ns = PING_IDLE_NS,
	.unheard_ns = PING_IDLE_NS,
};

void ping_input(struct net *n, const struct packet *p)
{
	const struct icmp_hdr *h = (const void *)p->l4;
	const struct flow_key key = {
		.peer = p->dst,
		.guest_port = be16_get(h->a),
		.proto = NET_ICMP,
	};
	struct icmp_quote q = icmp_quote(p);

	dgram_send(n, &ops, &key, &q, p->l4, p->l4_len);
}
