/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_hello.c - ClientHellos, whole, in pieces, and lying */
#include <string.h>

#include "common/wr.h"
#include "host/net/policy/clienthello.h"
#include "tests/lib/check_main.h"

#define CAP 40000u

/* ---- Making them ---- */

static void u16(struct wr *w, size_t v)
{
	wr_u8(w, (uint8_t)(v >> 8));
	wr_u8(w, (uint8_t)v);
}

/* An extension with a name in it, as RFC 6066 has it. */
static void put_sni(struct wr *w, unsigned int type, const void *name,
		    size_t len)
{
	u16(w, 0);
	u16(w, len + 5);
	u16(w, len + 3);
	wr_u8(w, (uint8_t)type);
	u16(w, len);
	wr_bytes(w, name, len);
}

static void put_ext(struct wr *w, unsigned int type, const void *data,
		    size_t len)
{
	u16(w, type);
	u16(w, len);
	wr_bytes(w, data, len);
}

/* The message around extensions; NULL: none at all. */
static size_t message(uint8_t *buf, const void *exts, size_t len)
{
	static const uint8_t zero[32];
	struct wr w = wr_init(buf, CAP);
	size_t body = 2 + 32 + 1 + 32 + 2 + 4 + 1 + 1 + (exts ? 2 + len : 0);

	wr_u8(&w, 1);
	wr_u8(&w, (uint8_t)(body >> 16));
	u16(&w, body & 0xffff);
	u16(&w, 0x0303);
	wr_bytes(&w, zero, 32);
	wr_u8(&w, 32);
	wr_bytes(&w, zero, 32);
	u16(&w, 4);
	u16(&w, 0x1301);
	u16(&w, 0x0a0a);
	wr_u8(&w, 1);
	wr_u8(&w, 0);
	if (exts) {
		u16(&w, len);
		wr_bytes(&w, exts, len);
	}
	ck_assert(!w.bad && w.len == body + 4);
	return w.len;
}

/* The same in records of at most @max bytes. */
static size_t records(uint8_t *out, const uint8_t *msg, size_t len, size_t max)
{
	struct wr w = wr_init(out, CAP);

	for (size_t at = 0; at < len; at += max) {
		size_t n = MIN(max, len - at);

		wr_u8(&w, 22);
		u16(&w, 0x0301);
		u16(&w, n);
		wr_bytes(&w, msg + at, n);
	}
	ck_assert(!w.bad);
	return w.len;
}

/* Fed in pieces of @step bytes, each a copy of exact size. */
static enum hello feed(struct hello_state *h, const uint8_t *b, size_t len,
		       size_t step)
{
	enum hello r = HELLO_MORE;

	memset(h, 0, sizeof(*h));
	for (size_t at = 0; at < len; at += step) {
		size_t n = MIN(step, len - at);
		void *copy = check_copy(b + at, n);

		r = hello_feed(h, copy, n);
		free(copy);
	}
	return r;
}

/* Extensions in one record in one piece. */
static enum hello of_exts(struct hello_state *h, const void *exts, size_t len)
{
	uint8_t msg[CAP], out[CAP];
	size_t n = message(msg, exts, len);

	n = records(out, msg, n, 16384);
	return feed(h, out, n, n);
}

static enum hello of_name(struct hello_state *h, const void *name, size_t len)
{
	uint8_t exts[1000];
	struct wr w = wr_init(exts, sizeof(exts));

	put_sni(&w, 0, name, len);
	return of_exts(h, exts, w.len);
}

/* ---- Tests ---- */

START_TEST(a_name_is_found_however_it_is_cut)
{
	static const size_t rec[] = { 1, 3, 4, 5, 100, 16384 };
	static const size_t step[] = { 1, 2, 5, 7, 1000, CAP };
	static const uint8_t alpn[] = { 0,   12,  2,   'h', '2', 8,   'h',
					't', 't', 'p', '/', '1', '.', '1' };
	uint8_t exts[200], msg[CAP], out[CAP];
	struct wr w = wr_init(exts, sizeof(exts));
	struct hello_state h;
	size_t n;

	put_ext(&w, 0x2a2a, "", 0);
	put_sni(&w, 0, "Api.Example.ORG", 15);
	put_ext(&w, 0x0010, alpn, sizeof(alpn));
	n = message(msg, exts, w.len);
	for (size_t i = 0; i < ARRAY_LEN(rec) * ARRAY_LEN(step); i++) {
		size_t len = records(out, msg, n, rec[i % ARRAY_LEN(rec)]);

		ck_assert_int_eq(feed(&h, out, len, step[i / ARRAY_LEN(rec)]),
				 HELLO_DONE);
		ck_assert_str_eq(h.name, "api.example.org");
		ck_assert(h.alpn && h.alpn_http1 && h.alpn_h2);
		/* A byte too few is not enough; more is not looked at. */
		ck_assert_int_eq(feed(&h, out, len - 1, 10000), HELLO_MORE);
		ck_assert_str_eq(h.name, "");
	}
}
END_TEST

