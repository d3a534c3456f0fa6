/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_net.c - host/cli/netopt.c: --net, --allow and --deny */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base.h"
#include "host/cli/netopt.h"
#include "tests/lib/check_main.h"

#define WORDS_MAX 16

static struct netopt made;

/* @rules: name, value, name, value, ..., NULL. Return: of netopt_parse(). */
static int parse(const char *net, const char *const *rules, struct hutch_err *e)
{
	static const char *v[WORDS_MAX + 1];
	struct opt_list l = { .v = v };

	for (l.n = 0; rules && rules[l.n]; l.n++)
		v[l.n] = rules[l.n];
	v[l.n] = NULL;
	*e = (struct hutch_err){ 0 };
	return netopt_parse(net, &l, &made, e);
}

static void expect(const char *net, const char *const *rules, const char *words,
		   const char *policy)
{
	struct hutch_err e;

	ck_assert_msg(parse(net, rules, &e) == 0, "%s", e.msg);
	ck_assert_pstr_eq(made.net, words);
	if (made.policy && made.policy[strlen(made.policy) - 1] == '\n')
		made.policy[strlen(made.policy) - 1] = '\0';
	ck_assert_pstr_eq(made.policy, policy);
	netopt_done(&made);
}

static void expect_bad(const char *net, const char *const *rules,
		       const char *sentence)
{
	struct hutch_err e;

	ck_assert_int_lt(parse(net, rules, &e), 0);
	ck_assert_msg(strstr(e.msg, sentence), "%s", e.msg);
	netopt_done(&made);
}

#define RULES(...) ((const char *const[]){ __VA_ARGS__, NULL })

START_TEST(what_has_no_rules_passes_as_it_is)
{
	expect(NULL, NULL, NULL, NULL);
	expect("none", NULL, "none", NULL);
	expect("internet,mtu=1500", NULL, "internet,mtu=1500", NULL);
	expect("tap=t0,address=10.0.0.2/24", NULL, "tap=t0,address=10.0.0.2/24",
	       NULL);
}
END_TEST

START_TEST(rules_stay_in_their_order)
{
	expect(NULL, RULES("allow", "a.example.org"), "policy",
	       "{\"rules\": [{\"allow\": \"a.example.org\"}]}");
	expect(NULL,
	       RULES("deny", "b.example.org:25", "allow",
		     "*.example.org:8000-8100"),
	       "policy",
	       "{\"rules\": [{\"deny\": \"b.example.org\", \"ports\": [\"25\"]}, "
	       "{\"allow\": \"*.example.org\", \"ports\": [\"8000-8100\"]}]}");
	expect("internet,rate=1M", RULES("deny", "192.0.2.0/24:443"),
	       "policy,rate=1M",
	       "{\"rules\": [{\"deny\": \"192.0.2.0/24\", \"ports\": [\"443\"]}, "
	       "{\"allow\": \"internet\"}]}");
}
END_TEST

START_TEST(colons_of_an_address_are_its_own)
{
	expect(NULL, RULES("allow", "2001:db8::1"), "policy",
	       "{\"rules\": [{\"allow\": \"2001:db8::1\"}]}");
	expect(NULL, RULES("allow", "[2001:db8::/32]:80"), "policy",
	       "{\"rules\": [{\"allow\": \"2001:db8::/32\", \"ports\": [\"80\"]}]}");
	expect(NULL, RULES("allow", "[::1]"), "policy",
	       "{\"rules\": [{\"allow\": \"::1\"}]}");
}
END_TEST

