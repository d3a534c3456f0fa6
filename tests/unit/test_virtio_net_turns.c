/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_virtio_net_turns.c - vmm/virtio/net: what happens while a
 * frame is under way, and links that fail
 *
 * Under ThreadSanitizer too.  Nothing here asks how long anything takes.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_link.h"
#include "tests/lib/fake_net.h"
#include "tests/lib/toy_dev.h"

/* Queues of a driver of two pairs. */
#define RX1  2u
#define TX1  3u
#define CTRL 4u

#define LEN (VNET_HDR_LEN + 60u)

static struct virtio_net_stats stats(struct fake_net *t)
{
	struct virtio_net_stats s;

	virtio_net_stats(t->n, &s);
	return s;
}

/* With all queues that there are, behind all the buffers used here. */
static struct fake_net *booted_pairs(struct fake_link *f)
{
	struct fake_net *t = fake_net_new_on(&f->link, NULL);

	fake_guest_set(&t->g, REG_STATUS, 0);
	fake_guest_set(&t->g, REG_STATUS, 1);
	fake_guest_set(&t->g, REG_STATUS, 3);
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MQ |
					   VIRTIO_NET_F_CTRL_VQ);
	fake_guest_set(&t->g, REG_STATUS, 0xb);
	for (unsigned int i = 0; i < FG_MOST; i++)
		fake_guest_setup_queue(&t->g, i);
	fake_guest_set(&t->g, REG_STATUS, 0xf);
	return t;
}

static void send_on(struct fake_net *t, unsigned int qi, unsigned int i)
{
	memset(fake_guest_at(&t->g, FN_BUF(FN_TX, i), LEN), 0, LEN);
	fake_net_desc(t, qi, i,
		      (struct fake_piece){ FN_BUF(FN_TX, i), LEN, 0, 0 });
	fake_net_offer(t, qi, (uint16_t)i);
}

static void give_on(struct fake_net *t, unsigned int qi, unsigned int i,
		    uint32_t len)
{
	fake_net_desc(t, qi, i,
		      (struct fake_piece){ FN_BUF(FN_TX, i), len,
					   VIRTQ_DESC_F_WRITE, 0 });
	fake_net_offer(t, qi, (uint16_t)i);
}

static void expect_used(struct fake_net *t, unsigned int qi, unsigned int id)
{
	uint32_t used;

	ck_assert_uint_eq(fake_net_take(t, qi, &used), id);
}

/* Return: the answer to a wish for @n pairs */
static unsigned int set_pairs(struct fake_net *t, uint8_t n)
{
	const uint8_t want[4] = { 4, 0, n, 0 };
	uint64_t at = FN_BUF(FN_CTRL, 0);

	memcpy(fake_guest_at(&t->g, at, sizeof(want)), want, sizeof(want));
	fake_net_desc(t, CTRL, 0,
		      (struct fake_piece){ at, 4, VIRTQ_DESC_F_NEXT, 1 });
	fake_net_desc(t, CTRL, 1,
		      (struct fake_piece){ at + 4, 1, VIRTQ_DESC_F_WRITE, 0 });
	fake_net_offer(t, CTRL, 0);
	expect_used(t, CTRL, 0);
	return *fake_guest_at(&t->g, at + 4, 1);
}

START_TEST(pair_that_is_put_out_of_use_gives_back_what_it_has_sent)
{
	struct fake_link *f = fake_link_new(2, false);
	struct fake_net *t = booted_pairs(f);

	ck_assert_uint_eq(set_pairs(t, 2), 0);
	fake_link_hold(f, true);
	for (unsigned int i = 0; i < 3; i++)
		send_on(t, TX1, i);
	fake_link_await(f, &f->n_held, 1);
	ck_assert_uint_eq(set_pairs(t, 1), 0);
	fake_link_hold(f, false);
	expect_used(t, TX1, 0);
	/* Of the rest none is begun before it is in use again. */
	ck_assert_uint_eq(stats(t).tx_frames, 1);
	ck_assert_uint_eq(set_pairs(t, 2), 0);
	expect_used(t, TX1, 1);
	expect_used(t, TX1, 2);
	fake_net_free(t);
}
END_TEST

START_TEST(pair_that_is_put_out_of_use_is_given_no_frame)
{
	struct fake_link *f = fake_link_new(2, false);
	struct fake_net *t = booted_pairs(f);

	ck_assert_uint_eq(set_pairs(t, 2), 0);
	fake_link_hold(f, true);
	fake_link_set(f, &f->n_in, 1);
	give_on(t, RX1, 0, 1000);
	fake_link_await(f, &f->n_held, 1);
	ck_assert_uint_eq(set_pairs(t, 1), 0);
	fake_link_hold(f, false);
	while (stats(t).rx_dropped == 0)
		(void)sched_yield();
	ck_assert_uint_eq(fake_guest_used_idx(&t->g, RX1), 0);
	/* The buffer is still there for the next. */
	fake_link_set(f, &f->n_in, 1);
	ck_assert_uint_eq(set_pairs(t, 2), 0);
	expect_used(t, RX1, 0);
	fake_net_free(t);
}
END_TEST

START_TEST(link_that_has_not_so_many_queues_stays_as_it_was)
{
	struct fake_link *f = fake_link_new(2, false);
	struct fake_net *t = booted_pairs(f);

	ck_assert_uint_eq(set_pairs(t, 2), 0);
	ck_assert_uint_eq(set_pairs(t, 1), 0);
	fake_link_set(f, &f->spread_max, 1);
	ck_assert_uint_eq(set_pairs(t, 2), 1);
	fake_link_await(f, &f->n_spread, 1);
	ck_assert(stats(t).up);
	/* Neither there nor back. */
	fake_link_set(f, &f->spread_max, 0);
	ck_assert_uint_eq(set_pairs(t, 2), 1);
	ck_assert(!stats(t).up);
	fake_net_free(t);
}
END_TEST

