/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_virtq.c - the input is guest RAM; serve the queue in it
 *
 * Byte 0 says what was negotiated (bit 0 event index, bit 1 indirect) and the
 * queue's size (1 << bits 4 to 6); then RAM: descriptors at 0, the available
 * ring at 0x800, the used ring at 0xa00, all else is for buffers and tables.
 */
#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/fake_guest.h"

#define RAM_LEN 0x2000u
#define AVAIL   0x800u
#define USED    0xa00u

/* What the device writes may make more requests, but not for ever. */
#define POPS_MAX 1000

static void check_chain(const struct fake_guest *g, const struct virtq *q,
			const struct virtq_chain *c)
{
	size_t sum[2] = { 0, 0 };

	bug_on(c->n_out + c->n_in > q->size);
	for (int i = 0; i < c->n_out + c->n_in; i++) {
		const uint8_t *p = c->iov[i].iov_base;

		bug_on(c->iov[i].iov_len == 0);
		bug_on(p < g->ram || p >= g->ram + g->len);
		bug_on(c->iov[i].iov_len > (size_t)(g->ram + g->len - p));
		sum[i >= c->n_out] += c->iov[i].iov_len;
	}
	bug_on(sum[0] != c->out_len || sum[1] != c->in_len);
}

/* As a device does: look at what there is to read, fill what there is. */
static void serve_chain(const struct virtq_chain *c)
{
	static const uint8_t fill[64] = { 0x5a };
	uint8_t buf[64];
	struct iovec iov[4];
	size_t n = virtq_chain_get(c, 3, buf, sizeof(buf));

	bug_on(n > sizeof(buf) || n > c->out_len);
	bug_on(virtq_chain_out(c, 1, c->out_len, iov, 4) > 4);
	bug_on(virtq_chain_in(c, 1, c->in_len, iov, 4) > 4);
	n = virtq_chain_put(c, 1, fill, sizeof(fill));
	bug_on(n > sizeof(fill) || n > c->in_len);
}

static void keep(const struct virtq_chain *c)
{
	struct ring r = { .cap = 256 };
	size_t len = MIN(c->out_len, 300u);
	int e = virtq_chain_keep(c, 0, len, &r);

	bug_on((len > 256) != (e == -ENOSPC));
	bug_on(e == 0 && r.len != len);
	ring_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct virtq_chain c;
	struct fake_guest g;
	struct virtq q;
	int r = 0;

	if (len == 0)
		return 0;
	fake_guest_init(&g, RAM_LEN, 1);
	memcpy(g.ram, data + 1, MIN(len - 1, RAM_LEN));
	q = (struct virtq){
		.mem = &g.mem,
		.size = (uint16_t)(1u << (data[0] >> 4 & 7)),
		.ready = true,
		.event_idx = data[0] & 1,
		.indirect = data[0] & 2,
		.desc = FG_BASE,
		.avail = FG_BASE + AVAIL,
		.used = FG_BASE + USED,
	};
	bug_on(virtq_check(&q) != 0);
	for (int i = 0; i < POPS_MAX; i++) {
		r = virtq_pop(&q, &c);
		if (r <= 0)
			break;
		check_chain(&g, &q, &c);
		serve_chain(&c);
		keep(&c);
		bug_on(virtq_push(&q, c.head, (uint32_t)c.in_len) != 0);
	}
	bug_on(r < 0 && r != -EBADMSG);
	r = virtq_publish(&q);
	bug_on(r != 0 && r != 1);
	r = virtq_arm(&q);
	bug_on(r != 0 && r != 1 && r != -EBADMSG);
	bug_on(virtq_disarm(&q) != 0);
	fake_guest_done(&g);
	return 0;
}
