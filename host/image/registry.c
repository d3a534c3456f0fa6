/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/registry.c - see registry.h */
#include <errno.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <string.h>

#include "host/image/registry.h"

#define HUB_HOST "registry-1.docker.io" /* where docker.io's are */

int registry_open(struct registry *r, const struct imageref *ref,
		  const char *user, unsigned int idle_s, struct err *e)
{
	const char *host = strcmp(ref->domain, IMAGEREF_HUB) == 0 ? HUB_HOST
								  : ref->domain;
	char only[sizeof(ref->domain)];
	char *port;
	int n;

	memset(r, 0, sizeof(*r));
	memcpy(only, ref->domain, sizeof(only));
	port = strrchr(only, ':');
	if (port && port[strspn(port, ":0123456789")] == '\0')
		*port = '\0';
	n = snprintf(r->base, sizeof(r->base), "%s://%s/v2/%s",
		     http_is_loopback(only) ? "http" : "https", host,
		     ref->path);
	bug_on(n < 0 || (size_t)n >= sizeof(r->base));
	if (strlen(user) > AUTH_USER_MAX)
		return err_set(e, -EINVAL, "the credentials are too long");
	memcpy(r->user, user, strlen(user) + 1);
	n = http_place(r->base, &r->place, e);
	return n < 0 ? n : http_open(&r->http, idle_s, e);
}

void registry_close(struct registry *r)
{
	http_close(&r->http);
	explicit_bzero(r, sizeof(*r));
}

/* ---- Who we say we are ---- */

static void basic(const struct registry *r, char *buf, size_t cap)
{
	char text[BASE64_ENCODE_RAW_LENGTH(AUTH_USER_MAX) + 1] = "";
	size_t len = strlen(r->user);

	base64_encode_raw(text, len, (const uint8_t *)r->user);
	text[BASE64_ENCODE_RAW_LENGTH(len)] = '\0';
	(void)snprintf(buf, cap, "Basic %s", text);
	explicit_bzero(text, sizeof(text));
}

/** struct text - A small answer being gathered */
struct text {
	char buf[4 * AUTH_TOKEN_MAX];
	size_t len;
};

static int take_text(void *arg, const void *p, size_t len, struct err *e)
{
	struct text *t = arg;

	if (len > sizeof(t->buf) - t->len)
		return err_set(e, -E2BIG,
			       "the answer with the token is too "
			       "large");
	memcpy(t->buf + t->len, p, len);
	t->len += len;
	return 0;
}

/* Appends "NAME=VALUE" to a URL, escaped. */
static bool add_query(struct registry *r, char *url, const char *name,
		      const char *value)
{
	char *s = curl_easy_escape(r->http.curl, value, 0);
	size_t len = strlen(url);
	int n = s ? snprintf(url + len, HTTP_URL_MAX + 1 - len, "%c%s=%s",
			     strchr(url, '?') ? '&' : '?', name, s)
		  : -1;

	curl_free(s);
	return n >= 0 && (size_t)n < HTTP_URL_MAX + 1 - len;
}

static int token_url(struct registry *r, const struct auth *a, char *url,
		     struct err *e)
{
	struct http_place p;
	int n;

	memcpy(url, a->realm, strlen(a->realm) + 1);
	n = http_place(url, &p, e);
	if (n < 0)
		return err_wrap(e, n, "where the registry has tokens from");
	/* Who is asked by TLS must not have our name sent without, nor may a
	 * stranger send us to ourselves.
	 */
	if ((r->place.tls && !p.tls) || (!r->place.loopback && p.loopback))
		return err_set(e, -EPERM,
			       "the registry has its tokens from a place that "
			       "is less safe than itself");
	if ((a->service[0] && !add_query(r, url, "service", a->service)) ||
	    (a->scope[0] && !add_query(r, url, "scope", a->scope)))
		return err_set(e, -EBADMSG,
			       "the registry's challenge is too "
			       "long");
	return 0;
}

