/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of the lab's protocol, and the byte queues that hold them. */
#ifndef HUTCH_LAB_FRAME_H
#define HUTCH_LAB_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct lab_buf - A queue of bytes that grows as needed
 * @p:		Heap memory, NULL while nothing was ever added
 * @head:	Offset of the first byte
 * @len:	Bytes in the queue
 * @cap:	Bytes allocated
 *
 * Its users bound it: by a window, or by not reading while it is long.
 */
struct lab_buf {
	uint8_t *p;
	size_t head;
	size_t len;
	size_t cap;
};

/**
 * struct lab_frame - One frame, in place in a queue
 * @payload:	First byte after the head; valid until the queue changes
 * @len:	Bytes at @payload
 * @session:	See proto.h
 * @type:	enum lab_type, unchecked
 * @arg:	See proto.h
 */
struct lab_frame {
	const uint8_t *payload;
	uint32_t len;
	uint16_t session;
	uint8_t type;
	uint8_t arg;
};

void lab_put16(uint8_t *p, uint16_t v);
void lab_put32(uint8_t *p, uint32_t v);
uint16_t lab_get16(const uint8_t *p);
uint32_t lab_get32(const uint8_t *p);

void lab_buf_done(struct lab_buf *b);
int lab_buf_add(struct lab_buf *b, const void *data, size_t len);
void lab_buf_drop(struct lab_buf *b, size_t len);
ssize_t lab_buf_fill(struct lab_buf *b, int fd, size_t max);
ssize_t lab_buf_flush(struct lab_buf *b, int fd, size_t max);

int lab_frame_put(struct lab_buf *b, const struct lab_frame *f);
int lab_frame_get(const struct lab_buf *b, struct lab_frame *ret);
void lab_frame_drop(struct lab_buf *b, const struct lab_frame *f);
int lab_frame_put_credit(struct lab_buf *b, uint16_t session, uint8_t stream,
			 uint32_t bytes);

#endif
