/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_dns_reply.c - the guest's resolver: answers */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/dns_kit.h"

#define QR_RD_RA 0x8180u
#define NXDOMAIN 3u
#define TC       0x0200u

#define RULES                                                  \
	"{\"rules\":[{\"deny\":\"*.evil.example\"},"           \
	"{\"allow\":\"*.example.org\"},{\"allow\":\"a.org\"}," \
	"{\"allow\":\"db.corp\",\"private\":true}]}"
#define INTERNET "{\"rules\":[{\"allow\":\"internet\"}]}"

START_TEST(an_answer_is_given_and_pinned)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[300], want[100];
	struct wr m, is = wr_init(want, sizeof(want));

	ck_assert_int_eq(dns_kit_ask(w, "A.org", DNS_KIT_A), DNS_ASK);
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 2);
	dns_kit_a(&m, "a.ORG", 86400, "8.8.8.8");
	dns_kit_a(&m, "a.org", 5, "8.8.4.4");
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
	ck_assert_ptr_null(w->out.denied);
	/* In the guest's spelling, with a time to live of an hour at most. */
	dns_kit_head(&is, DNS_KIT_ID, QR_RD_RA, 1, 2, 0);
	dns_kit_question(&is, "A.org", DNS_KIT_A);
	wr_bytes(&is, "\300\014\0\1\0\1\0\0\x0e\x10\0\4\10\10\10\10", 16);
	wr_bytes(&is, "\300\014\0\1\0\1\0\0\0\5\0\4\10\10\4\4", 16);
	ck_assert_uint_eq(w->out.len, is.len);
	ck_assert(memcmp(w->buf, want, is.len) == 0);
	ck_assert(dns_kit_pinned(w, "a.org", "8.8.8.8"));
	ck_assert(dns_kit_pinned(w, "a.org", "8.8.4.4"));
	dns_kit_free(w);
}
END_TEST

START_TEST(an_answer_of_somebody_else_is_dropped)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[300];
	struct wr m;

	ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 1);
	dns_kit_a(&m, "a.org", 60, "8.8.8.8");
	b[1] ^= 1; /* another id */
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_DROP);
	b[1] ^= 1;
	b[13] ^= 0x20; /* the name in other capitals */
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_DROP);
	b[13] ^= 0x20;
	b[20] ^= 1; /* another type */
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_DROP);
	b[20] ^= 1;
	b[2] &= 0x7f; /* a question */
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_DROP);
	b[2] |= 0x80;
	b[5] = 2; /* two questions */
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_DROP);
	b[5] = 0; /* none */
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_DROP);
	b[5] = 1;
	for (size_t n = 0; n < 12u + w->q.q_len; n++) {
		struct wr cut = { .buf = b, .len = n };

		ck_assert_int_eq(dns_kit_give(w, &cut), DNS_DROP);
	}
	ck_assert(!dns_kit_pinned(w, "a.org", "8.8.8.8"));
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
	dns_kit_free(w);
}
END_TEST

START_TEST(a_record_of_another_name_is_left_out)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[300];
	struct wr m;

	ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 3);
	dns_kit_a(&m, "b.org", 60, "8.8.8.8");
	dns_kit_a(&m, "a.org", 60, "2606::1"); /* not what was asked for */
	dns_kit_a(&m, "a.org", 60, "8.8.4.4");
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_COUNT(w), 1);
	ck_assert(!dns_kit_pinned(w, "a.org", "8.8.8.8"));
	ck_assert(!dns_kit_pinned(w, "b.org", "8.8.8.8"));
	ck_assert(!dns_kit_pinned(w, "a.org", "2606::1"));
	ck_assert(dns_kit_pinned(w, "a.org", "8.8.4.4"));
	dns_kit_free(w);
}
END_TEST

