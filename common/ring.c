/* SPDX-License-Identifier: Apache-2.0 */
/* common/ring.c - see ring.h */
#include <errno.h>
#include <string.h>

#include "common/ring.h"

#define RING_MIN 4096u

static void give_back(const struct ring *r)
{
	if (r->secret && r->buf)
		explicit_bzero(r->buf, r->size);
	free(r->buf);
}

static int ring_grow(struct ring *r, size_t need)
{
	size_t size = r->size ? r->size : MIN(RING_MIN, r->cap);
	struct iovec iov[2];
	size_t at = 0;
	uint8_t *buf;
	int n;

	while (size < need)
		size = size > r->cap / 2 ? r->cap : size * 2;
	if (size == r->size)
		return 0;
	buf = malloc(size);
	if (!buf)
		return -ENOMEM;
	n = ring_peek(r, iov);
	for (int i = 0; i < n; i++) {
		memcpy(buf + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	give_back(r);
	r->buf = buf;
	r->size = size;
	r->head = 0;
	return 0;
}

ptrdiff_t ring_put(struct ring *r, const void *src, size_t len)
{
	size_t tail, first;
	int ret;

	len = MIN(len, ring_room(r));
	if (len == 0)
		return 0;
	ret = ring_grow(r, r->len + len);
	if (ret < 0)
		return ret;
	tail = r->head + r->len;
	if (tail >= r->size)
		tail -= r->size;
	first = MIN(len, r->size - tail);
	memcpy(r->buf + tail, src, first);
	memcpy(r->buf, (const uint8_t *)src + first, len - first);
	r->len += len;
	return (ptrdiff_t)len;
}

int ring_peek(const struct ring *r, struct iovec iov[2])
{
	size_t first;

	if (r->len == 0)
		return 0;
	first = MIN(r->len, r->size - r->head);
	iov[0] = (struct iovec){ .iov_base = r->buf + r->head,
				 .iov_len = first };
	if (first == r->len)
		return 1;
	iov[1] =
		(struct iovec){ .iov_base = r->buf, .iov_len = r->len - first };
	return 2;
}

void ring_drop(struct ring *r, size_t len)
{
	bug_on(len > r->len);
	r->len -= len;
	r->head += len;
	if (r->head >= r->size)
		r->head -= r->size;
	if (r->len == 0)
		r->head = 0;
}

void ring_done(struct ring *r)
{
	give_back(r);
	r->buf = NULL;
	r->size = 0;
	r->head = 0;
	r->len = 0;
}
