/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/fs_dev.h - the file system device, for fs.c and fs_work.c alone
 *
 * How it works.  Requests wait in the guest's queues, nowhere else: a worker
 * takes one, gives up the device's lock, has it answered straight from and
 * into guest memory, takes the lock again and gives it back.  So as many are
 * under way as there are workers, and they end in any order.  A disk that does
 * not answer holds up its workers, and neither the loop thread nor that of the
 * high-priority queue.
 *
 * Notifications.  While a worker sleeps, the driver is asked to notify; who
 * takes a request and sees another wakes the next sleeper.  When nobody sleeps
 * no notification is needed: who is done looks at the queues before he sleeps.
 * A notification is the ring of a bell (bell.h), which wakes a sleeper straight;
 * the loop thread would be one more that has to wake up.
 *
 * Reset.  What is being answered cannot be called back, since the kernel may
 * be writing into guest memory.  So the vCPU that resets the device waits here
 * (quiesce) until it is done, and the driver finds a device that touches none
 * of its memory.  Then the server forgets, on the high-priority thread, for
 * that may close many files; until it has, no request is taken.
 *
 * Put aside.  A request that waits for something else than its disk, a lock, is
 * kept with its pieces and served again after a while by the thread of the
 * high-priority queue, and at once when somebody says so.  A reset forgets it.
 *
 * Pause.  Nothing is begun, and whoever asked for it is told when all that was
 * under way has ended; it must not wait, as it is the loop thread.
 */
#ifndef HUTCH_VMM_VIRTIO_FS_DEV_H
#define HUTCH_VMM_VIRTIO_FS_DEV_H

#include "vmm/virtio/bell.h"
#include "vmm/virtio/crew.h"
#include "vmm/virtio/fs.h"

/* The queue that is not of requests: virtio 1.2, 5.11.2. */
#define FS_HIPRIO 0u

/* virtio 1.2, 5.11.4; the third field is there with a feature we lack. */
struct virtio_fs_space {
	uint8_t tag[VIRTIO_FS_TAG_MAX];
	le32 n_queues;
};
_Static_assert(sizeof(struct virtio_fs_space) == 40, "virtio 1.2, 5.11.4");

/**
 * struct virtio_fs_worker - A thread and the request it serves
 * @first:	Queue it looks at first: the high-priority one, and then no
 *		other, or that of requests which comes after its last
 */
struct virtio_fs_worker {
	struct virtio_fs *f;
	pthread_t id;
	unsigned int first;
	struct virtq_chain chain;
};

/**
 * struct virtio_fs_parked - A request put aside
 * @iov:	@n_out pieces to read, then @n_in to write
 */
struct virtio_fs_parked {
	unsigned int qi;
	uint16_t head;
	uint16_t n_out;
	uint16_t n_in;
	size_t in_len;
	struct iovec iov[VIRTIO_FS_PARKED_PIECES];
};

/**
 * struct virtio_fs - All but what never changes is under @vd.lock
 * @ops:	Ours, with the number of queues
 * @work:	Rung for a worker of requests
 * @urgent:	Rung for the worker of the high-priority queue
 * @calm:	Broadcast when a request is done or the last thread has started
 * @n_idle:	Workers of requests that wait for @work, or have just heard it
 * @busy:	Requests under way, by queue
 * @served:	Requests answered
 * @tending:	@cfg.tend is to be called when @tend_ns has come
 * @tend_ns:	CLOCK_MONOTONIC
 * @parked:	@n_parked of them, the oldest first; the thread of the
 *		high-priority queue alone takes one out
 * @forgot:	How often all of them, or some, were forgotten
 * @again_ns:	When they are served again, CLOCK_MONOTONIC
 * @again_ms:	And how long after that
 * @renew:	The server is to forget, when no request is under way
 * @renewing:	It is doing so
 * @tends:	@cfg.tend is being called
 * @paused:	Nothing is to be begun
 * @quit:	The threads are to end
 * @worker:	@n_workers of them; the first serves the high-priority queue
 * @crew:	Their beginning
 */
struct virtio_fs {
	struct virtio_dev vd;
	struct virtio_ops ops;
	struct virtio_fs_config cfg;
	struct virtio_fs_space space;
	struct bell work;
	struct bell urgent;
	pthread_cond_t calm;
	unsigned int n_idle;
	unsigned int busy[1 + VIRTIO_FS_QUEUES_MAX];
	uint64_t served;
	bool tending;
	uint64_t tend_ns;
	struct virtio_fs_parked parked[VIRTIO_FS_PARKED_MAX];
	unsigned int n_parked;
	unsigned int forgot;
	uint64_t again_ns;
	unsigned int again_ms;
	bool renew;
	bool renewing;
	bool tends;
	bool paused;
	bool quit;
	struct virtio_fs_worker *worker;
	unsigned int n_workers;
	struct crew crew;
};

/** fs_work_main() - What a thread does; @arg is its struct virtio_fs_worker */
void *fs_work_main(void *arg);

/** fs_work_forget() - Forget what is put aside, of queue @qi, or all if it is -1.
 *  Context: lock held
 */
void fs_work_forget(struct virtio_fs *f, int qi);

/** fs_work_again() - Serve it again, at once. Context: lock held */
void fs_work_again(struct virtio_fs *f);

/** fs_work_busy() - Requests under way. Context: lock held */
unsigned int fs_work_busy(const struct virtio_fs *f);

/** fs_work_is_still() - Nothing is under way. Context: lock held */
bool fs_work_is_still(const struct virtio_fs *f);

#endif
