/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_dns_ask.c - the guest's resolver: questions */
#include <string.h>
#include <strings.h>

#include "tests/lib/check_main.h"
#include "tests/lib/dns_kit.h"

#define NXDOMAIN 3u
#define TC       0x0200u

#define RULES                                                  \
	"{\"rules\":[{\"deny\":\"*.evil.example\"},"           \
	"{\"allow\":\"*.example.org\"},{\"allow\":\"a.org\"}," \
	"{\"allow\":\"db.corp\",\"private\":true}]}"
#define INTERNET "{\"rules\":[{\"allow\":\"internet\"}]}"

START_TEST(a_question_goes_out_anew)
{
	struct dns_kit *w = dns_kit_new(RULES);
	struct wr m;
	uint8_t b[100];

	ck_assert_int_eq(dns_kit_ask(w, "WWW.Example.org", DNS_KIT_A), DNS_ASK);
	ck_assert_str_eq(w->q.name, "www.example.org");
	ck_assert_uint_eq(dns_kit_at16(w, 0), 0xabcd);
	ck_assert_uint_eq(dns_kit_at16(w, 2), DNS_KIT_RD);
	ck_assert_uint_eq(dns_kit_at16(w, 4), 1);
	ck_assert_uint_eq(dns_kit_at16(w, 10), 1);
	/* The same name, with capitals that are not the guest's; and EDNS. */
	m = wr_init(b, sizeof(b));
	dns_kit_question(&m, "wWw.ExAmPlE.OrG", DNS_KIT_A);
	ck_assert_uint_eq(w->out.len, 12 + m.len + 11);
	ck_assert(strncasecmp((char *)w->buf + 12, (char *)b, m.len) == 0);
	ck_assert(memcmp(w->buf + 12, w->q.guest_q, w->q.q_len) != 0);
	ck_assert(memcmp(w->buf + 12, w->q.our_q, w->q.q_len) == 0);
	/* Again: the same, and in the end plain, should it be that. */
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(dns_again(&w->q, w->env.rnd, &w->out),
				 DNS_ASK);
	m = wr_init(b, sizeof(b));
	dns_kit_head(&m, 0xabcd, DNS_KIT_RD, 1, 0, 0);
	dns_kit_question(&m, "www.example.org", DNS_KIT_A);
	ck_assert_uint_eq(w->out.len, m.len);
	ck_assert(memcmp(w->buf, b, m.len) == 0);
	dns_kit_free(w);
}
END_TEST

START_TEST(a_name_nobody_allows_does_not_exist)
{
	static const char *const no[] = {
		"example.org",
		"www.evil.example",
		"corp",
		"a.org.evil.com",
		"127.0.0.1",
		"0x7f000001",
		"",
		"a b.example.org",
		"a%2e.example.org",
		"4.3.2.1.in-addr.arpa",
		/* Its A-label would be another name. */
		"\xc3\xbc.example.org",
	};
	struct dns_kit *w = dns_kit_new(RULES);

	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		ck_assert_msg(dns_kit_ask(w, no[i], DNS_KIT_A) == DNS_ANSWER,
			      "%s", no[i]);
		ck_assert_uint_eq(DNS_KIT_CODE(w), NXDOMAIN);
		ck_assert_uint_eq(dns_kit_at16(w, 0), DNS_KIT_ID);
		ck_assert_uint_eq(dns_kit_at16(w, 4), 1);
		ck_assert_uint_eq(DNS_KIT_COUNT(w), 0);
		ck_assert_uint_eq(dns_kit_at16(w, 8), 0);
		ck_assert_ptr_nonnull(w->out.denied);
	}
	ck_assert_int_eq(dns_kit_ask(w, "www.evil.example", DNS_KIT_A),
			 DNS_ANSWER);
	ck_assert_int_eq(w->out.rule, 0);
	ck_assert_int_eq(dns_kit_ask(w, "b.org", DNS_KIT_A), DNS_ANSWER);
	ck_assert_int_eq(w->out.rule, -1);
	ck_assert_int_eq(dns_kit_ask(w, "A.org.", DNS_KIT_AAAA), DNS_ASK);
	ck_assert_ptr_null(w->out.denied);
	dns_kit_free(w);
}
END_TEST

