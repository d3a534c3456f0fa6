/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/fs.c - see fs.h
 *
 * How it works.  Requests wait in the guest's queues, nowhere else: a worker
 * takes one, gives up the device's lock, has it answered straight from and
 * into guest memory, takes the lock again and gives it back.  So as many are
 * under way as there are workers, and they end in any order.  A disk that does
 * not answer holds up its workers, and neither the loop thread, which only
 * wakes them, nor the thread of the high-priority queue.
 *
 * Notifications.  While a worker sleeps, the driver is asked to notify; who
 * takes a request and sees another wakes the next sleeper.  When nobody sleeps
 * no notification is needed: who is done looks at the queues before he sleeps.
 *
 * Reset.  What is being answered cannot be called back, since the kernel may
 * be writing into guest memory.  So the vCPU that resets the device waits here
 * (quiesce) until it is done, and the driver finds a device that touches none
 * of its memory.  Then the server forgets, on the high-priority thread, for
 * that may close many files; until it has, no request is taken.
 *
 * Pause.  Nothing is begun, and whoever asked for it is told when all that was
 * under way has ended; it must not wait, as it is the loop thread.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vmm/virtio/fs.h"

/* Linux caps a request at the queue's size less four, in pages. */
#define QUEUE_MAX 1024u
#define STACK_LEN (256u << 10)
#define HIPRIO    0u
#define NS_PER_MS 1000000L
#define NS_PER_S  1000000000L
#define SHM_CACHE 0u /* virtio 1.2, 5.11.6.2 */

/* Of struct fuse_in_header, with which every request begins: 5.11.6.1. */
#define REQUEST_MIN 40u

/* virtio 1.2, 5.11.4; the third field is there with a feature we lack. */
struct config_space {
	uint8_t tag[VIRTIO_FS_TAG_MAX];
	le32 n_queues;
};
_Static_assert(sizeof(struct config_space) == 40, "virtio 1.2, 5.11.4");

/**
 * struct worker - A thread and the request it serves
 * @first:	Queue it looks at first: the high-priority one, and then no
 *		other, or that of requests which comes after its last
 */
struct worker {
	struct virtio_fs *f;
	pthread_t id;
	unsigned int first;
	struct virtq_chain chain;
};

/**
 * struct virtio_fs - All but what never changes is under @vd.lock
 * @ops:	Ours, with the number of queues
 * @work:	Signalled for a worker of requests
 * @urgent:	Signalled for the worker of the high-priority queue
 * @calm:	Broadcast when a request is done or the last thread has started
 * @n_idle:	Workers of requests that wait for @work
 * @busy:	Requests under way, by queue
 * @served:	Requests answered
 * @tending:	@cfg.tend is to be called when @tend_at has come
 * @tend_at:	CLOCK_MONOTONIC
 * @renew:	The server is to forget, when no request is under way
 * @renewing:	It is doing so
 * @tends:	@cfg.tend is being called
 * @paused:	Nothing is to be begun
 * @broken:	A worker saw the guest break the rules; for the loop thread
 * @quit:	The threads are to end
 * @jail_error:	Of the first thread that could not be jailed, or 0
 * @worker:	@n_workers of them; the first serves the high-priority queue
 * @n_made:	Threads that there are
 * @n_started:	Threads past @cfg.jail
 */
struct virtio_fs {
	struct virtio_dev vd;
	struct virtio_ops ops;
	struct virtio_fs_config cfg;
	struct config_space space;
	pthread_cond_t work;
	pthread_cond_t urgent;
	pthread_cond_t calm;
	unsigned int n_idle;
	unsigned int busy[1 + VIRTIO_FS_QUEUES_MAX];
	uint64_t served;
	bool tending;
	struct timespec tend_at;
	bool renew;
	bool renewing;
	bool tends;
	bool paused;
	bool broken;
	bool quit;
	int jail_error;
	struct err jail_text;
	struct worker *worker;
	unsigned int n_workers;
	unsigned int n_made;
	unsigned int n_started;
};

static struct virtio_fs *fs_of(struct virtio_dev *vd)
{
	return container_of(vd, struct virtio_fs, vd);
}

static void lock(struct virtio_fs *f)
{
	(void)pthread_mutex_lock(&f->vd.lock);
}

static void unlock(struct virtio_fs *f)
{
	(void)pthread_mutex_unlock(&f->vd.lock);
}