START_TEST(a_hello_of_sixteen_kib_is_read_and_no_larger)
{
	static uint8_t pad[17000];
	const size_t others = 2 + 32 + 1 + 32 + 2 + 4 + 1 + 1 + 2;
	uint8_t exts[CAP], msg[CAP], out[CAP];
	struct hello_state *h = malloc(sizeof(*h));

	for (size_t more = 0; more < 2; more++) {
		struct wr w = wr_init(exts, sizeof(exts));
		size_t n;

		put_sni(&w, 0, "a.org", 5);
		n = HELLO_MAX - others - w.len - 4 + more;
		put_ext(&w, 21, pad, n);
		n = message(msg, exts, w.len);
		ck_assert_uint_eq(n, HELLO_MAX + 4 + more);
		n = records(out, msg, n, 1000);
		ck_assert_int_eq(feed(h, out, n, 999),
				 more ? HELLO_BAD : HELLO_DONE);
		ck_assert_str_eq(h->name, more ? "" : "a.org");
	}
	free(h);
}
END_TEST

START_TEST(a_hello_may_name_nobody)
{
	uint8_t msg[CAP], out[CAP], exts[100];
	struct wr w = wr_init(exts, sizeof(exts));
	struct hello_state h;
	size_t n = message(msg, NULL, 0);

	n = records(out, msg, n, 16384);
	ck_assert_int_eq(feed(&h, out, n, n), HELLO_DONE);
	ck_assert_str_eq(h.name, "");
	ck_assert_int_eq(of_exts(&h, "", 0), HELLO_DONE);
	ck_assert_str_eq(h.name, "");
	/* GREASE or not, the outer name is what there is. */
	put_ext(&w, 0xfe0d, "\0\0\1\0\1x", 6);
	put_sni(&w, 0, "outer.example", 13);
	ck_assert_int_eq(of_exts(&h, exts, w.len), HELLO_DONE);
	ck_assert_str_eq(h.name, "outer.example");
	/* RFC 6066, 3: an address is no host name. */
	ck_assert_int_eq(of_name(&h, "127.0.0.1", 9), HELLO_DONE);
	ck_assert_str_eq(h.name, "");
	ck_assert_int_eq(of_name(&h, "0x7f.1", 6), HELLO_DONE);
	ck_assert_str_eq(h.name, "");
	ck_assert_int_eq(of_name(&h, "::1", 3), HELLO_DONE);
	ck_assert_str_eq(h.name, "");
}
END_TEST

START_TEST(a_name_that_is_none_is_bad)
{
	static const char long_name[300] = "a";
	struct hello_state h;

	ck_assert_int_eq(of_name(&h, "a.org", 5), HELLO_DONE);
	ck_assert_int_eq(of_name(&h, "a.org.", 6), HELLO_DONE);
	ck_assert_str_eq(h.name, "a.org");
	ck_assert_int_eq(of_name(&h, "", 0), HELLO_BAD);
	ck_assert_int_eq(of_name(&h, "a.org\0.evil", 11), HELLO_BAD);
	ck_assert_str_eq(h.name, "");
	ck_assert_int_eq(of_name(&h, "a org", 5), HELLO_BAD);
	ck_assert_int_eq(of_name(&h, "a%2eorg", 7), HELLO_BAD);
	ck_assert_int_eq(of_name(&h, "*.a.org", 7), HELLO_BAD);
	ck_assert_int_eq(of_name(&h,
				 "b\xc3\xbc"
				 "cher.org",
				 11),
			 HELLO_BAD);
	ck_assert_int_eq(of_name(&h, long_name, sizeof(long_name)), HELLO_BAD);
}
END_TEST

START_TEST(two_names_are_bad)
{
	static const uint8_t list[] = {
		0,   16, 0, 0, 5,   'a', '.', 'o', 'r',
		'g', 0,  0, 5, 'b', '.', 'o', 'r', 'g'
	};
	uint8_t exts[100];
	struct wr w = wr_init(exts, sizeof(exts));
	struct hello_state h;

	put_sni(&w, 0, "a.org", 5);
	put_sni(&w, 0, "b.org", 5);
	ck_assert_int_eq(of_exts(&h, exts, w.len), HELLO_BAD);
	ck_assert_str_eq(h.name, "");
	w = wr_init(exts, sizeof(exts));
	put_ext(&w, 0, list, sizeof(list));
	ck_assert_int_eq(of_exts(&h, exts, w.len), HELLO_BAD);
	w = wr_init(exts, sizeof(exts));
	put_sni(&w, 1, "a.org", 5);
	ck_assert_int_eq(of_exts(&h, exts, w.len), HELLO_BAD);
}
END_TEST

