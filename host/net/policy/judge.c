/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/judge.c - the verdict on a connection, see policy.h
 *
 * A rule matches, or does not, or may: a rule by name, for a TCP connection
 * nobody has looked at yet. The verdict waits for the look only if it makes a
 * difference: if every rule that may match says what the first that does match
 * says, it is given at once. So "denied is fast" holds for what no name could
 * save, and "allow internet" costs no look unless a name is denied before it.
 */
#include <string.h>

#include "host/net/policy/own.h"
#include "host/net/policy/pins.h"
#include "host/net/policy/rule.h"

#define HTTPS_PORT 443

enum match {
	MATCH_NO,
	MATCH_MAY,
	MATCH_YES
};

/* One judgment under way. */
struct judging {
	const struct pins *pins;
	const struct attempt *a;
	uint64_t now_ms;
	const char *name; /* by which the last rule matched */
	const char *near; /* why a rule that came close did not match */
};

static bool is_quic(const struct attempt *a)
{
	return a->proto == NET_UDP && a->port == HTTPS_PORT;
}

/* A name that @a's address is known by and the pattern means. */
static const char *pinned_as(const struct judging *j, const char *pattern)
{
	const struct attempt *a = j->a;
	const char *name;
	size_t at = 0;

	if (a->known && name_matches(pattern, a->known))
		return a->known;
	while ((name = pins_next(j->pins, &a->dst, j->now_ms, &at)))
		if (name_matches(pattern, name))
			return name;
	return NULL;
}

/* Whether the address was given for just this name. */
static bool is_pinned(const struct judging *j, const char *name)
{
	const struct attempt *a = j->a;

	return (a->known && strcmp(a->known, name) == 0) ||
	       pins_has(j->pins, name, &a->dst, j->now_ms);
}

static enum match match_as(struct judging *j, const char *name)
{
	j->name = name;
	return name ? MATCH_YES : MATCH_NO;
}

/*
 * To deny, the name in TLS is enough, since the guest may have had the address
 * from elsewhere; and it is all that counts, since an address has many names.
 */
static enum match match_denied_name(struct judging *j, const struct rule *r)
{
	const struct attempt *a = j->a;

	if (is_quic(a)) {
		j->near = "QUIC (UDP port 443) shows no name, and a name is "
			  "denied before";
		return MATCH_YES;
	}
	if (a->proto == NET_TCP && !a->sni)
		return MATCH_MAY;
	if (a->sni && *a->sni)
		return match_as(j,
				name_matches(r->name, a->sni) ? a->sni : NULL);
	return match_as(j, pinned_as(j, r->name));
}

/* To allow, address and name must agree. */
static enum match match_allowed_name(struct judging *j, const struct rule *r)
{
	const struct attempt *a = j->a;
	const char *pinned = pinned_as(j, r->name);

	if (!rule_name_leads(r, j->pins, &a->dst)) {
		if (pinned)
			j->near = "a rule by name leads to no such address, "
				  "which is not public";
		return MATCH_NO;
	}
	if (a->proto == NET_TCP && !a->sni)
		return pinned ? MATCH_MAY : MATCH_NO;
	if (a->proto == NET_TCP && *a->sni) {
		if (!name_matches(r->name, a->sni))
			return MATCH_NO;
		if (is_pinned(j, a->sni))
			return match_as(j, a->sni);
		j->near = "our resolver did not give this address for the "
			  "name in its TLS";
		return MATCH_NO;
	}
	if (pinned && is_quic(a)) {
		j->near = "QUIC (UDP port 443) shows no name; TCP does";
		return MATCH_NO;
	}
	if (pinned && a->proto == NET_TCP && !a->plain) {
		j->near = "its TLS names no host (SNI)";
		return MATCH_NO;
	}
	return match_as(j, pinned);
}

/* By QUIC nobody is to get around an interception of HTTPS. */
static enum match match_intercepted_quic(struct judging *j,
					 const struct rule *r)
{
	if (!rule_covers(r, NET_TCP, HTTPS_PORT))
		return MATCH_NO;
	j->near = "QUIC (UDP port 443) shows no name, and a name is "
		  "intercepted";
	return MATCH_YES;
}

static enum match match(struct judging *j, const struct rule *r)
{
	const struct attempt *a = j->a;

	j->name = NULL;
	if (r->act == RULE_INTERCEPT && is_quic(a))
		return match_intercepted_quic(j, r);
	if (!rule_covers(r, a->proto, a->port))
		return MATCH_NO;
	if (r->kind == RULE_NAME)
		return r->act == RULE_DENY ? match_denied_name(j, r)
					   : match_allowed_name(j, r);
	if (rule_has_addr(r, j->pins, &a->dst))
		return MATCH_YES;
	if (r->kind == RULE_INTERNET && r->act == RULE_ALLOW) {
		const char *what = addr_special(&a->dst);

		j->near = what ? what : "it is an address of this host";
	}
	if (own_index(&a->dst) >= 0)
		j->near = "it is an address of the VM's own, which leads to "
			  "a handler by its name alone";
	else if (r->kind == RULE_RANGE && r->act == RULE_ALLOW &&
		 addr_range_has(&r->range, &a->dst))
		j->near = "a range means no address of this host and no "
			  "metadata service";
	return MATCH_NO;
}

/* Any name that goes with it, for the event. */
static const char *some_name(const struct judging *j)
{
	const struct attempt *a = j->a;
	size_t at = 0;

	if (j->name)
		return j->name;
	if (a->sni && *a->sni)
		return a->sni;
	return a->known ? a->known
			: pins_next(j->pins, &a->dst, j->now_ms, &at);
}

/* No name allows QUIC, so a rule by name that matched it denies it. */
static bool is_quic_by_name(const struct judging *j, const struct rule *r)
{
	return is_quic(j->a) && r->kind == RULE_NAME;
}

static struct verdict conclude(const struct judging *j, const struct rule *r,
			       int rule)
{
	struct verdict v = { .how = JUDGE_DENY,
			     .rule = rule,
			     .name = some_name(j) };

	v.pinned = v.name && is_pinned(j, v.name);
	if (!r)
		v.why = j->near ? j->near : "no rule allows it";
	else if (r->act == RULE_DENY || is_quic_by_name(j, r))
		v.why = is_quic_by_name(j, r) ? j->near : "a rule denies it";
	else if (r->act == RULE_INTERCEPT)
		v.how = JUDGE_INTERCEPT, v.why = "a rule intercepts it";
	else
		v.how = JUDGE_ALLOW, v.why = "a rule allows it";
	return v;
}

struct verdict policy_judge(const struct policy *p, const struct pins *pins,
			    const struct attempt *a, uint64_t now_ms)
{
	struct judging j = { .pins = pins, .a = a, .now_ms = now_ms };
	bool may[RULE_ACTS] = { false };
	enum rule_act last = RULE_DENY;
	const struct rule *found = NULL;
	struct verdict v;
	size_t i, first = p->n;

	for (i = 0; i < p->n && !found; i++) {
		enum match m = match(&j, &p->rule[i]);

		if (m == MATCH_YES)
			found = &p->rule[i];
		if (m != MATCH_MAY)
			continue;
		may[p->rule[i].act] = true;
		first = MIN(first, i);
	}
	if (found)
		last = found->act;
	v = conclude(&j, found, found ? (int)i - 1 : -1);
	may[last] = false;
	if (may[RULE_ALLOW] || may[RULE_DENY] || may[RULE_INTERCEPT]) {
		v.how = JUDGE_LOOK;
		v.rule = (int)first;
		v.why = "the name in its first bytes decides";
	}
	return v;
}
