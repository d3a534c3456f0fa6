/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net_dns.c - the guest's questions, and resolvers' answers
 *
 * Input: a byte that says which: even, a question; odd, an answer to one for
 * a.org, of the type that the next byte says, from its flags on. What goes to the
 * guest is an answer to it, and has no address that is not public.
 */
#include <string.h>

#include "host/net/policy/dns.h"
#include "tests/fuzz/fuzz.h"

#define RULES \
	"{\"rules\":[{\"deny\":\"*.evil.example\"},{\"allow\":\"a.org\"}]}"
#define ID   2u
#define HEAD 12u
#define MSG  4096u

static const uint8_t rnd[DNS_RND] = { 1, 2, 0x5a, 0xa5 };
static const uint8_t question[] = { 0, 7,   1, 0,   0,   1,   0, 0, 0, 0, 0, 0,
				    1, 'a', 3, 'o', 'r', 'g', 0, 0, 1, 0, 1 };

static void check_answer(const struct dns_query *q, const struct dns_out *out)
{
	bug_on(out->len < HEAD || out->len > out->cap);
	bug_on(!(out->buf[2] & 0x80));
	bug_on(!q->tcp && out->len > DNS_UDP_MAX);
}

/* Records of addresses have a fixed size, and stand behind the question. */
static void check_public(const struct dns_query *q, const struct dns_out *out)
{
	unsigned int n = (unsigned int)out->buf[6] << 8 | out->buf[7];
	size_t at = HEAD + q->q_len, size = q->type == 1 ? 4 : 16;
	struct net_addr a;

	if (q->type != 1 && q->type != 28)
		return;
	bug_on(out->len != at + n * (12 + size));
	for (; n > 0; n--, at += 12 + size) {
		a = addr_v4(out->buf + at + 12);
		if (size == 16)
			memcpy(a.b, out->buf + at + 12, size);
		bug_on(addr_special(&a));
	}
}

static void try_question(const struct dns_env *env, const uint8_t *data,
			 size_t len, struct dns_out *out)
{
	struct dns_query q = { 0 };
	enum dns_act act = dns_ask(env, data, len, len % 2, &q, out);

	bug_on(act == DNS_NEXT || act == DNS_SAME);
	if (act == DNS_ASK)
		bug_on(strcmp(q.name, "a.org") != 0 || out->len > DNS_ASK_MAX);
	else if (act == DNS_ANSWER)
		bug_on(out->len < HEAD || !(out->buf[2] & 0x80));
}

static void try_answer(const struct dns_env *env, const uint8_t *data,
		       size_t len, struct dns_out *out)
{
	uint8_t q_msg[sizeof(question)], *msg;
	struct dns_query q;
	size_t n;

	memcpy(q_msg, question, sizeof(question));
	q_msg[sizeof(question) - 3] = len ? data[0] & 0x1f : 1;
	if (dns_ask(env, q_msg, sizeof(question), false, &q, out) != DNS_ASK ||
	    len < 1 + HEAD - ID || len > MSG)
		return;
	/* Id and question are as they must be, to get any further. */
	n = len - 1 + ID + q.q_len;
	msg = malloc(n);
	bug_on(!msg);
	msg[0] = rnd[0];
	msg[1] = rnd[1];
	memcpy(msg + ID, data + 1, HEAD - ID);
	memcpy(msg + HEAD, q.our_q, q.q_len);
	memcpy(msg + HEAD + q.q_len, data + 1 + HEAD - ID, n - HEAD - q.q_len);
	if (dns_reply(env, &q, msg, n, out) == DNS_ANSWER) {
		check_answer(&q, out);
		check_public(&q, out);
	}
	free(msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct policy *p = NULL;
	struct dns_env env = { .pins = pins_new(), .now_ms = 1, .rnd = rnd };
	struct dns_out out = { .buf = malloc(DNS_MSG_MAX), .cap = DNS_MSG_MAX };

	bug_on(!out.buf || !env.pins);
	bug_on(policy_parse(RULES, strlen(RULES), &p, NULL) < 0);
	env.policy = p;
	if (len > 0 && data[0] % 2 == 0)
		try_question(&env, data + 1, len - 1, &out);
	else if (len > 0)
		try_answer(&env, data + 1, len - 1, &out);
	policy_unref(p);
	pins_free(env.pins);
	free(out.buf);
	return 0;
}
