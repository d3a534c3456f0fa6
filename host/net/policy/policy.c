/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/policy.c - a policy from its JSON, see policy.h */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "host/net/policy/rule.h"

#define QUOTE_MAX 80

static void drop(json_t **j)
{
	json_decref(*j);
}

static void policy_unrefp(struct policy **p)
{
	policy_unref(*p);
}

static int check_keys(json_t *j, struct err *e)
{
	const json_t *d = json_object_get(j, "default");
	const char *s = json_string_value(d), *key;
	char q[QUOTE_MAX];
	json_t *v;

	json_object_foreach(j, key, v)
	{
		if (strcmp(key, "default") == 0 || strcmp(key, "rules") == 0)
			continue;
		return err_set(e, -EINVAL,
			       "the policy: there is no key '%s'; there are "
			       "default, rules",
			       log_escape(q, sizeof(q), key, strlen(key)));
	}
	if (d && (!s || strcmp(s, "deny") != 0))
		return err_set(e, -EINVAL,
			       "the policy: \"default\" can only be \"deny\"; "
			       "to allow the rest, let the last rule be "
			       "{\"allow\": \"internet\"}");
	return 0;
}

int policy_from_json(struct json_t *j, struct policy **ret, struct err *e)
{
	const json_t *rules = json_object_get(j, "rules");
	json_t *v;
	AUTO(policy_unrefp) struct policy *p = NULL;
	size_t n = json_array_size(rules), i;
	struct err own = { 0 };
	int r;

	if (!json_is_object(j))
		return err_set(e, -EINVAL, "the policy is no JSON object");
	r = check_keys(j, e);
	if (r < 0)
		return r;
	if (!json_is_array(rules))
		return err_set(e, -EINVAL,
			       "the policy has no list \"rules\"; one that "
			       "allows nothing is {\"rules\": []}");
	if (n > POLICY_RULES_MAX)
		return err_set(e, -E2BIG, "the policy has %zu rules; %u can be",
			       n, POLICY_RULES_MAX);
	p = calloc(1, sizeof(*p) + n * sizeof(p->rule[0]));
	if (!p)
		return err_set(e, -ENOMEM, "no memory for the policy");
	p->refs = 1;
	json_array_foreach(rules, i, v)
	{
		p->n = i + 1;
		r = rule_parse(v, &p->rule[i], &own);
		if (r < 0)
			return err_set(e, r, "rule %zu: %s", i + 1, own.msg);
	}
	*ret = take_ptr(&p);
	return 0;
}

const char *policy_json_why(json_error_t *je)
{
	char *near = strstr(je->text, " near ");

	if (near)
		*near = '\0';
	return je->text;
}

int policy_parse(const char *json, size_t len, struct policy **ret,
		 struct err *e)
{
	AUTO(drop) json_t *j = NULL;
	json_error_t je;

	if (len > POLICY_JSON_MAX)
		return err_set(e, -E2BIG, "the policy has %zu bytes; %u can be",
			       len, POLICY_JSON_MAX);
	j = json_loadb(json, len, JSON_REJECT_DUPLICATES, &je);
	if (!j)
		return err_set(e, -EINVAL,
			       "the policy is no JSON: line %d, column %d: %s",
			       je.line, je.column, policy_json_why(&je));
	return policy_from_json(j, ret, e);
}

struct policy *policy_ref(struct policy *p)
{
	(void)__atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
	return p;
}

/* Release, so that the one that frees it sees what the others did before. */
void policy_unref(struct policy *p)
{
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (size_t i = 0; i < p->n; i++)
		rule_done(&p->rule[i]);
	free(p);
}

size_t policy_n_rules(const struct policy *p)
{
	return p->n;
}
