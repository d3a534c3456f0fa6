/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/dns_reply.c - what a resolver answers, see dns.h */
#include <errno.h>
#include <string.h>

#include "host/net/policy/dnsmsg.h"

/* RFC 8914 */
#define EDE_FILTERED   17u
#define EDE_PROHIBITED 18u

/* An answer that is being read, and the guest's that is being written. */
struct reply {
	const struct dns_env *env;
	const struct dns_query *q;
	const uint8_t *msg;
	size_t len;
	struct dns_out *out;

	size_t n;
	uint32_t ttl_s; /* the least of the chain's */
	struct dnsmsg_rr rr[DNS_RECORDS_MAX];
};

static int read_records(struct reply *re, size_t at, unsigned int n)
{
	if (n > DNS_RECORDS_MAX)
		return -EBADMSG;
	for (; re->n < n; re->n++)
		if (dnsmsg_rr(re->msg, re->len, &at, &re->rr[re->n]) < 0)
			return -EBADMSG;
	return 0;
}

static void name_at(const struct reply *re, size_t at, struct dnsmsg_name *ret)
{
	/* It was read once, with the records. */
	bug_on(dnsmsg_name(re->msg, re->len, at, ret, NULL) < 0);
}

static bool is_of(const struct reply *re, const struct dnsmsg_rr *rr,
		  unsigned int type, const struct dnsmsg_name *owner)
{
	struct dnsmsg_name name;

	if (rr->type != type || rr->class != DNS_CLASS_IN)
		return false;
	name_at(re, rr->name, &name);
	return dnsmsg_name_eq(&name, owner);
}

/* RFC 2181, 8: with the first bit set it is 0. */
static uint32_t ttl_of(const struct dnsmsg_rr *rr)
{
	return rr->ttl > INT32_MAX ? 0 : MIN(rr->ttl, PINS_TTL_MAX_S);
}

/* The name in a record's data, which is all that is there behind @skip bytes. */
static int name_in(const struct reply *re, const struct dnsmsg_rr *rr,
		   size_t skip, size_t after, struct dnsmsg_name *ret)
{
	size_t end, stop = (size_t)rr->data + rr->len;

	if (skip > rr->len ||
	    dnsmsg_name(re->msg, stop, rr->data + skip, ret, &end) < 0)
		return -EBADMSG;
	return end <= stop && stop - end == after ? 0 : -EBADMSG;
}

/* ---- The chain ---- */

/*
 * Follow CNAMEs from @name, which becomes the name that has the records. Names
 * on the way need not be allowed, and must not be denied.
 *
 * Return: 0; -EPERM: denied; -EBADMSG: no chain
 */
static int follow(struct reply *re, struct dnsmsg_name *name)
{
	char text[NAME_CAP];
	size_t i, steps = 0;

	for (i = 0; i < re->n; i++) {
		const struct dnsmsg_rr *rr = &re->rr[i];

		if (!is_of(re, rr, DNS_CNAME, name))
			continue;
		if (++steps > DNS_CHAIN_MAX || name_in(re, rr, 0, 0, name) < 0)
			return -EBADMSG;
		if (dnsmsg_text(name, text) < 0 ||
		    policy_denies_name(re->env->policy, text, &re->out->rule))
			return -EPERM;
		re->ttl_s = MIN(re->ttl_s, ttl_of(rr));
		i = (size_t)-1;
	}
	return 0;
}

/* ---- Records ---- */

static void put_rr_head(const struct reply *re, struct wr *wr,
			const struct dnsmsg_rr *rr)
{
	dnsmsg_put_rr_head(wr, rr->type, MIN(re->ttl_s, ttl_of(rr)));
}

/* Return: 1; 0: the guest must not know; -EBADMSG, -ENOMEM. */
static int put_address(struct reply *re, struct wr *wr,
		       const struct dnsmsg_rr *rr)
{
	const uint8_t *data = re->msg + rr->data;
	struct net_addr a;
	const char *why;

	if (rr->len != (rr->type == DNS_A ? 4 : 16))
		return -EBADMSG;
	if (rr->type == DNS_A)
		a = addr_v4(data);
	else
		memcpy(a.b, data, sizeof(a.b));
	/* A record of IPv6 that is an address of IPv4 is a trick. */
	if (rr->type == DNS_AAAA && addr_is_v4(&a)) {
		re->out->denied = "it is an IPv4 address in an IPv6 record";
		return 0;
	}
	if (!policy_may_answer(re->env->policy, re->env->pins, re->q->name, &a,
			       &why)) {
		re->out->denied = why;
		return 0;
	}
	if (pins_add(re->env->pins, re->q->name, &a, MIN(re->ttl_s, ttl_of(rr)),
		     re->env->now_ms) < 0)
		return -ENOMEM;
	put_rr_head(re, wr, rr);
	dnsmsg_put_u16(wr, rr->len);
	wr_bytes(wr, data, rr->len);
	return 1;
}

/* Those with a name in their data that may be compressed (RFC 3597, 4). */
static size_t name_offset(unsigned int type)
{
	switch (type) {
	case DNS_NS:
	case DNS_CNAME:
	case DNS_PTR:
		return 0;
	case DNS_MX:
		return 2;
	case DNS_SRV:
		return 6;
	default:
		return SIZE_MAX;
	}
}

