/* SPDX-License-Identifier: Apache-2.0 */
/* common/beneath.h - open what is in a folder, and nothing that is not */
#ifndef HUTCH_COMMON_BENEATH_H
#define HUTCH_COMMON_BENEATH_H

#include <sys/types.h>

#include "common/base.h"

/**
 * beneath_open() - By openat2(), with no symlink followed and no mount entered
 * @path:	From @dirfd on, without "..", shorter than PATH_MAX
 * @flags:	Of open(); O_CLOEXEC and O_NOFOLLOW are added, and what keeps a
 *		FIFO or a terminal from holding us up
 *
 * Return: a descriptor; -EXDEV, -ELOOP or -errno
 */
MUST_CHECK int beneath_open(int dirfd, const char *path, int flags,
			    mode_t mode);

/**
 * beneath_steps() - One whose path may be longer than the kernel takes
 * @p:		The path, which is the same again afterwards
 *
 * Return: as beneath_open(); -ENAMETOOLONG if a name is too long
 */
MUST_CHECK int beneath_steps(int dirfd, char *p, size_t len, int flags,
			     mode_t mode);

#endif
