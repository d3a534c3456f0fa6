/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/rule_parse.c - a rule from its JSON, see rule.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/words.h"
#include "host/net/policy/rule.h"

#define QUOTE_MAX 80

/* What is a key in a rule; those that say what it does come first. */
static const char *const keys[] = { [RULE_ALLOW] = "allow",
				    [RULE_DENY] = "deny",
				    [RULE_INTERCEPT] = "intercept",
				    "ports",
				    "proto",
				    "private",
				    "inject",
				    "handler" };

static const char *quote(char q[QUOTE_MAX], const char *s)
{
	return log_escape(q, QUOTE_MAX, s, strlen(s));
}

/* Exactly one thing to do, and nothing that is not understood. */
static int read_keys(json_t *j, unsigned int *ret_act, struct err *e)
{
	unsigned int n_acts = 0, k;
	char q[QUOTE_MAX];
	const char *key;
	json_t *v;

	if (!json_is_object(j))
		return err_set(e, -EINVAL,
			       "it is no object; write {\"allow\": \"...\"}");
	json_object_foreach(j, key, v)
	{
		for (k = 0; k < ARRAY_LEN(keys); k++)
			if (strcmp(key, keys[k]) == 0)
				break;
		if (k == ARRAY_LEN(keys))
			return err_set(e, -EINVAL,
				       "there is no key '%s'; there are "
				       "allow, deny, intercept, ports, proto, "
				       "private, inject, handler",
				       quote(q, key));
		if (k >= RULE_ACTS)
			continue;
		*ret_act = k;
		n_acts++;
	}
	if (n_acts != 1)
		return err_set(e, -EINVAL,
			       "it has %s of \"allow\", \"deny\" and "
			       "\"intercept\"; write one",
			       n_acts ? "more than one" : "none");
	return 0;
}

/* ---- Whom it is about ---- */

/*
 * What the host itself has, and no network: opened only by a rule that means it,
 * never by one so wide that its author may not have thought of it.
 */
static int check_width(const struct rule *r, struct err *e)
{
	static const char *const own[] = { "0.0.0.0/8", "127.0.0.0/8",
					   "169.254.0.0/16", "::1/128",
					   "fe80::/10" };
	struct addr_range o;

	for (size_t i = 0; r->act != RULE_DENY && i < ARRAY_LEN(own); i++) {
		bug_on(addr_range_parse(own[i], &o, NULL) < 0);
		if (r->range.bits < o.bits && addr_range_within(&r->range, &o))
			return err_set(e, -EINVAL,
				       "would open %s of the host too; write "
				       "'internet', or smaller ranges",
				       own[i]);
	}
	return 0;
}

static int read_range(const char *s, struct rule *r, struct err *e)
{
	int n = addr_range_parse(s, &r->range, e);

	r->kind = RULE_RANGE;
	return n < 0 ? n : check_width(r, e);
}

static int read_name(const char *s, struct rule *r, struct err *e)
{
	char name[NAME_CAP];
	int n = name_pattern(s, name, e);

	if (n < 0)
		return n;
	r->kind = RULE_NAME;
	r->name = strdup(name);
	return r->name ? 0 : err_set(e, -ENOMEM, "no memory for it");
}

static int read_target(const json_t *v, struct rule *r, struct err *e)
{
	const char *s = json_string_value(v);
	char q[QUOTE_MAX];
	int n = 0;

	if (!s)
		return err_set(e, -EINVAL, "\"%s\" is no string", keys[r->act]);
	if (strcmp(s, "internet") == 0)
		r->kind = RULE_INTERNET;
	else if (strspn(s, "0123456789abcdefABCDEF.:/") == strlen(s) &&
		 (strpbrk(s, ":/") || name_is_literal(s, strlen(s))))
		n = read_range(s, r, e);
	else
		n = read_name(s, r, e);
	if (n < 0) {
		struct err half = *e;

		return err_set(e, n, "'%s' %s", quote(q, s), half.msg);
	}
	return 0;
}

/* ---- Ports and protocol ---- */

static int read_number(const char *s, size_t len, uint16_t *ret)
{
	uint64_t v;
	char text[8];

	if (len == 0 || len >= sizeof(text))
		return -EINVAL;
	memcpy(text, s, len);
	text[len] = '\0';
	if (words_uint("port", text, 1, UINT16_MAX, &v, NULL) < 0)
		return -EINVAL;
	*ret = (uint16_t)v;
	return 0;
}

/* "443", "8000-8100", or 443. */
static int read_port(const json_t *v, struct rule_ports *ret, struct err *e)
{
	json_int_t i = json_integer_value(v);
	const char *s = json_string_value(v), *dash;
	char q[QUOTE_MAX], number[24];

	if (json_is_integer(v)) {
		(void)snprintf(number, sizeof(number), "%lld", (long long)i);
		s = number;
	}
	if (!s)
		return err_set(e, -EINVAL,
			       "a port is neither a string nor a number");
	dash = strchr(s, '-');
	if (read_number(s, dash ? (size_t)(dash - s) : strlen(s),
			&ret->first) == 0) {
		ret->last = ret->first;
		if ((!dash || read_number(dash + 1, strlen(dash + 1),
					  &ret->last) == 0) &&
		    ret->first <= ret->last)
			return 0;
	}
	return err_set(e, -EINVAL,
		       "'%s' is no port; write one from 1 to 65535, or two as "
		       "in '8000-8100'",
		       quote(q, s));
}

