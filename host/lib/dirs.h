/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/dirs.h - the state folders, and where programs are found */
#ifndef HUTCH_HOST_LIB_DIRS_H
#define HUTCH_HOST_LIB_DIRS_H

#include "common/err.h"

struct hutch;

/**
 * dirs_open() - Open the folder @path, making what is missing of it, 0700
 *
 * Return: a descriptor; -EPERM if it belongs to somebody else; or -errno
 */
MUST_CHECK int dirs_open(const char *path, struct err *e);

/** dirs_open_at() - The same for one name in an open folder */
MUST_CHECK int dirs_open_at(int dirfd, const char *name, struct err *e);

/** dirs_find() - hutch_path(), for a path that may be overridden by @given */
MUST_CHECK int dirs_find(const struct hutch *h, int what, const char *given,
			 char **ret, struct err *e);

/**
 * dirs_find_helper() - A program that is not ours: passt
 *
 * One beside our own, if the caller said where these are, or Debian's.
 *
 * Return: 0; -ENOENT with a sentence; -ENOMEM
 */
MUST_CHECK int dirs_find_helper(const struct hutch *h, const char *name,
				char **ret, struct err *e);

#endif
