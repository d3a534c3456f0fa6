/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/loop.h - one thread's event loop: descriptors, timers, last rites
 *
 * Handlers are embedded in their owners, so the loop allocates nothing.  Two
 * hazards of every epoll loop have one answer each:
 *
 * - An event for a descriptor that an earlier handler of the same batch has
 *   closed: loop_del() also drops the events of that handler which are still
 *   waiting in the batch.
 * - Memory that a later handler of the batch may still look at: owners free
 *   themselves with loop_defer(), which runs at the end of the batch.
 *
 * Context: one thread calls all of it, save loop_stop() which a handler calls.
 */
#ifndef HUTCH_COMMON_LOOP_H
#define HUTCH_COMMON_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "common/err.h"

#define LOOP_BATCH 64

struct loop;
struct timers;
struct loop_io;
struct loop_timer;
struct loop_defer;

typedef void loop_io_fn(struct loop_io *io, uint32_t events);
typedef void loop_timer_fn(struct loop_timer *t);
typedef void loop_defer_fn(struct loop_defer *d);

/**
 * struct loop_io - A watched descriptor, embedded in its owner
 * @loop:	Set while watched, else NULL
 * @fd:		Borrowed: the owner closes it, after loop_del()
 * @events:	EPOLLIN and so on, as last asked for; EPOLLHUP and EPOLLERR
 *		always come
 * @fn:		Called with what happened
 */
struct loop_io {
	struct loop *loop;
	int fd;
	uint32_t events;
	loop_io_fn *fn;
};

/**
 * struct loop_timer - A one-shot timer, embedded in its owner
 * @in:		Set while it is, else NULL; zeroed is "not set"
 * @child:	The first of those that fire later: see timers.h
 * @next:	The next child of the same one
 * @prev:	The one before, or whose first child it is; NULL: it is the soonest
 * @at_ns:	CLOCK_MONOTONIC
 * @n:		Of those that fire at the same time, the lowest is first
 */
struct loop_timer {
	struct timers *in;
	struct loop_timer *child;
	struct loop_timer *next;
	struct loop_timer *prev;
	uint64_t at_ns;
	uint64_t n;
	loop_timer_fn *fn;
};

/** struct loop_defer - Something to be done when the batch is over */
struct loop_defer {
	struct loop_defer *next;
	loop_defer_fn *fn;
	bool queued;
};

/** struct timers - Those that are set, see timers.h */
struct timers {
	struct loop_timer *soonest;
	uint64_t n_set;
};

/** struct loop - See the head of this file; fields are the loop's own */
struct loop {
	int epfd;
	bool stop;
	struct timers timers;
	struct loop_defer *deferred;
	int n_batch;
	struct epoll_event batch[LOOP_BATCH];
};

/** loop_init() - Make a loop ready. Return: 0 or -errno */
MUST_CHECK int loop_init(struct loop *l, struct err *e);

/** loop_done() - Let go of what the loop holds; takes a half-made one too */
void loop_done(struct loop *l);

/**
 * loop_add() - Watch @fd
 * @io:		Owner's; must stay in place until loop_del()
 * @events:	EPOLLIN, EPOLLOUT, EPOLLRDHUP; level-triggered; 0 watches for
 *		EPOLLHUP and EPOLLERR alone
 *
 * Return: 0; -EPERM if @fd is a kind epoll cannot watch (a regular file)
 */
MUST_CHECK int loop_add(struct loop *l, struct loop_io *io, int fd,
			uint32_t events, loop_io_fn *fn);

/** loop_mod() - Watch for @events from now on; no system call if the same */
void loop_mod(struct loop_io *io, uint32_t events);

/** loop_del() - Stop watching, drop what waits in this batch; idempotent */
void loop_del(struct loop_io *io);

/** loop_forget() - loop_del() of what is closed next, and has no duplicate */
void loop_forget(struct loop_io *io);

/** loop_timer_set() - Fire once in @ns nanoseconds; sets it anew if set */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t ns,
		    loop_timer_fn *fn);

/** loop_timer_cancel() - Do not fire; no harm if it was not set */
void loop_timer_cancel(struct loop_timer *t);

/** loop_timer_is_set() - Whether the timer will fire */
bool loop_timer_is_set(const struct loop_timer *t);

/** loop_defer() - Call @fn when this batch is over; once however often asked */
void loop_defer(struct loop *l, struct loop_defer *d, loop_defer_fn *fn);

/** loop_defer_cancel() - Do not call it after all; no harm if not asked */
void loop_defer_cancel(struct loop *l, struct loop_defer *d);

/** loop_run() - Serve until loop_stop(). Return: 0, or -errno of epoll_wait */
MUST_CHECK int loop_run(struct loop *l);

/**
 * loop_step() - Wait for one batch and serve it
 * @timeout_ms:	At most this long; 0 polls, -1 waits for ever
 *
 * Return: number of events and timers served, or -errno
 */
MUST_CHECK int loop_step(struct loop *l, int timeout_ms);

/** loop_stop() - Make loop_run() return after this batch */
void loop_stop(struct loop *l);

/** loop_now_ns() - CLOCK_MONOTONIC in nanoseconds */
uint64_t loop_now_ns(void);

#endif
