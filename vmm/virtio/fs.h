/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/fs.h - file system device (virtio 1.2, 5.11)
 *
 * It knows queues and threads, and nothing of FUSE but the length of a
 * request's header: who answers is given to it.  docs/devices/fs.md tells what
 * it does for the host and for the guest.
 */
#ifndef HUTCH_VMM_VIRTIO_FS_H
#define HUTCH_VMM_VIRTIO_FS_H

#include <sys/uio.h>

#include "vmm/virtio/device.h"

#define VIRTIO_FS_TAG_MAX         36u
#define VIRTIO_FS_QUEUES_MAX      7u /* of requests */
#define VIRTIO_FS_WORKERS_DEFAULT 4u
#define VIRTIO_FS_WORKERS_MAX     16u
#define VIRTIO_FS_TEND_MS         100

/* Requests put aside, and pieces that one may have; see @serve. */
#define VIRTIO_FS_PARKED_MAX    64u
#define VIRTIO_FS_PARKED_PIECES 8u

/* They are served again after so long, and then twice that each time. */
#define VIRTIO_FS_AGAIN_MIN_MS 1u
#define VIRTIO_FS_AGAIN_MAX_MS 50u

/* What @serve returns for a request that is to be put aside. */
#define VIRTIO_FS_LATER SIZE_MAX

struct virtio_fs;

/**
 * struct virtio_fs_config - What a device is made of
 * @tag:	What the guest mounts it by, 1 to VIRTIO_FS_TAG_MAX bytes; copied
 * @n_queues:	Request queues, up to VIRTIO_FS_QUEUES_MAX; 0: one
 * @n_workers:	Requests served at once, up to VIRTIO_FS_WORKERS_MAX; 0: the
 *		default. One more thread serves FORGETs
 * @n_parked:	Requests put aside at once, up to VIRTIO_FS_PARKED_MAX; 0: that
 * @serve:	Answer one request: read @in, write @out, return the bytes
 *		written to @out, 0 for a request that has no answer. Both are
 *		guest memory, which may change at any time. It may take as long
 *		as it takes. One that cannot be done yet is VIRTIO_FS_LATER: it
 *		is put aside and served again, by which no thread is held up.
 *		Context: worker threads, several at once, no lock
 * @refuse:	Answer one that cannot be put aside, in its place; as @serve, but
 *		never VIRTIO_FS_LATER. NULL if that never says so either
 * @renew:	The guest has let go of all it knew: so does the server.
 *		Context: a worker thread, no request under way
 * @tend:	Called every VIRTIO_FS_TEND_MS after a request was served, until it
 *		returns false; NULL if nothing needs it. Context: the thread of
 *		the high-priority queue, no lock
 * @still:	After virtio_fs_pause(): nothing is under way any more; may come
 *		more than once. NULL if nobody pauses. Context: any thread, the
 *		device's lock is held
 * @jail:	Called by each thread before it does anything. Return: -errno
 * @ctx:	For @serve, @refuse, @renew, @tend and @still
 * @dax_base:	Guest physical address of the window that files are mapped into
 * @dax_len:	Its length; 0 for none
 */
struct virtio_fs_config {
	const char *tag;
	unsigned int n_queues;
	unsigned int n_workers;
	unsigned int n_parked;
	size_t (*serve)(void *ctx, const struct iovec *in, unsigned int n_in,
			const struct iovec *out, unsigned int n_out);
	size_t (*refuse)(void *ctx, const struct iovec *in, unsigned int n_in,
			 const struct iovec *out, unsigned int n_out);
	void (*renew)(void *ctx);
	bool (*tend)(void *ctx);
	void (*still)(void *ctx);
	int (*jail)(struct err *e);
	void *ctx;
	uint64_t dax_base;
	uint64_t dax_len;
};

/** struct virtio_fs_stats - Since start: requests answered; now: under way, and
 *  put aside
 */
struct virtio_fs_stats {
	uint64_t served;
	uint64_t n_busy;
	uint64_t n_parked;
};

/** virtio_fs_new() - No thread yet. Return: 0 or -errno with a sentence */
MUST_CHECK int virtio_fs_new(const struct virtio_fs_config *cfg,
			     struct virtio_fs **ret, struct err *e);

/**
 * virtio_fs_start() - Make the threads; returns when all are jailed
 *
 * Return: 0 or -errno with a sentence; virtio_fs_stop() cleans up either way
 */
MUST_CHECK int virtio_fs_start(struct virtio_fs *f, struct err *e);

/**
 * virtio_fs_stop() - Have the threads end, and the requests under way before
 *
 * Context: before the transport is done, which they use; takes NULL.
 */
void virtio_fs_stop(struct virtio_fs *f);

/** virtio_fs_free() - After virtio_fs_stop() and the transport; takes NULL */
void virtio_fs_free(struct virtio_fs *f);

/**
 * virtio_fs_pause() - Begin no request, and nothing else, until told to go on
 *
 * Does not wait for what is under way: @still tells of its end.
 *
 * Context: any thread.
 */
void virtio_fs_pause(struct virtio_fs *f);

/** virtio_fs_is_paused() - Whether that was asked for and nothing is under way */
bool virtio_fs_is_paused(struct virtio_fs *f);

/** virtio_fs_resume() - Go on. Context: any thread */
void virtio_fs_resume(struct virtio_fs *f);

/** virtio_fs_again() - Serve what was put aside once more, at once. Context: any
 *  thread, also in @serve
 */
void virtio_fs_again(struct virtio_fs *f);

struct virtio_dev *virtio_fs_dev(struct virtio_fs *f);

/** virtio_fs_stats() - Context: any thread */
void virtio_fs_stats(struct virtio_fs *f, struct virtio_fs_stats *ret);

#endif
