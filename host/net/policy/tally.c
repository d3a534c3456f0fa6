/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/tally.c - see tally.h */
#include <jansson.h>

#include "host/net/policy/tally.h"

#define TEXT_MAX 512

struct tally {
	size_t n;
	uint64_t count[]; /* of no rule, then of each */
};

struct tally *tally_new(const struct policy *p)
{
	size_t n = policy_n_rules(p) + 1;
	struct tally *t = calloc(1, sizeof(*t) + n * sizeof(t->count[0]));

	if (t)
		t->n = n;
	return t;
}

void tally_free(struct tally *t)
{
	free(t);
}

void tally_add(struct tally *t, const struct verdict *v)
{
	bug_on(v->rule < -1 || v->rule + 1 >= (int)t->n);
	if (v->how != JUDGE_LOOK)
		t->count[v->rule + 1]++;
}

uint64_t tally_get(const struct tally *t, int rule)
{
	bug_on(rule < -1 || rule + 1 >= (int)t->n);
	return t->count[rule + 1];
}

/* Rules count from 1 for people, as in the sentences about them. */
static json_t *line_of(const struct tally *t, const struct policy *p, size_t i)
{
	char text[TEXT_MAX];
	json_int_t count = (json_int_t)t->count[i];

	if (i == 0)
		return json_pack("{s:n, s:s, s:I}", "rule", "text",
				 "no rule: denied", "count", count);
	return json_pack("{s:I, s:s, s:I}", "rule", (json_int_t)i, "text",
			 policy_rule_text(p, i - 1, text, sizeof(text)),
			 "count", count);
}

json_t *tally_json(const struct tally *t, const struct policy *p)
{
	json_t *list = json_array();

	bug_on(t->n != policy_n_rules(p) + 1);
	for (size_t i = 1; i <= t->n; i++)
		if (json_array_append_new(list, line_of(t, p, i % t->n)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}