START_TEST(a_label_with_a_dot_in_it_is_no_name)
{
	static const char name[] = "\5a.org\0\0\1\0\1";
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[100];
	struct wr m = wr_init(b, sizeof(b));

	dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 0);
	wr_bytes(&m, name, sizeof(name) - 1);
	ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len, false), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), NXDOMAIN);
	dns_kit_free(w);
}
END_TEST

START_TEST(who_knows_edns_is_told_why)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[200];
	struct wr m = wr_init(b, sizeof(b));

	dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 1);
	dns_kit_question(&m, "b.org", DNS_KIT_A);
	dns_kit_opt(&m, 1232, 0);
	ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len, false), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), NXDOMAIN);
	ck_assert_uint_eq(dns_kit_at16(w, 10), 1);
	/* Option 15 of two bytes: 18, "Prohibited". */
	ck_assert_uint_eq(dns_kit_at16(w, w->out.len - 6), 15);
	ck_assert_uint_eq(dns_kit_at16(w, w->out.len - 4), 2);
	ck_assert_uint_eq(dns_kit_at16(w, w->out.len - 2), 18);
	/* A version that there is not: BADVERS, 16. */
	m = wr_init(b, sizeof(b));
	dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 1);
	dns_kit_question(&m, "a.org", DNS_KIT_A);
	dns_kit_opt(&m, 1232, 1);
	ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len, false), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 0);
	ck_assert_uint_eq(dns_kit_at16(w, w->out.len - 6), 0x0100);
	dns_kit_free(w);
}
END_TEST

START_TEST(types_that_would_lead_around_have_no_answer)
{
	struct dns_kit *w = dns_kit_new(INTERNET);

	/* SVCB and HTTPS: keys for ECH, and addresses that have no name. */
	for (unsigned int type = 64; type <= 65; type++) {
		ck_assert_int_eq(dns_kit_ask(w, "a.org", type), DNS_ANSWER);
		ck_assert_uint_eq(DNS_KIT_CODE(w), 0);
		ck_assert_uint_eq(DNS_KIT_COUNT(w), 0);
	}
	/* ANY, AXFR, TKEY, OPT and 0: NOTIMP. */
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 255), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 4);
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 252), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 4);
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 249), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 4);
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 41), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 4);
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 0), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 4);
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 15), DNS_ASK);
	dns_kit_free(w);
}
END_TEST

#define ZEROS "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."

START_TEST(nobody_asks_who_is_inside)
{
	static const struct {
		const char *name;
		enum dns_act act;
	} t[] = {
		{ "8.8.8.8.in-addr.arpa", DNS_ASK },
		{ "4.3.2.10.in-addr.arpa", DNS_ANSWER },
		{ "254.169.254.169.in-addr.arpa", DNS_ANSWER },
		{ "1.0.0.127.IN-ADDR.ARPA", DNS_ANSWER },
		{ "1.0.0.0.0.0.0." ZEROS "0.ip6.arpa", DNS_ANSWER },
		{ "1.0.0.0.0.0.0." ZEROS "2.ip6.arpa", DNS_ASK },
		{ "1.0.0.0.0." ZEROS "0.d.f.ip6.arpa", DNS_ANSWER },
	};
	struct dns_kit *w = dns_kit_new(INTERNET);

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		ck_assert_msg(dns_kit_ask(w, t[i].name, 12) == t[i].act, "%s",
			      t[i].name);
		if (t[i].act == DNS_ANSWER)
			ck_assert_uint_eq(DNS_KIT_CODE(w), NXDOMAIN);
	}
	dns_kit_free(w);
}
END_TEST

