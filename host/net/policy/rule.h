/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/rule.h - what a policy is made of; for the policy's own files */
#ifndef HUTCH_HOST_NET_POLICY_RULE_H
#define HUTCH_HOST_NET_POLICY_RULE_H

#include <jansson.h>

#include "host/net/policy/inject.h"
#include "host/net/policy/name.h"
#include "host/net/policy/policy.h"

enum rule_act {
	RULE_ALLOW,
	RULE_DENY,
	RULE_INTERCEPT
};
#define RULE_ACTS 3u

enum rule_kind {
	RULE_NAME,
	RULE_RANGE,
	RULE_INTERNET
};

/** struct rule_ports - From @first to @last, both included */
struct rule_ports {
	uint16_t first;
	uint16_t last;
};

/**
 * struct rule - One rule
 * @name:	RULE_NAME: a pattern
 * @range:	RULE_RANGE
 * @ports:	@n_ports ranges; none: any port
 * @protos:	Bits, 1 << enum net_proto
 * @private:	RULE_NAME: also where it leads to a private address
 * @injects:	RULE_INTERCEPT
 * @handler:	RULE_INTERCEPT: path of a Unix socket; NULL: none
 */
struct rule {
	enum rule_act act;
	enum rule_kind kind;
	char *name;
	struct addr_range range;
	struct rule_ports *ports;
	size_t n_ports;
	unsigned int protos;
	bool private;
	struct injects injects;
	char *handler;
};

struct policy {
	unsigned int refs; /* atomic */
	size_t n;
	struct rule rule[];
};

#define RULE_ALL_PROTOS (1u << NET_TCP | 1u << NET_UDP | 1u << NET_ICMP)

/** rule_parse() - Read one; @ret is for rule_done() even if it fails */
MUST_CHECK int rule_parse(json_t *j, struct rule *ret, struct err *e);

/** rule_done() - Free what is in it */
void rule_done(struct rule *r);

/** rule_covers() - Whether it is about such a protocol and port */
bool rule_covers(const struct rule *r, enum net_proto proto, uint16_t port);

/** rule_is_total() - Whether it is about every protocol and port */
bool rule_is_total(const struct rule *r);

/** rule_name_leads() - Whether a rule by name may lead to this address at all */
bool rule_name_leads(const struct rule *r, const struct pins *pins,
		     const struct net_addr *a);

/** rule_has_addr() - Whether a rule by range, or "internet", means the address */
bool rule_has_addr(const struct rule *r, const struct pins *pins,
		   const struct net_addr *a);

#endif
