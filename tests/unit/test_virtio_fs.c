/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_virtio_fs.c - vmm/virtio/fs: queues, threads, reset
 *
 * Under ThreadSanitizer too.  Nothing here asks how long anything takes: what
 * is to be slow is held by the server until the test lets it go.
 */
#include <errno.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_fs.h"
#include "tests/lib/toy_dev.h"

#define MOST (FF_QUEUE / 3) /* requests that a queue holds */

static struct fake_fs *booted(unsigned int n_queues, unsigned int n_workers)
{
	struct fake_fs *t = fake_fs_new(n_queues, n_workers);

	fake_fs_boot(t, false);
	return t;
}

static void expect(struct fake_fs *t, unsigned int qi, unsigned int i,
		   const char *text)
{
	uint32_t len = 0;

	ck_assert_uint_eq(fake_fs_take(t, qi, &len), i);
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_str_eq(fake_fs_answer(t, qi, i), text);
}

/* From a request on, as often as the server wants. */
START_TEST(server_looks_after_things_until_there_are_none)
{
	struct fake_fs *t = fake_fs_new(1, 1);

	t->tend_until = 3;
	fake_fs_boot(t, false);
	fake_fs_send(t, 1, 0, "read");
	expect(t, 1, 0, "READ");
	fake_fs_await(t, &t->n_tended, 3);
	fake_fs_send(t, 1, 1, "read");
	expect(t, 1, 1, "READ");
	fake_fs_await(t, &t->n_tended, 4);
	fake_fs_free(t);
}
END_TEST

/* Its thread is never without a request. */
START_TEST(flood_of_urgent_requests_does_not_keep_the_server_from_that)
{
	struct fake_fs *t = fake_fs_new(1, 1);

	fake_fs_boot(t, false);
	fake_fs_send(t, 0, 0, "+flood");
	fake_fs_await(t, &t->n_tended, 1);
	fake_fs_free(t);
}
END_TEST

START_TEST(pause_waits_for_what_is_under_way_and_begins_nothing)
{
	struct fake_fs *t = booted(1, 2);

	ck_assert(!virtio_fs_is_paused(t->f));
	fake_fs_send(t, 1, 0, "hold");
	fake_fs_await(t, &t->n_held, 1);
	virtio_fs_pause(t->f);
	ck_assert(!virtio_fs_is_paused(t->f));
	/* One worker is free, and so is the one of the other queue. */
	fake_fs_send(t, 1, 1, "read");
	fake_fs_send(t, 0, 0, "-forget");
	fake_fs_let_go(t, 1);
	fake_fs_await(t, &t->n_still, 1);
	ck_assert(virtio_fs_is_paused(t->f));
	expect(t, 1, 0, "HOLD");
	ck_assert_uint_eq(t->n_served, 1);
	virtio_fs_resume(t->f);
	ck_assert(!virtio_fs_is_paused(t->f));
	expect(t, 1, 1, "READ");
	expect(t, 0, 0, "");
	ck_assert_uint_eq(t->n_still, 1);
	fake_fs_free(t);
}
END_TEST

static void *reset(void *arg)
{
	struct fake_fs *t = arg;

	fake_guest_set(&t->g, REG_STATUS, 0);
	return NULL;
}

START_TEST(configuration_is_tag_and_number_of_queues)
{
	struct fake_fs *t = fake_fs_new(2, 1);
	uint8_t b[48];

	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG, b, sizeof(b));

	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_DEVICE_ID), 26);
	ck_assert_mem_eq(b, FF_TAG, sizeof(FF_TAG));
	for (size_t i = sizeof(FF_TAG); i < sizeof(b); i++)
		ck_assert_uint_eq(b[i], i == 36 ? 2 : 0);
	fake_guest_set(&t->g, REG_QUEUE_SEL, 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_NUM_MAX), 1024);
	fake_guest_set(&t->g, REG_QUEUE_SEL, 3);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_NUM_MAX), 0);
	fake_fs_free(t);
}
END_TEST

/* Registers of 4.2.2.1; without a window they are all ones. */
START_TEST(window_is_shared_memory_region_0)
{
	static const uint32_t want[2][4] = {
		{ 0x4000000, 0, 0x48000000, 1 },
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
	};
	struct fake_fs *t = fake_fs_new(1, 1);

	for (unsigned int id = 0; id < 2; id++) {
		fake_guest_set(&t->g, REG_SHM_SEL, id);
		for (unsigned int i = 0; i < 4; i++)
			ck_assert_uint_eq(
				fake_guest_reg(&t->g, REG_SHM_LEN_LOW + 4 * i),
				want[id][i]);
	}
	fake_fs_free(t);
}
END_TEST

