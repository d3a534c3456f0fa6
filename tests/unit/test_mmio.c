/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_mmio.c - status, features, widths, interrupts */
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/toy_dev.h"

static uint64_t raised(struct toy *t)
{
	return atomic_load(&t->irq.raised);
}

START_TEST(identity_is_virtio_2)
{
	struct toy *t = toy_new();

	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_MAGIC), 0x74726976);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_VERSION), 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_DEVICE_ID), 42);
	toy_free(t);
}
END_TEST

START_TEST(features_are_read_in_pages)
{
	struct toy *t = toy_new();

	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_DEVICE_FEATURES),
			  1u << 5 | 1u << 28 | 1u << 29);
	fake_guest_set(&t->g, REG_DEVICE_FEATURES_SEL, 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_DEVICE_FEATURES), 1);
	fake_guest_set(&t->g, REG_DEVICE_FEATURES_SEL, 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_DEVICE_FEATURES), 0);
	fake_guest_set(&t->g, REG_DEVICE_FEATURES_SEL, UINT32_MAX);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_DEVICE_FEATURES), 0);
	toy_free(t);
}
END_TEST

START_TEST(legal_start_reaches_driver_ok)
{
	struct toy *t = toy_new();

	toy_boot(t, VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | TOY_FEATURE);

	ck_assert(t->vd.running);
	ck_assert_uint_eq(t->vd.features, VIRTIO_F_VERSION_1 |
						  VIRTIO_F_EVENT_IDX |
						  TOY_FEATURE);
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
				fake_guest_set(&t->g, REG_STATUS, path[i]);
			ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS),
					  path[at]);
			if (at + 1 == ARRAY_LEN(path) ||
			    bits[b] != path[at + 1]) {
				fake_guest_set(&t->g, REG_STATUS, bits[b]);
				ck_assert_uint_eq(
					fake_guest_reg(&t->g, REG_STATUS),
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
		TOY_FEATURE, /* no VERSION_1 */
		VIRTIO_F_VERSION_1 | 1ull << 0,
		VIRTIO_F_VERSION_1 | 1ull << 33,
		VIRTIO_F_VERSION_1 | 1ull << 63,
		UINT64_MAX,
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct toy *t = toy_new();

		fake_guest_set(&t->g, REG_STATUS, 1);
		fake_guest_set(&t->g, REG_STATUS, 3);
		fake_guest_features(&t->g, bad[i]);
		fake_guest_set(&t->g, REG_STATUS, 0xb);
		ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 3);
		fake_guest_set(&t->g, REG_STATUS, 0xf);
		ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 3);
		/* It may think again. */
		fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
		fake_guest_set(&t->g, REG_STATUS, 0xb);
		ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 0xb);
		toy_free(t);
	}
}
END_TEST

START_TEST(features_of_a_page_beyond_are_refused)
{
	struct toy *t = toy_new();

	fake_guest_set(&t->g, REG_STATUS, 1);
	fake_guest_set(&t->g, REG_STATUS, 3);
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
	fake_guest_set(&t->g, REG_DRIVER_FEATURES_SEL, 2);
	fake_guest_set(&t->g, REG_DRIVER_FEATURES, 1);
	fake_guest_set(&t->g, REG_STATUS, 0xb);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 3);
	toy_free(t);
}
END_TEST

START_TEST(features_are_fixed_by_features_ok)
{
	struct toy *t = toy_new();

	toy_features_ok(t);
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1 | TOY_FEATURE);
	fake_guest_setup_queue(&t->g, 0);
	fake_guest_set(&t->g, REG_STATUS, 0xf);

	ck_assert_uint_eq(t->vd.features, VIRTIO_F_VERSION_1);
	ck_assert_uint_eq(t->m.driver_features, VIRTIO_F_VERSION_1);
	toy_free(t);
}
END_TEST

START_TEST(ack_clears_what_it_names)
{
	struct toy *t = toy_new();

	toy_boot(t, VIRTIO_F_VERSION_1);
	fake_guest_desc(&t->g, 0, FG_DATA, 16, 0, 0);
	fake_guest_offer(&t->g, 0, 0);
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	toy_run(t);
	fake_guest_set(&t->g, REG_INTERRUPT_ACK, 2);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_INTERRUPT_STATUS), 1);
	fake_guest_set(&t->g, REG_INTERRUPT_ACK, 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_INTERRUPT_STATUS), 0);
	toy_free(t);
}
END_TEST

START_TEST(broken_device_needs_a_reset_and_gets_it)
{
	struct toy *t = toy_new();
	unsigned int before;

	toy_boot(t, VIRTIO_F_VERSION_1);
	fake_guest_offer(&t->g, 0, 999); /* no such descriptor */
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	toy_run(t);

	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 0x4f);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_INTERRUPT_STATUS), 2);
	ck_assert_uint_eq(raised(t), 1);
	ck_assert_uint_eq(t->vd.n_broken, 1);
	before = t->processed[1];
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 1);
	toy_run(t);
	ck_assert_uint_eq(t->processed[1], before);
	ck_assert_uint_eq(t->vd.n_broken, 1); /* counted once */
	/* Drivers add their bits to what they read. */
	fake_guest_set(&t->g, REG_STATUS, 0x4f | 0x80);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 0xcf);

	toy_boot(t, VIRTIO_F_VERSION_1);
	ck_assert(t->vd.running);
	toy_free(t);
}
END_TEST

