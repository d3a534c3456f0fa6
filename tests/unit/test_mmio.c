/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_mmio.c - vmm/virtio/mmio.c: registers, status, interrupts */
#include <errno.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_guest.h"

enum {
	MAGIC = 0x000,
	VERSION = 0x004,
	DEVICE_ID = 0x008,
	DEVICE_FEATURES = 0x010,
	DEVICE_FEATURES_SEL = 0x014,
	DRIVER_FEATURES = 0x020,
	DRIVER_FEATURES_SEL = 0x024,
	QUEUE_SEL = 0x030,
	QUEUE_NUM_MAX = 0x034,
	QUEUE_NUM = 0x038,
	QUEUE_READY = 0x044,
	QUEUE_NOTIFY = 0x050,
	INTERRUPT_STATUS = 0x060,
	INTERRUPT_ACK = 0x064,
	STATUS = 0x070,
	QUEUE_DESC_LOW = 0x080,
	QUEUE_DESC_HIGH = 0x084,
	QUEUE_DRIVER_LOW = 0x090,
	QUEUE_DEVICE_LOW = 0x0a0,
	SHM_SEL = 0x0ac,
	SHM_LEN_LOW = 0x0b0,
	SHM_BASE_HIGH = 0x0bc,
	QUEUE_RESET = 0x0c0,
	CONFIG_GENERATION = 0x0fc,
	CONFIG = 0x100
};

#define FEATURE    (1ull << 5) /* of the toy below */
#define QUEUE_MAX  64u
#define REG_WINDOW 0x100u

/**
 * struct toy - A device that answers each request with nothing
 * @answer:	What @process returns instead of popping, if not 0
 */
struct toy {
	struct virtio_dev vd; /* first */
	struct fake_guest g;
	struct virtio_mmio m;
	struct irq irq;
	struct loop loop;
	unsigned int processed[2];
	unsigned int resets;
	int answer;
	struct virtq_chain c;
};

static int toy_process(struct virtio_dev *vd, unsigned int qi)
{
	struct toy *t = container_of(vd, struct toy, vd);
	int r;

	t->processed[qi]++;
	if (t->answer) {
		r = t->answer;
		t->answer = 0;
		return r;
	}
	while ((r = virtq_pop(&vd->vq[qi], &t->c)) > 0)
		if (virtq_push(&vd->vq[qi], t->c.head, 0) < 0)
			return -EBADMSG;
	return r < 0 ? r : virtio_dev_signal(vd, qi);
}

static void toy_reset(struct virtio_dev *vd)
{
	container_of(vd, struct toy, vd)->resets++;
}

static void toy_config(struct virtio_dev *vd, size_t off, uint8_t *dst,
		       size_t len)
{
	static const uint8_t config[6] = { 1, 2, 3, 4, 5, 6 };

	(void)vd;
	ck_assert_uint_le(off, sizeof(config));
	ck_assert_uint_le(len, sizeof(config) - off);
	memcpy(dst, config + off, len);
}

static int toy_shm(struct virtio_dev *vd, unsigned int id, uint64_t *ret_base,
		   uint64_t *ret_len)
{
	(void)vd;
	if (id != 3)
		return -ENOENT;
	*ret_base = 0x1122334455667788;
	*ret_len = 0x99aabbccddeeff00;
	return 0;
}

static const struct virtio_ops toy_ops = {
	.name = "toy",
	.id = 42,
	.n_queues = 2,
	.queue_max = QUEUE_MAX,
	.features = FEATURE,
	.process = toy_process,
	.reset = toy_reset,
	.config_len = 6,
	.config = toy_config,
	.shm = toy_shm,
};

static struct toy *toy_new(void)
{
	struct toy *t = calloc(1, sizeof(*t));
	struct err e;

