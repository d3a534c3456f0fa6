/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_store.c - guest-agent/store.c */
#include <string.h>

#include "guest-agent/store.h"
#include "tests/lib/check_main.h"

#define KIB 1024ul

static uint8_t byte_at(uint64_t cursor)
{
	return (uint8_t)((cursor * 2654435761u) >> 13);
}

/* Append @len bytes that follow from their cursors. */
static void put(struct store *s, size_t len, uint64_t time_ns, uint64_t seq)
{
	auto_free uint8_t *p = malloc(len);

	ck_assert_ptr_nonnull(p);
	for (size_t i = 0; i < len; i++)
		p[i] = byte_at(s->total + i);
	store_put(s, p, len, time_ns, seq);
}

/* All from @cursor on. Return: bytes there were; those cut in *@ret_lost */
static uint64_t read_all(const struct store *s, uint64_t cursor,
			 uint64_t *ret_lost)
{
	struct store_piece piece;
	uint64_t got = 0, seq = 0;

	*ret_lost = 0;
	while (store_find(s, cursor, &piece)) {
		auto_free uint8_t *p = malloc(piece.len + 1);

		ck_assert_uint_ge(piece.cursor, cursor);
		*ret_lost += piece.cursor - cursor;
		cursor = piece.cursor;
		if (piece.len == 0)
			continue;
		ck_assert_uint_ge(piece.seq, seq);
		seq = piece.seq;
		store_copy(s, cursor, p, piece.len);
		for (size_t i = 0; i < piece.len; i++)
			if (p[i] != byte_at(cursor + i))
				ck_abort_msg("byte %zu is wrong", i);
		cursor += piece.len;
		got += piece.len;
	}
	ck_assert_uint_eq(cursor, s->total);
	ck_assert_uint_eq(*ret_lost + got, s->total);
	return got;
}

START_TEST(empty_store_has_nothing_and_costs_nothing)
{
	struct store_pool pool = { .max = 1 << 20 };
	struct store_piece piece;
	struct store s;

	store_init(&s, &pool, 64 * KIB, 0);
	ck_assert(!store_find(&s, 0, &piece));
	ck_assert_uint_eq(store_cut(&s), 0);
	ck_assert_uint_eq(pool.used, 0);
	store_done(&s);
}
END_TEST

START_TEST(latest_bytes_are_kept)
{
	struct store_pool pool = { .max = 1 << 20 };
	struct store s;
	uint64_t lost;

	store_init(&s, &pool, 64 * KIB, 0);
	for (unsigned int i = 1; i <= 500; i++)
		put(&s, i, i, i);
	ck_assert_uint_eq(s.total, 500 * 501 / 2);
	ck_assert_uint_eq(read_all(&s, 0, &lost), 64 * KIB);
	ck_assert_uint_eq(lost, s.total - 64 * KIB);
	ck_assert_uint_eq(store_cut(&s), lost);
	/* More at once than there is room for. */
	put(&s, 100 * KIB, 501, 501);
	ck_assert_uint_eq(read_all(&s, 0, &lost), 64 * KIB);
	ck_assert_uint_ge(pool.used, 64 * KIB);
	store_done(&s);
	ck_assert_uint_eq(pool.used, 0);
	ck_assert_uint_eq(store_cut(&s), s.total);
	store_done(&s);
}
END_TEST

START_TEST(first_bytes_are_kept_and_some_of_the_latest)
{
	struct store_pool pool = { .max = 1 << 20 };
	struct store_piece piece;
	struct store s;
	uint64_t lost;

	store_init(&s, &pool, 32 * KIB, 8 * KIB);
	for (unsigned int i = 1; i <= 100; i++)
		put(&s, KIB - 1, i, i);
	ck_assert_uint_eq(read_all(&s, 0, &lost), 40 * KIB);
	ck_assert_uint_eq(store_cut(&s), 100 * (KIB - 1) - 40 * KIB);
	ck_assert(store_find(&s, 32 * KIB - 1, &piece));
	ck_assert_uint_eq(piece.cursor, 32 * KIB - 1);
	ck_assert_uint_eq(piece.len, 1);
	ck_assert(store_find(&s, 32 * KIB, &piece));
	ck_assert_uint_eq(piece.cursor, s.total - 8 * KIB);
	store_done(&s);
}
END_TEST

