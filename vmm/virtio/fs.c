/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/fs.c - see fs.h; how it works is told in fs_dev.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vmm/virtio/fs_dev.h"

/* Linux caps a request at the queue's size less four, in pages. */
#define QUEUE_MAX 1024u
#define SHM_CACHE 0u /* virtio 1.2, 5.11.6.2 */

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

static int fs_process(struct virtio_dev *vd, unsigned int qi)
{
	const struct virtio_fs *f = fs_of(vd);

	bell_ring(qi == FS_HIPRIO ? &f->urgent : &f->work);
	return 0;
}

static void fs_reset(struct virtio_dev *vd)
{
	struct virtio_fs *f = fs_of(vd);

	f->renew = true;
	bell_ring(&f->urgent);
}

static void fs_quiesce(struct virtio_dev *vd, int qi)
{
	struct virtio_fs *f = fs_of(vd);

	fs_work_forget(f, qi);
	if (qi >= 0) {
		while (f->busy[qi] > 0)
			(void)pthread_cond_wait(&f->calm, &vd->lock);
		return;
	}
	while (fs_work_busy(f) > 0) {
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

static int fs_notify_fd(struct virtio_dev *vd, unsigned int qi)
{
	const struct virtio_fs *f = fs_of(vd);

	return qi == FS_HIPRIO ? f->urgent.fd : f->work.fd;
}

static const struct virtio_ops fs_ops = {
	.name = "fs",
	.id = VIRTIO_ID_FS,
	.queue_max = QUEUE_MAX,
	.process = fs_process,
	.reset = fs_reset,
	.quiesce = fs_quiesce,
	.notify_fd = fs_notify_fd,
	.config_len = sizeof(struct virtio_fs_space),
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
	    cfg->n_workers > VIRTIO_FS_WORKERS_MAX ||
	    cfg->n_parked > VIRTIO_FS_PARKED_MAX)
		return err_set(e, -ERANGE,
			       "fs '%s': %u queues, %u workers and %u put "
			       "aside, of at most %u, %u and %u",
			       cfg->tag, cfg->n_queues, cfg->n_workers,
			       cfg->n_parked, VIRTIO_FS_QUEUES_MAX,
			       VIRTIO_FS_WORKERS_MAX, VIRTIO_FS_PARKED_MAX);
	return 0;
}

static int init(struct virtio_fs *f, const struct virtio_fs_config *cfg)
{
	unsigned int n = cfg->n_queues ? cfg->n_queues : 1;
	int r;

	f->work = (struct bell){ -1, -1 };
	f->urgent = (struct bell){ -1, -1 };
	f->cfg = *cfg;
	f->cfg.tag = NULL;
	if (!f->cfg.n_parked)
		f->cfg.n_parked = VIRTIO_FS_PARKED_MAX;
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
		f->worker[i].first = i == 0 ? FS_HIPRIO : 1 + (i - 1) % n;
	}
	r = bell_open(&f->work);
	if (r == 0)
		r = bell_open(&f->urgent);
	if (r < 0)
		return r;
	/* Does not fail without attributes. */
	bug_on(pthread_cond_init(&f->calm, NULL) != 0);
	f->crew = (struct crew){
		.what = "fs", .vd = &f->vd, .calm = &f->calm, .jail = cfg->jail
	};
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
		if (f) {
			bell_close(&f->work);
			bell_close(&f->urgent);
			free(f->worker);
		}
		free(f);
		return err_set(e, r, "fs '%s': %s", cfg->tag, strerror(-r));
	}
	*ret = f;
	return 0;
}

int virtio_fs_start(struct virtio_fs *f, struct err *e)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < f->n_workers; i++)
		r = crew_add(&f->crew, &f->worker[i].id, fs_work_main,
			     &f->worker[i], e);
	return r < 0 ? r : crew_wait(&f->crew, e);
}

void virtio_fs_stop(struct virtio_fs *f)
{
	if (!f)
		return;
	lock(f);
	f->quit = true;
	bell_ring(&f->work);
	bell_ring(&f->urgent);
	unlock(f);
	for (unsigned int i = 0; i < f->crew.n_made; i++)
		(void)pthread_join(f->worker[i].id, NULL);
	f->crew.n_made = 0;
}

void virtio_fs_free(struct virtio_fs *f)
{
	if (!f)
		return;
	bug_on(f->crew.n_made > 0);
	bell_close(&f->work);
	bell_close(&f->urgent);
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
	paused = f->paused && fs_work_is_still(f);
	unlock(f);
	return paused;
}

void virtio_fs_resume(struct virtio_fs *f)
{
	lock(f);
	f->paused = false;
	bell_ring(&f->work);
	bell_ring(&f->urgent);
	unlock(f);
}

void virtio_fs_again(struct virtio_fs *f)
{
	lock(f);
	fs_work_again(f);
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
					 .n_busy = fs_work_busy(f),
					 .n_parked = f->n_parked };
	unlock(f);
}
