/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/request.c - the guest's requests, one after another */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "host/net/intercept/session.h"

/* More than what a chunk adds to its data: "ffffffff", twice CR and LF, and 0. */
#define CHUNK_MORE 64u

/* ---- Bodies ---- */

/* One with a length, as it is. Return: bytes of it that were read. */
static size_t step_length(struct icpt *s, const char *p, size_t n)
{
	n = MIN(n, s->body_left);
	if (!side_put(&s->up, p, n))
		return 0;
	s->body_left -= n;
	if (s->body_left == 0)
		s->phase = PHASE_WAIT;
	return n;
}

static bool put_chunk(struct icpt *s, const char *data, size_t n)
{
	char size[24];
	int len = snprintf(size, sizeof(size), "%zx\r\n", n);

	return side_put(&s->up, size, (size_t)len) &&
	       side_put(&s->up, data, n) && side_put(&s->up, "\r\n", 2);
}

/* One in chunks, in chunks of our own. */
static size_t step_chunk(struct icpt *s, const char *p, size_t n)
{
	const char *data = NULL;
	size_t len = 0;
	ptrdiff_t used = chunk_feed(&s->chunk, p, n, &data, &len);

	if (used < 0) {
		session_refuse(s, 400, "a chunk of its body is malformed");
		return 0;
	}
	if (len > 0 && !put_chunk(s, data, len))
		return 0;
	if (s->chunk.state == CHUNK_DONE && side_put(&s->up, "0\r\n\r\n", 5))
		s->phase = PHASE_WAIT;
	return (size_t)used;
}

static bool step_body(struct icpt *s)
{
	size_t room = ring_room(&s->up.out);
	const char *p = NULL;
	size_t n = side_peek(&s->guest, &p);

	if (n == 0 || room <= CHUNK_MORE)
		return false;
	n = MIN(n, room - CHUNK_MORE);
	n = s->chunked ? step_chunk(s, p, n) : step_length(s, p, n);
	ring_drop(&s->guest.in, n);
	return true;
}

/* ---- Heads ---- */

static int on_head(http_parser *p)
{
	struct icpt *s = p->data;

	s->body_left = p->content_length;
	s->keep_alive = http_should_keep_alive(p);
	return 0;
}

/* It has no body: it ended with its head. */
static int on_complete(http_parser *p)
{
	struct icpt *s = p->data;

	s->phase = PHASE_WAIT;
	http_parser_pause(p, 1);
	return 0;
}

static const http_parser_settings settings = {
	.on_headers_complete = on_head,
	.on_message_complete = on_complete,
};

/*
 * How the body is framed, by libhttp-parser. Both a length and chunks, two
 * lengths, and codings of any other kind are errors of its own.
 */
static const char *read_framing(struct icpt *s)
{
	size_t used;
	enum http_errno err;

	http_parser_init(&s->req, HTTP_REQUEST);
	s->req.data = s;
	s->phase = PHASE_HEAD;
	used = http_parser_execute(&s->req, &settings, s->head, s->head_len);
	err = HTTP_PARSER_ERRNO(&s->req);
	if ((err != HPE_OK && err != HPE_PAUSED) || used != s->head_len)
		return "its head is malformed";
	if (s->phase == PHASE_HEAD)
		s->phase = PHASE_BODY;
	s->chunk = (struct chunk){ 0 };
	s->chunked = s->req.flags & F_CHUNKED;
	return NULL;
}

static const char *check_framing(const struct icpt *s, const struct head *h)
{
	const char *coding = head_get(h, "Transfer-Encoding");

	if (coding &&
	    (head_count(h, "Transfer-Encoding") > 1 ||
	     strcasecmp(coding, "chunked") != 0 || h->http10 || !s->chunked))
		return "its transfer coding is not \"chunked\" alone";
	if (coding && head_get(h, "Content-Length"))
		return "it has both a length and chunks";
	if (head_count(h, "Content-Length") > 1)
		return "it has two lengths";
	return NULL;
}

static void read_head(struct icpt *s)
{
	const char *why = head_check(s->head, s->head_len);
	struct head *h = calloc(1, sizeof(*h));

	if (!h) {
		session_end(s, "there is no memory");
		return;
	}
	if (!why)
		why = read_framing(s);
	if (!why)
		why = head_split(s->head, s->head_len, h);
	if (!why)
		why = check_framing(s, h);
	if (why)
		session_refuse(s, 400, why);
	else
		request_write(s, h);
	explicit_bzero(s->head, s->head_len);
	s->head_len = 0;
	free(h);
}

/* Bytes up to the end of a head, and none behind it. */
static bool step_head(struct icpt *s)
{
	const char *p = NULL;
	size_t n = side_peek(&s->guest, &p), had = s->head_len, end;

	/* One at a time; and there is room for any head. */
	if (n == 0 || s->pending || s->up.out.len > 0)
		return false;
	n = MIN(n, HEAD_MAX - had);
	memcpy(s->head + had, p, n);
	end = head_end(s->head, had + n, had);
	s->head_len = end ? end : had + n;
	ring_drop(&s->guest.in, s->head_len - had);
	if (end)
		read_head(s);
	else if (s->head_len == HEAD_MAX)
		session_refuse(s, 431, "its head is too long");
	return true;
}

static bool step_tunnel(struct side *from, struct side *to)
{
	const char *p = NULL;
	size_t n = side_peek(from, &p);

	n = MIN(n, ring_room(&to->out));
	if (n == 0 || to->shut)
		return false;
	(void)side_put(to, p, n);
	ring_drop(&from->in, n);
	return true;
}

bool request_step(struct icpt *s)
{
	switch (s->phase) {
	case PHASE_HEAD:
		return step_head(s);
	case PHASE_BODY:
		return step_body(s);
	case PHASE_TUNNEL:
		return step_tunnel(&s->guest, &s->up);
	case PHASE_WAIT:
	case PHASE_END:
	default:
		return false;
	}
}
