/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/waiter.h - who waits for a lock, and can be told to give up
 *
 * A SETLKW that cannot be had is put aside by the caller of fs_serve(), and
 * comes again (lock.h).  Meanwhile it is known here, by its number and by the
 * thread that it is of.  Who is told to give up is answered EINTR when he comes
 * again, which is at once.
 *
 * A queue that is stopped forgets requests without a word, so there may be
 * waiters that never come again: their numbers do not either, so nobody is
 * answered for them, and where there is no room they make it.
 */
#ifndef HUTCH_VMM_FS_WAITER_H
#define HUTCH_VMM_FS_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base.h"

/* More than a device puts aside and has under way. */
#define FS_WAITERS_MAX 128u

struct fs_req;
struct fs_server;

/**
 * struct fs_waiter - A SETLKW that was put aside
 * @unique:	Its number
 * @tid:	Thread of the guest that made it
 * @over:	It is to be answered EINTR
 */
struct fs_waiter {
	uint64_t unique;
	uint32_t tid;
	bool over;
};

/**
 * fs_waiter_tried() - What becomes of a SETLKW
 * @e:		0; -EAGAIN if the lock cannot be had now; or what else is wrong
 *
 * Context: no lock held; so for all that follow.
 *
 * Return: @e, FS_LATER or -EINTR
 */
MUST_CHECK int fs_waiter_tried(const struct fs_req *r, int e);

/** fs_waiter_forget() - It has been answered otherwise */
void fs_waiter_forget(struct fs_server *s, uint64_t unique);

/** fs_waiters_forget_all() - None of them comes again */
void fs_waiters_forget_all(struct fs_server *s);

/** fs_waiter_interrupt() - Request @unique is to be waited for no more */
void fs_waiter_interrupt(struct fs_server *s, uint64_t unique);

/**
 * fs_waiter_killed() - The same of what a thread waits for
 *
 * Return: 0; -ENODATA if it waits for nothing
 */
MUST_CHECK int fs_waiter_killed(struct fs_server *s, uint32_t tid);

/** fs_waiters_again() - Somebody who waits may have what he waits for */
void fs_waiters_again(const struct fs_server *s);

#endif
