/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/queue.c - see queue.h; ring layouts are virtio 1.2, 2.7.5-2.7.8 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "vmm/virtio/queue.h"

/* Both rings: flags, index, then the entries, then the other side's event. */
#define RING_FLAGS   0u
#define RING_IDX     2u
#define RING_ENTRIES 4u

/* Bytes of a window that are copied at once. */
#define KEEP_LEN 4096u

struct virtq_used_elem {
	le32 id;
	le32 len;
};
_Static_assert(sizeof(struct virtq_used_elem) == 8, "virtio 1.2, 2.7.8");

static uint64_t avail_entry(const struct virtq *q, unsigned int slot)
{
	return q->avail + RING_ENTRIES + 2ull * slot;
}

static uint64_t used_entry(const struct virtq *q, unsigned int slot)
{
	return q->used + RING_ENTRIES + sizeof(struct virtq_used_elem) * slot;
}

/* Behind the last entry: 2.7.6 and 2.7.8. */
static uint64_t used_event(const struct virtq *q)
{
	return avail_entry(q, q->size);
}

static uint64_t avail_event(const struct virtq *q)
{
	return used_entry(q, q->size);
}

int virtq_check(const struct virtq *q)
{
	if (q->size == 0 || q->size > VIRTQ_SIZE_MAX ||
	    (q->size & (q->size - 1)))
		return -EINVAL;
	if (q->desc % VIRTQ_DESC_ALIGN || q->avail % VIRTQ_AVAIL_ALIGN ||
	    q->used % VIRTQ_USED_ALIGN)
		return -EINVAL;
	if (gmem_check(q->mem, q->desc, sizeof(struct virtq_desc) * q->size) ||
	    gmem_check(q->mem, q->avail, RING_ENTRIES + 2ull * q->size + 2) ||
	    gmem_check(q->mem, q->used, RING_ENTRIES + 8ull * q->size + 2))
		return -EFAULT;
	return 0;
}

/**
 * struct walk - Where a walk along a chain is
 * @table:	Guest physical address of the table it is in
 * @n:		Entries of that table
 * @i:		Next entry to look at
 * @left:	Entries it may still look at, over both tables
 * @indirect:	It is in the indirect table, out of which nothing leads
 * @seen_in:	A writable descriptor has gone by
 */
struct walk {
	uint64_t table;
	uint32_t n;
	uint16_t i;
	unsigned int left;
	bool indirect;
	bool seen_in;
};

static int chain_add(const struct virtq *q, struct virtq_chain *c,
		     struct walk *w, const struct virtq_desc *d)
{
	bool in = le16_get(d->flags) & VIRTQ_DESC_F_WRITE;
	uint32_t len = le32_get(d->len);

	/* Readable before writable: 2.7.4.2. */
	if (!in && w->seen_in)
		return -EBADMSG;
	w->seen_in = in;
	if (len == 0)
		return 0;
	if (gmem_iov(q->mem, le64_get(d->addr), len,
		     &c->iov[c->n_out + c->n_in]))
		return -EBADMSG;
	if (q->mem->n_windows)
		c->mem = q->mem;
	/* 1,024 lengths below 4 GiB each: size_t cannot overflow. */
	if (in) {
		c->n_in++;
		c->in_len += len;
	} else {
		c->n_out++;
		c->out_len += len;
	}
	return 0;
}

/* One table, all of it in RAM, not nested, and nothing after it: 2.7.5.3. */
static int enter_indirect(const struct virtq *q, struct walk *w,
			  const struct virtq_desc *d)
{
	uint32_t len = le32_get(d->len);

	if (!q->indirect || w->indirect ||
	    le16_get(d->flags) & VIRTQ_DESC_F_NEXT)
		return -EBADMSG;
	if (len == 0 || len % sizeof(*d) || len / sizeof(*d) > q->size)
		return -EBADMSG;
	if (gmem_check(q->mem, le64_get(d->addr), len))
		return -EBADMSG;
	w->table = le64_get(d->addr);
	w->n = (uint32_t)(len / sizeof(*d));
	w->i = 0;
	w->indirect = true;
	return 0;
}