START_TEST(request_is_answered_on_each_queue)
{
	struct fake_fs *t = booted(2, 1);

	for (unsigned int qi = 0; qi < 3; qi++) {
		fake_fs_send(t, qi, 1, "read");
		expect(t, qi, 1, "READ");
		fake_fs_send(t, qi, 0, "-forget");
		expect(t, qi, 0, "");
	}
	ck_assert_uint_eq(virtio_fs_dev(t->f)->n_broken, 0);
	fake_fs_free(t);
}
END_TEST

START_TEST(requests_end_in_any_order)
{
	struct fake_fs *t = booted(1, 2);

	fake_fs_send(t, 1, 0, "hold");
	fake_fs_await(t, &t->n_held, 1);
	fake_fs_send(t, 1, 1, "read");
	expect(t, 1, 1, "READ");
	fake_fs_send(t, 1, 2, "write");
	expect(t, 1, 2, "WRITE");
	fake_fs_let_go(t, 1);
	expect(t, 1, 0, "HOLD");
	fake_fs_free(t);
}
END_TEST

START_TEST(forget_does_not_wait_for_slow_requests)
{
	struct fake_fs *t = booted(1, 2);
	struct virtio_fs_stats s;

	for (unsigned int i = 0; i < MOST; i++)
		fake_fs_send(t, 1, i, "hold");
	fake_fs_await(t, &t->n_held, 2);
	fake_fs_send(t, 0, 0, "-forget");
	expect(t, 0, 0, "");
	virtio_fs_stats(t->f, &s);
	ck_assert_uint_eq(s.n_busy, 2);
	ck_assert_uint_eq(s.served, 1);
	fake_fs_let_go(t, MOST);
	for (unsigned int i = 0; i < MOST; i++)
		(void)fake_fs_take(t, 1, &(uint32_t){ 0 });
	ck_assert_uint_eq(t->n_most, 3);
	fake_fs_free(t);
}
END_TEST

/* Each of the workers is woken, though the driver notifies but once or twice. */
START_TEST(all_workers_are_used)
{
	struct fake_fs *t = fake_fs_new(1, MOST);

	for (unsigned int round = 0; round < 4; round++) {
		fake_fs_boot(t, round % 2);
		for (unsigned int i = 0; i < MOST; i++)
			fake_fs_send(t, 1, i, "hold");
		fake_fs_await(t, &t->n_held, MOST);
		fake_fs_let_go(t, MOST);
		for (unsigned int i = 0; i < MOST; i++)
			(void)fake_fs_take(t, 1, &(uint32_t){ 0 });
	}
	fake_fs_free(t);
}
END_TEST

static bool is_running(struct fake_fs *t)
{
	struct virtio_dev *vd = virtio_fs_dev(t->f);
	bool running;

	(void)pthread_mutex_lock(&vd->lock);
	running = vd->running;
	(void)pthread_mutex_unlock(&vd->lock);
	return running;
}

START_TEST(reset_waits_for_what_is_under_way)
{
	struct fake_fs *t = booted(1, 1);
	pthread_t vcpu;

	fake_fs_send(t, 1, 0, "hold");
	fake_fs_await(t, &t->n_held, 1);
	ck_assert_int_eq(pthread_create(&vcpu, NULL, reset, t), 0);
	while (is_running(t))
		continue;
	fake_fs_let_go(t, 1);
	ck_assert_int_eq(pthread_join(vcpu, NULL), 0);

	/* It was answered, of which the driver hears nothing. */
	ck_assert_uint_eq(t->n_served, 1);
	ck_assert_str_eq(fake_fs_answer(t, 1, 0), "HOLD");
	ck_assert_uint_eq(fake_guest_used_idx(&t->g, 1), 0);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 0);
	fake_fs_await(t, &t->n_renewed, 2); /* that of the boot, and this */
	ck_assert(!t->busy_renewed);
	fake_fs_boot(t, false);
	fake_fs_send(t, 1, 0, "read");
	expect(t, 1, 0, "READ");
	fake_fs_free(t);
}
END_TEST

START_TEST(nothing_is_served_until_the_server_has_forgotten)
{
	struct fake_fs *t = fake_fs_new(1, 2);

	t->hold_renew = true;
	fake_fs_boot(t, false); /* begins with a reset */
	fake_fs_await(t, &t->n_held, 1);
	fake_fs_send(t, 1, 0, "read");
	fake_fs_send(t, 0, 0, "-forget");
	ck_assert_uint_eq(t->n_served, 0);
	fake_fs_let_go(t, 1);
	expect(t, 1, 0, "READ");
	expect(t, 0, 0, "");
	fake_fs_free(t);
}
END_TEST

