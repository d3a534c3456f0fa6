/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/ping.h - echoes to somebody outside
 *
 * By the host's ping sockets, which need no privilege where
 * net.ipv4.ping_group_range has the user's group; elsewhere the guest is told at
 * once that it is not allowed.
 */
#ifndef HUTCH_HOST_NET_PING_H
#define HUTCH_HOST_NET_PING_H

#include "host/net/net.h"

/** ping_input() - An echo request of the guest's, header and all there */
void ping_input(struct net *n, const struct packet *p);

#endif
