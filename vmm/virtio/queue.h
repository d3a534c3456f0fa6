/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/queue.h - device side of a split virtqueue (virtio 1.2, 2.7)
 *
 * How it works.  virtq_pop() takes a request off the available ring, walks its
 * descriptors once, copies each before looking at it, and leaves checked,
 * translated pieces in a struct virtq_chain.  virtq_push() puts the answer in
 * the used ring without telling anyone; virtq_publish() moves the used index
 * once for all of them and says whether the driver wants an interrupt.  A
 * device that has emptied the queue calls virtq_arm(), which asks the driver
 * for a notification and looks once more, so that none is ever lost.
 *
 * Every number here is the guest's, except those in struct virtq, which are
 * checked when the queue becomes ready.  -EBADMSG means that the driver broke
 * the rules: the queue is of no further use until reset.
 *
 * Context: one thread at a time; the device's lock (device.h).
 */
#ifndef HUTCH_VMM_VIRTIO_QUEUE_H
#define HUTCH_VMM_VIRTIO_QUEUE_H

#include <stdbool.h>

#include "common/le.h"
#include "common/ring.h"
#include "vmm/core/mem.h"

#define VIRTQ_SIZE_MAX 1024

/* Alignment of the three areas: virtio 1.2, 2.7. */
#define VIRTQ_DESC_ALIGN  16
#define VIRTQ_AVAIL_ALIGN 2
#define VIRTQ_USED_ALIGN  4

#define VIRTQ_DESC_F_NEXT     1u
#define VIRTQ_DESC_F_WRITE    2u
#define VIRTQ_DESC_F_INDIRECT 4u

#define VIRTQ_AVAIL_F_NO_INTERRUPT 1u
#define VIRTQ_USED_F_NO_NOTIFY     1u

/* virtio 1.2, 2.7.5 */
struct virtq_desc {
	le64 addr;
	le32 len;
	le16 flags;
	le16 next;
};
_Static_assert(sizeof(struct virtq_desc) == 16, "virtio 1.2, 2.7.5");

/**
 * struct virtq - One queue, as the driver has set it up
 * @mem:	Guest memory the rings live in
 * @size:	Entries, a power of two up to VIRTQ_SIZE_MAX
 * @ready:	Set up; nothing is taken from or given to a queue that is not
 * @event_idx:	VIRTIO_F_EVENT_IDX was negotiated
 * @indirect:	VIRTIO_F_INDIRECT_DESC was negotiated
 * @desc:	Guest physical address of the descriptor table
 * @avail:	Guest physical address of the available ring
 * @used:	Guest physical address of the used ring
 * @next_avail:	Next available-ring position to take, free-running
 * @next_used:	Next used-ring position to fill, free-running
 * @published:	Used index the driver has been shown
 */
struct virtq {
	const struct gmem *mem;
	uint16_t size;
	bool ready;
	bool event_idx;
	bool indirect;
	uint64_t desc;
	uint64_t avail;
	uint64_t used;
	uint16_t next_avail;
	uint16_t next_used;
	uint16_t published;
};

/**
 * struct virtq_chain - One request, checked and translated
 * @head:	Descriptor index to hand back to virtq_push()
 * @n_out:	Leading entries of @iov, which the device reads
 * @n_in:	Following entries of @iov, which the device writes
 * @out_len:	Bytes in the readable part
 * @in_len:	Bytes in the writable part
 * @mem:	If a piece may be in a window, for gmem_copy(); else NULL
 * @iov:	Pieces of guest memory, none empty; for virtq_chain_*() and for
 *		who may have what gmem_iov() gives
 *
 * 16 KiB: embed it in the device, do not put it on the stack.
 */
struct virtq_chain {
	uint16_t head;
	uint16_t n_out;
	uint16_t n_in;
	size_t out_len;
	size_t in_len;
	const struct gmem *mem;
	struct iovec iov[VIRTQ_SIZE_MAX];
};

/**
 * virtq_check() - Whether size, alignment and place of the areas are sound
 *
 * Return: 0, or -EINVAL; -EFAULT if an area is not wholly in guest RAM
 */
MUST_CHECK int virtq_check(const struct virtq *q);

/**
 * virtq_pop() - Take the next request off the available ring
 * @c:		Filled in when 1 is returned, else undefined
 *
 * A request has at most as many descriptors as the queue (2.7.5.3.1).
 *
 * Return: 1, 0 if there is none or the queue is not ready, or -EBADMSG
 */
MUST_CHECK int virtq_pop(struct virtq *q, struct virtq_chain *c);

/** virtq_unpop() - Undo the last virtq_pop(), of which nothing was pushed */
void virtq_unpop(struct virtq *q);

/** virtq_waiting() - Requests to pop. Return: how many, or -EBADMSG */
MUST_CHECK int virtq_waiting(const struct virtq *q);

/**
 * virtq_push() - Give a request back, unseen until virtq_publish()
 * @head:	From the chain
 * @written:	Bytes written to the chain's device-writable part
 *
 * Return: 0 or -EBADMSG
 */
MUST_CHECK int virtq_push(struct virtq *q, uint16_t head, uint32_t written);

/**
 * virtq_publish() - Show the driver all that was pushed
 *
 * Spec: virtio 1.2, 2.7.7.2, 2.7.10; the used index is stored before the
 * driver's wish for interrupts is read, with a full barrier between.
 *
 * Return: 1 if the driver wants an interrupt for it, 0 if not (or if there
 *         was nothing new), or -EBADMSG
 */
MUST_CHECK int virtq_publish(struct virtq *q);

/**
 * virtq_arm() - Ask for a notification when the next request comes
 *
 * Return: 0; 1 if a request has come meanwhile, for which no notification may
 *         follow: pop it; or -EBADMSG
 */
MUST_CHECK int virtq_arm(struct virtq *q);

/** virtq_disarm() - No notifications wanted for now. Return: 0 or -EBADMSG */
MUST_CHECK int virtq_disarm(struct virtq *q);

/**
 * virtq_chain_get() - Copy out of the readable part
 * @off:	Bytes to skip
 *
 * Return: bytes copied, less than @len only if there are no more, or none of a
 *         piece in a window that cannot be had
 */
size_t virtq_chain_get(const struct virtq_chain *c, size_t off, void *dst,
		       size_t len);

/** virtq_chain_put() - Copy to the writable part. Return: as for get */
size_t virtq_chain_put(const struct virtq_chain *c, size_t off, const void *src,
		       size_t len);

/**
 * virtq_chain_out() - Pieces of the readable part, for writev(2)
 * @off:	Bytes to skip
 * @len:	At most so many bytes
 * @iov:	Where to put up to @max pieces
 *
 * Return: pieces; they cover less than @len if @max or the chain is too short
 */
int virtq_chain_out(const struct virtq_chain *c, size_t off, size_t len,
		    struct iovec *iov, int max);

/** virtq_chain_in() - Pieces of the writable part, for readv(2) */
int virtq_chain_in(const struct virtq_chain *c, size_t off, size_t len,
		   struct iovec *iov, int max);

/**
 * virtq_chain_keep() - Append part of the readable part to a ring
 *
 * Return: 0 when all @len bytes are in; -ENOMEM; -ENOSPC if they do not fit;
 *         -EFAULT as for gmem_copy()
 */
MUST_CHECK int virtq_chain_keep(const struct virtq_chain *c, size_t off,
				size_t len, struct ring *ring);

#endif
