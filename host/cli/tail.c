/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/tail.c - see follow.h */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "host/cli/tail.h"

static void end_by_sigpipe(void)
{
	(void)signal(SIGPIPE, SIG_DFL);
	(void)raise(SIGPIPE);
	/* Blocked, then. */
	_exit(128 + SIGPIPE);
}

/* @p: of our standard output, asked for nothing: it says this all the same. */
static bool reader_is_gone(const struct pollfd *p)
{
	return p->revents & (POLLERR | POLLHUP);
}

void tail_wait(int fd, short events)
{
	struct pollfd p[] = {
		{ .fd = fd, .events = events },
		{ .fd = STDOUT_FILENO },
	};

	(void)poll(p, ARRAY_LEN(p), -1);
	if (reader_is_gone(&p[1]))
		end_by_sigpipe();
}

void tail_flush(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	/* It may have failed before, and errno be that of another call. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && poll(&p, 1, 0) > 0 &&
	    reader_is_gone(&p))
		end_by_sigpipe();
}
