/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_guest.c - see fake_guest.h */
#include <string.h>

#include "tests/lib/fake_guest.h"

void fake_guest_init(struct fake_guest *g, size_t len, uint16_t queue_size)
{
	memset(g, 0, sizeof(*g));
	g->ram = calloc(1, len);
	bug_on(!g->ram);
	g->len = len;
	g->mem.region[0] = (struct gmem_region){
		.gpa = FG_BASE,
		.len = len,
		.hva = g->ram,
	};
	g->mem.n = 1;
	for (unsigned int i = 0; i < FG_MOST; i++)
		g->q[i].size = queue_size;
}

void fake_guest_done(struct fake_guest *g)
{
	/* What windows need, of which RAM on the heap has nothing. */
	g->mem.n = 0;
	g->mem.fd = -1;
	gmem_done(&g->mem);
	free(g->ram);
	g->ram = NULL;
}

struct virtq fake_guest_virtq(const struct fake_guest *g, unsigned int qi)
{
	return (struct virtq){
		.mem = &g->mem,
		.size = g->q[qi].size,
		.ready = true,
		.desc = FG_DESC(qi),
		.avail = FG_AVAIL(qi),
		.used = FG_USED(qi),
	};
}

uint8_t *fake_guest_at(struct fake_guest *g, uint64_t gpa, size_t len)
{
	bug_on(gpa < FG_BASE || gpa - FG_BASE > g->len ||
	       len > g->len - (gpa - FG_BASE));
	return g->ram + (gpa - FG_BASE);
}

void fake_guest_table(struct fake_guest *g, uint64_t table, unsigned int i,
		      const struct virtq_desc *d)
{
	memcpy(fake_guest_at(g, table + sizeof(*d) * i, sizeof(*d)), d,
	       sizeof(*d));
}

void fake_guest_desc(struct fake_guest *g, unsigned int i, uint64_t addr,
		     uint32_t len, unsigned int flags, uint16_t next)
{
	struct virtq_desc d = {
		.addr = le64_put(addr),
		.len = le32_put(len),
		.flags = le16_put((uint16_t)flags),
		.next = le16_put(next),
	};

	fake_guest_table(g, FG_DESC(0), i, &d);
}

static void put16(struct fake_guest *g, uint64_t gpa, uint16_t v)
{
	bug_on(gmem_store_le16(&g->mem, gpa, v));
}

void fake_guest_offer(struct fake_guest *g, unsigned int qi, uint16_t head)
{
	struct fake_vq *q = &g->q[qi];

	put16(g, FG_AVAIL(qi) + 4 + 2ull * (q->avail_idx % q->size), head);
	put16(g, FG_AVAIL(qi) + 2, ++q->avail_idx);
}

uint16_t fake_guest_used_idx(const struct fake_guest *g, unsigned int qi)
{
	uint16_t idx;

	bug_on(gmem_load_le16(&g->mem, FG_USED(qi) + 2, &idx));
	return idx;
}

bool fake_guest_used(struct fake_guest *g, unsigned int qi, uint32_t *id,
		     uint32_t *len)
{
	struct fake_vq *q = &g->q[qi];
	le32 v[2];

	if (fake_guest_used_idx(g, qi) == q->used_seen)
		return false;
	memcpy(v,
	       fake_guest_at(g,
			     FG_USED(qi) + 4 + 8ull * (q->used_seen % q->size),
			     sizeof(v)),
	       sizeof(v));
	q->used_seen++;
	*id = le32_get(v[0]);
	*len = le32_get(v[1]);
	return true;
}

void fake_guest_event(struct fake_guest *g, unsigned int qi, uint16_t idx)
{
	put16(g, FG_AVAIL(qi) + 4 + 2ull * g->q[qi].size, idx);
}

uint32_t fake_guest_reg(struct fake_guest *g, unsigned int off)
{
	le32 v;

	virtio_mmio_bus_ops.read(g->mmio, off, v.b, sizeof(v));
	/* A guest that reads it without an exit has to see the same. */
	if (g->mmio->page && off % sizeof(v) == 0)
		bug_on(memcmp(g->mmio->page + off, v.b, sizeof(v)) != 0);
	return le32_get(v);
}

void fake_guest_set(struct fake_guest *g, unsigned int off, uint32_t v)
{
	le32 le = le32_put(v);

	virtio_mmio_bus_ops.write(g->mmio, off, le.b, sizeof(le));
}

void fake_guest_features(struct fake_guest *g, uint64_t features)
{
	fake_guest_set(g, 0x024, 0);
	fake_guest_set(g, 0x020, (uint32_t)features);
	fake_guest_set(g, 0x024, 1);
	fake_guest_set(g, 0x020, (uint32_t)(features >> 32));
}

void fake_guest_setup_queue(struct fake_guest *g, unsigned int qi)
{
	g->q[qi].avail_idx = 0;
	g->q[qi].used_seen = 0;
	memset(fake_guest_at(g, FG_QUEUE(qi), 0x10000), 0, 0x10000);
	fake_guest_set(g, 0x030, qi);
	fake_guest_set(g, 0x038, g->q[qi].size);
	fake_guest_set(g, 0x080, FG_DESC(qi));
	fake_guest_set(g, 0x084, 0);
	fake_guest_set(g, 0x090, FG_AVAIL(qi));
	fake_guest_set(g, 0x094, 0);
	fake_guest_set(g, 0x0a0, FG_USED(qi));
	fake_guest_set(g, 0x0a4, 0);
	fake_guest_set(g, 0x044, 1);
}

void fake_guest_boot(struct fake_guest *g, uint64_t features)
{
	fake_guest_set(g, 0x070, 0);
	fake_guest_set(g, 0x070, 1);
	fake_guest_set(g, 0x070, 3);
	fake_guest_features(g, features);
	fake_guest_set(g, 0x070, 0xb);
	for (unsigned int i = 0; i < FG_QUEUES; i++)
		fake_guest_setup_queue(g, i);
	fake_guest_set(g, 0x070, 0xf);
}
