/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/stream.h - a blob, read once: unpacked, and both digests known
 *
 * libarchive's filters undo gzip, zstd, xz and bzip2.  What is read is hashed
 * as it is, what comes out once more: the digest of the blob and that of the
 * layer in it.
 */
#ifndef HUTCH_HOST_IMAGE_STREAM_H
#define HUTCH_HOST_IMAGE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "host/image/sha.h"

struct archive;

#define STREAM_CHUNK 65536u

/** Called with the bytes of the blob that have been read. */
typedef void stream_fn(void *arg, uint64_t done);

/**
 * struct stream - A blob being read
 * @fd:		Borrowed; at its beginning
 * @max:	More plain bytes are refused
 * @err:	errno of a failed read, or 0
 * @fn:		May be NULL; set after stream_open()
 */
struct stream {
	int fd;
	struct archive *a;
	struct sha packed;
	struct sha plain;
	uint64_t n_packed;
	uint64_t n_plain;
	uint64_t max;
	bool end;
	int err;
	stream_fn *fn;
	void *arg;
	uint8_t buf[STREAM_CHUNK];
};

/** stream_open() - Begin to read @fd. Return: 0 or -errno with a sentence */
MUST_CHECK int stream_open(struct stream *s, int fd, uint64_t max,
			   struct err *e);

/** stream_close() - Free what it holds; takes a half-open one */
void stream_close(struct stream *s);

/**
 * stream_next() - The next plain bytes, which last until the next call
 *
 * Return: how many, 0 at the end; or -errno with a sentence
 */
MUST_CHECK ptrdiff_t stream_next(struct stream *s, const void **ret,
				 struct err *e);

/** stream_finish() - Read what is left, so that both digests are whole */
MUST_CHECK int stream_finish(struct stream *s, char packed[SHA_HEX + 1],
			     char plain[SHA_HEX + 1], struct err *e);

#endif