static void *stop_queue(void *arg)
{
	struct fake_fs *t = arg;

	fake_guest_set(&t->g, REG_QUEUE_SEL, 1);
	fake_guest_set(&t->g, REG_QUEUE_READY, 0);
	return NULL;
}

START_TEST(stopped_queue_takes_nothing_back)
{
	struct fake_fs *t = booted(2, 2);
	pthread_t vcpu;

	fake_fs_send(t, 1, 0, "hold");
	fake_fs_send(t, 2, 0, "hold");
	fake_fs_await(t, &t->n_held, 2);
	ck_assert_int_eq(pthread_create(&vcpu, NULL, stop_queue, t), 0);
	fake_fs_let_go(t, 2);
	ck_assert_int_eq(pthread_join(vcpu, NULL), 0);
	expect(t, 2, 0, "HOLD");
	fake_fs_send(t, 2, 1, "read");
	expect(t, 2, 1, "READ");
	fake_fs_free(t);
}
END_TEST

static unsigned int n_parked(struct fake_fs *t)
{
	struct virtio_fs_stats st;

	virtio_fs_stats(t->f, &st);
	return (unsigned int)st.n_parked;
}

static void await_parked(struct fake_fs *t, unsigned int n)
{
	while (n_parked(t) != n)
		continue;
}

/* With one worker: it is held up by none of them. */
START_TEST(what_waits_is_put_aside_and_holds_up_nobody)
{
	struct fake_fs *t = booted(2, 1);

	fake_fs_send(t, 1, 0, "later");
	fake_fs_send(t, 2, 0, "lock");
	await_parked(t, 2);
	fake_fs_send(t, 1, 1, "read");
	expect(t, 1, 1, "READ");
	fake_fs_send(t, 0, 0, "-forget");
	expect(t, 0, 0, "");
	/* By itself after a while, or when somebody says so: the oldest. */
	fake_fs_open(t, 1, false);
	expect(t, 1, 0, "LATER");
	ck_assert_uint_eq(n_parked(t), 1);
	fake_fs_open(t, 1, true);
	expect(t, 2, 0, "LOCK");
	ck_assert_uint_eq(n_parked(t), 0);
	/* Nothing is put aside that can be done. */
	fake_fs_open(t, 1, true);
	fake_fs_send(t, 2, 1, "lock");
	expect(t, 2, 1, "LOCK");
	fake_fs_free(t);
}
END_TEST

START_TEST(too_many_that_wait_are_refused)
{
	struct fake_fs *t = booted(1, 2);
	uint32_t len;

	for (unsigned int i = 0; i < 3; i++)
		fake_fs_send(t, 1, i, "later");
	await_parked(t, 3);
	fake_fs_send(t, 1, 3, "later");
	expect(t, 1, 3, "NO");
	ck_assert_uint_eq(n_parked(t), 3);
	fake_fs_open(t, 1, true);
	(void)fake_fs_take(t, 1, &len);
	fake_fs_send(t, 1, 3, "later");
	await_parked(t, 3);
	fake_fs_free(t);
}
END_TEST

START_TEST(reset_and_stop_forget_what_waits)
{
	struct fake_fs *t = booted(2, 2);

	fake_fs_send(t, 1, 0, "later");
	fake_fs_send(t, 2, 0, "later");
	await_parked(t, 2);
	(void)stop_queue(t);
	ck_assert_uint_eq(n_parked(t), 1);
	fake_fs_open(t, 1, true);
	expect(t, 2, 0, "LATER");
	fake_fs_send(t, 2, 1, "later");
	await_parked(t, 1);
	(void)reset(t);
	ck_assert_uint_eq(n_parked(t), 0);
	fake_fs_boot(t, false);
	fake_fs_open(t, 1, true);
	fake_fs_send(t, 1, 0, "later");
	expect(t, 1, 0, "LATER");
	ck_assert_uint_eq(virtio_fs_dev(t->f)->n_broken, 0);
	fake_fs_free(t);
}
END_TEST

START_TEST(pause_leaves_what_waits_aside)
{
	struct fake_fs *t = booted(1, 1);

	fake_fs_send(t, 1, 0, "later");
	await_parked(t, 1);
	virtio_fs_pause(t->f);
	while (!virtio_fs_is_paused(t->f))
		continue;
	fake_fs_open(t, 1, true);
	ck_assert_uint_eq(n_parked(t), 1);
	ck_assert_uint_eq(t->n_served, 0);
	virtio_fs_resume(t->f);
	expect(t, 1, 0, "LATER");
	fake_fs_free(t);
}
END_TEST

