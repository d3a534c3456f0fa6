/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/ring.h - bounded byte queue that grows as needed, up to a cap
 *
 * Memory is allocated on first use and doubled up to @cap, so that thousands
 * of idle queues cost nothing; an empty ring may give its memory back.
 */
#ifndef HUTCH_COMMON_RING_H
#define HUTCH_COMMON_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base.h"

/**
 * struct ring - First in, first out; zeroed plus @cap is a valid empty ring
 * @buf:	@size bytes, or NULL
 * @size:	Allocated now
 * @cap:	May be allocated at most
 * @head:	Index in @buf of the oldest byte
 * @len:	Bytes held
 * @secret:	Memory is overwritten before it is given back
 */
struct ring {
	uint8_t *buf;
	size_t size;
	size_t cap;
	size_t head;
	size_t len;
	bool secret;
};

static inline size_t ring_room(const struct ring *r)
{
	return r->cap - r->len;
}

/** ring_put() - Append as much as fits. Return: bytes taken, or -ENOMEM */
MUST_CHECK ptrdiff_t ring_put(struct ring *r, const void *src, size_t len);

/** ring_peek() - Up to two pieces of what is held. Return: how many */
int ring_peek(const struct ring *r, struct iovec iov[2]);

/** ring_drop() - Forget the oldest @len bytes, @len <= r->len */
void ring_drop(struct ring *r, size_t len);

/** ring_done() - Free the memory; the ring is then empty and usable */
void ring_done(struct ring *r);

#endif
