/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/registry.h - a registry (OCI distribution-spec 1.1, "pull")
 *
 * How it works.  A request without credentials comes first; if it is refused,
 * the answer says how to ask: with the user's name (Basic), or with a token
 * that a realm gives out for it (Bearer).  Credentials go to the registry and
 * to the realm that it names, nowhere else: where a redirect leads to another
 * host, port or scheme, nothing of them goes along, and no challenge from there
 * is answered.
 */
#ifndef HUTCH_HOST_IMAGE_REGISTRY_H
#define HUTCH_HOST_IMAGE_REGISTRY_H

#include "host/image/http.h"
#include "host/lib/imageref.h"

#define REGISTRY_HOPS_MAX 5 /* redirects in a row */

/**
 * struct registry - One repository of one
 * @base:	"https://HOST/v2/PATH"
 * @user:	"user:password", or ""
 * @auth:	Value of Authorization, or ""
 */
struct registry {
	struct http http;
	struct http_place place;
	char base[HTTP_URL_MAX + 1];
	char user[AUTH_USER_MAX + 1];
	char auth[AUTH_TOKEN_MAX + 16];
};

/**
 * registry_open() - For the repository of @ref, which has a domain
 * @user:	"user:password", or ""
 * @idle_s:	Seconds without a byte until we give up
 */
MUST_CHECK int registry_open(struct registry *r, const struct imageref *ref,
			     const char *user, unsigned int idle_s,
			     struct err *e);

/** registry_close() - Takes a half-open one, and wipes what is secret */
void registry_close(struct registry *r);

/**
 * registry_get() - Ask for "manifests/X" or "blobs/X"
 * @ask:	Without URL and authorization
 *
 * Return: 0 with 200 or 206; -ENOENT; -EACCES; as http_get()
 */
MUST_CHECK int registry_get(struct registry *r, const char *what,
			    const struct http_ask *ask, struct http_answer *ret,
			    struct err *e);

#endif
