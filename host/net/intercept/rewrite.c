/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/rewrite.c - a request is judged, changed and written anew */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/words.h"
#include "common/wr.h"
#include "host/net/intercept/session.h"
#include "host/net/policy/inject.h"

#define HTTP_PORT  80
#define HTTPS_PORT 443

#define OURS "X-Hutch-" /* headers of a handler's requests */

/* ---- Whom it is for ---- */

/* "host", "host:443", of @len bytes: the name in its normal form, and the port. */
static bool read_authority(const char *s, size_t len, uint16_t standard,
			   char name[NAME_CAP], uint16_t *ret_port)
{
	const char *colon = memchr(s, ':', len);
	size_t n = colon ? (size_t)(colon - s) : len;
	char port[8];
	uint64_t v = standard;

	if (colon) {
		if (len - n - 1 >= sizeof(port))
			return false;
		memcpy(port, colon + 1, len - n - 1);
		port[len - n - 1] = '\0';
		if (words_uint("port", port, 1, UINT16_MAX, &v, NULL) < 0)
			return false;
	}
	*ret_port = (uint16_t)v;
	return name_normal(s, n, name) == 0;
}

static bool is_us(const struct icpt *s, const char *authority, size_t len,
		  char name[NAME_CAP])
{
	uint16_t port;

	return read_authority(authority, len,
			      s->guest.tls ? HTTPS_PORT : HTTP_PORT, name,
			      &port) &&
	       port == s->port;
}

/*
 * "http://host/path" becomes "/path"; the host must be the one of Host, as
 * servers differ in which of them counts (RFC 9112, 3.2.2).
 */
static const char *read_target(const struct icpt *s, struct head *h,
			       const char *host)
{
	const char *scheme = s->guest.tls ? "https://" : "http://";
	size_t n = strlen(scheme), len;
	char name[NAME_CAP];

	/* RFC 9112, 3.2 has none; what follows it is passed on by some. */
	if (strchr(h->target, '#'))
		return "its target has a fragment";
	if (h->target[0] == '/' ||
	    (strcmp(h->target, "*") == 0 && strcmp(h->method, "OPTIONS") == 0))
		return NULL;
	if (strncasecmp(h->target, scheme, n) != 0)
		return "its target is no path";
	len = strcspn(h->target + n, "/?");
	if (!is_us(s, h->target + n, len, name) || strcmp(name, host) != 0)
		return "its target names another host than its Host";
	h->target += n + len;
	if (h->target[0] == '/')
		return NULL;
	if (h->target[0])
		return "its target is no path";
	/* (There is room: "http" was there.) */
	*--h->target = '/';
	h->target[1] = '\0';
	return NULL;
}

/* Two rules may have a handler in common; neither is nobody. */
static bool is_same_peer(const struct icpt *s, int rule)
{
	const char *h = policy_handler(s->policy, rule);

	return s->handler ? h && strcmp(h, s->handler) == 0 : !h;
}

/*
 * With TLS it is for whom the certificate was shown to. Without, an address may
 * have several names, and each is judged; @ret_rule is -1 if it is allowed and
 * not intercepted. Whoever is upstream gets only what is for them.
 */
static const char *judge_host(const struct icpt *s, const char *host,
			      int *ret_rule)
{
	struct attempt a = {
		.proto = NET_TCP, .dst = s->dst, .port = s->port, .sni = host
	};
	struct verdict v;

	*ret_rule = s->rule;
	if (strcmp(host, s->name) == 0)
		return NULL;
	if (s->guest.tls)
		return "its Host is another than the name in its TLS";
	v = policy_judge(s->policy, s->pins, &a, s->now_ms);
	if (v.how != JUDGE_ALLOW && v.how != JUDGE_INTERCEPT)
		return "no rule allows its Host";
	*ret_rule = v.how == JUDGE_INTERCEPT ? v.rule : -1;
	return is_same_peer(s, *ret_rule)
		       ? NULL
		       : "its Host is for another connection: one of them goes "
			 "to a handler";
}

