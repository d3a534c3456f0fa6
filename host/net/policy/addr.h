/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/addr.h - addresses, ranges of them, and which are public
 *
 * One type for both families: an IPv4 address is ::ffff:a.b.c.d. So a packet of
 * IPv6 whose destination is written that way is judged as the IPv4 address that
 * it is, and there is no second spelling for a check to miss.
 */
#ifndef HUTCH_HOST_NET_POLICY_ADDR_H
#define HUTCH_HOST_NET_POLICY_ADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define ADDR_TEXT_MAX 46 /* the longest address as text, and its NUL */

/** struct net_addr - An address, in network order; IPv4 as ::ffff:a.b.c.d */
struct net_addr {
	uint8_t b[16];
};

/**
 * struct addr_range - All addresses that begin alike
 * @base:	The first; bits past @bits are 0
 * @bits:	0 to 128; of an IPv4 range 96 to 128
 */
struct addr_range {
	struct net_addr base;
	uint8_t bits;
};

/** addr_v4() - The address of four bytes in network order */
struct net_addr addr_v4(const uint8_t b[4]);

/** addr_is_v4() - Whether it is an IPv4 address; its bytes are then b + 12 */
bool addr_is_v4(const struct net_addr *a);

/** addr_eq() - Whether two are the same */
bool addr_eq(const struct net_addr *a, const struct net_addr *b);

/** addr_text() - As inet_ntop(3) writes it, IPv4 as such. Return: @buf */
const char *addr_text(const struct net_addr *a, char buf[ADDR_TEXT_MAX]);

/**
 * addr_parse() - Read one address: four decimal numbers, or IPv6 with no zone
 *
 * Nothing else: no octal, no hexadecimal, no short form of IPv4, since the
 * programs of the world do not agree on what those mean.
 *
 * Return: 0 or -EINVAL, with no sentence
 */
MUST_CHECK int addr_parse(const char *s, struct net_addr *ret);

/**
 * addr_range_parse() - Read "a.b.c.d/n", "x::y/n", or one address
 * @s:		Bits behind the prefix must be 0, as a slip of the pen is likelier
 *		than a wish for what they would be taken as
 * @e:		Half a sentence that goes behind the value: "has bits set ..."
 *
 * Return: 0 or -EINVAL
 */
MUST_CHECK int addr_range_parse(const char *s, struct addr_range *ret,
				struct err *e);

/** addr_range_has() - Whether @a is in @r */
bool addr_range_has(const struct addr_range *r, const struct net_addr *a);

/** addr_range_within() - Whether all of @inner is in @outer */
bool addr_range_within(const struct addr_range *outer,
		       const struct addr_range *inner);

/**
 * addr_embedded() - The IPv4 address that a translator would send @a to
 * @i:		0, 1, ...: Teredo carries two
 *
 * NAT64 (64:ff9b::/96, RFC 6052), 6to4 (2002::/16, RFC 3056), Teredo
 * (2001::/32, RFC 4380).
 *
 * Return: whether there is an @i-th one
 */
bool addr_embedded(const struct net_addr *a, unsigned int i,
		   struct net_addr *ret);

/**
 * addr_special() - Why an address is no part of the public Internet
 *
 * After IANA's registries of special-purpose addresses (RFC 6890), and the
 * metadata services of clouds; also what embeds an address that is special.
 *
 * Return: a constant such as "it is a private address"; NULL: it is public
 */
const char *addr_special(const struct net_addr *a);

/**
 * addr_is_metadata() - Whether a cloud's metadata service is there, by way of a
 *			translator too: it gives credentials of the host away
 */
bool addr_is_metadata(const struct net_addr *a);

/**
 * addr_is_private() - Whether it is of a network that a name may lead to by a
 *		       rule with "private": RFC 1918, RFC 4193, RFC 6598
 *
 * Loopback, link-local and metadata addresses are none.
 */
bool addr_is_private(const struct net_addr *a);

#endif
