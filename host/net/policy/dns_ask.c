/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/dns_ask.c - questions: the guest's, and ours; see dns.h */
#include <errno.h>
#include <string.h>

#include "host/net/policy/dnsmsg.h"
#include "host/net/policy/own.h"

#define ROOM_MIN          512u /* RFC 1035, 4.2.1: who says nothing takes this much */
#define EXTRAS            4u /* additional records of a question: OPT, and TSIG */
#define OPT_VERSION_SHIFT 16

/* RFC 8914 */
#define EDE_PROHIBITED 18u

/*
 * By then it may be that a resolver bears no capitals, or no EDNS. No sooner, as
 * forgers would like it; and musl's programs have waited for four seconds of five.
 */
#define PLAIN_TRY 2

static enum dns_act answer(const struct dns_query *q, struct dns_out *out,
			   unsigned int rcode, unsigned int info)
{
	struct wr wr = dnsmsg_begin(q, out, rcode);

	return dnsmsg_end(q, out, &wr, 0, info);
}

/* No such name, and why for the event. */
static enum dns_act denied(const struct dns_query *q, struct dns_out *out,
			   const char *why)
{
	out->denied = why;
	return answer(q, out, DNS_NXDOMAIN, EDE_PROHIBITED);
}

/* ---- The guest's message ---- */

/* The question, at *at, which is moved behind it. It has no pointer. */
static int read_question(const uint8_t *msg, size_t len, size_t *at,
			 struct dns_query *q, struct dnsmsg_name *ret)
{
	size_t begin = *at, end;
	struct rd rd;
	uint16_t type, class;

	if (dnsmsg_name(msg, len, begin, ret, &end) < 0 ||
	    end - begin != ret->len)
		return -EBADMSG;
	rd = rd_init(msg + end, len - end);
	type = dnsmsg_u16(&rd);
	class = dnsmsg_u16(&rd);
	if (rd.bad)
		return -EBADMSG;
	*at = end + 4;
	q->type = type;
	q->q_len = (uint16_t)(*at - begin);
	memcpy(q->guest_q, msg + begin, q->q_len);
	return class == DNS_CLASS_IN ? 0 : -ENOTSUP;
}

static int read_opt(const uint8_t *msg, const struct dnsmsg_rr *rr,
		    struct dns_query *q)
{
	if (rr->type != DNS_OPT)
		return 0;
	/* RFC 6891, 6.1: its name is the root, and there is one. */
	if (q->edns || msg[rr->name] != 0)
		return -EBADMSG;
	q->edns = true;
	q->bad_edns = rr->ttl >> OPT_VERSION_SHIFT & 0xff;
	if (!q->tcp)
		q->room = (uint16_t)MIN(MAX(rr->class, ROOM_MIN), DNS_UDP_MAX);
	return 0;
}

/* What stands behind the question: OPT, and nothing of use. */
static int read_extras(const uint8_t *msg, size_t len, size_t at,
		       unsigned int n, struct dns_query *q)
{
	struct dnsmsg_rr rr;

	if (n > EXTRAS)
		return -EBADMSG;
	for (unsigned int i = 0; i < n; i++)
		if (dnsmsg_rr(msg, len, &at, &rr) < 0 ||
		    read_opt(msg, &rr, q) < 0)
			return -EBADMSG;
	return at == len ? 0 : -EBADMSG;
}

/* ---- The name of an address ---- */

/* "4.3.2.1.in-addr.arpa" and "...ip6.arpa": the whole of one, or nothing. */
static bool read_arpa(const char *name, struct net_addr *ret)
{
	uint8_t v4[4] = { 0 };
	unsigned int n = 0;
	char *end;

	for (; n < 4 && *name >= '0' && *name <= '9'; n++) {
		unsigned long v = strtoul(name, &end, 10);

		if (v > 255 || *end != '.')
			return false;
		v4[3 - n] = (uint8_t)v;
		name = end + 1;
	}
	*ret = addr_v4(v4);
	return n == 4 && strcmp(name, "in-addr.arpa") == 0;
}

