/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/dnsmsg.c - see dnsmsg.h */
#include <errno.h>
#include <string.h>

#include "host/net/policy/dnsmsg.h"

#define POINTER     0xc0u
#define OPT_LEN     11u
#define OPT_ERROR   15u
#define EDE_LEN     6u
#define AT_FLAGS    2u
#define AT_N_ANSWER 6u

/* ---- Numbers ---- */

uint16_t dnsmsg_u16(struct rd *rd)
{
	const uint8_t *b = rd_bytes(rd, 2);

	return b ? (uint16_t)(b[0] << 8 | b[1]) : 0;
}

void dnsmsg_put_u16(struct wr *wr, unsigned int v)
{
	wr_u8(wr, (uint8_t)(v >> 8));
	wr_u8(wr, (uint8_t)v);
}

void dnsmsg_put_u32(struct wr *wr, uint32_t v)
{
	dnsmsg_put_u16(wr, v >> 16);
	dnsmsg_put_u16(wr, v & 0xffff);
}

void dnsmsg_head(struct rd *rd, struct dnsmsg_head *ret)
{
	ret->id = dnsmsg_u16(rd);
	ret->flags = dnsmsg_u16(rd);
	ret->n_question = dnsmsg_u16(rd);
	ret->n_answer = dnsmsg_u16(rd);
	ret->n_authority = dnsmsg_u16(rd);
	ret->n_additional = dnsmsg_u16(rd);
}

void dnsmsg_put_head(struct wr *wr, const struct dnsmsg_head *h)
{
	dnsmsg_put_u16(wr, h->id);
	dnsmsg_put_u16(wr, h->flags);
	dnsmsg_put_u16(wr, h->n_question);
	dnsmsg_put_u16(wr, h->n_answer);
	dnsmsg_put_u16(wr, h->n_authority);
	dnsmsg_put_u16(wr, h->n_additional);
}

#define AT_NAME 0xc00cu /* a pointer to the question's name */

void dnsmsg_put_rr_head(struct wr *wr, unsigned int type, uint32_t ttl_s)
{
	dnsmsg_put_u16(wr, AT_NAME);
	dnsmsg_put_u16(wr, type);
	dnsmsg_put_u16(wr, DNS_CLASS_IN);
	dnsmsg_put_u32(wr, ttl_s);
}

/* ---- Names ---- */

static int add_label(struct dnsmsg_name *n, const uint8_t *label, size_t len)
{
	if (len > DNSMSG_NAME_MAX - n->len)
		return -EBADMSG;
	memcpy(n->b + n->len, label, len);
	n->len = (uint16_t)(n->len + len);
	return 0;
}

int dnsmsg_name(const uint8_t *msg, size_t len, size_t at,
		struct dnsmsg_name *ret, size_t *ret_end)
{
	struct dnsmsg_name n = { .len = 0 };
	size_t begin = at, end = 0;

	for (;;) {
		size_t c, to;

		if (at >= len)
			return -EBADMSG;
		c = msg[at];
		if (c < POINTER) {
			/* 0x40 and 0x80 are no lengths: RFC 1035, 4.1.4. */
			if (c > NAME_LABEL_MAX || c >= len - at ||
			    add_label(&n, msg + at, c + 1) < 0)
				return -EBADMSG;
			at += c + 1;
			if (c == 0)
				break;
			continue;
		}
		if (len - at < 2)
			return -EBADMSG;
		to = (c & ~POINTER) << 8 | msg[at + 1];
		if (to >= begin)
			return -EBADMSG;
		end = end ? end : at + 2;
		begin = at = to;
	}
	*ret = n;
	if (ret_end)
		*ret_end = end ? end : at;
	return 0;
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 'a' - 'A') : c;
}

/* (Lengths are below 'A', so they need no care.) */
bool dnsmsg_name_eq(const struct dnsmsg_name *a, const struct dnsmsg_name *b)
{
	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++)
		if (lower(a->b[i]) != lower(b->b[i]))
			return false;
	return true;
}