START_TEST(lists_that_lie_are_bad)
{
	static const struct {
		const char *what;
		uint8_t b[16];
		size_t len;
	} t[] = {
		{ "SNI of nothing", { 0, 0, 0, 0 }, 4 },
		{ "SNI list is short", { 0, 0, 0, 4, 0, 3, 0, 0 }, 8 },
		{ "SNI name past its list",
		  { 0, 0, 0, 6, 0, 4, 0, 0, 2, 'a' },
		  10 },
		{ "SNI list past its extension",
		  { 0, 0, 0, 6, 0, 5, 0, 0, 1, 'a' },
		  10 },
		{ "bytes behind the SNI list",
		  { 0, 0, 0, 7, 0, 4, 0, 0, 1, 'a', 0 },
		  11 },
		{ "extension past the end", { 0, 9, 0, 1 }, 4 },
		{ "half an extension", { 0, 9, 0 }, 3 },
		{ "ALPN of nothing", { 0, 16, 0, 2, 0, 0 }, 6 },
		{ "ALPN with an empty name", { 0, 16, 0, 3, 0, 1, 0 }, 7 },
		{ "ALPN past its list", { 0, 16, 0, 4, 0, 2, 2, 'h' }, 8 },
		{ "ALPN twice",
		  { 0, 16, 0, 4, 0, 2, 1, 'h', 0, 16, 0, 4, 0, 2, 1, 'h' },
		  16 },
		{ "bytes behind ALPN", { 0, 16, 0, 5, 0, 2, 1, 'h', 0 }, 9 },
	};
	struct hello_state h;

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		ck_assert_msg(of_exts(&h, t[i].b, t[i].len) == HELLO_BAD, "%s",
			      t[i].what);
	/* What comes before the last of them is good. */
	ck_assert_int_eq(of_exts(&h, t[10].b, 8), HELLO_DONE);
	ck_assert_int_eq(of_exts(&h, t[3].b, 0), HELLO_DONE);
}
END_TEST

/* A good message with one byte changed. */
static enum hello changed(size_t at, uint8_t to)
{
	uint8_t exts[100], msg[CAP], out[CAP];
	struct wr w = wr_init(exts, sizeof(exts));
	struct hello_state h;
	size_t n;

	put_sni(&w, 0, "a.org", 5);
	n = message(msg, exts, w.len);
	if (at < n)
		msg[at] = to;
	n = records(out, msg, n, 16384);
	return feed(&h, out, n, n);
}

START_TEST(messages_that_lie_are_bad)
{
	const size_t session = 4 + 2 + 32, suites = session + 33;
	const size_t methods = suites + 6, exts = methods + 2;

	ck_assert_int_eq(changed(CAP, 0), HELLO_DONE);
	ck_assert_int_eq(changed(0, 2), HELLO_BAD);  /* ServerHello */
	ck_assert_int_eq(changed(0, 0), HELLO_BAD);  /* HelloRequest */
	ck_assert_int_eq(changed(1, 1), HELLO_BAD);  /* 64 KiB more */
	ck_assert_int_eq(changed(3, 10), HELLO_BAD); /* ends early */
	ck_assert_int_eq(changed(3, 255), HELLO_MORE);
	ck_assert_int_eq(changed(4, 2), HELLO_BAD); /* version 2.3 */
	ck_assert_int_eq(changed(session, 33), HELLO_BAD);
	ck_assert_int_eq(changed(suites + 1, 3), HELLO_BAD);
	ck_assert_int_eq(changed(suites + 1, 0), HELLO_BAD);
	ck_assert_int_eq(changed(suites, 1), HELLO_BAD);
	ck_assert_int_eq(changed(methods, 0), HELLO_BAD);
	ck_assert_int_eq(changed(methods, 200), HELLO_BAD);
	ck_assert_int_eq(changed(exts + 1, 13), HELLO_BAD);
	ck_assert_int_eq(changed(exts + 1, 15), HELLO_BAD);
}
END_TEST

static enum hello raw(const void *b, size_t len)
{
	struct hello_state h;
	enum hello one = feed(&h, b, len, 1);

	ck_assert_int_eq(feed(&h, b, len, len), one);
	ck_assert_str_eq(h.name, "");
	return one;
}

