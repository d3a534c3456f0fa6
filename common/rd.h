/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/rd.h - bounds-checked reader over untrusted bytes
 *
 * The only way to take a message apart.  A failed read poisons the reader:
 * later reads return NULL or 0 too, so a parser may read a run of fields and
 * ask once, with rd_end(), whether the whole message was well formed.
 */
#ifndef HUTCH_COMMON_RD_H
#define HUTCH_COMMON_RD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base.h"

/**
 * struct rd - Read position in a buffer the caller owns
 * @p:		Next unread byte
 * @left:	Bytes from @p to the end
 * @bad:	A read has failed; sticky
 */
struct rd {
	const uint8_t *p;
	size_t left;
	bool bad;
};

static inline struct rd rd_init(const void *buf, size_t len)
{
	return (struct rd){ .p = buf, .left = len };
}

/** rd_bytes() - Next @len bytes, borrowed from the buffer; NULL if short */
const void *rd_bytes(struct rd *rd, size_t len);

/* The next integer; 0 if short, which rd_end() will tell. */
uint8_t rd_u8(struct rd *rd);
uint16_t rd_le16(struct rd *rd);
uint32_t rd_le32(struct rd *rd);
uint64_t rd_le64(struct rd *rd);

/**
 * rd_str() - Next string: le32 length, that many bytes, one NUL
 *
 * Return: the bytes in place, NUL-terminated and with no NUL inside, so that
 *         they can go to execve(2) without a copy; NULL if malformed
 */
const char *rd_str(struct rd *rd);

/** rd_end() - 0 if all was read and nothing failed, else -EBADMSG */
MUST_CHECK int rd_end(const struct rd *rd);

#endif