static bool read_arpa6(const char *name, struct net_addr *ret)
{
	static const char digits[] = "0123456789abcdef";
	struct net_addr a = { { 0 } };

	for (unsigned int i = 0; i < 32; i++, name += 2) {
		const char *d = *name ? strchr(digits, *name) : NULL;

		if (!d || name[1] != '.')
			return false;
		a.b[15 - i / 2] |= (uint8_t)((d - digits) << (i % 2 * 4));
	}
	*ret = a;
	return strcmp(name, "ip6.arpa") == 0;
}

/* Who is in a network that is not public is nobody's business in there. */
static bool is_inside(const char *name)
{
	struct net_addr a;

	return (read_arpa(name, &a) || read_arpa6(name, &a)) &&
	       addr_special(&a);
}

/* ---- What is for nobody that no rule names ---- */

static bool is_below_arpa(const char *name)
{
	return name_matches("*.in-addr.arpa", name) ||
	       name_matches("*.ip6.arpa", name);
}

/* A zone that names addresses: what is not the name of one may be many. */
static bool is_zone(const char *name)
{
	struct net_addr a;

	return is_below_arpa(name) && !read_arpa(name, &a) &&
	       !read_arpa6(name, &a);
}

/* What programs ask for. Others say how a zone is made, which may be an inner one. */
static bool is_usual(unsigned int type)
{
	static const uint16_t usual[] = {
		DNS_A,   DNS_CNAME, DNS_PTR,   DNS_MX,   DNS_TXT, DNS_AAAA,
		DNS_SRV, DNS_NAPTR, DNS_SSHFP, DNS_TLSA, DNS_CAA,
	};

	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (type == usual[i])
			return true;
	return false;
}

/* ---- Our message ---- */

/*
 * A forger has to guess the capitals too: servers give back the question as it
 * was asked (draft-vixie-dnsext-dns0x20).
 */
static void random_case(struct dns_query *q, const uint8_t *rnd)
{
	size_t end = q->q_len - 4u;

	memcpy(q->our_q, q->guest_q, q->q_len);
	for (size_t at = 0; at < end && q->our_q[at];) {
		size_t c = q->our_q[at++];

		for (; c > 0; c--, at++) {
			unsigned int b = q->our_q[at] | 0x20u;

			if (b < 'a' || b > 'z')
				continue;
			if (q->tries < PLAIN_TRY &&
			    rnd[at / 8 % 32] >> at % 8 & 1)
				b &= ~0x20u;
			q->our_q[at] = (uint8_t)b;
		}
	}
}

enum dns_act dns_again(struct dns_query *q, const uint8_t *rnd,
		       struct dns_out *out)
{
	bool edns = q->tries < PLAIN_TRY && !q->bare;
	struct wr wr = wr_init(out->buf, out->cap);
	struct dnsmsg_head h = { .flags = DNS_RD, .n_question = 1 };

	q->id = (uint16_t)(rnd[0] << 8 | rnd[1]);
	random_case(q, rnd + 2);
	if (q->tries < UINT8_MAX)
		q->tries++;
	h.id = q->id;
	h.n_additional = edns;
	dnsmsg_put_head(&wr, &h);
	wr_bytes(&wr, q->our_q, q->q_len);
	if (edns) {
		wr_u8(&wr, 0);
		dnsmsg_put_u16(&wr, DNS_OPT);
		dnsmsg_put_u16(&wr, DNSMSG_OPT_SIZE);
		dnsmsg_put_u32(&wr, 0);
		dnsmsg_put_u16(&wr, 0);
	}
	bug_on(wr.bad);
	out->len = wr.len;
	out->denied = NULL;
	out->rule = -1;
	return DNS_ASK;
}

enum dns_act dns_fail(const struct dns_query *q, struct dns_out *out)
{
	out->denied = NULL;
	out->rule = -1;
	return answer(q, out, DNS_SERVFAIL, 0);
}

/* ---- What becomes of a question ---- */

