/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/net.c - see net.h
 *
 * The device to its transport and to the VM; what it does is in net_pair.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "vmm/virtio/net_dev.h"

#define FEATURES                                                             \
	(VIRTIO_NET_F_MTU | VIRTIO_NET_F_MAC | VIRTIO_NET_F_MRG_RXBUF |      \
	 VIRTIO_NET_F_STATUS | VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_RX | \
	 VIRTIO_NET_F_CTRL_RX_EXTRA | VIRTIO_NET_F_GUEST_ANNOUNCE |          \
	 VIRTIO_NET_F_CTRL_MAC_ADDR)

static struct virtio_net *net_of(struct virtio_dev *vd)
{
	return container_of(vd, struct virtio_net, vd);
}

/*
 * Whether anything touches buffers of queue @qi.  The other queue of its pair
 * does not matter: it may never come to rest.  The control queue always is.
 */
static bool is_busy(const struct virtio_net *n, unsigned int qi)
{
	return qi / 2 < n->n_pairs && n->pair[qi / 2].busy[qi % 2];
}

/* Its threads come by themselves. */
static int net_process(struct virtio_dev *vd, unsigned int qi)
{
	(void)vd;
	(void)qi;
	return 0;
}

/* What the last driver wrote is not for the next to read. */
static void renew_space(struct virtio_net *n)
{
	n->space.status = le16_put(n->up ? NET_S_LINK_UP : 0);
	memcpy(n->space.mac, n->cfg.mac, sizeof(n->space.mac));
}

static void net_reset(struct virtio_dev *vd)
{
	struct virtio_net *n = net_of(vd);

	n->set_up = false;
	n->n_active = 1;
	renew_space(n);
	for (unsigned int i = 0; i < n->n_pairs; i++)
		if (!n->pair[i].busy[NET_RX])
			net_rx_drop(&n->pair[i]);
}

static void drop(struct virtio_net *n, int qi)
{
	for (unsigned int i = 0; i < n->n_pairs; i++)
		if (qi < 0 || qi == (int)net_rx_queue(&n->pair[i]))
			net_rx_drop(&n->pair[i]);
}

static void net_quiesce(struct virtio_dev *vd, int qi)
{
	struct virtio_net *n = net_of(vd);

	while (qi < 0 ? !net_is_still(n) : is_busy(n, (unsigned int)qi)) {
		(void)pthread_cond_wait(&n->calm, &vd->lock);
		/* Another vCPU may have begun anew meanwhile. */
		if (qi < 0)
			vd->running = false;
	}
	drop(n, qi);
	/* The rest of a reset may come only after the driver has read it. */
	if (qi < 0)
		renew_space(n);
}

static void net_config(struct virtio_dev *vd, size_t off, uint8_t *dst,
		       size_t len)
{
	memcpy(dst, (const uint8_t *)&net_of(vd)->space + off, len);
}

static const struct virtio_ops net_ops = {
	.name = "net",
	.id = VIRTIO_ID_NET,
	.queue_max = NET_QUEUE_MAX,
	.features = FEATURES,
	.own_kicks = true,
	.process = net_process,
	.reset = net_reset,
	.quiesce = net_quiesce,
	.config_len = sizeof(struct net_config_space),
	.config = net_config,
};

static int check(const struct virtio_net_config *cfg, struct err *e)
{
	if (cfg->mtu < VIRTIO_NET_MTU_MIN || cfg->mtu > VIRTIO_NET_MTU_MAX)
		return err_set(e, -ERANGE, "net: an MTU is %u to %u, not %u",
			       VIRTIO_NET_MTU_MIN, VIRTIO_NET_MTU_MAX,
			       cfg->mtu);
	if (cfg->mac[0] & 1)
		return err_set(e, -EINVAL,
			       "net: the MAC address is one of many");
	return 0;
}

static void init_pairs(struct virtio_net *n)
{
	for (unsigned int i = 0; i < n->n_pairs; i++) {
		n->pair[i].n = n;
		n->pair[i].i = i;
		for (size_t k = 0; k < ARRAY_LEN(n->pair[i].fd); k++)
			n->pair[i].fd[k] = -1;
	}
}

