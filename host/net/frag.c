/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/frag.c - see frag.h */
#include <errno.h>
#include <string.h>

#include "host/net/frag.h"

static void drop(struct frag_datagram *d)
{
	free(d->buf);
	memset(d, 0, sizeof(*d));
}

/* A buffer that is handed out, or too old, is free. */
static void expire(struct frags *fs, uint64_t now_ns)
{
	for (unsigned int i = 0; i < FRAG_DATAGRAMS_MAX; i++) {
		struct frag_datagram *d = &fs->slot[i];

		if (d->buf && ((d->total && d->have == d->total) ||
			       now_ns - d->since_ns > FRAG_TIMEOUT_NS))
			drop(d);
	}
}

static bool belongs(const struct frag_datagram *d, const struct packet *p)
{
	return d->buf && d->head.v6 == p->v6 && d->head.frag_id == p->frag_id &&
	       (p->v6 || d->head.proto == p->proto) &&
	       addr_eq(&d->head.src, &p->src) && addr_eq(&d->head.dst, &p->dst);
}

/* The datagram that @p is of; a new one, in the oldest's place if need be. */
static struct frag_datagram *find(struct frags *fs, const struct packet *p,
				  uint64_t now_ns)
{
	struct frag_datagram *best = &fs->slot[0];

	for (unsigned int i = 0; i < FRAG_DATAGRAMS_MAX; i++) {
		struct frag_datagram *d = &fs->slot[i];

		if (belongs(d, p))
			return d;
		if (best->buf && (!d->buf || d->since_ns < best->since_ns))
			best = d;
	}
	drop(best);
	best->buf = malloc(FRAG_BYTES_MAX);
	best->head = *p;
	best->since_ns = now_ns;
	return best->buf ? best : NULL;
}

static bool overlaps(const struct frag_datagram *d, uint32_t from, uint32_t to)
{
	for (unsigned int i = 0; i < d->n_pieces; i++)
		if (from < d->piece[i].to && d->piece[i].from < to)
			return true;
	return false;
}

/* Whether it fits with the pieces that have come. */
static bool fits(const struct frag_datagram *d, const struct packet *p)
{
	uint32_t from = p->frag_off, to;

	if (p->l4_len == 0 || p->l4_len > FRAG_BYTES_MAX - from)
		return false;
	to = from + (uint32_t)p->l4_len;
	/* Offsets count in eights: all but the last are multiples of it. */
	if (p->frag_more ? p->l4_len % 8 != 0 : d->total != 0)
		return false;
	if (d->total && to > d->total)
		return false;
	for (unsigned int i = 0; !p->frag_more && i < d->n_pieces; i++)
		if (d->piece[i].to > to)
			return false;
	return d->n_pieces < FRAG_PIECES_MAX && !overlaps(d, from, to);
}

int frags_add(struct frags *fs, struct packet *p, uint64_t now_ns)
{
	struct frag_datagram *d;

	expire(fs, now_ns);
	d = find(fs, p, now_ns);
	if (!d)
		return -ENOMEM;
	if (d->poisoned || !fits(d, p)) {
		d->poisoned = true;
		return -EBADMSG;
	}
	memcpy(d->buf + p->frag_off, p->l4, p->l4_len);
	d->piece[d->n_pieces++] = (struct frag_piece){
		.from = p->frag_off,
		.to = p->frag_off + (uint32_t)p->l4_len,
	};
	d->have += (uint32_t)p->l4_len;
	/* In IPv6 the first piece alone says what it is a piece of. */
	if (p->frag_off == 0)
		d->head = *p;
	if (!p->frag_more)
		d->total = p->frag_off + (uint32_t)p->l4_len;
	if (d->total == 0 || d->have < d->total)
		return 0;
	*p = d->head;
	p->frag = false;
	p->l4 = d->buf;
	p->l4_len = d->total;
	return 1;
}

void frags_done(struct frags *fs)
{
	for (unsigned int i = 0; i < FRAG_DATAGRAMS_MAX; i++)
		drop(&fs->slot[i]);
}