/* At most one step per queue entry: a loop runs out, it cannot spin. */
static int chain_walk(const struct virtq *q, struct virtq_chain *c)
{
	struct walk w = {
		.table = q->desc,
		.n = q->size,
		.i = c->head,
		.left = q->size,
	};

	while (w.left > 0) {
		struct virtq_desc d;
		unsigned int flags;

		if (w.i >= w.n ||
		    gmem_read(q->mem, w.table + sizeof(d) * w.i, &d, sizeof(d)))
			return -EBADMSG;
		flags = le16_get(d.flags);
		if (flags & VIRTQ_DESC_F_INDIRECT) {
			if (enter_indirect(q, &w, &d))
				return -EBADMSG;
			continue; /* happens once, so it costs no step */
		}
		if (chain_add(q, c, &w, &d))
			return -EBADMSG;
		if (!(flags & VIRTQ_DESC_F_NEXT))
			return 0;
		w.i = le16_get(d.next);
		w.left--;
	}
	return -EBADMSG;
}

int virtq_waiting(const struct virtq *q)
{
	uint16_t idx;
	unsigned int n;

	if (!q->ready)
		return 0;
	if (gmem_load_le16(q->mem, q->avail + RING_IDX, &idx))
		return -EBADMSG;
	n = (uint16_t)(idx - q->next_avail);
	/* More requests outstanding than the ring can hold. */
	return n > q->size ? -EBADMSG : (int)n;
}

int virtq_pop(struct virtq *q, struct virtq_chain *c)
{
	int n = virtq_waiting(q);

	if (n <= 0)
		return n;
	c->n_out = 0;
	c->n_in = 0;
	c->out_len = 0;
	c->in_len = 0;
	c->mem = NULL;
	if (gmem_load_le16(q->mem, avail_entry(q, q->next_avail % q->size),
			   &c->head))
		return -EBADMSG;
	if (chain_walk(q, c))
		return -EBADMSG;
	q->next_avail++;
	return 1;
}

void virtq_unpop(struct virtq *q)
{
	q->next_avail--;
}

int virtq_push(struct virtq *q, uint16_t head, uint32_t written)
{
	struct virtq_used_elem u = {
		.id = le32_put(head),
		.len = le32_put(written),
	};

	if (gmem_write(q->mem, used_entry(q, q->next_used % q->size), &u,
		       sizeof(u)))
		return -EBADMSG;
	q->next_used++;
	return 0;
}

/* 2.7.7.2 and 2.7.10.1: did the index pass the one the driver waits for? */
static int wants_interrupt(const struct virtq *q, uint16_t old)
{
	uint16_t v;

	if (!q->event_idx) {
		if (gmem_load_le16(q->mem, q->avail + RING_FLAGS, &v))
			return -EBADMSG;
		return !(v & VIRTQ_AVAIL_F_NO_INTERRUPT);
	}
	if (gmem_load_le16(q->mem, used_event(q), &v))
		return -EBADMSG;
	return (uint16_t)(q->published - v - 1) <
	       (uint16_t)(q->published - old);
}

int virtq_publish(struct virtq *q)
{
	uint16_t old = q->published;

	if (old == q->next_used || !q->ready)
		return 0;
	/* The store is a release: the elements are visible before the index. */
	if (gmem_store_le16(q->mem, q->used + RING_IDX, q->next_used))
		return -EBADMSG;
	q->published = q->next_used;
	/*
	 * Store, then load of another address.  Without a full barrier the
	 * load may come first: the driver, which stores its event index and
	 * then looks at the used index, would see the old one, and we the old
	 * event: both sleep for ever.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	return wants_interrupt(q, old);
}

int virtq_arm(struct virtq *q)
{
	int r;

	if (!q->ready)
		return 0;
	if (q->event_idx)
		r = gmem_store_le16(q->mem, avail_event(q), q->next_avail);
	else
		r = gmem_store_le16(q->mem, q->used + RING_FLAGS, 0);
	if (r < 0)
		return -EBADMSG;
	/* As in virtq_publish(), with the roles exchanged. */
	atomic_thread_fence(memory_order_seq_cst);
	r = virtq_waiting(q);
	return r > 0 ? 1 : r;
}

