/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/http.h - one GET, to one place, bounded in time and bytes
 *
 * Follows no redirect: where it leads is for the caller to look at.  TLS, save
 * to loopback.
 */
#ifndef HUTCH_HOST_IMAGE_HTTP_H
#define HUTCH_HOST_IMAGE_HTTP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "host/image/auth.h"

#define HTTP_URL_MAX     4095
#define HTTP_CONNECT_S   30
#define HTTP_HEADERS_MAX 128
#define HTTP_OTHER_MAX   65536 /* bytes of a body that nobody wants */

/** Takes body bytes. Return: 0, or -errno to end it, with a sentence */
typedef int http_sink(void *arg, const void *p, size_t len, struct err *e);

/**
 * struct http_ask - What is asked
 * @accept:	Media types, or NULL
 * @auth:	Value of Authorization, or NULL
 * @from:	First byte wanted; 0: all
 * @sink:	Called for the body of an answer 200 or 206 only; another ends after
 *		HTTP_OTHER_MAX bytes or the idle time
 */
struct http_ask {
	const char *url;
	const char *accept;
	const char *auth;
	uint64_t from;
	http_sink *sink;
	void *arg;
};

/**
 * struct http_answer - What came
 * @status:	HTTP's
 * @from:	With 206, the first byte that came
 * @location:	"" if there is none, as the others
 * @auth:	Of the challenges the first Bearer, or else the first Basic
 * @broken:	The connection failed behind the head: body bytes are missing
 */
struct http_answer {
	long status;
	uint64_t from;
	bool broken;
	char location[HTTP_URL_MAX + 1];
	char auth[AUTH_HEADER_MAX + 1];
	char digest[128];
};

/** struct http - A connection that is kept */
struct http {
	CURL *curl;
	unsigned int idle_s;
};

/** http_open() - Return: 0 or -ENOMEM */
MUST_CHECK int http_open(struct http *h, unsigned int idle_s, struct err *e);

/** http_close() - Takes a half-open one */
void http_close(struct http *h);

/**
 * http_get() - Ask, and wait for all of the answer
 *
 * Return: 0 with any status; -ETIMEDOUT; -EPROTO; what the sink returned;
 *         -EIO with @ret->broken if it may be tried again
 */
MUST_CHECK int http_get(struct http *h, const struct http_ask *ask,
			struct http_answer *ret, struct err *e);

/** struct http_place - A URL's parts that say who is asked */
struct http_place {
	bool tls;
	bool loopback;
	char host[256];
	char port[8];
};

/** http_place() - Take a URL apart. Return: 0 or -EINVAL with a sentence */
MUST_CHECK int http_place(const char *url, struct http_place *ret,
			  struct err *e);

/** http_same() - Whether two places are one */
bool http_same(const struct http_place *a, const struct http_place *b);

/** http_is_loopback() - "localhost", 127.0.0.0/8, ::1 */
bool http_is_loopback(const char *host);

/**
 * http_join() - Where a Location leads
 *
 * Return: 0; -EPERM if it leads from TLS to none, or to this machine from
 *         another; -EBADMSG
 */
MUST_CHECK int http_join(const char *base, const char *location,
			 char ret[HTTP_URL_MAX + 1], struct err *e);

#endif
