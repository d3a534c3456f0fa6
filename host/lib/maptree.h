/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/maptree.h - trees in the mapped layout (common/mapped.h), on the host
 *
 * Their symlinks are regular files, so nothing here follows one of the host's.
 */
#ifndef HUTCH_HOST_LIB_MAPTREE_H
#define HUTCH_HOST_LIB_MAPTREE_H

#include <stdbool.h>

#include "common/err.h"

#define MAPTREE_LINKS_MAX 40  /* on the way, as Linux has it */
#define MAPTREE_DEPTH_MAX 256 /* of what is copied, as of an image */

/**
 * maptree_find() - A folder as a guest would find it, whose root the tree is
 * @root:	The tree's folder
 * @path:	Absolute; symlinks are followed, within the tree
 *
 * Return: a descriptor to read it; -ENOENT; -ENOTDIR; -ELOOP; or -errno
 */
MUST_CHECK int maptree_find(int root, const char *path);

/**
 * maptree_copy() - Copy all that is in a folder, and what the folder itself is
 * @from:	A folder, open to be read
 * @to:		An empty one, likewise
 *
 * One descriptor is open for each level.  Owners, modes, times and attributes
 * come along, holes stay holes, and so do files with several names, as far as
 * these are in the folder: beyond WIRE_TREE_LINKS_MAX, and where the way from
 * @to is longer than PATH_MAX, each name becomes a file of its own.
 *
 * Return: 0; -ELOOP if it is too deep; or -errno, with some of it copied
 */
MUST_CHECK int maptree_copy(int from, int to);

/** maptree_new_root() - What a new folder is to a guest: root's, mode 0755.
 *  Return: 0 or -errno
 */
MUST_CHECK int maptree_new_root(int fd);

/** maptree_is_empty() - Whether a folder, open to be read, has nothing in it */
bool maptree_is_empty(int fd);

#endif
