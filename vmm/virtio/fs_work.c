/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/fs_work.c - the threads that serve requests; see fs_dev.h */
#include <errno.h>
#include <string.h>

#include "common/loop.h"
#include "vmm/virtio/fs_dev.h"

#define NS_PER_MS 1000000ull

/* Of struct fuse_in_header, with which every request begins: 5.11.6.1. */
#define REQUEST_MIN 40u

static void lock(struct virtio_fs *f)
{
	(void)pthread_mutex_lock(&f->vd.lock);
}

static void unlock(struct virtio_fs *f)
{
	(void)pthread_mutex_unlock(&f->vd.lock);
}

unsigned int fs_work_busy(const struct virtio_fs *f)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < f->ops.n_queues; i++)
		sum += f->busy[i];
	return sum;
}

static bool may_serve(const struct virtio_fs *f)
{
	return f->vd.running && !f->vd.reset_due && !f->renew && !f->renewing &&
	       !f->paused;
}

bool fs_work_is_still(const struct virtio_fs *f)
{
	return fs_work_busy(f) == 0 && !f->renewing && !f->tends;
}

/* Something has ended that a pause may wait for. */
static void tell_still(struct virtio_fs *f)
{
	if (f->paused && fs_work_is_still(f) && f->cfg.still)
		f->cfg.still(f->cfg.ctx);
}

/* Return: 1 with a request in w->chain, 0 if there is none, or -EBADMSG */
static int pop(struct virtio_fs *f, struct virtio_fs_worker *w, unsigned int qi)
{
	struct virtq *q = &f->vd.vq[qi];
	int r = virtq_pop(q, &w->chain);

	if (r == 0) {
		r = virtq_arm(q);
		if (r > 0)
			r = virtq_pop(q, &w->chain);
	}
	if (r > 0 && w->chain.out_len < REQUEST_MIN)
		return -EBADMSG;
	return r;
}

/*
 * What is left, in any queue, is for who sleeps, if anybody does: one ring may
 * have been for several.
 */
static int pass_on(struct virtio_fs *f, unsigned int qi)
{
	int r = 0;

	if (qi == FS_HIPRIO || f->n_idle == 0)
		return virtq_disarm(&f->vd.vq[qi]);
	for (unsigned int i = 1; r == 0 && i < f->ops.n_queues; i++)
		r = virtq_arm(&f->vd.vq[i]);
	if (r > 0)
		bell_ring(&f->work);
	return MIN(r, 0);
}

/* Return: the queue of the request that is now in w->chain, or -1 for none */
static int take(struct virtio_fs *f, struct virtio_fs_worker *w)
{
	unsigned int n = w->first == FS_HIPRIO ? 1 : f->ops.n_queues - 1;

	if (!may_serve(f))
		return -1;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int qi = w->first;
		int r = pop(f, w, qi);

		if (qi != FS_HIPRIO)
			w->first = 1 + qi % n;
		if (r == 0)
			continue;
		if (r > 0 && pass_on(f, qi) == 0)
			return (int)qi;
		virtio_dev_break(&f->vd);
		break;
	}
	return -1;
}

/* A queue that was stopped meanwhile, or all of them, takes nothing back. */
static int give_back(struct virtio_fs *f, unsigned int qi, uint16_t head,
		     size_t len)
{
	int r;

	f->served++;
	if (!f->vd.running || f->vd.reset_due || !f->vd.vq[qi].ready)
		return 0;
	r = virtq_push(&f->vd.vq[qi], head, (uint32_t)len);
	return r < 0 ? r : virtio_dev_signal(&f->vd, qi);
}

/* What was served may be something to look after; the answer will tell. */
static void tend_soon(struct virtio_fs *f)
{
	if (!f->cfg.tend || f->tending)
		return;
	f->tending = true;
	f->tend_ns = loop_now_ns() + VIRTIO_FS_TEND_MS * NS_PER_MS;
	bell_ring(&f->urgent);
}

