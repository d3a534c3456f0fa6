/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/unpack.h - one tar, maybe packed, into a tree: a layer of an image
 *
 * How it works.  A layer says by whiteouts what is gone of those below it, and
 * they may stand anywhere in the tar.  So a layer that is not the lowest is
 * read twice: first for whiteouts, which then can only meet files from below,
 * and again for the files.  Both times all of it is hashed; what comes out is
 * thrown away by the caller if a digest is not the expected one.
 */
#ifndef HUTCH_HOST_IMAGE_UNPACK_H
#define HUTCH_HOST_IMAGE_UNPACK_H

#include "common/err.h"
#include "host/image/sha.h"
#include "host/image/stream.h"

/**
 * struct unpack_job - What is to be done
 * @src_fd:	The tar; read from its beginning, so it must be seekable
 * @tree_fd:	Folder in the mapped layout
 * @upper:	There are layers below
 * @want_end:	No digest will tell that it was cut: want the zero block that
 *		ends a tar
 * @max_bytes:	Of files' contents
 * @max_entries: Files and all else
 * @used_bytes:	Of @max_bytes, by the layers below
 * @used_entries: The same of @max_entries
 */
struct unpack_job {
	int src_fd;
	int tree_fd;
	bool upper;
	bool want_end;
	uint64_t max_bytes;
	uint64_t max_entries;
	uint64_t used_bytes;
	uint64_t used_entries;
};

/**
 * struct unpack_result - What has been done
 * @bytes:	Of files' contents, without holes, by the layers below as well
 * @entries:	Made, the same
 * @packed:	Digest of the tar as it was
 * @plain:	And unpacked: the diff id
 */
struct unpack_result {
	uint64_t bytes;
	uint64_t entries;
	char packed[SHA_HEX + 1];
	char plain[SHA_HEX + 1];
};

/**
 * unpack_run() - Do it, in this process: see unpack_in_jail() for the safe way
 *
 * Return: 0; -EPERM for a hostile entry, -E2BIG beyond a limit, -EBADMSG if it
 *         is damaged, or -errno; the sentence names the entry.  Then the tree
 *         is in no defined state.
 */
MUST_CHECK int unpack_run(const struct unpack_job *job, stream_fn *fn,
			  void *arg, struct unpack_result *ret, struct err *e);

#endif
