/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/guard.h - a guest's policy, and what goes with it, as net.h asks it
 *
 * When it does not know what it has to (the host's own addresses), it denies all.
 */
#ifndef HUTCH_HOST_NET_GUARD_H
#define HUTCH_HOST_NET_GUARD_H

#include "host/net/policy/dns.h"
#include "host/net/policy/pins.h"
#include "host/net/policy/policy.h"
#include "host/net/policy/tally.h"

/**
 * struct guard - Policy, pins and counters of a guest
 * @blind:	The host's addresses are not known
 */
struct guard {
	struct policy *policy;
	struct pins *pins;
	struct tally *tally;
	bool blind;
};

/**
 * guard_init() - Begin with a policy
 * @p:		The guard's from now on, if this succeeds
 *
 * Return: 0 or -ENOMEM
 */
MUST_CHECK int guard_init(struct guard *g, struct policy *p);

/** guard_done() - Zeroed is fine */
void guard_done(struct guard *g);

/** guard_replace() - Another policy, from now on; counters begin at 0 */
MUST_CHECK int guard_replace(struct guard *g, struct policy *p);

/** guard_local() - What the host is; @l is empty afterwards. NULL: unknown */
void guard_local(struct guard *g, struct locals *l);

/** guard_is_local() - Whether @a is the host itself, or may be */
bool guard_is_local(const struct guard *g, const struct net_addr *a);

/** guard_judge() - Judge, and count; a denial counts when it is told */
struct verdict guard_judge(struct guard *g, const struct attempt *a);

/** guard_denied() - Something was denied; @rule as of struct verdict */
void guard_denied(struct guard *g, int rule);

/** guard_dns_env() - For dns.h. @rnd: DNS_RND random bytes, or NULL */
struct dns_env guard_dns_env(struct guard *g, const uint8_t *rnd);

#endif
