/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/signals.c - see signals.h */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/signals.h"

#define QUOTE_MAX 80
/*
 * The kernel's own first, which is what a guest's number means; libraries
 * keep two or three for themselves and begin behind them, at 34 or 35.
 */
#define RTMIN 34
#define RTMAX 64

/* Return: 1 to SIGNALS_LAST, or -1. */
static int number_of(const char *s, int min, int max)
{
	uint64_t n;

	return hutch_parse_uint("", s, (uint64_t)min, (uint64_t)max, &n, NULL) <
			       0
		       ? -1
		       : (int)n;
}

static int realtime(const char *s)
{
	int n;

	if (strncasecmp(s, "RTMIN", 5) == 0) {
		n = s[5] == '+' ? number_of(s + 6, 0, RTMAX - RTMIN)
		    : s[5]      ? -1
				: 0;
		return n < 0 ? -1 : RTMIN + n;
	}
	if (strncasecmp(s, "RTMAX", 5) == 0) {
		n = s[5] == '-' ? number_of(s + 6, 0, RTMAX - RTMIN)
		    : s[5]      ? -1
				: 0;
		return n < 0 ? -1 : RTMAX - n;
	}
	return -1;
}

static int by_name(const char *s)
{
	if (strncasecmp(s, "SIG", 3) == 0)
		s += 3;
	for (int i = 1; i <= SIGNALS_LAST; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(name, s) == 0)
			return i;
	}
	return realtime(s);
}

int signals_parse(const char *word, int *ret, struct hutch_err *e)
{
	int n = number_of(word, 1, SIGNALS_LAST);
	char q[QUOTE_MAX];

	if (n < 0)
		n = by_name(word);
	if (n < 0) {
		e->code = -EINVAL;
		(void)snprintf(e->msg, sizeof(e->msg),
			       "--signal: '%s' is no signal: write a name "
			       "such as TERM or a number from 1 to %d",
			       hutch_escape(q, sizeof(q), word, strlen(word)),
			       SIGNALS_LAST);
		return -EINVAL;
	}
	*ret = n;
	return 0;
}

char *signals_name(int signo, char buf[SIGNALS_NAME_MAX])
{
	const char *name = sigabbrev_np(signo);

	if (name)
		(void)snprintf(buf, SIGNALS_NAME_MAX, "SIG%s", name);
	else
		(void)snprintf(buf, SIGNALS_NAME_MAX, "signal %d", signo);
	return buf;
}
