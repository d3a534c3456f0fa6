/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/own.c - see own.h */
#include <string.h>

#include "host/net/policy/own.h"

#define NUMBER 14u /* where the index stands in an address, two bytes */

static const struct net_addr base4 = {
	{ [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 19 }
};
static const struct net_addr base6 = { { 0xfd, 0, 0x68, 0x75, 0x74, 0x63, 0x68,
					 1 } };

struct net_addr own_addr(unsigned int i, bool v6)
{
	struct net_addr a = v6 ? base6 : base4;

	bug_on(i >= OWN_MAX);
	a.b[NUMBER] = (uint8_t)(i >> 8);
	a.b[NUMBER + 1] = (uint8_t)i;
	return a;
}

int own_index(const struct net_addr *a)
{
	if (memcmp(a->b, base4.b, NUMBER) != 0 &&
	    memcmp(a->b, base6.b, NUMBER) != 0)
		return -1;
	return a->b[NUMBER] << 8 | a->b[NUMBER + 1];
}
