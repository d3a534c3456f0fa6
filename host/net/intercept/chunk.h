/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/intercept/chunk.h - a body in chunks, strictly (RFC 9112, 7.1)
 *
 * Debian's libhttp-parser is built without its strict checks: it skips whatever
 * two bytes follow a chunk's data.
 */
#ifndef HUTCH_HOST_NET_INTERCEPT_CHUNK_H
#define HUTCH_HOST_NET_INTERCEPT_CHUNK_H

#include <stdbool.h>

#include "common/base.h"

#define CHUNK_DIGITS_MAX 15u   /* of a size, in hexadecimal */
#define CHUNK_EXTRA_MAX  4096u /* bytes of extensions of one, and of trailers */

/** struct chunk - Where one is; all zero at first */
struct chunk {
	enum {
		CHUNK_SIZE,
		CHUNK_EXT,
		CHUNK_SIZE_LF,
		CHUNK_DATA,
		CHUNK_DATA_CR,
		CHUNK_DATA_LF,
		CHUNK_TRAILER,
		CHUNK_TRAILER_LINE,
		CHUNK_TRAILER_LF,
		CHUNK_END_LF,
		CHUNK_DONE
	} state;
	uint64_t left;
	unsigned int n_digits;
	unsigned int n_extra;
};

/**
 * chunk_feed() - Read on, up to the end of the next piece of data
 * @data:	Set to the piece, within @p, of *@ret_len bytes; 0: none yet
 *
 * Trailers are left out.
 *
 * Return: how many bytes were read, of which none is behind the body; -EBADMSG
 */
MUST_CHECK ptrdiff_t chunk_feed(struct chunk *c, const char *p, size_t n,
				const char **data, size_t *ret_len);

#endif
