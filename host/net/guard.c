/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/guard.c - see guard.h */
#include <errno.h>
#include <string.h>

#include "common/loop.h"
#include "host/net/guard.h"

#define NS_PER_MS 1000000u

static uint64_t now_ms(void)
{
	return loop_now_ns() / NS_PER_MS;
}

int guard_init(struct guard *g, struct policy *p)
{
	struct guard new = { .pins = pins_new(), .tally = tally_new(p) };

	if (!new.pins || !new.tally) {
		guard_done(&new);
		return -ENOMEM;
	}
	new.policy = p;
	new.blind = true;
	*g = new;
	return 0;
}

void guard_done(struct guard *g)
{
	policy_unref(g->policy);
	pins_free(g->pins);
	tally_free(g->tally);
	memset(g, 0, sizeof(*g));
}

int guard_replace(struct guard *g, struct policy *p)
{
	struct tally *t = tally_new(p);

	if (!t)
		return -ENOMEM;
	policy_unref(g->policy);
	tally_free(g->tally);
	g->policy = p;
	g->tally = t;
	return 0;
}

void guard_local(struct guard *g, struct locals *l)
{
	g->blind = !l;
	if (l)
		pins_take_local(g->pins, l);
}

bool guard_is_local(const struct guard *g, const struct net_addr *a)
{
	return g->blind || pins_is_local(g->pins, a);
}

struct verdict guard_judge(struct guard *g, const struct attempt *a)
{
	struct verdict v = {
		.how = JUDGE_DENY,
		.rule = -1,
		.why = "the host's own addresses are not known",
	};

	if (!g->blind)
		v = policy_judge(g->policy, g->pins, a, now_ms());
	if (v.how != JUDGE_DENY)
		tally_add(g->tally, &v);
	return v;
}

void guard_denied(struct guard *g, int rule)
{
	tally_add(g->tally,
		  &(struct verdict){ .how = JUDGE_DENY, .rule = rule });
}

struct dns_env guard_dns_env(struct guard *g, const uint8_t *rnd)
{
	return (struct dns_env){ .policy = g->policy,
				 .pins = g->pins,
				 .now_ms = now_ms(),
				 .rnd = rnd };
}
