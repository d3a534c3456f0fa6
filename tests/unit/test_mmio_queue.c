/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_mmio_queue.c - queue set-up and notifications */
#include "tests/lib/check_main.h"
#include "tests/lib/toy_dev.h"

static uint64_t raised(struct toy *t)
{
	return atomic_load(&t->irq.raised);
}

START_TEST(queue_fields_are_for_set_up_only)
{
	struct toy *t = toy_new();

	/* Too early. */
	fake_guest_set(&t->g, REG_STATUS, 1);
	fake_guest_set(&t->g, REG_STATUS, 3);
	fake_guest_setup_queue(&t->g, 0);
	ck_assert_uint_eq(t->vd.vq[0].size, 0);
	ck_assert(!t->vd.vq[0].ready);

	/* While ready. */
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
	fake_guest_set(&t->g, REG_STATUS, 0xb);
	fake_guest_setup_queue(&t->g, 0);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_READY), 1);
	fake_guest_set(&t->g, REG_QUEUE_NUM, 32);
	fake_guest_set(&t->g, REG_QUEUE_DESC_LOW, FG_DATA);
	fake_guest_set(&t->g, REG_QUEUE_DRIVER_LOW, FG_DATA);
	fake_guest_set(&t->g, REG_QUEUE_DEVICE_LOW, FG_DATA);
	ck_assert_uint_eq(t->vd.vq[0].size, 16);
	ck_assert_uint_eq(t->vd.vq[0].desc, FG_DESC(0));
	ck_assert_uint_eq(t->vd.vq[0].avail, FG_AVAIL(0));
	ck_assert_uint_eq(t->vd.vq[0].used, FG_USED(0));

	/* After DRIVER_OK, also of a queue that is not ready (CVE-2026-5747). */
	fake_guest_set(&t->g, REG_STATUS, 0xf);
	fake_guest_setup_queue(&t->g, 1);
	ck_assert(!t->vd.vq[1].ready);
	ck_assert_uint_eq(t->vd.vq[1].size, 0);
	fake_guest_set(&t->g, REG_QUEUE_SEL, 0);
	fake_guest_set(&t->g, REG_QUEUE_NUM, 32);
	ck_assert_uint_eq(t->vd.vq[0].size, 16);
	toy_free(t);
}
END_TEST

START_TEST(queue_may_be_stopped_but_not_started_again)
{
	struct toy *t = toy_new();
	unsigned int before;

	toy_boot(t, VIRTIO_F_VERSION_1);
	before = t->processed[0];
	fake_guest_set(&t->g, REG_QUEUE_SEL, 0);
	fake_guest_set(&t->g, REG_QUEUE_READY, 0);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_READY), 0);
	fake_guest_set(&t->g, REG_QUEUE_READY, 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_READY), 0);
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	toy_run(t);
	ck_assert_uint_eq(t->processed[0], before);
	toy_free(t);
}
END_TEST

START_TEST(unsound_queues_do_not_become_ready)
{
	static const struct {
		unsigned int reg;
		uint32_t v;
	} bad[] = {
		{ REG_QUEUE_NUM, 0 },
		{ REG_QUEUE_NUM, 3 },
		{ REG_QUEUE_DESC_LOW, FG_DESC(0) + 8 },
		{ REG_QUEUE_DESC_LOW, FG_BASE + FG_LEN - 16 },
		{ REG_QUEUE_DESC_HIGH, 1 },
		{ REG_QUEUE_DRIVER_LOW, FG_AVAIL(0) + 1 },
		{ REG_QUEUE_DEVICE_LOW, FG_USED(0) + 2 },
		{ REG_QUEUE_DEVICE_LOW, FG_BASE + FG_LEN - 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct toy *t = toy_new();

		toy_features_ok(t);
		fake_guest_setup_queue(&t->g, 0);
		fake_guest_set(&t->g, REG_QUEUE_READY, 0);
		fake_guest_set(&t->g, bad[i].reg, bad[i].v);
		fake_guest_set(&t->g, REG_QUEUE_READY, 1);
		ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_READY), 0);
		toy_free(t);
	}
}
END_TEST

START_TEST(queue_size_above_the_maximum_is_ignored)
{
	static const uint32_t bad[] = { TOY_QUEUE_MAX * 2, 0x10000, 0x10010,
					UINT32_MAX };
	struct toy *t = toy_new();

	toy_features_ok(t);
	fake_guest_set(&t->g, REG_QUEUE_SEL, 0);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_NUM_MAX),
			  TOY_QUEUE_MAX);
	fake_guest_set(&t->g, REG_QUEUE_NUM, TOY_QUEUE_MAX);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		fake_guest_set(&t->g, REG_QUEUE_NUM, bad[i]);
		ck_assert_uint_eq(t->vd.vq[0].size, TOY_QUEUE_MAX);
	}
	toy_free(t);
}
END_TEST

