/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/dnsmsg.h - messages of DNS, taken apart and put together
 *
 * RFC 1035, 4. A name is kept as it is on the wire without compression: labels
 * with their lengths, and a 0.
 */
#ifndef HUTCH_HOST_NET_POLICY_DNSMSG_H
#define HUTCH_HOST_NET_POLICY_DNSMSG_H

#include "common/rd.h"
#include "common/wr.h"
#include "host/net/policy/dns.h"

#define DNSMSG_HEAD     12u
#define DNSMSG_NAME_MAX 255u
#define DNSMSG_OPT_SIZE 1232u /* what passes every path unfragmented */

enum {
	DNS_A = 1,
	DNS_NS = 2,
	DNS_CNAME = 5,
	DNS_SOA = 6,
	DNS_PTR = 12,
	DNS_MX = 15,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_SRV = 33,
	DNS_NAPTR = 35,
	DNS_OPT = 41,
	DNS_SSHFP = 44,
	DNS_TLSA = 52,
	DNS_SVCB = 64,
	DNS_HTTPS = 65,
	DNS_META_FIRST = 249, /* TKEY, TSIG, IXFR, AXFR, MAILB, MAILA, ANY */
	DNS_META_LAST = 255,
	DNS_CAA = 257
};

enum {
	DNS_CLASS_IN = 1
};

enum {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_BADVERS = 16
};

enum {
	DNS_QR = 0x8000,
	DNS_OPCODE = 0x7800,
	DNS_AA = 0x0400,
	DNS_TC = 0x0200,
	DNS_RD = 0x0100,
	DNS_RA = 0x0080,
	DNS_RCODE = 0x000f
};

/** struct dnsmsg_head - The twelve bytes that each message begins with */
struct dnsmsg_head {
	uint16_t id;
	uint16_t flags;
	uint16_t n_question;
	uint16_t n_answer;
	uint16_t n_authority;
	uint16_t n_additional;
};

/** struct dnsmsg_name - A name; @len counts the 0 */
struct dnsmsg_name {
	uint8_t b[DNSMSG_NAME_MAX];
	uint16_t len;
};

/**
 * struct dnsmsg_rr - A record
 * @name:	Where its name is, from the start of the message
 * @data:	Where its data is, @len bytes
 */
struct dnsmsg_rr {
	uint32_t ttl;
	uint16_t name;
	uint16_t type;
	uint16_t class;
	uint16_t data;
	uint16_t len;
};

uint16_t dnsmsg_u16(struct rd *rd);
void dnsmsg_put_u16(struct wr *wr, unsigned int v);
void dnsmsg_put_u32(struct wr *wr, uint32_t v);

void dnsmsg_head(struct rd *rd, struct dnsmsg_head *ret);
void dnsmsg_put_head(struct wr *wr, const struct dnsmsg_head *h);

/**
 * dnsmsg_name() - The name at @at, with its pointers followed
 * @msg:	@len bytes
 * @ret_end:	NULL, or where it ends
 *
 * A pointer must lead to before where the piece begins that it is in, so that
 * each step is nearer the start and there is no loop (RFC 1035, 4.1.4: to a
 * prior occurrence).
 *
 * Return: 0 or -EBADMSG
 */
MUST_CHECK int dnsmsg_name(const uint8_t *msg, size_t len, size_t at,
			   struct dnsmsg_name *ret, size_t *ret_end);

/** dnsmsg_name_eq() - Whether two are the same, whatever the case */
bool dnsmsg_name_eq(const struct dnsmsg_name *a, const struct dnsmsg_name *b);

/** dnsmsg_text() - As name_normal() has it. Return: 0, -EINVAL, -ENAMETOOLONG */
MUST_CHECK int dnsmsg_text(const struct dnsmsg_name *n, char ret[NAME_CAP]);

/**
 * dnsmsg_rr() - The record at *@at, which is moved behind it
 *
 * Return: 0 or -EBADMSG
 */
MUST_CHECK int dnsmsg_rr(const uint8_t *msg, size_t len, size_t *at,
			 struct dnsmsg_rr *ret);

/** dnsmsg_put_rr_head() - Begin a record of the question's name, up to its data */
void dnsmsg_put_rr_head(struct wr *wr, unsigned int type, uint32_t ttl_s);

/**
 * dnsmsg_begin() - Begin the guest's answer: head and question
 * @flags:	DNS_TC and a code
 */
struct wr dnsmsg_begin(const struct dns_query *q, struct dns_out *out,
		       unsigned int flags);

/**
 * dnsmsg_end() - End it, of @n_answers, and take its length
 * @info:	RFC 8914: 0, or a code for who asked with EDNS
 *
 * Return: DNS_ANSWER. What did not fit has become an answer without records that
 *         says TC, so that the guest asks by TCP
 */
enum dns_act dnsmsg_end(const struct dns_query *q, struct dns_out *out,
			struct wr *wr, unsigned int n_answers,
			unsigned int info);

#endif
