/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/store.c - see store.h */
#include <stdlib.h>
#include <string.h>

#include "guest-agent/store.h"

#define RING_STEP   4096u
#define CHUNKS_STEP 16u

void store_init(struct store *s, struct store_pool *pool, size_t limit,
		size_t tail)
{
	*s = (struct store){ .pool = pool, .head_full = tail == 0 };
	s->head.limit = tail ? limit : 0;
	s->tail.limit = tail ? tail : limit;
}

static size_t pool_room(const struct store_pool *pool)
{
	return pool->max > pool->used ? pool->max - pool->used : 0;
}

/* What is sure comes at the cost of others, and beyond the limit if need be. */
static bool pool_take(struct store_pool *pool, size_t len, bool sure)
{
	bool room;

	do
		room = pool_room(pool) >= len;
	while (!room && pool->reclaim && pool->reclaim(pool));
	if (!room && !sure)
		return false;
	pool->used += len;
	return true;
}

static void pool_give(struct store_pool *pool, size_t len)
{
	bug_on(len > pool->used);
	pool->used -= len;
}

static void span_done(struct store *s, struct store_span *sp)
{
	pool_give(s->pool, sp->ring.cap + sp->size * sizeof(*sp->v));
	ring_done(&sp->ring);
	sp->ring.cap = 0;
	free(sp->v);
	sp->v = NULL;
	sp->first = 0;
	sp->n = 0;
	sp->size = 0;
}

/* Let the ring hold @want bytes, or as many as limit and pool allow. */
static void allow(struct store *s, struct store_span *sp, size_t want)
{
	struct ring *r = &sp->ring;

	while (r->cap < want && r->cap < sp->limit) {
		size_t cap = MIN(r->cap ? r->cap * 2 : RING_STEP, sp->limit);

		if (!pool_take(s->pool, cap - r->cap, cap <= STORE_SURE))
			return;
		r->cap = cap;
	}
}

/* Make one of each two of the older half. */
static void coalesce(struct store_span *sp)
{
	struct store_chunk *v = sp->v + sp->first;
	unsigned int half = sp->n / 2, kept = 0;

	for (unsigned int i = 0; i < half; i += 2)
		v[kept++] = v[i];
	memmove(v + kept, v + half, (sp->n - half) * sizeof(*v));
	sp->n -= half - kept;
}

/* Room for one more chunk behind the others. Return: false without memory */
static bool chunk_room(struct store *s, struct store_span *sp)
{
	unsigned int size = sp->size ? sp->size * 2 : CHUNKS_STEP;
	size_t more = (size - sp->size) * sizeof(*sp->v);
	struct store_chunk *v;

	if (sp->first + sp->n < sp->size)
		return true;
	if (sp->first > sp->size / 2) {
		memmove(sp->v, sp->v + sp->first, sp->n * sizeof(*sp->v));
		sp->first = 0;
		return true;
	}
	if (size > STORE_CHUNKS_MAX ||
	    !pool_take(s->pool, more, size <= STORE_CHUNKS_SURE)) {
		coalesce(sp);
		return true;
	}
	v = realloc(sp->v, size * sizeof(*v));
	if (!v) {
		pool_give(s->pool, more);
		if (sp->n)
			coalesce(sp);
		return sp->n > 0;
	}
	sp->v = v;
	sp->size = size;
	return true;
}

static bool add_chunk(struct store *s, struct store_span *sp,
		      const struct store_chunk *c)
{
	if (sp->n && sp->v[sp->first + sp->n - 1].seq == c->seq)
		return true;
	if (!chunk_room(s, sp))
		return false;
	sp->v[sp->first + sp->n++] = *c;
	return true;
}

/* Append what has room already. Return: false if it could not be kept */
static bool append(struct store *s, struct store_span *sp, const void *src,
		   size_t len, const struct store_chunk *c)
{
	if (sp->ring.len == 0) {
		sp->start = c->cursor;
		sp->first = 0;
		sp->n = 0;
	}
	return add_chunk(s, sp, c) &&
	       ring_put(&sp->ring, src, len) == (ptrdiff_t)len;
}

