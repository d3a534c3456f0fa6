/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/config.c - see config.h */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "host/net/config.h"

/* There may be credentials in it: see wipe.h. */
static inline void drop_json(json_t **j)
{
	json_decref(*j);
}
#define auto_json AUTO(drop_json)

void config_seed(void)
{
	/* 0 is by chance, for which jansson opens a file. */
	json_object_seed(0);
}

/* A document that is an object, with no key twice and none but @keys. */
static json_t *load(const char *text, size_t len, const char *const *keys,
		    struct err *e)
{
	json_error_t why;
	json_t *doc;
	const char *key;
	json_t *value;

	if (len > CONFIG_MAX) {
		(void)err_set(e, -E2BIG,
			      "a message has at most %u bytes, this one more",
			      CONFIG_MAX);
		return NULL;
	}
	doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(doc)) {
		(void)err_set(e, -EINVAL, "the message is no JSON object: %s",
			      doc ? "it is something else"
				  : policy_json_why(&why));
		drop_json(&doc);
		return NULL;
	}
	json_object_foreach(doc, key, value)
	{
		const char *const *k = keys;

		while (*k && strcmp(*k, key) != 0)
			k++;
		if (!*k) {
			(void)err_set(e, -EINVAL, "unknown key '%.40s'", key);
			drop_json(&doc);
			return NULL;
		}
	}
	return doc;
}

static int read_resolvers(json_t *list, struct config_resolvers *ret,
			  struct err *e)
{
	size_t n = json_array_size(list);

	if (!json_is_array(list))
		return err_set(e, -EINVAL, "'resolvers' is to be a list");
	if (n > DNS_RESOLVERS_MAX)
		return err_set(e, -EINVAL, "'resolvers' has at most %u",
			       DNS_RESOLVERS_MAX);
	for (size_t i = 0; i < n; i++) {
		const char *s = json_string_value(json_array_get(list, i));

		if (!s || addr_parse(s, &ret->v[i]) < 0)
			return err_set(e, -EINVAL, "resolver %zu is no address",
				       i + 1);
	}
	ret->n = (unsigned int)n;
	return 0;
}

static int read_mtu(json_t *j, struct config *c, struct err *e)
{
	json_int_t mtu = j ? json_integer_value(j) : NET_MTU_MAX;

	if ((j && !json_is_integer(j)) || mtu < NET_MTU_MIN ||
	    mtu > NET_MTU_MAX)
		return err_set(e, -EINVAL, "'mtu' is a number from %u to %u",
			       NET_MTU_MIN, NET_MTU_MAX);
	c->mtu = (uint32_t)mtu;
	return 0;
}

static int read_policy(json_t *doc, struct policy **ret, struct err *e)
{
	json_t *j = json_object_get(doc, "policy");

	if (!j)
		return err_set(e, -EINVAL, "there is no 'policy'");
	return policy_from_json(j, ret, e);
}

int config_first(const char *text, size_t len, struct config *ret,
		 struct err *e)
{
	static const char *const keys[] = { "policy", "resolvers", "mtu",
					    NULL };
	auto_json json_t *doc = load(text, len, keys, e);
	struct config c = { 0 };
	int r;

	if (!doc)
		return -EINVAL;
	r = read_resolvers(json_object_get(doc, "resolvers"), &c.resolvers, e);
	r = r < 0 ? r : read_mtu(json_object_get(doc, "mtu"), &c, e);
	r = r < 0 ? r : read_policy(doc, &c.policy, e);
	if (r < 0)
		return r;
	*ret = c;
	return 0;
}

static int read_connected(json_t *doc, struct config_connected *ret,
			  struct err *e)
{
	json_t *error = json_object_get(doc, "error");
	json_int_t id = json_integer_value(json_object_get(doc, "connected"));
	const char *word = error ? json_string_value(error) : "";

	if (id < 1 || !word || (error && !*word) ||
	    json_object_size(doc) != (error ? 2 : 1))
		return err_set(e, -EINVAL,
			       "'connected' is a number, and an 'error' the "
			       "only other thing there can be");
	*ret = (struct config_connected){ .id = (uint64_t)id };
	(void)snprintf(ret->error, sizeof(ret->error), "%s", word);
	return 0;
}

int config_request(const char *text, size_t len, struct config_request *ret,
		   struct err *e)
{
	static const char *const keys[] = { "policy", "apply",     "resolvers",
					    "show",   "connected", "error",
					    NULL };
	auto_json json_t *doc = load(text, len, keys, e);
	struct config_request q = { 0 };
	const char *apply;
	json_t *show, *resolvers;
	int r;

	if (!doc)
		return -EINVAL;
	show = json_object_get(doc, "show");
	if (show) {
		if (!json_is_true(show) || json_object_size(doc) != 1)
			return err_set(e, -EINVAL,
				       "'show' is true, and stands alone");
		*ret = q;
		return 0;
	}
	if (json_object_get(doc, "connected")) {
		r = read_connected(doc, &q.connected, e);
		if (r == 0)
			*ret = q;
		return r;
	}
	if (json_object_get(doc, "error"))
		return err_set(e, -EINVAL, "'error' stands with 'connected'");
	resolvers = json_object_get(doc, "resolvers");
	q.has_resolvers = resolvers;
	r = resolvers ? read_resolvers(resolvers, &q.resolvers, e) : 0;
	if (r < 0)
		return r;
	if (resolvers && json_object_size(doc) == 1) {
		*ret = q;
		return 0;
	}
	apply = json_string_value(json_object_get(doc, "apply"));
	if (!apply || (strcmp(apply, "new") != 0 && strcmp(apply, "all") != 0))
		return err_set(e, -EINVAL, "'apply' is \"new\" or \"all\"");
	r = read_policy(doc, &q.policy, e);
	if (r < 0)
		return r;
	q.all = strcmp(apply, "all") == 0;
	*ret = q;
	return 0;
}