/* With an event index nothing needs to be said: it stays where it was. */
int virtq_disarm(struct virtq *q)
{
	if (!q->ready || q->event_idx)
		return 0;
	if (gmem_store_le16(q->mem, q->used + RING_FLAGS,
			    VIRTQ_USED_F_NO_NOTIFY))
		return -EBADMSG;
	return 0;
}

static int slice(const struct iovec *part, unsigned int n, size_t off,
		 size_t len, struct iovec *iov, int max)
{
	int used = 0;

	for (unsigned int i = 0; i < n && len > 0 && used < max; i++) {
		size_t here;

		if (off >= part[i].iov_len) {
			off -= part[i].iov_len;
			continue;
		}
		here = MIN(part[i].iov_len - off, len);
		iov[used++] = (struct iovec){
			.iov_base = (uint8_t *)part[i].iov_base + off,
			.iov_len = here,
		};
		len -= here;
		off = 0;
	}
	return used;
}

int virtq_chain_out(const struct virtq_chain *c, size_t off, size_t len,
		    struct iovec *iov, int max)
{
	return slice(c->iov, c->n_out, off, len, iov, max);
}

int virtq_chain_in(const struct virtq_chain *c, size_t off, size_t len,
		   struct iovec *iov, int max)
{
	return slice(c->iov + c->n_out, c->n_in, off, len, iov, max);
}

size_t virtq_chain_get(const struct virtq_chain *c, size_t off, void *dst,
		       size_t len)
{
	struct iovec v;
	size_t done = 0;

	while (done < len &&
	       virtq_chain_out(c, off + done, len - done, &v, 1) == 1) {
		if (gmem_copy(c->mem, (uint8_t *)dst + done, v.iov_base,
			      v.iov_len) < 0)
			break;
		done += v.iov_len;
	}
	return done;
}

size_t virtq_chain_put(const struct virtq_chain *c, size_t off, const void *src,
		       size_t len)
{
	struct iovec v;
	size_t done = 0;

	while (done < len &&
	       virtq_chain_in(c, off + done, len - done, &v, 1) == 1) {
		if (gmem_copy(c->mem, v.iov_base, (const uint8_t *)src + done,
			      v.iov_len) < 0)
			break;
		done += v.iov_len;
	}
	return done;
}

/* What is in a window goes by way of a buffer, so @v may get shorter. */
static int keep_piece(const struct virtq_chain *c, struct iovec *v,
		      struct ring *ring)
{
	uint8_t buf[KEEP_LEN];
	const void *from = v->iov_base;
	ptrdiff_t n;

	if (c->mem && gmem_in_window(c->mem, from)) {
		v->iov_len = MIN(v->iov_len, sizeof(buf));
		if (gmem_copy(c->mem, buf, from, v->iov_len) < 0)
			return -EFAULT;
		from = buf;
	}
	n = ring_put(ring, from, v->iov_len);
	return n < 0 ? (int)n : 0;
}

int virtq_chain_keep(const struct virtq_chain *c, size_t off, size_t len,
		     struct ring *ring)
{
	struct iovec v;

	if (len > ring_room(ring))
		return -ENOSPC;
	while (len > 0 && virtq_chain_out(c, off, len, &v, 1) == 1) {
		int r = keep_piece(c, &v, ring);

		if (r < 0)
			return r;
		off += v.iov_len;
		len -= v.iov_len;
	}
	return len > 0 ? -ENOSPC : 0;
}
