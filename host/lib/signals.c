/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/signals.c - signals by name and by number: hutch_parse_signal() */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "host/lib/internal.h"

#define QUOTE_MAX   80
#define SIGNAL_LAST 64 /* of Linux */
/*
 * The kernel's own first, which is what a guest's number means; libraries
 * keep two or three for themselves and begin behind them, at 34 or 35.
 */
#define RTMIN 34
#define RTMAX 64

/* Return: 1 to SIGNAL_LAST, or -1. */
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
	for (int i = 1; i <= SIGNAL_LAST; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(name, s) == 0)
			return i;
	}
	return realtime(s);
}

int hutch_parse_signal(const char *what, const char *s, int *ret,
		       struct hutch_err *e)
{
	int n = number_of(s, 1, SIGNAL_LAST);
	char q[QUOTE_MAX];

	if (n < 0)
		n = by_name(s);
	if (n < 0)
		return err_set(err_of(e), -EINVAL,
			       "%s: '%s' is no signal: write a name such as "
			       "TERM or a number from 1 to %d",
			       what, log_escape(q, sizeof(q), s, strlen(s)),
			       SIGNAL_LAST);
	*ret = n;
	return 0;
}
