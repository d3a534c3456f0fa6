/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_virtq.c - vmm/virtio/queue.c, honest and hostile drivers */
#include <errno.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_guest.h"

/* Where tests put indirect tables. */
#define TABLE (FG_DATA + 0x10000u)

#define NEXT     VIRTQ_DESC_F_NEXT
#define WRITE    VIRTQ_DESC_F_WRITE
#define INDIRECT VIRTQ_DESC_F_INDIRECT

static struct fake_guest g;
static struct virtq q;
static struct virtq_chain c;

static void start(uint16_t size)
{
	fake_guest_init(&g, FG_LEN, size);
	q = fake_guest_virtq(&g, 0);
}

static void finish(void)
{
	fake_guest_done(&g);
}

/* Offers @head, pops it, and says what came of it. */
static int pop(uint16_t head)
{
	fake_guest_offer(&g, 0, head);
	return virtq_pop(&q, &c);
}

static void entry(unsigned int i, uint64_t addr, uint32_t len,
		  unsigned int flags, uint16_t next)
{
	struct virtq_desc d = {
		.addr = le64_put(addr),
		.len = le32_put(len),
		.flags = le16_put((uint16_t)flags),
		.next = le16_put(next),
	};

	fake_guest_table(&g, TABLE, i, &d);
}

START_TEST(check_takes_any_sound_size)
{
	for (unsigned int size = 1; size <= VIRTQ_SIZE_MAX; size *= 2) {
		start((uint16_t)size);
		ck_assert_int_eq(virtq_check(&q), 0);
		finish();
	}
}
END_TEST

START_TEST(check_refuses_bad_sizes)
{
	static const uint16_t bad[] = { 0, 3, 255, 1023, 2048, 0xffff };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		start(4);
		q.size = bad[i];
		ck_assert_int_eq(virtq_check(&q), -EINVAL);
		finish();
	}
}
END_TEST

START_TEST(check_refuses_unaligned_areas)
{
	start(4);
	q.desc += 8;
	ck_assert_int_eq(virtq_check(&q), -EINVAL);
	q = fake_guest_virtq(&g, 0);
	q.avail += 1;
	ck_assert_int_eq(virtq_check(&q), -EINVAL);
	q = fake_guest_virtq(&g, 0);
	q.used += 2;
	ck_assert_int_eq(virtq_check(&q), -EINVAL);
	finish();
}
END_TEST

/* Four entries: tables of 64, 14 and 38 bytes, one step past and just in. */
START_TEST(check_refuses_areas_past_the_end_of_ram)
{
	uint64_t end = FG_BASE + FG_LEN;

	start(4);
	q.desc = end - 64 + 16;
	ck_assert_int_eq(virtq_check(&q), -EFAULT);
	q.desc = end - 64;
	ck_assert_int_eq(virtq_check(&q), 0);
	q.avail = end - 12;
	ck_assert_int_eq(virtq_check(&q), -EFAULT);
	q.avail = end - 14;
	ck_assert_int_eq(virtq_check(&q), 0);
	q.used = end - 36;
	ck_assert_int_eq(virtq_check(&q), -EFAULT);
	q.used = end - 40;
	ck_assert_int_eq(virtq_check(&q), 0);
	q.used = UINT64_MAX - 3;
	ck_assert_int_eq(virtq_check(&q), -EFAULT);
	finish();
}
END_TEST

START_TEST(pop_empty_ring_returns_zero)
{
	start(4);
	ck_assert_int_eq(virtq_pop(&q, &c), 0);
	finish();
}
END_TEST

START_TEST(pop_of_a_queue_that_is_not_ready_returns_zero)
{
	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 16, 0, 0);
	q.ready = false;
	ck_assert_int_eq(pop(0), 0);
	finish();
}
END_TEST

START_TEST(pop_splits_a_chain_into_out_and_in)
{
	start(4);
	fake_guest_desc(&g, 2, FG_DATA, 16, NEXT, 0);
	fake_guest_desc(&g, 0, FG_DATA + 64, 32, WRITE, 0);

	ck_assert_int_eq(pop(2), 1);
	ck_assert_uint_eq(c.head, 2);
	ck_assert_uint_eq(c.n_out, 1);
	ck_assert_uint_eq(c.n_in, 1);
	ck_assert_uint_eq(c.out_len, 16);
	ck_assert_uint_eq(c.in_len, 32);
	ck_assert_ptr_eq(c.iov[1].iov_base,
			 fake_guest_at(&g, FG_DATA + 64, 32));
	ck_assert_int_eq(virtq_pop(&q, &c), 0);
	finish();
}
END_TEST