START_TEST(chunks_tell_time_and_order)
{
	struct store_pool pool = { .max = 1 << 20 };
	struct store_piece piece;
	struct store s;

	store_init(&s, &pool, 64 * KIB, 0);
	put(&s, 10, 111, 1);
	put(&s, 10, 222, 4);
	put(&s, 5, 333, 4);
	ck_assert(store_find(&s, 9, &piece));
	ck_assert_uint_eq(piece.len, 1);
	ck_assert_uint_eq(piece.time_ns, 111);
	ck_assert_uint_eq(piece.seq, 1);
	/* The same number is the same chunk, with the time of its first byte. */
	ck_assert(store_find(&s, 12, &piece));
	ck_assert_uint_eq(piece.len, 13);
	ck_assert_uint_eq(piece.time_ns, 222);
	ck_assert_uint_eq(piece.seq, 4);
	store_done(&s);
}
END_TEST

START_TEST(chunks_are_bounded_and_lose_no_byte)
{
	struct store_pool pool = { .max = 4 << 20 };
	struct store s;
	uint64_t lost;

	store_init(&s, &pool, 1 << 20, 0);
	for (unsigned int i = 1; i <= 20000; i++)
		put(&s, 3, i, i);
	ck_assert_uint_le(s.tail.size, STORE_CHUNKS_MAX);
	ck_assert_uint_gt(s.tail.n, STORE_CHUNKS_MAX / 4);
	ck_assert_uint_eq(read_all(&s, 0, &lost), 60000);
	ck_assert_uint_eq(lost, 0);
	store_done(&s);
	ck_assert_uint_eq(pool.used, 0);
}
END_TEST

START_TEST(pool_bounds_the_sum_but_for_what_is_sure)
{
	struct store_pool pool = { .max = 255 * KIB };
	struct store s[20];
	uint64_t lost;

	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		store_init(&s[i], &pool, 1 << 20, 0);
		put(&s[i], 200 * KIB, 1, 1);
		put(&s[i], 1, 2, 2);
	}
	ck_assert_uint_eq(read_all(&s[0], 0, &lost), 128 * KIB);
	for (size_t i = 5; i < ARRAY_LEN(s); i++)
		ck_assert_uint_ge(read_all(&s[i], 0, &lost), STORE_SURE);
	ck_assert_uint_le(pool.used, 256 * KIB + 20 * (STORE_SURE + KIB));
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		store_done(&s[i]);
	ck_assert_uint_eq(pool.used, 0);
}
END_TEST

START_TEST(head_closes_early_when_the_pool_is_empty)
{
	struct store_pool pool = { .max = 1 };
	struct store s;
	uint64_t lost;

	pool.used = 1;
	store_init(&s, &pool, 1 << 20, 64 * KIB);
	for (unsigned int i = 1; i <= 100; i++)
		put(&s, KIB, i, i);
	ck_assert_uint_eq(s.head.ring.len, STORE_SURE);
	ck_assert_uint_eq(read_all(&s, 0, &lost), 2ul * STORE_SURE);
	store_done(&s);
}
END_TEST

/* Any order of sizes: every byte is right or said to be lost. */
START_TEST(random_sizes_are_read_back_or_said_to_be_lost)
{
	struct store_pool pool = { .max = 100 * KIB };
	struct store s[2];
	uint32_t x = 1;
	uint64_t lost;

	store_init(&s[0], &pool, 50000, 0);
	store_init(&s[1], &pool, 30000, 5000);
	for (unsigned int i = 1; i <= 3000; i++) {
		struct store *one = &s[x >> 31];

		x = x * 1664525u + 1013904223u;
		put(one, 1 + (x >> 8) % (i % 100 ? 100 : 40000), i, i / 3);
		if (i % 50 == 0)
			(void)read_all(one, 0, &lost);
	}
	for (int i = 0; i < 2; i++) {
		(void)read_all(&s[i], 0, &lost);
		ck_assert_uint_eq(lost, store_cut(&s[i]));
		store_done(&s[i]);
	}
	ck_assert_uint_eq(pool.used, 0);
}
END_TEST

CHECK_MAIN("store", empty_store_has_nothing_and_costs_nothing,
	   latest_bytes_are_kept, first_bytes_are_kept_and_some_of_the_latest,
	   chunks_tell_time_and_order, chunks_are_bounded_and_lose_no_byte,
	   pool_bounds_the_sum_but_for_what_is_sure,
	   head_closes_early_when_the_pool_is_empty,
	   random_sizes_are_read_back_or_said_to_be_lost)