START_TEST(pause_ends_with_the_frame_under_way)
{
	struct fake_link *f = fake_link_new(1, false);
	struct fake_net *t = fake_net_new_on(&f->link, NULL);

	fake_net_boot(t, 0);
	fake_link_hold(f, true);
	for (unsigned int i = 0; i < 3; i++)
		send_on(t, FN_TX, i);
	fake_link_await(f, &f->n_held, 1);
	virtio_net_pause(t->n);
	ck_assert(!virtio_net_is_paused(t->n));
	fake_link_hold(f, false);
	while (!virtio_net_is_paused(t->n))
		(void)sched_yield();
	ck_assert_uint_eq(stats(t).tx_frames, 1);
	ck_assert_uint_eq(atomic_load(&t->still), 1);
	expect_used(t, FN_TX, 0);
	virtio_net_resume(t->n);
	expect_used(t, FN_TX, 1);
	expect_used(t, FN_TX, 2);
	fake_net_free(t);
}
END_TEST

/* A queue is stopped while a frame of the other one is held. */
START_TEST(queue_stops_without_the_other)
{
	struct fake_link *f = fake_link_new(1, false);
	struct fake_net *t = fake_net_new_on(&f->link, NULL);

	fake_net_boot(t, 0);
	fake_link_hold(f, true);
	send_on(t, FN_TX, 0);
	fake_link_await(f, &f->n_held, 1);
	fake_guest_set(&t->g, REG_QUEUE_SEL, FN_RX);
	fake_guest_set(&t->g, REG_QUEUE_READY, 0);
	fake_link_hold(f, false);
	expect_used(t, FN_TX, 0);
	fake_net_free(t);
}
END_TEST

/* It was not taken, and nobody will tell when it can be. */
START_TEST(frame_that_waits_for_a_lost_link_is_given_back)
{
	struct fake_link *f = fake_link_new(1, false);
	struct fake_net *t = fake_net_new_on(&f->link, NULL);

	f->lose = true;
	fake_net_boot(t, 0);
	give_on(t, FN_RX, 1, 1000);
	send_on(t, FN_TX, 0);
	expect_used(t, FN_TX, 0);
	ck_assert(!stats(t).up);
	ck_assert_uint_eq(stats(t).tx_frames, 0);
	fake_net_free(t);
}
END_TEST

START_TEST(want_of_memory_is_waited_for)
{
	struct fake_link *f = fake_link_new(1, false);
	struct fake_net *t = fake_net_new_on(&f->link, NULL);

	f->n_fail = 3;
	f->n_in = 1;
	fake_net_boot(t, 0);
	give_on(t, FN_RX, 0, 1000);
	expect_used(t, FN_RX, 0);
	ck_assert(stats(t).up);
	fake_net_free(t);
}
END_TEST

static void expect_charged(struct fake_link *f)
{
	const struct net_rate rate = { .bytes = 1 };
	struct fake_net *t = fake_net_new_on(&f->link, &rate);
	int64_t level;

	f->n_in = 1;
	fake_net_boot(t, 0);
	give_on(t, FN_RX, 0, 30000);
	while (stats(t).rx_dropped == 0)
		(void)sched_yield();
	(void)pthread_mutex_lock(&t->n->vd.lock);
	level = t->n->rx_limit.bytes.level;
	(void)pthread_mutex_unlock(&t->n->vd.lock);
	ck_assert_int_lt(level, 0);
	fake_net_free(t);
}

START_TEST(frames_that_are_dropped_count_for_the_rate)
{
	struct fake_link *f = fake_link_new(1, true);

	f->in_len = 40000;
	expect_charged(f); /* no room */
	f = fake_link_new(1, true);
	f->in_type = 3;
	f->in_len = 20000;
	expect_charged(f); /* a header that is none */
}
END_TEST

/* Before any thread of the device has looked at the reset. */
START_TEST(next_driver_reads_the_first_address)
{
	static const uint8_t mac[6] = { 2, 1, 2, 3, 4, 5 };
	struct fake_net *t = fake_net_new(false, NULL);
	uint8_t seen[6];

	fake_net_boot(t, VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_MAC_ADDR);
	ck_assert_uint_eq(fake_net_command(t, 1, 1, mac, sizeof(mac)), 0);
	virtio_net_stop(t->n);
	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG, seen, sizeof(seen));
	ck_assert_mem_eq(seen, mac, sizeof(mac));
	fake_guest_set(&t->g, REG_STATUS, 0);
	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG, seen, sizeof(seen));
	ck_assert_mem_eq(seen, "\2\0\0\0\0\11", sizeof(seen));
	fake_net_free(t);
}
END_TEST

CHECK_MAIN("virtio_net_turns",
	   pair_that_is_put_out_of_use_gives_back_what_it_has_sent,
	   pair_that_is_put_out_of_use_is_given_no_frame,
	   link_that_has_not_so_many_queues_stays_as_it_was,
	   pause_ends_with_the_frame_under_way, queue_stops_without_the_other,
	   frame_that_waits_for_a_lost_link_is_given_back,
	   want_of_memory_is_waited_for,
	   frames_that_are_dropped_count_for_the_rate,
	   next_driver_reads_the_first_address)
