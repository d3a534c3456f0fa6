/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/addr_special.c - which addresses are not public, see addr.h */
#include <string.h>

#include "host/net/policy/addr.h"

#define A4(a, b, c, d)                                                       \
	{                                                                    \
		{                                                            \
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d \
		}                                                            \
	}
#define A6(a, b)                                                               \
	{                                                                      \
		{                                                              \
			(a) >> 8, (a)&0xff, (b) >> 8, (b)&0xff, 0, 0, 0, 0, 0, \
				0, 0, 0, 0, 0, 0, 0                            \
		}                                                              \
	}
/* a:b::c:d */
#define A6_END(a, b, c, d)                                                     \
	{                                                                      \
		{                                                              \
			(a) >> 8, (a)&0xff, (b) >> 8, (b)&0xff, 0, 0, 0, 0, 0, \
				0, 0, 0, (c) >> 8, (c)&0xff, (d) >> 8,         \
				(d)&0xff                                       \
		}                                                              \
	}
#define R4(a, b, c, d, bits)                \
	{                                   \
		A4(a, b, c, d), 96 + (bits) \
	}
#define R6(a, b, bits)           \
	{                        \
		A6(a, b), (bits) \
	}

struct special {
	struct addr_range range;
	const char *what;
};

static const char metadata[] = "it is a metadata service";
static const char private[] = "it is a private address";
static const char shared[] = "it is an address of a provider's own network";

/*
 * IANA's registries, as of RFC 6890 and what came after; what they call globally
 * reachable is not here. The first that fits gives the word.
 */
static const struct special specials[] = {
	/* Metadata services; 168.63.129.16 is Azure's, and looks public. */
	{ R4(169, 254, 169, 254, 32), metadata },
	{ R4(168, 63, 129, 16, 32), metadata },
	/* Credentials of Amazon's containers. */
	{ R4(169, 254, 170, 2, 32), metadata },
	{ R4(169, 254, 170, 23, 32), metadata },
	{ { A6_END(0xfd00, 0x0ec2, 0x0000, 0x0023), 128 }, metadata },
	{ R4(100, 100, 100, 200, 32), metadata },
	{ R4(192, 0, 0, 192, 32), metadata },
	/* Amazon's, Google's and Oracle's, which look private. */
	{ { A6_END(0xfd00, 0x0ec2, 0x0000, 0x0254), 128 }, metadata },
	{ { A6_END(0xfd20, 0x00ce, 0x0000, 0x0254), 128 }, metadata },
	{ { A6_END(0xfd00, 0x00c1, 0xa9fe, 0xa9fe), 128 }, metadata },
	{ R4(0, 0, 0, 0, 8), "it is an address of this host" },
	{ R4(127, 0, 0, 0, 8), "it is an address of this host" },
	{ R4(169, 254, 0, 0, 16), "it is a link-local address" },
	{ R4(10, 0, 0, 0, 8), private },
	{ R4(172, 16, 0, 0, 12), private },
	{ R4(192, 168, 0, 0, 16), private },
	{ R4(100, 64, 0, 0, 10), shared },
	{ R4(192, 0, 0, 0, 24), "it is an address of a protocol's own" },
	{ R4(192, 88, 99, 0, 24), "it is an address of a protocol's own" },
	{ R4(192, 0, 2, 0, 24), "it is an address for examples" },
	{ R4(198, 51, 100, 0, 24), "it is an address for examples" },
	{ R4(203, 0, 113, 0, 24), "it is an address for examples" },
	{ R4(198, 18, 0, 0, 15), "it is an address for benchmarks" },
	{ R4(224, 0, 0, 0, 4), "it is a multicast address" },
	{ R4(240, 0, 0, 0, 4), "it is a reserved address" },
	{ { A6(0, 0), 127 }, "it is an address of this host" },
	{ R6(0xfe80, 0, 10), "it is a link-local address" },
	{ R6(0xfc00, 0, 7), private },
	{ R6(0xff00, 0, 8), "it is a multicast address" },
	{ R6(0x2001, 0x0db8, 32), "it is an address for examples" },
	{ R6(0x3fff, 0, 20), "it is an address for examples" },
};

/* Of IPv6 only this much has been given to anybody: 2000::/3. */
static const struct addr_range global6 = R6(0x2000, 0, 3);
static const struct addr_range nat64 = R6(0x0064, 0xff9b, 96);
static const struct addr_range sixtofour = R6(0x2002, 0, 16);
static const struct addr_range teredo = R6(0x2001, 0, 32);
/* Teredo is in it, and a few others that a network may use within itself. */
static const struct addr_range ietf6 = R6(0x2001, 0, 23);

bool addr_embedded(const struct net_addr *a, unsigned int i,
		   struct net_addr *ret)
{
	uint8_t client[4];

	if (i == 0 && addr_range_has(&nat64, a)) {
		*ret = addr_v4(a->b + 12);
		return true;
	}
	if (i == 0 && addr_range_has(&sixtofour, a)) {
		*ret = addr_v4(a->b + 2);
		return true;
	}
	if (i > 1 || !addr_range_has(&teredo, a))
		return false;
	/* RFC 4380, 4: the server, and the client with its bits turned. */
	for (unsigned int k = 0; k < sizeof(client); k++)
		client[k] = (uint8_t)~a->b[12 + k];
	*ret = addr_v4(i == 0 ? a->b + 4 : client);
	return true;
}

static const char *of_table(const struct net_addr *a)
{
	for (size_t i = 0; i < ARRAY_LEN(specials); i++)
		if (addr_range_has(&specials[i].range, a))
			return specials[i].what;
	return NULL;
}

const char *addr_special(const struct net_addr *a)
{
	const char *what = of_table(a);
	struct net_addr in;
	unsigned int i;

	if (what || addr_is_v4(a))
		return what;
	for (i = 0; addr_embedded(a, i, &in); i++) {
		what = of_table(&in);
		if (what)
			return what;
	}
	if (i > 0)
		return NULL;
	if (!addr_range_has(&global6, a) || addr_range_has(&ietf6, a))
		return "it is a reserved address";
	return NULL;
}

bool addr_is_metadata(const struct net_addr *a)
{
	struct net_addr in;

	if (of_table(a) == metadata)
		return true;
	for (unsigned int i = 0; addr_embedded(a, i, &in); i++)
		if (of_table(&in) == metadata)
			return true;
	return false;
}

bool addr_is_private(const struct net_addr *a)
{
	const char *what = of_table(a);

	return what == private || what == shared;
}
