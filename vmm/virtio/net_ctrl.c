/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/net_ctrl.c - the control queue of a network device: 5.1.6.5 */
#include <errno.h>
#include <string.h>

#include "vmm/virtio/net_dev.h"

/** enum ack - What it answers */
enum ack {
	ACK_OK = 0,
	ACK_ERR = 1
};

enum {
	CLASS_RX = 0,
	CLASS_MAC = 1,
	CLASS_ANNOUNCE = 3,
	CLASS_MQ = 4,
	CLASS_OFFLOADS = 5
};

#define RX_LAST       5u /* NOBCAST */
#define MAC_TABLE_SET 0u
#define MAC_ADDR_SET  1u
#define ANNOUNCE_ACK  0u
#define MQ_PAIRS_SET  0u
#define OFFLOADS_SET  0u

/* What a driver's table of addresses may have at most. */
#define MACS_MAX 1024u

/** struct request - Its head; @args bytes follow that */
struct request {
	uint8_t class;
	uint8_t command;
	const struct virtq_chain *c;
	size_t args;
};

#define HEAD_LEN 2u

static bool get(const struct request *q, size_t off, void *dst, size_t len)
{
	return virtq_chain_get(q->c, HEAD_LEN + off, dst, len) == len;
}

static bool get_all(const struct request *q, void *dst, size_t len)
{
	return q->args == len && get(q, 0, dst, len);
}

/* Every frame is the guest's anyway, and its kernel drops what it did not ask
 * for: so it may ask for whatever it likes.
 */
static bool do_rx(const struct request *q)
{
	uint8_t on;

	return q->command <= RX_LAST && get_all(q, &on, 1) && on <= 1;
}

/* Two tables, of unicast and multicast; both are only checked. */
static bool do_mac_table(const struct request *q)
{
	size_t off = 0;

	for (int i = 0; i < 2; i++) {
		le32 n;

		if (!get(q, off, &n, sizeof(n)) || le32_get(n) > MACS_MAX)
			return false;
		off += sizeof(n) + (size_t)le32_get(n) * VIRTIO_NET_MAC_LEN;
	}
	return off == q->args;
}

static bool do_mac(struct virtio_net *n, const struct request *q)
{
	uint8_t mac[VIRTIO_NET_MAC_LEN];

	if (q->command == MAC_TABLE_SET)
		return do_mac_table(q);
	if (q->command != MAC_ADDR_SET || !get_all(q, mac, sizeof(mac)) ||
	    mac[0] & 1)
		return false;
	memcpy(n->space.mac, mac, sizeof(mac));
	return true;
}

static bool do_announce(struct virtio_net *n, const struct request *q)
{
	if (q->command != ANNOUNCE_ACK || q->args != 0)
		return false;
	n->space.status = le16_put(
		(uint16_t)(le16_get(n->space.status) & ~NET_S_ANNOUNCE));
	return true;
}

/*
 * Pairs from @pairs on are given no frame after the answer: 5.1.6.5.6.2.  What
 * was put in their queues before is shown now, by their own threads too late.
 */
static bool retire(struct virtio_net *n, unsigned int pairs)
{
	for (unsigned int i = pairs; i < n->n_active; i++)
		if (virtio_dev_signal(&n->vd, net_rx_queue(&n->pair[i])) < 0)
			return false;
	return true;
}

/* All of it or nothing; a link that can do neither is of no use any more. */
static bool spread(struct virtio_net *n, unsigned int pairs)
{
	const struct net_link_ops *ops = n->link->ops;
	int r = n->up ? ops->spread(n->link, pairs) : 0;

	if (r == 0)
		return true;
	r = ops->spread(n->link, n->n_active);
	if (r < 0)
		net_lost(n, r);
	return false;
}

