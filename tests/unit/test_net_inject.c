/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_inject.c - rules that intercept: what they are, for whom */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "host/net/policy/inject.h"
#include "host/net/policy/pins.h"
#include "tests/lib/check_main.h"
#include "tests/lib/net_kit.h"

#define NOW 1000u

/* A rule that intercepts a.org with these injections. */
static int with(const char *injects, struct policy **ret, struct err *e)
{
	char *json;
	int r;

	ck_assert_int_gt(asprintf(&json,
				  "{\"rules\":[{\"intercept\":\"a.org\","
				  "\"inject\":%s}]}",
				  injects),
			 0);
	r = net_kit_parse(json, ret, e);
	free(json);
	return r;
}

START_TEST(an_injection_that_is_wrong_says_where)
{
	static const struct {
		const char *json;
		const char *says;
	} t[] = {
		{ "{}", "rule 1: \"inject\" is no list" },
		{ "[1]", "rule 1: inject 1: it is no object" },
		{ "[{},{\"header\":{}}]",
		  "inject 2: there is no key 'header'" },
		{ "[{\"method\":1}]", "\"method\" is no method" },
		{ "[{\"method\":\"get\"}]", "\"method\" is no method" },
		{ "[{\"method\":\"\"}]", "\"method\" is no method" },
		{ "[{\"path\":1}]", "\"path\" is no path" },
		{ "[{\"path\":\"\"}]", "\"path\" is no path" },
		{ "[{\"path\":\"v1/\"}]", "\"path\" is no path" },
		{ "[{\"path\":\"/a b\"}]", "two ways" },
		{ "[{\"path\":\"/a?b\"}]", "two ways" },
		{ "[{\"path\":\"/a%2f\"}]", "two ways" },
		{ "[{\"path\":\"/a\\\\b\"}]", "two ways" },
		{ "[{\"path\":\"/a;b\"}]", "two ways" },
		{ "[{\"path\":\"/a//b\"}]", "shortest" },
		{ "[{\"path\":\"/a/../b\"}]", "shortest" },
		{ "[{\"path\":\"/a/./b\"}]", "shortest" },
		{ "[{\"set\":[]}]", "\"set\" is no object" },
		{ "[{\"set\":{\"a\":1}}]", "value of 'a' is no string" },
		{ "[{\"set\":{\"a b\":\"x\"}}]", "'a b' is no name" },
		{ "[{\"set\":{\"\":\"x\"}}]", "'' is no name" },
		{ "[{\"set\":{\"a:\":\"x\"}}]", "'a:' is no name" },
		{ "[{\"add\":{\"Host\":\"x\"}}]", "'Host' says how" },
		{ "[{\"set\":{\"content-length\":\"1\"}}]", "says how" },
		{ "[{\"set\":{\"Transfer-Encoding\":\"x\"}}]", "says how" },
		{ "[{\"set\":{\"a\":\"SECRET\\r\\nb: c\"}}]", "control" },
		{ "[{\"set\":{\"a\":\"SECRET\\u007f\"}}]", "control" },
		{ "[{\"remove\":{}}]", "\"remove\" is no list" },
		{ "[{\"remove\":[1]}]", "'' is no name" },
		{ "[{\"remove\":[\"Connection\"]}]", "says how" },
		{ "[{\"refuse\":1}]", "\"refuse\" is not true or false" },
		{ "[{\"plain\":1}]", "\"plain\" is not true or false" },
		{ "[{\"refuse\":true,\"set\":{\"a\":\"b\"}}]", "no headers" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct policy *p = NULL;
		struct err e = { 0 };

		ck_assert_msg(with(t[i].json, &p, &e) == -EINVAL, "%s",
			      t[i].json);
		ck_assert_msg(strstr(e.msg, t[i].says), "%s: %s", t[i].json,
			      e.msg);
		ck_assert_msg(!strstr(e.msg, "SECRET"), "%s", e.msg);
		ck_assert_ptr_null(p);
	}
}
END_TEST

START_TEST(an_interception_that_is_wrong_says_so)
{
	static const struct {
		const char *rule;
		const char *says;
	} t[] = {
		{ "{\"intercept\":\"10.0.0.1\"}", "only a host name" },
		{ "{\"intercept\":\"internet\"}", "only a host name" },
		{ "{\"intercept\":\"a.org\",\"proto\":\"udp\"}",
		  "only \"tcp\"" },
		{ "{\"allow\":\"a.org\",\"inject\":[]}",
		  "is for \"intercept\"" },
		{ "{\"allow\":\"a.org\",\"intercept\":\"a.org\"}",
		  "more than one" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct policy *p = NULL;
		struct err e = { 0 };
		char *json;

		ck_assert_int_gt(asprintf(&json, "{\"rules\":[%s]}", t[i].rule),
				 0);
		ck_assert_int_eq(net_kit_parse(json, &p, &e), -EINVAL);
		ck_assert_msg(strstr(e.msg, t[i].says), "%s: %s", t[i].rule,
			      e.msg);
		free(json);
	}
}
END_TEST

static char *many(const char *before, const char *fmt, unsigned int n,
		  const char *after)
{
	char *s = calloc(1, n * 32 + 100), *at = stpcpy(s, before);

	for (unsigned int i = 0; i < n; i++)
		at += sprintf(at, "%s%s%u%s", i ? "," : "", fmt, i,
			      *fmt == '{' ? "\"}" : "\":\"\"");
	(void)stpcpy(at, after);
	return s;
}

START_TEST(injections_have_limits)
{
	struct policy *p = NULL;
	struct err e = { 0 };
	char *big = malloc(INJECT_VALUE_MAX + 100), *s;

	for (unsigned int more = 0; more < 2; more++) {
		s = many("[", "{\"path\":\"/", INJECT_MAX + more, "]");
		ck_assert_int_eq(with(s, &p, &e), more ? -E2BIG : 0);
		free(s);
		if (!more)
			policy_unref(p);
		s = many("[{\"set\":{", "\"a", INJECT_HEADERS_MAX + more,
			 "}}]");
		ck_assert_int_eq(with(s, &p, &e), more ? -E2BIG : 0);
		free(s);
		if (!more)
			policy_unref(p);
		(void)sprintf(big, "[{\"set\":{\"a\":\"%*s\"}}]",
			      (int)(INJECT_VALUE_MAX + more), "x");
		ck_assert_int_eq(with(big, &p, &e), more ? -E2BIG : 0);
		if (!more)
			policy_unref(p);
	}
	free(big);
}
END_TEST

#define PATHS                                                     \
	"[{\"method\":\"POST\",\"path\":\"/v1/admin\",\"refuse\"" \
	":true},{\"path\":\"/v1/\",\"set\":{\"A\":\"b\"}},"       \
	"{\"path\":\"/v2\",\"remove\":[\"Cookie\"]}]"

START_TEST(a_path_is_what_a_server_reads)
{
	static const struct {
		const char *method, *path;
		int found; /* index, -1 none, -2 refused */
	} t[] = {
		{ "GET", "/v1/", 1 },
		{ "GET", "/v1/x?y=/../z", 1 },
		{ "GET", "/v1", -1 },
		{ "GET", "/v10/", -1 },
		{ "GET", "/V1/", -1 },
		{ "GET", "/", -1 },
		{ "GET", "/v2", 2 },
		{ "GET", "/v2?x", 2 },
		{ "GET", "/v2/x", 2 },
		{ "GET", "/v2x", -1 },
		{ "GET", "*", -1 },
		{ "POST", "/v1/admin", 0 },
		{ "POST", "/v1/admin/x", 0 },
		{ "POST", "/v1/administrator", 1 },
		{ "GET", "/v1/admin", 1 },
		/* The same under another spelling, if it makes a difference. */
		{ "GET", "/v1/../admin", -2 },
		{ "GET", "/v1/..", -2 },
		{ "GET", "/v1/%2e%2e/admin", -2 },
		{ "GET", "/v1/.%2E/admin", -2 },
		{ "GET", "/v1/%252e%252e/admin", -2 },
		{ "GET", "/v1/..%2fadmin", -2 },
		{ "GET", "/v1/..%5cadmin", -2 },
		{ "GET", "/v1/..\\admin", -2 },
		{ "GET", "/admin/../v1/", -2 },
		{ "GET", "//v1/", -2 },
		{ "GET", "/./v1/", -2 },
		{ "GET", "/%76%31/", -2 },
		{ "GET", "/v1%2f", -2 },
		{ "GET", "/%2576%2531/x", -2 },
		{ "POST", "/v1//admin", -2 },
		{ "POST", "/v1/x/../admin", -2 },
		{ "POST", "/v1/%61dmin", -2 },
		/* What a server does not pass on, or takes for an end. */
		{ "GET", "/v1/#/../../admin", -2 },
		{ "GET", "/v1/x?y#z", -2 },
		{ "POST", "/v1/admin%3fx", -2 },
		{ "POST", "/v1/admin%23x", -2 },
		{ "GET", "/v1/..;/admin", -2 },
		{ "GET", "/v1/..;x%2fy/admin", -2 },
		{ "GET", "/v1/..%3bx/admin", -2 },
		{ "POST", "/v1/admin;x", -2 },
		{ "POST", "/v1/;x%2fy/%61dmin", -2 },
		{ "POST", "/v1/ADMIN", 0 },
		{ "POST", "/v1/Admin/x", 0 },
		{ "POST", "/v1/%41dmin", -2 },
		/* Once, and no more: a server need not go on. */
		{ "POST", "/v1/%61dmin%252fx", -2 },
		{ "GET", "/v1/%25252e%25252e/admin", -2 },
		{ "GET", "/v1/%2525252561", -2 },
		{ "GET", "/v1/x%252fy", 1 },
		{ "GET", "/v1/..%00/admin", -2 },
		{ "GET", "/v1/%00", -2 },
		{ "GET", "/v1/.%09./admin", -2 },
		{ "GET", "/v1/..%c0%af../admin", -2 },
		{ "GET", "/v1/%c3%bc", 1 },
		{ "GET", "/v1/x/../y", -2 },
		{ "GET", "/x/../../y", -2 },
		{ "GET", "/v1/.", -2 },
		/* And if it does not, it is left alone. */
		{ "GET", "/v1/@scope%2fname", 1 },
		{ "GET", "/v1//x", 1 },
		{ "GET", "/v1/x;y=z/..a", 1 },
		{ "GET", "/v1/100%", 1 },
		{ "GET", "/v1/%zz%2", 1 },
	};
	struct policy *p = NULL;
	const struct inject *all, *got;

	ck_assert_int_eq(with(PATHS, &p, NULL), 0);
	ck_assert_int_eq(policy_inject(p, 0, "POST", "/v1/admin", &all), 0);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		char *copy = check_copy(t[i].path, strlen(t[i].path) + 1);
		int r = policy_inject(p, 0, t[i].method, copy, &got);
		int found = r < 0 ? -2 : got ? (int)(got - all) : -1;

		ck_assert_msg(found == t[i].found, "%s %s: %d", t[i].method,
			      t[i].path, found);
		free(copy);
	}
	policy_unref(p);
}
END_TEST

START_TEST(the_root_is_all)
{
	static const char *const all[] = { "/",         "*",  "/%00",
					   "/../x",     "//", "/%c0%af",
					   "/%25252525" };
	struct policy *p = NULL;
	const struct inject *got;

	ck_assert_int_eq(with("[{\"refuse\":true}]", &p, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		ck_assert_int_eq(policy_inject(p, 0, "OPTIONS", all[i], &got),
				 0);
		ck_assert_ptr_nonnull(got);
	}
	policy_unref(p);
}
END_TEST

START_TEST(an_interception_is_judged_like_a_name)
{
	static const struct {
		enum net_proto proto;
		unsigned int port;
		const char *dst;
		const char *sni;
		bool plain;
		enum judgment how;
		int rule;
	} t[] = {
		{ NET_TCP, 443, "8.8.8.8", NULL, false, JUDGE_LOOK, 0 },
		{ NET_TCP, 443, "8.8.8.8", "a.org", false, JUDGE_INTERCEPT, 0 },
		{ NET_TCP, 443, "8.8.8.8", "b.org", false, JUDGE_ALLOW, 1 },
		{ NET_TCP, 443, "8.8.8.8", "", false, JUDGE_ALLOW, 1 },
		{ NET_TCP, 80, "8.8.8.8", NULL, false, JUDGE_LOOK, 0 },
		{ NET_TCP, 80, "8.8.8.8", "", true, JUDGE_INTERCEPT, 0 },
		{ NET_TCP, 22, "8.8.8.8", NULL, false, JUDGE_ALLOW, 1 },
		/* From elsewhere: not the name that was resolved. */
		{ NET_TCP, 443, "8.8.4.4", NULL, false, JUDGE_ALLOW, 1 },
		{ NET_UDP, 443, "8.8.8.8", NULL, false, JUDGE_DENY, 0 },
		{ NET_UDP, 443, "8.8.4.4", NULL, false, JUDGE_DENY, 0 },
		{ NET_UDP, 53, "8.8.8.8", NULL, false, JUDGE_ALLOW, 1 },
	};
	struct policy *p = net_kit_policy("{\"intercept\":\"a.org\"},"
					  "{\"allow\":\"internet\"}");
	struct pins *pins = pins_new();
	struct net_addr a = net_kit_addr("8.8.8.8");
	char text[64];

	ck_assert_int_eq(pins_add(pins, "a.org", &a, 60, NOW), 0);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct attempt at = { .proto = t[i].proto,
				      .dst = net_kit_addr(t[i].dst),
				      .port = (uint16_t)t[i].port,
				      .sni = t[i].sni,
				      .plain = t[i].plain };
		struct verdict v = policy_judge(p, pins, &at, NOW);

		ck_assert_msg(v.how == t[i].how && v.rule == t[i].rule,
			      "%zu: %d by %d", i, (int)v.how, v.rule);
	}
	ck_assert(policy_may_resolve(p, "a.org", NULL));
	ck_assert(policy_intercepts(p));
	ck_assert_str_eq(policy_rule_text(p, 0, text, sizeof(text)),
			 "intercept a.org tcp 80,443");
	pins_free(pins);
	policy_unref(p);
	p = net_kit_policy("{\"allow\":\"a.org\"},{\"deny\":\"b.org\"}");
	ck_assert(!policy_intercepts(p));
	policy_unref(p);
}
END_TEST

CHECK_MAIN("net_inject", an_injection_that_is_wrong_says_where,
	   an_interception_that_is_wrong_says_so, injections_have_limits,
	   a_path_is_what_a_server_reads, the_root_is_all,
	   an_interception_is_judged_like_a_name)
