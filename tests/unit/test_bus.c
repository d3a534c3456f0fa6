/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_bus.c - vmm/core/bus.c */
#include <errno.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "vmm/core/bus.h"

/** struct probe - Remembers the last access to a range */
struct probe {
	unsigned int calls;
	uint64_t off;
	unsigned int len;
	uint8_t data[BUS_ACCESS_MAX];
};

static void probe_read(void *ctx, uint64_t off, uint8_t *data, unsigned int len)
{
	struct probe *p = ctx;

	p->calls++;
	p->off = off;
	p->len = len;
	memset(data, 0x5a, len);
}

static void probe_write(void *ctx, uint64_t off, const uint8_t *data,
			unsigned int len)
{
	struct probe *p = ctx;

	p->calls++;
	p->off = off;
	p->len = len;
	memcpy(p->data, data, len);
}

static const struct bus_ops probe_ops = { probe_read, probe_write };

static void add(struct bus *b, uint64_t base, uint64_t len, struct probe *p)
{
	const struct bus_range r = { base, len, &probe_ops, p };

	ck_assert_int_eq(bus_add(b, &r, NULL), 0);
}

START_TEST(an_access_inside_reaches_its_device_with_its_offset)
{
	struct probe p[3] = { 0 };
	struct bus b = { 0 };
	uint8_t data[8];

	/* Out of order, neighbours touching. */
	add(&b, 0x2000, 0x1000, &p[1]);
	add(&b, 0x3000, 0x10, &p[2]);
	add(&b, 0x1000, 0x1000, &p[0]);

	ck_assert_int_eq(bus_read(&b, 0x1fff, data, 1), 1);
	ck_assert_uint_eq(data[0], 0x5a);
	ck_assert_uint_eq(p[0].off, 0xfff);
	ck_assert_int_eq(bus_write(&b, 0x2000, (const uint8_t *)"12345678", 8),
			 1);
	ck_assert_uint_eq(p[1].off, 0);
	ck_assert_mem_eq(p[1].data, "12345678", 8);
	ck_assert_int_eq(bus_read(&b, 0x300d, data, 3), 1);
	ck_assert_uint_eq(p[2].off, 0xd);
	ck_assert_uint_eq(p[2].len, 3);
}
END_TEST

START_TEST(an_access_across_an_end_reads_ones_and_reaches_nobody)
{
	static const struct {
		uint64_t addr;
		unsigned int len;
	} odd[] = { { 0xfff, 2 },     { 0x1fff, 2 }, { 0x200f, 2 },
		    { 0x2009, 8 },    { 0x2010, 1 }, { 0, 1 },
		    { UINT64_MAX, 8 } };
	struct probe p[2] = { 0 };
	struct bus b = { 0 };

	/* A device on both sides of 0x2000, yet an access is for one. */
	add(&b, 0x1000, 0x1000, &p[0]);
	add(&b, 0x2000, 0x10, &p[1]);

	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		uint8_t data[8] = { 0 }, ones[8];

		memset(ones, 0xff, sizeof(ones));
		ck_assert_int_eq(bus_read(&b, odd[i].addr, data, odd[i].len),
				 0);
		ck_assert_mem_eq(data, ones, odd[i].len);
		ck_assert_int_eq(bus_write(&b, odd[i].addr, data, odd[i].len),
				 0);
	}
	ck_assert_uint_eq(p[0].calls + p[1].calls, 0);
}
END_TEST

START_TEST(an_empty_bus_answers_nothing)
{
	struct bus b = { 0 };
	uint8_t data[1] = { 0 };

	ck_assert_int_eq(bus_read(&b, 0, data, 1), 0);
	ck_assert_uint_eq(data[0], 0xff);
}
END_TEST

START_TEST(ranges_that_overlap_are_refused)
{
	static const struct {
		uint64_t base;
		uint64_t len;
	} bad[] = { { 0x1000, 0x100 }, { 0x10ff, 1 },      { 0xfff, 2 },
		    { 0, UINT64_MAX }, { 0x1080, 0x1000 }, { 0x1010, 1 } };
	struct probe p = { 0 };
	struct bus b = { 0 };

	add(&b, 0x1000, 0x100, &p);

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct bus_range r = { bad[i].base, bad[i].len,
					     &probe_ops, &p };

		ck_assert_int_eq(bus_add(&b, &r, NULL), -EEXIST);
	}
	ck_assert_uint_eq(b.n, 1);
	add(&b, 0xf00, 0x100, &p); /* right before and right behind is fine */
	add(&b, 0x1100, 1, &p);
}
END_TEST

START_TEST(senseless_ranges_and_too_many_are_refused)
{
	struct bus_range r = { 0x1000, 0, &probe_ops, NULL };
	struct err e = { 0 };
	struct bus b = { 0 };

	ck_assert_int_eq(bus_add(&b, &r, NULL), -EINVAL);
	r = (struct bus_range){ UINT64_MAX, 2, &probe_ops, NULL };
	ck_assert_int_eq(bus_add(&b, &r, NULL), -EINVAL);
	for (unsigned int i = 0; i < BUS_RANGES_MAX; i++)
		add(&b, i, 1, NULL);
	r = (struct bus_range){ BUS_RANGES_MAX, 1, &probe_ops, NULL };
	ck_assert_int_eq(bus_add(&b, &r, &e), -ENOSPC);
	ck_assert_str_ne(e.msg, "");
}
END_TEST

CHECK_MAIN("bus", an_access_inside_reaches_its_device_with_its_offset,
	   an_access_across_an_end_reads_ones_and_reaches_nobody,
	   an_empty_bus_answers_nothing, ranges_that_overlap_are_refused,
	   senseless_ranges_and_too_many_are_refused)