/** struct bad - A chain of two descriptors that no driver may offer */
struct bad {
	const char *what;
	unsigned int flags[2];
	uint32_t len[2];
	uint64_t addr;
	uint16_t next;
};

#define N VIRTQ_DESC_F_NEXT
#define W VIRTQ_DESC_F_WRITE

static const struct bad bads[] = {
	{ "short", { N, W }, { FF_HEADER - 1, 16 }, FG_DATA, 1 },
	{ "header to write", { N | W, W }, { FF_HEADER, 16 }, FG_DATA, 1 },
	{ "loop", { N, N }, { FF_HEADER, 16 }, FG_DATA, 0 },
	{ "beyond", { N, W }, { FF_HEADER, 16 }, FG_DATA, FF_QUEUE },
	{ "not RAM", { N, W }, { FF_HEADER, 16 }, FG_BASE + FG_LEN, 1 },
	{ "end of RAM", { N, W }, { FF_HEADER, 16 }, FG_BASE + FG_LEN - 8, 1 },
	{ "write, read", { N | W, 0 }, { 16, FF_HEADER }, FG_DATA, 1 },
};

/* The same chain with nothing wrong is served. */
static const struct bad good = { "good",
				 { N, W },
				 { FF_HEADER, 16 },
				 FG_DATA,
				 1 };

static void offer(struct fake_fs *t, unsigned int qi, const struct bad *b)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct virtq_desc d = {
			.addr = le64_put(i ? FG_DATA + 128 : b->addr),
			.len = le32_put(b->len[i]),
			.flags = le16_put((uint16_t)b->flags[i]),
			.next = le16_put(b->next),
		};

		fake_guest_table(&t->g, FG_DESC(qi), i, &d);
	}
	fake_guest_offer(&t->g, qi, 0);
	fake_guest_set(&t->g, VIRTIO_MMIO_NOTIFY, qi);
}

static void await_status(struct fake_fs *t, uint32_t bit)
{
	while (!(fake_guest_reg(&t->g, REG_STATUS) & bit))
		continue;
}

START_TEST(bad_chain_stops_the_device_until_reset)
{
	struct fake_fs *t = booted(1, 2);
	unsigned int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(bads); i++)
		for (unsigned int qi = 0; qi < 2; qi++) {
			fake_fs_boot(t, false);
			offer(t, qi, &good);
			(void)fake_fs_take(t, qi, &(uint32_t){ 0 });
			offer(t, qi, &bads[i]);
			await_status(t, 0x40);
			ck_assert_msg(virtio_fs_dev(t->f)->n_broken == ++n,
				      "%s", bads[i].what);
			ck_assert_uint_eq(fake_guest_used_idx(&t->g, qi), 1);
		}
	fake_fs_boot(t, false);
	fake_fs_send(t, 1, 0, "read");
	expect(t, 1, 0, "READ");
	fake_fs_free(t);
}
END_TEST

/* A guest that breaks the rules while a disk is slow: the loop goes on. */
START_TEST(device_breaks_while_requests_are_under_way)
{
	struct fake_fs *t = booted(1, 2);
	pthread_t vcpu;

	fake_fs_send(t, 1, 4, "hold");
	fake_fs_await(t, &t->n_held, 1);
	offer(t, 1, &bads[0]);
	await_status(t, 0x40);
	ck_assert_int_eq(pthread_create(&vcpu, NULL, reset, t), 0);
	fake_fs_let_go(t, 1);
	ck_assert_int_eq(pthread_join(vcpu, NULL), 0);
	ck_assert_uint_eq(fake_guest_used_idx(&t->g, 1), 0);
	fake_fs_boot(t, false);
	fake_fs_send(t, 1, 0, "read");
	expect(t, 1, 0, "READ");
	ck_assert(!t->busy_renewed);
	fake_fs_free(t);
}
END_TEST

/* The loop does not get to it, as with a queue that is stopped by then. */
START_TEST(device_breaks_without_the_loop)
{
	static const uint64_t one = 1;
	struct fake_fs *t = booted(1, 1);

	fake_fs_send(t, 1, 0, "read");
	expect(t, 1, 0, "READ");
	fake_fs_end_loop(t);
	offer(t, 1, &bads[0]);
	ck_assert_int_eq(
		write(virtio_mmio_notify_fd(&t->m, 1), &one, sizeof(one)),
		sizeof(one));
	await_status(t, 0x40);
	ck_assert_uint_eq(virtio_fs_dev(t->f)->n_broken, 1);
	fake_fs_free(t);
}
END_TEST

