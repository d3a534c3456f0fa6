/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/core/bus.h - which device answers an access of a vCPU
 *
 * One bus for memory-mapped registers, one for ports.  Both are filled before
 * the first vCPU runs and never change, so look-ups take no lock.
 */
#ifndef HUTCH_VMM_CORE_BUS_H
#define HUTCH_VMM_CORE_BUS_H

#include <stdint.h>

#include "common/err.h"

#define BUS_RANGES_MAX 64
#define BUS_ACCESS_MAX 8 /* KVM never hands over a wider one */

/**
 * struct bus_ops - A device's registers; const
 * @read:	Fill @data with @len bytes (1 to BUS_ACCESS_MAX) from @off
 * @write:	Take @len bytes at @off
 *
 * The access lies wholly inside the range; @off and @len may be anything
 * else: odd, unaligned, across two registers.
 *
 * Context: a vCPU's thread; several at once.
 */
struct bus_ops {
	void (*read)(void *ctx, uint64_t off, uint8_t *data, unsigned int len);
	void (*write)(void *ctx, uint64_t off, const uint8_t *data,
		      unsigned int len);
};

struct bus_range {
	uint64_t base;
	uint64_t len;
	const struct bus_ops *ops;
	void *ctx;
};

/** struct bus - Ranges in ascending order, none overlapping */
struct bus {
	unsigned int n;
	struct bus_range range[BUS_RANGES_MAX];
};

/** bus_add() - Claim [base, base + len). Return: 0, -EEXIST, -ENOSPC, -EINVAL */
MUST_CHECK int bus_add(struct bus *b, const struct bus_range *r, struct err *e);

/**
 * bus_read() - A vCPU reads
 *
 * Bytes that no device claims, or an access across the end of a range, read
 * as all ones.  Return: 1 if a device answered, 0 if nobody did
 */
int bus_read(const struct bus *b, uint64_t addr, uint8_t *data,
	     unsigned int len);

/** bus_write() - A vCPU writes; unclaimed writes vanish. Return: as bus_read() */
int bus_write(const struct bus *b, uint64_t addr, const uint8_t *data,
	      unsigned int len);

#endif