/* Forbidden by virtio 1.2, 2.7.5.2; walked for ever by a naive device. */
START_TEST(pop_looping_chain_returns_ebadmsg)
{
	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 16, NEXT, 1);
	fake_guest_desc(&g, 1, FG_DATA, 16, NEXT, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();

	start(4);
	fake_guest_desc(&g, 3, FG_DATA, 16, NEXT, 3);
	ck_assert_int_eq(pop(3), -EBADMSG);
	finish();
}
END_TEST

START_TEST(pop_longest_chain_is_the_size_of_the_queue)
{
	start(4);
	for (unsigned int i = 0; i < 4; i++)
		fake_guest_desc(&g, i, FG_DATA, 16, i < 3 ? NEXT : 0,
				(uint16_t)(i + 1));
	ck_assert_int_eq(pop(0), 1);
	ck_assert_uint_eq(c.n_out, 4);
	finish();
}
END_TEST

START_TEST(pop_buffer_outside_ram_returns_ebadmsg)
{
	/* Each touches RAM, or wraps round to it, but does not fit in it. */
	static const struct {
		uint64_t addr;
		uint32_t len;
	} bad[] = {
		{ FG_BASE + FG_LEN - 8, 9 }, { FG_BASE - 1, 2 },
		{ UINT64_MAX - 7, 16 },      { UINT64_MAX, UINT32_MAX },
		{ FG_BASE + FG_LEN, 1 },     { FG_DATA, UINT32_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		start(4);
		fake_guest_desc(&g, 0, bad[i].addr, bad[i].len, 0, 0);
		ck_assert_int_eq(pop(0), -EBADMSG);
		finish();
	}
}
END_TEST

/* The hole below 4 GiB, as it were: neither half is the whole. */
START_TEST(pop_buffer_across_a_hole_returns_ebadmsg)
{
	start(4);
	g.mem.region[1] = g.mem.region[0];
	g.mem.region[1].gpa = FG_BASE + FG_LEN + 4096;
	g.mem.n = 2;
	fake_guest_desc(&g, 0, FG_BASE + FG_LEN - 16, 4096 + 32, 0, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();
}
END_TEST

START_TEST(pop_empty_descriptors_leave_no_piece)
{
	start(8);
	fake_guest_desc(&g, 0, FG_DATA, 0, NEXT, 1);
	fake_guest_desc(&g, 1, 0, 0, NEXT, 2); /* nor is it looked at */
	fake_guest_desc(&g, 2, FG_DATA, 3, NEXT, 3);
	fake_guest_desc(&g, 3, FG_DATA, 0, NEXT | WRITE, 4);
	fake_guest_desc(&g, 4, FG_DATA, 5, WRITE, 0);
	ck_assert_int_eq(pop(0), 1);
	ck_assert_uint_eq(c.n_out, 1);
	ck_assert_uint_eq(c.n_in, 1);
	ck_assert_uint_eq(c.out_len, 3);
	ck_assert_uint_eq(c.in_len, 5);

	fake_guest_desc(&g, 5, FG_DATA, 0, 0, 0);
	ck_assert_int_eq(pop(5), 1);
	ck_assert_uint_eq(c.n_out, 0);
	ck_assert_uint_eq(c.out_len, 0);
	finish();
}
END_TEST

/* Two gigabytes each: a 32-bit sum would be 0. */
START_TEST(pop_sum_of_lengths_does_not_wrap)
{
	start(4);
	g.mem.region[1] = (struct gmem_region){
		.gpa = 1ull << 32,
		.len = 1ull << 31,
		.hva = g.ram, /* never touched */
	};
	g.mem.n = 2;
	fake_guest_desc(&g, 0, 1ull << 32, 1u << 31, NEXT, 1);
	fake_guest_desc(&g, 1, 1ull << 32, 1u << 31, 0, 0);
	ck_assert_int_eq(pop(0), 1);
	ck_assert_uint_eq(c.out_len, 1ull << 32);
	finish();
}
END_TEST

/* virtio 1.2, 2.7.4.2 */
START_TEST(pop_readable_after_writable_returns_ebadmsg)
{
	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 16, NEXT | WRITE, 1);
	fake_guest_desc(&g, 1, FG_DATA, 16, 0, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();

	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 0, NEXT | WRITE, 1);
	fake_guest_desc(&g, 1, FG_DATA, 16, 0, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();
}
END_TEST

START_TEST(pop_index_past_the_table_returns_ebadmsg)
{
	/* Otherwise sound, so that only the index can be what is refused. */
	start(4);
	fake_guest_desc(&g, 4, FG_DATA, 16, 0, 0);
	ck_assert_int_eq(pop(4), -EBADMSG);
	finish();

	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 16, NEXT, 4);
	fake_guest_desc(&g, 4, FG_DATA, 16, 0, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();
}
END_TEST

START_TEST(pop_more_than_the_queue_holds_returns_ebadmsg)
{
	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 16, 0, 0);
	for (int i = 0; i < 5; i++)
		fake_guest_offer(&g, 0, 0);
	ck_assert_int_eq(virtq_pop(&q, &c), -EBADMSG);
	finish();
}
END_TEST

START_TEST(pop_index_that_went_back_returns_ebadmsg)
{
	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 16, 0, 0);
	ck_assert_int_eq(pop(0), 1);
	ck_assert_int_eq(gmem_store_le16(&g.mem, FG_AVAIL(0) + 2, 0), 0);
	ck_assert_int_eq(virtq_pop(&q, &c), -EBADMSG);
	finish();
}
END_TEST