/* ---- What is written ---- */

/*
 * Servers of the CGI kind have one variable for X-Key, X_Key and, some of them,
 * X.Key: a guest's own must not be read instead of ours, be it a credential or
 * how the body is framed.
 */
static bool is_same(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		bool word_a = isalnum((unsigned char)*a);
		bool word_b = isalnum((unsigned char)*b);

		if (word_a != word_b || (word_a && strncasecmp(a, b, 1) != 0))
			return false;
	}
	return *a == *b;
}

/*
 * Each connection has its own of these (RFC 9110, 7.6.1), or they are ours. The
 * last two are a proxy's, never a client's: some servers take the request for one
 * of the path in there, which nobody has looked at.
 */
static bool is_dropped(const char *name)
{
	static const char *const drop[] = {
		"Host",
		"Connection",
		"Content-Length",
		"Keep-Alive",
		"TE",
		"Transfer-Encoding",
		"Trailer",
		"Upgrade",
		"Proxy-Connection",
		"HTTP2-Settings",
		"X-Original-URL",
		"X-Rewrite-URL",
	};

	for (size_t i = 0; i < ARRAY_LEN(drop); i++)
		if (is_same(name, drop[i]))
			return true;
	return false;
}

/* What a handler is told of the guest nobody but us tells. */
static bool is_ours(const struct icpt *s, const char *name)
{
	char head[sizeof(OURS)] = "";

	if (!s->handler)
		return false;
	(void)snprintf(head, sizeof(head), "%s", name);
	return is_same(head, OURS);
}

static bool is_changed(const struct inject *in, const char *name)
{
	for (size_t i = 0; in && i < in->n_set; i++)
		if (is_same(in->set[i].name, name))
			return true;
	for (size_t i = 0; in && i < in->n_remove; i++)
		if (is_same(in->remove[i], name))
			return true;
	return false;
}

static void put(struct wr *w, const char *s)
{
	wr_bytes(w, s, strlen(s));
}

static void put_field(struct wr *w, const char *name, const char *value)
{
	put(w, name);
	put(w, ": ");
	put(w, value);
	put(w, "\r\n");
}

static void put_framing(const struct icpt *s, struct wr *w)
{
	char number[24];

	if (s->chunked) {
		put_field(w, "Transfer-Encoding", "chunked");
	} else if (s->req.flags & F_CONTENTLENGTH) {
		(void)snprintf(number, sizeof(number), "%" PRIu64,
			       s->body_left);
		put_field(w, "Content-Length", number);
	}
	if (s->upgrade) {
		put_field(w, "Connection", "Upgrade");
		put_field(w, "Upgrade", "websocket");
	} else {
		put_field(w, "Connection", s->keep ? "keep-alive" : "close");
	}
}

