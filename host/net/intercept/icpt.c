/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/icpt.c - see icpt.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/net/intercept/session.h"

#define ANSWER_MAX  512
#define DISCARD_MAX 16384u

static void step(struct icpt *s);

/* ---- Beginning and end ---- */

static int begin_tls(const struct icpt_opts *o, struct icpt *s, struct err *e)
{
	int r = tls_server(o->ca, s->name, o->now_s, &s->guest.tls, e);

	return r < 0 || s->handler
		       ? r
		       : tls_client(o->trust, s->name, &s->up.tls, e);
}

int icpt_new(const struct icpt_opts *o, struct icpt **ret, struct err *e)
{
	struct icpt *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return err_set(e, -ENOMEM, "no memory for an interception");
	s->policy = policy_ref(o->policy);
	s->pins = o->pins;
	s->rule = o->rule;
	s->handler = policy_handler(o->policy, o->rule);
	s->dst = o->dst;
	s->port = o->port;
	s->now_ms = o->now_ms;
	(void)snprintf(s->name, sizeof(s->name), "%s", o->name);
	(void)snprintf(s->vm, sizeof(s->vm), "%s", o->vm ? o->vm : "");
	side_init(&s->guest, ICPT_BUF_MAX, ICPT_BUF_MAX);
	side_init(&s->up, ICPT_BUF_MAX, REQUEST_MAX);
	s->head = malloc(HEAD_MAX);
	if (!s->head)
		r = err_set(e, -ENOMEM, "no memory for an interception");
	if (r == 0 && o->tls)
		r = begin_tls(o, s, e);
	if (r < 0) {
		icpt_free(s);
		return r;
	}
	/* The server's handshake need not wait for the guest's. */
	step(s);
	*ret = s;
	return 0;
}

void icpt_free(struct icpt *s)
{
	if (!s)
		return;
	if (s->head)
		explicit_bzero(s->head, HEAD_MAX);
	free(s->head);
	side_done(&s->guest);
	side_done(&s->up);
	policy_unref(s->policy);
	free(s);
}

void session_end(struct icpt *s, const char *why)
{
	if (!s->why)
		s->why = why;
	s->phase = PHASE_END;
	s->pending = false;
	s->guest.shut = true;
}

void icpt_retire(struct icpt *s)
{
	s->keep = false;
	if (s->phase == PHASE_HEAD && !s->pending)
		session_end(s, NULL);
}

static bool begins(const struct side *side)
{
	return side->tls && !side->failed && !tls_is_up(side->tls);
}

enum icpt_state icpt_state(const struct icpt *s)
{
	if (s->phase != PHASE_END && (begins(&s->guest) || begins(&s->up)))
		return ICPT_BEGINS;
	return s->phase == PHASE_HEAD && !s->pending ? ICPT_RESTS : ICPT_BUSY;
}

void icpt_late(struct icpt *s)
{
	enum icpt_state state = icpt_state(s);

	if (state == ICPT_RESTS) {
		session_end(s, NULL);
	} else if (state == ICPT_BUSY) {
		session_end(s, "nothing came for too long");
	} else if (begins(&s->guest)) {
		session_end(s, "the guest's handshake takes too long");
	} else {
		s->up.failed = true;
		s->up.why = "the server's handshake takes too long";
	}
	step(s);
}

static const char *reason_of(unsigned int status)
{
	switch (status) {
	case 403:
		return "Forbidden";
	case 405:
		return "Method Not Allowed";
	case 421:
		return "Misdirected Request";
	case 431:
		return "Request Header Fields Too Large";
	case 502:
		return "Bad Gateway";
	case 504:
		return "Gateway Timeout";
	default:
		return "Bad Request";
	}
}

void session_refuse(struct icpt *s, unsigned int status, const char *why)
{
	char buf[ANSWER_MAX];
	int n;

	n = snprintf(buf, sizeof(buf),
		     "HTTP/1.1 %u %s\r\nContent-Type: text/plain\r\n"
		     "Content-Length: %zu\r\nConnection: close\r\n\r\n"
		     "hutch: %s\n",
		     status, reason_of(status), strlen(why) + 8, why);
	/* Behind the first bytes of another answer it would be a part of it. */
	if (!s->answering && ring_room(&s->guest.out) >= sizeof(buf))
		(void)side_put(&s->guest, buf, (size_t)n);
	session_end(s, why);
}

