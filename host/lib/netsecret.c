/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/netsecret.c - see netsecret.h */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "host/lib/netpolicy.h"
#include "host/lib/netsecret.h"

#define REFERENCE "${env:"
#define DEPTH_MAX 16 /* of a policy; hutch-net looks at the rest of it */
#define QUOTE_MAX 80
#define KEY_MIN   20u /* characters of what may be a key */

/**
 * struct text - A string that grows
 * @len:	Without its NUL
 */
struct text {
	char *s;
	size_t len;
};

static int append(struct text *t, const char *s, size_t len)
{
	char *more;

	if (t->len + len > NETPOLICY_MAX)
		return -E2BIG;
	more = malloc(t->len + len + 1);
	if (!more)
		return -ENOMEM;
	if (t->s) {
		memcpy(more, t->s, t->len);
		explicit_bzero(t->s, t->len);
		free(t->s);
	}
	memcpy(more + t->len, s, len);
	t->len += len;
	more[t->len] = '\0';
	t->s = more;
	return 0;
}

static int append_variable(struct text *t, const char *name, size_t len,
			   struct err *e)
{
	auto_free char *key = strndup(name, len);
	const char *value = key ? getenv(key) : NULL;
	char q[QUOTE_MAX];

	if (!key)
		return err_set(e, -ENOMEM, "no memory");
	if (!value || !*value)
		return err_set(e, -EINVAL,
			       "network: the policy wants variable '%s', which "
			       "is %s",
			       log_escape(q, sizeof(q), key, len),
			       value ? "empty" : "not set");
	return append(t, value, strlen(value));
}

/* A "${env:" without its end stays what it is. */
static int expand(struct text *t, const char *s, struct err *e)
{
	int r = append(t, "", 0);

	while (r == 0 && *s) {
		const char *ref = strstr(s, REFERENCE);
		const char *end = ref ? strchr(ref, '}') : NULL;

		if (!end)
			return append(t, s, strlen(s));
		r = append(t, s, (size_t)(ref - s));
		ref += sizeof(REFERENCE) - 1;
		if (r == 0)
			r = append_variable(t, ref, (size_t)(end - ref), e);
		s = end + 1;
	}
	return r;
}

static json_t *expand_string(const json_t *j, int *r, struct err *e)
{
	struct text t = { NULL, 0 };
	json_t *made = NULL;

	*r = expand(&t, json_string_value(j), e);
	if (*r == -E2BIG || *r == -ENOMEM)
		*r = err_set(e, *r, "network: the policy: %s", strerror(-*r));
	if (*r == 0)
		made = json_stringn(t.s, t.len);
	if (*r == 0 && !made)
		*r = err_set(e, -EINVAL,
			     "network: what a variable of the policy holds is "
			     "not UTF-8");
	if (t.s)
		explicit_bzero(t.s, t.len);
	free(t.s);
	return made;
}

static int expand_below(json_t *j, int depth, struct err *e);

static int expand_one(json_t *v, json_t **ret, int depth, struct err *e)
{
	int r = 0;

	*ret = NULL;
	if (!json_is_string(v))
		return expand_below(v, depth + 1, e);
	if (strstr(json_string_value(v), REFERENCE))
		*ret = expand_string(v, &r, e);
	return r;
}

static int expand_below(json_t *j, int depth, struct err *e)
{
	json_t *v, *made;
	const char *key;
	size_t i;
	int r = 0;

	if (depth > DEPTH_MAX)
		return err_set(e, -EINVAL, "network: the policy is too deep");
	json_array_foreach(j, i, v)
	{
		r = expand_one(v, &made, depth, e);
		if (r == 0 && made && json_array_set_new(j, i, made) < 0)
			r = err_set(e, -ENOMEM, "no memory");
		if (r < 0)
			return r;
	}
	json_object_foreach(j, key, v)
	{
		r = expand_one(v, &made, depth, e);
		if (r == 0 && made && json_object_set_new(j, key, made) < 0)
			r = err_set(e, -ENOMEM, "no memory");
		if (r < 0)
			return r;
	}
	return 0;
}

