/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/inject_parse.c - injections from their JSON, see inject.h */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"
#include "host/net/policy/inject.h"

#define QUOTE_MAX 80

static const char *quote(char q[QUOTE_MAX], const char *s)
{
	return log_escape(q, QUOTE_MAX, s, strlen(s));
}

static int no_memory(struct err *e)
{
	return err_set(e, -ENOMEM, "no memory for its injections");
}

/* ---- Headers ---- */

/* What says how a message is framed, and to whom it goes, is ours. */
static bool is_ours(const char *name)
{
	static const char *const ours[] = {
		"Host",
		"Connection",
		"Content-Length",
		"TE",
		"Transfer-Encoding",
		"Trailer",
		"Upgrade",
		"Expect",
		"Keep-Alive",
		"Proxy-Connection",
		"HTTP2-Settings",
	};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcasecmp(ours[i], name) == 0)
			return true;
	return false;
}

/* RFC 9110, 5.6.2 */
static int check_name(const char *name, struct err *e)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				"!#$%&'*+-.^_`|~");
	char q[QUOTE_MAX];

	if (n == 0 || name[n] || n > INJECT_NAME_MAX)
		return err_set(e, -EINVAL, "'%s' is no name of a header",
			       quote(q, name));
	if (is_ours(name))
		return err_set(
			e, -EINVAL,
			"the header '%s' says how a request is sent, and "
			"cannot be changed",
			name);
	return 0;
}

/* No byte that ends a line, or that servers read in different ways. */
static int check_value(const char *name, const json_t *v, struct err *e)
{
	const char *s = json_string_value(v);
	size_t n = s ? strlen(s) : 0;

	if (!s)
		return err_set(e, -EINVAL, "the value of '%s' is no string",
			       name);
	if (n > INJECT_VALUE_MAX)
		return err_set(e, -E2BIG,
			       "the value of '%s' has %zu bytes; %u can be",
			       name, n, INJECT_VALUE_MAX);
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)s[i] < 0x20 && s[i] != '\t') ||
		    s[i] == 0x7f)
			return err_set(e, -EINVAL,
				       "the value of '%s' has a control "
				       "character in it",
				       name);
	return 0;
}

static int check_count(const char *what, size_t n, struct err *e)
{
	if (n <= INJECT_HEADERS_MAX)
		return 0;
	return err_set(e, -E2BIG, "\"%s\" has %zu entries; %u can be", what, n,
		       INJECT_HEADERS_MAX);
}

static int read_headers(const char *what, json_t *j, struct inject_header **ret,
			size_t *ret_n, struct err *e)
{
	const char *name;
	json_t *v;
	int r;

	if (!j)
		return 0;
	if (!json_is_object(j))
		return err_set(e, -EINVAL,
			       "\"%s\" is no object of headers and values",
			       what);
	r = check_count(what, json_object_size(j), e);
	if (r < 0)
		return r;
	*ret = calloc(json_object_size(j) + 1, sizeof(**ret));
	if (!*ret)
		return no_memory(e);
	json_object_foreach(j, name, v)
	{
		struct inject_header *h = &(*ret)[*ret_n];

		r = check_name(name, e);
		r = r < 0 ? r : check_value(name, v, e);
		if (r < 0)
			return r;
		(*ret_n)++;
		h->name = strdup(name);
		h->value = strdup(json_string_value(v));
		if (!h->name || !h->value)
			return no_memory(e);
	}
	return 0;
}

static int read_remove(const json_t *list, struct inject *in, struct err *e)
{
	const json_t *v;
	size_t i;
	int r;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return err_set(e, -EINVAL, "\"remove\" is no list of headers");
	r = check_count("remove", json_array_size(list), e);
	if (r < 0)
		return r;
	in->remove = calloc(json_array_size(list) + 1, sizeof(char *));
	if (!in->remove)
		return no_memory(e);
	json_array_foreach(list, i, v)
	{
		const char *s = json_is_string(v) ? json_string_value(v) : "";

		r = check_name(s, e);
		if (r < 0)
			return r;
		in->remove[in->n_remove] = strdup(s);
		if (!in->remove[in->n_remove++])
			return no_memory(e);
	}
	return 0;
}

/* ---- One of them ---- */

