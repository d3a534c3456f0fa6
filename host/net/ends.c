/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/ends.c - see ends.h */
#include "host/net/ends.h"

/* Each six bytes are "\x02" "hutc", and which end. */
const uint8_t ends_guest_mac[6] = { 0x02, 0x68, 0x75, 0x74, 0x63, 0x02 };
const uint8_t ends_gateway_mac[6] = { 0x02, 0x68, 0x75, 0x74, 0x63, 0x01 };

const struct net_addr ends_guest4 = {
	{ [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18, [15] = 2 }
};
const struct net_addr ends_gateway4 = {
	{ [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18, [15] = 1 }
};
const struct net_addr ends_guest6 = { { 0xfd, 0, 0x68, 0x75, 0x74, 0x63, 0x68,
					0, [15] = 2 } };
const struct net_addr ends_gateway6 = { { 0xfd, 0, 0x68, 0x75, 0x74, 0x63, 0x68,
					  0, [15] = 1 } };
const struct net_addr ends_local6 = { { 0xfe, 0x80, [15] = 1 } };

bool ends_is_local6(const struct net_addr *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

bool ends_is_gateway(const struct net_addr *a)
{
	return addr_eq(a, &ends_gateway4) || addr_eq(a, &ends_gateway6) ||
	       addr_eq(a, &ends_local6);
}

const struct net_addr *ends_guest(const struct net_addr *a)
{
	return addr_is_v4(a) ? &ends_guest4 : &ends_guest6;
}