static unsigned int n_busy(const struct virtio_fs *f)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < f->ops.n_queues; i++)
		sum += f->busy[i];
	return sum;
}

/* ---- Workers ---- */

static bool may_serve(const struct virtio_fs *f)
{
	return f->vd.running && !f->vd.reset_due && !f->broken && !f->renew &&
	       !f->renewing && !f->paused;
}

static bool is_still(const struct virtio_fs *f)
{
	return n_busy(f) == 0 && !f->renewing && !f->tends;
}

/* Something has ended that a pause may wait for. */
static void tell_still(struct virtio_fs *f)
{
	if (f->paused && is_still(f) && f->cfg.still)
		f->cfg.still(f->cfg.ctx);
}

/* The loop thread is the one that may stop the device. */
static void broke(struct virtio_fs *f, unsigned int qi)
{
	f->broken = true;
	virtio_dev_kick(&f->vd, qi);
}

/* Return: 1 with a request in w->chain, 0 if there is none, or -EBADMSG */
static int pop(struct virtio_fs *f, struct worker *w, unsigned int qi)
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

/* What is left in @qi is for who sleeps, if anybody does. */
static int pass_on(struct virtio_fs *f, unsigned int qi)
{
	int r;

	if (qi == HIPRIO || f->n_idle == 0)
		return virtq_disarm(&f->vd.vq[qi]);
	r = virtq_arm(&f->vd.vq[qi]);
	if (r > 0)
		(void)pthread_cond_signal(&f->work);
	return MIN(r, 0);
}

