/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/own.h - addresses that mean a handler, in this VM alone
 *
 * A name that a handler answers for has no server, so nobody is asked for its
 * address: it gets one of these, which lead nowhere but to a handler. There is
 * one of each family for each index.
 */
#ifndef HUTCH_HOST_NET_POLICY_OWN_H
#define HUTCH_HOST_NET_POLICY_OWN_H

#include <stdbool.h>

#include "host/net/policy/addr.h"

#define OWN_MAX   65536u /* indexes: 198.19.0.0/16 */
#define OWN_TTL_S 60u /* of the record: soon asked for again under new rules */

/** own_addr() - 198.19.0.0 + @i, or fd00:6875:7463:6801:: + @i; @i < OWN_MAX */
struct net_addr own_addr(unsigned int i, bool v6);

/** own_index() - Which one @a is. Return: its index, or -1: none */
int own_index(const struct net_addr *a);

#endif