START_TEST(a_name_is_not_rebound)
{
	static const struct {
		const char *rules;
		const char *name;
		const char *a;
		bool given;
	} t[] = {
		{ RULES, "a.org", "8.8.8.8", true },
		{ RULES, "a.org", "127.0.0.1", false },
		{ RULES, "a.org", "169.254.169.254", false },
		{ RULES, "a.org", "10.0.0.1", false },
		{ RULES, "a.org", "0.0.0.0", false },
		{ RULES, "a.org", "::1", false },
		{ RULES, "a.org", "::", false },
		{ RULES, "a.org", "fe80::1", false },
		{ RULES, "a.org", "fd00::1", false },
		{ RULES, "a.org", "::ffff:127.0.0.1", false },
		{ RULES, "a.org", "::ffff:8.8.8.8", false },
		{ RULES, "a.org", "64:ff9b::10.0.0.1", false },
		{ RULES, "a.org", "2002:7f00:1::1", false },
		{ RULES, "a.org", "2606::1", true },
		{ RULES, "db.corp", "10.0.0.1", true },
		{ RULES, "db.corp", "127.0.0.1", false },
		{ INTERNET, "a.org", "127.0.0.1", false },
		{ INTERNET, "a.org", "192.168.1.1", false },
		{ INTERNET, "a.org", "8.8.8.8", true },
	};
	uint8_t b[300];
	struct wr m;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct dns_kit *w = dns_kit_new(t[i].rules);
		bool v6 = strchr(t[i].a, ':');

		ck_assert_int_eq(dns_kit_ask(w, t[i].name,
					     v6 ? DNS_KIT_AAAA : DNS_KIT_A),
				 DNS_ASK);
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 1);
		dns_kit_a(&m, t[i].name, 60, t[i].a);
		ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
		ck_assert_uint_eq(DNS_KIT_CODE(w), 0);
		ck_assert_msg(DNS_KIT_COUNT(w) == t[i].given, "%s", t[i].a);
		ck_assert_msg(!w->out.denied == t[i].given, "%s", t[i].a);
		ck_assert_msg(dns_kit_pinned(w, t[i].name, t[i].a) ==
				      t[i].given,
			      "%s", t[i].a);
		dns_kit_free(w);
	}
}
END_TEST

START_TEST(what_is_left_of_an_answer_is_given)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[300];
	struct wr m;

	ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 2);
	dns_kit_a(&m, "a.org", 60, "10.0.0.1");
	dns_kit_a(&m, "a.org", 60, "8.8.8.8");
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_COUNT(w), 1);
	ck_assert_ptr_null(w->out.denied);
	dns_kit_free(w);
}
END_TEST

/* ---- Chains ---- */

START_TEST(a_chain_is_followed_and_left_out)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[500];
	struct wr m;

	ck_assert_int_eq(dns_kit_ask(w, "www.example.org", DNS_KIT_A), DNS_ASK);
	/* In any order; the least time to live counts. */
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 3);
	dns_kit_a(&m, "edge.cdn.example", 500, "8.8.8.8");
	dns_kit_cname(&m, "lb.cdn.example", DNS_KIT_CNAME, "edge.cdn.example");
	dns_kit_cname(&m, "www.example.org", DNS_KIT_CNAME, "lb.cdn.example");
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_COUNT(w), 1);
	ck_assert_uint_eq(dns_kit_at16(w, w->out.len - 16), 0xc00c);
	ck_assert_uint_eq(dns_kit_at16(w, w->out.len - 8), 60);
	ck_assert(dns_kit_pinned(w, "www.example.org", "8.8.8.8"));
	ck_assert(!dns_kit_pinned(w, "lb.cdn.example", "8.8.8.8"));
	ck_assert(!dns_kit_pinned(w, "edge.cdn.example", "8.8.8.8"));
	dns_kit_free(w);
}
END_TEST

START_TEST(a_chain_to_a_denied_name_leads_nowhere)
{
	static const char *const to[] = { "www.evil.example",
					  "WWW.EVIL.Example", "a b.example" };
	uint8_t b[500];
	struct wr m;

	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		struct dns_kit *w = dns_kit_new(RULES);

		ck_assert_int_eq(dns_kit_ask(w, "www.example.org", DNS_KIT_A),
				 DNS_ASK);
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 3);
		dns_kit_cname(&m, "www.example.org", DNS_KIT_CNAME, to[i]);
		dns_kit_cname(&m, to[i], DNS_KIT_CNAME, "ok.example");
		dns_kit_a(&m, "ok.example", 60, "8.8.8.8");
		ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
		ck_assert_uint_eq(DNS_KIT_CODE(w), NXDOMAIN);
		ck_assert_uint_eq(DNS_KIT_COUNT(w), 0);
		ck_assert_ptr_nonnull(w->out.denied);
		ck_assert_int_eq(w->out.rule, i == 2 ? -1 : 0);
		ck_assert(!dns_kit_pinned(w, "www.example.org", "8.8.8.8"));
		dns_kit_free(w);
	}
}
END_TEST