START_TEST(reset_clears_everything_and_is_done_at_once)
{
	struct toy *t = toy_new();
	unsigned int resets;

	toy_boot(t, VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX);
	resets = t->resets;
	fake_guest_desc(&t->g, 0, FG_DATA, 16, 0, 0);
	fake_guest_offer(&t->g, 0, 0);
	fake_guest_set(&t->g, REG_QUEUE_NOTIFY, 0);
	fake_guest_set(&t->g, REG_STATUS, 0);

	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 0);
	toy_run(t);
	ck_assert_uint_eq(fake_guest_used_idx(&t->g, 0), 0);
	ck_assert_uint_eq(t->resets, resets + 1);
	ck_assert(!t->vd.running);
	ck_assert_uint_eq(t->vd.features, 0);
	for (unsigned int i = 0; i < 2; i++) {
		fake_guest_set(&t->g, REG_QUEUE_SEL, i);
		ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_READY), 0);
		ck_assert_uint_eq(t->vd.vq[i].size, 0);
		ck_assert_uint_eq(t->vd.vq[i].next_avail, 0);
	}
	toy_free(t);
}
END_TEST

START_TEST(failed_stops_the_device)
{
	struct toy *t = toy_new();

	toy_boot(t, VIRTIO_F_VERSION_1);
	fake_guest_set(&t->g, REG_STATUS, 0x8f);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 0x8f);
	ck_assert(!t->vd.running);
	toy_free(t);
}
END_TEST

/* Bit by bit over the whole window, at every width KVM may hand over. */
START_TEST(reads_of_any_width_agree_with_the_registers)
{
	struct toy *t = toy_new();

	toy_boot(t, VIRTIO_F_VERSION_1);
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

	toy_boot(t, VIRTIO_F_VERSION_1);
	for (unsigned int len = 1; len <= BUS_ACCESS_MAX; len++)
		for (unsigned int off = 0; off < REG_CONFIG; off++)
			if (len != 4 || off % 4)
				virtio_mmio_bus_ops.write(&t->m, off, zeros,
							  len);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 0xf);
	ck_assert(t->vd.vq[0].ready);
	toy_free(t);
}
END_TEST

START_TEST(config_reads_end_with_the_config)
{
	uint8_t b[8];
	struct toy *t = toy_new();

	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG, b, 8);
	ck_assert_mem_eq(b, "\1\2\3\4\5\6\0\0", 8);
	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG + 5, b, 8);
	ck_assert_mem_eq(b, "\6\0\0\0\0\0\0\0", 8);
	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG + 6, b, 8);
	ck_assert_mem_eq(b, "\0\0\0\0\0\0\0\0", 8);
	virtio_mmio_bus_ops.read(&t->m, VIRTIO_MMIO_LEN - 1, b, 1);
	ck_assert_uint_eq(b[0], 0);
	/* Half in the registers, half in the configuration. */
	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG - 4, b, 8);
	ck_assert_mem_eq(b, "\0\0\0\0\1\2\3\4", 8);
	toy_free(t);
}
END_TEST

START_TEST(config_writes_are_dropped)
{
	struct toy *t = toy_new();

	for (unsigned int off = REG_CONFIG; off < VIRTIO_MMIO_LEN; off += 4)
		fake_guest_set(&t->g, off, UINT32_MAX);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_CONFIG), 0x04030201);
	toy_free(t);
}
END_TEST

START_TEST(config_change_is_told_and_counted)
{
	struct toy *t = toy_new();
	uint32_t before;

	toy_boot(t, VIRTIO_F_VERSION_1);
	before = fake_guest_reg(&t->g, REG_CONFIG_GENERATION);
	t->vd.transport->config_changed(&t->vd);
	ck_assert_uint_ne(fake_guest_reg(&t->g, REG_CONFIG_GENERATION), before);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_INTERRUPT_STATUS), 2);
	ck_assert_uint_eq(raised(t), 1);
	toy_free(t);
}
END_TEST

START_TEST(reserved_registers_read_zero)
{
	static const unsigned int reserved[] = {
		0x018, 0x01c, 0x028,           0x03c, 0x040,
		0x048, 0x054, 0x068,           0x074, 0x088,
		0x098, 0x0a8, REG_QUEUE_RESET, 0x0c4, 0x0f8,
	};
	struct toy *t = toy_new();

	toy_boot(t, VIRTIO_F_VERSION_1);
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
		fake_guest_set(&t->g, reserved[i], UINT32_MAX);
		ck_assert_uint_eq(fake_guest_reg(&t->g, reserved[i]), 0);
	}
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_STATUS), 0xf);
	toy_free(t);
}
END_TEST

START_TEST(shared_memory_reads_all_ones_unless_there)
{
	struct toy *t = toy_new();

	for (unsigned int off = REG_SHM_LEN_LOW; off <= REG_SHM_BASE_HIGH;
	     off += 4)
		ck_assert_uint_eq(fake_guest_reg(&t->g, off), UINT32_MAX);
	fake_guest_set(&t->g, REG_SHM_SEL, 3);
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
	   features_are_fixed_by_features_ok, ack_clears_what_it_names,
	   broken_device_needs_a_reset_and_gets_it,
	   reset_clears_everything_and_is_done_at_once, failed_stops_the_device,
	   reads_of_any_width_agree_with_the_registers,
	   writes_that_are_not_32_bits_and_aligned_are_ignored,
	   config_reads_end_with_the_config, config_writes_are_dropped,
	   config_change_is_told_and_counted, reserved_registers_read_zero,
	   shared_memory_reads_all_ones_unless_there)
