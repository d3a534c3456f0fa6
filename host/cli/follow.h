/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/follow.h - printing as things happen, as long as someone reads */
#ifndef HUTCH_CLI_FOLLOW_H
#define HUTCH_CLI_FOLLOW_H

#include "host/cli/base.h"

/**
 * follow_wait() - Wait until @fd is ready
 * @events:	For poll()
 *
 * If whoever reads our standard output goes away, or has gone, this program
 * ends by SIGPIPE, as it would at its next line, which may never come.
 */
void follow_wait(int fd, short events);

/**
 * follow_flush() - What was printed is to be seen now
 *
 * Ends by SIGPIPE too if nobody is there to see it, without a word, also where
 * the signal was ignored when we were started.
 */
void follow_flush(void);

#endif
