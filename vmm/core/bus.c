/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/core/bus.c - see bus.h */
#include <errno.h>
#include <string.h>

#include "vmm/core/bus.h"

int bus_add(struct bus *b, const struct bus_range *r, struct err *e)
{
	unsigned int at = 0;

	if (r->len == 0 || r->len - 1 > UINT64_MAX - r->base)
		return err_set(e, -EINVAL, "bus: bad range %#llx+%#llx",
			       (unsigned long long)r->base,
			       (unsigned long long)r->len);
	if (b->n == BUS_RANGES_MAX)
		return err_set(e, -ENOSPC, "bus: more than %d devices",
			       BUS_RANGES_MAX);
	while (at < b->n && b->range[at].base < r->base)
		at++;
	if ((at > 0 &&
	     r->base - b->range[at - 1].base < b->range[at - 1].len) ||
	    (at < b->n && b->range[at].base - r->base < r->len))
		return err_set(e, -EEXIST, "bus: %#llx+%#llx is taken",
			       (unsigned long long)r->base,
			       (unsigned long long)r->len);
	memmove(&b->range[at + 1], &b->range[at],
		(b->n - at) * sizeof(b->range[0]));
	b->range[at] = *r;
	b->n++;
	return 0;
}

/* The range that holds all of the access, or NULL. */
static const struct bus_range *find(const struct bus *b, uint64_t addr,
				    unsigned int len)
{
	unsigned int lo = 0, hi = b->n;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;
		const struct bus_range *r = &b->range[mid];

		if (addr < r->base)
			hi = mid;
		else if (addr - r->base >= r->len)
			lo = mid + 1;
		else
			return len <= r->len - (addr - r->base) ? r : NULL;
	}
	return NULL;
}

int bus_read(const struct bus *b, uint64_t addr, uint8_t *data,
	     unsigned int len)
{
	const struct bus_range *r = find(b, addr, len);

	memset(data, 0xff, len);
	if (!r)
		return 0;
	r->ops->read(r->ctx, addr - r->base, data, len);
	return 1;
}

int bus_write(const struct bus *b, uint64_t addr, const uint8_t *data,
	      unsigned int len)
{
	const struct bus_range *r = find(b, addr, len);

	if (!r)
		return 0;
	r->ops->write(r->ctx, addr - r->base, data, len);
	return 1;
}