/* A name by which a header may well carry a credential. */
static bool is_secret(const char *name)
{
	static const char *const in[] = { "auth",       "bearer",    "cookie",
					  "credential", "jwt",       "key",
					  "passw",      "pwd",       "secret",
					  "session",    "signature", "token" };

	for (size_t i = 0; i < ARRAY_LEN(in); i++)
		if (strcasestr(name, in[i]))
			return true;
	return false;
}

static bool has_reference(const char *s)
{
	const char *ref = strstr(s, REFERENCE);

	return ref && strchr(ref, '}');
}

/* "Bearer abc" and its like, with something behind it that is no reference. */
static bool has_scheme(const char *s)
{
	static const char *const schemes[] = {
		"Bearer", "Basic", "Digest", "Token", "ApiKey", "Negotiate"
	};

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t len = strlen(schemes[i]);

		if (strncasecmp(s, schemes[i], len) != 0 || s[len] != ' ')
			continue;
		s += len;
		s += strspn(s, " ");
		return *s && strncmp(s, REFERENCE, sizeof(REFERENCE) - 1) != 0;
	}
	return false;
}

/* So many in a row, with letters and digits among them, are no word. */
static bool has_key(const char *s)
{
	static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
	static const char digit[] = "0123456789";
	char all[sizeof(upper) + sizeof(lower) + sizeof(digit) + 4];

	(void)snprintf(all, sizeof(all), "%s%s%s_-+", upper, lower, digit);
	while (*s) {
		size_t n = strspn(s, all);

		if (n >= KEY_MIN && strcspn(s, digit) < n &&
		    MIN(strcspn(s, upper), strcspn(s, lower)) < n)
			return true;
		s += n;
		if (strncmp(s, REFERENCE, sizeof(REFERENCE) - 1) == 0)
			s += strcspn(s, "}");
		s += *s != '\0';
	}
	return false;
}

/* Whether the record may have it as it was written. */
static bool is_literal_secret(const char *name, const char *value)
{
	return (is_secret(name) && *value && !has_reference(value)) ||
	       has_scheme(value) || has_key(value);
}

/* A credential as it is would be in the record, and so on the disk. */
static int check_literals(json_t *headers, size_t rule, struct err *e)
{
	const char *name, *value;
	char q[QUOTE_MAX];
	json_t *v;

	json_object_foreach(headers, name, v)
	{
		value = json_string_value(v);
		if (!value || !is_literal_secret(name, value))
			continue;
		return err_set(
			e, -EINVAL,
			"network: rule %zu injects '%s' as it is written, "
			"which would be kept on the disk; put the value "
			"into a variable, and write ${env:NAME}",
			rule, log_escape(q, sizeof(q), name, strlen(name)));
	}
	return 0;
}

static int check_injects(json_t *injects, size_t rule, struct err *e)
{
	json_t *j;
	size_t i;
	int r = 0;

	json_array_foreach(injects, i, j)
	{
		r = r < 0 ? r
			  : check_literals(json_object_get(j, "set"), rule, e);
		r = r < 0 ? r
			  : check_literals(json_object_get(j, "add"), rule, e);
	}
	return r;
}

int netsecret_expand(json_t *policy, struct err *e)
{
	json_t *rule, *inject;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(policy, "rules"), i, rule)
	{
		inject = json_object_get(rule, "inject");
		r = r < 0 ? r : check_injects(inject, i + 1, e);
		r = r < 0 || !inject ? r : expand_below(inject, 0, e);
	}
	return r;
}

void netsecret_wipe(json_t *j)
{
	const char *key;
	json_t *v;
	size_t i;

	json_object_foreach(j, key, v)
	{
		netsecret_wipe(v);
	}
	json_array_foreach(j, i, v)
	{
		netsecret_wipe(v);
	}
	if (json_is_string(j)) {
		/* The bytes are the value's own, and so not const. */
		union {
			const char *given;
			char *own;
		} s = { json_string_value(j) };

		explicit_bzero(s.own, json_string_length(j));
	}
}
