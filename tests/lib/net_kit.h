/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/net_kit.h - policies and addresses as tests write them */
#ifndef HUTCH_TESTS_NET_KIT_H
#define HUTCH_TESTS_NET_KIT_H

#include "host/net/policy/policy.h"

/** net_kit_parse() - policy_parse() of a copy of exact size */
int net_kit_parse(const char *json, struct policy **ret, struct err *e);

/** net_kit_policy() - The policy of these rules, with commas between them */
struct policy *net_kit_policy(const char *rules);

/** net_kit_addr() - The address that is so written */
struct net_addr net_kit_addr(const char *s);

#endif