/* ---- What moves it ---- */

static bool is_used_up(const struct side *side)
{
	return side->eof && side->in.len == 0;
}

/* A side that fails ends the session; upstream's is told in an answer. */
static void check_failed(struct icpt *s)
{
	if (s->guest.failed)
		session_end(s, s->guest.why);
	if (!s->up.failed || s->phase == PHASE_END)
		return;
	if (s->phase == PHASE_TUNNEL)
		session_end(s, s->up.why);
	else if (s->pending)
		session_refuse(s, 502, s->up.why);
}

static void check_eof(struct icpt *s)
{
	if (is_used_up(&s->up) && !s->up.failed)
		response_eof(s);
	if (!is_used_up(&s->guest) || s->phase == PHASE_END)
		return;
	if (s->phase == PHASE_TUNNEL)
		s->up.shut = true;
	else if (s->phase == PHASE_BODY || s->head_len > 0)
		session_end(s, "the guest broke off its request");
	else if (s->phase == PHASE_HEAD && !s->pending)
		session_end(s, NULL);
	if (s->phase == PHASE_TUNNEL && is_used_up(&s->up))
		session_end(s, NULL);
}

static void step(struct icpt *s)
{
	bool any = true;

	while (any) {
		any = side_fill(&s->guest);
		any |= side_fill(&s->up);
		any |= request_step(s);
		any |= response_step(s);
		any |= side_flush(&s->up);
		any |= side_flush(&s->guest);
		check_failed(s);
	}
	check_eof(s);
	check_failed(s);
	(void)side_flush(&s->up);
	(void)side_flush(&s->guest);
}

bool icpt_wants_up(const struct icpt *s)
{
	return s->handler && s->pending;
}

bool icpt_waits(const struct icpt *s)
{
	if (!s->pending || s->phase == PHASE_TUNNEL || s->phase == PHASE_END ||
	    !side_is_drained(&s->guest))
		return false;
	return s->phase != PHASE_BODY || s->up.out.len > 0;
}

void icpt_no_up(struct icpt *s, unsigned int status, const char *why)
{
	if (s->phase == PHASE_END)
		return;
	if (s->pending)
		session_refuse(s, status, why);
	else
		session_end(s, why);
	step(s);
}

static struct side *side_of(struct icpt *s, enum icpt_side side)
{
	return side == ICPT_GUEST ? &s->guest : &s->up;
}

static const struct side *const_side_of(const struct icpt *s,
					enum icpt_side side)
{
	return side == ICPT_GUEST ? &s->guest : &s->up;
}

size_t icpt_room(const struct icpt *s, enum icpt_side side)
{
	/* What was on its way is thrown away, or the answer might be lost. */
	if (s->phase == PHASE_END)
		return side == ICPT_GUEST ? DISCARD_MAX : 0;
	return side_room(const_side_of(s, side));
}

void icpt_feed(struct icpt *s, enum icpt_side side, const void *bytes, size_t n)
{
	bug_on(n > icpt_room(s, side));
	if (s->phase == PHASE_END)
		return;
	side_feed(side_of(s, side), bytes, n);
	step(s);
}

void icpt_eof(struct icpt *s, enum icpt_side side)
{
	side_of(s, side)->eof = true;
	step(s);
}

size_t icpt_out(const struct icpt *s, enum icpt_side side, const void **ret)
{
	return side_out(const_side_of(s, side), ret);
}

void icpt_sent(struct icpt *s, enum icpt_side side, size_t n)
{
	side_sent(side_of(s, side), n);
	step(s);
}

bool icpt_is_shut(const struct icpt *s, enum icpt_side side)
{
	const struct side *sd = const_side_of(s, side);

	return sd->shut && side_is_drained(sd);
}

bool icpt_is_done(const struct icpt *s)
{
	return s->phase == PHASE_END && side_is_drained(&s->guest);
}

const char *icpt_why(const struct icpt *s)
{
	return s->why;
}
