/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/memfile.h - a file in memory, to be handed to somebody */
#ifndef HUTCH_HOST_LIB_MEMFILE_H
#define HUTCH_HOST_LIB_MEMFILE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

/**
 * memfile_make() - A memory file that holds @len bytes, at its beginning
 * @name:	For /proc; at most 100 bytes
 *
 * Return: a descriptor, close-on-exec; or -errno with a sentence
 */
MUST_CHECK int memfile_make(const char *name, const void *buf, size_t len,
			    struct err *e);

/**
 * memfile_read() - All of a file that somebody has handed to us, from its start
 * @fd:		Anything; a pipe would hold us up, and is none
 * @max:	Bytes it may have, at least 1
 * @ret:	Terminated; the caller's
 *
 * Return: its length, from 1 to @max; -EINVAL if it is no plain file of such a
 *         size; -ENOMEM
 */
MUST_CHECK ssize_t memfile_read(int fd, size_t max, char **ret);

#endif