START_TEST(injections_into_one_host_are_one_rule)
{
	expect("internet",
	       RULES("inject",
		     "api.example.org/v1 Authorization=Bearer ${env:T}", "deny",
		     "b", "inject", "api.example.org  X=a=b", "inject",
		     "other.example.org:8443/x Y="),
	       "policy",
	       "{\"rules\": [{\"intercept\": \"api.example.org\", "
	       "\"inject\": [{\"path\": \"/v1\", \"set\": "
	       "{\"Authorization\": \"Bearer ${env:T}\"}}, "
	       "{\"set\": {\"X\": \"a=b\"}}]}, {\"deny\": \"b\"}, "
	       "{\"intercept\": \"other.example.org\", \"ports\": [\"8443\"], "
	       "\"inject\": [{\"path\": \"/x\", \"set\": {\"Y\": \"\"}}]}, "
	       "{\"allow\": \"internet\"}]}");
	/* However it is written. */
	expect(NULL,
	       RULES("inject", "Api.example.org:443/a X=1", "handler",
		     "api.Example.org.:443=/h", "inject",
		     "api.example.org:443 Y=2", "inject",
		     "api.example.org:80 Z=3"),
	       "policy",
	       "{\"rules\": [{\"intercept\": \"Api.example.org\", \"ports\": "
	       "[\"443\"], \"inject\": [{\"path\": \"/a\", \"set\": "
	       "{\"X\": \"1\"}}, {\"set\": {\"Y\": \"2\"}}], "
	       "\"handler\": \"/h\"}, {\"intercept\": \"api.example.org\", "
	       "\"ports\": [\"80\"], \"inject\": [{\"set\": "
	       "{\"Z\": \"3\"}}]}]}");
	expect_bad(NULL, RULES("inject", "a.example.org"), "--inject: 'a.exam");
	expect_bad(NULL, RULES("inject", "a.example.org X"), "HEADER=VALUE");
	expect_bad(NULL, RULES("inject", "/v1 X=y"), "HEADER=VALUE");
	expect_bad(NULL, RULES("inject", "a =y"), "HEADER=VALUE");
	expect_bad(NULL, RULES("inject", "a X=y", "inject", "b"), "'b' is not");
}
END_TEST

/* @sentence: of the warning; "": there is none */
static void expect_warning(const char *net, const char *const *rules,
			   const char *sentence)
{
	struct hutch_err e;

	ck_assert_msg(parse(net, rules, &e) == 0, "%s", e.msg);
	ck_assert_str_eq(made.warning.msg, sentence);
	ck_assert_int_eq(made.warning.code != 0, *sentence != '\0');
	netopt_done(&made);
}

START_TEST(injection_behind_a_rule_that_decides_is_warned_of)
{
	expect_warning(NULL,
		       RULES("allow", "*.example.org", "inject",
			     "api.example.org/v1 X=y"),
		       "--inject: 'api.example.org' has no effect where "
		       "--allow '*.example.org' decides, which is before it: "
		       "put it first");
	expect_warning(NULL,
		       RULES("inject", "*.a X=y", "handler", "s.a:8080-8090=/h",
			     "inject", "b:443 X=y", "deny", "B.:80-443",
			     "handler", "b=/h"),
		       "--handler: 'b' has no effect where --inject 'b:443' "
		       "decides, which is before it: put it first");
	expect_warning(
		NULL,
		RULES("deny", "B.:400-443", "allow", "c", "handler", "b=/h"),
		"--handler: 'b' has no effect where --deny 'B.:400-443' "
		"decides, which is before it: put it first");
	expect_warning(NULL, RULES("allow", "internet", "inject", "a X=y"),
		       "--inject: 'a' has no effect where --allow 'internet' "
		       "decides, which is before it: put it first");
	expect_warning(NULL, RULES("allow", "*", "inject", "*.a:8080 X=y"),
		       "--inject: '*.a:8080' has no effect where --allow '*' "
		       "decides, which is before it: put it first");
	/* Other ports, other hosts, the same host again; one behind it. */
	expect_warning("internet",
		       RULES("allow", "a:8080", "inject", "a X=y", "allow",
			     "*.a", "allow", "10.0.0.0/8", "allow", "xb",
			     "inject", "b:1 X=y", "inject", "a X=z", "allow",
			     "b"),
		       "");
	expect_warning(NULL, RULES("allow", "*.a", "inject", "* X=y"), "");
}
END_TEST

