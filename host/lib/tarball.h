/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/tarball.h - a tree of files as tar+zstd, and back
 *
 * What is written any tar reads: ustar, with pax records for what does not fit
 * that; one of them, a comment, is the number of a file that has several names.  What is read is only what is written here, in the same order: all
 * else is refused, so that the reader is small and needs no tables.
 */
#ifndef HUTCH_HOST_LIB_TARBALL_H
#define HUTCH_HOST_LIB_TARBALL_H

#include <nettle/sha2.h>
#include <stdbool.h>
#include <zstd.h>

#include "common/tree_links.h"
#include "common/treepath.h"
#include "common/wire_file.h"

#define TARBALL_BLOCK   512u
#define TARBALL_SHA_HEX 64 /* digits */
#define TARBALL_CHUNK   65536u
#define TARBALL_LINK    "hutch.link=" /* in a comment, and a number */
#define TARBALL_PAX_MAX (1u << 20)    /* bytes of an entry's pax records */

/**
 * struct tarball_out - One being written
 * @fd:		Borrowed
 * @left:	Bytes that the file under way still has to get
 * @at:		Bytes of it so far
 * @in_file:	There is one
 */
struct tarball_out {
	int fd;
	ZSTD_CCtx *z;
	struct sha256_ctx sha;
	uint64_t bytes;
	bool in_file;
	uint64_t size;
	uint64_t at;
	bool whole;
	unsigned int depth;
	struct tree_names names;
	struct treepath path;
	char pax[3 * TREEPATH_MAX];
	size_t pax_len;
	uint8_t buf[TARBALL_CHUNK];
};

/** tarball_out_new() - Begin; NULL if there is no memory */
struct tarball_out *tarball_out_new(int fd);

/** tarball_out_frame() - A frame of a tree. Return: 0; -errno, sentence */
MUST_CHECK int tarball_out_frame(struct tarball_out *t,
				 const struct wire_frame *f, struct err *e);

/**
 * tarball_out_end() - That was all
 * @sha:	Digest of what was written
 */
MUST_CHECK int tarball_out_end(struct tarball_out *t,
			       char sha[TARBALL_SHA_HEX + 1], struct err *e);

void tarball_out_free(struct tarball_out *t);

static inline void tarball_out_freep(struct tarball_out **t)
{
	tarball_out_free(*t);
}

/** tarball_frame_fn - Takes frames of a tree. Return: 0; -errno, sentence */
typedef int (*tarball_frame_fn)(void *arg, const void *head, size_t head_len,
				const void *data, size_t len, struct err *e);

/**
 * tarball_read() - Read one whole, and hand on the tree in it
 * @fd:		Read to its end
 * @sha:	Digest of what was read
 *
 * Return: 0; -EBADMSG with a sentence if it is none of ours, or damaged
 */
MUST_CHECK int tarball_read(int fd, tarball_frame_fn fn, void *arg,
			    char sha[TARBALL_SHA_HEX + 1], struct err *e);

/** tarball_sha_text() - The digest in hexadecimal digits */
void tarball_sha_text(struct sha256_ctx *ctx, char ret[TARBALL_SHA_HEX + 1]);

#endif
