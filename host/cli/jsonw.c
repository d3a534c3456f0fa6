/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/jsonw.c - see json.h */
#include <inttypes.h>
#include <string.h>

#include "host/cli/base.h"
#include "host/cli/jsonw.h"
#include "host/cli/text.h"

static void put(struct jsonw *j, const char *s)
{
	(void)fputs(s, j->out);
}

static void newline(struct jsonw *j)
{
	if (j->indent)
		(void)fprintf(j->out, "\n%*s", (int)(j->indent * j->depth), "");
}

static void put_text(struct jsonw *j, const char *s, size_t len)
{
	put(j, "\"");
	while (len > 0) {
		uint32_t wc = 0;
		int n = text_utf8(s, len, &wc);

		if (n <= 0) {
			put(j, "\\ufffd");
			n = 1;
		} else if (wc == '"' || wc == '\\') {
			(void)fprintf(j->out, "\\%c", (int)wc);
		} else if (wc == '\n') {
			put(j, "\\n");
		} else if (wc < 0x20 || (wc >= 0x7f && wc < 0xa0)) {
			(void)fprintf(j->out, "\\u%04x", (unsigned int)wc);
		} else {
			(void)fwrite(s, 1, (size_t)n, j->out);
		}
		s += n;
		len -= (size_t)n;
	}
	put(j, "\"");
}

/* All that stands in front of a value. */
static void lead_in(struct jsonw *j, const char *key)
{
	if (j->depth > 0) {
		if (j->filled[j->depth])
			put(j, j->indent ? "," : ", ");
		newline(j);
	}
	j->filled[j->depth] = true;
	if (key) {
		put_text(j, key, strlen(key));
		put(j, ": ");
	}
}

static void open_level(struct jsonw *j, const char *key, const char *bracket)
{
	lead_in(j, key);
	put(j, bracket);
	if (j->depth == JSONW_DEPTH_MAX)
		abort();
	j->depth++;
	j->filled[j->depth] = false;
}

static void close_level(struct jsonw *j, const char *bracket)
{
	bool filled = j->filled[j->depth];

	j->depth--;
	if (filled)
		newline(j);
	put(j, bracket);
	if (j->depth == 0)
		put(j, "\n");
}

void jsonw_object(struct jsonw *j, const char *key)
{
	open_level(j, key, "{");
}

void jsonw_object_end(struct jsonw *j)
{
	close_level(j, "}");
}

void jsonw_array(struct jsonw *j, const char *key)
{
	open_level(j, key, "[");
}

void jsonw_array_end(struct jsonw *j)
{
	close_level(j, "]");
}

void jsonw_uint(struct jsonw *j, const char *key, uint64_t v)
{
	lead_in(j, key);
	(void)fprintf(j->out, "%" PRIu64, v);
}

void jsonw_int(struct jsonw *j, const char *key, int64_t v)
{
	lead_in(j, key);
	(void)fprintf(j->out, "%" PRId64, v);
}

void jsonw_bool(struct jsonw *j, const char *key, bool v)
{
	lead_in(j, key);
	put(j, v ? "true" : "false");
}

void jsonw_null(struct jsonw *j, const char *key)
{
	lead_in(j, key);
	put(j, "null");
}

void jsonw_str(struct jsonw *j, const char *key, const char *s)
{
	if (s)
		jsonw_strn(j, key, s, strlen(s));
	else
		jsonw_null(j, key);
}

void jsonw_strn(struct jsonw *j, const char *key, const char *s, size_t len)
{
	lead_in(j, key);
	put_text(j, s, len);
}

void jsonw_base64(struct jsonw *j, const char *key, const void *p, size_t len)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789+/";
	const unsigned char *b = p;

	lead_in(j, key);
	put(j, "\"");
	for (size_t i = 0; i < len; i += 3) {
		size_t n = MIN(len - i, 3u);
		uint32_t v = (uint32_t)b[i] << 16;
		char quad[5] = "====";

		v |= n > 1 ? (uint32_t)b[i + 1] << 8 : 0;
		v |= n > 2 ? b[i + 2] : 0;
		for (size_t k = 0; k <= n; k++)
			quad[k] = digit[v >> (18 - 6 * k) & 0x3f];
		put(j, quad);
	}
	put(j, "\"");
}

void jsonw_raw(struct jsonw *j, const char *key, const char *text)
{
	lead_in(j, key);
	put(j, text);
}