	ck_assert_ptr_nonnull(t);
	fake_guest_init(&t->g, FG_LEN, 16);
	ck_assert_int_eq(loop_init(&t->loop, &e), 0);
	ck_assert_int_eq(irq_init(&t->irq, &e), 0);
	ck_assert_int_eq(virtio_dev_init(&t->vd, &toy_ops), 0);
	ck_assert_int_eq(
		virtio_mmio_init(&t->m, &t->vd, &t->g.mem, &t->irq, &e), 0);
	ck_assert_int_eq(virtio_mmio_start(&t->m, &t->loop, &e), 0);
	t->g.mmio = &t->m;
	return t;
}

static void toy_free(struct toy *t)
{
	virtio_mmio_done(&t->m);
	virtio_dev_done(&t->vd);
	irq_done(&t->irq);
	loop_done(&t->loop);
	fake_guest_done(&t->g);
	free(t);
}

static void run(struct toy *t)
{
	while (loop_step(&t->loop, 0) > 0)
		;
}

/* As fake_guest_boot(), for two queues. */
static void boot(struct toy *t, uint64_t features)
{
	fake_guest_set(&t->g, STATUS, 0);
	fake_guest_set(&t->g, STATUS, 1);
	fake_guest_set(&t->g, STATUS, 3);
	fake_guest_features(&t->g, features);
	fake_guest_set(&t->g, STATUS, 0xb);
	fake_guest_setup_queue(&t->g, 0);
	fake_guest_setup_queue(&t->g, 1);
	fake_guest_set(&t->g, STATUS, 0xf);
	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0xf);
	run(t);
}

static void to_features_ok(struct toy *t)
{
	fake_guest_set(&t->g, STATUS, 1);
	fake_guest_set(&t->g, STATUS, 3);
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
	fake_guest_set(&t->g, STATUS, 0xb);
	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0xb);
}

static uint64_t raised(struct toy *t)
{
	return atomic_load(&t->irq.raised);
}

START_TEST(identity_is_virtio_2)
{
	struct toy *t = toy_new();

	ck_assert_uint_eq(fake_guest_reg(&t->g, MAGIC), 0x74726976);
	ck_assert_uint_eq(fake_guest_reg(&t->g, VERSION), 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, DEVICE_ID), 42);
	toy_free(t);
}
END_TEST

START_TEST(features_are_read_in_pages)
{
	struct toy *t = toy_new();

	ck_assert_uint_eq(fake_guest_reg(&t->g, DEVICE_FEATURES),
			  1u << 5 | 1u << 28 | 1u << 29);
	fake_guest_set(&t->g, DEVICE_FEATURES_SEL, 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, DEVICE_FEATURES), 1);
	fake_guest_set(&t->g, DEVICE_FEATURES_SEL, 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, DEVICE_FEATURES), 0);
	fake_guest_set(&t->g, DEVICE_FEATURES_SEL, UINT32_MAX);
	ck_assert_uint_eq(fake_guest_reg(&t->g, DEVICE_FEATURES), 0);
	toy_free(t);
}
END_TEST

START_TEST(legal_start_reaches_driver_ok)
{
	struct toy *t = toy_new();

	boot(t, VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | FEATURE);

	ck_assert(t->vd.running);
	ck_assert_uint_eq(t->vd.features,
			  VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | FEATURE);
	ck_assert(t->vd.vq[0].event_idx);
	ck_assert(!t->vd.vq[0].indirect);
	/* What was in the rings before DRIVER_OK needs no notification. */
	ck_assert_uint_eq(t->processed[0], 1);
	ck_assert_uint_eq(t->processed[1], 1);
	ck_assert_uint_gt(atomic_load(&t->m.first_status_ns), 0);
	toy_free(t);
}
END_TEST

