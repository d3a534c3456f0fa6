/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/http.c - see http.h */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/log.h"
#include "host/image/http.h"

#define QUOTE_MAX 120
#define AGENT     "hutch/" HUTCH_VERSION

/* ---- Places ---- */

bool http_is_loopback(const char *host)
{
	struct in_addr a;

	if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, host, &a) == 1 &&
	       (ntohl(a.s_addr) >> 24) == 127;
}

static int no_url(const char *url, const char *why, struct err *e)
{
	char q[QUOTE_MAX];

	return err_set(e, -EINVAL, "'%s': %s",
		       log_escape(q, sizeof(q), url, strlen(url)), why);
}

static bool get_part(CURLU *u, CURLUPart what, unsigned int flags, char *buf,
		     size_t cap)
{
	char *s = NULL;
	bool ok = curl_url_get(u, what, &s, flags) == CURLUE_OK &&
		  strlen(s) < cap;

	if (ok)
		memcpy(buf, s, strlen(s) + 1);
	curl_free(s);
	return ok;
}

/* Also if it is empty, and however long it is. */
static bool has_part(CURLU *u, CURLUPart what, CURLUcode none)
{
	char *s = NULL;
	CURLUcode c = curl_url_get(u, what, &s, 0);

	curl_free(s);
	return c != none;
}

static int read_place(CURLU *u, const char *url, struct http_place *ret,
		      struct err *e)
{
	struct http_place p = { 0 };
	char scheme[16];

	if (!get_part(u, CURLUPART_SCHEME, 0, scheme, sizeof(scheme)) ||
	    !get_part(u, CURLUPART_HOST, 0, p.host, sizeof(p.host)) ||
	    !get_part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, p.port,
		      sizeof(p.port)))
		return no_url(url, "it is no URL of a registry", e);
	if (has_part(u, CURLUPART_USER, CURLUE_NO_USER) ||
	    has_part(u, CURLUPART_PASSWORD, CURLUE_NO_PASSWORD))
		return no_url(url, "a URL with a user in it is refused", e);
	p.tls = strcmp(scheme, "https") == 0;
	p.loopback = http_is_loopback(p.host);
	if (!p.tls && (strcmp(scheme, "http") != 0 || !p.loopback))
		return no_url(url,
			      "only this machine is asked without TLS (https)",
			      e);
	*ret = p;
	return 0;
}

int http_place(const char *url, struct http_place *ret, struct err *e)
{
	CURLU *u = curl_url();
	int r;

	if (!u)
		return err_set(e, -ENOMEM, "no memory");
	if (strlen(url) > HTTP_URL_MAX ||
	    curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK)
		r = no_url(url, "it is no URL of a registry", e);
	else
		r = read_place(u, url, ret, e);
	curl_url_cleanup(u);
	return r;
}

bool http_same(const struct http_place *a, const struct http_place *b)
{
	return a->tls == b->tls && strcasecmp(a->host, b->host) == 0 &&
	       strcmp(a->port, b->port) == 0;
}

static int resolve(const char *base, const char *location, char *ret,
		   struct err *e)
{
	CURLU *u = curl_url();
	bool ok;

	if (!u)
		return err_set(e, -ENOMEM, "no memory");
	ok = curl_url_set(u, CURLUPART_URL, base, 0) == CURLUE_OK &&
	     curl_url_set(u, CURLUPART_URL, location, 0) == CURLUE_OK &&
	     get_part(u, CURLUPART_URL, 0, ret, HTTP_URL_MAX + 1);
	curl_url_cleanup(u);
	return ok ? 0 : err_set(e, -EBADMSG, "the registry sends us to no URL");
}

int http_join(const char *base, const char *location,
	      char ret[HTTP_URL_MAX + 1], struct err *e)
{
	char url[HTTP_URL_MAX + 1];
	struct http_place from = { 0 }, to = { 0 };
	int r = resolve(base, location, url, e);

	r = r < 0 ? r : http_place(base, &from, e);
	r = r < 0 ? r : http_place(url, &to, e);
	if (r < 0)
		return r;
	if ((from.tls && !to.tls) || (!from.loopback && to.loopback))
		return err_set(e, -EPERM,
			       "the registry sends us to a place that is less "
			       "safe than itself");
	memcpy(ret, url, sizeof(url));
	return 0;
}

