/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_ring.c - common/ring.c */
#include <string.h>

#include "common/ring.h"
#include "tests/lib/check_main.h"

/* Takes @len bytes out and compares them with @want. */
static void take(struct ring *r, const char *want, size_t len)
{
	struct iovec iov[2];
	int n = ring_peek(r, iov);
	size_t at = 0;

	for (int i = 0; i < n && at < len; i++) {
		size_t k = MIN(iov[i].iov_len, len - at);

		ck_assert_mem_eq(iov[i].iov_base, want + at, k);
		at += k;
	}
	ck_assert_uint_eq(at, len);
	ring_drop(r, len);
}

START_TEST(zeroed_with_a_cap_is_an_empty_ring)
{
	struct ring r = { .cap = 8 };
	struct iovec iov[2];

	ck_assert_int_eq(ring_peek(&r, iov), 0);
	ck_assert_uint_eq(ring_room(&r), 8);
	ring_drop(&r, 0);
	ring_done(&r);
}
END_TEST

START_TEST(a_put_beyond_the_cap_is_taken_in_part)
{
	struct ring r = { .cap = 5 };

	ck_assert_int_eq(ring_put(&r, "abcdefgh", 8), 5);
	ck_assert_uint_eq(ring_room(&r), 0);
	ck_assert_int_eq(ring_put(&r, "x", 1), 0);
	take(&r, "abcde", 5);
	ring_done(&r);
}
END_TEST

START_TEST(what_wraps_round_comes_in_two_pieces)
{
	struct ring r = { .cap = 8 };
	struct iovec iov[2];

	ck_assert_int_eq(ring_put(&r, "abcdefg", 7), 7);
	take(&r, "abcde", 5);
	ck_assert_int_eq(ring_put(&r, "12345", 5), 5);

	ck_assert_int_eq(ring_peek(&r, iov), 2);
	ck_assert_uint_eq(iov[0].iov_len, 3);
	ck_assert_uint_eq(iov[1].iov_len, 4);
	take(&r, "fg12345", 7);
	ring_done(&r);
}
END_TEST

START_TEST(growing_keeps_the_order_of_a_wrapped_ring)
{
	static char in[3 * 4096], out[3 * 4096];
	struct ring r = { .cap = sizeof(in) + 100 };

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)(i * 31 >> 3);

	/* 4,096 bytes are allocated first: fill, take, wrap, then grow. */
	ck_assert_int_eq(ring_put(&r, in, 4096), 4096);
	take(&r, in, 4000);
	ck_assert_int_eq(ring_put(&r, in + 4096, 4000), 4000);
	ck_assert_uint_eq(r.size, 4096);
	ck_assert_int_eq(ring_put(&r, in + 8096, 4192), 4192);
	ck_assert_uint_gt(r.size, 4096);

	memcpy(out, in + 4000, sizeof(in) - 4000);
	take(&r, out, sizeof(in) - 4000);
	ring_done(&r);
}
END_TEST

START_TEST(memory_grows_with_need_and_never_past_the_cap)
{
	static const char zero[8192];
	struct ring r = { .cap = 5000 };

	ck_assert_int_eq(ring_put(&r, zero, 1), 1);
	ck_assert_uint_eq(r.size, 4096);
	ck_assert_int_eq(ring_put(&r, zero, sizeof(zero)), 4999);
	ck_assert_uint_eq(r.size, 5000);
	ring_done(&r);
	ck_assert_uint_eq(r.size, 0);
	ck_assert_int_eq(ring_put(&r, "again", 5), 5);
	take(&r, "again", 5);
	ring_done(&r);
}
END_TEST

START_TEST(any_run_of_puts_and_takes_equals_a_plain_queue)
{
	struct ring r = { .cap = 61 };
	uint32_t seed = 1;
	uint8_t next_in = 0, next_out = 0;

	for (int i = 0; i < 20000; i++) {
		uint8_t chunk[40];
		size_t len;

		seed = seed * 1664525 + 1013904223;
		len = (seed >> 24) % sizeof(chunk);
		if (seed & 0x10000) {
			ptrdiff_t n;

			for (size_t k = 0; k < len; k++)
				chunk[k] = (uint8_t)(next_in + k);
			n = ring_put(&r, chunk, len);
			ck_assert_int_ge(n, 0);
			next_in = (uint8_t)(next_in + n);
			continue;
		}
		len = MIN(len, r.len);
		for (size_t k = 0; k < len; k++)
			chunk[k] = next_out++;
		take(&r, (const char *)chunk, len);
	}
	ring_done(&r);
}
END_TEST

CHECK_MAIN("ring", zeroed_with_a_cap_is_an_empty_ring,
	   a_put_beyond_the_cap_is_taken_in_part,
	   what_wraps_round_comes_in_two_pieces,
	   growing_keeps_the_order_of_a_wrapped_ring,
	   memory_grows_with_need_and_never_past_the_cap,
	   any_run_of_puts_and_takes_equals_a_plain_queue)
