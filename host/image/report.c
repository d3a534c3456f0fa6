/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/report.c - see report.h */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "host/image/report.h"
#include "host/lib/hutch.h"
#include "host/lib/imagework.h"

static void put(const struct report *rp, const char *line, int len)
{
	/* If nobody reads, libhutch is gone: SIGPIPE has ended us. */
	if (rp->fd < 0 || len <= 0 || len >= IMAGEWORK_LINE_MAX)
		return;
	if (io_write_full(rp->fd, line, (size_t)len) < 0)
		_exit(1);
}

void report_step(const struct report *rp, int step, const char *what,
		 uint64_t done, uint64_t total)
{
	char line[IMAGEWORK_LINE_MAX];
	int n = snprintf(line, sizeof(line), "step %d %llu %llu %s\n", step,
			 (unsigned long long)done, (unsigned long long)total,
			 what);

	put(rp, line, n);
}

void report_note(const struct report *rp, const char *fmt, ...)
{
	char text[IMAGEWORK_LINE_MAX - 64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		report_step(rp, HUTCH_IMAGE_STEP_NOTE, text, 0, 0);
}

void report_end(const struct report *rp, int r, const struct err *e,
		const char *id)
{
	char line[IMAGEWORK_LINE_MAX];
	int n = r < 0 ? snprintf(line, sizeof(line), "failed %d %s\n", -r,
				 e->msg)
		      : snprintf(line, sizeof(line), "image %s\n", id);

	put(rp, line, n);
}
