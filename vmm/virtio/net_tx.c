/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/net_tx.c - frames from the guest to the link */
#include <errno.h>

#include "common/loop.h"
#include "vmm/virtio/net_dev.h"

/* Return: bytes of the frame, or -EBADMSG if it is none */
static ssize_t look(struct net_pair *p)
{
	const struct virtq_chain *c = &p->tx.chain;
	size_t len;

	if (c->out_len < VNET_HDR_LEN + NET_FRAME_MIN ||
	    c->out_len > VNET_HDR_LEN + NET_FRAME_MAX)
		return -EBADMSG;
	/* Once, and what is sent is this copy. */
	if (virtq_chain_get(c, 0, &p->tx.hdr, VNET_HDR_LEN) < VNET_HDR_LEN)
		return -EBADMSG;
	len = c->out_len - VNET_HDR_LEN;
	if (net_hdr_check(&p->tx.hdr, len, p->n->host, false) < 0)
		return -EBADMSG;
	return (ssize_t)len;
}

/* Return: 0; -EAGAIN; -ECANCELED if the device was stopped meanwhile */
static int transmit(struct net_pair *p, size_t len)
{
	struct net_link *l = p->n->link;
	struct iovec *io = p->tx.io;
	int n = 0, r;

	if (l->vnet)
		io[++n] = (struct iovec){ &p->tx.hdr, VNET_HDR_LEN };
	n += virtq_chain_out(&p->tx.chain, VNET_HDR_LEN, len, io + n + 1,
			     NET_QUEUE_MAX);
	net_begin(p, NET_TX);
	r = l->ops->send(l, p->i, io, n, len + (l->vnet ? VNET_HDR_LEN : 0));
	if (!net_end(p, NET_TX))
		return -ECANCELED;
	if (r == -EFAULT || r == -EINVAL) {
		p->tx.bad++;
		return 0;
	}
	if (r < 0 && r != -EAGAIN) {
		net_lost(p->n, r);
		return 0;
	}
	if (r == 0) {
		p->tx.frames++;
		p->tx.bytes += len;
		net_limit_take(&p->n->tx_limit, len);
	}
	return r;
}

/* Nobody is there to take it: as with a cable that was pulled, it is lost. */
static int send_one(struct net_pair *p, struct virtq *q)
{
	ssize_t len = look(p);
	int r = 0;

	/* What a device writes is no part of a frame to send. */
	if (p->tx.chain.in_len > 0)
		return -EBADMSG;
	if (len < 0)
		p->tx.bad++;
	else if (p->n->up)
		r = transmit(p, (size_t)len);
	if (r == -EAGAIN)
		virtq_unpop(q);
	return r < 0 ? r : virtq_push(q, p->tx.chain.head, 0);
}

/* Whether the rate has it wait; the guest's notifications help nothing then. */
static bool must_wait(struct net_pair *p)
{
	uint64_t now, wait;

	if (!net_limit_any(&p->n->tx_limit))
		return false;
	now = loop_now_ns();
	wait = net_limit_wait(&p->n->tx_limit, now);
	if (wait)
		net_wake_at(p, now + wait);
	return wait > 0;
}

/* Return: 1 after a frame, 0 if there is none or it has to wait, or less */
static int step(struct net_pair *p, struct virtq *q)
{
	int r;

	if (!q->ready)
		return 0;
	if (must_wait(p))
		return virtq_disarm(q);
	r = virtq_pop(q, &p->tx.chain);
	if (r == 0) {
		r = virtq_arm(q);
		if (r > 0)
			r = virtq_pop(q, &p->tx.chain);
	}
	if (r <= 0)
		return r;
	r = send_one(p, q);
	if (r != -EAGAIN)
		return r < 0 ? r : 1;
	p->want_out = true;
	return virtq_disarm(q);
}

int net_tx_serve(struct net_pair *p)
{
	struct virtio_net *n = p->n;
	unsigned int qi = net_tx_queue(p);
	int r = 1;

	if (net_flush(p))
		return virtq_disarm(&n->vd.vq[qi]);
	/* A pause, or a driver that wants fewer pairs, waits for one frame. */
	for (unsigned int i = 0; r > 0 && i < VIRTIO_NET_TURN; i++)
		r = net_may_serve(p) ? step(p, &n->vd.vq[qi]) : 0;
	if (r == -ECANCELED)
		return 0;
	if (r >= 0) {
		int s = virtio_dev_signal(&n->vd, qi);

		r = s < 0 ? s : r;
	}
	/* A rest of the last frame has to be sent too. */
	if (r == 0)
		(void)net_flush(p);
	return r;
}
