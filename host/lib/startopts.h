/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/startopts.h - options of hutch_start(): checked, and on record */
#ifndef HUTCH_HOST_LIB_STARTOPTS_H
#define HUTCH_HOST_LIB_STARTOPTS_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/hutch.h"

/**
 * startopts_check() - 0, or -EINVAL with a sentence about what is wrong
 * @has_ret:	Whether the caller takes a handle
 */
MUST_CHECK int startopts_check(const struct hutch_start_opts *o, bool has_ret,
			       struct err *e);

struct mounts;

/** startopts_record() - A new VM's record. Return: 0 or -ENOMEM */
MUST_CHECK int startopts_record(const struct hutch_start_opts *o,
				const struct mounts *mounts, const char *name,
				const char *kernel, struct hutch_record **ret);

/** startopts_hex() - @digits random ones, at most HUTCH_ID_LEN, and a NUL */
void startopts_hex(char *buf, size_t digits);

#endif
