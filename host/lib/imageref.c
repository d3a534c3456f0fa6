/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/imageref.c - see imageref.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "host/lib/imageref.h"

#define QUOTE_MAX 80
#define PORT_MAX  5

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define ALNUM  LOWER DIGITS

static int refuse(const char *s, const char *why, struct err *e)
{
	char q[QUOTE_MAX];

	return err_set(e, -EINVAL, "'%s' is no name of an image: %s",
		       log_escape(q, sizeof(q), s, strlen(s)), why);
}

bool imageref_id_ok(const char *s)
{
	return strspn(s, DIGITS "abcdef") == HUTCH_IMAGE_ID_LEN &&
	       !s[HUTCH_IMAGE_ID_LEN];
}

bool imageref_digest_ok(const char *s)
{
	return strncmp(s, "sha256:", 7) == 0 && imageref_id_ok(s + 7);
}

/* [a-z0-9]+ with ".", "_", "__" or any number of "-" in between. */
static bool component_ok(const char *s, size_t len)
{
	size_t i = 0;

	for (;;) {
		size_t n = 0;

		while (i < len && strchr(ALNUM, s[i]))
			i++, n++;
		if (n == 0)
			return false;
		if (i == len)
			return true;
		if (s[i] == '-') {
			while (i < len && s[i] == '-')
				i++;
		} else if (s[i] == '.') {
			i++;
		} else if (s[i] == '_') {
			i += i + 1 < len && s[i + 1] == '_' ? 2 : 1;
		} else {
			return false;
		}
	}
}

static bool path_ok(const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "/");

		if (!component_ok(s, n))
			return false;
		s += n;
		if (*s == '/' && !*++s)
			return false;
	}
	return true;
}

/* Letters, digits and inner dashes, separated by single dots. */
static bool host_ok(const char *s, size_t len)
{
	bool edge = true;

	for (size_t i = 0; i < len; i++) {
		bool last = i + 1 == len || s[i + 1] == '.';

		if (s[i] == '.' ? edge
				: (s[i] == '-' ? edge || last
					       : !strchr(ALNUM UPPER, s[i])))
			return false;
		edge = s[i] == '.';
	}
	return len > 0 && !edge;
}

static bool domain_ok(const char *s)
{
	const char *port = strrchr(s, ':');
	size_t len = port ? (size_t)(port - s) : strlen(s);

	if (s[0] == '[') {
		const char *end = strchr(s, ']');

		len = end ? (size_t)(end - s) + 1 : 0;
		if (len < 4 ||
		    strspn(s + 1, DIGITS "abcdefABCDEF:.") != len - 2)
			return false;
		port = s[len] ? s + len : NULL;
		if (port && *port != ':')
			return false;
	} else if (!host_ok(s, len)) {
		return false;
	}
	if (!port)
		return true;
	len = strspn(port + 1, DIGITS);
	return len > 0 && len <= PORT_MAX && !port[1 + len];
}

static bool tag_ok(const char *s)
{
	size_t n = strspn(s, ALNUM UPPER "_.-");

	return n > 0 && n <= IMAGEREF_TAG_MAX && !s[n] && *s != '.' &&
	       *s != '-';
}

/* Whether the first of several components is a host, by Docker's rule. */
static bool is_domain(const char *s)
{
	return strpbrk(s, ".:[" UPPER) || strcmp(s, "localhost") == 0;
}

/* Cuts the digest and the tag off @s. Return: NULL, or what is wrong. */
static const char *take_ends(char *s, struct imageref *r)
{
	char *at = strchr(s, '@');
	char *colon;

	if (at) {
		*at++ = '\0';
		if (!imageref_digest_ok(at))
			return "a digest is sha256: and 64 hexadecimal digits";
		memcpy(r->digest, at, sizeof(r->digest));
	}
	colon = strrchr(s, ':');
	if (colon && !strchr(colon, '/')) {
		*colon++ = '\0';
		if (!tag_ok(colon))
			return "a tag is up to 128 letters, digits, '_', '.' "
			       "and '-', and begins with none of the last two";
		memcpy(r->tag, colon, strlen(colon) + 1);
	}
	return NULL;
}

static const char *take_name(char *s, struct imageref *r)
{
	char *slash = strchr(s, '/');

	if (slash) {
		*slash = '\0';
		if (is_domain(s)) {
			if (!domain_ok(s))
				return "its first part is no host";
			memcpy(r->domain, s, strlen(s) + 1);
			s = slash + 1;
		} else {
			*slash = '/';
		}
	}
	if (!*s || !path_ok(s))
		return "write [HOST[:PORT]/]PATH[:TAG], PATH in small letters "
		       "and digits, with '.', '_', '-' and '/' between them";
	if (!r->domain[0] && imageref_id_ok(s))
		return "64 hexadecimal digits are an id";
	memcpy(r->path, s, strlen(s) + 1);
	return NULL;
}

int imageref_parse(const char *s, struct imageref *ret, struct err *e)
{
	char buf[HUTCH_IMAGE_REF_MAX + 1], text[HUTCH_IMAGE_REF_MAX + 1];
	struct imageref r = { 0 };
	const char *why;
	int n;

	if (strlen(s) >= sizeof(buf))
		return refuse(s, "it is longer than 255 bytes", e);
	memcpy(buf, s, strlen(s) + 1);
	why = take_ends(buf, &r);
	why = why ? why : take_name(buf, &r);
	if (why)
		return refuse(s, why, e);
	n = imageref_text(&r, text, e);
	if (n < 0)
		return n;
	*ret = r;
	return 0;
}

int imageref_text(const struct imageref *r, char buf[HUTCH_IMAGE_REF_MAX + 1],
		  struct err *e)
{
	char text[3 * HUTCH_IMAGE_REF_MAX];
	const char *end = r->digest[0] ? r->digest
			  : r->tag[0]  ? r->tag
				       : "latest";
	int n = snprintf(text, sizeof(text), "%s%s%s%c%s", r->domain,
			 r->domain[0] ? "/" : "", r->path,
			 r->digest[0] ? '@' : ':', end);

	if (n < 0 || n > HUTCH_IMAGE_REF_MAX)
		return refuse(text, "it is longer than 255 bytes", e);
	memcpy(buf, text, (size_t)n + 1);
	return 0;
}

int imageref_expand(struct imageref *ref, struct err *e)
{
	struct imageref r = *ref;
	char text[HUTCH_IMAGE_REF_MAX + 1];
	int had = r.domain[0] != '\0', ret;

	if (!had || strcmp(r.domain, "index.docker.io") == 0)
		memcpy(r.domain, IMAGEREF_HUB, sizeof(IMAGEREF_HUB));
	if (strcmp(r.domain, IMAGEREF_HUB) == 0 && !strchr(r.path, '/')) {
		ret = snprintf(r.path, sizeof(r.path), "library/%s", ref->path);
		if (ret < 0 || (size_t)ret >= sizeof(r.path))
			return refuse(ref->path, "it is too long", e);
	}
	ret = imageref_text(&r, text, e);
	if (ret < 0)
		return ret;
	*ref = r;
	return !had;
}
