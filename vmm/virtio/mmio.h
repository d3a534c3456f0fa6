/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/mmio.h - virtio over memory-mapped registers (virtio 1.2, 4.2.2)
 *
 * Version 2 only.  To wire one up:
 *
 *	virtio_mmio_init(&m, vsock_dev(v), &mem, &irq, &e);
 *	bus_add(&bus, &(struct bus_range){ base, VIRTIO_MMIO_LEN,
 *					   &virtio_mmio_bus_ops, &m }, &e);
 *	for each qi < m.vd->ops->n_queues:
 *		ioeventfd on virtio_mmio_notify_fd(&m, qi), write-only, at
 *		base + VIRTIO_MMIO_NOTIFY, 4 bytes, datamatch qi
 *	virtio_mmio_start(&m, &loop, &e);
 *
 * Without ioeventfds it works too: the notification is then a register write.
 */
#ifndef HUTCH_VMM_VIRTIO_MMIO_H
#define HUTCH_VMM_VIRTIO_MMIO_H

#include <stdatomic.h>

#include "common/loop.h"
#include "vmm/core/bus.h"
#include "vmm/core/irq.h"
#include "vmm/virtio/device.h"

#define VIRTIO_MMIO_LEN    0x1000u /* of the window; registers use 0x200 */
#define VIRTIO_MMIO_NOTIFY 0x050u  /* QueueNotify, for the ioeventfds */
#define VIRTIO_MMIO_ACK    0x064u  /* InterruptACK, the same */
#define VIRTIO_MMIO_USED   1u      /* of InterruptACK: used buffers */

/**
 * struct virtio_mmio_kick - Notification of one queue
 * @fd:		eventfd, non-blocking; owned
 * @io:		The loop's watch on it
 */
struct virtio_mmio_kick {
	int fd;
	unsigned int qi;
	struct virtio_dev *vd;
	struct loop_io io;
};

/**
 * struct virtio_mmio - One device's registers
 *
 * Fields are set before vCPUs run, or under @vd->lock, or are atomic:
 * @page:	What the registers read as, see virtio_mmio_show(); or NULL
 * @ack_fd:	Eventfd, for the acknowledgement of used buffers; or -1
 * @first_status_ns: CLOCK_MONOTONIC of the first status write; 0 before
 */
struct virtio_mmio {
	struct virtio_dev *vd;
	const struct gmem *mem;
	struct irq *irq;
	uint64_t driver_features;
	bool features_beyond;
	uint32_t device_features_sel;
	uint32_t driver_features_sel;
	uint32_t queue_sel;
	uint32_t shm_sel;
	uint32_t status;
	uint32_t interrupt_status;
	uint32_t config_generation;
	uint8_t *page;
	int ack_fd;
	atomic_uint_fast64_t first_status_ns;
	struct virtio_mmio_kick kick[VIRTIO_QUEUES_MAX];
};

extern const struct bus_ops virtio_mmio_bus_ops; /* ctx: struct virtio_mmio */

/**
 * virtio_mmio_init() - Registers of @vd, reset; makes the eventfds
 * @m:		Must stay in place
 * @mem:	Guest RAM, must outlive it
 * @irq:	Raised for used buffers and configuration changes
 */
MUST_CHECK int virtio_mmio_init(struct virtio_mmio *m, struct virtio_dev *vd,
				const struct gmem *mem, struct irq *irq,
				struct err *e);

/**
 * virtio_mmio_show() - Keep a page that reads as the registers do
 *
 * @m->page, VIRTIO_MMIO_LEN bytes, is for a read-only memory slot over the
 * registers, so that to read one is no exit; to write one still is.  @m->ack_fd
 * is for an ioeventfd, upon a write of VIRTIO_MMIO_USED to VIRTIO_MMIO_ACK: then
 * an interrupt costs no exit to the monitor at all.  That bit of InterruptStatus
 * stays set meanwhile, so that a driver may look at its rings once in vain.
 *
 * Context: before any vCPU runs.
 */
MUST_CHECK int virtio_mmio_show(struct virtio_mmio *m, struct err *e);

/** virtio_mmio_start() - Serve notifications on @l. Context: loop thread */
MUST_CHECK int virtio_mmio_start(struct virtio_mmio *m, struct loop *l,
				 struct err *e);

/** virtio_mmio_done() - Context: loop thread, no vCPU runs */
void virtio_mmio_done(struct virtio_mmio *m);

/** virtio_mmio_notify_fd() - eventfd of queue @qi, borrowed */
int virtio_mmio_notify_fd(const struct virtio_mmio *m, unsigned int qi);

#endif
