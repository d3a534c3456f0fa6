/* SPDX-License-Identifier: Apache-2.0 */
/* common/log.c - see log.h */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"

static const int kmsg_priority[] = {
	[LOG_LEVEL_ERR] = 3,
	[LOG_LEVEL_WARN] = 4,
	[LOG_LEVEL_INFO] = 6,
	[LOG_LEVEL_DEBUG] = 7,
};

void log_at(const struct log *log, enum log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	size_t len = 0;
	va_list ap;
	int n;

	if (log->fd < 0 || level > log->level)
		return;
	n = log->kmsg ? snprintf(line, sizeof(line), "<%d>%s",
				 kmsg_priority[level], log->prefix)
		      : snprintf(line, sizeof(line), "%s", log->prefix);
	if (n > 0)
		len = MIN((size_t)n, sizeof(line) - 2);
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	va_end(ap);
	if (n > 0)
		len = MIN(len + (size_t)n, sizeof(line) - 2);
	line[len++] = '\n';
	/* Nowhere is left to report a log that cannot be written. */
	if (write(log->fd, line, len) < 0)
		return;
}

/* Length of the well-formed UTF-8 sequence at @s, 0 if it is not one. */
static size_t utf8_len(const uint8_t *s, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c;

	if (s[0] < 0xc2 || s[0] > 0xf4 || n > left)
		return 0;
	c = s[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	/* Overlong, surrogates, past the end, C1 controls, bidi overrides. */
	if (c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff ||
	    c < 0xa0 || (c >= 0x202a && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

/* One character of @src as text in @out, which holds 5; returns its size. */
static size_t escape_one(char out[5], const uint8_t *src, size_t left,
			 size_t *ret_used)
{
	static const char hex[] = "0123456789abcdef";
	static const char plain[] = "\n\t\r\\", letter[] = "ntr\\";
	const char *p = *src ? strchr(plain, *src) : NULL;
	size_t n = *src < 0x80 ? 0 : utf8_len(src, left);

	*ret_used = 1;
	if (n) {
		memcpy(out, src, n);
		*ret_used = n;
		return n;
	}
	if (*src >= 0x20 && *src < 0x7f && *src != '\\') {
		out[0] = (char)*src;
		return 1;
	}
	out[0] = '\\';
	if (p) {
		out[1] = letter[p - plain];
		return 2;
	}
	out[1] = 'x';
	out[2] = hex[*src >> 4];
	out[3] = hex[*src & 15];
	return 4;
}

char *log_escape(char *dst, size_t cap, const char *src, size_t len)
{
	size_t at = 0, dots = 0, used = 0;

	bug_on(cap < 5);
	for (size_t i = 0; i < len; i += used) {
		char one[5];
		size_t n = escape_one(one, (const uint8_t *)src + i, len - i,
				      &used);

		if (at + n + 1 > cap) {
			memcpy(dst + dots, "...", 4);
			return dst;
		}
		memcpy(dst + at, one, n);
		at += n;
		/* The last place between characters with room for the dots. */
		if (at + 4 <= cap)
			dots = at;
	}
	dst[at] = '\0';
	return dst;
}
