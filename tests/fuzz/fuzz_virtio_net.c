/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_virtio_net.c - what a driver does to a network device, and
 * what comes by its link
 *
 * The first byte says whether frames have headers; then come records of an
 * action and its few bytes, see act().  The device's own thread serves.  Of
 * what it sends every length and every header is looked at, and no more is
 * given back than was offered.
 */
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "common/rd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/fake_net.h"
#include "tests/lib/toy_dev.h"

#define DESCS     4u /* of a chain, at most */
#define BYTES_MAX 256u

enum action {
	CHAIN,   /* descriptors as they stand in the input */
	GIVE,    /* a buffer to receive into */
	SEND,    /* a frame, whose header and length the input chooses */
	COMMAND, /* on the control queue */
	COME,    /* bytes from the other end of the link */
	FRAME,   /* the same, with a length in front that is right */
	INDEX,   /* the available index jumps */
	STOP,    /* a queue */
	BOOT,    /* with other features */
	N_ACTIONS
};

/**
 * struct world - The device, and what it sent of a frame so far
 * @offered:	Since it booted
 */
struct world {
	struct fake_net *t;
	bool vnet;
	unsigned int offered[FG_QUEUES];
	uint8_t frame[4 + VNET_HDR_LEN + NET_FRAME_MAX];
	size_t len;
};

static void look_at_header(const struct world *w, size_t len)
{
	unsigned int may = net_hdr_host(w->t->features);
	struct vnet_hdr h;

	memcpy(&h, w->frame + 4, sizeof(h));
	bug_on(le16_get(h.num_buffers) != 0);
	bug_on(net_hdr_check(&h, len - sizeof(h), may, false) < 0);
}

/* Takes what there is, up to a whole frame at a time. */
static void drain(struct world *w)
{
	for (;;) {
		size_t want = 4;
		ssize_t n;

		if (w->len >= 4)
			want += (size_t)w->frame[1] << 16 |
				(size_t)w->frame[2] << 8 | w->frame[3];
		bug_on(w->len >= 4 && w->frame[0] != 0);
		bug_on(want > sizeof(w->frame));
		n = recv(w->t->peer, w->frame + w->len, want - w->len,
			 MSG_DONTWAIT);
		if (n <= 0)
			return;
		w->len += (size_t)n;
		if (w->len < want || want == 4)
			continue;
		bug_on(want - 4 < NET_FRAME_MIN + (w->vnet ? VNET_HDR_LEN : 0));
		if (w->vnet)
			look_at_header(w, want - 4);
		w->len = 0;
	}
}

/* Whether nothing is left that the device would do without a frame. */
static bool at_rest(struct world *w)
{
	struct virtio_dev *vd = virtio_net_dev(w->t->n);
	bool rest;

	(void)pthread_mutex_lock(&vd->lock);
	rest = !vd->reset_due && !w->t->n->pair[0].busy[NET_RX] &&
	       !w->t->n->pair[0].busy[NET_TX] &&
	       (!vd->running ||
		(w->t->n->set_up && virtq_waiting(&vd->vq[FN_TX]) == 0 &&
		 virtq_waiting(&vd->vq[FN_CTRL]) == 0));
	(void)pthread_mutex_unlock(&vd->lock);
	return rest;
}

static void run(struct world *w)
{
	do {
		drain(w);
		(void)sched_yield();
	} while (!at_rest(w));
	for (unsigned int qi = 0; qi < FG_QUEUES; qi++)
		bug_on(fake_guest_used_idx(&w->t->g, qi) > w->offered[qi]);
}

static void boot(struct world *w, uint64_t features)
{
	/* What is on its way was agreed upon before. */
	fake_guest_set(&w->t->g, REG_STATUS, 0);
	drain(w);
	if (w->len)
		run(w);
	fake_net_boot(w->t, (features & w->t->n->ops.features) |
				    VIRTIO_NET_F_CTRL_VQ |
				    (features & VIRTIO_F_EVENT_IDX) |
				    VIRTIO_F_INDIRECT_DESC);
	memset(w->offered, 0, sizeof(w->offered));
}

static void offer(struct world *w, unsigned int qi, uint16_t head)
{
	w->offered[qi]++;
	fake_net_offer(w->t, qi, head);
}

