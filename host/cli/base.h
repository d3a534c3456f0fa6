/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/base.h - the few macros the command line's files share */
#ifndef HUTCH_CLI_BASE_H
#define HUTCH_CLI_BASE_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The command line is a stranger to the rest of the tree: it sees libhutch's
 * public header and its own files, so it cannot borrow common/base.h.
 */
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))

#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK        __attribute__((warn_unused_result))
#define AUTO(fn)          __attribute__((cleanup(fn)))
#define AUTO_FREE         AUTO(cli_freep)
#define AUTO_FD           AUTO(cli_closep)

static inline void cli_freep(void *pp)
{
	free(*(void **)pp);
}

static inline void cli_closep(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

#endif