START_TEST(what_is_inside_is_for_who_names_it)
{
	static const char *const inside[] = {
		"corp",
		"dc",
		"printer.local",
		"_ldap._tcp.dc._msdcs.corp",
		"metadata.google.internal",
		"router.home.arpa",
		"home.arpa",
		"a.localhost",
		"x.test",
		"10.in-addr.arpa",
		"168.192.in-addr.arpa",
		"b._dns-sd._udp.0.1.168.192.in-addr.arpa",
		"0.d.f.ip6.arpa",
	};
	struct dns_kit *w = dns_kit_new(INTERNET), *star, *named;

	star = dns_kit_new("{\"rules\":[{\"allow\":\"*\"}]}");
	named = dns_kit_new("{\"rules\":[{\"allow\":\"internet\"},"
			    "{\"deny\":\"no.corp\"},{\"allow\":\"dc\"},"
			    "{\"allow\":\"*.corp\"},{\"allow\":\"no.corp\"},"
			    "{\"allow\":\"a.org\"}]}");
	for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
		ck_assert_msg(dns_kit_ask(w, inside[i], 33) == DNS_ANSWER, "%s",
			      inside[i]);
		ck_assert_uint_eq(DNS_KIT_CODE(w), NXDOMAIN);
		ck_assert_ptr_nonnull(w->out.denied);
		ck_assert_int_eq(dns_kit_ask(star, inside[i], DNS_KIT_A),
				 DNS_ANSWER);
	}
	/* Whatever the type, of an address that is not public. */
	ck_assert_int_eq(dns_kit_ask(w, "4.3.2.10.in-addr.arpa", 16),
			 DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), NXDOMAIN);
	ck_assert_int_eq(dns_kit_ask(w, "corp.example", DNS_KIT_A), DNS_ASK);
	ck_assert_int_eq(dns_kit_ask(w, "a.locals", DNS_KIT_A), DNS_ASK);
	/* SOA, NS, DNSKEY: nothing of it, which is no harm. */
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 6), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 0);
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 2), DNS_ANSWER);
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 48), DNS_ANSWER);
	ck_assert_int_eq(dns_kit_ask(w, "a.org", 16), DNS_ASK);
	ck_assert_int_eq(dns_kit_ask(named, "dc", DNS_KIT_A), DNS_ASK);
	ck_assert_int_eq(dns_kit_ask(named, "x.corp", 6), DNS_ASK);
	ck_assert_int_eq(dns_kit_ask(named, "a.org", 6), DNS_ASK);
	ck_assert_int_eq(dns_kit_ask(named, "no.corp", DNS_KIT_A), DNS_ANSWER);
	dns_kit_free(w);
	dns_kit_free(star);
	dns_kit_free(named);
}
END_TEST

START_TEST(a_question_that_is_none_is_told_so)
{
	static const struct {
		const char *what;
		unsigned int flags, n_question, n_answer, n_more;
		enum dns_act act;
		unsigned int code;
	} t[] = {
		{ "an answer", 0x8000, 1, 0, 0, DNS_DROP, 0 },
		{ "inverse query", 0x0800, 1, 0, 0, DNS_ANSWER, 4 },
		{ "update", 0x2800, 1, 0, 0, DNS_ANSWER, 4 },
		{ "no question", DNS_KIT_RD, 0, 0, 0, DNS_ANSWER, 1 },
		{ "two questions", DNS_KIT_RD, 2, 0, 0, DNS_ANSWER, 1 },
		{ "answers in a question", DNS_KIT_RD, 1, 1, 0, DNS_ANSWER, 1 },
		{ "a truncated question", DNS_KIT_RD | TC, 1, 0, 0, DNS_ANSWER,
		  1 },
		{ "an authoritative question", 0x0500, 1, 0, 0, DNS_ANSWER, 1 },
		{ "a question with a code", DNS_KIT_RD | 3, 1, 0, 0, DNS_ANSWER,
		  1 },
		{ "more than is there", DNS_KIT_RD, 1, 0, 1, DNS_ANSWER, 1 },
		{ "many more", DNS_KIT_RD, 1, 0, 65535, DNS_ANSWER, 1 },
	};
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[100];
	struct wr m;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		m = wr_init(b, sizeof(b));
		dns_kit_head(&m, DNS_KIT_ID, t[i].flags, t[i].n_question,
			     t[i].n_answer, t[i].n_more);
		dns_kit_question(&m, "a.org", DNS_KIT_A);
		ck_assert_msg(dns_kit_ask_raw(w, b, m.len, false) == t[i].act,
			      "%s", t[i].what);
		if (t[i].act == DNS_ANSWER)
			ck_assert_msg(DNS_KIT_CODE(w) == t[i].code, "%s",
				      t[i].what);
	}
	/* A class that is not the Internet's. */
	m = wr_init(b, sizeof(b));
	dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 0);
	dns_kit_question(&m, "a.org", DNS_KIT_A);
	b[m.len - 1] = 3;
	ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len, false), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 4);
	/* Bytes behind it; and a message that ends anywhere. */
	b[m.len - 1] = 1;
	wr_u8(&m, 0);
	ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len, false), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 1);
	for (size_t n = 0; n < m.len - 1; n++) {
		enum dns_act act = dns_kit_ask_raw(w, b, n, false);

		ck_assert_int_eq(act, n < 12 ? DNS_DROP : DNS_ANSWER);
		ck_assert(n < 12 || DNS_KIT_CODE(w) == 1);
	}
	ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len - 1, false), DNS_ASK);
	dns_kit_free(w);
}
END_TEST