START_TEST(unpop_gives_the_same_request_again)
{
	start(4);
	fake_guest_desc(&g, 1, FG_DATA, 16, 0, 0);
	ck_assert_int_eq(pop(1), 1);
	virtq_unpop(&q);
	c.head = 99;
	ck_assert_int_eq(virtq_pop(&q, &c), 1);
	ck_assert_uint_eq(c.head, 1);
	finish();
}
END_TEST

START_TEST(indirect_table_is_walked)
{
	start(4);
	q.indirect = true;
	entry(0, FG_DATA, 10, NEXT, 2);
	entry(2, FG_DATA + 16, 20, WRITE, 0);
	fake_guest_desc(&g, 0, FG_DATA, 1, NEXT, 1);
	fake_guest_desc(&g, 1, TABLE, 3 * 16, INDIRECT, 0);
	ck_assert_int_eq(pop(0), 1);
	ck_assert_uint_eq(c.n_out, 2);
	ck_assert_uint_eq(c.n_in, 1);
	ck_assert_uint_eq(c.out_len, 11);
	ck_assert_uint_eq(c.in_len, 20);
	finish();
}
END_TEST

/* 2.7.5.3.2: the WRITE flag of what refers to the table means nothing. */
START_TEST(indirect_table_write_flag_is_ignored)
{
	start(4);
	q.indirect = true;
	entry(0, FG_DATA, 10, 0, 0);
	fake_guest_desc(&g, 0, TABLE, 16, INDIRECT | WRITE, 0);
	ck_assert_int_eq(pop(0), 1);
	ck_assert_uint_eq(c.n_out, 1);
	finish();
}
END_TEST

