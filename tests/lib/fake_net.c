/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_net.c - see fake_net.h */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "tests/lib/fake_net.h"
#include "tests/lib/toy_dev.h"

static void lost(void *ctx, int why)
{
	struct fake_net *t = ctx;

	(void)why;
	atomic_fetch_add(&t->lost, 1);
}

static void still(void *ctx)
{
	struct fake_net *t = ctx;

	atomic_fetch_add(&t->still, 1);
}

/* On @link, which is taken over. */
static struct fake_net *make(struct net_link *link, const struct net_rate *rate)
{
	struct fake_net *t = calloc(1, sizeof(*t));
	struct virtio_net_config cfg = { .link = link,
					 .mac = { 2, 0, 0, 0, 0, 9 },
					 .mtu = 1500,
					 .lost = lost,
					 .still = still,
					 .ctx = t };
	struct err e;

	bug_on(!t);
	if (rate)
		cfg.rate = *rate;
	t->peer = -1;
	fake_guest_init(&t->g, FN_RAM, FN_QUEUE);
	bug_on(irq_init(&t->irq, &e) != 0);
	bug_on(virtio_net_new(&cfg, &t->n, &e) != 0);
	bug_on(virtio_mmio_init(&t->m, virtio_net_dev(t->n), &t->g.mem, &t->irq,
				&e) != 0);
	t->g.mmio = &t->m;
	bug_on(virtio_net_start(t->n, &e) != 0);
	return t;
}

static struct fake_net *make_stream(bool vnet, const struct net_rate *rate,
				    unsigned int n_pairs)
{
	struct net_link *link = NULL;
	struct fake_net *t;
	int fd[2];

	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0);
	bug_on(net_stream_new(fd[1], vnet, &link) != 0);
	link->n_queues = n_pairs;
	t = make(link, rate);
	t->peer = fd[0];
	return t;
}

struct fake_net *fake_net_new(bool vnet, const struct net_rate *rate)
{
	return make_stream(vnet, rate, 1);
}

struct fake_net *fake_net_new_on(struct net_link *link,
				 const struct net_rate *rate)
{
	return make(link, rate);
}

struct fake_net *fake_net_new_pairs(unsigned int n_pairs)
{
	return make_stream(false, NULL, n_pairs);
}

void fake_net_free(struct fake_net *t)
{
	virtio_net_stop(t->n);
	virtio_mmio_done(&t->m);
	virtio_net_free(t->n);
	irq_done(&t->irq);
	fake_guest_done(&t->g);
	base_closep(&t->peer);
	free(t);
}

void fake_net_boot(struct fake_net *t, uint64_t features)
{
	t->features = features | VIRTIO_F_VERSION_1;
	fake_guest_boot(&t->g, t->features);
}

void fake_net_desc(struct fake_net *t, unsigned int qi, unsigned int i,
		   struct fake_piece p)
{
	const struct virtq_desc d = { .addr = le64_put(p.at),
				      .len = le32_put(p.len),
				      .flags = le16_put((uint16_t)p.flags),
				      .next = le16_put(p.next) };

	fake_guest_table(&t->g, FG_DESC(qi), i, &d);
}

void fake_net_offer(struct fake_net *t, unsigned int qi, uint16_t head)
{
	fake_guest_offer(&t->g, qi, head);
	fake_guest_set(&t->g, VIRTIO_MMIO_NOTIFY, qi);
}

void fake_net_give(struct fake_net *t, unsigned int i, uint32_t len)
{
	bug_on(len > FN_BUF_LEN);
	fake_net_desc(t, FN_RX, i,
		      (struct fake_piece){ FN_BUF(FN_RX, i), len,
					   VIRTQ_DESC_F_WRITE, 0 });
	fake_net_offer(t, FN_RX, (uint16_t)i);
}

void fake_net_send(struct fake_net *t, unsigned int i, const struct vnet_hdr *h,
		   const void *frame, uint32_t len)
{
	uint8_t *at =
		fake_guest_at(&t->g, FN_BUF(FN_TX, i), VNET_HDR_LEN + len);

	memcpy(at, h, VNET_HDR_LEN);
	memcpy(at + VNET_HDR_LEN, frame, len);
	fake_net_desc(t, FN_TX, i,
		      (struct fake_piece){ FN_BUF(FN_TX, i),
					   (uint32_t)VNET_HDR_LEN + len, 0,
					   0 });
	fake_net_offer(t, FN_TX, (uint16_t)i);
}

unsigned int fake_net_take(struct fake_net *t, unsigned int qi, uint32_t *len)
{
	uint32_t id;

	while (!fake_guest_used(&t->g, qi, &id, len))
		(void)sched_yield();
	return id;
}

uint8_t fake_net_command(struct fake_net *t, uint8_t class, uint8_t command,
			 const void *args, uint32_t len)
{
	uint64_t at = FN_BUF(FN_CTRL, 0);
	uint8_t *p = fake_guest_at(&t->g, at, len + 3);
	uint32_t used = 0;

	p[0] = class;
	p[1] = command;
	if (len)
		memcpy(p + 2, args, len);
	p[len + 2] = 0xff;
	fake_net_desc(t, FN_CTRL, 0,
		      (struct fake_piece){ at, len + 2, VIRTQ_DESC_F_NEXT, 1 });
	fake_net_desc(
		t, FN_CTRL, 1,
		(struct fake_piece){ at + len + 2, 1, VIRTQ_DESC_F_WRITE, 0 });
	fake_net_offer(t, FN_CTRL, 0);
	(void)fake_net_take(t, FN_CTRL, &used);
	bug_on(used != 1);
	return p[len + 2];
}

void fake_net_put(struct fake_net *t, const void *frame, uint32_t len)
{
	const uint8_t prefix[4] = { (uint8_t)(len >> 24), (uint8_t)(len >> 16),
				    (uint8_t)(len >> 8), (uint8_t)len };

	bug_on(io_write_full(t->peer, prefix, sizeof(prefix)) < 0);
	bug_on(io_write_full(t->peer, frame, len) < 0);
}

size_t fake_net_get(struct fake_net *t, void *frame, size_t cap)
{
	uint8_t p[4];
	size_t len;

	bug_on(io_read_full(t->peer, p, sizeof(p)) != sizeof(p));
	len = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 |
	      p[3];
	bug_on(len > cap);
	bug_on(io_read_full(t->peer, frame, len) != (ssize_t)len);
	return len;
}

void fake_net_frame(uint8_t *frame, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		frame[i] = (uint8_t)(seed + i * 7 + i / 251);
}
