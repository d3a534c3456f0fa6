/* SPDX-License-Identifier: Apache-2.0 */
/* host/keeper/lastwords.c - see lastwords.h */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "host/keeper/lastwords.h"

static void keep(struct lastwords *w, const char *buf, size_t len)
{
	size_t over;

	if (len > sizeof(w->buf)) {
		buf += len - sizeof(w->buf);
		len = sizeof(w->buf);
	}
	over = w->len + len;
	over -= MIN(over, sizeof(w->buf));
	memmove(w->buf, w->buf + over, w->len - over);
	w->len -= over;
	memcpy(w->buf + w->len, buf, len);
	w->len += len;
}

ssize_t lastwords_read(struct lastwords *w, int fd)
{
	char buf[512];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0)
		keep(w, buf, (size_t)n);
	return n < 0 ? -errno : n;
}

const char *lastwords_line(const struct lastwords *w, const char *me, char *buf,
			   size_t cap)
{
	const char *at = w->buf, *p;
	size_t len = w->len, own = strlen(me);

	while (len && at[len - 1] == '\n')
		len--;
	p = memrchr(at, '\n', len);
	if (p) {
		len -= (size_t)(p + 1 - at);
		at = p + 1;
	}
	if (len >= own && memcmp(at, me, own) == 0) {
		at += own;
		len -= own;
	}
	return log_escape(buf, cap, at, len);
}