int dnsmsg_text(const struct dnsmsg_name *n, char ret[NAME_CAP])
{
	char text[DNSMSG_NAME_MAX];
	size_t at = 0, len = 0;

	while (n->b[at]) {
		size_t c = n->b[at];

		/* A dot within a label would be taken for one between two. */
		if (memchr(n->b + at + 1, '.', c))
			return -EINVAL;
		memcpy(text + len, n->b + at + 1, c);
		len += c;
		text[len++] = '.';
		at += c + 1;
	}
	return name_normal(text, len, ret);
}

/* ---- Records ---- */

int dnsmsg_rr(const uint8_t *msg, size_t len, size_t *at, struct dnsmsg_rr *ret)
{
	struct dnsmsg_name name;
	size_t end;
	struct rd rd;
	struct dnsmsg_rr rr = { .name = (uint16_t)*at };

	if (dnsmsg_name(msg, len, *at, &name, &end) < 0)
		return -EBADMSG;
	rd = rd_init(msg + end, len - end);
	rr.type = dnsmsg_u16(&rd);
	rr.class = dnsmsg_u16(&rd);
	rr.ttl = (uint32_t)dnsmsg_u16(&rd) << 16;
	rr.ttl |= dnsmsg_u16(&rd);
	rr.len = dnsmsg_u16(&rd);
	rr.data = (uint16_t)(len - rd.left);
	if (!rd_bytes(&rd, rr.len))
		return -EBADMSG;
	*at = len - rd.left;
	*ret = rr;
	return 0;
}

/* ---- The guest's answer ---- */

struct wr dnsmsg_begin(const struct dns_query *q, struct dns_out *out,
		       unsigned int flags)
{
	size_t tail = q->edns ? OPT_LEN + EDE_LEN : 0;
	size_t room = MIN((size_t)q->room, out->cap);
	/* What the end takes is kept free. */
	struct wr wr = wr_init(out->buf, room > tail ? room - tail : 0);
	struct dnsmsg_head h = {
		.id = q->guest_id,
		.flags = (uint16_t)(DNS_QR | DNS_RA | (q->rd ? DNS_RD : 0) |
				    (flags & (DNS_TC | DNS_RCODE))),
		.n_question = q->q_len ? 1 : 0,
		.n_additional = q->edns ? 1 : 0,
	};

	dnsmsg_put_head(&wr, &h);
	wr_bytes(&wr, q->guest_q, q->q_len);
	return wr;
}

static void put_opt(struct wr *wr, unsigned int rcode, unsigned int info)
{
	wr_u8(wr, 0);
	dnsmsg_put_u16(wr, DNS_OPT);
	dnsmsg_put_u16(wr, DNSMSG_OPT_SIZE);
	dnsmsg_put_u32(wr, (uint32_t)rcode >> 4 << 24);
	dnsmsg_put_u16(wr, info ? EDE_LEN : 0);
	if (!info)
		return;
	dnsmsg_put_u16(wr, OPT_ERROR);
	dnsmsg_put_u16(wr, 2);
	dnsmsg_put_u16(wr, info);
}

enum dns_act dnsmsg_end(const struct dns_query *q, struct dns_out *out,
			struct wr *wr, unsigned int n_answers,
			unsigned int info)
{
	if (wr->bad) {
		*wr = dnsmsg_begin(q, out, DNS_TC);
		n_answers = 0;
	}
	bug_on(wr->bad);
	wr->buf[AT_N_ANSWER] = (uint8_t)(n_answers >> 8);
	wr->buf[AT_N_ANSWER + 1] = (uint8_t)n_answers;
	if (q->edns) {
		wr->cap += OPT_LEN + EDE_LEN;
		put_opt(wr, q->bad_edns ? DNS_BADVERS : 0, info);
	}
	out->len = wr->len;
	return DNS_ANSWER;
}