START_TEST(a_chain_that_is_none_is_no_answer)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[2000];
	char from[32], to[32] = "www.example.org";
	struct wr m;

	ck_assert_int_eq(dns_kit_ask(w, to, DNS_KIT_A), DNS_ASK);
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 2);
	dns_kit_cname(&m, "www.example.org", DNS_KIT_CNAME, "b.org");
	dns_kit_cname(&m, "b.org", DNS_KIT_CNAME, "www.example.org");
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_NEXT);
	/* As long as can be, and longer by one. */
	for (unsigned int n = DNS_CHAIN_MAX; n <= DNS_CHAIN_MAX + 1; n++) {
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, n + 1);
		(void)strcpy(to, "www.example.org");
		for (unsigned int i = 0; i < n; i++) {
			memcpy(from, to, sizeof(to));
			(void)snprintf(to, sizeof(to), "n%u.org", i);
			dns_kit_cname(&m, from, DNS_KIT_CNAME, to);
		}
		dns_kit_a(&m, to, 60, "8.8.8.8");
		ck_assert_int_eq(dns_kit_give(w, &m),
				 n == DNS_CHAIN_MAX ? DNS_ANSWER : DNS_NEXT);
	}
	dns_kit_free(w);
}
END_TEST

/* ---- Answers that lie ---- */

START_TEST(an_answer_that_lies_is_no_answer)
{
	static const struct {
		const char *what;
		uint8_t b[40];
		size_t len;
	} t[] = {
		{ "no record", "", 0 },
		{ "a pointer to itself", "\300\035\0\1\0\1\0\0\0\1\0\4\1\1\1\1",
		  16 },
		{ "a pointer ahead", "\300\037\0\1\0\1\0\0\0\1\0\4\1\1\1\1",
		  16 },
		{ "a pointer past the end",
		  "\377\377\0\1\0\1\0\0\0\1\0\4\1\1\1\1", 16 },
		{ "half a pointer", "\300", 1 },
		{ "a label of 64", "\100\0\0\1\0\1\0\0\0\1\0\4\1\1\1\1", 16 },
		{ "a label of type 2", "\200\0\0\1\0\1\0\0\0\1\0\4\1\1\1\1",
		  16 },
		{ "a label past the end", "\77a", 2 },
		{ "data past the end", "\300\014\0\1\0\1\0\0\0\1\0\5\1\1\1\1",
		  16 },
		{ "data of three bytes", "\300\014\0\1\0\1\0\0\0\1\0\3\1\1\1",
		  15 },
		{ "data of five bytes",
		  "\300\014\0\1\0\1\0\0\0\1\0\5\1\1\1\1\1", 17 },
		{ "no data", "\300\014\0\1\0\1\0\0\0\1", 10 },
		{ "a CNAME of nothing", "\300\014\0\5\0\1\0\0\0\1\0\0", 12 },
		{ "a CNAME with more behind it",
		  "\300\014\0\5\0\1\0\0\0\1\0\4\1a\0x", 16 },
		{ "a CNAME past its data", "\300\014\0\5\0\1\0\0\0\1\0\2\1a\0",
		  15 },
	};
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[300];
	struct wr m;

	ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 1);
		ck_assert_uint_eq(m.len, 12 + 11);
		wr_bytes(&m, t[i].b, t[i].len);
		ck_assert_msg(dns_kit_give(w, &m) == DNS_NEXT, "%s", t[i].what);
	}
	/* The same, and true. */
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 1);
	wr_bytes(&m, "\300\014\0\1\0\1\0\0\0\1\0\4\1\1\1\1", 16);
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
	ck_assert(dns_kit_pinned(w, "a.org", "1.1.1.1"));
	dns_kit_free(w);
}
END_TEST

