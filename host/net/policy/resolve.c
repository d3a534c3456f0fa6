/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/resolve.c - what the guest may be told of names, see policy.h
 *
 * A question names no port. So a rule that is about some ports only, or one
 * protocol, is enough to allow an answer, and not enough to deny one.
 */
#include <string.h>

#include "host/net/policy/own.h"
#include "host/net/policy/pins.h"
#include "host/net/policy/rule.h"

static bool means_name(const struct rule *r, const char *name)
{
	return r->kind == RULE_NAME && name_matches(r->name, name);
}

bool policy_may_resolve(const struct policy *p, const char *name, int *ret_rule)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		bool allow = r->act != RULE_DENY;

		if (!means_name(r, name) &&
		    !(r->kind == RULE_INTERNET && allow))
			continue;
		if (!allow && !rule_is_total(r))
			continue;
		if (ret_rule)
			*ret_rule = (int)i;
		return allow;
	}
	if (ret_rule)
		*ret_rule = -1;
	return false;
}

bool policy_names(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];

		if (!means_name(r, name))
			continue;
		if (r->act != RULE_DENY && (r->private || strcmp(r->name, "*")))
			return true;
		if (r->act == RULE_DENY && rule_is_total(r))
			break;
	}
	return false;
}

bool policy_denies_name(const struct policy *p, const char *name, int *ret_rule)
{
	for (size_t i = 0; i < p->n; i++) {
		if (!means_name(&p->rule[i], name))
			continue;
		if (ret_rule)
			*ret_rule = (int)i;
		return p->rule[i].act == RULE_DENY;
	}
	return false;
}

/* Whether a rule is about this pair of a name and an address. */
static bool means(const struct rule *r, const struct pins *pins,
		  const char *name, const struct net_addr *a)
{
	if (!means_name(r, name))
		return rule_has_addr(r, pins, a);
	return r->act == RULE_DENY || rule_name_leads(r, pins, a);
}

bool policy_may_answer(const struct policy *p, const struct pins *pins,
		       const char *name, const struct net_addr *a,
		       const char **ret_why)
{
	const char *why = addr_special(a);
	size_t n = p->n;

	/* Whoever answers with one of them means another name's handler. */
	if (own_index(a) >= 0) {
		why = "it is an address of the VM's own";
		n = 0;
	}
	if (!why)
		why = pins_is_local(pins, a) ? "it is an address of this host"
					     : "no rule allows its address";
	for (size_t i = 0; i < n; i++) {
		const struct rule *r = &p->rule[i];

		if (!means(r, pins, name, a))
			continue;
		if (r->act != RULE_DENY)
			return true;
		if (!rule_is_total(r))
			continue;
		why = "a rule denies its address";
		break;
	}
	if (ret_why)
		*ret_why = why;
	return false;
}
