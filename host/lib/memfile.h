/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/memfile.h - a file in memory, to be handed to somebody */
#ifndef HUTCH_HOST_LIB_MEMFILE_H
#define HUTCH_HOST_LIB_MEMFILE_H

#include <stddef.h>

#include "common/err.h"

/**
 * memfile_make() - A memory file that holds @len bytes, at its beginning
 * @name:	For /proc; at most 100 bytes
 *
 * Return: a descriptor, close-on-exec; or -errno with a sentence
 */
MUST_CHECK int memfile_make(const char *name, const void *buf, size_t len,
			    struct err *e);

#endif