static void tend(struct virtio_fs *f)
{
	bool more;

	/* Who serves a request meanwhile begins anew. */
	f->tending = false;
	f->tends = true;
	unlock(f);
	more = f->cfg.tend(f->cfg.ctx);
	lock(f);
	f->tends = false;
	if (more)
		tend_soon(f);
	tell_still(f);
}

/* Something is done: give it back and tell who may wait for that. */
static void finish(struct virtio_fs *f, unsigned int qi, uint16_t head,
		   size_t len)
{
	if (len != VIRTIO_FS_LATER && give_back(f, qi, head, len) < 0)
		virtio_dev_break(&f->vd);
	f->busy[qi]--;
	tend_soon(f);
	(void)pthread_cond_broadcast(&f->calm);
	/* It may wait for us to begin anew. */
	if (f->renew)
		bell_ring(&f->urgent);
	tell_still(f);
}

/* ---- Put aside ---- */

static void again_in(struct virtio_fs *f, unsigned int ms)
{
	f->again_ms = ms;
	f->again_ns = loop_now_ns() + ms * NS_PER_MS;
}

void fs_work_again(struct virtio_fs *f)
{
	if (!f->n_parked)
		return;
	again_in(f, 0);
	bell_ring(&f->urgent);
}

/* A queue that was stopped meanwhile forgets its requests. */
static bool keeps(const struct virtio_fs *f, unsigned int qi)
{
	return f->vd.running && !f->vd.reset_due && f->vd.vq[qi].ready;
}

/* Return: whether there was room to put it aside. */
static bool park(struct virtio_fs *f, const struct virtq_chain *c,
		 unsigned int qi)
{
	const unsigned int n = (unsigned int)c->n_out + c->n_in;
	struct virtio_fs_parked *p = &f->parked[f->n_parked];

	if (f->n_parked == f->cfg.n_parked || n > VIRTIO_FS_PARKED_PIECES)
		return false;
	*p = (struct virtio_fs_parked){ .qi = qi,
					.head = c->head,
					.n_out = c->n_out,
					.n_in = c->n_in,
					.in_len = c->in_len };
	memcpy(p->iov, c->iov, n * sizeof(*p->iov));
	f->n_parked++;
	again_in(f, VIRTIO_FS_AGAIN_MIN_MS);
	bell_ring(&f->urgent);
	return true;
}

void fs_work_forget(struct virtio_fs *f, int qi)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < f->n_parked; i++)
		if (qi >= 0 && f->parked[i].qi != (unsigned int)qi)
			f->parked[n++] = f->parked[i];
	f->n_parked = n;
	f->forgot++;
}

/* Return: whether it stays put aside. */
static bool serve_parked(struct virtio_fs *f, const struct virtio_fs_parked *p)
{
	size_t len;

	f->busy[p->qi]++;
	unlock(f);
	len = f->cfg.serve(f->cfg.ctx, p->iov, p->n_out, p->iov + p->n_out,
			   p->n_in);
	bug_on(len != VIRTIO_FS_LATER && len > p->in_len);
	lock(f);
	finish(f, p->qi, p->head, len);
	return len == VIRTIO_FS_LATER;
}

static void serve_all_parked(struct virtio_fs *f)
{
	const unsigned int forgot = f->forgot;
	const unsigned int ms = f->again_ms;

	for (unsigned int i = 0; i < f->n_parked && may_serve(f);) {
		const struct virtio_fs_parked p = f->parked[i];
		bool stays = serve_parked(f, &p);

		if (forgot != f->forgot)
			return;
		if (stays) {
			i++;
			continue;
		}
		f->n_parked--;
		memmove(&f->parked[i], &f->parked[i + 1],
			(f->n_parked - i) * sizeof(p));
	}
	/* Unless somebody came, or was let go, meanwhile. */
	if (f->again_ms == ms)
		again_in(f, MIN(MAX(2 * ms, VIRTIO_FS_AGAIN_MIN_MS),
				VIRTIO_FS_AGAIN_MAX_MS));
}

