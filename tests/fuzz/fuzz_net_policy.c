/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net_policy.c - policies of the network, as JSON
 *
 * Whatever is taken can be told, judges, and never asks for a second look.
 */
#include <string.h>

#include "host/net/policy/pins.h"
#include "host/net/policy/policy.h"
#include "host/net/policy/tally.h"
#include "tests/fuzz/fuzz.h"

static const char *const addrs[] = { "8.8.8.8",         "127.0.0.1",
				     "10.0.0.1",        "2606::1",
				     "64:ff9b::7f00:1", "169.254.169.254" };
static const char *const snis[] = { NULL, "", "a.org", "b.a.org",
				    "evil.example" };

static void check(const struct policy *p, const struct attempt *a,
		  const struct verdict *v)
{
	bug_on(v->rule < -1 || v->rule >= (int)policy_n_rules(p));
	bug_on(!v->why[0]);
	bug_on(v->how == JUDGE_LOOK && (a->proto != NET_TCP || a->sni));
	bug_on(v->how != JUDGE_DENY && v->rule < 0);
	bug_on(v->how == JUDGE_INTERCEPT && a->proto != NET_TCP);
}

static void judge(const struct policy *p, const struct pins *pins,
		  struct tally *t)
{
	for (size_t i = 0; i < ARRAY_LEN(addrs) * ARRAY_LEN(snis) * 6; i++) {
		struct attempt a = {
			.proto = i % 3,
			.port = i % 2 ? 443 : 53,
			.sni = snis[i / 6 % ARRAY_LEN(snis)],
		};
		struct verdict v;

		bug_on(addr_parse(addrs[i / 6 / ARRAY_LEN(snis)], &a.dst) < 0);
		v = policy_judge(p, pins, &a, 1);
		check(p, &a, &v);
		tally_add(t, &v);
		(void)policy_may_answer(p, pins, "a.org", &a.dst, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct policy *p = NULL;
	struct err e = { 0 };
	struct net_addr a;
	struct pins *pins;
	struct tally *t;
	char text[64];

	if (policy_parse((const char *)data, len, &p, &e) < 0) {
		bug_on(p || !e.msg[0]);
		return 0;
	}
	pins = pins_new();
	t = tally_new(p);
	bug_on(!pins || !t || addr_parse("8.8.8.8", &a) < 0);
	bug_on(pins_add(pins, "a.org", &a, 60, 1) < 0);
	for (size_t i = 0; i < policy_n_rules(p); i++)
		bug_on(!policy_rule_text(p, i, text, sizeof(text))[0]);
	judge(p, pins, t);
	(void)policy_may_resolve(p, "b.a.org", NULL);
	(void)policy_denies_name(p, "b.a.org", NULL);
	tally_free(t);
	pins_free(pins);
	policy_unref(p);
	return 0;
}