START_TEST(a_name_by_pointers_is_no_longer_than_a_name)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[600];
	struct wr m;
	unsigned int at;

	ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 1);
	/* The data of a record: 4 labels of 62 and a 0; a name that adds 9. */
	dns_kit_question(&m, "b.org", 16);
	dns_kit_u16(&m, 0);
	dns_kit_u16(&m, 1);
	dns_kit_u16(&m, 4 * 63 + 1);
	at = (unsigned int)m.len;
	for (int i = 0; i < 4 * 63; i++)
		wr_u8(&m, i % 63 ? 'a' : 62);
	wr_u8(&m, 0);
	b[7] = 2;
	for (unsigned int more = 1; more <= 2; more++) {
		struct wr n = m;

		wr_u8(&n, (uint8_t)more);
		wr_bytes(&n, "xx", more);
		dns_kit_u16(&n, 0xc000 | at);
		wr_bytes(&n, "\0\1\0\1\0\0\0\1\0\4\1\1\1\1", 14);
		ck_assert_int_eq(dns_kit_give(w, &n),
				 more == 1 ? DNS_ANSWER : DNS_NEXT);
	}
	dns_kit_free(w);
}
END_TEST

START_TEST(an_answer_has_so_many_records)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[8000];
	struct wr m;

	for (unsigned int n = DNS_RECORDS_MAX; n <= DNS_RECORDS_MAX + 1; n++) {
		ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
		w->q.tcp = true;
		w->q.room = DNS_MSG_MAX;
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, n);
		for (unsigned int i = 0; i < n; i++)
			dns_kit_a(&m, "a.org", 60, "8.8.8.8");
		ck_assert_int_eq(dns_kit_give(w, &m),
				 n == DNS_RECORDS_MAX ? DNS_ANSWER : DNS_NEXT);
	}
	dns_kit_free(w);
}
END_TEST

START_TEST(what_a_resolver_says_of_itself)
{
	static const struct {
		unsigned int code;
		enum dns_act act;
	} t[] = {
		{ 0, DNS_ANSWER }, { 1, DNS_SAME },   { 1, DNS_NEXT },
		{ 2, DNS_NEXT },   { 3, DNS_ANSWER }, { 4, DNS_NEXT },
		{ 5, DNS_NEXT },   { 9, DNS_NEXT },
	};
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[300];
	struct wr m;

	ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA | t[i].code, 0);
		ck_assert_int_eq(dns_kit_give(w, &m), t[i].act);
		if (t[i].act == DNS_ANSWER)
			ck_assert_uint_eq(DNS_KIT_CODE(w), t[i].code);
		ck_assert_ptr_null(w->out.denied);
	}
	/* Twelve bytes, of one that knows no EDNS. */
	m = wr_init(b, sizeof(b));
	dns_kit_head(&m, w->q.id, QR_RD_RA | 1, 0, 0, 0);
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_NEXT);
	w->q.bare = false;
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_SAME);
	ck_assert_int_eq(dns_fail(&w->q, &w->out), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_CODE(w), 2);
	ck_assert_uint_eq(dns_kit_at16(w, 0), DNS_KIT_ID);
	dns_kit_free(w);
}
END_TEST

START_TEST(what_is_too_long_comes_by_tcp)
{
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t q[100], b[2000];
	struct wr m;

	/* The resolver's own word for it. */
	ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA | TC, 0);
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
	ck_assert_uint_eq(dns_kit_at16(w, 2), QR_RD_RA | TC);
	/* Too long for the guest: 31 records of 16 bytes, 30 fit in 512. */
	for (unsigned int n = 30; n <= 31; n++) {
		ck_assert_int_eq(dns_kit_ask(w, "a.org", DNS_KIT_A), DNS_ASK);
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, n);
		for (unsigned int i = 0; i < n; i++)
			dns_kit_a(&m, "a.org", 60, "8.8.8.8");
		ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
		ck_assert_uint_eq(DNS_KIT_COUNT(w), n == 30 ? 30 : 0);
		ck_assert_uint_eq(dns_kit_at16(w, 2) & TC, n == 30 ? 0 : TC);
	}
	/* By TCP it fits, and the resolver may not say TC. */
	m = wr_init(q, sizeof(q));
	dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 0);
	dns_kit_question(&m, "a.org", DNS_KIT_A);
	ck_assert_int_eq(dns_kit_ask_raw(w, q, m.len, true), DNS_ASK);
	m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 31);
	for (unsigned int i = 0; i < 31; i++)
		dns_kit_a(&m, "a.org", 60, "8.8.8.8");
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
	ck_assert_uint_eq(DNS_KIT_COUNT(w), 31);
	b[2] |= TC >> 8;
	ck_assert_int_eq(dns_kit_give(w, &m), DNS_NEXT);
	dns_kit_free(w);
}
END_TEST

