/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/net_kit.c - see net_kit.h */
#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/net_kit.h"

int net_kit_parse(const char *json, struct policy **ret, struct err *e)
{
	char *copy = check_copy(json, strlen(json));
	int r = policy_parse(copy, strlen(json), ret, e);

	free(copy);
	return r;
}

struct policy *net_kit_policy(const char *rules)
{
	struct policy *p = NULL;
	struct err e = { 0 };
	char *json;

	ck_assert_int_gt(asprintf(&json, "{\"rules\":[%s]}", rules), 0);
	ck_assert_msg(net_kit_parse(json, &p, &e) == 0, "%s: %s", rules, e.msg);
	free(json);
	return p;
}

struct net_addr net_kit_addr(const char *s)
{
	struct net_addr a;

	ck_assert_msg(addr_parse(s, &a) == 0, "%s", s);
	return a;
}