/* ---- Asking ---- */

int http_open(struct http *h, unsigned int idle_s, struct err *e)
{
	h->idle_s = idle_s;
	h->curl = curl_easy_init();
	return h->curl ? 0 : err_set(e, -ENOMEM, "no memory");
}

void http_close(struct http *h)
{
	if (h->curl)
		curl_easy_cleanup(h->curl);
	h->curl = NULL;
}

/**
 * struct get - One GET under way
 * @others:	Bytes of a body that nobody wants
 * @until:	Seconds of the monotonic clock: no longer such a body is read
 * @ended:	We have ended the answer, which is as good as whole
 */
struct get {
	const struct http_ask *ask;
	struct http_answer *ret;
	struct err *e;
	CURL *curl;
	unsigned int n_headers;
	unsigned int idle_s;
	size_t others;
	time_t until;
	bool ended;
	int sunk;
};

/* If the line is header @name, copies its value. */
static void take_header(const char *line, size_t len, const char *name,
			char *buf, size_t cap)
{
	size_t n = strlen(name);

	if (len < n || strncasecmp(line, name, n) != 0)
		return;
	line += n;
	len -= n;
	while (len && (*line == ' ' || *line == '\t'))
		line++, len--;
	while (len && (unsigned char)line[len - 1] <= ' ')
		len--;
	/* One that is too long is none. */
	if (len >= cap || memchr(line, '\0', len))
		return;
	memcpy(buf, line, len);
	buf[len] = '\0';
}

/* Of several challenges the first of the best kind. */
static void take_auth(const char *line, size_t len, struct http_answer *ret)
{
	char auth[AUTH_HEADER_MAX + 1] = "";

	take_header(line, len, "www-authenticate:", auth, sizeof(auth));
	if (auth_kind(auth) > auth_kind(ret->auth))
		memcpy(ret->auth, auth, sizeof(auth));
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct get *g = arg;
	size_t len = size * n;
	char range[128] = "";
	unsigned long long from = 0;
	char *end;

	if (g->n_headers++ > HTTP_HEADERS_MAX)
		return 0;
	/* Another head, behind "100 Continue" say: the one before is void. */
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0)
		*g->ret = (struct http_answer){ 0 };
	take_header(line, len, "location:", g->ret->location,
		    sizeof(g->ret->location));
	take_auth(line, len, g->ret);
	take_header(line, len, "docker-content-digest:", g->ret->digest,
		    sizeof(g->ret->digest));
	take_header(line, len, "content-range:", range, sizeof(range));
	if (strncmp(range, "bytes ", 6) == 0) {
		from = strtoull(range + 6, &end, 10);
		g->ret->from = *end == '-' ? from : UINT64_MAX;
	}
	return len;
}

/* A small one is read to its end, so that the connection can be kept. */
static size_t skip_body(struct get *g, size_t len)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (g->others == 0)
		g->until = now.tv_sec + (time_t)g->idle_s;
	g->others += len;
	g->ended = g->others > HTTP_OTHER_MAX || now.tv_sec > g->until;
	return g->ended ? 0 : len;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	struct get *g = arg;
	long status = 0;

	(void)curl_easy_getinfo(g->curl, CURLINFO_RESPONSE_CODE, &status);
	g->ret->status = status;
	if (status != 200 && status != 206)
		return skip_body(g, size * n);
	g->sunk = g->ask->sink(g->ask->arg, p, size * n, g->e);
	return g->sunk < 0 ? 0 : size * n;
}

static struct curl_slist *add_header(struct curl_slist *l, const char *name,
				     const char *value, bool *ok)
{
	struct curl_slist *more = NULL;
	char *line = NULL;

	if (!value)
		return l;
	if (asprintf(&line, "%s: %s", name, value) >= 0)
		more = curl_slist_append(l, line);
	free(line);
	*ok = *ok && more;
	return more ? more : l;
}

/* Each is kept going by the one before: the first failure stays. */
static CURLcode set_long(CURL *c, CURLcode r, CURLoption what, long value)
{
	return r == CURLE_OK ? curl_easy_setopt(c, what, value) : r;
}