static void all_at_once(struct fake_fs *t, bool event_idx)
{
	const unsigned int rounds = 300;
	unsigned int sent[3] = { 0 }, got[3] = { 0 };

	fake_fs_boot(t, event_idx);
	while (got[1] + got[2] < 2 * rounds) {
		for (unsigned int qi = 1; qi < 3; qi++) {
			uint32_t id, len;

			while (sent[qi] < rounds && sent[qi] - got[qi] < MOST) {
				fake_fs_send(t, qi, sent[qi] % MOST, "read");
				sent[qi]++;
			}
			/* Ends of one queue may come in another order. */
			if (got[qi] < sent[qi] && sent[qi] % MOST == 0)
				while (got[qi] < sent[qi])
					got[qi] += fake_guest_used(&t->g, qi,
								   &id, &len);
		}
	}
}

/* No notification is lost, however the driver's and the workers' turns fall. */
START_TEST(every_request_is_answered)
{
	struct fake_fs *t = fake_fs_new(2, 3);

	for (unsigned int i = 0; i < 4; i++)
		all_at_once(t, i % 2);
	ck_assert_uint_eq(virtio_fs_dev(t->f)->n_broken, 0);
	fake_fs_free(t);
}
END_TEST

static int no_jail(struct err *e)
{
	return err_set(e, -EPERM, "no jail today");
}

static int make(const struct virtio_fs_config *cfg, struct err *e)
{
	struct virtio_fs *f = NULL;
	int r = virtio_fs_new(cfg, &f, e);

	if (r == 0)
		r = virtio_fs_start(f, e);
	virtio_fs_stop(f);
	virtio_fs_free(f);
	return r;
}

START_TEST(device_beyond_its_limits_is_refused)
{
	char tag[VIRTIO_FS_TAG_MAX + 2] = "";
	struct err e;

	memset(tag, 't', VIRTIO_FS_TAG_MAX);
	ck_assert_int_eq(make(
				 &(struct virtio_fs_config){
					 .tag = tag,
					 .n_queues = VIRTIO_FS_QUEUES_MAX,
					 .n_workers = VIRTIO_FS_WORKERS_MAX },
				 &e),
			 0);
	ck_assert_int_eq(make(
				 &(struct virtio_fs_config){
					 .tag = "t",
					 .n_queues = VIRTIO_FS_QUEUES_MAX + 1 },
				 &e),
			 -ERANGE);
	ck_assert_int_eq(
		make(
			&(struct virtio_fs_config){
				.tag = "t",
				.n_workers = VIRTIO_FS_WORKERS_MAX + 1 },
			&e),
		-ERANGE);
	tag[VIRTIO_FS_TAG_MAX] = 't';
	ck_assert_int_eq(make(&(struct virtio_fs_config){ .tag = tag }, &e),
			 -EINVAL);
	ck_assert_int_eq(make(&(struct virtio_fs_config){ .tag = "" }, &e),
			 -EINVAL);
}
END_TEST

START_TEST(thread_that_cannot_be_jailed_ends_the_start)
{
	struct err e = { 0 };

	ck_assert_int_eq(
		make(&(struct virtio_fs_config){ .tag = "t", .jail = no_jail },
		     &e),
		-EPERM);
	ck_assert_str_eq(e.msg, "no jail today");
}
END_TEST

CHECK_MAIN("virtio_fs", all_workers_are_used,
	   configuration_is_tag_and_number_of_queues,
	   window_is_shared_memory_region_0, request_is_answered_on_each_queue,
	   requests_end_in_any_order, forget_does_not_wait_for_slow_requests,
	   reset_waits_for_what_is_under_way,
	   nothing_is_served_until_the_server_has_forgotten,
	   stopped_queue_takes_nothing_back,
	   what_waits_is_put_aside_and_holds_up_nobody,
	   too_many_that_wait_are_refused, reset_and_stop_forget_what_waits,
	   pause_leaves_what_waits_aside,
	   bad_chain_stops_the_device_until_reset,
	   device_breaks_while_requests_are_under_way,
	   device_breaks_without_the_loop,
	   flood_of_urgent_requests_does_not_keep_the_server_from_that,
	   server_looks_after_things_until_there_are_none,
	   pause_waits_for_what_is_under_way_and_begins_nothing,
	   every_request_is_answered, device_beyond_its_limits_is_refused,
	   thread_that_cannot_be_jailed_ends_the_start)
