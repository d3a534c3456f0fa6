/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/rule.c - what a rule means, see rule.h */
#include <stdio.h>

#include "host/net/policy/own.h"
#include "host/net/policy/pins.h"
#include "host/net/policy/rule.h"

void rule_done(struct rule *r)
{
	free(r->name);
	free(r->ports);
	free(r->handler);
	injects_done(&r->injects);
	*r = (struct rule){ 0 };
}

bool rule_covers(const struct rule *r, enum net_proto proto, uint16_t port)
{
	if (!(r->protos & 1u << proto))
		return false;
	for (size_t i = 0; i < r->n_ports; i++)
		if (port >= r->ports[i].first && port <= r->ports[i].last)
			return true;
	return r->n_ports == 0;
}

bool rule_is_total(const struct rule *r)
{
	return r->protos == RULE_ALL_PROTOS && r->n_ports == 0;
}

bool rule_name_leads(const struct rule *r, const struct pins *pins,
		     const struct net_addr *a)
{
	if (own_index(a) >= 0)
		return r->handler;
	if (pins_is_local(pins, a))
		return false;
	return !addr_special(a) || (r->private && addr_is_private(a));
}

/*
 * Whose range is 10.0.0.0/8 means a network, and not what listens on the host
 * because it has an address there, nor what gives the host's credentials away:
 * these are allowed by their address alone. Those of own.h are of no network.
 */
static bool is_beyond(const struct rule *r, const struct pins *pins,
		      const struct net_addr *a)
{
	if (r->act != RULE_DENY && own_index(a) >= 0)
		return true;
	return r->act != RULE_DENY && r->range.bits < 128 &&
	       (pins_is_local(pins, a) || addr_is_metadata(a));
}

/*
 * Who denies 192.0.2.0/24 does not want it reached by way of a translator; who
 * allows it has not allowed the translator.
 */
static bool range_has(const struct rule *r, const struct net_addr *a)
{
	struct net_addr in;

	if (addr_range_has(&r->range, a))
		return true;
	for (unsigned int i = 0;
	     r->act == RULE_DENY && addr_embedded(a, i, &in); i++)
		if (addr_range_has(&r->range, &in))
			return true;
	return false;
}

bool rule_has_addr(const struct rule *r, const struct pins *pins,
		   const struct net_addr *a)
{
	if (r->kind == RULE_INTERNET)
		return !addr_special(a) && !pins_is_local(pins, a);
	return r->kind == RULE_RANGE && range_has(r, a) &&
	       !is_beyond(r, pins, a);
}

bool policy_intercepts(const struct policy *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rule[i].act == RULE_INTERCEPT)
			return true;
	return false;
}

bool policy_has_upstream(const struct policy *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rule[i].act == RULE_INTERCEPT && !p->rule[i].handler)
			return true;
	return false;
}

const char *policy_handler(const struct policy *p, int rule)
{
	return rule < 0 ? NULL : p->rule[rule].handler;
}

/* ---- For people ---- */

static void put(char *buf, size_t cap, size_t *at, const char *sep,
		const char *s)
{
	int n;

	if (*at >= cap)
		return;
	n = snprintf(buf + *at, cap - *at, "%s%s", sep, s);
	*at += n > 0 ? (size_t)n : 0;
}

static void put_range(char *buf, size_t cap, size_t *at,
		      const struct addr_range *r)
{
	char text[ADDR_TEXT_MAX], bits[8];
	bool v4 = addr_is_v4(&r->base);

	put(buf, cap, at, " ", addr_text(&r->base, text));
	(void)snprintf(bits, sizeof(bits), "%d", r->bits - (v4 ? 96 : 0));
	if (r->bits < 128)
		put(buf, cap, at, "/", bits);
}

static void put_ports(char *buf, size_t cap, size_t *at, const struct rule *r)
{
	static const char *const protos[] = { "tcp", "udp", "icmp" };
	char text[16];

	for (unsigned int i = 0; i < ARRAY_LEN(protos); i++)
		if (r->protos != RULE_ALL_PROTOS && r->protos & 1u << i)
			put(buf, cap, at, " ", protos[i]);
	for (size_t i = 0; i < r->n_ports; i++) {
		const struct rule_ports *p = &r->ports[i];

		(void)snprintf(text, sizeof(text),
			       p->first == p->last ? "%u" : "%u-%u", p->first,
			       p->last);
		put(buf, cap, at, i ? "," : " ", text);
	}
}

char *policy_rule_text(const struct policy *p, size_t i, char *buf, size_t cap)
{
	static const char *const acts[] = { "allow", "deny", "intercept" };
	const struct rule *r;
	size_t at = 0;

	bug_on(i >= p->n || cap == 0);
	r = &p->rule[i];
	put(buf, cap, &at, "", acts[r->act]);
	if (r->kind == RULE_RANGE)
		put_range(buf, cap, &at, &r->range);
	else
		put(buf, cap, &at, " ", r->name ? r->name : "internet");
	put_ports(buf, cap, &at, r);
	if (r->private)
		put(buf, cap, &at, " ", "private");
	if (r->handler)
		put(buf, cap, &at, " by ", r->handler);
	return buf;
}
