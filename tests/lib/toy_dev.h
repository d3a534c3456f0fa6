/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/toy_dev.h - a device with two queues and nothing to do, for mmio.c */
#ifndef HUTCH_TESTS_TOY_DEV_H
#define HUTCH_TESTS_TOY_DEV_H

#include "tests/lib/fake_guest.h"

/* Registers, by their names in virtio 1.2, 4.2.2. */
enum {
	REG_MAGIC = 0x000,
	REG_VERSION = 0x004,
	REG_DEVICE_ID = 0x008,
	REG_DEVICE_FEATURES = 0x010,
	REG_DEVICE_FEATURES_SEL = 0x014,
	REG_DRIVER_FEATURES = 0x020,
	REG_DRIVER_FEATURES_SEL = 0x024,
	REG_QUEUE_SEL = 0x030,
	REG_QUEUE_NUM_MAX = 0x034,
	REG_QUEUE_NUM = 0x038,
	REG_QUEUE_READY = 0x044,
	REG_QUEUE_NOTIFY = 0x050,
	REG_INTERRUPT_STATUS = 0x060,
	REG_INTERRUPT_ACK = 0x064,
	REG_STATUS = 0x070,
	REG_QUEUE_DESC_LOW = 0x080,
	REG_QUEUE_DESC_HIGH = 0x084,
	REG_QUEUE_DRIVER_LOW = 0x090,
	REG_QUEUE_DEVICE_LOW = 0x0a0,
	REG_SHM_SEL = 0x0ac,
	REG_SHM_LEN_LOW = 0x0b0,
	REG_SHM_BASE_HIGH = 0x0bc,
	REG_QUEUE_RESET = 0x0c0,
	REG_CONFIG_GENERATION = 0x0fc,
	REG_CONFIG = 0x100
};

#define TOY_ID        42u
#define TOY_FEATURE   (1ull << 5)
#define TOY_QUEUES    2u
#define TOY_QUEUE_MAX 64u

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
	unsigned int processed[TOY_QUEUES];
	unsigned int resets;
	int answer;
	struct virtq_chain c;
};

struct toy *toy_new(void);
void toy_free(struct toy *t);

/** toy_run() - Serve until nothing happens any more */
void toy_run(struct toy *t);

/** toy_boot() - As fake_guest_boot(), then toy_run() */
void toy_boot(struct toy *t, uint64_t features);

/** toy_features_ok() - As far as FEATURES_OK, with VERSION_1 alone */
void toy_features_ok(struct toy *t);

#endif