static int init(struct virtio_net *n, const struct virtio_net_config *cfg)
{
	uint64_t now = loop_now_ns();

	n->cfg = *cfg;
	n->link = cfg->link;
	n->n_pairs = cfg->link->n_queues;
	n->pair = calloc(n->n_pairs, sizeof(*n->pair));
	if (!n->pair)
		return -ENOMEM;
	init_pairs(n);
	n->n_active = 1;
	n->up = true;
	n->ops = net_ops;
	n->ops.n_queues = 2 * n->n_pairs + 1;
	if (n->link->offloads)
		n->ops.features |= net_hdr_features(n->link->offloads) |
				   VIRTIO_NET_F_CTRL_GUEST_OFFLOADS;
	if (n->n_pairs > 1)
		n->ops.features |= VIRTIO_NET_F_MQ;
	memcpy(n->space.mac, cfg->mac, sizeof(n->space.mac));
	n->space.status = le16_put(NET_S_LINK_UP);
	n->space.max_pairs = le16_put((uint16_t)n->n_pairs);
	n->space.mtu = le16_put((uint16_t)cfg->mtu);
	net_limit_init(&n->tx_limit, &cfg->rate, now);
	net_limit_init(&n->rx_limit, &cfg->rate, now);
	/* Does not fail with such attributes. */
	bug_on(pthread_cond_init(&n->calm, NULL) != 0);
	n->crew = (struct crew){
		.what = "net", .vd = &n->vd, .calm = &n->calm, .jail = cfg->jail
	};
	return virtio_dev_init(&n->vd, &n->ops);
}

int virtio_net_new(const struct virtio_net_config *cfg, struct virtio_net **ret,
		   struct err *e)
{
	struct virtio_net *n;
	int r = check(cfg, e);

	if (r < 0)
		return r;
	n = calloc(1, sizeof(*n));
	r = n ? init(n, cfg) : -ENOMEM;
	if (r < 0) {
		if (n)
			free(n->pair);
		free(n);
		return err_set(e, r, "net: %s", strerror(-r));
	}
	*ret = n;
	return 0;
}

void virtio_net_free(struct virtio_net *n)
{
	if (!n)
		return;
	bug_on(n->crew.n_made > 0);
	(void)pthread_cond_destroy(&n->calm);
	virtio_dev_done(&n->vd);
	net_link_free(n->link);
	free(n->pair);
	free(n);
}

void virtio_net_pause(struct virtio_net *n)
{
	net_lock(n);
	n->paused = true;
	net_unlock(n);
}

bool virtio_net_is_paused(struct virtio_net *n)
{
	bool paused;

	net_lock(n);
	paused = n->paused && net_is_still(n);
	net_unlock(n);
	return paused;
}

/* Who was not heard for long may have been forgotten by switches: 5.1.6.5.4. */
static void announce(struct virtio_net *n)
{
	if (!net_is_agreed(n) || !n->up ||
	    !(n->vd.features & VIRTIO_NET_F_GUEST_ANNOUNCE))
		return;
	n->space.status = le16_put(
		(uint16_t)(le16_get(n->space.status) | NET_S_ANNOUNCE));
	n->vd.transport->config_changed(&n->vd);
}

void virtio_net_resume(struct virtio_net *n)
{
	net_lock(n);
	if (n->paused)
		announce(n);
	n->paused = false;
	net_wake(n);
	net_unlock(n);
}

struct virtio_dev *virtio_net_dev(struct virtio_net *n)
{
	return &n->vd;
}

void virtio_net_stats(struct virtio_net *n, struct virtio_net_stats *ret)
{
	*ret = (struct virtio_net_stats){ 0 };
	net_lock(n);
	ret->up = n->up;
	for (unsigned int i = 0; i < n->n_pairs; i++) {
		const struct net_pair *p = &n->pair[i];

		ret->tx_frames += p->tx.frames;
		ret->tx_bytes += p->tx.bytes;
		ret->tx_bad += p->tx.bad;
		ret->rx_frames += p->rx.frames;
		ret->rx_bytes += p->rx.bytes;
		ret->rx_dropped += p->rx.dropped;
	}
	net_unlock(n);
}