static bool do_mq(struct virtio_net *n, const struct request *q)
{
	unsigned int pairs;
	le16 v;

	if (q->command != MQ_PAIRS_SET || !get_all(q, &v, sizeof(v)))
		return false;
	pairs = le16_get(v);
	if (pairs == 0 || pairs > n->n_pairs)
		return false;
	if (!retire(n, pairs) || !spread(n, pairs))
		return false;
	n->n_active = pairs;
	for (unsigned int i = 1; i < n->n_pairs; i++)
		virtio_dev_kick(&n->vd, net_rx_queue(&n->pair[i]));
	return true;
}

/* Offloads are bits of features: what was not agreed upon cannot be had. */
static bool do_offloads(struct virtio_net *n, const struct request *q)
{
	unsigned int guest;
	le64 v;

	if (q->command != OFFLOADS_SET || !get_all(q, &v, sizeof(v)) ||
	    le64_get(v) & ~n->vd.features)
		return false;
	guest = net_hdr_guest(le64_get(v));
	if (n->up && n->link->ops->offload(n->link, guest) < 0)
		return false;
	n->guest = guest;
	return true;
}

static bool has(const struct virtio_net *n, uint64_t feature)
{
	return n->vd.features & feature;
}

static bool perform(struct virtio_net *n, const struct request *q)
{
	switch (q->class) {
	case CLASS_RX:
		return has(n, VIRTIO_NET_F_CTRL_RX) && do_rx(q);
	case CLASS_MAC:
		return has(n, q->command == MAC_ADDR_SET
				      ? VIRTIO_NET_F_CTRL_MAC_ADDR
				      : VIRTIO_NET_F_CTRL_RX) &&
		       do_mac(n, q);
	case CLASS_ANNOUNCE:
		return has(n, VIRTIO_NET_F_GUEST_ANNOUNCE) && do_announce(n, q);
	case CLASS_MQ:
		return has(n, VIRTIO_NET_F_MQ) && do_mq(n, q);
	case CLASS_OFFLOADS:
		return has(n, VIRTIO_NET_F_CTRL_GUEST_OFFLOADS) &&
		       do_offloads(n, q);
	default:
		return false;
	}
}

static int answer(struct virtio_net *n, struct virtq *vq)
{
	const struct virtq_chain *c = &n->ctrl;
	struct request q = { .c = c, .args = c->out_len - HEAD_LEN };
	uint8_t head[HEAD_LEN], ack;

	if (c->out_len < HEAD_LEN || c->in_len == 0)
		return -EBADMSG;
	if (virtq_chain_get(c, 0, head, sizeof(head)) < sizeof(head))
		return -EBADMSG;
	q.class = head[0];
	q.command = head[1];
	ack = (uint8_t)(perform(n, &q) ? ACK_OK : ACK_ERR);
	if (virtq_chain_put(c, 0, &ack, sizeof(ack)) < sizeof(ack))
		return -EBADMSG;
	return virtq_push(vq, c->head, sizeof(ack));
}

unsigned int net_ctrl_queue(const struct virtio_net *n)
{
	return 2 * (has(n, VIRTIO_NET_F_MQ) ? n->n_pairs : 1);
}

int net_ctrl_serve(struct virtio_net *n)
{
	unsigned int qi = net_ctrl_queue(n);
	struct virtq *vq = &n->vd.vq[qi];
	int r = 1;

	if (!has(n, VIRTIO_NET_F_CTRL_VQ))
		return 0;
	/* No more than the ring holds: its index cannot move while we look. */
	for (unsigned int i = 0; r > 0 && i < NET_QUEUE_MAX; i++) {
		r = virtq_pop(vq, &n->ctrl);
		if (r > 0 && answer(n, vq) < 0)
			r = -EBADMSG;
		if (r == 0)
			r = virtq_arm(vq);
	}
	if (r < 0)
		return r;
	/* Who never stops asking asks again later. */
	if (r > 0)
		virtio_dev_kick(&n->vd, qi);
	return virtio_dev_signal(&n->vd, qi);
}
