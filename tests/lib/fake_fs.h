/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_fs.h - a file system device, its driver and a server for it
 *
 * The server answers a request with its own bytes behind the header, in
 * capital letters; one that begins with 'h' it holds until fake_fs_let_go(),
 * one that begins with '-' has no answer, one that begins with 'l' waits until
 * there is @n_open for it, and "NO" is said if it cannot be put aside.  One that
 * begins with '+', the first of queue 0, comes again and again until the server
 * has looked after things.  The loop has a thread of its own,
 * the test is the vCPU.
 */
#ifndef HUTCH_TESTS_FAKE_FS_H
#define HUTCH_TESTS_FAKE_FS_H

#include <stdatomic.h>

#include "tests/lib/fake_guest.h"
#include "vmm/virtio/fs.h"

#define FF_TAG    "work"
#define FF_HEADER 40u
#define FF_QUEUE  16u
#define FF_OUT    64u /* bytes of room for an answer */

/**
 * struct fake_fs - All of it
 * @event_idx:	The driver has accepted VIRTIO_F_EVENT_IDX
 * @lock:	Guards what follows
 * @changed:	Broadcast when any of it changes
 * @n_held:	Requests that the server holds
 * @n_free:	So many of them may go
 * @n_served:	Requests that the server has answered
 * @n_most:	The most it had under way at once
 * @n_now:	Under way
 * @n_later:	Times that it had one put aside
 * @n_open:	So many of them may be answered
 * @n_renewed:	Times it was told to forget
 * @n_tended:	Times it looked after things
 * @n_still:	Times it was told that nothing is under way
 * @tend_until:	So often it wants to be asked for that, in a row
 * @hold_renew:	It is to hold that too
 * @busy_renewed: A request was under way then
 */
struct fake_fs {
	struct fake_guest g;
	struct virtio_mmio m;
	struct irq irq;
	struct loop loop;
	pthread_t loop_thread;
	atomic_bool over;
	struct virtio_fs *f;
	bool event_idx;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int n_held;
	unsigned int n_free;
	unsigned int n_served;
	unsigned int n_most;
	unsigned int n_now;
	unsigned int n_later;
	unsigned int n_open;
	unsigned int n_renewed;
	unsigned int n_tended;
	unsigned int tend_until;
	unsigned int n_still;
	bool hold_renew;
	bool busy_renewed;
};

/** fake_fs_new() - A device with @n_queues queues of requests and @n_workers */
struct fake_fs *fake_fs_new(unsigned int n_queues, unsigned int n_workers);

/** fake_fs_boot() - Reset it and start its driver */
void fake_fs_boot(struct fake_fs *t, bool event_idx);

/** fake_fs_end_loop() - From now on the loop does nothing more */
void fake_fs_end_loop(struct fake_fs *t);

/** fake_fs_free() - Nothing may be held any more */
void fake_fs_free(struct fake_fs *t);

/**
 * fake_fs_send() - Offer request @i of queue @qi, up to FF_QUEUE / 3
 *
 * The driver notifies if the device wants it to, and only then.
 */
void fake_fs_send(struct fake_fs *t, unsigned int qi, unsigned int i,
		  const char *text);

/** fake_fs_take() - Wait for the next answer. Return: of which */
unsigned int fake_fs_take(struct fake_fs *t, unsigned int qi, uint32_t *len);

/** fake_fs_answer() - The bytes that were written for request @i */
const char *fake_fs_answer(struct fake_fs *t, unsigned int qi, unsigned int i);

/** fake_fs_await() - Wait until *@what, a field under the lock, is @n */
void fake_fs_await(struct fake_fs *t, const unsigned int *what, unsigned int n);

/** fake_fs_open() - Let @n of those that wait be answered, and say so if @tell */
void fake_fs_open(struct fake_fs *t, unsigned int n, bool tell);

/** fake_fs_let_go() - Let @n held requests go, those that come later too */
void fake_fs_let_go(struct fake_fs *t, unsigned int n);

#endif
