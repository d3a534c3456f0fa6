/* SPDX-License-Identifier: Apache-2.0 */
/* common/treesize.h - how much there is in a tree, as a quota counts it */
#ifndef HUTCH_COMMON_TREESIZE_H
#define HUTCH_COMMON_TREESIZE_H

#include <stdint.h>

#include "common/base.h"

#define TREESIZE_BLOCK 4096u

/* Of a quota of bytes alone: it has an inode for so many. */
#define TREESIZE_INODE_BYTES 16384u

/**
 * struct treesize - What there is, the root included
 * @bytes:	Sizes of files and folders, each in blocks of TREESIZE_BLOCK
 * @inodes:	Files and folders, however many names they have
 */
struct treesize {
	uint64_t bytes;
	uint64_t inodes;
};

/**
 * treesize_count() - Count all that is in the tree
 * @root_fd:	Its folder; O_PATH will do
 *
 * In memory that grows with the depth of the tree alone.  What is mounted in it
 * is left out, and what goes meanwhile may be.
 *
 * Return: 0 or -errno
 */
MUST_CHECK int treesize_count(int root_fd, struct treesize *ret);

/** treesize_blocks() - @size, rounded up to blocks; SIZE_MAX stays near itself */
static inline uint64_t treesize_blocks(uint64_t size)
{
	uint64_t rest = size % TREESIZE_BLOCK;

	return rest && size <= INT64_MAX ? size - rest + TREESIZE_BLOCK : size;
}

#endif
