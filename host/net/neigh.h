/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/neigh.h - who has the gateway's address: ARP and its like in IPv6 */
#ifndef HUTCH_HOST_NET_NEIGH_H
#define HUTCH_HOST_NET_NEIGH_H

#include "host/net/net.h"

/** neigh_arp() - An ARP packet of the guest's; answers for the gateway alone */
void neigh_arp(struct net *n, const uint8_t *buf, size_t len);

/**
 * neigh_solicit() - A neighbour solicitation of the guest's
 *
 * Spec: RFC 4861, 7.1.1: what it must be like, and 7.2.4.
 */
void neigh_solicit(struct net *n, const struct packet *p);

#endif
