/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/icmp.c - see icmp.h */
#include <errno.h>
#include <string.h>

#include "host/net/ends.h"
#include "host/net/icmp.h"
#include "host/net/limits.h"
#include "host/net/neigh.h"
#include "host/net/out.h"
#include "host/net/ping.h"

#define CSUM_OFF 2u

/** struct kind - Type and code, of one family */
struct kind {
	uint8_t type;
	uint8_t code;
};

static const struct kind kinds4[] = {
	[ICMP_WHY_NET] = { ICMP_UNREACH, ICMP_NET_UNREACH },
	[ICMP_WHY_HOST] = { ICMP_UNREACH, ICMP_HOST_UNREACH },
	[ICMP_WHY_PORT] = { ICMP_UNREACH, ICMP_PORT_UNREACH },
	[ICMP_WHY_PROTO] = { ICMP_UNREACH, ICMP_PROTO_UNREACH },
	[ICMP_WHY_ADMIN] = { ICMP_UNREACH, ICMP_ADMIN_PROHIB },
};

static const struct kind kinds6[] = {
	[ICMP_WHY_NET] = { ICMP6_UNREACH, ICMP6_NO_ROUTE },
	[ICMP_WHY_HOST] = { ICMP6_UNREACH, ICMP6_ADDR_UNREACH },
	[ICMP_WHY_PORT] = { ICMP6_UNREACH, ICMP6_PORT_UNREACH },
	/* A parameter problem, strictly, at an offset that nobody reads. */
	[ICMP_WHY_PROTO] = { ICMP6_UNREACH, ICMP6_ADMIN_PROHIB },
	[ICMP_WHY_ADMIN] = { ICMP6_UNREACH, ICMP6_ADMIN_PROHIB },
};

struct icmp_quote icmp_quote(const struct packet *p)
{
	struct icmp_quote q = { .dst = p->dst, .proto = p->proto };

	memcpy(q.l4, p->l4, MIN(p->l4_len, sizeof(q.l4)));
	return q;
}

struct icmp_quote icmp_quote_flow(const struct flow_key *key)
{
	const bool v4 = addr_is_v4(&key->peer);
	struct icmp_quote q = { .dst = key->peer, .proto = IP_UDP };
	const struct udp_hdr udp = {
		.sport = be16_put(key->guest_port),
		.dport = be16_put(key->peer_port),
		.len = be16_put(sizeof(udp)),
	};
	const struct icmp_hdr echo = {
		.type = v4 ? ICMP_ECHO : ICMP6_ECHO,
		.a = be16_put(key->guest_port),
	};

	memcpy(q.l4, &udp, sizeof(udp));
	if (key->proto == NET_ICMP) {
		q.proto = v4 ? IP_ICMP : IP_ICMP6;
		memcpy(q.l4, &echo, sizeof(echo));
	}
	return q;
}

enum icmp_why icmp_why(int err)
{
	switch (-err) {
	case ECONNREFUSED:
		return ICMP_WHY_PORT;
	case ENETUNREACH:
	case ENETDOWN:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return ICMP_WHY_NET;
	case ENOPROTOOPT:
	case EPROTONOSUPPORT:
		return ICMP_WHY_PROTO;
	case EACCES:
	case EPERM:
		return ICMP_WHY_ADMIN;
	default:
		return ICMP_WHY_HOST;
	}
}

/* The header of the packet that is quoted, and as much as there is of it. */
static size_t write_quote(struct net *n, const struct icmp_quote *q,
			  uint8_t *at)
{
	const bool v4 = addr_is_v4(&q->dst);
	const struct out was = { .src = *ends_guest(&q->dst),
				 .dst = q->dst,
				 .proto = q->proto };
	const size_t ip_len = out_ip_head(&was);

	/* Of the host that sent it, which is the guest: as long as we say. */
	if (v4)
		out_ip4(n, &was, (void *)at, sizeof(q->l4));
	else
		out_ip6(&was, (void *)at, sizeof(q->l4));
	memcpy(at + ip_len, q->l4, sizeof(q->l4));
	return ip_len + sizeof(q->l4);
}

void icmp_error(struct net *n, const struct icmp_quote *q, enum icmp_why why)
{
	const bool v4 = addr_is_v4(&q->dst);
	const struct kind *k = v4 ? &kinds4[why] : &kinds6[why];
	uint8_t buf[sizeof(struct icmp_hdr) + sizeof(struct ip6_hdr) + 8] = {
		k->type, k->code
	};
	struct out o = { .src = v4 ? ends_gateway4 : ends_gateway6,
			 .dst = *ends_guest(&q->dst),
			 .proto = v4 ? IP_ICMP : IP_ICMP6,
			 .csum_off = CSUM_OFF };
	size_t len = sizeof(struct icmp_hdr);

	/* A host that is there says itself that nobody listens. */
	if (why == ICMP_WHY_PORT)
		o.src = q->dst;
	len += write_quote(n, q, buf + len);
	out_checksum(&o, buf, len);
	out_datagram(n, &o, buf, len);
}

void icmp_refuse(struct net *n, const struct packet *p)
{
	struct icmp_quote q = icmp_quote(p);

	icmp_error(n, &q, ICMP_WHY_PROTO);
}

/* Echoes to the gateway come back from it as they were. */
static void echo(struct net *n, const struct packet *p)
{
	struct out o = { .src = p->dst,
			 .dst = p->src,
			 .proto = p->proto,
			 .csum_off = CSUM_OFF };
	struct icmp_hdr *h = (void *)n->scratch;

	if (p->l4_len > NET_SCRATCH)
		return;
	memcpy(n->scratch, p->l4, p->l4_len);
	h->type = p->v6 ? ICMP6_ECHO_REPLY : ICMP_ECHO_REPLY;
	h->csum = be16_put(0);
	out_checksum(&o, n->scratch, p->l4_len);
	out_datagram(n, &o, n->scratch, p->l4_len);
}

void icmp_input(struct net *n, const struct packet *p)
{
	const struct icmp_hdr *h = (const void *)p->l4;

	if (p->l4_len < sizeof(*h)) {
		n->stats.bad_frames++;
		return;
	}
	if (p->v6 && h->type == ICMP6_NS) {
		neigh_solicit(n, p);
		return;
	}
	/* Errors of the guest's, groups it joins, routers it looks for. */
	if (h->type != (p->v6 ? ICMP6_ECHO : ICMP_ECHO) || h->code != 0 ||
	    (p->v6 && p->dst.b[0] == 0xff)) {
		n->stats.unserved++;
		return;
	}
	if (ends_is_gateway(&p->dst))
		echo(n, p);
	else
		ping_input(n, p);
}
