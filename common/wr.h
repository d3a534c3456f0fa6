/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/wr.h - bounds-checked writer, the other half of rd.h
 *
 * A write that does not fit poisons the writer, so that a message is composed
 * in one run of calls and asked about once, with wr_end().
 */
#ifndef HUTCH_COMMON_WR_H
#define HUTCH_COMMON_WR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base.h"

/**
 * struct wr - Write position in a buffer the caller owns
 * @buf:	Start of the buffer
 * @len:	Bytes written so far
 * @cap:	Size of the buffer
 * @bad:	A write did not fit; sticky
 */
struct wr {
	uint8_t *buf;
	size_t len;
	size_t cap;
	bool bad;
};

static inline struct wr wr_init(void *buf, size_t cap)
{
	return (struct wr){ .buf = buf, .cap = cap };
}

void wr_bytes(struct wr *wr, const void *src, size_t len);
void wr_u8(struct wr *wr, uint8_t v);
void wr_le16(struct wr *wr, uint16_t v);
void wr_le32(struct wr *wr, uint32_t v);
void wr_le64(struct wr *wr, uint64_t v);

/** wr_str() - What rd_str() reads: le32 length, the bytes, one NUL */
void wr_str(struct wr *wr, const char *s);

/** wr_end() - Bytes written, or -EMSGSIZE if something did not fit */
MUST_CHECK ptrdiff_t wr_end(const struct wr *wr);

#endif
