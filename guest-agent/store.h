/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/store.h - what is kept of an output stream, bounded
 *
 * Bytes have cursors, counted from the first ever put.  Kept are the latest
 * ones, or the first ones and a few of the latest; what lies between is cut.
 * Chunks say when which bytes came, and, by a sequence number that two stores
 * share, in which order; when there are too many of them neighbours become
 * one, so that time and order grow coarse and nothing is lost.
 *
 * Memory is taken as bytes come.  Beyond the first STORE_SURE bytes of a span
 * it comes out of a pool that all stores share.
 */
#ifndef HUTCH_GUEST_AGENT_STORE_H
#define HUTCH_GUEST_AGENT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ring.h"

/* Kept of a stream however short memory is. */
#define STORE_SURE (16u << 10)

/* Chunks of a span at most; up to STORE_CHUNKS_SURE of them come at any rate. */
#define STORE_CHUNKS_MAX  1024u
#define STORE_CHUNKS_SURE 128u

/**
 * struct store_pool - Memory of all stores
 * @used:	Bytes that they have
 * @max:	Bytes that they may have together
 * @reclaim:	Give up a store that matters least. Return: false if none is
 *		left to give up.  NULL: none ever is
 */
struct store_pool {
	size_t used;
	size_t max;
	bool (*reclaim)(struct store_pool *pool);
};

/**
 * struct store_chunk - Bytes that came at one time
 * @cursor:	Of the first one; the next chunk's is the end
 * @seq:	Of two streams' chunks the lower one came first
 */
struct store_chunk {
	uint64_t cursor;
	uint64_t time_ns;
	uint64_t seq;
};

/**
 * struct store_span - Bytes without a gap
 * @limit:	At most so many
 * @start:	Cursor of the first byte, if there is one
 * @v:		@size chunks, of which @n from @first on are in use
 */
struct store_span {
	struct ring ring;
	size_t limit;
	uint64_t start;
	struct store_chunk *v;
	unsigned int first;
	unsigned int n;
	unsigned int size;
};

/**
 * struct store - All of a stream that is kept
 * @head:	The first bytes, if these are wanted
 * @tail:	The latest
 * @total:	Bytes ever put: the cursor of the next one
 * @head_full:	What comes goes to @tail
 */
struct store {
	struct store_pool *pool;
	struct store_span head;
	struct store_span tail;
	uint64_t total;
	bool head_full;
};

/**
 * struct store_piece - What store_find() found
 * @cursor:	Of the first byte; more than was asked for if some are cut
 * @len:	Bytes of one chunk; 0 if all up to @cursor is cut
 */
struct store_piece {
	uint64_t cursor;
	size_t len;
	uint64_t time_ns;
	uint64_t seq;
};

/**
 * store_init() - Allocates nothing
 * @limit:	Bytes to keep
 * @tail:	0: keep the latest; else keep the first, and of the rest the
 *		latest @tail bytes
 */
void store_init(struct store *s, struct store_pool *pool, size_t limit,
		size_t tail);

/** store_put() - Append bytes that came at @time_ns as number @seq */
void store_put(struct store *s, const void *src, size_t len, uint64_t time_ns,
	       uint64_t seq);

/** store_find() - What is kept from @cursor on. Return: false at the end */
bool store_find(const struct store *s, uint64_t cursor,
		struct store_piece *ret);

/** store_copy() - @len bytes from @cursor on, which store_find() has found */
void store_copy(const struct store *s, uint64_t cursor, void *dst, size_t len);

/** store_cut() - Bytes that are not kept */
uint64_t store_cut(const struct store *s);

/** store_done() - Give all memory back; what there was is cut */
void store_done(struct store *s);

#endif
