/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/dns.h - the guest's resolver: a relay that judges
 *
 * Between the guest and the resolvers of the host, without a socket: the caller
 * has those, and the clock. For each message of the guest:
 *
 *	dns_ask()    an answer for the guest at once, or a message for a resolver
 *	dns_again()  the same for the next resolver, when one is silent or no use
 *	dns_reply()  what a resolver sent: the answer for the guest, or not ours
 *	dns_fail()   nobody answered
 *
 * Nothing of either side's is passed on: a question is written anew with an id
 * and capitals of our own (0x20), an answer from what was understood of it. CNAME
 * chains are followed inside the answer and left out: the addresses are given
 * for the name that was asked, and pinned to that name alone.
 *
 * A name that no rule can allow does not exist (NXDOMAIN, with no SOA, so that
 * nobody keeps it; with EDNS, extended error 18): REFUSED would be truer, but
 * musl ignores it and waits five seconds, and glibc asks everybody twice and then
 * says "temporary failure", on which programs try again.
 *
 * A name that a handler answers for is asked of nobody: it has an address of the
 * VM's own (own.h), and there is nothing else to be known of it.
 *
 * HTTPS and SVCB (RFC 9460) have no answer: they carry keys for ECH, and hints
 * that are addresses without a name.
 */
#ifndef HUTCH_HOST_NET_POLICY_DNS_H
#define HUTCH_HOST_NET_POLICY_DNS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/net/policy/name.h"
#include "host/net/policy/pins.h"
#include "host/net/policy/policy.h"

#define DNS_MSG_MAX     65535u /* by TCP, without the two bytes of length */
#define DNS_UDP_MAX     4096u  /* largest answer by UDP to a guest */
#define DNS_ASK_MAX     512u   /* largest message to a resolver */
#define DNS_RND         34u    /* random bytes of a question */
#define DNS_RECORDS_MAX 256u   /* of an answer that is looked at */
#define DNS_CHAIN_MAX   16u    /* CNAMEs in a row */

#define DNS_QUESTION_MAX 259u /* a name, a type, a class */

/** enum dns_act - What to do with the message in @out */
enum dns_act {
	DNS_DROP,   /* nothing: what came in is not for us; wait on */
	DNS_ANSWER, /* it is for the guest; the question is done */
	DNS_ASK,    /* it is for a resolver */
	DNS_NEXT,   /* this resolver is of no use: dns_again() with the next */
	DNS_SAME    /* it bears no EDNS, it seems: dns_again(), now without */
};

/**
 * struct dns_query - A question on its way
 * @name:	What is asked for, normal
 * @type:	Of record
 * @tcp:	The guest asked by TCP, so the resolver is asked by TCP: only then
 *		may the answer be longer than the guest takes by UDP
 *
 * The rest is for dns.h alone. Has no pointer: it may be copied.
 */
struct dns_query {
	char name[NAME_CAP];
	uint16_t type;
	bool tcp;

	uint16_t guest_id;
	uint16_t id;
	uint16_t room;
	uint8_t tries;
	bool bare;
	bool rd;
	bool edns;
	bool bad_edns;
	uint16_t q_len;
	uint8_t guest_q[DNS_QUESTION_MAX];
	uint8_t our_q[DNS_QUESTION_MAX];
};

/**
 * struct dns_out - Where an answer or a question is written
 * @buf:	The caller's, of @cap bytes, DNS_ASK_MAX at least; what does not fit
 *		is an answer that is cut short (TC)
 * @len:	Bytes written
 * @denied:	NULL; else why the guest did not get what it asked for, for the
 *		event: constant
 * @rule:	The rule that denied it; -1: none allows it
 */
struct dns_out {
	uint8_t *buf;
	size_t cap;
	size_t len;
	const char *denied;
	int rule;
};

/**
 * struct dns_env - What a message is judged by
 * @pins:	Of this VM; dns_reply() adds to them
 * @now_ms:	The clock of the pins
 * @rnd:	For dns_ask(): DNS_RND fresh random bytes
 */
struct dns_env {
	const struct policy *policy;
	struct pins *pins;
	uint64_t now_ms;
	const uint8_t *rnd;
};

/**
 * dns_ask() - Take a message of the guest's
 * @msg:	@len bytes; of TCP without the two bytes of length
 * @tcp:	How it came
 * @ret:	Set if there is a question to go on with
 *
 * Return: DNS_ANSWER; DNS_ASK, by a socket with a random port of its own;
 *         DNS_DROP: what is no question gets no answer
 */
enum dns_act dns_ask(const struct dns_env *env, const void *msg, size_t len,
		     bool tcp, struct dns_query *ret, struct dns_out *out);

/**
 * dns_again() - The same question with a new id
 * @rnd:	DNS_RND fresh random bytes
 *
 * Return: DNS_ASK
 */
enum dns_act dns_again(struct dns_query *q, const uint8_t *rnd,
		       struct dns_out *out);

/**
 * dns_reply() - Take what came from the resolver that was asked last
 *
 * The caller has seen to it that it comes from there, and to the port that asked.
 *
 * Return: DNS_ANSWER; DNS_DROP: another id or question, a forgery perhaps: wait
 *         on; DNS_NEXT: it cannot or will not answer (SERVFAIL, REFUSED, ...);
 *         DNS_SAME: once for a question
 */
enum dns_act dns_reply(const struct dns_env *env, struct dns_query *q,
		       const void *msg, size_t len, struct dns_out *out);

/** dns_fail() - Nobody answered: SERVFAIL. Return: DNS_ANSWER */
enum dns_act dns_fail(const struct dns_query *q, struct dns_out *out);

#endif
