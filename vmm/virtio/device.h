/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/device.h - what a device and its transport offer each other
 *
 * A device speaks of queues, interrupts and configuration space, never of
 * registers or KVM.  The transport (mmio.c) owns status, features and queue
 * set-up.
 *
 * Threads.  Registers are accessed on vCPU threads, queues are processed on
 * the loop thread.  @lock of struct virtio_dev guards the queues and all that
 * both sides touch.  All other state of a device belongs to the loop thread
 * and needs no lock, since a reset by a vCPU stops the queues at once (under
 * the lock, so no request is half done) but leaves the device's own clean-up,
 * @reset, to the loop thread: virtio_dev_enter() runs it before anything else
 * is done with the queues.
 *
 * A device may have threads of its own, which take requests and give them back
 * under the lock and work on them without it.  They heed @running and
 * @reset_due, and @quiesce waits for what they have under way.  If they also
 * wait for the driver's notifications, the loop thread has no part in it: what
 * is said of it above holds for the first of them that enters.
 */
#ifndef HUTCH_VMM_VIRTIO_DEVICE_H
#define HUTCH_VMM_VIRTIO_DEVICE_H

#include <pthread.h>

#include "vmm/virtio/queue.h"

/* Of a network device for 32 CPUs: two for each, and the control queue. */
#define VIRTIO_QUEUES_MAX 65

/* Feature bits of every device: virtio 1.2, 6. */
#define VIRTIO_F_INDIRECT_DESC (1ull << 28)
#define VIRTIO_F_EVENT_IDX     (1ull << 29)
#define VIRTIO_F_VERSION_1     (1ull << 32)

#define VIRTIO_ID_NET   1
#define VIRTIO_ID_VSOCK 19
#define VIRTIO_ID_FS    26

struct virtio_dev;

/**
 * struct virtio_ops - A kind of device; const, shared by all its instances
 * @name:	For messages: "vsock"
 * @id:		Device ID, virtio 1.2, chapter 5
 * @n_queues:	Queues the device has, up to VIRTIO_QUEUES_MAX
 * @queue_max:	Largest size of each, a power of two up to VIRTQ_SIZE_MAX
 * @features:	Device features beyond those of every device
 * @own_kicks:	The device's threads wait for notifications (@kick_fd), and
 *		@process is never called
 * @process:	Serve queue @qi: bounded work, then return.
 *		Context: loop thread, device entered and running.
 *		Return: 1 if more is left to do now, 0 if not, -EBADMSG if the
 *		guest broke the rules
 * @reset:	Drop all that concerns the guest; must not fail.
 *		Context: loop thread, lock held
 * @quiesce:	Wait until no request of queue @qi is being worked on, or of any
 *		if @qi is -1; none is begun, as that queue is not ready or
 *		@running is false. NULL if none ever is outside of the lock.
 *		Context: a vCPU thread, lock held, but not while it waits
 * @notify_fd:	Eventfd, the device's, to which the driver's notifications of
 *		queue @qi go rather than to the loop, which calls @process then
 *		only for virtio_dev_kick(); NULL: to the loop
 * @config_len:	Bytes of configuration space
 * @config:	Fill @dst with @len bytes at @off, all within @config_len.
 *		Context: a vCPU thread, lock held
 * @shm:	Shared memory region @id, or NULL if the device has none.
 *		Return: 0, or -ENOENT. Context: a vCPU thread, lock held
 */
struct virtio_ops {
	const char *name;
	uint32_t id;
	unsigned int n_queues;
	uint16_t queue_max;
	uint64_t features;
	bool own_kicks;
	int (*process)(struct virtio_dev *vd, unsigned int qi);
	void (*reset)(struct virtio_dev *vd);
	void (*quiesce)(struct virtio_dev *vd, int qi);
	int (*notify_fd)(struct virtio_dev *vd, unsigned int qi);
	size_t config_len;
	void (*config)(struct virtio_dev *vd, size_t off, uint8_t *dst,
		       size_t len);
	int (*shm)(struct virtio_dev *vd, unsigned int id, uint64_t *ret_base,
		   uint64_t *ret_len);
};

/**
 * struct virtio_transport_ops - What a transport does for its device; const
 * @interrupt:	The driver wants to know of used buffers. Lock held
 * @config_changed: Configuration space reads differently now. Lock held
 * @broken:	Set DEVICE_NEEDS_RESET and tell the driver. Lock held
 * @kick:	Have @process called for @qi by the loop. Any thread, any lock
 * @kick_fd:	eventfd of @qi's notifications, non-blocking; for own_kicks
 */
struct virtio_transport_ops {
	void (*interrupt)(struct virtio_dev *vd, unsigned int qi);
	void (*config_changed)(struct virtio_dev *vd);
	void (*broken)(struct virtio_dev *vd);
	void (*kick)(struct virtio_dev *vd, unsigned int qi);
	int (*kick_fd)(struct virtio_dev *vd, unsigned int qi);
};

/**
 * struct virtio_dev - Embedded first in each device's own struct
 * @lock:	See the head of this file
 * @transport:	Set by the transport before any vCPU runs, as @link
 * @features:	Negotiated. Under @lock
 * @running:	DRIVER_OK and not DEVICE_NEEDS_RESET. Under @lock
 * @reset_due:	The loop thread has yet to call @reset. Under @lock
 * @n_broken:	Times the guest broke the rules, for "stats". Under @lock
 * @vq:		Under @lock
 */
struct virtio_dev {
	const struct virtio_ops *ops;
	pthread_mutex_t lock;
	const struct virtio_transport_ops *transport;
	void *link;
	uint64_t features;
	bool running;
	bool reset_due;
	unsigned int n_broken;
	struct virtq vq[VIRTIO_QUEUES_MAX];
};

/** virtio_dev_init() - No transport yet. Return: 0 or -errno */
MUST_CHECK int virtio_dev_init(struct virtio_dev *vd,
			       const struct virtio_ops *ops);
void virtio_dev_done(struct virtio_dev *vd);

/**
 * virtio_dev_enter() - Take the lock; carry out a reset that is due
 *
 * Context: loop thread.
 *
 * Return: whether the queues may be used; virtio_dev_leave() follows anyway
 */
MUST_CHECK bool virtio_dev_enter(struct virtio_dev *vd);
void virtio_dev_leave(struct virtio_dev *vd);

/**
 * virtio_dev_signal() - Publish what was pushed to @qi, interrupt if wanted
 *
 * Context: device entered and running. Return: 0 or -EBADMSG
 */
MUST_CHECK int virtio_dev_signal(struct virtio_dev *vd, unsigned int qi);

/**
 * virtio_dev_break() - The guest broke the rules: stop until it resets us
 *
 * The device's @reset is called too, so that nobody waits for it in vain.
 *
 * Context: loop thread, or a thread of the device; entered, and running.
 */
void virtio_dev_break(struct virtio_dev *vd);

/**
 * virtio_dev_serve() - Enter, process @qi, handle what it returns, leave
 *
 * Context: loop thread.
 */
void virtio_dev_serve(struct virtio_dev *vd, unsigned int qi);

/** virtio_dev_kick() - Have the loop process @qi. Context: any thread */
void virtio_dev_kick(struct virtio_dev *vd, unsigned int qi);

#endif
