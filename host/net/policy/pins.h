/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/pins.h - which names a VM's resolver gave for which address
 *
 * A pin is made when the guest is told an address, and lasts as long as it may
 * use it: the record's time to live, within bounds, and a little longer, for a
 * connection that was under way when it ended. The table is bounded; when it is
 * full the pin that ends first goes, and a connection by it is then denied.
 */
#ifndef HUTCH_HOST_NET_POLICY_PINS_H
#define HUTCH_HOST_NET_POLICY_PINS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "host/net/policy/locals.h"

#define PINS_MAX       4096u /* in all */
#define PINS_ADDR_MAX  32u   /* names of one address */
#define PINS_TTL_MIN_S 300u  /* programs keep addresses longer than told */
#define PINS_TTL_MAX_S 3600u
#define PINS_GRACE_S   30u

struct pins;

/** pins_new() - Return: an empty table for pins_free(); NULL: no memory */
struct pins *pins_new(void);

/** pins_free() - NULL is fine */
void pins_free(struct pins *p);

/**
 * pins_take_local() - Tell what is the host itself
 * @l:		Instead of what was told before; empty afterwards
 *
 * "internet" means none of it, though it be public: a connection there would
 * reach what listens on the host, from inside. To be called again when the
 * host's addresses change.
 */
void pins_take_local(struct pins *p, struct locals *l);

/**
 * pins_set_local() - The same, of single addresses, @n at @a
 *
 * Return: false: more than LOCALS_MAX, or no memory; nothing changed
 */
MUST_CHECK bool pins_set_local(struct pins *p, const struct net_addr *a,
			       size_t n);

/** pins_is_local() - Whether @a is an address of the host */
bool pins_is_local(const struct pins *p, const struct net_addr *a);

/**
 * pins_add() - The guest is being told that @name has address @a
 * @name:	Normal (name.h); copied
 * @ttl_s:	As the record says
 * @now_ms:	Of a clock that never goes back
 *
 * Return: 0; -ENOMEM: the guest must not be told
 */
MUST_CHECK int pins_add(struct pins *p, const char *name,
			const struct net_addr *a, uint32_t ttl_s,
			uint64_t now_ms);

/** pins_has() - Whether @name was given for @a and still holds */
bool pins_has(const struct pins *p, const char *name, const struct net_addr *a,
	      uint64_t now_ms);

/**
 * pins_own() - An address of the VM's own for a name, and a pin on it
 * @name:	Normal; it has the same index each time, as long as a pin is there
 * @ret:	Of the family that is asked for (own.h)
 *
 * Return: 0; -ENOMEM: the guest must not be told
 */
MUST_CHECK int pins_own(struct pins *p, const char *name, bool v6,
			uint64_t now_ms, struct net_addr *ret);

/**
 * pins_next() - Go through the names of an address
 * @at:		0 at first; moved on
 *
 * Return: a name, good until the next pins_add(); NULL: no more
 */
const char *pins_next(const struct pins *p, const struct net_addr *a,
		      uint64_t now_ms, size_t *at);

#endif
