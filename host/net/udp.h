/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/udp.h - UDP: a connected socket for each pair of ports */
#ifndef HUTCH_HOST_NET_UDP_H
#define HUTCH_HOST_NET_UDP_H

#include "host/net/net.h"

/** udp_input() - A datagram of the guest's */
void udp_input(struct net *n, const struct packet *p);

/**
 * udp_to_guest() - Send it a datagram
 * @key:	Whose it is
 * @msg:	The datagram, with sizeof(struct udp_hdr) bytes for a header
 * @len:	All of that
 */
void udp_to_guest(struct net *n, const struct flow_key *key, uint8_t *msg,
		  size_t len);

#endif
