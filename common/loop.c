/* SPDX-License-Identifier: Apache-2.0 */
/* common/loop.c - see loop.h */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "common/loop.h"
#include "common/timers.h"

#define NS_PER_MS 1000000ull

uint64_t loop_now_ns(void)
{
	struct timespec ts;

	/* Cannot fail with a clock that every kernel has. */
	bug_on(clock_gettime(CLOCK_MONOTONIC, &ts) != 0);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int loop_init(struct loop *l, struct err *e)
{
	memset(l, 0, sizeof(*l));
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd < 0)
		return err_set(e, -errno, "event loop: %s", strerror(errno));
	return 0;
}

void loop_done(struct loop *l)
{
	if (l->epfd >= 0)
		(void)close(l->epfd);
	l->epfd = -1;
}

int loop_add(struct loop *l, struct loop_io *io, int fd, uint32_t events,
	     loop_io_fn *fn)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };

	bug_on(io->loop);
	if (epoll_ctl(l->epfd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	io->loop = l;
	io->fd = fd;
	io->events = events;
	io->fn = fn;
	return 0;
}

void loop_mod(struct loop_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };

	if (!io->loop || io->events == events)
		return;
	/* The descriptor is ours and watched: no failure is possible. */
	bug_on(epoll_ctl(io->loop->epfd, EPOLL_CTL_MOD, io->fd, &ev) != 0);
	io->events = events;
}

void loop_del(struct loop_io *io)
{
	if (!io->loop)
		return;
	(void)epoll_ctl(io->loop->epfd, EPOLL_CTL_DEL, io->fd, NULL);
	loop_forget(io);
}

/* The kernel itself stops watching what is closed. */
void loop_forget(struct loop_io *io)
{
	struct loop *l = io->loop;

	if (!l)
		return;
	for (int i = 0; i < l->n_batch; i++)
		if (l->batch[i].data.ptr == io)
			l->batch[i].data.ptr = NULL;
	io->loop = NULL;
}

bool loop_timer_is_set(const struct loop_timer *t)
{
	return t->in != NULL;
}

void loop_timer_cancel(struct loop_timer *t)
{
	timers_del(t);
}

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t ns,
		    loop_timer_fn *fn)
{
	uint64_t now = loop_now_ns();

	timers_del(t);
	t->at_ns = ns > UINT64_MAX - now ? UINT64_MAX : now + ns;
	t->fn = fn;
	timers_add(&l->timers, t);
}

void loop_defer(struct loop *l, struct loop_defer *d, loop_defer_fn *fn)
{
	if (d->queued)
		return;
	d->queued = true;
	d->fn = fn;
	d->next = l->deferred;
	l->deferred = d;
}

void loop_defer_cancel(struct loop *l, struct loop_defer *d)
{
	struct loop_defer **p = &l->deferred;

	while (*p && *p != d)
		p = &(*p)->next;
	if (*p)
		*p = d->next;
	d->queued = false;
}

static void run_deferred(struct loop *l)
{
	while (l->deferred) {
		struct loop_defer *d = l->deferred;

		l->deferred = d->next;
		d->queued = false;
		d->fn(d);
	}
}

/* Timers set by a timer wait for the next round, so that none can spin. */
static int run_timers(struct loop *l)
{
	const uint64_t last = l->timers.n_set;
	struct loop_timer *t;
	uint64_t now;
	int n = 0;

	if (!l->timers.soonest)
		return 0;
	now = loop_now_ns();
	while ((t = l->timers.soonest) && t->at_ns <= now && t->n < last) {
		timers_del(t);
		t->fn(t);
		n++;
	}
	return n;
}

/* Rounded up: a timer that fires early would make its owner wait again. */
static int next_timeout(const struct loop *l, int timeout_ms)
{
	const struct loop_timer *t = l->timers.soonest;
	uint64_t now, ms;

	if (!t)
		return timeout_ms;
	now = loop_now_ns();
	if (t->at_ns <= now)
		return 0;
	ms = (t->at_ns - now) / NS_PER_MS + 1;
	if (timeout_ms >= 0 && ms > (uint64_t)timeout_ms)
		return timeout_ms;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

int loop_step(struct loop *l, int timeout_ms)
{
	int n = epoll_wait(l->epfd, l->batch, LOOP_BATCH,
			   next_timeout(l, timeout_ms));
	int served;

	if (n < 0 && errno != EINTR)
		return -errno;
	l->n_batch = n < 0 ? 0 : n;
	served = l->n_batch;
	for (int i = 0; i < l->n_batch; i++) {
		struct loop_io *io = l->batch[i].data.ptr;

		if (io)
			io->fn(io, l->batch[i].events);
	}
	l->n_batch = 0;
	served += run_timers(l);
	run_deferred(l);
	return served;
}

int loop_run(struct loop *l)
{
	int r = 0;

	while (!l->stop && r >= 0)
		r = loop_step(l, -1);
	l->stop = false;
	return r < 0 ? r : 0;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}