START_TEST(status_takes_only_legal_steps)
{
	/* From a legal status, all others but the next (and 0, FAILED). */
	static const uint32_t path[] = { 0, 1, 3, 0xb, 0xf };
	static const uint32_t bits[] = { 1,   2,    3,    4,   5,   7,
					 8,   9,    0xb,  0xc, 0xf, 0xd,
					 0xe, 0x10, 0x20, 0x1b };

	for (size_t at = 0; at < ARRAY_LEN(path); at++) {
		for (size_t b = 0; b < ARRAY_LEN(bits); b++) {
			struct toy *t = toy_new();

			fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
			for (size_t i = 1; i <= at; i++)
				fake_guest_set(&t->g, STATUS, path[i]);
			ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS),
					  path[at]);
			if (at + 1 == ARRAY_LEN(path) ||
			    bits[b] != path[at + 1]) {
				fake_guest_set(&t->g, STATUS, bits[b]);
				ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS),
						  path[at]);
			}
			toy_free(t);
		}
	}
}
END_TEST

START_TEST(unsound_features_are_refused)
{
	static const uint64_t bad[] = {
		0,
		FEATURE, /* no VERSION_1 */
		VIRTIO_F_VERSION_1 | 1ull << 0,
		VIRTIO_F_VERSION_1 | 1ull << 33,
		VIRTIO_F_VERSION_1 | 1ull << 63,
		UINT64_MAX,
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct toy *t = toy_new();

		fake_guest_set(&t->g, STATUS, 1);
		fake_guest_set(&t->g, STATUS, 3);
		fake_guest_features(&t->g, bad[i]);
		fake_guest_set(&t->g, STATUS, 0xb);
		ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 3);
		fake_guest_set(&t->g, STATUS, 0xf);
		ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 3);
		/* It may think again. */
		fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
		fake_guest_set(&t->g, STATUS, 0xb);
		ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0xb);
		toy_free(t);
	}
}
END_TEST

START_TEST(features_of_a_page_beyond_are_refused)
{
	struct toy *t = toy_new();

	fake_guest_set(&t->g, STATUS, 1);
	fake_guest_set(&t->g, STATUS, 3);
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
	fake_guest_set(&t->g, DRIVER_FEATURES_SEL, 2);
	fake_guest_set(&t->g, DRIVER_FEATURES, 1);
	fake_guest_set(&t->g, STATUS, 0xb);
	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 3);
	toy_free(t);
}
END_TEST

START_TEST(features_are_fixed_by_features_ok)
{
	struct toy *t = toy_new();

	to_features_ok(t);
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1 | FEATURE);
	fake_guest_setup_queue(&t->g, 0);
	fake_guest_set(&t->g, STATUS, 0xf);

	ck_assert_uint_eq(t->vd.features, VIRTIO_F_VERSION_1);
	ck_assert_uint_eq(t->m.driver_features, VIRTIO_F_VERSION_1);
	toy_free(t);
}
END_TEST

START_TEST(queue_fields_are_for_set_up_only)
{
	struct toy *t = toy_new();

	/* Too early. */
	fake_guest_set(&t->g, STATUS, 1);
	fake_guest_set(&t->g, STATUS, 3);
	fake_guest_setup_queue(&t->g, 0);
	ck_assert_uint_eq(t->vd.vq[0].size, 0);
	ck_assert(!t->vd.vq[0].ready);

	/* While ready. */
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
	fake_guest_set(&t->g, STATUS, 0xb);
	fake_guest_setup_queue(&t->g, 0);
	ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_READY), 1);
	fake_guest_set(&t->g, QUEUE_NUM, 32);
	fake_guest_set(&t->g, QUEUE_DESC_LOW, FG_DATA);
	fake_guest_set(&t->g, QUEUE_DRIVER_LOW, FG_DATA);
	fake_guest_set(&t->g, QUEUE_DEVICE_LOW, FG_DATA);
	ck_assert_uint_eq(t->vd.vq[0].size, 16);
	ck_assert_uint_eq(t->vd.vq[0].desc, FG_DESC(0));
	ck_assert_uint_eq(t->vd.vq[0].avail, FG_AVAIL(0));
	ck_assert_uint_eq(t->vd.vq[0].used, FG_USED(0));

	/* After DRIVER_OK, also of a queue that is not ready (CVE-2026-5747). */
	fake_guest_set(&t->g, STATUS, 0xf);
	fake_guest_setup_queue(&t->g, 1);
	ck_assert(!t->vd.vq[1].ready);
	ck_assert_uint_eq(t->vd.vq[1].size, 0);
	fake_guest_set(&t->g, QUEUE_SEL, 0);
	fake_guest_set(&t->g, QUEUE_NUM, 32);
	ck_assert_uint_eq(t->vd.vq[0].size, 16);
	toy_free(t);
}
END_TEST

