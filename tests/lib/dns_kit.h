/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/dns_kit.h - messages of DNS as tests need them, right and wrong */
#ifndef HUTCH_TESTS_DNS_KIT_H
#define HUTCH_TESTS_DNS_KIT_H

#include "common/wr.h"
#include "host/net/policy/dns.h"

#define DNS_KIT_ID    0x1234u /* the guest's */
#define DNS_KIT_RD    0x0100u
#define DNS_KIT_NOW   1000u
#define DNS_KIT_A     1u
#define DNS_KIT_CNAME 5u
#define DNS_KIT_AAAA  28u

void dns_kit_u16(struct wr *w, unsigned int v);

/** dns_kit_name() - "a.b" as labels and a 0; "" is the root */
void dns_kit_name(struct wr *w, const char *name);

void dns_kit_head(struct wr *w, unsigned int id, unsigned int flags,
		  unsigned int n_question, unsigned int n_answer,
		  unsigned int n_additional);

void dns_kit_question(struct wr *w, const char *name, unsigned int type);

/** dns_kit_rr() - A record of class IN */
void dns_kit_rr(struct wr *w, const char *name, unsigned int type, uint32_t ttl,
		const void *data, size_t len);

/** dns_kit_cname() - A record whose data is a name, of any such type */
void dns_kit_cname(struct wr *w, const char *name, unsigned int type,
		   const char *to);

/** dns_kit_a() - An address, of either family as it is written */
void dns_kit_a(struct wr *w, const char *name, uint32_t ttl, const char *a);

/** dns_kit_opt() - EDNS: the guest takes @size bytes */
void dns_kit_opt(struct wr *w, unsigned int size, unsigned int version);

/* ---- Both ends ---- */

/** struct dns_kit - A guest with its policy and pins, and what came out */
struct dns_kit {
	struct policy *p;
	struct pins *pins;
	struct dns_env env;
	struct dns_query q;
	uint8_t *buf;
	struct dns_out out;
};

/* Of what came out: the code, and how many answers it has. */
#define DNS_KIT_CODE(w)  (dns_kit_at16((w), 2) & 15)
#define DNS_KIT_COUNT(w) dns_kit_at16((w), 6)

/** dns_kit_new() - With @rules, a policy in JSON */
struct dns_kit *dns_kit_new(const char *rules);

void dns_kit_free(struct dns_kit *w);

/** dns_kit_ask_raw() - The guest asks, with any message */
enum dns_act dns_kit_ask_raw(struct dns_kit *w, const void *msg, size_t len,
			     bool tcp);

/** dns_kit_ask() - The guest asks, by UDP and without EDNS */
enum dns_act dns_kit_ask(struct dns_kit *w, const char *name,
			 unsigned int type);

/** dns_kit_at16() - Two bytes of what came out */
unsigned int dns_kit_at16(const struct dns_kit *w, size_t at);

/** dns_kit_reply() - Begin what a resolver answers, with @n records to come */
struct wr dns_kit_reply(const struct dns_kit *w, uint8_t *b, size_t cap,
			unsigned int flags, unsigned int n);

/** dns_kit_give() - The resolver's answer comes in */
enum dns_act dns_kit_give(struct dns_kit *w, const struct wr *m);

/** dns_kit_pinned() - Whether the address may now be used by that name */
bool dns_kit_pinned(const struct dns_kit *w, const char *name, const char *a);

#endif