static void chain(struct world *w, struct rd *rd, unsigned int qi)
{
	unsigned int n = 1 + rd_u8(rd) % DESCS;
	const struct virtq_desc *d = rd_bytes(rd, n * sizeof(*d));

	if (!d)
		return;
	for (unsigned int i = 0; i < n; i++)
		fake_guest_table(&w->t->g, FG_DESC(qi), i, &d[i]);
	offer(w, qi, 0);
}

static void give(struct world *w, struct rd *rd)
{
	unsigned int i = rd_u8(rd) % FN_QUEUE;

	w->offered[FN_RX]++;
	fake_net_give(w->t, i, rd_le16(rd) % FN_BUF_LEN);
}

/* In two pieces, the first of which need not end with the header. */
static void send_frame(struct world *w, struct rd *rd)
{
	const void *h = rd_bytes(rd, VNET_HDR_LEN);
	uint32_t first = rd_u8(rd), second = rd_le32(rd) % 0x20000u;
	uint64_t at = FN_BUF(FN_TX, 0);

	if (!h)
		return;
	memcpy(fake_guest_at(&w->t->g, at, VNET_HDR_LEN), h, VNET_HDR_LEN);
	fake_net_desc(w->t, FN_TX, 0,
		      (struct fake_piece){ at, first, VIRTQ_DESC_F_NEXT, 1 });
	fake_net_desc(w->t, FN_TX, 1,
		      (struct fake_piece){ at + first, second, 0, 0 });
	offer(w, FN_TX, 0);
}

static void command(struct world *w, struct rd *rd)
{
	uint32_t len = rd_u8(rd);
	const void *p = rd_bytes(rd, len);
	uint64_t at = FN_BUF(FN_CTRL, 0);

	if (!p)
		return;
	memcpy(fake_guest_at(&w->t->g, at, len + 1), p, len);
	fake_net_desc(w->t, FN_CTRL, 0,
		      (struct fake_piece){ at, len, VIRTQ_DESC_F_NEXT, 1 });
	fake_net_desc(
		w->t, FN_CTRL, 1,
		(struct fake_piece){ at + len, 1, VIRTQ_DESC_F_WRITE, 0 });
	offer(w, FN_CTRL, 0);
}

/* A device that reads nothing has no more sent to it. */
static void come(struct world *w, struct rd *rd, bool whole)
{
	uint32_t len = rd_le16(rd) % (BYTES_MAX + 1);
	const uint8_t *p = rd_bytes(rd, len);
	uint8_t buf[4 + BYTES_MAX] = { 0 };

	if (!p)
		return;
	buf[2] = (uint8_t)(len >> 8);
	buf[3] = (uint8_t)len;
	memcpy(buf + 4, p, len);
	if (send(w->t->peer, whole ? buf : buf + 4, whole ? 4 + len : len,
		 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}

static void act(struct world *w, struct rd *rd)
{
	enum action action = rd_u8(rd) % N_ACTIONS;
	unsigned int qi = rd_u8(rd) % FG_QUEUES, n;

	switch (action) {
	case CHAIN:
		chain(w, rd, qi);
		break;
	case GIVE:
		give(w, rd);
		break;
	case SEND:
		send_frame(w, rd);
		break;
	case COMMAND:
		command(w, rd);
		break;
	case COME:
	case FRAME:
		come(w, rd, action == FRAME);
		break;
	case INDEX:
		n = rd_u8(rd);
		w->t->g.q[qi].avail_idx =
			(uint16_t)(w->t->g.q[qi].avail_idx + n);
		w->offered[qi] += n;
		offer(w, qi, 0);
		break;
	case STOP:
		fake_guest_set(&w->t->g, REG_QUEUE_SEL, qi);
		fake_guest_set(&w->t->g, REG_QUEUE_READY, 0);
		break;
	default:
		boot(w, rd_le64(rd));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd rd = rd_init(data, len);
	struct world *w = calloc(1, sizeof(*w));

	bug_on(!w);
	w->vnet = rd_u8(&rd) & 1;
	w->t = fake_net_new(w->vnet, NULL);
	boot(w, UINT64_MAX);
	while (rd.left > 0 && !rd.bad) {
		act(w, &rd);
		run(w);
	}
	fake_guest_set(&w->t->g, REG_STATUS, 0);
	fake_net_free(w->t);
	free(w);
	return 0;
}