START_TEST(a_handler_is_of_its_host_s_rule)
{
	expect(NULL, RULES("handler", "api.internal=/run/a=b.sock"), "policy",
	       "{\"rules\": [{\"intercept\": \"api.internal\", "
	       "\"handler\": \"/run/a=b.sock\"}]}");
	expect("internet",
	       RULES("handler", "*.a.example:8080=/h", "inject",
		     "*.a.example:8080/v1 X=y", "deny", "b"),
	       "policy",
	       "{\"rules\": [{\"intercept\": \"*.a.example\", \"ports\": "
	       "[\"8080\"], \"inject\": [{\"path\": \"/v1\", \"set\": "
	       "{\"X\": \"y\"}}], \"handler\": \"/h\"}, {\"deny\": \"b\"}, "
	       "{\"allow\": \"internet\"}]}");
	expect(NULL, RULES("inject", "a X=y", "handler", "a=/h"), "policy",
	       "{\"rules\": [{\"intercept\": \"a\", \"inject\": [{\"set\": "
	       "{\"X\": \"y\"}}], \"handler\": \"/h\"}]}");
	expect_bad(NULL, RULES("handler", "a"), "HOST=/PATH");
	expect_bad(NULL, RULES("handler", "a=h.sock"), "HOST=/PATH");
	expect_bad(NULL, RULES("handler", "=/h"), "HOST=/PATH");
	expect_bad(NULL, RULES("handler", ":80=/h"), "names no host");
	expect_bad(NULL, RULES("handler", "a=/h", "handler", "A.=/i"),
		   "one handler more");
	expect_bad("passt", RULES("handler", "a=/h"), "has no rules");
}
END_TEST

START_TEST(what_cannot_be_meant_is_refused)
{
	static char long_name[400];

	memset(long_name, 'a', sizeof(long_name) - 1);
	expect_bad(NULL, RULES("allow", ""), "--allow: '' names no host");
	expect_bad("internet", RULES("deny", ":80"), "names no host");
	expect_bad(NULL, RULES("allow", "a:"), "has no port");
	expect_bad(NULL, RULES("allow", "[::1"), "[ADDRESS]:PORT");
	expect_bad(NULL, RULES("allow", "[::1]80"), "[ADDRESS]:PORT");
	expect_bad(NULL, RULES("allow", long_name), "names no host");
	expect_bad("passt", RULES("allow", "a"), "has no rules");
	expect_bad(NULL, RULES("deny", "a"), "'a' is denied anyhow");
	expect_bad("none", RULES("allow", "a"), "has no rules");
	expect_bad("./nosuch.json", NULL, "No such file");
	expect_bad("nosuch.json", NULL, "No such file");
	expect_bad("/proc/self/fd/../..//etc", NULL, "--net: ");
}
END_TEST

static void put(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(policy_comes_from_a_file)
{
	static char big[NETOPT_FILE_MAX + 1];
	char dir[] = "/tmp/hutch-test-XXXXXX", path[64], words[80];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/p.json", dir);
	(void)snprintf(words, sizeof(words), "%s,mtu=1400", path);
	put(path, "{\"rules\":[]}", 12);
	expect(path, NULL, "policy", "{\"rules\":[]}");
	expect(words, NULL, "policy,mtu=1400", "{\"rules\":[]}");
	expect_bad(path, RULES("allow", "a"), "has rules of its own");
	memset(big, ' ', sizeof(big));
	put(path, big, sizeof(big));
	expect_bad(path, NULL, "larger than 64 KiB");
	put(path, "{\0}", 3);
	expect_bad(path, NULL, "holds no policy");
	put(path, "", 0);
	expect_bad(path, NULL, "holds no policy");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

CHECK_MAIN("cli_net", what_has_no_rules_passes_as_it_is,
	   rules_stay_in_their_order, colons_of_an_address_are_its_own,
	   injections_into_one_host_are_one_rule,
	   injection_behind_a_rule_that_decides_is_warned_of,
	   a_handler_is_of_its_host_s_rule, what_cannot_be_meant_is_refused,
	   policy_comes_from_a_file)
