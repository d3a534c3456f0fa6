/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_docs.c - the policies in the documents are policies */
#include <fcntl.h>
#include <jansson.h>
#include <string.h>

#include "common/io.h"
#include "host/net/policy/policy.h"
#include "tests/lib/check_main.h"

#define PAGE   SOURCE_ROOT "/docs/network-policy.md"
#define SCHEMA SOURCE_ROOT "/docs/network-policy.schema.json"
#define FENCE  "```json\n"

static char *text_of(const char *path)
{
	struct err e = { 0 };
	char *text = NULL;
	size_t len;

	ck_assert_msg(io_read_file(AT_FDCWD, path, 1u << 20, &text, &len, &e) ==
			      0,
		      "%s", e.msg);
	return text;
}

START_TEST(the_page_s_policies_are_good)
{
	char *text = text_of(PAGE), *at = text;
	int n = 0;

	while ((at = strstr(at, FENCE))) {
		struct policy *p = NULL;
		struct err e = { 0 };
		char *end;

		at += strlen(FENCE);
		end = strstr(at, "```");
		ck_assert_ptr_nonnull(end);
		ck_assert_msg(policy_parse(at, (size_t)(end - at), &p, &e) == 0,
			      "%.*s: %s", (int)(end - at), at, e.msg);
		policy_unref(p);
		n++;
	}
	ck_assert_int_ge(n, 3);
	free(text);
}
END_TEST

/* Each key of a rule that the schema has is one that there is. */
static void check_key(const char *key)
{
	struct policy *p = NULL;
	struct err e = { 0 };
	json_t *j = json_pack("{s:[{s:[]}]}", "rules", key);

	ck_assert_int_lt(policy_from_json(j, &p, &e), 0);
	ck_assert_msg(!strstr(e.msg, "there is no key"), "%s", e.msg);
	json_decref(j);
}

START_TEST(the_schema_s_examples_are_good)
{
	char *text = text_of(SCHEMA);
	json_t *schema = json_loads(text, 0, NULL), *rule, *v;
	const char *key;
	size_t i;

	ck_assert_ptr_nonnull(schema);
	ck_assert_uint_ge(json_array_size(json_object_get(schema, "examples")),
			  3);
	json_array_foreach(json_object_get(schema, "examples"), i, v)
	{
		struct policy *p = NULL;
		struct err e = { 0 };

		ck_assert_msg(policy_from_json(v, &p, &e) == 0, "%zu: %s", i,
			      e.msg);
		policy_unref(p);
	}
	rule = json_object_get(json_object_get(schema, "$defs"), "rule");
	ck_assert_int_gt(json_object_size(json_object_get(rule, "properties")),
			 3);
	json_object_foreach(json_object_get(rule, "properties"), key, v)
		check_key(key);
	json_decref(schema);
	free(text);
}
END_TEST

CHECK_MAIN("net_docs", the_page_s_policies_are_good,
	   the_schema_s_examples_are_good)
