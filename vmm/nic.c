/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/nic.c - see nic.h */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "vmm/config.h"
#include "vmm/devices.h"
#include "vmm/jail/jail.h"
#include "vmm/nic.h"
#include "vmm/vm.h"

/* The loop thread looks again whether all have stopped. */
static void still(void *ctx)
{
	struct vm *vm = ctx;

	run_look(&vm->run);
}

static void lost(void *ctx, int why)
{
	const struct vm *vm = ctx;

	log_warn(vm->log, "the network's link is gone: %s",
		 why == -EPIPE ? "its other end was closed" : strerror(-why));
}

static int jail_thread(struct err *e)
{
	return jail_enter(JAIL_NET, e);
}

static int make_device(struct vm *vm, struct net_link *l, struct err *e)
{
	const struct net_opt *o = &vm->cfg->net;
	unsigned int mtu = o->mtu ? o->mtu : l->mtu ? l->mtu : NET_OPT_MTU;
	struct virtio_net_config cfg = { .link = l,
					 .mtu = MIN(mtu, VIRTIO_NET_MTU_MAX),
					 .rate = o->rate,
					 .still = still,
					 .lost = lost,
					 .jail = jail_thread,
					 .ctx = vm };
	int r;

	l->mem = &vm->mem;
	memcpy(cfg.mac, o->mac, sizeof(cfg.mac));
	r = virtio_net_new(&cfg, &vm->nic.dev, e);
	if (r < 0)
		net_link_free(l);
	return r;
}

unsigned int nic_fds(const struct vm *vm)
{
	const struct net_opt *o = &vm->cfg->net;
	unsigned int pairs = o->kind == NET_TAP ? o->queues.n : 1;

	/* Of each pair two notifications and a link; the control queue's. */
	return o->kind == NET_NONE ? 0 : 3 * pairs + 2;
}

int nic_init(struct vm *vm, struct err *e)
{
	struct net_link *l;
	int r;

	if (vm->cfg->net.kind == NET_NONE)
		return 0;
	r = net_opt_link(&vm->cfg->net, &l);
	if (r < 0)
		return err_set(e, r, "--net: %s", strerror(-r));
	r = make_device(vm, l, e);
	return r == 0 ? devices_add_virtio(vm, &vm->nic.mmio,
					   virtio_net_dev(vm->nic.dev),
					   VM_PIN_SHARE + vm->cfg->n_shares, e)
		      : r;
}

int nic_start(struct vm *vm, struct err *e)
{
	return vm->nic.dev ? virtio_net_start(vm->nic.dev, e) : 0;
}

void nic_done(struct vm *vm)
{
	virtio_net_stop(vm->nic.dev);
	if (vm->nic.mmio.vd)
		virtio_mmio_done(&vm->nic.mmio);
	virtio_net_free(vm->nic.dev);
	vm->nic.dev = NULL;
}

void nic_pause(struct vm *vm)
{
	if (vm->nic.dev)
		virtio_net_pause(vm->nic.dev);
}

bool nic_is_paused(struct vm *vm)
{
	return !vm->nic.dev || virtio_net_is_paused(vm->nic.dev);
}

void nic_resume(struct vm *vm)
{
	if (vm->nic.dev)
		virtio_net_resume(vm->nic.dev);
}

void nic_stats(struct vm *vm, struct virtio_net_stats *ret,
	       unsigned int *ret_broken)
{
	struct virtio_dev *vd;

	*ret = (struct virtio_net_stats){ 0 };
	*ret_broken = 0;
	if (!vm->nic.dev)
		return;
	virtio_net_stats(vm->nic.dev, ret);
	vd = virtio_net_dev(vm->nic.dev);
	(void)pthread_mutex_lock(&vd->lock);
	*ret_broken = vd->n_broken;
	(void)pthread_mutex_unlock(&vd->lock);
}