START_TEST(what_is_no_tls_is_told_soon)
{
	ck_assert_int_eq(raw("GET / HTTP/1.1\r\n", 16), HELLO_NOT_TLS);
	ck_assert_int_eq(raw("S", 1), HELLO_NOT_TLS);
	ck_assert_int_eq(raw("\0", 1), HELLO_NOT_TLS);
	/* A length and a number, as Minecraft begins, and MongoDB. */
	ck_assert_int_eq(raw("\x16\0\xf6\5\x0fmc", 7), HELLO_NOT_TLS);
	ck_assert_int_eq(raw("\x15\1\0\0\1\0\0\0", 8), HELLO_NOT_TLS);
	ck_assert_int_eq(raw("\x16\x20\x01\x40\x01", 5), HELLO_NOT_TLS);
	ck_assert_int_eq(raw("\x80\x2e\x02", 3), HELLO_NOT_TLS);
	ck_assert_int_eq(raw("\x80\x2e\x01\x04", 4), HELLO_NOT_TLS);
	ck_assert_int_eq(raw("\x16", 1), HELLO_MORE);
	ck_assert_int_eq(raw("\x16\x02\x00\x00\x2e", 5), HELLO_MORE);
	ck_assert_int_eq(raw("\x16\x03\x01\x00", 4), HELLO_MORE);
	ck_assert_int_eq(raw("\x80\x2e\x01\x03", 4), HELLO_MORE);
}
END_TEST

START_TEST(what_a_server_might_take_for_tls_is_not_plain)
{
	/* Alert, change of cipher, data and heartbeat come later. */
	ck_assert_int_eq(raw("\x15\x03", 2), HELLO_BAD);
	ck_assert_int_eq(raw("\x14\x03", 2), HELLO_BAD);
	ck_assert_int_eq(raw("\x17\x03", 2), HELLO_BAD);
	ck_assert_int_eq(raw("\x18\x03", 2), HELLO_BAD);
	/* Of a version that there is none of. */
	ck_assert_int_eq(raw("\x16\x04\x01\x00\x2e\x01", 6), HELLO_BAD);
	ck_assert_int_eq(raw("\x16\x02\x00\x00\x2e\x01", 6), HELLO_BAD);
	ck_assert_int_eq(raw("\x16\x00\x00\x40\x00\x01", 6), HELLO_BAD);
	ck_assert_int_eq(raw("\x16\xff\xff\x00\x2e\x01", 6), HELLO_BAD);
	ck_assert_int_eq(raw("\x15\x00\x00\x00\x02\x01", 6), HELLO_BAD);
	ck_assert_int_eq(raw("\x16\x00\x00\x00\x00", 5), HELLO_BAD);
	/* A record of nothing, or of more than there can be. */
	ck_assert_int_eq(raw("\x16\x03\x01\x00\x00", 5), HELLO_BAD);
	ck_assert_int_eq(raw("\x16\x03\x01\x40\x01", 5), HELLO_BAD);
	ck_assert_int_eq(raw("\x16\x03\x01\x40\x00", 5), HELLO_MORE);
	/* Something else in the middle of the message. */
	ck_assert_int_eq(raw("\x16\x03\x01\0\1\1\x15\x03\x01\0\1", 11),
			 HELLO_BAD);
	ck_assert_int_eq(raw("\x16\x03\x01\0\1\1\x16\x02\x01\0\1", 11),
			 HELLO_BAD);
	/* SSL 2: TLS, and names nobody. */
	ck_assert_int_eq(raw("\x80\x2e\x01\x03\x01", 5), HELLO_DONE);
	ck_assert_int_eq(raw("\x80\x2e\x01\x00\x02", 5), HELLO_DONE);
}
END_TEST

START_TEST(a_hello_is_all_that_its_record_has)
{
	uint8_t msg[CAP], out[CAP];
	size_t n = message(msg, NULL, 0), len;

	len = records(out, msg, n, 16384);
	ck_assert_int_eq(raw(out, len), HELLO_DONE);
	/* What follows in a record of its own is not looked at. */
	memset(out + len, 'x', 3);
	ck_assert_int_eq(raw(out, len + 3), HELLO_DONE);
	memset(msg + n, 0, 4);
	msg[n] = 20;
	len = records(out, msg, n + 4, 16384);
	ck_assert_int_eq(raw(out, len), HELLO_BAD);
}
END_TEST

CHECK_MAIN("net_hello", a_name_is_found_however_it_is_cut,
	   a_hello_of_sixteen_kib_is_read_and_no_larger,
	   a_hello_may_name_nobody, a_name_that_is_none_is_bad,
	   two_names_are_bad, lists_that_lie_are_bad, messages_that_lie_are_bad,
	   what_is_no_tls_is_told_soon,
	   what_a_server_might_take_for_tls_is_not_plain,
	   a_hello_is_all_that_its_record_has)