START_TEST(queue_may_be_stopped_but_not_started_again)
{
	struct toy *t = toy_new();
	unsigned int before;

	boot(t, VIRTIO_F_VERSION_1);
	before = t->processed[0];
	fake_guest_set(&t->g, QUEUE_SEL, 0);
	fake_guest_set(&t->g, QUEUE_READY, 0);
	ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_READY), 0);
	fake_guest_set(&t->g, QUEUE_READY, 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_READY), 0);
	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	run(t);
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
		{ QUEUE_NUM, 0 },
		{ QUEUE_NUM, 3 },
		{ QUEUE_DESC_LOW, FG_DESC(0) + 8 },
		{ QUEUE_DESC_LOW, FG_BASE + FG_LEN - 16 },
		{ QUEUE_DESC_HIGH, 1 },
		{ QUEUE_DRIVER_LOW, FG_AVAIL(0) + 1 },
		{ QUEUE_DEVICE_LOW, FG_USED(0) + 2 },
		{ QUEUE_DEVICE_LOW, FG_BASE + FG_LEN - 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct toy *t = toy_new();

		to_features_ok(t);
		fake_guest_setup_queue(&t->g, 0);
		fake_guest_set(&t->g, QUEUE_READY, 0);
		fake_guest_set(&t->g, bad[i].reg, bad[i].v);
		fake_guest_set(&t->g, QUEUE_READY, 1);
		ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_READY), 0);
		toy_free(t);
	}
}
END_TEST

START_TEST(queue_size_above_the_maximum_is_ignored)
{
	static const uint32_t bad[] = { QUEUE_MAX * 2, 0x10000, 0x10010,
					UINT32_MAX };
	struct toy *t = toy_new();

	to_features_ok(t);
	fake_guest_set(&t->g, QUEUE_SEL, 0);
	ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_NUM_MAX), QUEUE_MAX);
	fake_guest_set(&t->g, QUEUE_NUM, QUEUE_MAX);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		fake_guest_set(&t->g, QUEUE_NUM, bad[i]);
		ck_assert_uint_eq(t->vd.vq[0].size, QUEUE_MAX);
	}
	toy_free(t);
}
END_TEST

START_TEST(ready_takes_no_other_value_than_0_and_1)
{
	struct toy *t = toy_new();

	to_features_ok(t);
	fake_guest_setup_queue(&t->g, 0);
	fake_guest_set(&t->g, QUEUE_READY, 0);
	fake_guest_set(&t->g, QUEUE_READY, 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_READY), 0);
	toy_free(t);
}
END_TEST

START_TEST(queue_that_is_not_there_reads_zero)
{
	static const uint32_t sel[] = { 2, 7, 8, 1000, UINT32_MAX };
	struct toy *t = toy_new();

	to_features_ok(t);
	for (size_t i = 0; i < ARRAY_LEN(sel); i++) {
		fake_guest_set(&t->g, QUEUE_SEL, sel[i]);
		ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_NUM_MAX), 0);
		fake_guest_set(&t->g, QUEUE_NUM, 16);
		fake_guest_set(&t->g, QUEUE_READY, 1);
		ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_READY), 0);
	}
	for (unsigned int i = 0; i < VIRTIO_QUEUES_MAX; i++)
		ck_assert_uint_eq(t->vd.vq[i].size, 0);
	toy_free(t);
}
END_TEST

