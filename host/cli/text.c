/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/text.c - see text.h */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "host/cli/base.h"
#include "host/cli/text.h"

/* Longest escape of one byte: \xNN. */
#define ESCAPE_LEN 4u
/* Longer words have no near neighbour; bounds the table in distance(). */
#define NEAR_MAX 32u
#define DOTS     "..."
/* Of what is printed by itself. */
#define LINE_MAX_BYTES 4096u

/* Length, first code point that needs it, and mask of a leading byte. */
struct lead {
	unsigned char mask, bits;
	int len;
	uint32_t min;
};

static const struct lead leads[] = {
	{ 0x80, 0x00, 1, 0 },
	{ 0xe0, 0xc0, 2, 0x80 },
	{ 0xf0, 0xe0, 3, 0x800 },
	{ 0xf8, 0xf0, 4, 0x10000 },
};

int text_utf8(const char *s, size_t len, uint32_t *ret)
{
	unsigned char c = (unsigned char)s[0];

	for (size_t i = 0; i < ARRAY_LEN(leads); i++) {
		const struct lead *l = &leads[i];
		uint32_t v = c & (unsigned char)~l->mask;

		if ((c & l->mask) != l->bits)
			continue;
		for (int k = 1; k < l->len; k++) {
			if ((size_t)k >= len)
				return -1;
			if (((unsigned char)s[k] & 0xc0) != 0x80)
				return 0;
			v = v << 6 | ((unsigned char)s[k] & 0x3f);
		}
		if (v < l->min || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
			return 0;
		*ret = v;
		return l->len;
	}
	return 0;
}

/* One byte in a form that any terminal shows and nobody misreads. */
static size_t escape_byte(char dst[ESCAPE_LEN + 1], unsigned char c)
{
	static const char plain[] = { '\n', '\t', '\r', '\033', '\\' };
	static const char shown[] = { 'n', 't', 'r', 'e', '\\' };

	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		if (c == (unsigned char)plain[i]) {
			dst[0] = '\\';
			dst[1] = shown[i];
			dst[2] = '\0';
			return 2;
		}
	}
	(void)snprintf(dst, ESCAPE_LEN + 1, "\\x%02x", c);
	return ESCAPE_LEN;
}

/* One character of @s, shown or escaped, as @piece; moves *s past it. */
static size_t next_piece(const char **s, char piece[ESCAPE_LEN + 1],
			 size_t *ret_cols)
{
	uint32_t wc = 0;
	int n = text_utf8(*s, strlen(*s), &wc);
	int cols = n > 0 ? wcwidth((wchar_t)wc) : -1;

	if (cols > 0 && wc != '\\') {
		memcpy(piece, *s, (size_t)n);
		piece[n] = '\0';
		*s += n;
		*ret_cols = (size_t)cols;
		return (size_t)n;
	}
	*ret_cols = escape_byte(piece, (unsigned char)**s);
	*s += 1;
	return *ret_cols;
}

size_t text_show(char *dst, size_t size, const char *s, size_t max_cols)
{
	/* Where to cut, should it turn out that not all fits. */
	size_t cut = 0, cut_cols = 0;
	size_t len = 0, cols = 0;

	while (*s) {
		char piece[ESCAPE_LEN + 1];
		size_t piece_cols, n = next_piece(&s, piece, &piece_cols);

		if (cols + piece_cols > max_cols || len + n >= size) {
			n = MIN(sizeof(DOTS) - 1, max_cols - cut_cols);
			n = MIN(n, size - 1 - cut);
			memcpy(dst + cut, DOTS, n);
			dst[cut + n] = '\0';
			return cut_cols + n;
		}
		memcpy(dst + len, piece, n);
		len += n;
		cols += piece_cols;
		if (cols + sizeof(DOTS) - 1 <= max_cols &&
		    len + sizeof(DOTS) <= size) {
			cut = len;
			cut_cols = cols;
		}
	}
	dst[len] = '\0';
	return cols;
}

void text_print(const char *s)
{
	char line[LINE_MAX_BYTES];

	(void)text_show(line, sizeof(line), s, SIZE_MAX);
	(void)printf("%s\n", line);
}

/* Damerau's distance: insert, delete, replace, swap two neighbours. */
static size_t distance(const char *a, const char *b)
{
	size_t d[NEAR_MAX + 1][NEAR_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > NEAR_MAX || lb > NEAR_MAX)
		return SIZE_MAX;
	for (size_t i = 0; i <= la; i++) {
		for (size_t j = 0; j <= lb; j++) {
			size_t v;

			if (i == 0 || j == 0) {
				d[i][j] = i + j;
				continue;
			}
			v = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			v = MIN(v, d[i - 1][j] + 1);
			v = MIN(v, d[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				v = MIN(v, d[i - 2][j - 2] + 1);
			d[i][j] = v;
		}
	}
	return d[la][lb];
}

const char *text_near(const char *word, const char *const *words)
{
	size_t len = strlen(word), best = MAX(len / 3, 1u) + 1;
	const char *found = NULL;

	for (; *words; words++) {
		size_t d = distance(word, *words);

		/* "insp" for "inspect": what was written so far is right. */
		if (len > 1 && strncmp(word, *words, len) == 0)
			d = 1;
		if (d < best && d < strlen(*words)) {
			best = d;
			found = *words;
		}
	}
	return found;
}

static bool is_plain(const char *s)
{
	return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_./:=@%^,+-")];
}

/* @s in single quotes, an own quote as '\'' . */
static void put_quoted(FILE *f, const char *s)
{
	if (is_plain(s)) {
		(void)fputs(s, f);
		return;
	}
	(void)fputc('\'', f);
	for (; *s; s++) {
		if (*s == '\'')
			(void)fputs("'\\''", f);
		else
			(void)fputc(*s, f);
	}
	(void)fputc('\'', f);
}

char *text_join(const char *const *argv)
{
	char *line = NULL;
	size_t len;
	FILE *f = open_memstream(&line, &len);

	if (!f)
		return NULL;
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			(void)fputc(' ', f);
		put_quoted(f, argv[i]);
	}
	if (fclose(f) != 0) {
		free(line);
		return NULL;
	}
	return line;
}
