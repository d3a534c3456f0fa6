/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/net_rx.c - frames from the link to the guest
 *
 * Buffers are taken off the queue before a frame is there to be put in, as the
 * link writes straight into them; what a frame does not fill waits for the next.
 * How many a frame needs is not known of every link: then there are to be as
 * many as the largest could need.  A driver that gives fewer is waited for; but
 * not for ever, since it may have no more to give.
 */
#include <errno.h>
#include <string.h>

#include "common/loop.h"
#include "vmm/virtio/net_dev.h"

#define NS_PER_MS 1000000ull

static bool mergeable(const struct net_pair *p)
{
	return p->n->vd.features & VIRTIO_NET_F_MRG_RXBUF;
}

void net_rx_drop(struct net_pair *p)
{
	p->rx.n_buf = 0;
	p->rx.n_iov = 0;
	p->rx.len = 0;
	p->rx.starved_ns = 0;
	if (p->n->up)
		p->n->link->ops->skip(p->n->link, p->i);
}

/* Return: whether there is room for one more like that in rx.chain */
static bool keep_buffer(struct net_rx *rx)
{
	const struct virtq_chain *c = &rx->chain;

	if (rx->n_buf == NET_QUEUE_MAX || c->n_in > NET_IOV_MAX - rx->n_iov)
		return false;
	memcpy(rx->iov + rx->n_iov, c->iov, c->n_in * sizeof(c->iov[0]));
	rx->n_iov += c->n_in;
	rx->buf[rx->n_buf++] = (struct net_buf){ .head = c->head,
						 .n = c->n_in,
						 .len = (uint32_t)c->in_len };
	rx->len += c->in_len;
	return true;
}

static bool is_enough(const struct net_pair *p, size_t need)
{
	return mergeable(p) ? p->rx.len >= need : p->rx.n_buf > 0;
}

/*
 * Buffers for @need bytes.  Return: 1 if there are; 2 if there are not and
 * there can be no more; 0 if more may come; or -EBADMSG
 */
static int fill(struct net_pair *p, struct virtq *q, size_t need)
{
	struct net_rx *rx = &p->rx;

	while (!is_enough(p, need)) {
		int r = virtq_pop(q, &rx->chain);

		if (r == 0) {
			r = virtq_arm(q);
			if (r == 0)
				return rx->n_buf == q->size ? 2 : 0;
			continue;
		}
		if (r < 0)
			return r;
		/* 5.1.6.3.1; and none has anything for us to read. */
		if (rx->chain.n_out > 0 || rx->chain.in_len < VNET_HDR_LEN ||
		    rx->chain.in_len > UINT32_MAX)
			return -EBADMSG;
		if (!keep_buffer(rx)) {
			virtq_unpop(q);
			/* One that nothing fits besides is of no use. */
			return rx->n_buf > 0 ? 2 : -EBADMSG;
		}
	}
	return 1;
}

/* Whether to receive with what there is; else @p waits. */
static bool make_do(struct net_pair *p)
{
	struct net_rx *rx = &p->rx;
	uint64_t now = loop_now_ns(), end;

	if (rx->n_buf == 0)
		return false; /* until the driver gives some */
	if (!rx->starved_ns)
		rx->starved_ns = now;
	end = rx->starved_ns + VIRTIO_NET_STARVE_MS * NS_PER_MS;
	if (now >= end)
		return true;
	net_wake_at(p, end);
	return false;
}

/* Pieces of all buffers, or of the only one, behind the first bytes. */
static int pieces(struct net_pair *p, struct iovec *io)
{
	struct net_rx *rx = &p->rx;
	unsigned int n = mergeable(p) ? rx->n_iov : rx->buf[0].n;

	memcpy(io, rx->iov, n * sizeof(*io));
	return net_iov_cut(io, (int)n, VNET_HDR_LEN, SIZE_MAX);
}

static ssize_t receive(struct net_pair *p)
{
	struct net_link *l = p->n->link;
	struct net_rx *rx = &p->rx;
	int n = 0;
	ssize_t r;

	if (l->vnet)
		rx->io[n++] = (struct iovec){ &rx->hdr, VNET_HDR_LEN };
	else
		rx->hdr = (struct vnet_hdr){ .flags = 0 };
	n += pieces(p, rx->io + n);
	net_begin(p, NET_RX);
	r = l->ops->recv(l, p->i, rx->io, n);
	return net_end(p, NET_RX) ? r : -ECANCELED;
}

