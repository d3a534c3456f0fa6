/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_policy.c - policies: what is one, what names it opens */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "host/net/policy/pins.h"
#include "host/net/policy/policy.h"
#include "host/net/policy/tally.h"
#include "tests/lib/check_main.h"
#include "tests/lib/net_kit.h"

/* ---- Parsing ---- */

START_TEST(a_policy_that_is_wrong_says_where)
{
	static const struct {
		const char *json;
		const char *says;
	} t[] = {
		{ "", "no JSON: line" },
		{ "[]", "no JSON object" },
		{ "{}", "no list \"rules\"" },
		{ "{\"rules\":{}}", "no list \"rules\"" },
		{ "{\"rules\":[]} x", "no JSON: line" },
		{ "{\"rules\":[],\"rules\":[]}", "no JSON: line" },
		{ "{\"rules\":[],\"rule\":[]}", "no key 'rule'" },
		{ "{\"default\":\"allow\",\"rules\":[]}", "\"default\"" },
		{ "{\"default\":1,\"rules\":[]}", "\"default\"" },
		{ "{\"rules\":[1]}", "rule 1: it is no object" },
		{ "{\"rules\":[{}]}", "rule 1: it has none of" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"deny\":\"a.org\"}]}",
		  "rule 1: it has more than one of" },
		{ "{\"rules\":[{\"allow\":\"internet\"},{\"allow\":1}]}",
		  "rule 2: \"allow\" is no string" },
		{ "{\"rules\":[{\"deny\":[]}]}",
		  "rule 1: \"deny\" is no string" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"port\":[\"443\"]}]}",
		  "rule 1: there is no key 'port'" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":\"443\"}]}",
		  "rule 1: \"ports\" is no list" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[]}]}",
		  "rule 1: \"ports\" is no list" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[null]}]}",
		  "neither a string nor a number" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[\"0\"]}]}",
		  "'0' is no port" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[65536]}]}",
		  "'65536' is no port" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[-1]}]}",
		  "'-1' is no port" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[\"2-1\"]}]}",
		  "'2-1' is no port" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[\"1-\"]}]}",
		  "'1-' is no port" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[\"1-2-3\"]}]}",
		  "'1-2-3' is no port" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"ports\":[\"http\"]}]}",
		  "'http' is no port" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"proto\":\"TCP\"}]}",
		  "\"proto\" is not" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"proto\":null}]}",
		  "\"proto\" is not" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"proto\":\"icmp\","
		  "\"ports\":[1]}]}",
		  "\"icmp\" has none" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"proto\":\"udp\","
		  "\"ports\":[443]}]}",
		  "QUIC shows none" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"private\":1}]}",
		  "\"private\" is not true or false" },
		{ "{\"rules\":[{\"deny\":\"a.org\",\"private\":true}]}",
		  "\"private\" is for names" },
		{ "{\"rules\":[{\"allow\":\"10.0.0.0/8\",\"private\":true}]}",
		  "\"private\" is for names" },
		{ "{\"rules\":[{\"allow\":\"10.0.0.1/8\"}]}",
		  "rule 1: '10.0.0.1/8' has bits set behind its length; the "
		  "range begins at 10.0.0.0" },
		{ "{\"rules\":[{\"allow\":\"10.0.0.0/33\"}]}",
		  "'10.0.0.0/33' has no length from 0 to 32" },
		{ "{\"rules\":[{\"allow\":\"127.1\"}]}",
		  "'127.1' is no address or range" },
		{ "{\"rules\":[{\"allow\":\"0x7f000001\"}]}",
		  "'0x7f000001' is no host name" },
		{ "{\"rules\":[{\"allow\":\"0.0.0.0/0\"}]}",
		  "'0.0.0.0/0' would open 0.0.0.0/8 of the host too" },
		{ "{\"rules\":[{\"allow\":\"126.0.0.0/7\"}]}",
		  "would open 127.0.0.0/8" },
		{ "{\"rules\":[{\"allow\":\"168.0.0.0/6\"}]}",
		  "would open 169.254.0.0/16" },
		{ "{\"rules\":[{\"allow\":\"::/64\"}]}", "would open ::1/128" },
		{ "{\"rules\":[{\"allow\":\"fe00::/8\"}]}",
		  "would open fe80::/10" },
		{ "{\"rules\":[{\"allow\":\"a.org:443\"}]}",
		  "'a.org:443' is no host name, address" },
		{ "{\"rules\":[{\"allow\":\"a..b\"}]}", "'a..b' is no host" },
		{ "{\"rules\":[{\"allow\":\"a.*\"}]}", "'a.*' has a star" },
		{ "{\"rules\":[{\"allow\":\"a\\nb\"}]}", "'a\\nb' is no host" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"handler\":\"/h\"}]}",
		  "\"handler\" is for \"intercept\"" },
		{ "{\"rules\":[{\"intercept\":\"a.org\",\"handler\":1}]}",
		  "\"handler\" is no path" },
		{ "{\"rules\":[{\"intercept\":\"a.org\",\"handler\":\"\"}]}",
		  "\"handler\" is no path" },
		{ "{\"rules\":[{\"intercept\":\"a.org\",\"handler\":\"h\"}]}",
		  "begins with '/'" },
		{ "{\"rules\":[{\"intercept\":\"a.org\",\"handler\":"
		  "\"/h\\u0000x\"}]}",
		  "no JSON" },
		{ "{\"rules\":[{\"intercept\":\"a.org\",\"handler\":\"/h\","
		  "\"private\":true}]}",
		  "a handler has none" },
		{ "{\"rules\":[{\"intercept\":\"internet\",\"handler\":"
		  "\"/h\"}]}",
		  "only a host name" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct policy *p = NULL;
		struct err e = { 0 };

		ck_assert_msg(net_kit_parse(t[i].json, &p, &e) == -EINVAL, "%s",
			      t[i].json);
		ck_assert_msg(strstr(e.msg, t[i].says), "%s: %s", t[i].json,
			      e.msg);
		ck_assert_ptr_null(p);
	}
}
END_TEST

START_TEST(a_sentence_has_no_credential)
{
	static const char *const t[] = {
		"{\"rules\":[\"SECRET\" \"SECRET\"]}",
		"{\"rules\":[SECRET]}",
		"{\"rules\":[\"SECRET]}",
		"{\"rules\":[\"SECRET\\q\"]}",
		"{\"rules\":[{\"SECRET\":1,\"SECRET\":1}]}",
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct policy *p = NULL;
		struct err e = { 0 };

		ck_assert_int_eq(net_kit_parse(t[i], &p, &e), -EINVAL);
		ck_assert_msg(!strstr(e.msg, "SECRET"), "%s", e.msg);
	}
}
END_TEST

/* @n times @item between @before and @after. */
static char *repeat(const char *before, const char *item, size_t n,
		    const char *after)
{
	char *s = calloc(1, strlen(before) + n * (strlen(item) + 1) +
				    strlen(after) + 1);
	char *at = stpcpy(s, before);

	for (size_t i = 0; i < n; i++) {
		at = stpcpy(at, item);
		if (i + 1 < n)
			at = stpcpy(at, ",");
	}
	(void)stpcpy(at, after);
	return s;
}

START_TEST(a_policy_has_limits)
{
	char *rules = repeat("{\"rules\":[", "{\"deny\":\"a.org\"}",
			     POLICY_RULES_MAX, "]}");
	char *more = repeat("{\"rules\":[", "{\"deny\":\"a.org\"}",
			    POLICY_RULES_MAX + 1, "]}");
	char *ports = repeat("{\"rules\":[{\"deny\":\"*\",\"ports\":[", "1",
			     POLICY_PORTS_MAX, "]}]}");
	char *many = repeat("{\"rules\":[{\"deny\":\"*\",\"ports\":[", "1",
			    POLICY_PORTS_MAX + 1, "]}]}");
	char *blanks = calloc(1, POLICY_JSON_MAX + 2);
	struct policy *p = NULL;
	struct err e = { 0 };

	ck_assert_int_eq(net_kit_parse(rules, &p, &e), 0);
	ck_assert_uint_eq(policy_n_rules(p), POLICY_RULES_MAX);
	policy_unref(p);
	ck_assert_int_eq(net_kit_parse(ports, &p, &e), 0);
	policy_unref(p);
	ck_assert_int_eq(net_kit_parse(more, &p, &e), -E2BIG);
	ck_assert(strstr(e.msg, "1025 rules; 1024 can be"));
	ck_assert_int_eq(net_kit_parse(many, &p, &e), -E2BIG);
	ck_assert(strstr(e.msg, "65 entries; 64 can be"));
	(void)snprintf(blanks, POLICY_JSON_MAX, "{\"rules\":[]}");
	memset(blanks + strlen(blanks), ' ',
	       POLICY_JSON_MAX + 1 - strlen(blanks));
	ck_assert_int_eq(policy_parse(blanks, POLICY_JSON_MAX, &p, &e), 0);
	policy_unref(p);
	ck_assert_int_eq(policy_parse(blanks, POLICY_JSON_MAX + 1, &p, &e),
			 -E2BIG);
	free(rules);
	free(more);
	free(ports);
	free(many);
	free(blanks);
}
END_TEST

START_TEST(a_handler_s_path_fits_into_an_address)
{
	char path[POLICY_HANDLER_MAX + 2] = "/", json[300];
	struct policy *p = NULL;
	struct err e = { 0 };

	memset(path + 1, 'x', POLICY_HANDLER_MAX - 1);
	(void)snprintf(json, sizeof(json),
		       "{\"rules\":[{\"deny\":\"b.org\"},{\"intercept\":\"*\","
		       "\"handler\":\"%s\"}]}",
		       path);
	ck_assert_msg(net_kit_parse(json, &p, &e) == 0, "%s", e.msg);
	ck_assert_str_eq(policy_handler(p, 1), path);
	ck_assert_ptr_null(policy_handler(p, 0));
	ck_assert_ptr_null(policy_handler(p, -1));
	ck_assert(policy_intercepts(p));
	ck_assert(!policy_has_upstream(p));
	policy_unref(p);
	path[POLICY_HANDLER_MAX] = 'x';
	(void)snprintf(json, sizeof(json),
		       "{\"rules\":[{\"intercept\":\"*\",\"handler\":\"%s\"}]}",
		       path);
	ck_assert_int_eq(net_kit_parse(json, &p, &e), -EINVAL);
	ck_assert_msg(strstr(e.msg, "108 bytes"), "%s", e.msg);
	p = net_kit_policy("{\"intercept\":\"a.org\"},{\"intercept\":\"b.org\","
			   "\"handler\":\"/h\"}");
	ck_assert(policy_has_upstream(p));
	policy_unref(p);
}
END_TEST

START_TEST(a_rule_is_told_to_people)
{
	static const char *const says[] = {
		"allow api.example.org tcp 443,8000-8100",
		"deny 10.0.0.0/8",
		"allow internet",
		"allow *.example.org tcp udp 53",
		"allow 2001:db8::/32 icmp",
		"allow 192.0.2.1",
		"allow db.example.org private",
		"intercept h.org tcp 80,443 by /run/h.sock",
	};
	struct policy *p = net_kit_policy(
		"{\"allow\":\"api.example.org\",\"ports\":[\"443\","
		"\"8000-8100\"],\"proto\":\"tcp\"},{\"deny\":\"10.0.0.0/8\"},"
		"{\"allow\":\"internet\"},{\"allow\":\"*.Example.org.\","
		"\"ports\":[53]},{\"allow\":\"2001:db8::/32\",\"proto\":"
		"\"icmp\"},{\"allow\":\"192.0.2.1\"},{\"allow\":"
		"\"db.example.org\",\"private\":true},{\"intercept\":"
		"\"h.org\",\"handler\":\"/run/h.sock\"}");
	struct policy *again = policy_ref(p);
	char text[100], tiny[4];

	policy_unref(p);
	ck_assert_uint_eq(policy_n_rules(again), ARRAY_LEN(says));
	for (size_t i = 0; i < ARRAY_LEN(says); i++)
		ck_assert_str_eq(policy_rule_text(again, i, text, sizeof(text)),
				 says[i]);
	ck_assert_str_eq(policy_rule_text(again, 0, tiny, sizeof(tiny)), "all");
	policy_unref(again);
	policy_unref(NULL);
}
END_TEST

/* ---- Names ---- */

START_TEST(only_what_can_be_allowed_is_resolved)
{
	static const struct {
		const char *rules;
		const char *name;
		bool may;
		int rule;
	} t[] = {
		{ "", "a.org", false, -1 },
		{ "{\"allow\":\"internet\"}", "a.org", true, 0 },
		{ "{\"deny\":\"internet\"}", "a.org", false, -1 },
		{ "{\"allow\":\"10.0.0.0/8\"}", "a.org", false, -1 },
		{ "{\"allow\":\"a.org\",\"ports\":[443]}", "a.org", true, 0 },
		{ "{\"allow\":\"a.org\"}", "b.a.org", false, -1 },
		{ "{\"allow\":\"*.a.org\"}", "b.a.org", true, 0 },
		{ "{\"deny\":\"b.a.org\"},{\"allow\":\"*.a.org\"}", "b.a.org",
		  false, 0 },
		{ "{\"deny\":\"b.a.org\",\"ports\":[25]},"
		  "{\"allow\":\"*.a.org\"}",
		  "b.a.org", true, 1 },
		{ "{\"deny\":\"b.a.org\",\"proto\":\"tcp\"},"
		  "{\"allow\":\"*.a.org\"}",
		  "b.a.org", true, 1 },
		{ "{\"deny\":\"*\"},{\"allow\":\"internet\"}", "a.org", false,
		  0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct policy *p = net_kit_policy(t[i].rules);
		int rule = -2;

		ck_assert_msg(policy_may_resolve(p, t[i].name, &rule) ==
				      t[i].may,
			      "%s", t[i].rules);
		ck_assert_msg(rule == t[i].rule, "%s: %d", t[i].rules, rule);
		(void)policy_may_resolve(p, t[i].name, NULL);
		policy_unref(p);
	}
}
END_TEST

START_TEST(a_name_on_the_way_must_not_be_denied)
{
	struct policy *p = net_kit_policy("{\"allow\":\"good.evil.example\"},"
					  "{\"deny\":\"*.evil.example\","
					  "\"ports\":[25]},"
					  "{\"allow\":\"www.a.org\"}");
	int rule = -1;

	ck_assert(policy_denies_name(p, "www.evil.example", &rule));
	ck_assert_int_eq(rule, 1);
	ck_assert(policy_denies_name(p, "www.evil.example", NULL));
	ck_assert(!policy_denies_name(p, "good.evil.example", &rule));
	ck_assert(!policy_denies_name(p, "cdn.example", &rule));
	policy_unref(p);
}
END_TEST

START_TEST(a_name_that_is_rebound_gets_no_answer)
{
	static const struct {
		const char *rules;
		const char *a;
		bool may;
		const char *why;
	} t[] = {
		{ "{\"allow\":\"a.org\"}", "8.8.8.8", true, NULL },
		{ "{\"allow\":\"a.org\"}", "127.0.0.1", false, "this host" },
		{ "{\"allow\":\"a.org\"}", "169.254.169.254", false,
		  "metadata" },
		{ "{\"allow\":\"a.org\"}", "10.0.0.1", false, "private" },
		{ "{\"allow\":\"a.org\"}", "::1", false, "this host" },
		{ "{\"allow\":\"a.org\"}", "fd00::1", false, "private" },
		{ "{\"allow\":\"a.org\"}", "64:ff9b::10.0.0.1", false,
		  "private" },
		{ "{\"allow\":\"a.org\"}", "93.184.216.99", false,
		  "this host" },
		{ "{\"allow\":\"a.org\"}", "198.19.0.1", false, "VM's own" },
		{ "{\"intercept\":\"a.org\",\"handler\":\"/h\"}", "198.19.0.1",
		  false, "VM's own" },
		{ "{\"allow\":\"198.18.0.0/15\"}", "198.19.0.1", false,
		  "VM's own" },
		{ "{\"allow\":\"a.org\",\"private\":true}",
		  "fd00:6875:7463:6801::7", false, "VM's own" },
		{ "{\"allow\":\"internet\"}", "8.8.8.8", true, NULL },
		{ "{\"allow\":\"internet\"}", "192.168.0.1", false, "private" },
		{ "{\"allow\":\"internet\"}", "93.184.216.99", false,
		  "this host" },
		{ "{\"allow\":\"a.org\"},{\"allow\":\"10.0.0.1\"}", "10.0.0.1",
		  true, NULL },
		{ "{\"allow\":\"a.org\"},{\"allow\":\"127.0.0.1\"}",
		  "127.0.0.1", true, NULL },
		{ "{\"allow\":\"a.org\",\"private\":true}", "10.0.0.1", true,
		  NULL },
		{ "{\"allow\":\"a.org\",\"private\":true}", "fd00::1", true,
		  NULL },
		{ "{\"allow\":\"a.org\",\"private\":true}", "127.0.0.1", false,
		  "this host" },
		{ "{\"allow\":\"a.org\",\"private\":true}", "169.254.169.254",
		  false, "metadata" },
		{ "{\"allow\":\"a.org\",\"private\":true}", "fd00:ec2::254",
		  false, "metadata" },
		{ "{\"allow\":\"a.org\",\"private\":true}", "fd20:ce::254",
		  false, "metadata" },
		{ "{\"allow\":\"a.org\",\"private\":true}",
		  "fd00:c1::a9fe:a9fe", false, "metadata" },
		{ "{\"allow\":\"a.org\"},{\"allow\":\"93.184.216.0/24\"}",
		  "93.184.216.99", false, "this host" },
		{ "{\"allow\":\"b.org\",\"private\":true},"
		  "{\"allow\":\"a.org\"}",
		  "10.0.0.1", false, "private" },
		{ "{\"deny\":\"8.8.8.0/24\"},{\"allow\":\"a.org\"}", "8.8.8.8",
		  false, "a rule denies" },
		{ "{\"deny\":\"8.8.8.0/24\",\"ports\":[25]},"
		  "{\"allow\":\"a.org\"}",
		  "8.8.8.8", true, NULL },
		{ "{\"allow\":\"b.org\"}", "8.8.8.8", false, "no rule" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct policy *p = net_kit_policy(t[i].rules);
		struct net_addr own = net_kit_addr("93.184.216.99");
		struct pins *pins = pins_new();
		struct net_addr a = net_kit_addr(t[i].a);
		const char *why = NULL;

		ck_assert(pins_set_local(pins, &own, 1));
		ck_assert_msg(policy_may_answer(p, pins, "a.org", &a, &why) ==
				      t[i].may,
			      "%s: %s", t[i].rules, t[i].a);
		if (t[i].why)
			ck_assert_msg(why && strstr(why, t[i].why), "%s: %s",
				      t[i].rules, why);
		(void)policy_may_answer(p, pins, "a.org", &a, NULL);
		pins_free(pins);
		policy_unref(p);
	}
}
END_TEST

/* ---- Counts ---- */

START_TEST(rules_are_counted)
{
	static const struct verdict v[] = {
		{ JUDGE_ALLOW, 0, NULL, "" }, { JUDGE_DENY, 1, NULL, "" },
		{ JUDGE_DENY, -1, NULL, "" }, { JUDGE_DENY, -1, NULL, "" },
		{ JUDGE_LOOK, 0, NULL, "" },
	};
	struct policy *p = net_kit_policy("{\"allow\":\"a.org\"},"
					  "{\"deny\":\"10.0.0.0/8\"}");
	struct tally *t = tally_new(p);
	json_t *j;
	char *s;

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		tally_add(t, &v[i]);
	ck_assert_uint_eq(tally_get(t, 0), 1);
	ck_assert_uint_eq(tally_get(t, 1), 1);
	ck_assert_uint_eq(tally_get(t, -1), 2);
	j = tally_json(t, p);
	s = json_dumps(j, JSON_COMPACT);
	ck_assert_str_eq(
		s, "[{\"rule\":1,\"text\":\"allow a.org\",\"count\":1},"
		   "{\"rule\":2,\"text\":\"deny 10.0.0.0/8\",\"count\":1},"
		   "{\"rule\":null,\"text\":\"no rule: denied\",\"count\":2}]");
	free(s);
	json_decref(j);
	tally_free(t);
	tally_free(NULL);
	policy_unref(p);
}
END_TEST

CHECK_MAIN("net_policy", a_policy_that_is_wrong_says_where,
	   a_sentence_has_no_credential, a_policy_has_limits,
	   a_handler_s_path_fits_into_an_address, a_rule_is_told_to_people,
	   only_what_can_be_allowed_is_resolved,
	   a_name_on_the_way_must_not_be_denied,
	   a_name_that_is_rebound_gets_no_answer, rules_are_counted)