static int get_token(struct registry *r, const struct auth *a, struct err *e)
{
	char url[HTTP_URL_MAX + 1], token[AUTH_TOKEN_MAX + 1];
	char user[2 * AUTH_USER_MAX];
	auto_free struct text *t = calloc(1, sizeof(*t));
	struct http_ask ask = { .url = url, .sink = take_text, .arg = t };
	struct http_answer got;
	int n;

	if (!t)
		return err_set(e, -ENOMEM, "no memory");
	n = token_url(r, a, url, e);
	if (n < 0)
		return n;
	if (r->user[0]) {
		basic(r, user, sizeof(user));
		ask.auth = user;
	}
	n = http_get(&r->http, &ask, &got, e);
	explicit_bzero(user, sizeof(user));
	if (n < 0)
		return n;
	if (got.status != 200)
		return err_set(
			e, -EACCES, "the registry gives no token (HTTP %ld)%s",
			got.status,
			r->user[0] ? ": are the credentials right?" : "");
	n = auth_token(t->buf, t->len, token, e);
	if (n == 0)
		(void)snprintf(r->auth, sizeof(r->auth), "Bearer %s", token);
	return n;
}

/* Does what a 401 asks for. */
static int answer(struct registry *r, const char *challenge, struct err *e)
{
	struct auth a;
	int n = auth_parse(challenge, &a, e);

	if (n < 0)
		return n;
	if (a.kind == AUTH_BEARER)
		return get_token(r, &a, e);
	if (!r->user[0])
		return err_set(e, -EACCES,
			       "the registry wants a user's name: give it by "
			       "--creds, or docker login");
	basic(r, r->auth, sizeof(r->auth));
	return 0;
}

/* ---- Asking ---- */

/*
 * Follows redirects; credentials only to where the registry is.
 *
 * Return: whether the registry itself has answered; -errno
 */
static int get_far(struct registry *r, const char *url,
		   const struct http_ask *given, struct http_answer *ret,
		   struct err *e)
{
	char at[HTTP_URL_MAX + 1], next[HTTP_URL_MAX + 1];
	struct http_ask ask = *given;
	struct http_place p;
	bool own;
	int n;

	memcpy(at, url, strlen(url) + 1);
	for (int i = 0; i <= REGISTRY_HOPS_MAX; i++) {
		n = http_place(at, &p, e);
		if (n < 0)
			return n;
		own = http_same(&p, &r->place);
		ask.url = at;
		ask.auth = r->auth[0] && own ? r->auth : NULL;
		n = http_get(&r->http, &ask, ret, e);
		if (n < 0)
			return n;
		if (ret->status < 300 || ret->status >= 400 ||
		    !ret->location[0])
			return own;
		n = http_join(at, ret->location, next, e);
		if (n < 0)
			return n;
		memcpy(at, next, sizeof(at));
	}
	return err_set(e, -ELOOP, "the registry sends us on and on");
}

static int status_of(const struct registry *r, long status, const char *what,
		     struct err *e)
{
	switch (status) {
	case 200:
	case 206:
		return 0;
	case 401:
	case 403:
		return err_set(e, -EACCES, "%s does not let us have it%s",
			       r->place.host,
			       r->user[0] ? ": are the credentials right?"
					  : ": it may want --creds");
	case 404:
		return err_set(e, -ENOENT, "%s has no %s", r->base, what);
	case 416:
		return err_set(e, -ERANGE, "%s has fewer bytes than it says",
			       what);
	case 429:
		return err_set(e, -EAGAIN,
			       "%s lets us ask no more for now (HTTP 429)",
			       r->place.host);
	default:
		return err_set(e, -EPROTO, "%s answers with HTTP %ld",
			       r->place.host, status);
	}
}

int registry_get(struct registry *r, const char *what,
		 const struct http_ask *ask, struct http_answer *ret,
		 struct err *e)
{
	char url[HTTP_URL_MAX + 1];
	int n = snprintf(url, sizeof(url), "%s/%s", r->base, what);

	bug_on(n < 0 || (size_t)n >= sizeof(url));
	n = get_far(r, url, ask, ret, e);
	/*
	 * The first time, or when a token has grown too old.  What another
	 * place wants to know of us, where we were sent, is none of its.
	 */
	if (n == 1 && ret->status == 401) {
		n = answer(r, ret->auth, e);
		n = n < 0 ? n : get_far(r, url, ask, ret, e);
	}
	return n < 0 ? n : status_of(r, ret->status, what, e);
}
