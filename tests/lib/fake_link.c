/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_link.c - see fake_link.h */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/lib/fake_link.h"

static struct fake_link *of(struct net_link *l)
{
	return container_of(l, struct fake_link, link);
}

static void lock(struct fake_link *f)
{
	(void)pthread_mutex_lock(&f->lock);
}

static void unlock(struct fake_link *f)
{
	(void)pthread_cond_broadcast(&f->changed);
	(void)pthread_mutex_unlock(&f->lock);
}

static int fl_fd(struct net_link *l, unsigned int q)
{
	(void)q;
	return of(l)->fd;
}

/* Lock held, but while it waits. */
static void stay(struct fake_link *f)
{
	f->n_held++;
	(void)pthread_cond_broadcast(&f->changed);
	while (f->hold)
		(void)pthread_cond_wait(&f->changed, &f->lock);
	f->n_held--;
}

static ssize_t look(struct fake_link *f)
{
	if (f->n_fail > 0) {
		f->n_fail--;
		return -ENOBUFS;
	}
	return f->n_in > 0 ? (ssize_t)f->in_len : f->in_code;
}

static ssize_t fl_next(struct net_link *l, unsigned int q)
{
	struct fake_link *f = of(l);
	ssize_t r;

	(void)q;
	lock(f);
	r = look(f);
	unlock(f);
	return r;
}

static ssize_t fl_recv(struct net_link *l, unsigned int q, struct iovec *iov,
		       int n)
{
	struct fake_link *f = of(l);
	ssize_t r;

	(void)q;
	lock(f);
	r = look(f);
	if (r > 0) {
		stay(f);
		f->n_in--;
		if (f->link.vnet)
			*(struct vnet_hdr *)iov[0].iov_base =
				(struct vnet_hdr){ .gso_type = f->in_type };
		if (net_iov_len(iov, n) < (size_t)r)
			r = -EMSGSIZE;
	}
	unlock(f);
	return r;
}

static void fl_skip(struct net_link *l, unsigned int q)
{
	(void)l;
	(void)q;
}

static int fl_send(struct net_link *l, unsigned int q, struct iovec *iov, int n,
		   size_t len)
{
	struct fake_link *f = of(l);
	int r = 0;

	(void)q;
	(void)iov;
	(void)n;
	(void)len;
	lock(f);
	stay(f);
	if (f->lose) {
		f->in_code = -EPIPE;
		r = -EAGAIN;
	} else {
		f->n_sent++;
	}
	unlock(f);
	return r;
}

static int fl_flush(struct net_link *l, unsigned int q)
{
	(void)l;
	(void)q;
	return 0;
}

static int fl_offload(struct net_link *l, unsigned int offloads)
{
	(void)l;
	(void)offloads;
	return 0;
}

static int fl_spread(struct net_link *l, unsigned int n)
{
	struct fake_link *f = of(l);
	bool ok;

	lock(f);
	ok = n <= f->spread_max;
	f->n_spread = ok ? n : f->spread_max;
	unlock(f);
	return ok ? 0 : -EIO;
}

static void fl_free(struct net_link *l)
{
	struct fake_link *f = of(l);

	base_closep(&f->fd);
	(void)pthread_cond_destroy(&f->changed);
	(void)pthread_mutex_destroy(&f->lock);
	free(f);
}

static const struct net_link_ops ops = {
	.fd = fl_fd,
	.next = fl_next,
	.recv = fl_recv,
	.skip = fl_skip,
	.send = fl_send,
	.flush = fl_flush,
	.offload = fl_offload,
	.spread = fl_spread,
	.free = fl_free,
};

struct fake_link *fake_link_new(unsigned int n_queues, bool vnet)
{
	struct fake_link *f = calloc(1, sizeof(*f));

	bug_on(!f);
	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	bug_on(f->fd < 0);
	bug_on(pthread_mutex_init(&f->lock, NULL) != 0);
	bug_on(pthread_cond_init(&f->changed, NULL) != 0);
	f->in_code = -EAGAIN;
	f->spread_max = n_queues;
	f->in_len = 72;
	f->link = (struct net_link){ .ops = &ops,
				     .n_queues = n_queues,
				     .vnet = vnet };
	return f;
}

void fake_link_await(struct fake_link *f, const unsigned int *what,
		     unsigned int n)
{
	lock(f);
	while (*what != n)
		(void)pthread_cond_wait(&f->changed, &f->lock);
	unlock(f);
}

void fake_link_hold(struct fake_link *f, bool hold)
{
	lock(f);
	f->hold = hold;
	unlock(f);
}

void fake_link_set(struct fake_link *f, unsigned int *what, unsigned int n)
{
	lock(f);
	*what = n;
	unlock(f);
}
