/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_serial.c - vmm/core/serial.c as its driver uses it */
#include <string.h>

#include "tests/lib/check_main.h"
#include "vmm/core/serial.h"

enum {
	DATA,
	IER,
	IIR,
	LCR,
	MCR,
	LSR,
	MSR,
	SCR
};

struct sink {
	size_t len;
	char buf[32];
};

static void take(void *ctx, uint8_t byte)
{
	struct sink *s = ctx;

	if (s->len < sizeof(s->buf))
		s->buf[s->len++] = (char)byte;
}

static void wr(struct serial *s, uint64_t reg, uint8_t v)
{
	serial_ops.write(s, reg, &v, 1);
}

static uint8_t rd(struct serial *s, uint64_t reg)
{
	uint8_t v = 0;

	serial_ops.read(s, reg, &v, 1);
	return v;
}

START_TEST(what_is_sent_reaches_the_sink_and_the_line_is_always_free)
{
	struct sink k = { 0 };
	struct serial s;

	serial_init(&s, take, &k);
	ck_assert_uint_eq(rd(&s, LSR), 0x60);
	wr(&s, DATA, 'o');
	wr(&s, DATA, 'k');
	ck_assert_uint_eq(rd(&s, LSR), 0x60);
	ck_assert_uint_eq(k.len, 2);
	ck_assert_mem_eq(k.buf, "ok", 2);
	serial_done(&s);
}
END_TEST

START_TEST(the_divisor_latch_hides_data_and_ier)
{
	struct sink k = { 0 };
	struct serial s;

	serial_init(&s, take, &k);
	wr(&s, IER, 5);
	wr(&s, LCR, 0x83);
	wr(&s, DATA, 12);
	wr(&s, IER, 34);
	ck_assert_uint_eq(rd(&s, DATA), 12);
	ck_assert_uint_eq(rd(&s, IER), 34);
	wr(&s, LCR, 0x03);
	ck_assert_uint_eq(rd(&s, DATA), 0);
	ck_assert_uint_eq(rd(&s, IER), 5);
	ck_assert_uint_eq(k.len, 0);
	serial_done(&s);
}
END_TEST

/* Without this a program that writes to the tty waits for ever. */
START_TEST(an_empty_transmitter_is_offered_once_to_who_polls)
{
	struct sink k = { 0 };
	struct serial s;

	serial_init(&s, take, &k);
	ck_assert_uint_eq(rd(&s, IIR), 1);
	wr(&s, IER, 2);
	ck_assert_uint_eq(rd(&s, IIR), 2);
	ck_assert_uint_eq(rd(&s, IIR), 1);
	wr(&s, DATA, 'x');
	ck_assert_uint_eq(rd(&s, IIR), 2);
	wr(&s, IER, 0);
	wr(&s, DATA, 'y');
	ck_assert_uint_eq(rd(&s, IIR), 1);
	wr(&s, IIR, 1); /* FCR: FIFOs on */
	ck_assert_uint_eq(rd(&s, IIR), 0xc1);
	serial_done(&s);
}
END_TEST

START_TEST(loopback_returns_outputs_and_sends_nothing)
{
	struct sink k = { 0 };
	struct serial s;

	serial_init(&s, take, &k);
	ck_assert_uint_eq(rd(&s, MSR), 0xb0);
	wr(&s, MCR, 0x1a); /* loop, OUT2, RTS: the driver's own probe */
	ck_assert_uint_eq(rd(&s, MSR), 0x90);
	wr(&s, MCR, 0x15);
	ck_assert_uint_eq(rd(&s, MSR), 0x60);
	wr(&s, DATA, 'x');
	ck_assert_uint_eq(k.len, 0);
	serial_done(&s);
}
END_TEST

START_TEST(registers_that_cannot_be_written_stay_and_scratch_holds)
{
	struct sink k = { 0 };
	struct serial s;

	serial_init(&s, take, &k);
	wr(&s, LSR, 0xff);
	wr(&s, MSR, 0);
	wr(&s, SCR, 0xa5);
	wr(&s, IER, 0xff);
	wr(&s, MCR, 0xe0);
	ck_assert_uint_eq(rd(&s, LSR), 0x60);
	ck_assert_uint_eq(rd(&s, MSR), 0xb0);
	ck_assert_uint_eq(rd(&s, SCR), 0xa5);
	ck_assert_uint_eq(rd(&s, IER), 0x0f);
	ck_assert_uint_eq(rd(&s, MCR), 0);
	serial_done(&s);
}
END_TEST

START_TEST(any_width_at_any_offset_does_no_harm)
{
	struct sink k = { 0 };
	struct serial s;

	serial_init(&s, take, &k);
	for (uint64_t off = 0; off < 10; off++)
		for (unsigned int len = 1; len <= 8; len++) {
			auto_free uint8_t *p =
				check_copy("\0\0\0\0\0\0\0\0", len);

			serial_ops.write(&s, off, p, len);
			serial_ops.read(&s, off, p, len);
		}
	ck_assert_uint_eq(rd(&s, LSR), 0x60);
	serial_done(&s);
}
END_TEST

CHECK_MAIN("serial", what_is_sent_reaches_the_sink_and_the_line_is_always_free,
	   the_divisor_latch_hides_data_and_ier,
	   an_empty_transmitter_is_offered_once_to_who_polls,
	   loopback_returns_outputs_and_sends_nothing,
	   registers_that_cannot_be_written_stay_and_scratch_holds,
	   any_width_at_any_offset_does_no_harm)