static void drop(struct store_span *sp, size_t len)
{
	ring_drop(&sp->ring, len);
	sp->start += len;
	while (sp->n > 1 && sp->v[sp->first + 1].cursor <= sp->start) {
		sp->first++;
		sp->n--;
	}
}

static size_t put_head(struct store *s, const uint8_t *p, size_t len,
		       const struct store_chunk *c)
{
	struct store_span *sp = &s->head;
	size_t n;

	allow(s, sp, sp->ring.len + len);
	n = MIN(len, ring_room(&sp->ring));
	if (n && !append(s, sp, p, n, c))
		n = 0;
	s->head_full = n < len;
	return n;
}

static void put_tail(struct store *s, const uint8_t *p, size_t len,
		     struct store_chunk *c)
{
	struct store_span *sp = &s->tail;
	size_t room;

	allow(s, sp, sp->ring.len + len);
	if (len > sp->ring.cap) {
		p += len - sp->ring.cap;
		c->cursor += len - sp->ring.cap;
		len = sp->ring.cap;
	}
	room = ring_room(&sp->ring);
	if (len > room)
		drop(sp, len - room);
	/* Without memory a gap would be left, so that all is cut. */
	if (!append(s, sp, p, len, c))
		span_done(s, sp);
}

void store_put(struct store *s, const void *src, size_t len, uint64_t time_ns,
	       uint64_t seq)
{
	struct store_chunk c = { .cursor = s->total,
				 .time_ns = time_ns,
				 .seq = seq };
	const uint8_t *p = src;
	size_t n = s->head_full ? 0 : put_head(s, p, len, &c);

	s->total += len;
	if (n == len)
		return;
	c.cursor += n;
	put_tail(s, p + n, len - n, &c);
}

static uint64_t span_end(const struct store_span *sp)
{
	return sp->start + sp->ring.len;
}

/* The span that has @cursor, or the first bytes after it; NULL if none. */
static const struct store_span *span_of(const struct store *s, uint64_t cursor)
{
	if (s->head.ring.len && cursor < span_end(&s->head))
		return &s->head;
	if (s->tail.ring.len && cursor < span_end(&s->tail))
		return &s->tail;
	return NULL;
}

bool store_find(const struct store *s, uint64_t cursor, struct store_piece *ret)
{
	const struct store_span *sp = span_of(s, cursor);
	const struct store_chunk *v;
	unsigned int lo = 0, hi;
	uint64_t end;

	if (cursor >= s->total)
		return false;
	if (!sp) {
		*ret = (struct store_piece){ .cursor = s->total };
		return true;
	}
	cursor = MAX(cursor, sp->start);
	v = sp->v + sp->first;
	/* The last chunk that begins at or before the cursor. */
	for (hi = sp->n; hi - lo > 1;) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (v[mid].cursor <= cursor)
			lo = mid;
		else
			hi = mid;
	}
	end = lo + 1 < sp->n ? v[lo + 1].cursor : span_end(sp);
	*ret = (struct store_piece){ .cursor = cursor,
				     .len = (size_t)(end - cursor),
				     .time_ns = v[lo].time_ns,
				     .seq = v[lo].seq };
	return true;
}

void store_copy(const struct store *s, uint64_t cursor, void *dst, size_t len)
{
	const struct store_span *sp = span_of(s, cursor);
	struct iovec iov[2];
	uint8_t *to = dst;
	size_t skip;
	int n;

	bug_on(!sp || cursor < sp->start || len > span_end(sp) - cursor);
	skip = (size_t)(cursor - sp->start);
	n = ring_peek(&sp->ring, iov);
	for (int i = 0; i < n && len; i++) {
		size_t off = MIN(skip, iov[i].iov_len);
		size_t part = MIN(iov[i].iov_len - off, len);

		memcpy(to, (const uint8_t *)iov[i].iov_base + off, part);
		skip -= off;
		to += part;
		len -= part;
	}
}

uint64_t store_cut(const struct store *s)
{
	return s->total - s->head.ring.len - s->tail.ring.len;
}

void store_done(struct store *s)
{
	if (!s->pool)
		return;
	span_done(s, &s->head);
	span_done(s, &s->tail);
}
