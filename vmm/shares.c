/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/shares.c - see shares.h */
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "vmm/config.h"
#include "vmm/devices.h"
#include "vmm/jail/jail.h"
#include "vmm/shares.h"
#include "vmm/vm.h"

/* The monitor's own: vCPUs, control clients, eventfds; see vsock.c too. */
#define FDS_SPARE 160u

/* More than that no share gets, however generous the host is. */
#define FDS_SHARE_MAX 65536u

/* A worker's while it serves: fs/server.h. */
#define FDS_WORKER  4u
#define FDS_WORKERS ((VIRTIO_FS_WORKERS_DEFAULT + 1) * FDS_WORKER)

/* Heaps of malloc(), for the threads of all shares together. */
#define ARENAS 4

static void raise_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return;
	rl.rlim_cur = rl.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
}

/* Of each share, workers and all; sockets keep at least a quarter. */
static unsigned int fds_each(const struct vm *vm)
{
	struct rlimit rl;
	rlim_t n;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur <= FDS_SPARE)
		return 0;
	n = (rl.rlim_cur - FDS_SPARE) / 4 * 3 / vm->cfg->n_shares;
	return (unsigned int)MIN(n, FDS_SHARE_MAX + FDS_WORKERS);
}

unsigned int shares_fds(struct vm *vm)
{
	if (vm->cfg->n_shares == 0)
		return 0;
	raise_limit();
	return fds_each(vm) * vm->cfg->n_shares;
}

static size_t serve(void *ctx, const struct iovec *in, unsigned int n_in,
		    const struct iovec *out, unsigned int n_out)
{
	return fs_serve(ctx, in, n_in, out, n_out);
}

static void renew(void *ctx)
{
	fs_server_reset(ctx);
}

static int jail_worker(struct err *e)
{
	return jail_enter(JAIL_FS, e);
}

static int make_server(struct vm *vm, struct share *s, struct share_opt *o,
		       struct err *e)
{
	unsigned int fds = fds_each(vm);
	struct fs_opts opts = { .ro = o->ro,
				.cache = o->cache,
				.owner = o->owner,
				.uid = o->uid,
				.gid = o->gid,
				.upper = o->upper,
				.quota_bytes = o->quota_bytes,
				.quota_inodes = o->quota_inodes };
	int r;

	if (fds < FS_FDS_MIN + FDS_WORKERS)
		return err_set(e, -EMFILE,
			       "--fs: the limit of open files leaves %u for "
			       "each of %u folders, which need %u: raise it, "
			       "ulimit -n",
			       fds, vm->cfg->n_shares,
			       FS_FDS_MIN + FDS_WORKERS);
	opts.fds_max = fds - FDS_WORKERS;
	opts.root_fd = take_fd(&o->fd);
	r = fs_server_new(&opts, &s->server, e);
	return r < 0 ? err_wrap(e, r, "--fs: tag=%s", o->tag) : 0;
}

static int make_device(struct share *s, const struct share_opt *o,
		       struct err *e)
{
	const struct virtio_fs_config cfg = { .tag = o->tag,
					      .n_queues = o->queues,
					      .serve = serve,
					      .renew = renew,
					      .jail = jail_worker,
					      .ctx = s->server };

	return virtio_fs_new(&cfg, &s->dev, e);
}

int shares_init(struct vm *vm, struct err *e)
{
	int r = 0;

	if (vm->cfg->n_shares)
		raise_limit();
	for (unsigned int i = 0; r == 0 && i < vm->cfg->n_shares; i++) {
		struct share *s = &vm->share[i];

		r = make_server(vm, s, &vm->cfg->share[i], e);
		if (r == 0)
			r = make_device(s, &vm->cfg->share[i], e);
		if (r == 0)
			r = devices_add_virtio(vm, &s->mmio,
					       virtio_fs_dev(s->dev),
					       VM_PIN_SHARE + i, e);
	}
	return r;
}

int shares_start(struct vm *vm, struct err *e)
{
	int r = 0;

	if (vm->cfg->n_shares == 0)
		return 0;
	/* What a guest creates has the mode it asks for. */
	(void)umask(0);
	/* When there are many, libc would open a file to count the CPUs. */
	(void)mallopt(M_ARENA_MAX, ARENAS);
	for (unsigned int i = 0; r == 0 && i < vm->cfg->n_shares; i++)
		r = virtio_fs_start(vm->share[i].dev, e);
	return r;
}

void shares_settle(struct vm *vm)
{
	for (unsigned int i = 0; i < vm->cfg->n_shares; i++)
		fs_server_settle(vm->share[i].server);
}

void shares_done(struct vm *vm)
{
	for (unsigned int i = 0; i < SHARES_MAX; i++) {
		struct share *s = &vm->share[i];

		virtio_fs_stop(s->dev);
		if (s->mmio.vd)
			virtio_mmio_done(&s->mmio);
		virtio_fs_free(s->dev);
		fs_server_free(s->server);
	}
}

void shares_stats(struct vm *vm, struct shares_stats *ret)
{
	*ret = (struct shares_stats){ 0 };
	for (unsigned int i = 0; i < vm->cfg->n_shares; i++) {
		struct virtio_dev *vd = virtio_fs_dev(vm->share[i].dev);
		struct virtio_fs_stats s;

		virtio_fs_stats(vm->share[i].dev, &s);
		ret->served += s.served;
		ret->n_busy += s.n_busy;
		(void)pthread_mutex_lock(&vd->lock);
		ret->n_broken += vd->n_broken;
		(void)pthread_mutex_unlock(&vd->lock);
	}
}
