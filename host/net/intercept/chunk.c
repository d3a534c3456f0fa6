/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/chunk.c - see chunk.h */
#include <errno.h>

#include "common/words.h"
#include "host/net/intercept/chunk.h"

static bool is_text(char c)
{
	return (unsigned char)c >= ' ' ? c != 0x7f : c == '\t';
}

static int read_size(struct chunk *c, char ch)
{
	int v = words_hex(ch);

	if (v >= 0) {
		c->left = c->left << 4 | (unsigned int)v;
		return ++c->n_digits <= CHUNK_DIGITS_MAX ? 0 : -EBADMSG;
	}
	if (c->n_digits == 0)
		return -EBADMSG;
	if (ch == '\r')
		c->state = CHUNK_SIZE_LF;
	else if (ch == ';' || ch == ' ' || ch == '\t')
		c->state = CHUNK_EXT;
	else
		return -EBADMSG;
	return 0;
}

/* A byte of an extension, or of a trailer; at its CR, on to @next. */
static int read_extra(struct chunk *c, char ch, int next)
{
	if (ch == '\r')
		c->state = next;
	else if (!is_text(ch) || ++c->n_extra > CHUNK_EXTRA_MAX)
		return -EBADMSG;
	return 0;
}

static int expect(struct chunk *c, char ch, char want, int next)
{
	if (ch != want)
		return -EBADMSG;
	c->state = next;
	return 0;
}

static int read_byte(struct chunk *c, char ch)
{
	switch (c->state) {
	case CHUNK_SIZE:
		return read_size(c, ch);
	case CHUNK_EXT:
		return read_extra(c, ch, CHUNK_SIZE_LF);
	case CHUNK_SIZE_LF:
		c->n_digits = 0;
		return expect(c, ch, '\n',
			      c->left ? CHUNK_DATA : CHUNK_TRAILER);
	case CHUNK_DATA_CR:
		return expect(c, ch, '\r', CHUNK_DATA_LF);
	case CHUNK_DATA_LF:
		c->n_extra = 0;
		return expect(c, ch, '\n', CHUNK_SIZE);
	case CHUNK_TRAILER:
		if (ch == '\r')
			return expect(c, ch, '\r', CHUNK_END_LF);
		c->state = CHUNK_TRAILER_LINE;
		return read_extra(c, ch, CHUNK_TRAILER_LF);
	case CHUNK_TRAILER_LINE:
		return read_extra(c, ch, CHUNK_TRAILER_LF);
	case CHUNK_TRAILER_LF:
		return expect(c, ch, '\n', CHUNK_TRAILER);
	case CHUNK_END_LF:
		return expect(c, ch, '\n', CHUNK_DONE);
	case CHUNK_DATA:
	case CHUNK_DONE:
	default:
		return -EBADMSG;
	}
}

ptrdiff_t chunk_feed(struct chunk *c, const char *p, size_t n,
		     const char **data, size_t *ret_len)
{
	size_t at = 0;

	*ret_len = 0;
	while (at < n && c->state != CHUNK_DATA && c->state != CHUNK_DONE)
		if (read_byte(c, p[at++]) < 0)
			return -EBADMSG;
	if (at < n && c->state == CHUNK_DATA) {
		*data = p + at;
		*ret_len = MIN(n - at, c->left);
		at += *ret_len;
		c->left -= *ret_len;
		if (c->left == 0)
			c->state = CHUNK_DATA_CR;
	}
	return (ptrdiff_t)at;
}
