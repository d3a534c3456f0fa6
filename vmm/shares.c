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
#include "vmm/share_window.h"
#include "vmm/shares.h"
#include "vmm/vm.h"

/* The monitor's own: vCPUs, control clients, eventfds; see vsock.c too. */
#define FDS_SPARE 160u

/* More than that no share gets, however generous the host is. */
#define FDS_SHARE_MAX 65536u

/* A worker's while it serves: fs/server.h. */
#define FDS_WORKER  4u
#define FDS_WORKERS ((VIRTIO_FS_WORKERS_DEFAULT + 1) * FDS_WORKER)

/* What they wait for: virtio/bell.h, two of them. */
#define FDS_BELLS 4u

#define FDS_OWN (FDS_WORKERS + FDS_BELLS)

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
	const rlim_t spare = FDS_SPARE + nic_fds(vm);
	struct rlimit rl;
	rlim_t n;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur <= spare)
		return 0;
	n = (rl.rlim_cur - spare) / 4 * 3 / vm->cfg->n_shares;
	return (unsigned int)MIN(n, FDS_SHARE_MAX + FDS_OWN);
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
	struct share *s = ctx;

	return fs_serve(s->server, in, n_in, out, n_out);
}

static size_t refuse(void *ctx, const struct iovec *in, unsigned int n_in,
		     const struct iovec *out, unsigned int n_out)
{
	struct share *s = ctx;

	return fs_refuse(s->server, in, n_in, out, n_out, -ENOLCK);
}

/* The server outlives the device. */
static void freed(void *ctx)
{
	struct share *s = ctx;

	if (s->dev)
		virtio_fs_again(s->dev);
}

_Static_assert(VIRTIO_FS_LATER == FS_SERVE_LATER, "one word for both");

static void renew(void *ctx)
{
	struct share *s = ctx;

	fs_server_reset(s->server);
}

static bool tend(void *ctx)
{
	struct share *s = ctx;

	return window_tend(&s->window);
}

/* The loop thread looks again whether all have stopped. */
static void still(void *ctx)
{
	struct share *s = ctx;

	run_look(&s->vm->run);
}

static int jail_worker(struct err *e)
{
	return jail_enter(JAIL_FS, e);
}

_Static_assert(SHARES_MAX <= GMEM_WINDOWS_MAX, "a window for each share");

/* Above RAM, one behind the other. */
static int make_window(struct vm *vm, struct share *s,
		       const struct share_opt *o, uint64_t *ret_gpa,
		       struct err *e)
{
	int r = arch_place_window(vm->arch, &vm->mem, o->window, ret_gpa, e);

	if (r == 0)
		r = window_init(&s->window, o->window, e);
	if (r == 0)
		r = gmem_add_window(&vm->mem, *ret_gpa, s->window.hva,
				    s->window.len, o->tag, e);
	if (r == 0)
		r = kvm_add_slot(&vm->kvm, *ret_gpa, s->window.hva,
				 s->window.len, e);
	return r < 0 ? err_wrap(e, r, "--fs: tag=%s", o->tag) : 0;
}

/* Each slot may be one. */
static unsigned int fds_window(uint64_t len)
{
	return (unsigned int)(len / WINDOW_SLOT);
}

static int make_server(struct vm *vm, struct share *s, struct share_opt *o,
		       struct err *e)
{
	unsigned int fds = fds_each(vm);
	unsigned int slots = fds_window(s->window.len);
	unsigned int need = FS_FDS_MIN + FDS_OWN + slots;
	struct fs_opts opts = { .ro = o->ro,
				.cache = o->cache,
				.owner = o->owner,
				.uid = o->uid,
				.gid = o->gid,
				.upper = o->upper,
				.lower = o->lower,
				.quota_bytes = o->quota_bytes,
				.quota_inodes = o->quota_inodes,
				.guest_mem = vm->cfg->memory,
				.dax = o->dax,
				.locks = o->locks,
				.freed = freed,
				.freed_ctx = s };
	int r;