/* The first bytes of the first buffer. */
static int put_header(struct net_pair *p, unsigned int n_buf)
{
	struct net_rx *rx = &p->rx;
	const struct gmem *mem = p->n->vd.vq[net_rx_queue(p)].mem;
	size_t done = 0;

	rx->hdr.num_buffers = le16_put((uint16_t)n_buf);
	for (unsigned int i = 0; done < VNET_HDR_LEN; i++) {
		size_t here = MIN(rx->iov[i].iov_len, VNET_HDR_LEN - done);

		if (gmem_copy(mem, rx->iov[i].iov_base,
			      (const uint8_t *)&rx->hdr + done, here) < 0)
			return -EBADMSG;
		done += here;
	}
	return 0;
}

/* The first @n buffers are the driver's again. */
static void forget(struct net_rx *rx, unsigned int n)
{
	unsigned int n_iov = 0;

	for (unsigned int i = 0; i < n; i++) {
		n_iov += rx->buf[i].n;
		rx->len -= rx->buf[i].len;
	}
	rx->n_buf -= n;
	rx->n_iov -= n_iov;
	memmove(rx->buf, rx->buf + n, rx->n_buf * sizeof(rx->buf[0]));
	memmove(rx->iov, rx->iov + n_iov, rx->n_iov * sizeof(rx->iov[0]));
}

/* One of about @len bytes; what it cost the host is taken off the rate too. */
static int drop(struct net_pair *p, size_t len)
{
	p->rx.dropped++;
	net_limit_take(&p->n->rx_limit, len);
	return 1;
}

/*
 * A frame of @len bytes lies in the buffers, header not counted.
 * Return: 1 or -EBADMSG
 */
static int deliver(struct net_pair *p, struct virtq *q, size_t len)
{
	struct net_rx *rx = &p->rx;
	size_t left = VNET_HDR_LEN + len;
	unsigned int n = 0;

	if (net_hdr_check(&rx->hdr, len, p->n->guest, true) < 0)
		return drop(p, len);
	for (size_t sum = 0; sum < left; n++)
		sum += rx->buf[n].len;
	if (put_header(p, n) < 0)
		return -EBADMSG;
	for (unsigned int i = 0; i < n; i++) {
		size_t here = MIN(left, rx->buf[i].len);

		if (virtq_push(q, rx->buf[i].head, (uint32_t)here) < 0)
			return -EBADMSG;
		left -= here;
	}
	forget(rx, n);
	rx->frames++;
	rx->bytes += len;
	net_limit_take(&p->n->rx_limit, len);
	return 1;
}

/* The link has none now. Return: 0 */
static int wait_in(struct net_pair *p, ssize_t why)
{
	if (why == -EAGAIN)
		p->want_in = true;
	else if (why == -ENOBUFS)
		net_retry(p);
	else
		net_lost(p->n, (int)why);
	return 0;
}

/* Return: 1 to go on, 0 to wait, -ECANCELED, or -EBADMSG */
static int take(struct net_pair *p, struct virtq *q)
{
	size_t hdr = p->n->link->vnet ? VNET_HDR_LEN : 0;
	ssize_t got = receive(p);

	switch (got) {
	case -ECANCELED:
		return -ECANCELED;
	case -EMSGSIZE:
		return drop(p, p->rx.len);
	case -EFAULT:
		return -EBADMSG;
	default:
		break;
	}
	if (got < 0)
		return wait_in(p, got);
	/* 5.1.6.5.6.2: none for a pair that is out of use meanwhile. */
	if ((size_t)got < hdr + NET_FRAME_MIN || p->i >= p->n->n_active)
		return drop(p, (size_t)got);
	return deliver(p, q, (size_t)got - hdr);
}

static bool must_wait(struct net_pair *p)
{
	uint64_t now, wait;

	if (!net_limit_any(&p->n->rx_limit))
		return false;
	now = loop_now_ns();
	wait = net_limit_wait(&p->n->rx_limit, now);
	if (wait)
		net_wake_at(p, now + wait);
	return wait > 0;
}

static int step(struct net_pair *p, struct virtq *q)
{
	struct net_link *l = p->n->link;
	size_t hdr = l->vnet ? 0 : VNET_HDR_LEN;
	ssize_t need;
	int r;

	if (!p->n->up || !q->ready || must_wait(p))
		return 0;
	need = l->ops->next(l, p->i);
	if (need < 0)
		return wait_in(p, need);
	r = fill(p, q, (size_t)need + hdr);
	if (r < 0 || (r == 0 && !make_do(p)))
		return r;
	p->rx.starved_ns = 0;
	return take(p, q);
}

int net_rx_serve(struct net_pair *p)
{
	struct virtio_net *n = p->n;
	unsigned int qi = net_rx_queue(p);
	struct virtq *q = &n->vd.vq[qi];
	int r = 1, s;

	for (unsigned int i = 0; r > 0 && i < VIRTIO_NET_TURN; i++)
		r = net_may_serve(p) ? step(p, q) : 0;
	if (r == -ECANCELED)
		return 0;
	s = r < 0 ? r : virtio_dev_signal(&n->vd, qi);
	return s < 0 ? s : r;
}
