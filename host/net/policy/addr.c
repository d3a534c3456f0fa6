/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/addr.c - see addr.h */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "host/net/policy/addr.h"

#define V4_BITS 96u

static const uint8_t v4_prefix[12] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff
};

struct net_addr addr_v4(const uint8_t b[4])
{
	struct net_addr a;

	memcpy(a.b, v4_prefix, sizeof(v4_prefix));
	memcpy(a.b + sizeof(v4_prefix), b, 4);
	return a;
}

bool addr_is_v4(const struct net_addr *a)
{
	return memcmp(a->b, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool addr_eq(const struct net_addr *a, const struct net_addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

const char *addr_text(const struct net_addr *a, char buf[ADDR_TEXT_MAX])
{
	const char *s;

	if (addr_is_v4(a))
		s = inet_ntop(AF_INET, a->b + 12, buf, ADDR_TEXT_MAX);
	else
		s = inet_ntop(AF_INET6, a->b, buf, ADDR_TEXT_MAX);
	bug_on(!s);
	return buf;
}

/* inet_pton() takes exactly what addr.h promises. */
int addr_parse(const char *s, struct net_addr *ret)
{
	struct net_addr a;
	uint8_t v4[4];

	if (inet_pton(AF_INET, s, v4) == 1)
		a = addr_v4(v4);
	else if (inet_pton(AF_INET6, s, a.b) != 1)
		return -EINVAL;
	*ret = a;
	return 0;
}

/* ---- Ranges ---- */

static struct net_addr first_of(const struct net_addr *a, unsigned int bits)
{
	struct net_addr f = *a;

	for (unsigned int i = 0; i < sizeof(f.b); i++) {
		unsigned int keep = bits > i * 8 ? bits - i * 8 : 0;

		if (keep < 8)
			f.b[i] &= (uint8_t)(0xff00u >> keep);
	}
	return f;
}

/* One to three digits, with no zero in front. Return: the number or -1. */
static int read_bits(const char *s)
{
	int v = 0;
	size_t n = strspn(s, "0123456789");

	if (n == 0 || n > 3 || s[n] || (n > 1 && s[0] == '0'))
		return -1;
	for (size_t i = 0; i < n; i++)
		v = v * 10 + (s[i] - '0');
	return v;
}

int addr_range_parse(const char *s, struct addr_range *ret, struct err *e)
{
	const char *slash = strchr(s, '/');
	size_t n = slash ? (size_t)(slash - s) : strlen(s);
	char text[ADDR_TEXT_MAX], first[ADDR_TEXT_MAX];
	struct addr_range r;
	struct net_addr begin;
	int bits, max;

	if (n >= sizeof(text))
		return err_set(e, -EINVAL, "is no address or range");
	memcpy(text, s, n);
	text[n] = '\0';
	if (addr_parse(text, &r.base) < 0)
		return err_set(e, -EINVAL, "is no address or range");
	/* ::ffff:10.0.0.0/104 is counted as IPv6 is, and is 10.0.0.0/8. */
	max = strchr(text, ':') ? 128 : 32;
	bits = slash ? read_bits(slash + 1) : max;
	if (bits < 0 || bits > max)
		return err_set(e, -EINVAL,
			       "has no length from 0 to %d after the /", max);
	if (max == 32)
		bits += (int)V4_BITS;
	else if (addr_is_v4(&r.base) && bits < (int)V4_BITS)
		return err_set(e, -EINVAL,
			       "is IPv4 and more; write the two as two rules");
	r.bits = (uint8_t)bits;
	begin = first_of(&r.base, r.bits);
	if (!addr_eq(&begin, &r.base))
		return err_set(e, -EINVAL,
			       "has bits set behind its length; the range "
			       "begins at %s",
			       addr_text(&begin, first));
	*ret = r;
	return 0;
}

bool addr_range_has(const struct addr_range *r, const struct net_addr *a)
{
	struct net_addr want = first_of(&r->base, r->bits);
	struct net_addr is = first_of(a, r->bits);

	/* A short IPv6 range such as ::/0 has no IPv4 address in it. */
	if (r->bits < V4_BITS && addr_is_v4(a))
		return false;
	return addr_eq(&want, &is);
}

bool addr_range_within(const struct addr_range *outer,
		       const struct addr_range *inner)
{
	return outer->bits <= inner->bits &&
	       addr_range_has(outer, &inner->base);
}