START_TEST(notify_serves_the_queue)
{
	struct toy *t = toy_new();

	boot(t, VIRTIO_F_VERSION_1);
	fake_guest_desc(&t->g, 0, FG_DATA, 16, 0, 0);
	fake_guest_offer(&t->g, 0, 0);
	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	run(t);

	ck_assert_uint_eq(fake_guest_used_idx(&t->g, 0), 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, INTERRUPT_STATUS), 1);
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

	boot(t, VIRTIO_F_VERSION_1);
	before = t->processed[1];
	ck_assert_int_eq(
		write(virtio_mmio_notify_fd(&t->m, 1), &one, sizeof(one)),
		sizeof(one));
	run(t);
	ck_assert_uint_eq(t->processed[1], before + 1);
	toy_free(t);
}
END_TEST

START_TEST(notify_of_no_queue_or_too_early_does_nothing)
{
	static const uint32_t bad[] = { 2, 8, 0x10000, UINT32_MAX };
	struct toy *t = toy_new();

	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	to_features_ok(t);
	fake_guest_setup_queue(&t->g, 0);
	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	run(t);
	ck_assert_uint_eq(t->processed[0], 0);
	fake_guest_set(&t->g, STATUS, 0xf);
	run(t);
	ck_assert_uint_eq(t->processed[0], 1);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		fake_guest_set(&t->g, QUEUE_NOTIFY, bad[i]);
	run(t);
	ck_assert_uint_eq(t->processed[0], 1);
	ck_assert_uint_eq(t->processed[1], 0); /* never made ready */
	toy_free(t);
}
END_TEST

START_TEST(unfinished_work_is_gone_on_with)
{
	struct toy *t = toy_new();
	unsigned int before;

	boot(t, VIRTIO_F_VERSION_1);
	before = t->processed[0];
	t->answer = 1;
	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	run(t);
	ck_assert_uint_eq(t->processed[0], before + 2);
	toy_free(t);
}
END_TEST

START_TEST(ack_clears_what_it_names)
{
	struct toy *t = toy_new();

	boot(t, VIRTIO_F_VERSION_1);
	fake_guest_desc(&t->g, 0, FG_DATA, 16, 0, 0);
	fake_guest_offer(&t->g, 0, 0);
	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	run(t);
	fake_guest_set(&t->g, INTERRUPT_ACK, 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, INTERRUPT_STATUS), 1);
	fake_guest_set(&t->g, INTERRUPT_ACK, 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, INTERRUPT_STATUS), 0);
	toy_free(t);
}
END_TEST

START_TEST(broken_device_needs_a_reset_and_gets_it)
{
	struct toy *t = toy_new();
	unsigned int before;

	boot(t, VIRTIO_F_VERSION_1);
	fake_guest_offer(&t->g, 0, 999); /* no such descriptor */
	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	run(t);

	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0x4f);
	ck_assert_uint_eq(fake_guest_reg(&t->g, INTERRUPT_STATUS), 2);
	ck_assert_uint_eq(raised(t), 1);
	ck_assert_uint_eq(t->vd.n_broken, 1);
	before = t->processed[1];
	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	fake_guest_set(&t->g, QUEUE_NOTIFY, 1);
	run(t);
	ck_assert_uint_eq(t->processed[1], before);
	ck_assert_uint_eq(t->vd.n_broken, 1); /* counted once */
	/* Drivers add their bits to what they read. */
	fake_guest_set(&t->g, STATUS, 0x4f | 0x80);
	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0xcf);

	boot(t, VIRTIO_F_VERSION_1);
	ck_assert(t->vd.running);
	toy_free(t);
}
END_TEST