static void serve(struct virtio_fs *f, struct virtio_fs_worker *w,
		  unsigned int qi)
{
	const struct virtq_chain *c = &w->chain;
	size_t len;

	f->busy[qi]++;
	unlock(f);
	len = f->cfg.serve(f->cfg.ctx, c->iov, c->n_out, c->iov + c->n_out,
			   c->n_in);
	lock(f);
	if (len == VIRTIO_FS_LATER && keeps(f, qi) && !park(f, c, qi)) {
		unlock(f);
		len = f->cfg.refuse(f->cfg.ctx, c->iov, c->n_out,
				    c->iov + c->n_out, c->n_in);
		lock(f);
	}
	bug_on(len != VIRTIO_FS_LATER && len > c->in_len);
	finish(f, qi, c->head, len);
}

static void renew(struct virtio_fs *f)
{
	f->renew = false;
	f->renewing = true;
	unlock(f);
	f->cfg.renew(f->cfg.ctx);
	lock(f);
	f->renewing = false;
	bell_ring(&f->work);
	tell_still(f);
}

/* When there is something to do, if there is. */
static bool next_time(const struct virtio_fs *f, uint64_t *ret_ns)
{
	const bool tends = f->tending && !f->paused;
	const bool again = f->n_parked && may_serve(f);

	*ret_ns = tends ? f->tend_ns : UINT64_MAX;
	if (again)
		*ret_ns = MIN(*ret_ns, f->again_ns);
	return tends || again;
}

/* Rounded up, so that when it is over it is time. */
static int until_next(const struct virtio_fs *f)
{
	uint64_t now = loop_now_ns(), at;

	if (!next_time(f, &at))
		return -1;
	if (now >= at)
		return 0;
	return (int)((at - now + NS_PER_MS - 1) / NS_PER_MS);
}

/*
 * What is due by the clock: a driver that never stops ringing has no say in it.
 * Return: whether anything was
 */
static bool do_due(struct virtio_fs *f)
{
	uint64_t now, at;

	if (!next_time(f, &at))
		return false;
	now = loop_now_ns();
	if (f->tending && !f->paused && now >= f->tend_ns)
		tend(f);
	else if (f->n_parked && may_serve(f) && now >= f->again_ns)
		serve_all_parked(f);
	else
		return false;
	return true;
}

/* The worker of the high-priority queue has nothing to do but wait. */
static void rest(struct virtio_fs *f)
{
	int timeout_ms = until_next(f);

	unlock(f);
	(void)bell_wait(&f->urgent, timeout_ms);
	lock(f);
}

static void sleep_in(struct virtio_fs *f)
{
	f->n_idle++;
	unlock(f);
	(void)bell_wait(&f->work, -1);
	lock(f);
	f->n_idle--;
}

/* Context: lock held; each step gives it up. */
static void step(struct virtio_fs *f, struct virtio_fs_worker *w)
{
	bool hiprio = w->first == FS_HIPRIO;
	int qi;

	if (hiprio && f->renew && fs_work_busy(f) == 0 && !f->paused) {
		renew(f);
		return;
	}
	if (hiprio && do_due(f))
		return;
	qi = take(f, w);
	if (qi >= 0) {
		serve(f, w, (unsigned int)qi);
		return;
	}
	if (hiprio)
		rest(f);
	else
		sleep_in(f);
}

void *fs_work_main(void *arg)
{
	struct virtio_fs_worker *w = arg;
	struct virtio_fs *f = w->f;
	int r = crew_begin(&f->crew);

	while (r == 0 && !f->quit)
		step(f, w);
	unlock(f);
	/* One ring wakes one of us. */
	bell_ring(w->first == FS_HIPRIO ? &f->urgent : &f->work);
	return NULL;
}
