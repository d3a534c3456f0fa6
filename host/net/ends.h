/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/ends.h - the two ends of the link: the guest, and the gateway
 *
 * Their addresses are the same in each VM, and known to nobody outside it.
 */
#ifndef HUTCH_HOST_NET_ENDS_H
#define HUTCH_HOST_NET_ENDS_H

#include <stdbool.h>

#include "host/net/policy/addr.h"

extern const uint8_t ends_guest_mac[6];
extern const uint8_t ends_gateway_mac[6];
extern const struct net_addr ends_guest4;   /* 198.18.0.2 */
extern const struct net_addr ends_gateway4; /* 198.18.0.1 */
extern const struct net_addr ends_guest6;   /* fd00:6875:7463:6800::2 */
extern const struct net_addr ends_gateway6; /* fd00:6875:7463:6800::1 */
extern const struct net_addr ends_local6;   /* fe80::1, the gateway's too */

/** ends_is_local6() - Whether it is in fe80::/10 */
bool ends_is_local6(const struct net_addr *a);

/** ends_is_gateway() - Whether it is one of the gateway's */
bool ends_is_gateway(const struct net_addr *a);

/** ends_guest() - The guest's address of the family of @a */
const struct net_addr *ends_guest(const struct net_addr *a);

#endif
