/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_guest.h - the driver's side of virtqueues, in plain memory
 *
 * Lets every device and the transport be tested and fuzzed without /dev/kvm.
 * RAM is on the heap and of exact size, so that ASan sees what leaves it.
 */
#ifndef HUTCH_TESTS_FAKE_GUEST_H
#define HUTCH_TESTS_FAKE_GUEST_H

#include "vmm/virtio/mmio.h"

#define FG_QUEUES 3u
#define FG_MOST   5u
#define FG_BASE   0x10000u /* guest RAM does not start at 0 */

/*
 * Each queue's areas, with room for the largest; then RAM for buffers, of which
 * a test that has more queues than FG_QUEUES, up to FG_MOST, uses the first.
 */
#define FG_QUEUE(qi) (FG_BASE + (qi)*0x10000u)
#define FG_DESC(qi)  (FG_QUEUE(qi) + 0x0000u)
#define FG_AVAIL(qi) (FG_QUEUE(qi) + 0x8000u)
#define FG_USED(qi)  (FG_QUEUE(qi) + 0xa000u)
#define FG_DATA      FG_QUEUE(FG_QUEUES)

#define FG_LEN 0x200000u /* of RAM, unless a test wants another */

/**
 * struct fake_vq - What a driver remembers of a queue
 * @avail_idx:	Next available index
 * @used_seen:	Used entries taken
 */
struct fake_vq {
	uint16_t size;
	uint16_t avail_idx;
	uint16_t used_seen;
};

struct fake_guest {
	uint8_t *ram;
	size_t len;
	struct gmem mem;
	struct fake_vq q[FG_MOST];
	struct virtio_mmio *mmio;
};

/** fake_guest_init() - RAM of @len bytes, zeroed; queues of @queue_size */
void fake_guest_init(struct fake_guest *g, size_t len, uint16_t queue_size);
void fake_guest_done(struct fake_guest *g);

/** fake_guest_virtq() - The device's side of queue @qi, ready */
struct virtq fake_guest_virtq(const struct fake_guest *g, unsigned int qi);

/** fake_guest_at() - Bytes of RAM at @gpa, which must be there */
uint8_t *fake_guest_at(struct fake_guest *g, uint64_t gpa, size_t len);

/** fake_guest_table() - Write entry @i of the descriptor table at @table */
void fake_guest_table(struct fake_guest *g, uint64_t table, unsigned int i,
		      const struct virtq_desc *d);

/** fake_guest_desc() - Write entry @i of queue 0's own table */
void fake_guest_desc(struct fake_guest *g, unsigned int i, uint64_t addr,
		     uint32_t len, unsigned int flags, uint16_t next);

/** fake_guest_offer() - Make @head available in queue @qi */
void fake_guest_offer(struct fake_guest *g, unsigned int qi, uint16_t head);

uint16_t fake_guest_used_idx(const struct fake_guest *g, unsigned int qi);

/** fake_guest_used() - Take the next used entry. Return: whether there is one */
bool fake_guest_used(struct fake_guest *g, unsigned int qi, uint32_t *id,
		     uint32_t *len);

/** fake_guest_event() - The driver's used_event of queue @qi */
void fake_guest_event(struct fake_guest *g, unsigned int qi, uint16_t idx);

/* Registers: one aligned 32-bit access each, as a driver makes them. */
uint32_t fake_guest_reg(struct fake_guest *g, unsigned int off);
void fake_guest_set(struct fake_guest *g, unsigned int off, uint32_t v);

/* Steps of the driver's start, each as the specification has it. */
void fake_guest_features(struct fake_guest *g, uint64_t features);
void fake_guest_setup_queue(struct fake_guest *g, unsigned int qi);

/** fake_guest_boot() - All of it: the device is then live */
void fake_guest_boot(struct fake_guest *g, uint64_t features);

#endif