static int put_named(const struct reply *re, struct wr *wr,
		     const struct dnsmsg_rr *rr, size_t skip)
{
	struct dnsmsg_name name;

	if (name_in(re, rr, skip, 0, &name) < 0)
		return -EBADMSG;
	put_rr_head(re, wr, rr);
	dnsmsg_put_u16(wr, (unsigned int)skip + name.len);
	wr_bytes(wr, re->msg + rr->data, skip);
	wr_bytes(wr, name.b, name.len);
	return 1;
}

static int put_soa(const struct reply *re, struct wr *wr,
		   const struct dnsmsg_rr *rr)
{
	const size_t numbers = 20;
	struct dnsmsg_name m, r;
	size_t at, stop = (size_t)rr->data + rr->len;

	if (dnsmsg_name(re->msg, stop, rr->data, &m, &at) < 0 || at > stop ||
	    name_in(re, rr, at - rr->data, numbers, &r) < 0)
		return -EBADMSG;
	put_rr_head(re, wr, rr);
	dnsmsg_put_u16(wr, (unsigned int)(m.len + r.len + numbers));
	wr_bytes(wr, m.b, m.len);
	wr_bytes(wr, r.b, r.len);
	wr_bytes(wr, re->msg + stop - numbers, numbers);
	return 1;
}

static int put_rr(struct reply *re, struct wr *wr, const struct dnsmsg_rr *rr)
{
	size_t skip = name_offset(rr->type);

	if (rr->type == DNS_A || rr->type == DNS_AAAA)
		return put_address(re, wr, rr);
	if (rr->type == DNS_SOA)
		return put_soa(re, wr, rr);
	if (skip != SIZE_MAX)
		return put_named(re, wr, rr, skip);
	put_rr_head(re, wr, rr);
	dnsmsg_put_u16(wr, rr->len);
	wr_bytes(wr, re->msg + rr->data, rr->len);
	return 1;
}

static enum dns_act give(struct reply *re, const struct dnsmsg_name *owner)
{
	struct wr wr = dnsmsg_begin(re->q, re->out, DNS_NOERROR);
	unsigned int n = 0;

	for (size_t i = 0; i < re->n; i++) {
		int r = 0;

		if (is_of(re, &re->rr[i], re->q->type, owner))
			r = put_rr(re, &wr, &re->rr[i]);
		if (r == -ENOMEM)
			return dns_fail(re->q, re->out);
		if (r < 0)
			return DNS_NEXT;
		n += (unsigned int)r;
	}
	/* Some of its addresses are enough: then nothing was denied. */
	if (n)
		re->out->denied = NULL;
	return dnsmsg_end(re->q, re->out, &wr, n,
			  re->out->denied ? EDE_FILTERED : 0);
}

static enum dns_act empty(const struct dns_query *q, struct dns_out *out,
			  unsigned int flags, unsigned int info)
{
	struct wr wr = dnsmsg_begin(q, out, flags);

	return dnsmsg_end(q, out, &wr, 0, info);
}

static enum dns_act understand(struct reply *re, size_t at, unsigned int n)
{
	struct dnsmsg_name owner;
	int r = 0;

	if (read_records(re, at, n) < 0)
		return DNS_NEXT;
	name_at(re, DNSMSG_HEAD, &owner);
	if (re->q->type != DNS_CNAME)
		r = follow(re, &owner);
	if (r == -EPERM) {
		re->out->denied = "its CNAME leads to a name that is denied";
		return empty(re->q, re->out, DNS_NXDOMAIN, EDE_PROHIBITED);
	}
	return r < 0 ? DNS_NEXT : give(re, &owner);
}

/* RFC 6891, 7: what those say who know no EDNS. */
static enum dns_act refused(struct dns_query *q, unsigned int rcode)
{
	if (q->bare || (rcode != DNS_FORMERR && rcode != DNS_NOTIMP))
		return DNS_NEXT;
	q->bare = true;
	return DNS_SAME;
}

enum dns_act dns_reply(const struct dns_env *env, struct dns_query *q,
		       const void *msg, size_t len, struct dns_out *out)
{
	struct reply re = { .env = env,
			    .q = q,
			    .msg = msg,
			    .len = len,
			    .out = out,
			    .ttl_s = PINS_TTL_MAX_S };
	struct rd rd = rd_init(msg, len);
	struct dnsmsg_head h;
	const void *question;
	unsigned int rcode;

	out->len = 0;
	out->denied = NULL;
	out->rule = -1;
	dnsmsg_head(&rd, &h);
	if (rd.bad || len > DNS_MSG_MAX || h.id != q->id ||
	    (h.flags & (DNS_QR | DNS_OPCODE)) != DNS_QR)
		return DNS_DROP;
	rcode = h.flags & DNS_RCODE;
	/* Who knows no EDNS may answer with twelve bytes. */
	if (h.n_question == 0 && rcode != DNS_NOERROR && rcode != DNS_NXDOMAIN)
		return refused(q, rcode);
	question = rd_bytes(&rd, q->q_len);
	if (h.n_question != 1 || !question ||
	    memcmp(question, q->our_q, q->q_len) != 0)
		return DNS_DROP;
	if (rcode == DNS_NXDOMAIN)
		return empty(q, out, DNS_NXDOMAIN, 0);
	if (rcode != DNS_NOERROR)
		return refused(q, rcode);
	if (h.flags & DNS_TC && q->tcp)
		return DNS_NEXT;
	if (h.flags & DNS_TC)
		return empty(q, out, DNS_TC, 0);
	return understand(&re, DNSMSG_HEAD + q->q_len, h.n_answer);
}
