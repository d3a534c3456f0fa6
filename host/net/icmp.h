/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/icmp.h - ICMP of both families: echoes, and errors for the guest */
#ifndef HUTCH_HOST_NET_ICMP_H
#define HUTCH_HOST_NET_ICMP_H

#include "host/net/net.h"

/** enum icmp_why - Why something cannot be reached */
enum icmp_why {
	ICMP_WHY_NET,   /* no way there */
	ICMP_WHY_HOST,  /* nobody there */
	ICMP_WHY_PORT,  /* nobody listens */
	ICMP_WHY_PROTO, /* that is not spoken */
	ICMP_WHY_ADMIN  /* it is not allowed */
};

/**
 * struct icmp_quote - By what the guest knows which packet of its is meant
 * @dst:	Where it went
 * @proto:	IP_TCP and so on
 * @l4:		The first bytes of its transport's header
 */
struct icmp_quote {
	struct net_addr dst;
	uint8_t proto;
	uint8_t l4[8];
};

/** icmp_quote() - Quote a packet that has come */
struct icmp_quote icmp_quote(const struct packet *p);

/** icmp_quote_flow() - Quote what a flow may have sent; not for TCP */
struct icmp_quote icmp_quote_flow(const struct flow_key *key);

/** icmp_why() - What an errno of connect(2) or send(2) means */
enum icmp_why icmp_why(int err);

/** icmp_error() - Tell the guest */
void icmp_error(struct net *n, const struct icmp_quote *q, enum icmp_why why);

/** icmp_refuse() - Tell it that nobody here speaks that protocol */
void icmp_refuse(struct net *n, const struct packet *p);

/** icmp_input() - A message of the guest's */
void icmp_input(struct net *n, const struct packet *p);

#endif