START_TEST(ready_takes_no_other_value_than_0_and_1)
{
	struct toy *t = toy_new();

	toy_features_ok(t);
	fake_guest_setup_queue(&t->g, 0);
	fake_guest_set(&t->g, REG_QUEUE_READY, 0);
	fake_guest_set(&t->g, REG_QUEUE_READY, 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_READY), 0);
	toy_free(t);
}
END_TEST

START_TEST(queue_that_is_not_there_reads_zero)
{
	static const uint32_t sel[] = { 2, 7, 8, 1000, UINT32_MAX };
	struct toy *t = toy_new();

	toy_features_ok(t);
	for (size_t i = 0; i < ARRAY_LEN(sel); i++) {
		fake_guest_set(&t->g, REG_QUEUE_SEL, sel[i]);
		ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_NUM_MAX), 0);
		fake_guest_set(&t->g, REG_QUEUE_NUM, 16);
		fake_guest_set(&t->g, REG_QUEUE_READY, 1);
		ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_READY), 0);
	}
	for (unsigned int i = 0; i < VIRTIO_QUEUES_MAX; i++)
		ck_assert_uint_eq(t->vd.vq[i].size, 0);
	toy_free(t);
}
END_TEST

START_TEST(notify_serves_the_queue)
{
	struct toy *t = toy_new();

	toy_boot(t, VIRTIO_F_VERSION_1);
	fake_guest_desc(&t->g, 0, FG_DATA, 16, 0, 0);
	fake_guest_offer(&t->g, 0, 0);
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	toy_run(t);

	ck_assert_uint_eq(fake_guest_used_idx(&t->g, 0), 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_INTERRUPT_STATUS), 1);
	ck_assert_uint_eq(raised(t), 1);
	toy_free(t);
}
END_TEST

/* As KVM does it: the guest's write never comes here. */
START_TEST(ioeventfd_serves_the_queue)
{
	static const uint64_t one = 1;
	struct toy *t = toy_new();
	unsigned int before;

	toy_boot(t, VIRTIO_F_VERSION_1);
	before = t->processed[1];
	ck_assert_int_eq(
		write(virtio_mmio_notify_fd(&t->m, 1), &one, sizeof(one)),
		sizeof(one));
	toy_run(t);
	ck_assert_uint_eq(t->processed[1], before + 1);
	toy_free(t);
}
END_TEST

START_TEST(notify_of_no_queue_or_too_early_does_nothing)
{
	static const uint32_t bad[] = { 2, 8, 0x10000, UINT32_MAX };
	struct toy *t = toy_new();

	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	toy_features_ok(t);
	fake_guest_setup_queue(&t->g, 0);
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	toy_run(t);
	ck_assert_uint_eq(t->processed[0], 0);
	fake_guest_set(&t->g, REG_STATUS, 0xf);
	toy_run(t);
	ck_assert_uint_eq(t->processed[0], 1);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		fake_guest_set(&t->g, REG_QUEUE_NOTIFY, bad[i]);
	toy_run(t);
	ck_assert_uint_eq(t->processed[0], 1);
	ck_assert_uint_eq(t->processed[1], 0); /* never made ready */
	toy_free(t);
}
END_TEST

/* CVE-2011-2512 and its like: however often, it is one turn of the loop. */
START_TEST(notify_storm_is_one_turn)
{
	struct toy *t = toy_new();
	unsigned int before;

	toy_boot(t, VIRTIO_F_VERSION_1);
	before = t->processed[0];
	for (int i = 0; i < 100000; i++)
		fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	toy_run(t);
	ck_assert_uint_eq(t->processed[0], before + 1);
	toy_free(t);
}
END_TEST

START_TEST(unfinished_work_is_gone_on_with)
{
	struct toy *t = toy_new();
	unsigned int before;

	toy_boot(t, VIRTIO_F_VERSION_1);
	before = t->processed[0];
	t->answer = 1;
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	toy_run(t);
	ck_assert_uint_eq(t->processed[0], before + 2);
	toy_free(t);
}
END_TEST

CHECK_MAIN("mmio_queue", queue_fields_are_for_set_up_only,
	   queue_may_be_stopped_but_not_started_again,
	   unsound_queues_do_not_become_ready,
	   queue_size_above_the_maximum_is_ignored,
	   ready_takes_no_other_value_than_0_and_1,
	   queue_that_is_not_there_reads_zero, notify_serves_the_queue,
	   ioeventfd_serves_the_queue,
	   notify_of_no_queue_or_too_early_does_nothing,
	   notify_storm_is_one_turn, unfinished_work_is_gone_on_with)