	if (fds < need)
		return err_set(e, -EMFILE,
			       "--fs: tag=%s: the limit of open files leaves "
			       "%u for each of %u folders, and this one needs "
			       "%u: raise it, ulimit -n",
			       o->tag, fds, vm->cfg->n_shares, need);
	share_window_give(&opts, &s->window, &vm->mem);
	opts.fds_max = fds - FDS_OWN - slots;
	opts.root_fd = take_fd(&o->fd);
	r = fs_server_new(&opts, &s->server, e);
	return r < 0 ? err_wrap(e, r, "--fs: tag=%s", o->tag) : 0;
}

static int make_device(struct share *s, const struct share_opt *o,
		       uint64_t dax_base, struct err *e)
{
	/* Where no file changes its length nobody has to look at them. */
	const bool tends = o->dax && !share_opt_is_still(o);
	const struct virtio_fs_config cfg = { .tag = o->tag,
					      .n_queues = o->queues,
					      .serve = serve,
					      .refuse = refuse,
					      .renew = renew,
					      .tend = tends ? tend : NULL,
					      .still = still,
					      .jail = jail_worker,
					      .ctx = s,
					      .dax_base = dax_base,
					      .dax_len = s->window.len };

	return virtio_fs_new(&cfg, &s->dev, e);
}

static int make_share(struct vm *vm, unsigned int i, struct err *e)
{
	struct share_opt *o = &vm->cfg->share[i];
	struct share *s = &vm->share[i];
	uint64_t gpa = 0;
	int r;

	s->vm = vm;
	/* What nobody asked for is no reason not to start. */
	if (o->dax_auto &&
	    fds_each(vm) < FS_FDS_MIN + FDS_OWN + fds_window(o->window))
		share_opt_no_window(o);
	r = o->dax ? make_window(vm, s, o, &gpa, e) : 0;

	if (r == 0)
		r = make_server(vm, s, o, e);
	if (r == 0)
		r = make_device(s, o, gpa, e);
	if (r == 0)
		r = devices_add_virtio(vm, &s->mmio, virtio_fs_dev(s->dev),
				       VM_PIN_SHARE + i, e);
	/* Each request is answered by an interrupt. */
	return r == 0 ? devices_show_virtio(vm, &s->mmio, VM_PIN_SHARE + i, e)
		      : r;
}

int shares_init(struct vm *vm, struct err *e)
{
	int r = 0;

	if (vm->cfg->n_shares)
		raise_limit();
	for (unsigned int i = 0; r == 0 && i < vm->cfg->n_shares; i++)
		r = make_share(vm, i, e);
	return r;
}

void shares_pause(struct vm *vm)
{
	for (unsigned int i = 0; i < vm->cfg->n_shares; i++)
		virtio_fs_pause(vm->share[i].dev);
}

bool shares_are_paused(struct vm *vm)
{
	for (unsigned int i = 0; i < vm->cfg->n_shares; i++)
		if (!virtio_fs_is_paused(vm->share[i].dev))
			return false;
	return true;
}

void shares_resume(struct vm *vm)
{
	for (unsigned int i = 0; i < vm->cfg->n_shares; i++)
		virtio_fs_resume(vm->share[i].dev);
}

unsigned int shares_mend(void *ctx)
{
	struct vm *vm = ctx;
	unsigned int n = 0;

	for (unsigned int i = 0; i < vm->cfg->n_shares; i++)
		if (vm->share[i].window.len)
			n += window_mend(&vm->share[i].window);
	return n;
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
		s->dev = NULL;
		fs_server_free(s->server);
		window_done(&s->window);
	}
}

void shares_stats(struct vm *vm, struct shares_stats *ret)
{
	*ret = (struct shares_stats){ 0 };
	for (unsigned int i = 0; i < vm->cfg->n_shares; i++) {
		struct virtio_dev *vd = virtio_fs_dev(vm->share[i].dev);
		struct virtio_fs_stats s;
		struct window_stats w;

		virtio_fs_stats(vm->share[i].dev, &s);
		ret->served += s.served;
		ret->n_busy += s.n_busy;
		if (vm->share[i].window.len) {
			window_stats(&vm->share[i].window, &w);
			ret->n_mapped += w.n_mapped;
			ret->mends += w.mends;
		}
		(void)pthread_mutex_lock(&vd->lock);
		ret->n_broken += vd->n_broken;
		(void)pthread_mutex_unlock(&vd->lock);
	}
}
