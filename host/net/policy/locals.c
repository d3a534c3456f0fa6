/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/locals.c - see locals.h */
#include <errno.h>
#include <string.h>

#include "host/net/policy/locals.h"

#define CAP_FIRST 64u

static struct addr_range range_of(const struct net_addr *a, unsigned int bits)
{
	struct addr_range r = { .base = *a, .bits = (uint8_t)MIN(bits, 128u) };

	for (unsigned int i = 0; i < sizeof(r.base.b); i++) {
		unsigned int left = r.bits > i * 8 ? r.bits - i * 8 : 0;

		if (left < 8)
			r.base.b[i] &= (uint8_t) ~(0xffu >> left);
	}
	return r;
}

/*
 * By bits alone: a range of IPv6 that has all of IPv4 in it, as ::/0, means that
 * too, which is not so of what a policy says.
 */
static bool has(const struct addr_range *r, const struct net_addr *a)
{
	const struct addr_range of = range_of(a, r->bits);

	return addr_eq(&of.base, &r->base);
}

static bool within(const struct addr_range *outer,
		   const struct addr_range *inner)
{
	return outer->bits <= inner->bits && has(outer, &inner->base);
}

/* How many begin at @a or before it. */
static size_t up_to(const struct locals *l, const struct net_addr *a)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (memcmp(&l->range[mid].base, a, sizeof(*a)) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool locals_have(const struct locals *l, const struct net_addr *a)
{
	size_t i = up_to(l, a);

	return i && has(&l->range[i - 1], a);
}

static int grow(struct locals *l)
{
	size_t cap = l->cap ? l->cap * 2 : CAP_FIRST;
	struct addr_range *more;

	if (l->n < l->cap)
		return 0;
	if (l->n >= LOCALS_MAX)
		return -E2BIG;
	more = realloc(l->range, cap * sizeof(*more));
	if (!more)
		return -ENOMEM;
	l->range = more;
	l->cap = cap;
	return 0;
}

/* Takes out those of @r, from the @i-th on, and puts @r there. */
static void put(struct locals *l, size_t i, const struct addr_range *r)
{
	size_t end = i;

	while (end < l->n && within(r, &l->range[end]))
		end++;
	memmove(&l->range[i + 1], &l->range[end],
		(l->n - end) * sizeof(l->range[0]));
	l->n -= end - i;
	l->range[i] = *r;
	l->n++;
}

int locals_add(struct locals *l, const struct net_addr *a, unsigned int bits)
{
	const struct addr_range r = range_of(a, bits);
	size_t i = up_to(l, &r.base);
	int err;

	if (i && within(&l->range[i - 1], &r))
		return 0;
	err = grow(l);
	if (err < 0)
		return err;
	/* One that begins where it does is shorter, and within it. */
	if (i && within(&r, &l->range[i - 1]))
		i--;
	put(l, i, &r);
	return 0;
}

void locals_take(struct locals *l, struct locals *from)
{
	locals_clear(l);
	*l = *from;
	*from = (struct locals){ 0 };
}

void locals_clear(struct locals *l)
{
	free(l->range);
	*l = (struct locals){ 0 };
}
