/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/check.c - what must be so, and what is told when it is not */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conform/conform.h"

/* Runs in a child, which says it all in one line on its stdout. */
__attribute__((noreturn, format(printf, 3, 4))) static void not_so(
	const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char buf[REPORT_MAX - 1];
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	len = strlen(buf);
	(void)snprintf(buf + len, sizeof(buf) - len, " (%s:%d)",
		       base ? base + 1 : file, line);
	len = strlen(buf);
	_exit(write(STDOUT_FILENO, buf, len) == (ssize_t)len ? 1 : 2);
}

static const char *name_of(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "an unknown error";
}

int must_ok(long r, const char *what, const char *file, int line)
{
	if (r < 0)
		not_so(file, line, "%s: want success, got %s", what,
		       name_of(errno));
	return (int)r;
}

void must_fail(int err, long r, const char *what, const char *file, int line)
{
	if (r >= 0)
		not_so(file, line, "%s: want %s, got success", what,
		       name_of(err));
	if (errno != err)
		not_so(file, line, "%s: want %s, got %s", what, name_of(err),
		       name_of(errno));
}

void must_eq(int64_t want, int64_t got, const char *what, const char *file,
	     int line)
{
	if (want != got)
		not_so(file, line,
		       "%s: want %" PRId64 " (%#" PRIo64 "), got %" PRId64
		       " (%#" PRIo64 ")",
		       what, want, (uint64_t)want, got, (uint64_t)got);
}

void is_false(const char *what, const char *file, int line)
{
	not_so(file, line, "not so: %s", what);
}