START_TEST(reset_clears_everything_and_is_done_at_once)
{
	struct toy *t = toy_new();
	unsigned int resets;

	boot(t, VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX);
	resets = t->resets;
	fake_guest_desc(&t->g, 0, FG_DATA, 16, 0, 0);
	fake_guest_offer(&t->g, 0, 0);
	fake_guest_set(&t->g, QUEUE_NOTIFY, 0);
	fake_guest_set(&t->g, STATUS, 0);

	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0);
	run(t);
	ck_assert_uint_eq(fake_guest_used_idx(&t->g, 0), 0);
	ck_assert_uint_eq(t->resets, resets + 1);
	ck_assert(!t->vd.running);
	ck_assert_uint_eq(t->vd.features, 0);
	for (unsigned int i = 0; i < 2; i++) {
		fake_guest_set(&t->g, QUEUE_SEL, i);
		ck_assert_uint_eq(fake_guest_reg(&t->g, QUEUE_READY), 0);
		ck_assert_uint_eq(t->vd.vq[i].size, 0);
		ck_assert_uint_eq(t->vd.vq[i].next_avail, 0);
	}
	toy_free(t);
}
END_TEST

START_TEST(failed_stops_the_device)
{
	struct toy *t = toy_new();

	boot(t, VIRTIO_F_VERSION_1);
	fake_guest_set(&t->g, STATUS, 0x8f);
	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0x8f);
	ck_assert(!t->vd.running);
	toy_free(t);
}
END_TEST

/* Bit by bit over the whole window, at every width KVM may hand over. */
START_TEST(reads_of_any_width_agree_with_the_registers)
{
	struct toy *t = toy_new();

	boot(t, VIRTIO_F_VERSION_1);
	for (unsigned int len = 1; len <= BUS_ACCESS_MAX; len++) {
		for (unsigned int off = 0; off + len <= VIRTIO_MMIO_LEN;
		     off++) {
			uint8_t *data = check_copy("????????", len);

			virtio_mmio_bus_ops.read(&t->m, off, data, len);
			for (unsigned int i = 0; i < len; i++) {
				uint32_t v =
					fake_guest_reg(&t->g, (off + i) & ~3u);

				ck_assert_uint_eq(data[i],
						  v >> ((off + i) % 4 * 8) &
							  0xff);
			}
			free(data);
		}
	}
	toy_free(t);
}
END_TEST

START_TEST(writes_that_are_not_32_bits_and_aligned_are_ignored)
{
	static const uint8_t zeros[8];
	struct toy *t = toy_new();

	boot(t, VIRTIO_F_VERSION_1);
	for (unsigned int len = 1; len <= BUS_ACCESS_MAX; len++)
		for (unsigned int off = 0; off < REG_WINDOW; off++)
			if (len != 4 || off % 4)
				virtio_mmio_bus_ops.write(&t->m, off, zeros,
							  len);
	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0xf);
	ck_assert(t->vd.vq[0].ready);
	toy_free(t);
}
END_TEST

START_TEST(config_reads_end_with_the_config)
{
	uint8_t b[8];
	struct toy *t = toy_new();

	virtio_mmio_bus_ops.read(&t->m, CONFIG, b, 8);
	ck_assert_mem_eq(b, "\1\2\3\4\5\6\0\0", 8);
	virtio_mmio_bus_ops.read(&t->m, CONFIG + 5, b, 8);
	ck_assert_mem_eq(b, "\6\0\0\0\0\0\0\0", 8);
	virtio_mmio_bus_ops.read(&t->m, CONFIG + 6, b, 8);
	ck_assert_mem_eq(b, "\0\0\0\0\0\0\0\0", 8);
	virtio_mmio_bus_ops.read(&t->m, VIRTIO_MMIO_LEN - 1, b, 1);
	ck_assert_uint_eq(b[0], 0);
	/* Half in the registers, half in the configuration. */
	virtio_mmio_bus_ops.read(&t->m, CONFIG - 4, b, 8);
	ck_assert_mem_eq(b, "\0\0\0\0\1\2\3\4", 8);
	toy_free(t);
}
END_TEST

