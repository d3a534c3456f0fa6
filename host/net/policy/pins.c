/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/pins.c - see pins.h
 *
 * A hash table by address, of fixed size, with chains of indexes. Which pin ends
 * first is found by looking at all of them, once the table is full: then a
 * question that had to go out to a resolver costs some microseconds more.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "host/net/policy/name.h"
#include "host/net/policy/own.h"
#include "host/net/policy/pins.h"

#define BUCKETS 1024u
#define NONE    UINT16_MAX

struct pin {
	struct net_addr addr;
	uint64_t until_ms;
	char *name; /* NULL: the slot is free */
	uint16_t next;
};

struct pins {
	uint64_t seed;
	uint16_t bucket[BUCKETS];
	struct pin pin[PINS_MAX];
	size_t n_used;         /* slots that were ever used */
	unsigned int own_next; /* index that is looked at next */
	struct locals local;
};

_Static_assert(2 * PINS_MAX < OWN_MAX, "an index is always free");
_Static_assert(PINS_MAX < NONE, "an index fits, and so does no index");

struct pins *pins_new(void)
{
	struct pins *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	for (size_t i = 0; i < BUCKETS; i++)
		p->bucket[i] = NONE;
	/* Unseeded, only the bound on the names of an address is weaker. */
	if (getrandom(&p->seed, sizeof(p->seed), GRND_NONBLOCK) < 0)
		p->seed = 0;
	return p;
}

void pins_free(struct pins *p)
{
	for (size_t i = 0; p && i < p->n_used; i++)
		free(p->pin[i].name);
	if (p)
		locals_clear(&p->local);
	free(p);
}

/* ---- The host's own ---- */

void pins_take_local(struct pins *p, struct locals *l)
{
	locals_take(&p->local, l);
}

bool pins_set_local(struct pins *p, const struct net_addr *a, size_t n)
{
	struct locals l = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (locals_add(&l, &a[i], 128) < 0) {
			locals_clear(&l);
			return false;
		}
	}
	pins_take_local(p, &l);
	return true;
}

bool pins_is_local(const struct pins *p, const struct net_addr *a)
{
	struct net_addr in;

	if (locals_have(&p->local, a))
		return true;
	for (unsigned int i = 0; addr_embedded(a, i, &in); i++)
		if (locals_have(&p->local, &in))
			return true;
	return false;
}

/* ---- The table ---- */

static size_t bucket_of(const struct pins *p, const struct net_addr *a)
{
	uint64_t h = p->seed, w;

	for (size_t i = 0; i < sizeof(a->b); i += sizeof(w)) {
		memcpy(&w, a->b + i, sizeof(w));
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	return h % BUCKETS;
}

static void drop(struct pins *p, uint16_t i)
{
	uint16_t *at = &p->bucket[bucket_of(p, &p->pin[i].addr)];

	while (*at != i)
		at = &p->pin[*at].next;
	*at = p->pin[i].next;
	free(p->pin[i].name);
	p->pin[i].name = NULL;
}

/* The one of the address, or of all, that ends first. */
static uint16_t first_to_end(const struct pins *p, const struct net_addr *a)
{
	uint16_t found = NONE;

	for (uint16_t i = 0; i < p->n_used; i++) {
		const struct pin *pin = &p->pin[i];

		if (!pin->name || (a && !addr_eq(&pin->addr, a)))
			continue;
		if (found == NONE || pin->until_ms < p->pin[found].until_ms)
			found = i;
	}
	return found;
}

/* A slot for one more pin of @a, at the cost of another if need be. */
static uint16_t slot_for(struct pins *p, const struct net_addr *a)
{
	uint16_t i = p->bucket[bucket_of(p, a)];
	size_t n = 0;

	for (; i != NONE; i = p->pin[i].next)
		n += addr_eq(&p->pin[i].addr, a);
	if (n < PINS_ADDR_MAX && p->n_used < PINS_MAX)
		return (uint16_t)p->n_used++;
	i = first_to_end(p, n < PINS_ADDR_MAX ? NULL : a);
	drop(p, i);
	return i;
}

/* Return: its index, or NONE. */
static uint16_t find(const struct pins *p, const char *name,
		     const struct net_addr *a)
{
	uint16_t i = p->bucket[bucket_of(p, a)];

	for (; i != NONE; i = p->pin[i].next)
		if (addr_eq(&p->pin[i].addr, a) &&
		    strcmp(p->pin[i].name, name) == 0)
			break;
	return i;
}

int pins_add(struct pins *p, const char *name, const struct net_addr *a,
	     uint32_t ttl_s, uint64_t now_ms)
{
	uint64_t s = MIN(MAX(ttl_s, PINS_TTL_MIN_S), PINS_TTL_MAX_S);
	uint64_t until = now_ms + (s + PINS_GRACE_S) * 1000;
	uint16_t i = find(p, name, a);
	uint16_t *first;
	char *copy;

	if (i != NONE) {
		p->pin[i].until_ms = MAX(p->pin[i].until_ms, until);
		return 0;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	i = slot_for(p, a);
	first = &p->bucket[bucket_of(p, a)];
	p->pin[i] = (struct pin){
		.addr = *a, .until_ms = until, .name = copy, .next = *first
	};
	*first = i;
	return 0;
}

/* ---- Addresses of the VM's own ---- */

static bool is_taken(const struct pins *p, unsigned int own, bool v6)
{
	const struct net_addr a = own_addr(own, v6);
	uint16_t i = p->bucket[bucket_of(p, &a)];

	while (i != NONE && !addr_eq(&p->pin[i].addr, &a))
		i = p->pin[i].next;
	return i != NONE;
}

/* The one that the name has already, of either family, or one that is free. */
static unsigned int own_of(struct pins *p, const char *name)
{
	for (size_t i = 0; i < p->n_used; i++) {
		const struct pin *pin = &p->pin[i];
		int own = pin->name ? own_index(&pin->addr) : -1;

		if (own >= 0 && strcmp(pin->name, name) == 0)
			return (unsigned int)own;
	}
	/* (0 is left out: programs take the first of a network for no host.) */
	do
		p->own_next = p->own_next + 1 < OWN_MAX ? p->own_next + 1 : 1;
	while (is_taken(p, p->own_next, false) ||
	       is_taken(p, p->own_next, true));
	return p->own_next;
}

int pins_own(struct pins *p, const char *name, bool v6, uint64_t now_ms,
	     struct net_addr *ret)
{
	const struct net_addr a = own_addr(own_of(p, name), v6);
	int r = pins_add(p, name, &a, PINS_TTL_MAX_S, now_ms);

	if (r == 0)
		*ret = a;
	return r;
}

bool pins_has(const struct pins *p, const char *name, const struct net_addr *a,
	      uint64_t now_ms)
{
	uint16_t i = find(p, name, a);

	return i != NONE && now_ms < p->pin[i].until_ms;
}

const char *pins_next(const struct pins *p, const struct net_addr *a,
		      uint64_t now_ms, size_t *at)
{
	uint16_t i = p->bucket[bucket_of(p, a)];
	size_t n = 0;

	for (; i != NONE; i = p->pin[i].next) {
		const struct pin *pin = &p->pin[i];

		if (!addr_eq(&pin->addr, a) || now_ms >= pin->until_ms ||
		    n++ < *at)
			continue;
		(*at)++;
		return pin->name;
	}
	return NULL;
}
