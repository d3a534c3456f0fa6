/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/intercept/response.c - upstream's answers, a server's or a handler's
 *
 * They go to the guest byte by byte as they are; only where one ends is found
 * out, so that the next request is asked when it may be.
 */
#include "host/net/intercept/session.h"

#define INTERIM_FIRST 100
#define SWITCHING     101
#define INTERIM_LAST  199
#define NO_CONTENT    204
#define NOT_MODIFIED  304

/* 1: whatever it says, no body; 2: no HTTP from here on. */
static int on_head(http_parser *p)
{
	const struct icpt *s = p->data;

	if (p->status_code == SWITCHING)
		return 2;
	/* (libhttp-parser leaves the last two to its user.) */
	return s->is_head || p->status_code == NO_CONTENT ||
			       p->status_code == NOT_MODIFIED
		       ? 1
		       : 0;
}

static int on_complete(http_parser *p)
{
	struct icpt *s = p->data;

	s->ended = true;
	s->keep = s->keep && http_should_keep_alive(p);
	http_parser_pause(p, 1);
	return 0;
}

static const http_parser_settings settings = {
	.on_headers_complete = on_head,
	.on_message_complete = on_complete,
};

/* An answer has ended: what now? */
static void ended(struct icpt *s)
{
	unsigned int status = s->resp.status_code;

	s->ended = false;
	s->answering = false;
	if (status == SWITCHING) {
		if (!s->upgrade) {
			session_end(
				s,
				SESSION_PEER(s, " switches protocols unasked"));
			return;
		}
		s->pending = false;
		s->phase = PHASE_TUNNEL;
		return;
	}
	if (status >= INTERIM_FIRST && status <= INTERIM_LAST) {
		http_parser_init(&s->resp, HTTP_RESPONSE);
		s->resp.data = s;
		return;
	}
	s->pending = false;
	/* One that came before its request had ended leaves that unfinished. */
	if (s->keep && s->phase == PHASE_WAIT)
		s->phase = PHASE_HEAD;
	else
		session_end(s, NULL);
}

static bool step_answer(struct icpt *s)
{
	const char *p = NULL;
	size_t n = side_peek(&s->up, &p), used;
	enum http_errno err;

	n = MIN(n, ring_room(&s->guest.out));
	if (n == 0)
		return false;
	if (!s->pending) {
		session_end(s, SESSION_PEER(s, " answers what was not asked"));
		return true;
	}
	used = http_parser_execute(&s->resp, &settings, p, n);
	err = HTTP_PARSER_ERRNO(&s->resp);
	if (err != HPE_OK && err != HPE_PAUSED) {
		if (s->answering)
			session_end(s,
				    SESSION_PEER(s, "'s answer is malformed"));
		else
			session_refuse(
				s, 502,
				SESSION_PEER(s, "'s answer is malformed"));
		return true;
	}
	s->answering = true;
	if (!side_put(&s->guest, p, used))
		return true;
	ring_drop(&s->up.in, used);
	if (s->ended)
		ended(s);
	return true;
}

bool response_step(struct icpt *s)
{
	const char *p = NULL;
	size_t n;

	if (s->phase == PHASE_END)
		return false;
	if (s->phase != PHASE_TUNNEL)
		return step_answer(s);
	n = MIN(side_peek(&s->up, &p), ring_room(&s->guest.out));
	if (n == 0 || s->guest.shut)
		return false;
	(void)side_put(&s->guest, p, n);
	ring_drop(&s->up.in, n);
	return true;
}

void response_eof(struct icpt *s)
{
	if (s->phase == PHASE_TUNNEL) {
		s->guest.shut = true;
		return;
	}
	if (s->phase == PHASE_END)
		return;
	if (!s->asked) {
		/* The first request is told, and not a guest that says nothing. */
		s->up.failed = true;
		s->up.why = "the server cannot be reached";
		return;
	}
	if (!s->pending) {
		session_end(s, NULL);
		return;
	}
	/* An answer without a length ends here. */
	if (s->answering)
		(void)http_parser_execute(&s->resp, &settings, NULL, 0);
	if (s->ended)
		session_end(s, NULL);
	else if (s->answering)
		session_end(s, SESSION_PEER(s, " broke off its answer"));
	else
		session_refuse(s, 502,
			       SESSION_PEER(s, " closed without an answer"));
}
