/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/margin.c - see margin.h */
#include <sys/stat.h>

#include "host/cli/margin.h"

void margin_init(struct margin *m, int out, int err)
{
	struct stat a, b;

	*m = (struct margin){ .shown[1] = isatty(err) };
	m->shown[0] = m->shown[1] && isatty(out) && fstat(out, &a) == 0 &&
		      fstat(err, &b) == 0 && a.st_rdev == b.st_rdev;
}

void margin_wrote(struct margin *m, unsigned int i, const void *p, size_t len)
{
	if (m->shown[i] && len > 0)
		m->in_line = ((const char *)p)[len - 1] != '\n';
}

const char *margin_break(struct margin *m)
{
	const char *s = m->in_line ? "\n" : "";

	m->in_line = false;
	return s;
}