/* Return: the queue of the request that is now in w->chain, or -1 for none */
static int take(struct virtio_fs *f, struct worker *w)
{
	unsigned int n = w->first == HIPRIO ? 1 : f->ops.n_queues - 1;

	if (!may_serve(f))
		return -1;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int qi = w->first;
		int r = pop(f, w, qi);

		if (qi != HIPRIO)
			w->first = 1 + qi % n;
		if (r == 0)
			continue;
		if (r > 0 && pass_on(f, qi) == 0)
			return (int)qi;
		broke(f, qi);
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

static void tend_later(struct virtio_fs *f)
{
	(void)clock_gettime(CLOCK_MONOTONIC, &f->tend_at);
	f->tend_at.tv_nsec += VIRTIO_FS_TEND_MS * NS_PER_MS;
	if (f->tend_at.tv_nsec >= NS_PER_S) {
		f->tend_at.tv_nsec -= NS_PER_S;
		f->tend_at.tv_sec++;
	}
}

/* What was served may be something to look after; the answer will tell. */
static void tend_soon(struct virtio_fs *f)
{
	if (!f->cfg.tend || f->tending)
		return;
	f->tending = true;
	tend_later(f);
	(void)pthread_cond_signal(&f->urgent);
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

static void serve(struct virtio_fs *f, struct worker *w, unsigned int qi)
{
	const struct virtq_chain *c = &w->chain;
	size_t len;

	f->busy[qi]++;
	unlock(f);
	len = f->cfg.serve(f->cfg.ctx, c->iov, c->n_out, c->iov + c->n_out,
			   c->n_in);
	bug_on(len > c->in_len);
	lock(f);
	if (give_back(f, qi, c->head, len) < 0)
		broke(f, qi);
	f->busy[qi]--;
	tend_soon(f);
	(void)pthread_cond_broadcast(&f->calm);
	/* It may wait for us to begin anew. */
	if (f->renew)
		(void)pthread_cond_signal(&f->urgent);
	tell_still(f);
}

static void renew(struct virtio_fs *f)
{
	f->renew = false;
	f->renewing = true;
	unlock(f);
	f->cfg.renew(f->cfg.ctx);
	lock(f);
	f->renewing = false;
	(void)pthread_cond_broadcast(&f->work);
	tell_still(f);
}

/* The worker of the high-priority queue has nothing to do but wait. */
static void rest(struct virtio_fs *f)
{
	if (!f->tending || f->paused)
		(void)pthread_cond_wait(&f->urgent, &f->vd.lock);
	else if (pthread_cond_timedwait(&f->urgent, &f->vd.lock, &f->tend_at) ==
		 ETIMEDOUT)
		tend(f);
}

/* Context: lock held; each step gives it up. */
static void step(struct virtio_fs *f, struct worker *w)
{
	bool hiprio = w->first == HIPRIO;
	int qi;

	if (hiprio && f->renew && n_busy(f) == 0 && !f->paused) {
		renew(f);
		return;
	}
	qi = take(f, w);
	if (qi >= 0) {
		serve(f, w, (unsigned int)qi);
		return;
	}
	if (hiprio) {
		rest(f);
		return;
	}
	f->n_idle++;
	(void)pthread_cond_wait(&f->work, &f->vd.lock);
	f->n_idle--;
}

static void *thread_main(void *arg)
{
	struct worker *w = arg;
	struct virtio_fs *f = w->f;
	struct err e = { 0 };
	int r = f->cfg.jail ? f->cfg.jail(&e) : 0;

	lock(f);
	if (r < 0 && f->jail_error == 0) {
		f->jail_error = r;
		f->jail_text = e;
	}
	f->n_started++;
	(void)pthread_cond_broadcast(&f->calm);
	while (r == 0 && !f->quit)
		step(f, w);
	unlock(f);
	return NULL;
}

/* ---- The device ---- */

static int fs_process(struct virtio_dev *vd, unsigned int qi)
{
	struct virtio_fs *f = fs_of(vd);

	if (f->broken)
		return -EBADMSG;
	(void)pthread_cond_signal(qi == HIPRIO ? &f->urgent : &f->work);
	return 0;
}

static void fs_reset(struct virtio_dev *vd)
{
	struct virtio_fs *f = fs_of(vd);

	f->broken = false;
	f->renew = true;
	(void)pthread_cond_signal(&f->urgent);
}

static void fs_quiesce(struct virtio_dev *vd, int qi)
{
	struct virtio_fs *f = fs_of(vd);

	if (qi >= 0) {
		while (f->busy[qi] > 0)
			(void)pthread_cond_wait(&f->calm, &vd->lock);
		return;
	}
	while (n_busy(f) > 0) {
		(void)pthread_cond_wait(&f->calm, &vd->lock);
		/* Another vCPU may have begun anew meanwhile. */
		vd->running = false;
	}
}

static void fs_config(struct virtio_dev *vd, size_t off, uint8_t *dst,
		      size_t len)
{
	memcpy(dst, (const uint8_t *)&fs_of(vd)->space + off, len);
}

static int fs_shm(struct virtio_dev *vd, unsigned int id, uint64_t *ret_base,
		  uint64_t *ret_len)
{
	const struct virtio_fs *f = fs_of(vd);

	if (id != SHM_CACHE || f->cfg.dax_len == 0)
		return -ENOENT;
	*ret_base = f->cfg.dax_base;
	*ret_len = f->cfg.dax_len;
	return 0;
}

static const struct virtio_ops fs_ops = {
	.name = "fs",
	.id = VIRTIO_ID_FS,
	.queue_max = QUEUE_MAX,
	.process = fs_process,
	.reset = fs_reset,
	.quiesce = fs_quiesce,
	.config_len = sizeof(struct config_space),
	.config = fs_config,
	.shm = fs_shm,
};

static int check(const struct virtio_fs_config *cfg, struct err *e)
{
	size_t len = strlen(cfg->tag);

	if (len == 0 || len > VIRTIO_FS_TAG_MAX)
		return err_set(e, -EINVAL,
			       "fs: a tag has 1 to %u bytes, not %zu",
			       VIRTIO_FS_TAG_MAX, len);
	if (cfg->n_queues > VIRTIO_FS_QUEUES_MAX ||
	    cfg->n_workers > VIRTIO_FS_WORKERS_MAX)
		return err_set(e, -ERANGE,
			       "fs '%s': %u queues and %u workers, of at most "
			       "%u and %u",
			       cfg->tag, cfg->n_queues, cfg->n_workers,
			       VIRTIO_FS_QUEUES_MAX, VIRTIO_FS_WORKERS_MAX);
	return 0;
}

static int init(struct virtio_fs *f, const struct virtio_fs_config *cfg)
{
	unsigned int n = cfg->n_queues ? cfg->n_queues : 1;
	pthread_condattr_t attr;

	f->cfg = *cfg;
	f->cfg.tag = NULL;
	f->ops = fs_ops;
	f->ops.n_queues = 1 + n;
	memcpy(f->space.tag, cfg->tag, strlen(cfg->tag));
	f->space.n_queues = le32_put(n);
	f->n_workers = 1 + (cfg->n_workers ? cfg->n_workers
					   : VIRTIO_FS_WORKERS_DEFAULT);
	f->worker = calloc(f->n_workers, sizeof(*f->worker));
	if (!f->worker)
		return -ENOMEM;
	for (unsigned int i = 0; i < f->n_workers; i++) {
		f->worker[i].f = f;
		f->worker[i].first = i == 0 ? HIPRIO : 1 + (i - 1) % n;
	}
	/* None of them fails with such attributes. */
	bug_on(pthread_condattr_init(&attr) != 0);
	bug_on(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0);
	bug_on(pthread_cond_init(&f->work, NULL) != 0);
	bug_on(pthread_cond_init(&f->urgent, &attr) != 0);
	(void)pthread_condattr_destroy(&attr);
	bug_on(pthread_cond_init(&f->calm, NULL) != 0);
	return virtio_dev_init(&f->vd, &f->ops);
}

int virtio_fs_new(const struct virtio_fs_config *cfg, struct virtio_fs **ret,
		  struct err *e)
{
	struct virtio_fs *f;
	int r = check(cfg, e);

	if (r < 0)
		return r;
	f = calloc(1, sizeof(*f));
	r = f ? init(f, cfg) : -ENOMEM;
	if (r < 0) {
		if (f)
			free(f->worker);
		free(f);
		return err_set(e, r, "fs '%s': %s", cfg->tag, strerror(-r));
	}
	*ret = f;
	return 0;
}

/* No signal is for them. */
static int make_threads(struct virtio_fs *f, const pthread_attr_t *attr)
{
	sigset_t all, old;
	int r = 0;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	while (r == 0 && f->n_made < f->n_workers) {
		struct worker *w = &f->worker[f->n_made];

		r = -pthread_create(&w->id, attr, thread_main, w);
		if (r == 0)
			f->n_made++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

int virtio_fs_start(struct virtio_fs *f, struct err *e)
{
	pthread_attr_t attr;
	int r;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_LEN);
	r = make_threads(f, &attr);
	(void)pthread_attr_destroy(&attr);
	if (r < 0)
		return err_set(e, r, "fs: thread %u: %s", f->n_made,
			       strerror(-r));
	lock(f);
	while (f->n_started < f->n_made)
		(void)pthread_cond_wait(&f->calm, &f->vd.lock);
	r = f->jail_error;
	if (r < 0 && e)
		*e = f->jail_text;
	unlock(f);
	return r;
}

void virtio_fs_stop(struct virtio_fs *f)
{
	if (!f)
		return;
	lock(f);
	f->quit = true;
	(void)pthread_cond_broadcast(&f->work);
	(void)pthread_cond_broadcast(&f->urgent);
	unlock(f);
	for (unsigned int i = 0; i < f->n_made; i++)
		(void)pthread_join(f->worker[i].id, NULL);
	f->n_made = 0;
}

void virtio_fs_free(struct virtio_fs *f)
{
	if (!f)
		return;
	bug_on(f->n_made > 0);
	(void)pthread_cond_destroy(&f->work);
	(void)pthread_cond_destroy(&f->urgent);
	(void)pthread_cond_destroy(&f->calm);
	virtio_dev_done(&f->vd);
	free(f->worker);
	free(f);
}

void virtio_fs_pause(struct virtio_fs *f)
{
	lock(f);
	f->paused = true;
	unlock(f);
}

bool virtio_fs_is_paused(struct virtio_fs *f)
{
	bool paused;

	lock(f);
	paused = f->paused && is_still(f);
	unlock(f);
	return paused;
}

void virtio_fs_resume(struct virtio_fs *f)
{
	lock(f);
	f->paused = false;
	(void)pthread_cond_broadcast(&f->work);
	(void)pthread_cond_broadcast(&f->urgent);
	unlock(f);
}

struct virtio_dev *virtio_fs_dev(struct virtio_fs *f)
{
	return &f->vd;
}

void virtio_fs_stats(struct virtio_fs *f, struct virtio_fs_stats *ret)
{
	lock(f);
	*ret = (struct virtio_fs_stats){ .served = f->served,
					 .n_busy = n_busy(f) };
	unlock(f);
}
