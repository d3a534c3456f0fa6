/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/auth.c - see auth.h */
#include <errno.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "host/image/auth.h"
#include "host/lib/imageref.h"
#include "host/lib/imagework.h"
#include "host/lib/jsontext.h"

#define HUB_OLD "https://index.docker.io/v1/"

/* ---- WWW-Authenticate ---- */

static const char *skip(const char *s, const char *what)
{
	return s + strspn(s, what);
}

static bool is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* A value, quoted or not, into @buf. Return: what follows, or NULL. */
static const char *read_value(const char *s, char *buf, size_t cap)
{
	bool quoted = *s == '"';
	size_t n = 0;

	s += quoted;
	for (; quoted ? *s && *s != '"' : is_token(*s); s++) {
		if (quoted && *s == '\\' && s[1])
			s++;
		if (n + 1 >= cap)
			return NULL;
		buf[n++] = *s;
	}
	if (quoted && *s != '"')
		return NULL;
	buf[n] = '\0';
	/* What goes into a URL or a header may have no controls. */
	return imagework_clean(buf) ? s + quoted : NULL;
}

/* One "NAME=VALUE". Return: what follows, or NULL. */
static const char *read_param(const char *s, struct auth *a)
{
	const struct {
		const char *name;
		char *value;
		size_t cap;
	} all[] = {
		{ "realm", a->realm, sizeof(a->realm) },
		{ "service", a->service, sizeof(a->service) },
		{ "scope", a->scope, sizeof(a->scope) },
	};
	char other[AUTH_REALM_MAX + 1];
	size_t n = 0;

	while (is_token(s[n]))
		n++;
	if (n == 0 || s[n] != '=')
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strlen(all[i].name) == n &&
		    strncasecmp(s, all[i].name, n) == 0)
			return read_value(s + n + 1, all[i].value, all[i].cap);
	return read_value(s + n + 1, other, sizeof(other));
}

enum auth_kind auth_kind(const char *s)
{
	s = skip(s, " \t");
	if (strncasecmp(s, "Bearer ", 7) == 0)
		return AUTH_BEARER;
	return strncasecmp(s, "Basic ", 6) == 0 ? AUTH_BASIC : AUTH_NONE;
}

int auth_parse(const char *s, struct auth *ret, struct err *e)
{
	struct auth a = { .kind = auth_kind(s) };

	if (a.kind == AUTH_NONE)
		return err_set(e, -ENOTSUP,
			       "the registry wants to be asked in a way that "
			       "hutch does not know");
	s = skip(skip(s, " \t") + 6, " \t");
	while (s && *s) {
		s = read_param(s, &a);
		s = s ? skip(s, " \t") : NULL;
		if (s && *s && *s != ',')
			s = NULL;
		s = s ? skip(s, ", \t") : NULL;
	}
	if (!s || (a.kind == AUTH_BEARER && !a.realm[0]))
		return err_set(e, -EBADMSG,
			       "the registry says in no known way how it wants "
			       "to be asked");
	*ret = a;
	return 0;
}

/* ---- config.json ---- */

static int decode(const char *s, char ret[AUTH_USER_MAX + 1])
{
	size_t len = strlen(s), n = AUTH_USER_MAX;
	uint8_t buf[BASE64_DECODE_LENGTH(2 * AUTH_USER_MAX)];
	struct base64_decode_ctx ctx;

	if (BASE64_DECODE_LENGTH(len) > n)
		return -EBADMSG;
	base64_decode_init(&ctx);
	if (!base64_decode_update(&ctx, &n, buf, len, s) ||
	    !base64_decode_final(&ctx) || n > AUTH_USER_MAX ||
	    memchr(buf, '\0', n) || !memchr(buf, ':', n))
		return -EBADMSG;
	memcpy(ret, buf, n);
	ret[n] = '\0';
	return 0;
}

/* Of a key, which may be a URL or go on with a path. */
static bool is_of_host(const char *key, const char *host)
{
	size_t len = strlen(host);

	if (strncmp(key, "https://", 8) == 0)
		key += 8;
	else if (strncmp(key, "http://", 7) == 0)
		key += 7;
	return strncmp(key, host, len) == 0 &&
	       (key[len] == '\0' || key[len] == '/');
}

static const json_t *login_of(json_t *auths, const char *host)
{
	json_t *exact = json_object_get(auths, host), *v;
	const char *key;

	if (exact)
		return exact;
	json_object_foreach(auths, key, v)
	{
		if (is_of_host(key, host))
			return v;
	}
	return NULL;
}

int auth_docker(const char *json, size_t len, const char *host,
		char ret[AUTH_USER_MAX + 1], bool *ret_helper, struct err *e)
{
	auto_json json_t *j = json_loadb(json, len, 0, NULL);
	json_t *auths = json_object_get(j, "auths");
	const json_t *a = login_of(auths, host);
	const char *text;

	if (!json_is_object(j))
		return err_set(e, -EBADMSG,
			       "Docker's config.json is no JSON object");
	if (!a && strcmp(host, IMAGEREF_HUB) == 0)
		a = json_object_get(auths, HUB_OLD);
	text = json_string_value(json_object_get(a, "auth"));
	*ret_helper =
		!text &&
		(json_object_get(j, "credsStore") ||
		 json_object_get(json_object_get(j, "credHelpers"), host));
	ret[0] = '\0';
	if (text && *text && decode(text, ret) < 0)
		return err_set(
			e, -EBADMSG,
			"Docker's config.json has no right 'auth' for %s",
			host);
	return 0;
}

int auth_token(const char *json, size_t len, char ret[AUTH_TOKEN_MAX + 1],
	       struct err *e)
{
	auto_json json_t *j = json_loadb(json, len, 0, NULL);
	const char *s = json_string_value(json_object_get(j, "token"));
	size_t n;

	if (!s)
		s = json_string_value(json_object_get(j, "access_token"));
	n = s ? strlen(s) : 0;
	if (n == 0 || n > AUTH_TOKEN_MAX)
		return err_set(e, -EBADMSG,
			       "the registry's answer has no "
			       "token that can be");
	for (size_t i = 0; i < n; i++)
		if (s[i] <= ' ' || s[i] >= 0x7f)
			return err_set(e, -EBADMSG,
				       "the registry's token has characters "
				       "that cannot be");
	memcpy(ret, s, n + 1);
	return 0;
}