static int read_ports(const json_t *list, struct rule *r, struct err *e)
{
	size_t n = json_array_size(list), i;
	const json_t *v;

	if (!list)
		return 0;
	if (!json_is_array(list) || n == 0)
		return err_set(e, -EINVAL,
			       "\"ports\" is no list of ports such as "
			       "[\"443\", \"8000-8100\"]");
	if (n > POLICY_PORTS_MAX)
		return err_set(e, -E2BIG,
			       "\"ports\" has %zu entries; %u can be", n,
			       POLICY_PORTS_MAX);
	r->ports = calloc(n, sizeof(*r->ports));
	if (!r->ports)
		return err_set(e, -ENOMEM, "no memory for its ports");
	r->n_ports = n;
	json_array_foreach(list, i, v)
	{
		int c = read_port(v, &r->ports[i], e);

		if (c < 0)
			return c;
	}
	return 0;
}

static int read_proto(const json_t *v, struct rule *r, struct err *e)
{
	const char *s = json_string_value(v);

	r->protos = 1u << NET_TCP;
	if (r->act != RULE_INTERCEPT)
		r->protos |= 1u << NET_UDP;
	if (!r->n_ports)
		r->protos |= 1u << NET_ICMP;
	if (!v)
		return 0;
	if (s && strcmp(s, "tcp") == 0)
		r->protos = 1u << NET_TCP;
	else if (s && strcmp(s, "udp") == 0)
		r->protos = 1u << NET_UDP;
	else if (s && strcmp(s, "icmp") == 0)
		r->protos = 1u << NET_ICMP;
	else
		return err_set(e, -EINVAL,
			       "\"proto\" is not \"tcp\", \"udp\" or \"icmp\"");
	if (r->protos == 1u << NET_ICMP && r->n_ports)
		return err_set(e, -EINVAL,
			       "it has \"ports\", and \"icmp\" has none");
	return 0;
}

/* A rule that can never match is a mistake that its author is to hear of. */
static int check_quic(const struct rule *r, struct err *e)
{
	if (r->kind != RULE_NAME || r->act != RULE_ALLOW ||
	    r->protos != 1u << NET_UDP || r->n_ports != 1 ||
	    r->ports[0].first != 443 || r->ports[0].last != 443)
		return 0;
	return err_set(e, -EINVAL,
		       "UDP port 443 cannot be allowed by name, since QUIC "
		       "shows none; allow TCP, or an address");
}

static int read_private(const json_t *v, struct rule *r, struct err *e)
{
	if (!v)
		return 0;
	if (!json_is_boolean(v))
		return err_set(e, -EINVAL, "\"private\" is not true or false");
	r->private = json_is_true(v);
	if (r->private && (r->kind != RULE_NAME || r->act == RULE_DENY))
		return err_set(e, -EINVAL,
			       "\"private\" is for names that are allowed; an "
			       "address is private or not by itself");
	return 0;
}

/* HTTP where it is spoken, unless ports are given. */
static int web_ports(struct rule *r, struct err *e)
{
	static const uint16_t web[] = { 80, 443 };

	if (r->n_ports)
		return 0;
	r->ports = calloc(ARRAY_LEN(web), sizeof(*r->ports));
	if (!r->ports)
		return err_set(e, -ENOMEM, "no memory for its ports");
	for (; r->n_ports < ARRAY_LEN(web); r->n_ports++)
		r->ports[r->n_ports] =
			(struct rule_ports){ web[r->n_ports], web[r->n_ports] };
	return 0;
}

/*
 * It is opened later, by others, who are in another folder than whoever wrote the
 * rule: so it says all of where it is.
 */
static int read_handler(const json_t *v, struct rule *r, struct err *e)
{
	const char *s = json_string_value(v);

	if (!v)
		return 0;
	if (r->act != RULE_INTERCEPT)
		return err_set(e, -EINVAL, "\"handler\" is for \"intercept\"");
	if (!s || *s != '/')
		return err_set(e, -EINVAL,
			       "\"handler\" is no path of a Unix socket that "
			       "begins with '/'");
	if (strlen(s) > POLICY_HANDLER_MAX)
		return err_set(e, -EINVAL,
			       "\"handler\" has %zu bytes; the path of a Unix "
			       "socket can have %u",
			       strlen(s), POLICY_HANDLER_MAX);
	if (r->private)
		return err_set(e, -EINVAL,
			       "\"private\" is about addresses of servers, and "
			       "a handler has none");
	r->handler = strdup(s);
	return r->handler ? 0 : err_set(e, -ENOMEM, "no memory for it");
}

static int read_intercept(json_t *j, struct rule *r, struct err *e)
{
	const json_t *injects = json_object_get(j, "inject");

	if (r->act != RULE_INTERCEPT)
		return injects ? err_set(e, -EINVAL,
					 "\"inject\" is for \"intercept\"")
			       : 0;
	if (r->kind != RULE_NAME)
		return err_set(e, -EINVAL,
			       "only a host name can be intercepted, since a "
			       "certificate and a request have one");
	if (r->protos != 1u << NET_TCP)
		return err_set(e, -EINVAL, "only \"tcp\" can be intercepted");
	return injects_parse(injects, &r->injects, e);
}

int rule_parse(json_t *j, struct rule *ret, struct err *e)
{
	unsigned int act = 0;
	int r = read_keys(j, &act, e);

	*ret = (struct rule){ .act = act };
	if (r == 0)
		r = read_target(json_object_get(j, keys[act]), ret, e);
	if (r == 0)
		r = read_ports(json_object_get(j, "ports"), ret, e);
	if (r == 0 && act == RULE_INTERCEPT)
		r = web_ports(ret, e);
	if (r == 0)
		r = read_proto(json_object_get(j, "proto"), ret, e);
	if (r == 0)
		r = read_private(json_object_get(j, "private"), ret, e);
	if (r == 0)
		r = read_intercept(j, ret, e);
	if (r == 0)
		r = read_handler(json_object_get(j, "handler"), ret, e);
	return r < 0 ? r : check_quic(ret, e);
}
