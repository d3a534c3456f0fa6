/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/clienthello.c - see clienthello.h */
#include <string.h>

#include "common/rd.h"
#include "host/net/policy/clienthello.h"

/* RFC 8446, 5.1 and 4 */
#define CONTENT_FIRST     20
#define CONTENT_HANDSHAKE 22
#define CONTENT_LAST      24
#define MAJOR             3
#define RECORD_MAX        16384u
#define CLIENT_HELLO      1
#define BODY_FIRST        1
#define MSG_HEAD          4u
#define RANDOM_LEN        32u
#define SESSION_MAX       32u

/* RFC 6066 and 7301 */
#define EXT_SERVER_NAME 0x0000
#define EXT_ALPN        0x0010
#define HOST_NAME       0

static uint16_t u16(struct rd *rd)
{
	const uint8_t *b = rd_bytes(rd, 2);

	return b ? (uint16_t)(b[0] << 8 | b[1]) : 0;
}

/* The next vector, whose length stands in front of it in two bytes. */
static struct rd vector16(struct rd *rd)
{
	size_t n = u16(rd);
	const void *b = rd_bytes(rd, n);

	return b ? rd_init(b, n) : (struct rd){ .bad = true };
}

/* ---- Extensions ---- */

/*
 * One name, of the one type that there is. Servers differ in what they make of a
 * second, so there is none.
 */
static bool read_sni(struct hello_state *h, struct rd ext)
{
	struct rd list = vector16(&ext), name;
	uint8_t type = rd_u8(&list);

	name = vector16(&list);
	if (name.bad || name.left == 0 || rd_end(&list) < 0 ||
	    rd_end(&ext) < 0 || type != HOST_NAME)
		return false;
	if (name_is_literal((const char *)name.p, name.left))
		return true;
	return name_normal((const char *)name.p, name.left, h->name) == 0;
}

static bool is(const void *p, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(p, what, len) == 0;
}

static bool read_alpn(struct hello_state *h, struct rd ext)
{
	struct rd list = vector16(&ext);

	if (list.bad || list.left == 0 || rd_end(&ext) < 0 || h->alpn)
		return false;
	h->alpn = true;
	while (list.left > 0) {
		size_t n = rd_u8(&list);
		const void *p = rd_bytes(&list, n);

		if (!p || n == 0)
			return false;
		h->alpn_http1 |= is(p, n, "http/1.1");
		h->alpn_h2 |= is(p, n, "h2");
	}
	return true;
}

static bool read_extensions(struct hello_state *h, struct rd list)
{
	bool sni = false;

	while (list.left > 0) {
		uint16_t type = u16(&list);
		struct rd ext = vector16(&list);

		if (list.bad || ext.bad)
			return false;
		if (type == EXT_SERVER_NAME && (sni || !read_sni(h, ext)))
			return false;
		if (type == EXT_ALPN && !read_alpn(h, ext))
			return false;
		sni |= type == EXT_SERVER_NAME;
	}
	return true;
}

/* ---- The message ---- */

/* RFC 8446, 4.1.2; without any extension it is one of TLS 1.0's. */
static enum hello read_message(struct hello_state *h)
{
	struct rd rd = rd_init(h->msg + MSG_HEAD, h->len - MSG_HEAD), list;
	size_t n;

	if (rd_u8(&rd) != MAJOR)
		return HELLO_BAD;
	(void)rd_u8(&rd);
	(void)rd_bytes(&rd, RANDOM_LEN);
	n = rd_u8(&rd);
	if (n > SESSION_MAX)
		return HELLO_BAD;
	(void)rd_bytes(&rd, n);
	n = u16(&rd);
	if (n == 0 || n % 2)
		return HELLO_BAD;
	(void)rd_bytes(&rd, n);
	n = rd_u8(&rd);
	(void)rd_bytes(&rd, n);
	if (n == 0 || rd.bad)
		return HELLO_BAD;
	if (rd.left == 0)
		return HELLO_DONE;
	list = vector16(&rd);
	if (list.bad || rd_end(&rd) < 0 || !read_extensions(h, list))
		return HELLO_BAD;
	return HELLO_DONE;
}

