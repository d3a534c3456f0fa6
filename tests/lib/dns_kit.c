/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/dns_kit.c - see dns_kit.h */
#include <arpa/inet.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/dns_kit.h"

static const uint8_t rnd[DNS_RND] = { 0xab, 0xcd, 0x55, 0x55, 0x55, 0x55 };

void dns_kit_u16(struct wr *w, unsigned int v)
{
	wr_u8(w, (uint8_t)(v >> 8));
	wr_u8(w, (uint8_t)v);
}

void dns_kit_name(struct wr *w, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		wr_u8(w, (uint8_t)n);
		wr_bytes(w, name, n);
		name += n + (name[n] == '.');
	}
	wr_u8(w, 0);
}

void dns_kit_head(struct wr *w, unsigned int id, unsigned int flags,
		  unsigned int n_question, unsigned int n_answer,
		  unsigned int n_additional)
{
	dns_kit_u16(w, id);
	dns_kit_u16(w, flags);
	dns_kit_u16(w, n_question);
	dns_kit_u16(w, n_answer);
	dns_kit_u16(w, 0);
	dns_kit_u16(w, n_additional);
}

void dns_kit_question(struct wr *w, const char *name, unsigned int type)
{
	dns_kit_name(w, name);
	dns_kit_u16(w, type);
	dns_kit_u16(w, 1);
}

void dns_kit_rr(struct wr *w, const char *name, unsigned int type, uint32_t ttl,
		const void *data, size_t len)
{
	dns_kit_question(w, name, type);
	dns_kit_u16(w, ttl >> 16);
	dns_kit_u16(w, ttl & 0xffff);
	dns_kit_u16(w, (unsigned int)len);
	wr_bytes(w, data, len);
}

void dns_kit_cname(struct wr *w, const char *name, unsigned int type,
		   const char *to)
{
	uint8_t buf[300];
	struct wr data = wr_init(buf, sizeof(buf));

	dns_kit_name(&data, to);
	dns_kit_rr(w, name, type, 60, buf, data.len);
}

void dns_kit_a(struct wr *w, const char *name, uint32_t ttl, const char *a)
{
	uint8_t b[16];

	if (inet_pton(AF_INET, a, b) == 1)
		dns_kit_rr(w, name, DNS_KIT_A, ttl, b, 4);
	else if (inet_pton(AF_INET6, a, b) == 1)
		dns_kit_rr(w, name, DNS_KIT_AAAA, ttl, b, 16);
	else
		base_bug(__FILE__, __LINE__, a);
}

void dns_kit_opt(struct wr *w, unsigned int size, unsigned int version)
{
	wr_u8(w, 0);
	dns_kit_u16(w, 41);
	dns_kit_u16(w, size);
	dns_kit_u16(w, version);
	dns_kit_u16(w, 0);
	dns_kit_u16(w, 0);
}

/* ---- Both ends ---- */

struct dns_kit *dns_kit_new(const char *rules)
{
	struct dns_kit *w = calloc(1, sizeof(*w));

	ck_assert_int_eq(policy_parse(rules, strlen(rules), &w->p, NULL), 0);
	w->pins = pins_new();
	w->env = (struct dns_env){ w->p, w->pins, DNS_KIT_NOW, rnd };
	w->buf = malloc(DNS_MSG_MAX);
	w->out = (struct dns_out){ .buf = w->buf, .cap = DNS_MSG_MAX };
	return w;
}

void dns_kit_free(struct dns_kit *w)
{
	policy_unref(w->p);
	pins_free(w->pins);
	free(w->buf);
	free(w);
}

enum dns_act dns_kit_ask_raw(struct dns_kit *w, const void *msg, size_t len,
			     bool tcp)
{
	void *copy = check_copy(msg, len);
	enum dns_act r = dns_ask(&w->env, copy, len, tcp, &w->q, &w->out);

	free(copy);
	return r;
}

enum dns_act dns_kit_ask(struct dns_kit *w, const char *name, unsigned int type)
{
	uint8_t b[400];
	struct wr m = wr_init(b, sizeof(b));

	dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 0);
	dns_kit_question(&m, name, type);
	ck_assert(!m.bad);
	return dns_kit_ask_raw(w, b, m.len, false);
}

unsigned int dns_kit_at16(const struct dns_kit *w, size_t at)
{
	ck_assert_uint_le(at + 2, w->out.len);
	return (unsigned int)w->buf[at] << 8 | w->buf[at + 1];
}

struct wr dns_kit_reply(const struct dns_kit *w, uint8_t *b, size_t cap,
			unsigned int flags, unsigned int n)
{
	struct wr m = wr_init(b, cap);

	dns_kit_head(&m, w->q.id, flags, 1, n, 0);
	wr_bytes(&m, w->q.our_q, w->q.q_len);
	return m;
}

enum dns_act dns_kit_give(struct dns_kit *w, const struct wr *m)
{
	void *copy = check_copy(m->buf, m->len);
	enum dns_act r;

	ck_assert(!m->bad);
	r = dns_reply(&w->env, &w->q, copy, m->len, &w->out);
	free(copy);
	return r;
}

bool dns_kit_pinned(const struct dns_kit *w, const char *name, const char *a)
{
	struct net_addr at;

	ck_assert_int_eq(addr_parse(a, &at), 0);
	return pins_has(w->pins, name, &at, DNS_KIT_NOW);
}
