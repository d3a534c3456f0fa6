/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/tail.c - see follow.h */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "host/cli/tail.h"

static void end_by_sigpipe(void)
{
	(void)signal(SIGPIPE, SIG_DFL);
	(void)raise(SIGPIPE);
	/* Blocked, then. */
	_exit(128 + SIGPIPE);
}

void tail_wait(int fd, short events)
{
	struct pollfd p[] = {
		{ .fd = fd, .events = events },
		/* Asked for nothing, it says when the other end is closed. */
		{ .fd = STDOUT_FILENO },
	};

	(void)poll(p, ARRAY_LEN(p), -1);
	if (p[1].revents & (POLLERR | POLLHUP))
		end_by_sigpipe();
}

void tail_flush(void)
{
	if (fflush(stdout) != 0 && errno == EPIPE)
		end_by_sigpipe();
}