START_TEST(indirect_without_the_feature_returns_ebadmsg)
{
	start(4);
	entry(0, FG_DATA, 10, 0, 0);
	fake_guest_desc(&g, 0, TABLE, 16, INDIRECT, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();
}
END_TEST

START_TEST(indirect_table_of_bad_shape_returns_ebadmsg)
{
	static const struct {
		uint64_t addr;
		uint32_t len;
		unsigned int flags;
	} bad[] = {
		{ TABLE, 0, INDIRECT },
		{ TABLE, 15, INDIRECT },
		{ TABLE, 17, INDIRECT },
		{ TABLE, 5 * 16, INDIRECT }, /* more than the queue */
		{ TABLE, 32768 * 16, INDIRECT },
		{ TABLE, 16, INDIRECT | NEXT },
		{ FG_BASE + FG_LEN - 16, 32, INDIRECT },
		{ FG_BASE + FG_LEN, 16, INDIRECT }, /* no RAM at all */
		{ UINT64_MAX - 15, 32, INDIRECT },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct virtq_desc last = { .addr = le64_put(FG_DATA),
					   .len = le32_put(1) };

		start(4);
		q.indirect = true;
		entry(0, FG_DATA, 10, 0, 0);
		fake_guest_table(&g, FG_BASE + FG_LEN - 16, 0, &last);
		fake_guest_desc(&g, 0, bad[i].addr, bad[i].len, bad[i].flags,
				1);
		fake_guest_desc(&g, 1, FG_DATA, 1, 0, 0);
		ck_assert_int_eq(pop(0), -EBADMSG);
		finish();
	}
}
END_TEST

START_TEST(indirect_in_indirect_returns_ebadmsg)
{
	start(4);
	q.indirect = true;
	entry(0, TABLE + 64, 16, INDIRECT, 0);
	entry(4, FG_DATA, 10, 0, 0);
	fake_guest_desc(&g, 0, TABLE, 16, INDIRECT, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();
}
END_TEST

START_TEST(indirect_next_past_its_table_returns_ebadmsg)
{
	start(4);
	q.indirect = true;
	entry(0, FG_DATA, 10, NEXT, 2);
	entry(2, FG_DATA, 10, 0, 0);
	fake_guest_desc(&g, 0, TABLE, 2 * 16, INDIRECT, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();
}
END_TEST

START_TEST(indirect_loop_returns_ebadmsg)
{
	start(4);
	q.indirect = true;
	entry(0, FG_DATA, 10, NEXT, 1);
	entry(1, FG_DATA, 10, NEXT, 0);
	fake_guest_desc(&g, 0, TABLE, 2 * 16, INDIRECT, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();
}
END_TEST

/* 2.7.5.3.1: direct and indirect together, no more than the queue's size. */
START_TEST(indirect_and_direct_count_together)
{
	start(4);
	q.indirect = true;
	for (unsigned int i = 0; i < 4; i++)
		entry(i, FG_DATA, 10, i < 3 ? NEXT : 0, (uint16_t)(i + 1));
	fake_guest_desc(&g, 0, FG_DATA, 1, NEXT, 1);
	fake_guest_desc(&g, 1, TABLE, 4 * 16, INDIRECT, 0);
	ck_assert_int_eq(pop(0), -EBADMSG);
	finish();
}
END_TEST

START_TEST(push_is_seen_only_when_published)
{
	uint32_t id, len;

	start(4);
	ck_assert_int_eq(virtq_push(&q, 3, 7), 0);
	ck_assert_int_eq(virtq_push(&q, 1, 9), 0);
	ck_assert(!fake_guest_used(&g, 0, &id, &len));
	ck_assert_int_eq(virtq_publish(&q), 1);
	ck_assert(fake_guest_used(&g, 0, &id, &len));
	ck_assert_uint_eq(id, 3);
	ck_assert_uint_eq(len, 7);
	ck_assert(fake_guest_used(&g, 0, &id, &len));
	ck_assert_uint_eq(id, 1);
	ck_assert_uint_eq(len, 9);
	ck_assert_int_eq(virtq_publish(&q), 0); /* nothing new */
	finish();
}
END_TEST

START_TEST(publish_respects_the_no_interrupt_flag)
{
	start(4);
	ck_assert_int_eq(gmem_store_le16(&g.mem, FG_AVAIL(0), 1), 0);
	ck_assert_int_eq(virtq_push(&q, 0, 0), 0);
	ck_assert_int_eq(virtq_publish(&q), 0);
	ck_assert_uint_eq(fake_guest_used_idx(&g, 0), 1);
	finish();
}
END_TEST

/* An interrupt exactly when the index passes the driver's event. */
START_TEST(publish_follows_the_event_index)
{
	static const struct {
		unsigned int n;
		int want;
		uint16_t from;
		uint16_t event;
	} cases[] = {
		{ 1, 1, 0, 0 },           { 1, 0, 0, 1 },
		{ 3, 1, 0, 1 },           { 3, 1, 0, 2 },
		{ 3, 0, 0, 3 },           { 1, 0, 5, 4 },
		{ 1, 1, 5, 5 },           { 1, 0, 0xfffe, 0 },
		{ 3, 1, 0xfffe, 0 },      { 2, 1, 0xfffe, 0xffff },
		{ 1, 1, 0xffff, 0xffff },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		start(4);
		q.event_idx = true;
		q.next_used = cases[i].from;
		q.published = cases[i].from;
		fake_guest_event(&g, 0, cases[i].event);
		for (unsigned int n = 0; n < cases[i].n; n++)
			ck_assert_int_eq(virtq_push(&q, 0, 0), 0);
		ck_assert_int_eq(virtq_publish(&q), cases[i].want);
		finish();
	}
}
END_TEST

START_TEST(event_index_ignores_the_flag)
{
	start(4);
	q.event_idx = true;
	ck_assert_int_eq(gmem_store_le16(&g.mem, FG_AVAIL(0), 1), 0);
	ck_assert_int_eq(virtq_push(&q, 0, 0), 0);
	ck_assert_int_eq(virtq_publish(&q), 1);
	finish();
}
END_TEST

START_TEST(arm_sees_what_came_meanwhile)
{
	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 16, 0, 0);
	ck_assert_int_eq(virtq_arm(&q), 0);
	fake_guest_offer(&g, 0, 0);
	ck_assert_int_eq(virtq_arm(&q), 1);
	finish();
}
END_TEST

START_TEST(arm_and_disarm_use_the_flag_or_the_event)
{
	uint16_t v;

	start(4);
	ck_assert_int_eq(virtq_disarm(&q), 0);
	ck_assert_int_eq(gmem_load_le16(&g.mem, FG_USED(0), &v), 0);
	ck_assert_uint_eq(v, VIRTQ_USED_F_NO_NOTIFY);
	ck_assert_int_eq(virtq_arm(&q), 0);
	ck_assert_int_eq(gmem_load_le16(&g.mem, FG_USED(0), &v), 0);
	ck_assert_uint_eq(v, 0);
	finish();

	start(4);
	q.event_idx = true;
	fake_guest_desc(&g, 0, FG_DATA, 16, 0, 0);
	ck_assert_int_eq(pop(0), 1);
	ck_assert_int_eq(virtq_arm(&q), 0);
	ck_assert_int_eq(gmem_load_le16(&g.mem, FG_USED(0) + 4 + 8 * 4, &v), 0);
	ck_assert_uint_eq(v, 1);
	finish();
}
END_TEST

/* The areas can only leave RAM if RAM does: each access is checked again. */
START_TEST(rings_that_left_ram_return_ebadmsg)
{
	start(4);
	fake_guest_desc(&g, 0, FG_DATA, 16, 0, 0);
	fake_guest_offer(&g, 0, 0);
	q.desc = FG_BASE + FG_LEN;
	ck_assert_int_eq(virtq_pop(&q, &c), -EBADMSG);
	q.avail = FG_BASE + FG_LEN;
	ck_assert_int_eq(virtq_pop(&q, &c), -EBADMSG);
	q.used = FG_BASE + FG_LEN;
	ck_assert_int_eq(virtq_push(&q, 0, 0), -EBADMSG);
	q.next_used++;
	ck_assert_int_eq(virtq_publish(&q), -EBADMSG);
	ck_assert_int_eq(virtq_arm(&q), -EBADMSG);
	ck_assert_int_eq(virtq_disarm(&q), -EBADMSG);
	finish();
}
END_TEST

/* A chain of "abc", "defg" to read and 2 + 5 bytes to write. */
static void pop_sample(void)
{
	start(4);
	memcpy(fake_guest_at(&g, FG_DATA, 3), "abc", 3);
	memcpy(fake_guest_at(&g, FG_DATA + 32, 4), "defg", 4);
	fake_guest_desc(&g, 0, FG_DATA, 3, NEXT, 1);
	fake_guest_desc(&g, 1, FG_DATA + 32, 4, NEXT, 2);
	fake_guest_desc(&g, 2, FG_DATA + 64, 2, NEXT | WRITE, 3);
	fake_guest_desc(&g, 3, FG_DATA + 96, 5, WRITE, 0);
	ck_assert_int_eq(pop(0), 1);
}

START_TEST(chain_get_crosses_pieces)
{
	char buf[16] = { 0 };

	pop_sample();
	ck_assert_uint_eq(virtq_chain_get(&c, 0, buf, sizeof(buf)), 7);
	ck_assert_str_eq(buf, "abcdefg");
	memset(buf, 0, sizeof(buf));
	ck_assert_uint_eq(virtq_chain_get(&c, 2, buf, 3), 3);
	ck_assert_str_eq(buf, "cde");
	ck_assert_uint_eq(virtq_chain_get(&c, 7, buf, 1), 0);
	finish();
}
END_TEST

START_TEST(chain_put_crosses_pieces_and_ends_with_them)
{
	pop_sample();
	ck_assert_uint_eq(virtq_chain_put(&c, 1, "123456789", 9), 6);
	ck_assert_mem_eq(fake_guest_at(&g, FG_DATA + 64, 3), "\0001\0", 3);
	ck_assert_mem_eq(fake_guest_at(&g, FG_DATA + 96, 6), "23456\0", 6);
	finish();
}
END_TEST

START_TEST(chain_slices_respect_offset_length_and_room)
{
	struct iovec iov[4];

	pop_sample();
	ck_assert_int_eq(virtq_chain_out(&c, 1, 4, iov, 4), 2);
	ck_assert_uint_eq(iov[0].iov_len, 2);
	ck_assert_uint_eq(iov[1].iov_len, 2);
	ck_assert_int_eq(virtq_chain_out(&c, 3, 100, iov, 4), 1);
	ck_assert_uint_eq(iov[0].iov_len, 4);
	ck_assert_int_eq(virtq_chain_out(&c, 0, 100, iov, 1), 1);
	ck_assert_int_eq(virtq_chain_out(&c, 0, 0, iov, 4), 0);
	ck_assert_int_eq(virtq_chain_in(&c, 2, 100, iov, 4), 1);
	ck_assert_uint_eq(iov[0].iov_len, 5);
	finish();
}
END_TEST

START_TEST(chain_keep_fills_a_ring_or_nothing)
{
	struct ring r = { .cap = 6 };
	struct iovec iov[2];

	pop_sample();
	ck_assert_int_eq(virtq_chain_keep(&c, 0, 7, &r), -ENOSPC);
	ck_assert_uint_eq(r.len, 0);
	ck_assert_int_eq(virtq_chain_keep(&c, 1, 6, &r), 0);
	ck_assert_int_eq(ring_peek(&r, iov), 1);
	ck_assert_mem_eq(iov[0].iov_base, "bcdefg", 6);
	ring_done(&r);
	finish();
}
END_TEST

CHECK_MAIN("virtq", check_takes_any_sound_size, check_refuses_bad_sizes,
	   check_refuses_unaligned_areas,
	   check_refuses_areas_past_the_end_of_ram, pop_empty_ring_returns_zero,
	   pop_of_a_queue_that_is_not_ready_returns_zero,
	   pop_splits_a_chain_into_out_and_in,
	   pop_looping_chain_returns_ebadmsg,
	   pop_longest_chain_is_the_size_of_the_queue,
	   pop_buffer_outside_ram_returns_ebadmsg,
	   pop_buffer_across_a_hole_returns_ebadmsg,
	   pop_empty_descriptors_leave_no_piece,
	   pop_sum_of_lengths_does_not_wrap,
	   pop_readable_after_writable_returns_ebadmsg,
	   pop_index_past_the_table_returns_ebadmsg,
	   pop_more_than_the_queue_holds_returns_ebadmsg,
	   pop_index_that_went_back_returns_ebadmsg,
	   unpop_gives_the_same_request_again, indirect_table_is_walked,
	   indirect_table_write_flag_is_ignored,
	   indirect_without_the_feature_returns_ebadmsg,
	   indirect_table_of_bad_shape_returns_ebadmsg,
	   indirect_in_indirect_returns_ebadmsg,
	   indirect_next_past_its_table_returns_ebadmsg,
	   indirect_loop_returns_ebadmsg, indirect_and_direct_count_together,
	   push_is_seen_only_when_published,
	   publish_respects_the_no_interrupt_flag,
	   publish_follows_the_event_index, event_index_ignores_the_flag,
	   arm_sees_what_came_meanwhile,
	   arm_and_disarm_use_the_flag_or_the_event,
	   rings_that_left_ram_return_ebadmsg, chain_get_crosses_pieces,
	   chain_put_crosses_pieces_and_ends_with_them,
	   chain_slices_respect_offset_length_and_room,
	   chain_keep_fills_a_ring_or_nothing)
