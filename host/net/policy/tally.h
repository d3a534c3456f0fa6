/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/tally.h - how often each rule of a policy decided */
#ifndef HUTCH_HOST_NET_POLICY_TALLY_H
#define HUTCH_HOST_NET_POLICY_TALLY_H

#include "host/net/policy/policy.h"

struct tally;

/** tally_new() - All 0; of one policy. Return: NULL: no memory */
struct tally *tally_new(const struct policy *p);

/** tally_free() - NULL is fine */
void tally_free(struct tally *t);

/** tally_add() - Count what was decided of @p's; JUDGE_LOOK counts nothing */
void tally_add(struct tally *t, const struct verdict *v);

/** tally_get() - How often rule @rule decided; -1: no rule did */
uint64_t tally_get(const struct tally *t, int rule);

/**
 * tally_json() - [{"rule":1,"text":"allow internet","count":7},...], and last,
 *		  with "rule":null, what no rule matched
 *
 * Return: the caller's; NULL: no memory
 */
struct json_t *tally_json(const struct tally *t, const struct policy *p);

#endif