/* Whose rule has a handler: no resolver is to hear of it. */
static enum dns_act answer_own(const struct dns_env *env, struct dns_query *q,
			       struct dns_out *out)
{
	bool v6 = q->type == DNS_AAAA;
	struct net_addr a;
	struct wr wr;

	if (q->type != DNS_A && !v6)
		return answer(q, out, DNS_NOERROR, 0);
	if (pins_own(env->pins, q->name, v6, env->now_ms, &a) < 0)
		return dns_fail(q, out);
	wr = dnsmsg_begin(q, out, DNS_NOERROR);
	dnsmsg_put_rr_head(&wr, q->type, OWN_TTL_S);
	dnsmsg_put_u16(&wr, v6 ? 16 : 4);
	wr_bytes(&wr, v6 ? a.b : a.b + 12, v6 ? 16 : 4);
	return dnsmsg_end(q, out, &wr, 1, 0);
}

static enum dns_act judge(const struct dns_env *env,
			  const struct dnsmsg_name *name, struct dns_query *q,
			  struct dns_out *out)
{
	bool named;

	if (dnsmsg_text(name, q->name) < 0)
		return denied(q, out, "it is no host name");
	if (!policy_may_resolve(env->policy, q->name, &out->rule))
		return denied(q, out,
			      out->rule < 0 ? "no rule allows the name"
					    : "a rule denies the name");
	if (policy_handler(env->policy, out->rule))
		return answer_own(env, q, out);
	/* That rule allows the name: what follows is none of its. */
	out->rule = -1;
	if (is_inside(q->name))
		return denied(q, out, "the address is not public");
	named = policy_names(env->policy, q->name);
	if (!named && (name_is_inside(q->name) || is_zone(q->name)))
		return denied(q, out,
			      "it is a name of the host's own networks, and no "
			      "rule has it");
	if (q->type == DNS_SVCB || q->type == DNS_HTTPS)
		return answer(q, out, DNS_NOERROR, 0);
	if (q->type == 0 || q->type == DNS_OPT ||
	    (q->type >= DNS_META_FIRST && q->type <= DNS_META_LAST))
		return answer(q, out, DNS_NOTIMP, 0);
	if (!named && !is_usual(q->type))
		return answer(q, out, DNS_NOERROR, EDE_PROHIBITED);
	return dns_again(q, env->rnd, out);
}

enum dns_act dns_ask(const struct dns_env *env, const void *msg, size_t len,
		     bool tcp, struct dns_query *ret, struct dns_out *out)
{
	struct dns_query q = { .tcp = tcp,
			       .room = tcp ? (uint16_t)DNS_MSG_MAX : ROOM_MIN };
	struct rd rd = rd_init(msg, len);
	struct dnsmsg_head h;
	struct dnsmsg_name name;
	enum dns_act act;
	size_t at = DNSMSG_HEAD;
	int r = -EBADMSG;

	out->len = 0;
	out->denied = NULL;
	out->rule = -1;
	dnsmsg_head(&rd, &h);
	if (rd.bad || len > DNS_MSG_MAX || h.flags & DNS_QR)
		return DNS_DROP;
	q.guest_id = h.id;
	q.rd = h.flags & DNS_RD;
	if (h.flags & DNS_OPCODE)
		return answer(&q, out, DNS_NOTIMP, 0);
	if (h.n_question == 1 && h.n_answer == 0 && h.n_authority == 0 &&
	    !(h.flags & (DNS_TC | DNS_AA | DNS_RCODE)))
		r = read_question(msg, len, &at, &q, &name);
	if (r == -EBADMSG ||
	    read_extras(msg, len, at, h.n_additional, &q) < 0) {
		q.q_len = 0;
		q.edns = false;
		return answer(&q, out, DNS_FORMERR, 0);
	}
	if (q.bad_edns)
		return answer(&q, out, DNS_NOERROR, 0);
	if (r < 0)
		return answer(&q, out, DNS_NOTIMP, 0);
	act = judge(env, &name, &q, out);
	*ret = q;
	return act;
}
