/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_fs.c - see fake_fs.h */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fake_fs.h"

#define TEXT_MAX 64u

/* Of request @i of queue @qi: the request, behind it the answer. */
static uint64_t place(unsigned int qi, unsigned int i)
{
	return FG_DATA + (qi * FF_QUEUE + i) * 256ull;
}

static size_t gather(const struct iovec *v, unsigned int n, char *text)
{
	size_t skip = FF_HEADER, len = 0;

	for (unsigned int i = 0; i < n; i++) {
		size_t here = v[i].iov_len;
		const char *p = v[i].iov_base;

		if (skip >= here) {
			skip -= here;
			continue;
		}
		here = MIN(here - skip, TEXT_MAX - len);
		memcpy(text + len, p + skip, here);
		skip = 0;
		len += here;
	}
	return len;
}

static char capital(char c)
{
	return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

static size_t scatter(const struct iovec *v, unsigned int n, const char *text,
		      size_t len)
{
	size_t done = 0, at = 0;
	unsigned int i = 0;

	while (i < n && done < len) {
		if (at == v[i].iov_len) {
			at = 0;
			i++;
			continue;
		}
		((char *)v[i].iov_base)[at++] = capital(text[done++]);
	}
	return done;
}

static void hold(struct fake_fs *t)
{
	t->n_held++;
	(void)pthread_cond_broadcast(&t->changed);
	while (t->n_free == 0)
		(void)pthread_cond_wait(&t->changed, &t->lock);
	t->n_free--;
	t->n_held--;
}

/* The guest offers the first request of that queue again, until tended. */
static void flood(struct fake_fs *t)
{
	if (t->n_tended == 0)
		fake_guest_offer(&t->g, 0, 0);
}

static size_t serve(void *ctx, const struct iovec *in, unsigned int n_in,
		    const struct iovec *out, unsigned int n_out)
{
	struct fake_fs *t = ctx;
	char text[TEXT_MAX];
	size_t len = gather(in, n_in, text), done = 0;
	bool later;

	(void)pthread_mutex_lock(&t->lock);
	t->n_now++;
	t->n_most = MAX(t->n_most, t->n_now);
	if (len && text[0] == 'h')
		hold(t);
	later = len && text[0] == 'l' && t->n_open == 0;
	t->n_later += later;
	t->n_open -= len && text[0] == 'l' && !later;
	if (len && text[0] == '+')
		flood(t);
	(void)pthread_mutex_unlock(&t->lock);
	if (!later && (!len || text[0] != '-'))
		done = scatter(out, n_out, text, len);
	(void)pthread_mutex_lock(&t->lock);
	t->n_now--;
	t->n_served += !later;
	(void)pthread_cond_broadcast(&t->changed);
	(void)pthread_mutex_unlock(&t->lock);
	return later ? VIRTIO_FS_LATER : done;
}

static size_t refuse(void *ctx, const struct iovec *in, unsigned int n_in,
		     const struct iovec *out, unsigned int n_out)
{
	(void)ctx;
	(void)in;
	(void)n_in;
	return scatter(out, n_out, "no", 2);
}

void fake_fs_open(struct fake_fs *t, unsigned int n, bool tell)
{
	(void)pthread_mutex_lock(&t->lock);
	t->n_open += n;
	(void)pthread_mutex_unlock(&t->lock);
	if (tell)
		virtio_fs_again(t->f);
}

static void renew(void *ctx)
{
	struct fake_fs *t = ctx;

	(void)pthread_mutex_lock(&t->lock);
	t->busy_renewed |= t->n_now > 0;
	t->n_renewed++;
	(void)pthread_cond_broadcast(&t->changed);
	if (t->hold_renew)
		hold(t);
	(void)pthread_mutex_unlock(&t->lock);
}

static void *run_loop(void *arg)
{
	struct fake_fs *t = arg;

	while (!atomic_load(&t->over))
		bug_on(loop_step(&t->loop, -1) < 0);
	return NULL;
}

static bool tend(void *ctx)
{
	struct fake_fs *t = ctx;
	bool more;

	(void)pthread_mutex_lock(&t->lock);
	more = ++t->n_tended < t->tend_until;
	(void)pthread_cond_broadcast(&t->changed);
	(void)pthread_mutex_unlock(&t->lock);
	return more;
}

static void still(void *ctx)
{
	struct fake_fs *t = ctx;

	(void)pthread_mutex_lock(&t->lock);
	t->n_still++;
	(void)pthread_cond_broadcast(&t->changed);
	(void)pthread_mutex_unlock(&t->lock);
}

struct fake_fs *fake_fs_new(unsigned int n_queues, unsigned int n_workers)
{
	struct fake_fs *t = calloc(1, sizeof(*t));
	const struct virtio_fs_config cfg = {
		.tag = FF_TAG,
		.n_queues = n_queues,
		.n_workers = n_workers,
		.serve = serve,
		.refuse = refuse,
		.n_parked = 3,
		.renew = renew,
		.tend = tend,
		.still = still,
		.ctx = t,
		.dax_base = 0x148000000,
		.dax_len = 64 << 20,
	};
	struct err e;

	bug_on(!t);
	fake_guest_init(&t->g, FG_LEN, FF_QUEUE);
	bug_on(pthread_mutex_init(&t->lock, NULL) != 0);
	bug_on(pthread_cond_init(&t->changed, NULL) != 0);
	bug_on(loop_init(&t->loop, &e) != 0);
	bug_on(irq_init(&t->irq, &e) != 0);
	bug_on(virtio_fs_new(&cfg, &t->f, &e) != 0);
	bug_on(virtio_mmio_init(&t->m, virtio_fs_dev(t->f), &t->g.mem, &t->irq,
				&e) != 0);
	bug_on(virtio_mmio_start(&t->m, &t->loop, &e) != 0);
	t->g.mmio = &t->m;
	bug_on(virtio_fs_start(t->f, &e) != 0);
	bug_on(pthread_create(&t->loop_thread, NULL, run_loop, t) != 0);
	return t;
}

void fake_fs_end_loop(struct fake_fs *t)
{
	if (atomic_exchange(&t->over, true))
		return;
	virtio_dev_kick(virtio_fs_dev(t->f), 0);
	bug_on(pthread_join(t->loop_thread, NULL) != 0);
}

void fake_fs_free(struct fake_fs *t)
{
	fake_fs_end_loop(t);
	virtio_fs_stop(t->f);
	virtio_mmio_done(&t->m);
	virtio_fs_free(t->f);
	irq_done(&t->irq);
	loop_done(&t->loop);
	fake_guest_done(&t->g);
	(void)pthread_cond_destroy(&t->changed);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

void fake_fs_boot(struct fake_fs *t, bool event_idx)
{
	t->event_idx = event_idx;
	fake_guest_boot(&t->g, VIRTIO_F_VERSION_1 |
				       (event_idx ? VIRTIO_F_EVENT_IDX : 0));
}

/* As KVM does it, and by a register, in turns: both have to do. */
static void ring(struct fake_fs *t, unsigned int qi, bool by_register)
{
	static const uint64_t one = 1;
	int fd = virtio_mmio_notify_fd(&t->m, qi);

	if (by_register)
		fake_guest_set(&t->g, VIRTIO_MMIO_NOTIFY, qi);
	else
		bug_on(write(fd, &one, sizeof(one)) != sizeof(one));
}

/* 2.7.10 and 2.7.7.1: the index is stored, then the device's wish is read. */
static void notify(struct fake_fs *t, unsigned int qi, uint16_t idx)
{
	uint16_t v;

	atomic_thread_fence(memory_order_seq_cst);
	bug_on(gmem_load_le16(
		&t->g.mem,
		FG_USED(qi) + (t->event_idx ? 4 + 8ull * FF_QUEUE : 0), &v));
	if (t->event_idx ? (uint16_t)(idx - v - 1) < 1
			 : !(v & VIRTQ_USED_F_NO_NOTIFY))
		ring(t, qi, idx % 2);
}

/* The header and the text apart, as Linux has them. */
void fake_fs_send(struct fake_fs *t, unsigned int qi, unsigned int i,
		  const char *text)
{
	uint64_t at = place(qi, i);
	uint16_t head = (uint16_t)(i * 3), idx;
	uint32_t len = (uint32_t)strlen(text);
	struct virtq_desc d[3] = {
		{ .addr = le64_put(at),
		  .len = le32_put(FF_HEADER),
		  .flags = le16_put(VIRTQ_DESC_F_NEXT),
		  .next = le16_put((uint16_t)(head + 1)) },
		{ .addr = le64_put(at + FF_HEADER),
		  .len = le32_put(len),
		  .flags = le16_put(VIRTQ_DESC_F_NEXT),
		  .next = le16_put((uint16_t)(head + 2)) },
		{ .addr = le64_put(at + 128),
		  .len = le32_put(FF_OUT),
		  .flags = le16_put(VIRTQ_DESC_F_WRITE) },
	};

	memcpy(fake_guest_at(&t->g, at + FF_HEADER, len), text, len);
	memset(fake_guest_at(&t->g, at + 128, FF_OUT + 1), 0, FF_OUT + 1);
	for (unsigned int k = 0; k < ARRAY_LEN(d); k++)
		fake_guest_table(&t->g, FG_DESC(qi), head + k, &d[k]);
	/* From there on it is the worker's that floods. */
	idx = (uint16_t)(t->g.q[qi].avail_idx + 1);
	fake_guest_offer(&t->g, qi, head);
	notify(t, qi, idx);
}

unsigned int fake_fs_take(struct fake_fs *t, unsigned int qi, uint32_t *len)
{
	uint32_t id;

	while (!fake_guest_used(&t->g, qi, &id, len))
		(void)sched_yield();
	return id / 3;
}

const char *fake_fs_answer(struct fake_fs *t, unsigned int qi, unsigned int i)
{
	return (const char *)fake_guest_at(&t->g, place(qi, i) + 128,
					   FF_OUT + 1);
}

void fake_fs_await(struct fake_fs *t, const unsigned int *what, unsigned int n)
{
	(void)pthread_mutex_lock(&t->lock);
	while (*what != n)
		(void)pthread_cond_wait(&t->changed, &t->lock);
	(void)pthread_mutex_unlock(&t->lock);
}

void fake_fs_let_go(struct fake_fs *t, unsigned int n)
{
	(void)pthread_mutex_lock(&t->lock);
	t->n_free += n;
	(void)pthread_cond_broadcast(&t->changed);
	(void)pthread_mutex_unlock(&t->lock);
}
