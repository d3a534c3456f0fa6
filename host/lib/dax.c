/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/dax.c - see dax.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "host/lib/dax.h"
#include "host/lib/internal.h"

#define QUOTE_MAX 80

static const char *const names[] = {
	[HUTCH_DAX_AUTO] = "auto",
	[HUTCH_DAX_NEVER] = "never",
	[HUTCH_DAX_INODE] = "inode",
	[HUTCH_DAX_ALWAYS] = "always",
};

const char *hutch_dax_name(enum hutch_dax dax)
{
	return (size_t)dax < ARRAY_LEN(names) ? names[dax] : "?";
}

int hutch_parse_dax(const char *what, const char *s, enum hutch_dax *ret,
		    struct hutch_err *e)
{
	char q[QUOTE_MAX];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(s, names[i]) != 0)
			continue;
		*ret = (enum hutch_dax)i;
		return 0;
	}
	return err_set(err_of(e), -EINVAL,
		       "%s: dax is auto, never, inode or always, not '%s'",
		       what, log_escape(q, sizeof(q), s, strlen(s)));
}

int dax_check(const char *what, enum hutch_dax dax, uint64_t window,
	      struct err *e)
{
	if ((size_t)dax >= ARRAY_LEN(names))
		return err_set(e, -EINVAL, "%s: dax %d is not known", what,
			       (int)dax);
	if (window && dax != HUTCH_DAX_INODE && dax != HUTCH_DAX_ALWAYS)
		return err_set(e, -EINVAL,
			       "%s: a window is for dax=inode or dax=always",
			       what);
	if (window && (window < HUTCH_WINDOW_MIN || window > HUTCH_WINDOW_MAX ||
		       window % HUTCH_WINDOW_STEP))
		return err_set(e, -EINVAL,
			       "%s: a window is 16M to 1G, in steps of 2M, not "
			       "%llu bytes",
			       what, (unsigned long long)window);
	return 0;
}
_Static_assert(HUTCH_WINDOW_MIN >> 20 == 16 && HUTCH_WINDOW_MAX >> 30 == 1 &&
		       HUTCH_WINDOW_STEP >> 20 == 2,
	       "the sentence says so");

const char *dax_words(enum hutch_dax dax, uint64_t window,
		      char buf[DAX_WORDS_MAX])
{
	int n = 0;

	buf[0] = '\0';
	if (dax != HUTCH_DAX_AUTO)
		n = snprintf(buf, DAX_WORDS_MAX, ",dax=%s",
			     hutch_dax_name(dax));
	if (n > 0 && window)
		(void)snprintf(buf + n, DAX_WORDS_MAX - (size_t)n,
			       ",window=%llu", (unsigned long long)window);
	return buf;
}
