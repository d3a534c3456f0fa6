/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/auth.h - how a registry wants to be asked, and who we say we are */
#ifndef HUTCH_HOST_IMAGE_AUTH_H
#define HUTCH_HOST_IMAGE_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

#define AUTH_REALM_MAX  1023
#define AUTH_WORD_MAX   1023
#define AUTH_USER_MAX   1023 /* bytes of "user:password" */
#define AUTH_CONFIG_MAX (1u << 20)
#define AUTH_TOKEN_MAX  16384
#define AUTH_HEADER_MAX 8192

/* The greater, the better: a token may be had without a name. */
enum auth_kind {
	AUTH_NONE = 0,
	AUTH_BASIC,
	AUTH_BEARER
};

/**
 * struct auth - A challenge (RFC 9110, 11.6.1; Docker's token protocol)
 * @realm:	With AUTH_BEARER the URL to get a token from
 * @service:	"" if none was said, as @scope
 */
struct auth {
	enum auth_kind kind;
	char realm[AUTH_REALM_MAX + 1];
	char service[AUTH_WORD_MAX + 1];
	char scope[AUTH_WORD_MAX + 1];
};

/** auth_kind() - What a WWW-Authenticate header asks for; AUTH_NONE: unknown */
enum auth_kind auth_kind(const char *s);

/**
 * auth_parse() - Understand a WWW-Authenticate header
 * @s:		Its value
 *
 * Return: 0; -EBADMSG with a sentence; -ENOTSUP for another scheme
 */
MUST_CHECK int auth_parse(const char *s, struct auth *ret, struct err *e);

/**
 * auth_docker() - "user:password" for a registry, from Docker's config.json
 * @host:	As in references; docker.io is known by its old name as well. What
 *		has just this key goes first, then the first whose key, be it a
 *		URL or with a path, is of that host
 * @ret_helper:	Set if Docker would ask a helper program, which we do not
 *
 * Return: 0, also with "" if there is none; -EBADMSG with a sentence
 */
MUST_CHECK int auth_docker(const char *json, size_t len, const char *host,
			   char ret[AUTH_USER_MAX + 1], bool *ret_helper,
			   struct err *e);

/**
 * auth_token() - The token in the answer of a realm
 * @ret:	Printable, without blanks
 */
MUST_CHECK int auth_token(const char *json, size_t len,
			  char ret[AUTH_TOKEN_MAX + 1], struct err *e);

#endif
