/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of the lab's protocol, and the byte queues that hold them. */
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto.h"

void lab_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

void lab_put32(uint8_t *p, uint32_t v)
{
	lab_put16(p, (uint16_t)v);
	lab_put16(p + 2, (uint16_t)(v >> 16));
}

uint16_t lab_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

uint32_t lab_get32(const uint8_t *p)
{
	return lab_get16(p) | (uint32_t)lab_get16(p + 2) << 16;
}

void lab_buf_done(struct lab_buf *b)
{
	free(b->p);
	*b = (struct lab_buf){ 0 };
}

/* Makes room for len more bytes behind the last one. */
static int buf_reserve(struct lab_buf *b, size_t len)
{
	size_t cap = b->cap ? b->cap : 4096;
	uint8_t *p;

	if (b->cap - b->head - b->len >= len)
		return 0;
	if (b->head) {
		memmove(b->p, b->p + b->head, b->len);
		b->head = 0;
	}
	while (cap - b->len < len)
		cap *= 2;
	if (cap == b->cap)
		return 0;
	p = realloc(b->p, cap);
	if (!p)
		return -ENOMEM;
	b->p = p;
	b->cap = cap;
	return 0;
}

/**
 * lab_buf_add() - Append bytes
 * @b:		Queue
 * @data:	What to append; NULL only if @len is 0
 * @len:	Bytes
 *
 * Return: 0, or -ENOMEM.
 */
int lab_buf_add(struct lab_buf *b, const void *data, size_t len)
{
	int r;

	if (!len)
		return 0;
	r = buf_reserve(b, len);
	if (r < 0)
		return r;
	memcpy(b->p + b->head + b->len, data, len);
	b->len += len;
	return 0;
}

/**
 * lab_buf_drop() - Take bytes off the front
 * @b:		Queue
 * @len:	Bytes, no more than there are
 */
void lab_buf_drop(struct lab_buf *b, size_t len)
{
	b->head += len;
	b->len -= len;
	if (!b->len)
		b->head = 0;
}

/**
 * lab_buf_fill() - Read once from a descriptor
 * @b:		Queue to append to
 * @fd:		Descriptor
 * @max:	Most bytes to read
 *
 * Return: bytes read, 0 at the end of the file, -errno.
 */
ssize_t lab_buf_fill(struct lab_buf *b, int fd, size_t max)
{
	ssize_t n;
	int r;

	r = buf_reserve(b, max);
	if (r < 0)
		return r;
	n = read(fd, b->p + b->head + b->len, max);
	if (n < 0)
		return -errno;
	b->len += (size_t)n;
	return n;
}

/**
 * lab_buf_flush() - Write once to a descriptor
 * @b:		Queue to take from, not empty
 * @fd:		Descriptor
 * @max:	Most bytes to write
 *
 * Return: bytes written, -errno.
 */
ssize_t lab_buf_flush(struct lab_buf *b, int fd, size_t max)
{
	ssize_t n;

	n = write(fd, b->p + b->head, b->len < max ? b->len : max);
	if (n < 0)
		return -errno;
	lab_buf_drop(b, (size_t)n);
	return n;
}

/**
 * lab_frame_put() - Append a frame
 * @b:		Queue
 * @f:		Frame; its length is at most LAB_PAYLOAD_MAX
 *
 * Return: 0, -EMSGSIZE, -ENOMEM.
 */
int lab_frame_put(struct lab_buf *b, const struct lab_frame *f)
{
	uint8_t head[LAB_HEAD];
	int r;

	if (f->len > LAB_PAYLOAD_MAX)
		return -EMSGSIZE;
	r = buf_reserve(b, LAB_HEAD + f->len);
	if (r < 0)
		return r;
	lab_put32(head, f->len);
	lab_put16(head + 4, f->session);
	head[6] = f->type;
	head[7] = f->arg;
	r = lab_buf_add(b, head, sizeof(head));
	return r < 0 ? r : lab_buf_add(b, f->payload, f->len);
}

/**
 * lab_frame_get() - Look at the first frame
 * @b:		Queue
 * @ret:	Set if there is a whole frame
 *
 * Return: 1 if there is a frame, 0 if more bytes are needed, -EBADMSG if what
 *         is there can be no frame.
 */
int lab_frame_get(const struct lab_buf *b, struct lab_frame *ret)
{
	const uint8_t *p = b->p + b->head;
	uint32_t len;

	if (b->len < LAB_HEAD)
		return 0;
	len = lab_get32(p);
	if (len > LAB_PAYLOAD_MAX)
		return -EBADMSG;
	if (b->len - LAB_HEAD < len)
		return 0;
	*ret = (struct lab_frame){
		.payload = p + LAB_HEAD,
		.len = len,
		.session = lab_get16(p + 4),
		.type = p[6],
		.arg = p[7],
	};
	return 1;
}

/**
 * lab_frame_drop() - Take off the frame that lab_frame_get() gave
 * @b:		Queue, unchanged since
 * @f:		Frame; its payload is no longer valid
 */
void lab_frame_drop(struct lab_buf *b, const struct lab_frame *f)
{
	lab_buf_drop(b, LAB_HEAD + f->len);
}

/**
 * lab_frame_put_credit() - Append a LAB_CREDIT frame
 * @b:		Queue
 * @session:	See proto.h
 * @stream:	0, 1 or 2
 * @bytes:	Bytes of the stream that were taken
 *
 * Return: as lab_frame_put().
 */
int lab_frame_put_credit(struct lab_buf *b, uint16_t session, uint8_t stream,
			 uint32_t bytes)
{
	uint8_t p[4];

	lab_put32(p, bytes);
	return lab_frame_put(b, &(struct lab_frame){
					.payload = p,
					.len = sizeof(p),
					.session = session,
					.type = LAB_CREDIT,
					.arg = stream,
				});
}
