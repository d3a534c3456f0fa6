/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_ioapic.c - vmm/arch/x86_64/ioapic.c as Linux drives it */
#include <errno.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "vmm/arch/x86_64/ioapic.h"

#define N_PINS 3u

/** struct chip - An I/O APIC and what it had done to its pins */
struct chip {
	struct ioapic a;
	unsigned int routes;
	unsigned int connects;
	bool on[N_PINS];
	uint64_t addr[N_PINS];
	uint32_t data[N_PINS];
	int fail;
};

static int do_route(void *ctx, unsigned int pin, uint64_t addr, uint32_t data)
{
	struct chip *c = ctx;

	ck_assert_uint_lt(pin, N_PINS);
	c->routes++;
	c->addr[pin] = addr;
	c->data[pin] = data;
	return c->fail;
}

static int do_connect(void *ctx, unsigned int pin, bool on)
{
	struct chip *c = ctx;

	ck_assert_uint_lt(pin, N_PINS);
	/* A pin without a route must never be let through. */
	ck_assert(c->addr[pin] != 0 || !on);
	c->connects++;
	c->on[pin] = on;
	return c->fail;
}

static const struct ioapic_ops ops = { do_route, do_connect };

static void make(struct chip *c)
{
	memset(c, 0, sizeof(*c));
	ioapic_init(&c->a, N_PINS, &ops, c);
}

static void reg_write(struct chip *c, uint64_t off, uint32_t v)
{
	ioapic_bus_ops.write(&c->a, off, (const uint8_t *)&v, sizeof(v));
}

static uint32_t reg_read(struct chip *c, uint64_t off)
{
	uint32_t v = 0;

	ioapic_bus_ops.read(&c->a, off, (uint8_t *)&v, sizeof(v));
	return v;
}

static void idx_write(struct chip *c, uint32_t idx, uint32_t v)
{
	reg_write(c, 0, idx);
	reg_write(c, 0x10, v);
}

static uint32_t idx_read(struct chip *c, uint32_t idx)
{
	reg_write(c, 0, idx);
	return reg_read(c, 0x10);
}

START_TEST(it_has_as_many_pins_as_devices_all_masked)
{
	struct chip c;

	make(&c);
	ck_assert_uint_eq(idx_read(&c, 1), 0x11 | (N_PINS - 1) << 16);
	for (unsigned int i = 0; i < N_PINS; i++) {
		ck_assert_uint_eq(idx_read(&c, 0x10 + 2 * i), 0x10000);
		ck_assert_uint_eq(idx_read(&c, 0x11 + 2 * i), 0);
	}
	idx_write(&c, 0, 0xffffffff);
	ck_assert_uint_eq(idx_read(&c, 0), 0x0f000000);
	ioapic_done(&c.a);
}
END_TEST

START_TEST(unmasking_routes_first_and_then_connects)
{
	struct chip c;

	make(&c);
	idx_write(&c, 0x13, 0x05000000); /* pin 1 to processor 5 */
	ck_assert_uint_eq(c.routes, 0);
	idx_write(&c, 0x12,
		  0x00931); /* vector 0x31, lowest priority, logical */
	ck_assert_uint_eq(c.routes, 1);
	ck_assert(c.on[1]);
	ck_assert_uint_eq(c.addr[1], 0xfee05004);
	ck_assert_uint_eq(c.data[1], 0x131);
	ioapic_done(&c.a);
}
END_TEST

/* A route costs the host a wait for all vCPUs. */
START_TEST(masking_holds_edges_back_and_costs_no_route)
{
	struct chip c;

	make(&c);
	idx_write(&c, 0x10, 0x31);
	idx_write(&c, 0x10, 0x10031);
	ck_assert(!c.on[0]);
	idx_write(&c, 0x10, 0x31);
	ck_assert(c.on[0]);
	idx_write(&c, 0x10, 0x31);
	ck_assert_uint_eq(c.routes, 1);
	ck_assert_uint_eq(c.connects, 3);
	idx_write(&c, 0x10, 0x10032); /* a change while masked can wait */
	ck_assert_uint_eq(c.routes, 1);
	idx_write(&c, 0x10, 0x32);
	ck_assert_uint_eq(c.routes, 2);
	ck_assert_uint_eq(c.data[0], 0x32);
	ioapic_done(&c.a);
}
END_TEST

START_TEST(read_only_bits_stay_zero_and_level_becomes_edge)
{
	struct chip c;

	make(&c);
	idx_write(&c, 0x10, 0xffffffff);
	idx_write(&c, 0x11, 0xffffffff);
	ck_assert_uint_eq(idx_read(&c, 0x10), 0x1afff);
	ck_assert_uint_eq(idx_read(&c, 0x11), 0xff000000);
	idx_write(&c, 0x10, 0xfffeffff);
	ck_assert_uint_eq(c.data[0], 0x7ff);
	ioapic_done(&c.a);
}
END_TEST

START_TEST(indexes_past_the_pins_are_void)
{
	static const uint32_t idx[] = { 3, 0xf, 0x10 + 2 * N_PINS, 0x3f, 0xff };
	struct chip c;

	make(&c);
	for (size_t i = 0; i < ARRAY_LEN(idx); i++) {
		idx_write(&c, idx[i], 0x31);
		ck_assert_uint_eq(idx_read(&c, idx[i]), 0);
	}
	ck_assert_uint_eq(c.routes + c.connects, 0);
	ioapic_done(&c.a);
}
END_TEST

START_TEST(odd_accesses_read_zero_and_write_nothing)
{
	struct chip c;

	make(&c);
	reg_write(&c, 0, 0x10);
	for (uint64_t off = 0; off < 0x30; off++)
		for (unsigned int len = 1; len <= 8; len++) {
			auto_free uint8_t *p =
				check_copy("\x31\0\0\0\0\0\0\0", len);

			if (len == 4 && (off == 0 || off == 0x10))
				continue;
			ioapic_bus_ops.write(&c.a, off, p, len);
			ioapic_bus_ops.read(&c.a, off, p, len);
			for (unsigned int i = 0; i < len; i++)
				ck_assert_uint_eq(p[i], 0);
		}
	ck_assert_uint_eq(reg_read(&c, 0x10), 0x10000);
	ck_assert_uint_eq(c.routes + c.connects, 0);
	ioapic_done(&c.a);
}
END_TEST

START_TEST(failures_are_counted)
{
	struct chip c;

	make(&c);
	c.fail = -EINVAL;
	idx_write(&c, 0x10, 0x31);
	ck_assert_uint_eq(c.a.errors, 2);
	ioapic_done(&c.a);
}
END_TEST

CHECK_MAIN("ioapic", it_has_as_many_pins_as_devices_all_masked,
	   unmasking_routes_first_and_then_connects,
	   masking_holds_edges_back_and_costs_no_route,
	   read_only_bits_stay_zero_and_level_becomes_edge,
	   indexes_past_the_pins_are_void,
	   odd_accesses_read_zero_and_write_nothing, failures_are_counted)