START_TEST(config_writes_are_dropped)
{
	struct toy *t = toy_new();

	for (unsigned int off = CONFIG; off < VIRTIO_MMIO_LEN; off += 4)
		fake_guest_set(&t->g, off, UINT32_MAX);
	ck_assert_uint_eq(fake_guest_reg(&t->g, CONFIG), 0x04030201);
	toy_free(t);
}
END_TEST

START_TEST(config_change_is_told_and_counted)
{
	struct toy *t = toy_new();
	uint32_t before;

	boot(t, VIRTIO_F_VERSION_1);
	before = fake_guest_reg(&t->g, CONFIG_GENERATION);
	t->vd.transport->config_changed(&t->vd);
	ck_assert_uint_ne(fake_guest_reg(&t->g, CONFIG_GENERATION), before);
	ck_assert_uint_eq(fake_guest_reg(&t->g, INTERRUPT_STATUS), 2);
	ck_assert_uint_eq(raised(t), 1);
	toy_free(t);
}
END_TEST

START_TEST(reserved_registers_read_zero)
{
	static const unsigned int reserved[] = {
		0x018, 0x01c, 0x028, 0x03c, 0x040,       0x048, 0x054, 0x068,
		0x074, 0x088, 0x098, 0x0a8, QUEUE_RESET, 0x0c4, 0x0f8,
	};
	struct toy *t = toy_new();

	boot(t, VIRTIO_F_VERSION_1);
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
		fake_guest_set(&t->g, reserved[i], UINT32_MAX);
		ck_assert_uint_eq(fake_guest_reg(&t->g, reserved[i]), 0);
	}
	ck_assert_uint_eq(fake_guest_reg(&t->g, STATUS), 0xf);
	toy_free(t);
}
END_TEST

START_TEST(shared_memory_reads_all_ones_unless_there)
{
	struct toy *t = toy_new();

	for (unsigned int off = SHM_LEN_LOW; off <= SHM_BASE_HIGH; off += 4)
		ck_assert_uint_eq(fake_guest_reg(&t->g, off), UINT32_MAX);
	fake_guest_set(&t->g, SHM_SEL, 3);
	ck_assert_uint_eq(fake_guest_reg(&t->g, 0x0b0), 0xddeeff00);
	ck_assert_uint_eq(fake_guest_reg(&t->g, 0x0b4), 0x99aabbcc);
	ck_assert_uint_eq(fake_guest_reg(&t->g, 0x0b8), 0x55667788);
	ck_assert_uint_eq(fake_guest_reg(&t->g, 0x0bc), 0x11223344);
	toy_free(t);
}
END_TEST

CHECK_MAIN("mmio", identity_is_virtio_2, features_are_read_in_pages,
	   legal_start_reaches_driver_ok, status_takes_only_legal_steps,
	   unsound_features_are_refused, features_of_a_page_beyond_are_refused,
	   features_are_fixed_by_features_ok, queue_fields_are_for_set_up_only,
	   queue_may_be_stopped_but_not_started_again,
	   unsound_queues_do_not_become_ready,
	   queue_size_above_the_maximum_is_ignored,
	   ready_takes_no_other_value_than_0_and_1,
	   queue_that_is_not_there_reads_zero, notify_serves_the_queue,
	   ioeventfd_serves_the_queue,
	   notify_of_no_queue_or_too_early_does_nothing,
	   unfinished_work_is_gone_on_with, ack_clears_what_it_names,
	   broken_device_needs_a_reset_and_gets_it,
	   reset_clears_everything_and_is_done_at_once, failed_stops_the_device,
	   reads_of_any_width_agree_with_the_registers,
	   writes_that_are_not_32_bits_and_aligned_are_ignored,
	   config_reads_end_with_the_config, config_writes_are_dropped,
	   config_change_is_told_and_counted, reserved_registers_read_zero,
	   shared_memory_reads_all_ones_unless_there)
