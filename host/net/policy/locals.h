/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/locals.h - addresses that are the host itself, as ranges
 *
 * Kept in order and apart from each other (prefixes lie within one another or
 * apart), so that one of thousands is found in a few steps.
 */
#ifndef HUTCH_HOST_NET_POLICY_LOCALS_H
#define HUTCH_HOST_NET_POLICY_LOCALS_H

#include "host/net/policy/addr.h"

/* A node of a cluster has an address for each service: thousands. */
#define LOCALS_MAX 16384u

/** struct locals - A list; zeroed: empty. Fields are its own */
struct locals {
	struct addr_range *range;
	size_t n;
	size_t cap;
};

/**
 * locals_add() - One more address, or range of them
 * @bits:	0 to 128; what @a has behind them does not count
 *
 * Return: 0; -E2BIG: more than LOCALS_MAX; -ENOMEM. Nothing changed then: go on
 *         with no network rather than without some of them
 */
MUST_CHECK int locals_add(struct locals *l, const struct net_addr *a,
			  unsigned int bits);

/** locals_have() - Whether @a is in one of them */
bool locals_have(const struct locals *l, const struct net_addr *a);

/** locals_take() - @l becomes what @from was, and @from empty */
void locals_take(struct locals *l, struct locals *from);

/** locals_clear() - Empty it, and let go of its memory; idempotent */
void locals_clear(struct locals *l);

#endif