START_TEST(a_question_has_no_pointer_and_one_opt)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[100];
	struct wr m = wr_init(b, sizeof(b));

	dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 0);
	wr_bytes(&m, "\300\014\0\1\0\1", 6);
	ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len, false), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 1);
	m = wr_init(b, sizeof(b));
	dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 0);
	wr_bytes(&m, "\1a\300\5\0\1\0\1", 8);
	ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len, false), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 1);
	for (unsigned int n = 1; n <= 2; n++) {
		m = wr_init(b, sizeof(b));
		dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, n);
		dns_kit_question(&m, "a.org", DNS_KIT_A);
		for (unsigned int i = 0; i < n; i++)
			dns_kit_opt(&m, 512, 0);
		ck_assert_int_eq(dns_kit_ask_raw(w, b, m.len, false),
				 n == 1 ? DNS_ASK : DNS_ANSWER);
	}
	ck_assert_uint_eq(DNS_KIT_CODE(w), 1);
	dns_kit_free(w);
}
END_TEST

#define HANDLED                                                             \
	"{\"rules\":[{\"allow\":\"a.org\"},{\"deny\":\"no.svc.internal\"}," \
	"{\"intercept\":\"*.svc.internal\",\"handler\":\"/h\"},"            \
	"{\"intercept\":\"a.org\",\"handler\":\"/h\"}]}"

/* The address in the answer's only record, of the last bytes of a message. */
static const uint8_t *answered(const struct dns_kit *w, size_t size)
{
	ck_assert_uint_eq(DNS_KIT_CODE(w), 0);
	ck_assert_uint_eq(DNS_KIT_COUNT(w), 1);
	ck_assert_ptr_null(w->out.denied);
	ck_assert_uint_eq(dns_kit_at16(w, w->out.len - size - 2), size);
	return w->buf + w->out.len - size;
}

START_TEST(a_handler_s_name_is_asked_of_nobody)
{
	struct dns_kit *w = dns_kit_new(HANDLED);
	uint8_t first[4];

	ck_assert_int_eq(dns_kit_ask(w, "x.SVC.internal", DNS_KIT_A),
			 DNS_ANSWER);
	memcpy(first, answered(w, 4), 4);
	ck_assert_mem_eq(first, "\306\23\0\1", 4);
	ck_assert(dns_kit_pinned(w, "x.svc.internal", "198.19.0.1"));
	/* The same again, and of the other family; another name has another. */
	(void)dns_kit_ask(w, "x.svc.internal", DNS_KIT_A);
	ck_assert_mem_eq(answered(w, 4), first, 4);
	(void)dns_kit_ask(w, "x.svc.internal", DNS_KIT_AAAA);
	ck_assert_mem_eq(answered(w, 16),
			 "\375\0\150\165\164\143\150\1\0\0\0\0\0\0\0\1", 16);
	(void)dns_kit_ask(w, "y.svc.internal", DNS_KIT_A);
	ck_assert_mem_eq(answered(w, 4), "\306\23\0\2", 4);
	/* There is nothing else to be known of it. */
	ck_assert_int_eq(dns_kit_ask(w, "x.svc.internal", 16), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 0);
	ck_assert_uint_eq(DNS_KIT_COUNT(w), 0);
	ck_assert_int_eq(dns_kit_ask(w, "no.svc.internal", DNS_KIT_A),
			 DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), NXDOMAIN);
	/* The first rule that could allow it decides. */
	ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
	dns_kit_free(w);
}
END_TEST

CHECK_MAIN("net_dns_ask", a_question_goes_out_anew,
	   a_name_nobody_allows_does_not_exist,
	   a_label_with_a_dot_in_it_is_no_name, who_knows_edns_is_told_why,
	   types_that_would_lead_around_have_no_answer,
	   nobody_asks_who_is_inside, what_is_inside_is_for_who_names_it,
	   a_question_that_is_none_is_told_so,
	   a_question_has_no_pointer_and_one_opt,
	   a_handler_s_name_is_asked_of_nobody)
