/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/tail.h - printing as things happen, as long as someone reads */
#ifndef HUTCH_CLI_TAIL_H
#define HUTCH_CLI_TAIL_H

#include "host/cli/base.h"

/**
 * tail_wait() - Wait until @fd is ready
 * @events:	For poll()
 *
 * If whoever reads our standard output goes away, or has gone, this program
 * ends by SIGPIPE, as it would at its next line, which may never come.
 */
void tail_wait(int fd, short events);

/**
 * tail_flush() - What was printed is to be seen now
 *
 * Ends by SIGPIPE too if nobody is there to see it, without a word, also where
 * the signal was ignored when we were started.
 */
void tail_flush(void);

#endif