START_TEST(edns_makes_room)
{
	static const struct {
		unsigned int size, n;
	} t[] = { { 0, 29 }, { 1232, 74 }, { 4096, 200 }, { 65535, 200 } };
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t q[100], b[6000];
	struct wr m;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		m = wr_init(q, sizeof(q));
		dns_kit_head(&m, DNS_KIT_ID, DNS_KIT_RD, 1, 0, 1);
		dns_kit_question(&m, "a.org", DNS_KIT_A);
		dns_kit_opt(&m, t[i].size, 0);
		ck_assert_int_eq(dns_kit_ask_raw(w, q, m.len, false), DNS_ASK);
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, t[i].n);
		for (unsigned int k = 0; k < t[i].n; k++)
			dns_kit_a(&m, "a.org", 60, "8.8.8.8");
		ck_assert_int_eq(dns_kit_give(w, &m), DNS_ANSWER);
		ck_assert_uint_eq(DNS_KIT_COUNT(w), t[i].n);
		ck_assert_uint_eq(dns_kit_at16(w, 10), 1);
	}
	dns_kit_free(w);
}
END_TEST

START_TEST(other_types_are_taken_apart_too)
{
	static const struct {
		unsigned int type;
		const char *data; /* "\300\014" is the asked name */
		size_t len;
		const char *want;
		size_t want_len;
	} t[] = {
		{ 16, "\3abc", 4, "\3abc", 4 },
		{ 15, "\0\12\2mx\300\014", 7, "\0\12\2mx\1a\3org\0", 12 },
		{ 33, "\0\1\0\2\0\3\300\014", 8, "\0\1\0\2\0\3\1a\3org\0", 13 },
		{ 2, "\300\014", 2, "\1a\3org\0", 7 },
		{ 5, "\1b\300\014", 4, "\1b\1a\3org\0", 9 },
		{ 6, "\300\014\1m\300\0141234567890abcdefghij", 26,
		  "\1a\3org\0\1m\1a\3org\0"
		  "1234567890abcdefghij",
		  36 },
	};
	struct dns_kit *w = dns_kit_new(RULES);
	uint8_t b[300];
	struct wr m;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		ck_assert_int_eq(dns_kit_ask(w, "a.org", t[i].type), DNS_ASK);
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 1);
		dns_kit_rr(&m, "a.org", t[i].type, 60, t[i].data, t[i].len);
		ck_assert_msg(dns_kit_give(w, &m) == DNS_ANSWER, "type %u",
			      t[i].type);
		ck_assert_uint_eq(DNS_KIT_COUNT(w), 1);
		ck_assert_uint_eq(
			dns_kit_at16(w, w->out.len - t[i].want_len - 2),
			t[i].want_len);
		for (size_t k = 1; k <= t[i].want_len; k++)
			ck_assert_msg(tolower(w->buf[w->out.len - k]) ==
					      t[i].want[t[i].want_len - k],
				      "type %u", t[i].type);
		/* A byte fewer is a lie, but for text. */
		m = dns_kit_reply(w, b, sizeof(b), QR_RD_RA, 1);
		dns_kit_rr(&m, "a.org", t[i].type, 60, t[i].data, t[i].len - 1);
		ck_assert_int_eq(dns_kit_give(w, &m),
				 t[i].type == 16 ? DNS_ANSWER : DNS_NEXT);
	}
	dns_kit_free(w);
}
END_TEST

CHECK_MAIN("net_dns_reply", an_answer_is_given_and_pinned,
	   an_answer_of_somebody_else_is_dropped,
	   a_record_of_another_name_is_left_out, a_name_is_not_rebound,
	   what_is_left_of_an_answer_is_given, a_chain_is_followed_and_left_out,
	   a_chain_to_a_denied_name_leads_nowhere,
	   a_chain_that_is_none_is_no_answer, an_answer_that_lies_is_no_answer,
	   a_name_by_pointers_is_no_longer_than_a_name,
	   an_answer_has_so_many_records, what_a_resolver_says_of_itself,
	   what_is_too_long_comes_by_tcp, edns_makes_room,
	   other_types_are_taken_apart_too)
