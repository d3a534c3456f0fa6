/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/side.c - see side.h */
#include <errno.h>
#include <string.h>

#include "host/net/intercept/side.h"

#define STEP 16384u

void side_init(struct side *s, size_t in_max, size_t out_max)
{
	/* Headers with credentials go through it. */
	*s = (struct side){ .in = { .cap = in_max, .secret = true },
			    .out = { .cap = out_max, .secret = true } };
}

void side_done(struct side *s)
{
	ring_done(&s->in);
	ring_done(&s->out);
	tls_free(s->tls);
	s->tls = NULL;
}

static void fail(struct side *s, const char *why)
{
	s->failed = true;
	if (!s->why)
		s->why = why;
}

static void tls_failed(struct side *s)
{
	const char *why = tls_why(s->tls);

	fail(s, why ? why : "TLS broke off");
}

size_t side_room(const struct side *s)
{
	if (s->failed || s->eof)
		return 0;
	return s->tls ? tls_room(s->tls) : ring_room(&s->in);
}

void side_feed(struct side *s, const void *bytes, size_t n)
{
	if (s->tls ? tls_feed(s->tls, bytes, n) < 0
		   : ring_put(&s->in, bytes, n) != (ptrdiff_t)n)
		fail(s, "there is no memory");
}

bool side_fill(struct side *s)
{
	uint8_t buf[STEP];
	ptrdiff_t n;
	bool any = false;

	while (s->tls && !s->failed && ring_room(&s->in) > 0) {
		n = tls_read(s->tls, buf, MIN(sizeof(buf), ring_room(&s->in)));
		if (n == -EAGAIN)
			break;
		if (n < 0)
			tls_failed(s);
		if (n == 0)
			s->eof = true;
		if (n <= 0)
			break;
		if (ring_put(&s->in, buf, (size_t)n) != n)
			fail(s, "there is no memory");
		any = true;
	}
	explicit_bzero(buf, sizeof(buf));
	return any;
}

bool side_flush(struct side *s)
{
	struct iovec iov[2];
	ptrdiff_t n;
	bool any = false;

	while (s->tls && !s->failed && ring_peek(&s->out, iov) > 0) {
		n = tls_write(s->tls, iov[0].iov_base, iov[0].iov_len);
		if (n == -EAGAIN)
			break;
		if (n < 0) {
			tls_failed(s);
			break;
		}
		ring_drop(&s->out, (size_t)n);
		any = true;
	}
	if (s->tls && s->shut && s->out.len == 0)
		tls_close(s->tls);
	return any;
}

bool side_put(struct side *s, const void *bytes, size_t n)
{
	if (!s->failed && !s->shut && n <= ring_room(&s->out) &&
	    ring_put(&s->out, bytes, n) == (ptrdiff_t)n)
		return true;
	fail(s, "there is no memory");
	return false;
}

size_t side_peek(const struct side *s, const char **ret)
{
	struct iovec iov[2];

	if (ring_peek(&s->in, iov) == 0)
		return 0;
	*ret = iov[0].iov_base;
	return iov[0].iov_len;
}

size_t side_out(const struct side *s, const void **ret)
{
	struct iovec iov[2];

	if (s->tls)
		return tls_out(s->tls, ret);
	if (ring_peek(&s->out, iov) == 0)
		return 0;
	*ret = iov[0].iov_base;
	return iov[0].iov_len;
}

void side_sent(struct side *s, size_t n)
{
	if (s->tls)
		tls_sent(s->tls, n);
	else
		ring_drop(&s->out, n);
}

bool side_is_drained(const struct side *s)
{
	const void *p;

	return (s->failed || s->out.len == 0) && side_out(s, &p) == 0;
}