static CURLcode set_ptr(CURL *c, CURLcode r, CURLoption what, const void *value)
{
	return r == CURLE_OK && value ? curl_easy_setopt(c, what, value) : r;
}

static CURLcode set_bounds(struct http *h)
{
	CURL *c = h->curl;
	CURLcode r = set_long(c, CURLE_OK, CURLOPT_FOLLOWLOCATION, 0);

	r = set_long(c, r, CURLOPT_NOSIGNAL, 1);
	/* What a proxy says in plain is not the registry's. */
	r = set_long(c, r, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1);
	r = set_long(c, r, CURLOPT_CONNECTTIMEOUT, HTTP_CONNECT_S);
	r = set_long(c, r, CURLOPT_LOW_SPEED_LIMIT, 1);
	r = set_long(c, r, CURLOPT_LOW_SPEED_TIME, (long)h->idle_s);
	return set_long(c, r, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
}

static CURLcode set_sinks(CURL *c, CURLcode r, struct get *g)
{
	if (r == CURLE_OK)
		r = curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	if (r == CURLE_OK)
		r = curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	r = set_ptr(c, r, CURLOPT_WRITEDATA, g);
	return set_ptr(c, r, CURLOPT_HEADERDATA, g);
}

static int set_up(struct http *h, struct get *g, const struct http_place *p,
		  struct curl_slist *headers)
{
	const char *ca = getenv("SSL_CERT_FILE");
	CURL *c = h->curl;
	char range[32];
	CURLcode r;

	(void)snprintf(range, sizeof(range), "%llu-",
		       (unsigned long long)g->ask->from);
	curl_easy_reset(c);
	r = set_bounds(h);
	r = set_sinks(c, r, g);
	r = set_ptr(c, r, CURLOPT_URL, g->ask->url);
	r = set_ptr(c, r, CURLOPT_PROTOCOLS_STR, p->tls ? "https" : "http");
	r = set_ptr(c, r, CURLOPT_USERAGENT, AGENT);
	r = set_ptr(c, r, CURLOPT_HTTPHEADER, headers);
	/* Not curl's resume: what comes of it is ours to look at. */
	r = set_ptr(c, r, CURLOPT_RANGE, g->ask->from ? range : NULL);
	r = set_ptr(c, r, CURLOPT_CAINFO, ca && *ca ? ca : NULL);
	r = set_ptr(c, r, CURLOPT_NOPROXY, p->loopback ? "*" : NULL);
	return r == CURLE_OK ? 0 : -ENOMEM;
}

/* What curl says, as an errno and a sentence. */
static int outcome(const struct get *g, CURLcode c, const char *host,
		   struct err *e)
{
	const char *why = curl_easy_strerror(c);

	if (g->sunk < 0)
		return g->sunk;
	if (g->ended)
		return 0;
	switch (c) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		g->ret->broken = true;
		return err_set(e, -ETIMEDOUT, "%s does not answer in time",
			       host);
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		g->ret->broken = true;
		return err_set(e, -EIO, "the connection to %s broke: %s", host,
			       why);
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
		return err_set(e, -EHOSTUNREACH, "cannot reach %s: %s", host,
			       why);
	default:
		return err_set(e, -EPROTO, "%s: %s", host, why);
	}
}

int http_get(struct http *h, const struct http_ask *ask,
	     struct http_answer *ret, struct err *e)
{
	struct get g = { .ask = ask,
			 .ret = ret,
			 .e = e,
			 .curl = h->curl,
			 .idle_s = h->idle_s };
	struct curl_slist *headers = NULL;
	struct http_place p = { 0 };
	bool ok = true;
	CURLcode c;
	int r = http_place(ask->url, &p, e);

	if (r < 0)
		return r;
	*ret = (struct http_answer){ 0 };
	headers = add_header(headers, "Accept", ask->accept, &ok);
	headers = add_header(headers, "Authorization", ask->auth, &ok);
	r = ok ? set_up(h, &g, &p, headers) : -ENOMEM;
	if (r < 0) {
		curl_slist_free_all(headers);
		return err_set(e, r, "no memory");
	}
	c = curl_easy_perform(h->curl);
	(void)curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &ret->status);
	curl_slist_free_all(headers);
	return outcome(&g, c, p.host, e);
}