/* The next @n bytes of the message, all of one record. */
static enum hello feed_message(struct hello_state *h, const uint8_t *p,
			       size_t n)
{
	/* (Never more than what is still wanted, so there is room.) */
	while (n > 0) {
		size_t take = h->want ? h->want - h->len : MSG_HEAD - h->len;

		/* A ClientHello is all that one says before an answer. */
		if (take == 0)
			return HELLO_BAD;
		take = MIN(take, n);
		memcpy(h->msg + h->len, p, take);
		h->len += (uint32_t)take;
		p += take;
		n -= take;
		if (h->msg[0] != CLIENT_HELLO)
			return HELLO_BAD;
		if (h->want || h->len < MSG_HEAD)
			continue;
		h->want = (uint32_t)h->msg[1] << 16 | (uint32_t)h->msg[2] << 8 |
			  h->msg[3];
		if (h->want > HELLO_MAX)
			return HELLO_BAD;
		h->want += MSG_HEAD;
	}
	return HELLO_MORE;
}

/* ---- Records ---- */

/*
 * What the first bytes are, as soon as it can be told. An alert or the like is
 * no way to begin, but a server may skip it: so it is not "not TLS". Nor is a
 * first record of another version, which servers of several kinds read: Go's
 * crypto/tls up to 15, wolfSSL any. But many a protocol begins with such a byte,
 * as a length, say: what these records hold begins with a 1 (a ClientHello, a
 * warning, a change of cipher). SSL 2 has no names, and servers that speak newer
 * versions too answer its ClientHello (RFC 5246, E.2).
 */
static enum hello judge_first(struct hello_state *h)
{
	const uint8_t *b = h->head;
	size_t n = h->n_head;

	if (b[0] >= CONTENT_FIRST && b[0] <= CONTENT_LAST) {
		if (n < 2 || b[1] != MAJOR)
			return HELLO_MORE;
		return b[0] == CONTENT_HANDSHAKE ? HELLO_MORE : HELLO_BAD;
	}
	if (!(b[0] & 0x80) || (n > 2 && b[2] != CLIENT_HELLO) ||
	    (n > 3 && b[3] != MAJOR && b[3] != 0))
		return HELLO_NOT_TLS;
	return n == sizeof(h->head) ? HELLO_DONE : HELLO_MORE;
}

/* The first record, of a version that there is none of. */
static bool is_odd(const struct hello_state *h)
{
	return h->len == 0 && h->head[1] != MAJOR;
}

static enum hello end_of_head(struct hello_state *h)
{
	size_t len = (size_t)(h->head[3] << 8 | h->head[4]);

	if (is_odd(h) && len > RECORD_MAX)
		return HELLO_NOT_TLS;
	if (!is_odd(h) &&
	    (h->head[0] != CONTENT_HANDSHAKE || h->head[1] != MAJOR))
		return HELLO_BAD;
	if (len == 0 || len > RECORD_MAX)
		return HELLO_BAD;
	h->rec_left = (uint16_t)len;
	return HELLO_MORE;
}

static enum hello feed_head(struct hello_state *h, uint8_t byte)
{
	enum hello r = HELLO_MORE;

	h->head[h->n_head++] = byte;
	if (h->len == 0)
		r = judge_first(h);
	if (r == HELLO_MORE && h->n_head == sizeof(h->head))
		r = end_of_head(h);
	return r;
}

static enum hello feed_record(struct hello_state *h, const uint8_t *p, size_t n)
{
	enum hello r;

	if (is_odd(h))
		return *p == BODY_FIRST ? HELLO_BAD : HELLO_NOT_TLS;
	r = feed_message(h, p, n);
	if (r != HELLO_MORE)
		return r;
	h->rec_left = (uint16_t)(h->rec_left - n);
	if (h->rec_left > 0)
		return HELLO_MORE;
	h->n_head = 0;
	return h->want && h->len == h->want ? read_message(h) : HELLO_MORE;
}

enum hello hello_feed(struct hello_state *h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n > 0 && h->end == HELLO_MORE) {
		size_t take = 1;

		if (h->rec_left == 0) {
			h->end = feed_head(h, *p);
		} else {
			take = MIN(n, h->rec_left);
			h->end = feed_record(h, p, take);
		}
		p += take;
		n -= take;
	}
	/* Half of a name is none. */
	if (h->end == HELLO_BAD)
		h->name[0] = '\0';
	return h->end;
}