static int check_keys(json_t *j, struct err *e)
{
	static const char *const keys[] = { "method", "path",   "set",  "add",
					    "remove", "refuse", "plain" };
	char q[QUOTE_MAX];
	const char *key;
	json_t *v;
	size_t k;

	if (!json_is_object(j))
		return err_set(e, -EINVAL, "it is no object");
	json_object_foreach(j, key, v)
	{
		for (k = 0; k < ARRAY_LEN(keys); k++)
			if (strcmp(key, keys[k]) == 0)
				break;
		if (k == ARRAY_LEN(keys))
			return err_set(e, -EINVAL,
				       "there is no key '%s'; there are "
				       "method, path, set, add, remove, "
				       "refuse, plain",
				       quote(q, key));
	}
	return 0;
}

static int read_method(const json_t *v, struct inject *in, struct err *e)
{
	const char *s = json_string_value(v);
	size_t n = s ? strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") : 0;

	if (!v)
		return 0;
	if (!s || n == 0 || s[n] || n > INJECT_NAME_MAX)
		return err_set(e, -EINVAL,
			       "\"method\" is no method such as \"GET\"");
	in->method = strdup(s);
	return in->method ? 0 : no_memory(e);
}

/* As it is compared: nothing that could be read in two ways. */
static int read_path(const json_t *v, struct inject *in, struct err *e)
{
	const char *s = v ? json_string_value(v) : "/";
	char q[QUOTE_MAX];

	if (!s || s[0] != '/' || strlen(s) > INJECT_PATH_MAX)
		return err_set(e, -EINVAL,
			       "\"path\" is no path that begins with a /, of "
			       "%u bytes at most",
			       INJECT_PATH_MAX);
	for (const char *c = s; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || strchr("?#%\\;", *c))
			return err_set(e, -EINVAL,
				       "\"path\" '%s' has a character in it "
				       "that a server may read in two ways",
				       quote(q, s));
	if (strstr(s, "//") || strstr(s, "/../") || strstr(s, "/./"))
		return err_set(e, -EINVAL,
			       "\"path\" '%s' is not in its shortest form",
			       quote(q, s));
	in->path = strdup(s);
	return in->path ? 0 : no_memory(e);
}

static int read_flag(const char *what, const json_t *v, bool *ret,
		     struct err *e)
{
	if (!v)
		return 0;
	if (!json_is_boolean(v))
		return err_set(e, -EINVAL, "\"%s\" is not true or false", what);
	*ret = json_is_true(v);
	return 0;
}

static int read_one(json_t *j, struct inject *in, struct err *e)
{
	int r = check_keys(j, e);

	if (r == 0)
		r = read_method(json_object_get(j, "method"), in, e);
	if (r == 0)
		r = read_path(json_object_get(j, "path"), in, e);
	if (r == 0)
		r = read_headers("set", json_object_get(j, "set"), &in->set,
				 &in->n_set, e);
	if (r == 0)
		r = read_headers("add", json_object_get(j, "add"), &in->add,
				 &in->n_add, e);
	if (r == 0)
		r = read_remove(json_object_get(j, "remove"), in, e);
	if (r == 0)
		r = read_flag("refuse", json_object_get(j, "refuse"),
			      &in->refuse, e);
	if (r == 0)
		r = read_flag("plain", json_object_get(j, "plain"), &in->plain,
			      e);
	if (r == 0 && in->refuse && in->n_set + in->n_add + in->n_remove > 0)
		r = err_set(e, -EINVAL,
			    "a request that is refused has no headers to "
			    "change");
	return r;
}

int injects_parse(const struct json_t *list, struct injects *ret, struct err *e)
{
	size_t n = json_array_size(list), i;
	struct err own = { 0 };
	json_t *v;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return err_set(e, -EINVAL, "\"inject\" is no list");
	if (n > INJECT_MAX)
		return err_set(e, -E2BIG,
			       "\"inject\" has %zu entries; %u can be", n,
			       INJECT_MAX);
	ret->v = calloc(n + 1, sizeof(*ret->v));
	if (!ret->v)
		return no_memory(e);
	json_array_foreach(list, i, v)
	{
		int r;

		ret->n = i + 1;
		r = read_one(v, &ret->v[i], &own);
		if (r < 0)
			return err_set(e, r, "inject %zu: %s", i + 1, own.msg);
	}
	return 0;
}
