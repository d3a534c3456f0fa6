/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/mmio_regs.h - the registers, for mmio*.c alone
 *
 * Whatever a driver may not do, it does without effect: a write that comes at
 * the wrong time, of the wrong width or to the wrong place is dropped, and the
 * register reads as before.  Nothing here blocks but the device's lock, which
 * is held for a bounded amount of work, and a reset of a device with threads of
 * its own, which waits for what these have under way.
 */
#ifndef HUTCH_VMM_VIRTIO_MMIO_REGS_H
#define HUTCH_VMM_VIRTIO_MMIO_REGS_H

#include "vmm/virtio/mmio.h"

/* Registers: virtio 1.2, table 4.1. */
enum {
	REG_MAGIC = 0x000,
	REG_VERSION = 0x004,
	REG_DEVICE_ID = 0x008,
	REG_VENDOR_ID = 0x00c,
	REG_DEVICE_FEATURES = 0x010,
	REG_DEVICE_FEATURES_SEL = 0x014,
	REG_DRIVER_FEATURES = 0x020,
	REG_DRIVER_FEATURES_SEL = 0x024,
	REG_QUEUE_SEL = 0x030,
	REG_QUEUE_NUM_MAX = 0x034,
	REG_QUEUE_NUM = 0x038,
	REG_QUEUE_READY = 0x044,
	REG_QUEUE_NOTIFY = VIRTIO_MMIO_NOTIFY,
	REG_INTERRUPT_STATUS = 0x060,
	REG_INTERRUPT_ACK = VIRTIO_MMIO_ACK,
	REG_STATUS = 0x070,
	REG_QUEUE_DESC_LOW = 0x080,
	REG_QUEUE_DESC_HIGH = 0x084,
	REG_QUEUE_DRIVER_LOW = 0x090,
	REG_QUEUE_DRIVER_HIGH = 0x094,
	REG_QUEUE_DEVICE_LOW = 0x0a0,
	REG_QUEUE_DEVICE_HIGH = 0x0a4,
	REG_SHM_SEL = 0x0ac,
	REG_SHM_LEN_LOW = 0x0b0,
	REG_SHM_LEN_HIGH = 0x0b4,
	REG_SHM_BASE_LOW = 0x0b8,
	REG_SHM_BASE_HIGH = 0x0bc,
	REG_CONFIG_GENERATION = 0x0fc,
	REG_CONFIG = 0x100
};

/* Status bits: virtio 1.2, 2.1. */
#define S_ACKNOWLEDGE 0x01u
#define S_DRIVER      0x02u
#define S_DRIVER_OK   0x04u
#define S_FEATURES_OK 0x08u
#define S_NEEDS_RESET 0x40u
#define S_FAILED      0x80u

#define INT_USED   VIRTIO_MMIO_USED
#define INT_CONFIG 2u

/* Those of struct bus_ops; @ctx is a struct virtio_mmio. */
void mmio_read(void *ctx, uint64_t off, uint8_t *data, unsigned int len);
void mmio_write(void *ctx, uint64_t off, const uint8_t *data, unsigned int len);

/* What the driver may agree to: the device's features, and the transport's. */
uint64_t mmio_offered(const struct virtio_mmio *m);

/* The queue that the driver has selected; NULL if there is none. */
struct virtq *mmio_selected(struct virtio_mmio *m);

/*
 * Into the page that a guest reads without an exit, if there is one: a
 * register, those that a write may change, the configuration space.  Under the
 * device's lock, after each change.
 */
void mmio_show_reg(struct virtio_mmio *m, unsigned int reg);
void mmio_show_regs(struct virtio_mmio *m);
void mmio_show_config(struct virtio_mmio *m);

#endif /* HUTCH_VMM_VIRTIO_MMIO_REGS_H */