static void put_head(const struct icpt *s, struct wr *w, const struct head *h,
		     const char *host, const struct inject *in)
{
	char authority[NAME_CAP + 8];
	bool standard = s->port == (s->guest.tls ? HTTPS_PORT : HTTP_PORT);

	put(w, h->method);
	put(w, " ");
	put(w, h->target);
	put(w, h->http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
	(void)snprintf(authority, sizeof(authority), standard ? "%s" : "%s:%u",
		       host, s->port);
	put_field(w, "Host", authority);
	for (size_t i = 0; i < h->n; i++)
		if (!is_dropped(h->field[i].name) &&
		    !is_ours(s, h->field[i].name) &&
		    !is_changed(in, h->field[i].name))
			put_field(w, h->field[i].name, h->field[i].value);
	for (size_t i = 0; in && i < in->n_set; i++)
		put_field(w, in->set[i].name, in->set[i].value);
	for (size_t i = 0; in && i < in->n_add; i++)
		put_field(w, in->add[i].name, in->add[i].value);
	if (s->handler) {
		put_field(w, OURS "VM", s->vm);
		put_field(w, OURS "Scheme", s->guest.tls ? "https" : "http");
	}
	put_framing(s, w);
	put(w, "\r\n");
}

static void send_head(struct icpt *s, const struct head *h, const char *host,
		      const struct inject *in)
{
	uint8_t *buf = malloc(REQUEST_MAX);
	struct wr w = wr_init(buf, buf ? REQUEST_MAX : 0);

	put_head(s, &w, h, host, in);
	if (w.bad)
		session_refuse(s, 431,
			       "with its injected headers it is too "
			       "long");
	else if (!side_put(&s->up, buf, w.len))
		session_end(s, "there is no memory");
	if (buf)
		explicit_bzero(buf, w.len);
	free(buf);
}

/* ---- What is asked for ---- */

/* WebSocket alone: "h2c" would carry requests that nobody looks into. */
static bool wants_websocket(const struct icpt *s, const struct head *h)
{
	const char *to = head_get(h, "Upgrade");

	return s->req.upgrade && to && strcasecmp(to, "websocket") == 0 &&
	       head_count(h, "Upgrade") == 1 && strcmp(h->method, "GET") == 0 &&
	       s->phase == PHASE_WAIT;
}

static const char *check_expect(const struct head *h)
{
	const char *e = head_get(h, "Expect");

	return e && strcasecmp(e, "100-continue") != 0
		       ? "it expects what is not known"
		       : NULL;
}

/* A server that traces sends the head back that it got: the credential is in it. */
static const char *check_method(const char *method)
{
	if (strcmp(method, "CONNECT") == 0)
		return "it is no proxy";
	return strcmp(method, "TRACE") == 0 ? "it would show what is injected"
					    : NULL;
}

/* Return: NULL, or why not with *status. */
static const char *choose(struct icpt *s, struct head *h, const char *host,
			  const struct inject **ret, unsigned int *status)
{
	int rule = -1;
	const char *why;

	*ret = NULL;
	*status = 400;
	why = read_target(s, h, host);
	if (!why)
		why = check_expect(h);
	if (why)
		return why;
	*status = s->guest.tls ? 421 : 403;
	why = judge_host(s, host, &rule);
	if (why || rule < 0)
		return why;
	*status = 400;
	if (policy_inject(s->policy, rule, h->method, h->target, ret) < 0)
		return "its path can be read in two ways, and the rule goes by "
		       "paths";
	*status = 403;
	if (*ret && (*ret)->refuse)
		return "the rule refuses it";
	if (*ret && (*ret)->n_set + (*ret)->n_add > 0 && !s->guest.tls &&
	    !(*ret)->plain && !s->handler)
		return "headers are set over HTTPS only";
	return NULL;
}

void request_write(struct icpt *s, struct head *h)
{
	const char *value = head_get(h, "Host"), *why;
	const struct inject *in;
	char host[NAME_CAP];
	unsigned int status;

	why = check_method(h->method);
	if (why) {
		session_refuse(s, 405, why);
		return;
	}
	if (head_count(h, "Host") != 1 ||
	    !is_us(s, value, strlen(value), host)) {
		session_refuse(s, 400, "it has not one Host, of this port");
		return;
	}
	why = choose(s, h, host, &in, &status);
	if (why) {
		session_refuse(s, status, why);
		return;
	}
	if (s->up.failed) {
		session_refuse(s, 502, s->up.why);
		return;
	}
	s->upgrade = wants_websocket(s, h);
	s->is_head = strcmp(h->method, "HEAD") == 0;
	s->keep = s->keep_alive && !h->http10;
	s->asked = true;
	s->pending = true;
	s->answering = false;
	http_parser_init(&s->resp, HTTP_RESPONSE);
	s->resp.data = s;
	send_head(s, h, host, in);
}
