/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_icpt.c - requests that are intercepted, and answers */
#include <stdio.h>
#include <string.h>

#include "host/net/intercept/head.h"
#include "tests/lib/check_main.h"
#include "tests/lib/icpt_kit.h"

#define PLAIN "{\"intercept\":\"a.org\"}"
#define RULES                                                               \
	"{\"intercept\":\"a.org\",\"inject\":["                             \
	"{\"method\":\"POST\",\"path\":\"/v1/admin\",\"refuse\":true},"     \
	"{\"path\":\"/v1/\",\"set\":{\"Authorization\":\"Bearer SECRET\"}," \
	"\"add\":{\"X-More\":\"1\"},\"remove\":[\"Cookie\"]}]}"
#define GET "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"
#define BOTH                                       \
	"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" \
	"Transfer-Encoding: chunked\r\n\r\n"
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void guest(struct icpt_kit *k, const char *text)
{
	icpt_kit_guest(k, text, strlen(text));
}

static void server(struct icpt_kit *k, const char *text)
{
	icpt_kit_server(k, text, strlen(text));
}

static struct icpt_kit *https(const char *rules)
{
	return icpt_kit_new(rules, true, "a.org");
}

static struct icpt_kit *http(const char *rules)
{
	return icpt_kit_new(rules, false, NULL);
}

/* The guest was refused with that status, and the server heard nothing. */
static void check_refused(struct icpt_kit *k, const char *status,
			  const char *what)
{
	ck_assert_msg(strncmp(k->guest_got, "HTTP/1.1 ", 9) == 0 &&
			      strncmp(k->guest_got + 9, status, 3) == 0,
		      "%s: %s", what, k->guest_got);
	ck_assert_msg(strstr(k->guest_got, "\r\n\r\nhutch: "), "%s", what);
	ck_assert_msg(k->server_n == 0, "%s: %s", what, k->server_got);
	ck_assert_ptr_nonnull(icpt_why(k->s));
	ck_assert(icpt_is_done(k->s));
}

/* ---- Requests ---- */

START_TEST(a_credential_is_put_in)
{
	struct icpt_kit *k = https(RULES);

	guest(k, "POST /v1/x?y HTTP/1.1\r\nHost: A.org:443\r\n"
		 "authorization: Bearer guess\r\nAUTHORIZATION: Basic x\r\n"
		 "Cookie: c\r\nX-More: 0\r\nContent-Length: 4\r\n"
		 "Connection: close, X-More\r\nTE: trailers\r\n\r\nbody");
	ck_assert_str_eq(k->server_got,
			 "POST /v1/x?y HTTP/1.1\r\nHost: a.org\r\n"
			 "X-More: 0\r\nAuthorization: Bearer SECRET\r\n"
			 "X-More: 1\r\nContent-Length: 4\r\n"
			 "Connection: close\r\n\r\nbody");
	server(k, OK);
	ck_assert_str_eq(k->guest_got, OK);
	ck_assert_ptr_null(icpt_why(k->s));
	ck_assert(icpt_is_done(k->s));
	icpt_kit_free(k);
}
END_TEST

START_TEST(a_name_with_another_hyphen_is_the_same)
{
	struct icpt_kit *k = https("{\"intercept\":\"a.org\",\"inject\":["
				   "{\"set\":{\"X-Api-Key\":\"k\"},"
				   "\"remove\":[\"A_b\"]}]}");

	guest(k,
	      "GET / HTTP/1.1\r\nHost: a.org\r\nx_api-KEY: guess\r\n"
	      "X.Api~Key: guess\r\na-B: c\r\na.b: c\r\nX-Api-Key2: d\r\nX-Api: e\r\n\r\n");
	ck_assert_str_eq(k->server_got,
			 "GET / HTTP/1.1\r\nHost: a.org\r\n"
			 "X-Api-Key2: d\r\nX-Api: e\r\nX-Api-Key: k\r\n"
			 "Connection: keep-alive\r\n\r\n");
	icpt_kit_free(k);
}
END_TEST

START_TEST(a_credential_is_for_its_path_alone)
{
	struct icpt_kit *k = https(RULES);

	guest(k, "GET /v2/ HTTP/1.1\r\nHost: a.org\r\nCookie: c\r\n\r\n");
	ck_assert_str_eq(k->server_got,
			 "GET /v2/ HTTP/1.1\r\nHost: a.org\r\nCookie: c\r\n"
			 "Connection: keep-alive\r\n\r\n");
	server(k, OK);
	icpt_kit_clear(k);
	guest(k, "POST /v1/admin HTTP/1.1\r\nHost: a.org\r\n"
		 "Content-Length: 0\r\n\r\n");
	check_refused(k, "403", "a path that is refused");
	icpt_kit_free(k);
	k = https(RULES);
	guest(k, "GET /v1/%2e%2e/admin HTTP/1.1\r\nHost: a.org\r\n\r\n");
	check_refused(k, "400", "a path of two readings");
	icpt_kit_free(k);
}
END_TEST

START_TEST(a_credential_is_not_for_plain_http)
{
	struct icpt_kit *k = http(RULES);

	guest(k, "GET /v1/ HTTP/1.1\r\nHost: a.org\r\n\r\n");
	check_refused(k, "403", "a credential without TLS");
	icpt_kit_free(k);
	k = http("{\"intercept\":\"a.org\",\"inject\":[{\"set\":{\"A\":"
		 "\"b\"},\"plain\":true}]}");
	guest(k, GET);
	ck_assert_ptr_nonnull(strstr(k->server_got, "\r\nA: b\r\n"));
	icpt_kit_free(k);
}
END_TEST

START_TEST(a_request_that_can_be_read_in_two_ways_is_refused)
{
	static const struct {
		const char *what, *head, *status;
	} t[] = {
		{ "both a length and chunks",
		  "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 4\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n",
		  "400" },
		{ "two lengths",
		  "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 4\r\n"
		  "Content-Length: 5\r\n\r\n",
		  "400" },
		{ "the same length twice",
		  "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 4\r\n"
		  "Content-Length: 4\r\n\r\n",
		  "400" },
		{ "a length with a sign",
		  "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: +4\r\n\r\n",
		  "400" },
		{ "a list of lengths",
		  "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 4, 4"
		  "\r\n\r\n",
		  "400" },
		{ "another coding",
		  "POST / HTTP/1.1\r\nHost: a.org\r\n"
		  "Transfer-Encoding: gzip, chunked\r\n\r\n",
		  "400" },
		{ "chunks that are none",
		  "POST / HTTP/1.1\r\nHost: a.org\r\n"
		  "Transfer-Encoding: xchunked\r\n\r\n",
		  "400" },
		{ "chunks twice",
		  "POST / HTTP/1.1\r\nHost: a.org\r\n"
		  "Transfer-Encoding: chunked\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n",
		  "400" },
		{ "chunks of HTTP/1.0",
		  "POST / HTTP/1.0\r\nHost: a.org\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n",
		  "400" },
		{ "a folded header",
		  "GET / HTTP/1.1\r\nHost: a.org\r\nA: b\r\n c\r\n\r\n",
		  "400" },
		{ "a folded first header",
		  "GET / HTTP/1.1\r\n Host: a.org\r\n\r\n", "400" },
		{ "LF alone", "GET / HTTP/1.1\r\nHost: a.org\nA: b\r\n\r\n",
		  "400" },
		{ "CR alone", "GET / HTTP/1.1\r\nHost: a.org\rA: b\r\n\r\n",
		  "400" },
		{ "a blank before the colon",
		  "GET / HTTP/1.1\r\nHost : a.org\r\n\r\n", "400" },
		{ "a header without a name",
		  "GET / HTTP/1.1\r\nHost: a.org\r\n: b\r\n\r\n", "400" },
		{ "a header without a colon",
		  "GET / HTTP/1.1\r\nHost: a.org\r\nA\r\n\r\n", "400" },
		{ "a name that is no token",
		  "GET / HTTP/1.1\r\nHost: a.org\r\nA(: b\r\n\r\n", "400" },
		{ "no Host", "GET / HTTP/1.1\r\nA: b\r\n\r\n", "400" },
		{ "two Hosts",
		  "GET / HTTP/1.1\r\nHost: a.org\r\nHost: a.org\r\n\r\n",
		  "400" },
		{ "an empty Host", "GET / HTTP/1.1\r\nHost: \r\n\r\n", "400" },
		{ "a Host of another port",
		  "GET / HTTP/1.1\r\nHost: a.org:8443\r\n\r\n", "400" },
		{ "a Host with a user",
		  "GET / HTTP/1.1\r\nHost: x@a.org\r\n\r\n", "400" },
		{ "a Host with a path",
		  "GET / HTTP/1.1\r\nHost: a.org/\r\n\r\n", "400" },
		{ "an address", "GET / HTTP/1.1\r\nHost: 8.8.8.8\r\n\r\n",
		  "400" },
		{ "another Host than SNI",
		  "GET / HTTP/1.1\r\nHost: b.org\r\n\r\n", "421" },
		{ "another host in the target",
		  "GET https://b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n", "400" },
		{ "another scheme",
		  "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n", "400" },
		{ "a user in the target",
		  "GET https://a.org@b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
		  "400" },
		{ "a target without a path",
		  "GET a.org HTTP/1.1\r\nHost: a.org\r\n\r\n", "400" },
		{ "a fragment in the target",
		  "GET /#/../x HTTP/1.1\r\nHost: a.org\r\n\r\n", "400" },
		{ "a proxy",
		  "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n", "405" },
		{ "a wish to see the head as the server gets it",
		  "TRACE / HTTP/1.1\r\nHost: a.org\r\n\r\n", "405" },
		{ "HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400" },
		{ "HTTP/1.2", "GET / HTTP/1.2\r\nHost: a.org\r\n\r\n", "400" },
		{ "HTTP/0.9", "GET /\r\n\r\n", "400" },
		{ "two blanks", "GET  / HTTP/1.1\r\nHost: a.org\r\n\r\n",
		  "400" },
		{ "an empty line before", "\r\n\r\n", "400" },
		{ "an unknown method", "FROB / HTTP/1.1\r\nHost: a.org\r\n\r\n",
		  "400" },
		{ "another expectation",
		  "GET / HTTP/1.1\r\nHost: a.org\r\nExpect: x\r\n\r\n", "400" },
		{ "a target above ASCII",
		  "GET /\xc3\xbc HTTP/1.1\r\nHost: a.org\r\n\r\n", "400" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct icpt_kit *k = https(PLAIN);

		guest(k, t[i].head);
		check_refused(k, t[i].status, t[i].what);
		icpt_kit_free(k);
	}
}
END_TEST

START_TEST(a_request_in_any_right_form_is_taken)
{
	static const struct {
		const char *head, *got;
	} t[] = {
		{ "GET https://A.ORG:443/x HTTP/1.1\r\nHost: a.org.\r\n\r\n",
		  "GET /x HTTP/1.1\r\nHost: a.org\r\n"
		  "Connection: keep-alive\r\n\r\n" },
		{ "GET https://a.org HTTP/1.1\r\nHost: a.org\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: a.org\r\n"
		  "Connection: keep-alive\r\n\r\n" },
		{ "OPTIONS * HTTP/1.1\r\nHost: a.org\r\n\r\n",
		  "OPTIONS * HTTP/1.1\r\nHost: a.org\r\n"
		  "Connection: keep-alive\r\n\r\n" },
		{ "GET / HTTP/1.0\r\nHost: a.org\r\nA:b\r\nB: \t c \r\n\r\n",
		  "GET / HTTP/1.0\r\nHost: a.org\r\nA: b\r\nB: c\r\n"
		  "Connection: close\r\n\r\n" },
		{ "GET / HTTP/1.1\r\nHost: a.org\r\nUpgrade: h2c\r\n"
		  "Connection: Upgrade, HTTP2-Settings\r\n"
		  "HTTP2-Settings: x\r\n\r\n",
		  "GET / HTTP/1.1\r\nHost: a.org\r\n"
		  "Connection: keep-alive\r\n\r\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct icpt_kit *k = https(PLAIN);

		guest(k, t[i].head);
		ck_assert_str_eq(k->server_got, t[i].got);
		icpt_kit_free(k);
	}
}
END_TEST

START_TEST(without_tls_each_host_is_judged)
{
	struct icpt_kit *k;

	/* b.org has the same address, and is not allowed. */
	k = http(PLAIN);
	guest(k, "GET / HTTP/1.1\r\nHost: b.org\r\n\r\n");
	check_refused(k, "403", "a Host that is not allowed");
	icpt_kit_free(k);
	/* It is: then it is nobody's credential. */
	k = http("{\"intercept\":\"a.org\",\"inject\":[{\"set\":{\"A\":"
		 "\"b\"},\"plain\":true}]},{\"allow\":\"b.org\"}");
	guest(k, "GET / HTTP/1.1\r\nHost: b.org\r\n\r\n");
	ck_assert_str_eq(k->server_got, "GET / HTTP/1.1\r\nHost: b.org\r\n"
					"Connection: keep-alive\r\n\r\n");
	icpt_kit_free(k);
	/* A name of another address is not allowed here. */
	k = http(PLAIN ",{\"allow\":\"*\"}");
	guest(k, "GET / HTTP/1.1\r\nHost: c.org\r\n\r\n");
	check_refused(k, "403", "a Host that was not resolved to this");
	icpt_kit_free(k);
}
END_TEST

START_TEST(a_head_has_limits)
{
	struct icpt_kit *k = https(PLAIN);
	char *big = malloc(HEAD_MAX + 1);
	size_t n;

	memset(big, 'a', HEAD_MAX);
	n = (size_t)snprintf(big, HEAD_MAX, "%.*sA: ", (int)strlen(GET) - 2,
			     GET);
	big[n] = 'a'; /* (where the NUL was) */
	icpt_kit_guest(k, big, HEAD_MAX);
	check_refused(k, "431", "a head that is too long");
	icpt_kit_free(k);
	k = https(PLAIN);
	for (n = 0; n < 4; n++)
		big[HEAD_MAX - 4 + n] = "\r\n\r\n"[n];
	icpt_kit_guest(k, big, HEAD_MAX);
	ck_assert_uint_gt(k->server_n, HEAD_MAX);
	icpt_kit_free(k);
	/* 128 headers are taken. */
	for (unsigned int more = 0; more < 2; more++) {
		k = https(PLAIN);
		guest(k, "GET / HTTP/1.1\r\nHost: a.org\r\n");
		for (unsigned int i = 1; i < 128 + more; i++)
			guest(k, "A: b\r\n");
		guest(k, "\r\n");
		if (more)
			check_refused(k, "400", "too many headers");
		else
			ck_assert_uint_gt(k->server_n, 0);
		icpt_kit_free(k);
	}
	free(big);
}
END_TEST

/* ---- Bodies and answers ---- */

START_TEST(requests_follow_one_another)
{
	struct icpt_kit *k = https(PLAIN);

	/* Two at once: the second waits for the answer to the first. */
	guest(k, GET GET);
	ck_assert_uint_eq(k->server_n,
			  strlen(GET) + strlen("Connection: keep-alive"
					       "\r\n"));
	icpt_kit_clear(k);
	server(k, OK);
	ck_assert_str_eq(k->guest_got, OK);
	ck_assert_uint_gt(k->server_n, 0);
	icpt_kit_clear(k);
	server(k, "HTTP/1.1 204 None\r\n\r\n");
	ck_assert_str_eq(k->guest_got, "HTTP/1.1 204 None\r\n\r\n");
	icpt_kit_clear(k);
	/* An answer to HEAD has no body, whatever it says; nor has a 304. */
	guest(k, "HEAD / HTTP/1.1\r\nHost: a.org\r\n\r\n");
	server(k, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
	guest(k, GET);
	server(k, "HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n");
	guest(k, GET);
	server(k, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		  "2\r\nab\r\n");
	server(k, "0\r\n\r\n");
	icpt_kit_clear(k);
	guest(k, GET);
	ck_assert_uint_gt(k->server_n, 0);
	ck_assert(!icpt_is_done(k->s));
	/* And one that says close is the last. */
	server(k, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		  "Content-Length: 0\r\n\r\n");
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_null(icpt_why(k->s));
	icpt_kit_free(k);
}
END_TEST

START_TEST(under_another_policy_there_is_no_next_request)
{
	struct icpt_kit *k = https(PLAIN);

	/* One is under way: it is answered. The one behind it is not sent. */
	guest(k, GET GET);
	icpt_retire(k->s);
	icpt_kit_clear(k);
	server(k, OK);
	ck_assert_str_eq(k->guest_got, OK);
	ck_assert_uint_eq(k->server_n, 0);
	ck_assert(icpt_is_done(k->s));
	icpt_kit_free(k);
	/* And what is idle ends. */
	k = https(PLAIN);
	guest(k, GET);
	server(k, OK);
	ck_assert(!icpt_is_done(k->s));
	icpt_kit_clear(k);
	icpt_retire(k->s);
	guest(k, GET);
	ck_assert_uint_eq(k->server_n, 0);
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_null(icpt_why(k->s));
	icpt_kit_free(k);
}
END_TEST

START_TEST(chunks_are_chunked_anew)
{
	struct icpt_kit *k = https(PLAIN);

	guest(k, "POST / HTTP/1.1\r\nHost: a.org\r\n"
		 "Transfer-Encoding: Chunked\r\n\r\n");
	icpt_kit_clear(k);
	guest(k, "3;x=y\r\nabc\r\n");
	guest(k, "00a\r\n01234");
	guest(k, "56789\r\n0\r\nTrailer: x\r\n\r\n");
	ck_assert_str_eq(k->server_got, "3\r\nabc\r\n5\r\n01234\r\n5\r\n56789"
					"\r\n0\r\n\r\n");
	server(k, OK);
	ck_assert_str_eq(k->guest_got, OK);
	ck_assert(!icpt_is_done(k->s));
	icpt_kit_free(k);
}
END_TEST

START_TEST(chunks_that_lie_end_it)
{
	static const char *const bad[] = {
		"x\r\n",
		"-1\r\n",
		"3\r\nabcd",
		"3\nabc",
		"0x3\r\nabc\r\n",
		"10000000000000000\r\n",
		"ffffffffffffffff1\r\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct icpt_kit *k = https(PLAIN);

		guest(k, "POST / HTTP/1.1\r\nHost: a.org\r\n"
			 "Transfer-Encoding: chunked\r\n\r\n");
		guest(k, bad[i]);
		ck_assert_msg(icpt_is_done(k->s), "%s", bad[i]);
		ck_assert_msg(strncmp(k->guest_got, "HTTP/1.1 400", 12) == 0,
			      "%s", bad[i]);
		/* The server is not told that it was all. */
		ck_assert_msg(!strstr(k->server_got, "0\r\n\r\n"), "%s",
			      bad[i]);
		icpt_kit_free(k);
	}
}
END_TEST

START_TEST(a_hundred_comes_before_the_body)
{
	struct icpt_kit *k = https(PLAIN);

	guest(k, "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 2\r\n"
		 "Expect: 100-continue\r\n\r\n");
	ck_assert_ptr_nonnull(strstr(k->server_got, "Expect: 100-continue"));
	server(k, "HTTP/1.1 100 Continue\r\n\r\n");
	ck_assert_str_eq(k->guest_got, "HTTP/1.1 100 Continue\r\n\r\n");
	icpt_kit_clear(k);
	guest(k, "ab");
	ck_assert_str_eq(k->server_got, "ab");
	server(k, "HTTP/1.1 103 Early\r\nA: b\r\n\r\n" OK);
	ck_assert_ptr_nonnull(strstr(k->guest_got, OK));
	ck_assert(!icpt_is_done(k->s));
	icpt_kit_free(k);
}
END_TEST

#define WS                                                           \
	"GET /ws HTTP/1.1\r\nHost: a.org\r\nConnection: Upgrade\r\n" \
	"Upgrade: WebSocket\r\nSec-WebSocket-Key: x\r\n\r\n"

START_TEST(a_websocket_is_a_tunnel)
{
	struct icpt_kit *k = https(RULES);

	guest(k, WS "early");
	ck_assert_str_eq(k->server_got,
			 "GET /ws HTTP/1.1\r\nHost: a.org\r\n"
			 "Sec-WebSocket-Key: x\r\nConnection: Upgrade\r\n"
			 "Upgrade: websocket\r\n\r\n");
	icpt_kit_clear(k);
	server(k, "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n"
		  "Upgrade: websocket\r\n\r\nhello");
	ck_assert_ptr_nonnull(strstr(k->guest_got, "\r\n\r\nhello"));
	ck_assert_str_eq(k->server_got, "early");
	icpt_kit_clear(k);
	guest(k, "GET / HTTP/1.1\r\n\r\n");
	server(k, "\1\2\3");
	ck_assert_str_eq(k->server_got, "GET / HTTP/1.1\r\n\r\n");
	ck_assert_str_eq(k->guest_got, "\1\2\3");
	/* One side has said all; the other goes on. */
	icpt_kit_eof(k, ICPT_GUEST);
	ck_assert(icpt_is_shut(k->s, ICPT_UPSTREAM));
	ck_assert(!icpt_is_done(k->s));
	server(k, "bye");
	ck_assert_str_eq(k->guest_got, "\1\2\3bye");
	icpt_kit_eof(k, ICPT_UPSTREAM);
	ck_assert(icpt_is_shut(k->s, ICPT_GUEST));
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_null(icpt_why(k->s));
	icpt_kit_free(k);
	/* A server that does not want to. */
	k = https(PLAIN);
	guest(k, WS);
	server(k, OK);
	ck_assert(!icpt_is_done(k->s));
	icpt_kit_clear(k);
	guest(k, GET);
	ck_assert_uint_gt(k->server_n, 0);
	/* And one that does unasked. */
	server(k, "HTTP/1.1 101 Switching\r\n\r\n");
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_nonnull(icpt_why(k->s));
	icpt_kit_free(k);
}
END_TEST

START_TEST(bodies_flow_in_bounded_memory)
{
	static char piece[50000];
	struct icpt_kit *k = https(PLAIN);
	const void *p;

	memset(piece, 'x', sizeof(piece));
	guest(k, "POST / HTTP/1.1\r\nHost: a.org\r\n"
		 "Content-Length: 10000000\r\n\r\n");
	for (int i = 0; i < 200; i++) {
		icpt_kit_clear(k);
		icpt_kit_guest(k, piece, sizeof(piece));
		ck_assert_uint_eq(k->server_n, sizeof(piece));
		ck_assert_uint_le(icpt_room(k->s, ICPT_GUEST), TLS_BUF_MAX);
	}
	server(k, "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n");
	for (int i = 0; i < 200; i++) {
		icpt_kit_clear(k);
		icpt_kit_server(k, piece, sizeof(piece));
		ck_assert_uint_eq(k->guest_n, sizeof(piece));
	}
	ck_assert_uint_eq(icpt_out(k->s, ICPT_GUEST, &p), 0);
	icpt_kit_clear(k);
	guest(k, GET);
	ck_assert_uint_gt(k->server_n, 0);
	icpt_kit_free(k);
}
END_TEST

START_TEST(who_does_not_read_is_waited_for)
{
	static char big[300000];
	struct icpt_kit *k = http(PLAIN);
	const void *p;
	size_t n = 0, room;

	memset(big, 'x', sizeof(big));
	icpt_feed(k->s, ICPT_GUEST, GET, strlen(GET));
	icpt_sent(k->s, ICPT_UPSTREAM, icpt_out(k->s, ICPT_UPSTREAM, &p));
	icpt_feed(k->s, ICPT_UPSTREAM,
		  "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n", 44);
	while ((room = MIN(icpt_room(k->s, ICPT_UPSTREAM), 10000u)) > 0) {
		icpt_feed(k->s, ICPT_UPSTREAM, big, room);
		n += room;
	}
	ck_assert_uint_le(n, 2ul * ICPT_BUF_MAX);
	icpt_sent(k->s, ICPT_GUEST, 1000);
	ck_assert_uint_gt(icpt_room(k->s, ICPT_UPSTREAM), 0);
	icpt_kit_free(k);
}
END_TEST

/* ---- Ends ---- */

START_TEST(a_server_that_is_another_hears_nothing)
{
	struct icpt_kit *k = icpt_kit_new(RULES, true, "b.org");

	guest(k, "GET /v1/ HTTP/1.1\r\nHost: a.org\r\n\r\n");
	check_refused(k, "502", "a server of another name");
	icpt_kit_free(k);
}
END_TEST

START_TEST(what_breaks_off_is_told)
{
	struct icpt_kit *k = https(PLAIN);

	/* Before anything was asked: the first request hears of it. */
	icpt_kit_eof(k, ICPT_UPSTREAM);
	ck_assert(!icpt_is_done(k->s));
	guest(k, GET);
	check_refused(k, "502", "a server that is not there");
	icpt_kit_free(k);
	k = https(PLAIN);
	guest(k, GET);
	icpt_kit_clear(k);
	icpt_kit_eof(k, ICPT_UPSTREAM);
	check_refused(k, "502", "a server that says nothing");
	icpt_kit_free(k);
	k = https(PLAIN);
	guest(k, GET);
	server(k, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
	icpt_kit_eof(k, ICPT_UPSTREAM);
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_nonnull(icpt_why(k->s));
	ck_assert_ptr_null(strstr(k->guest_got, "502"));
	icpt_kit_free(k);
	k = https(PLAIN);
	guest(k, GET);
	server(k, "HTTP/1.1 200 OK\r\n\r\nuntil the end");
	icpt_kit_eof(k, ICPT_UPSTREAM);
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_null(icpt_why(k->s));
	icpt_kit_free(k);
	k = https(PLAIN);
	guest(k, "GET / HT");
	icpt_kit_eof(k, ICPT_GUEST);
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_nonnull(icpt_why(k->s));
	icpt_kit_free(k);
	k = https(PLAIN);
	guest(k, GET);
	icpt_kit_eof(k, ICPT_GUEST);
	ck_assert(!icpt_is_done(k->s));
	server(k, OK);
	ck_assert_str_eq(k->guest_got, OK);
	ck_assert(icpt_is_done(k->s));
	icpt_kit_free(k);
}
END_TEST

START_TEST(an_answer_that_is_none_is_told)
{
	static const char *const bad[] = {
		"220 smtp\r\n",
		BOTH,
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
	};
	struct icpt_kit *k;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		k = https(PLAIN);
		guest(k, GET);
		icpt_kit_clear(k);
		server(k, bad[i]);
		check_refused(k, "502", bad[i]);
		icpt_kit_free(k);
	}
	k = https(PLAIN);
	guest(k, GET);
	server(k, OK OK);
	ck_assert(icpt_is_done(k->s));
	ck_assert_str_eq(k->guest_got, OK);
	ck_assert_ptr_nonnull(icpt_why(k->s));
	icpt_kit_free(k);
}
END_TEST

/* The path that counts is the one that was looked at. */
START_TEST(headers_that_name_another_path_are_not_passed_on)
{
	struct icpt_kit *k = https(RULES);

	guest(k, "POST /v1/x HTTP/1.1\r\nHost: a.org\r\n"
		 "X-Original-URL: /v1/admin\r\nx_rewrite_url: /v1/admin\r\n"
		 "Content-Length: 0\r\n\r\n");
	ck_assert_ptr_nonnull(strstr(k->server_got, "POST /v1/x HTTP/1.1"));
	ck_assert_ptr_nonnull(strstr(k->server_got, "SECRET"));
	ck_assert_ptr_null(strstr(k->server_got, "admin"));
	icpt_kit_free(k);
}
END_TEST

/* Some servers read them as what they look like. */
START_TEST(headers_that_look_like_framing_are_not_passed_on)
{
	struct icpt_kit *k = http(PLAIN);

	guest(k, "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 2\r\n"
		 "Transfer_Encoding: chunked\r\nTransfer.Encoding: chunked\r\n"
		 "Content_Length: 0\r\nProxy_Connection: close\r\n"
		 "X_Other: 1\r\n\r\nok");
	ck_assert_ptr_nonnull(strstr(k->server_got, "Content-Length: 2\r\n"));
	ck_assert_ptr_nonnull(strstr(k->server_got, "X_Other: 1\r\n"));
	ck_assert_ptr_null(strstr(k->server_got, "ncoding"));
	ck_assert_ptr_null(strstr(k->server_got, "Content_"));
	ck_assert_ptr_null(strstr(k->server_got, "Proxy"));
	icpt_kit_free(k);
}
END_TEST

/* Its own ClientHello is all that it gets. */
START_TEST(a_server_that_never_finishes_its_handshake_is_told)
{
	struct icpt_kit *k = https(PLAIN);

	tls_free(take_ptr(&k->server));
	guest(k, GET);
	ck_assert_int_eq(icpt_state(k->s), ICPT_BEGINS);
	ck_assert_uint_eq(k->guest_n, 0);
	icpt_late(k->s);
	guest(k, "");
	ck_assert_ptr_eq(strstr(k->guest_got, "HTTP/1.1 502"), k->guest_got);
	ck_assert_ptr_nonnull(strstr(k->guest_got, "takes too long"));
	ck_assert(icpt_is_done(k->s));
	icpt_kit_free(k);
}
END_TEST

START_TEST(a_guest_that_never_finishes_its_handshake_is_left)
{
	struct icpt_kit *k = https(PLAIN);

	tls_free(take_ptr(&k->guest));
	server(k, "");
	ck_assert_int_eq(icpt_state(k->s), ICPT_BEGINS);
	icpt_late(k->s);
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_nonnull(strstr(icpt_why(k->s), "takes too long"));
	icpt_kit_free(k);
}
END_TEST

START_TEST(between_requests_it_rests)
{
	struct icpt_kit *k = https(PLAIN);

	ck_assert_int_eq(icpt_state(k->s), ICPT_BEGINS);
	guest(k, "");
	ck_assert_int_eq(icpt_state(k->s), ICPT_RESTS);
	guest(k, GET);
	ck_assert_int_eq(icpt_state(k->s), ICPT_BUSY);
	server(k, OK);
	ck_assert_int_eq(icpt_state(k->s), ICPT_RESTS);
	icpt_late(k->s);
	guest(k, "");
	ck_assert(icpt_is_done(k->s));
	ck_assert_ptr_null(icpt_why(k->s));
	icpt_kit_free(k);
}
END_TEST

CHECK_MAIN("net_icpt", a_credential_is_put_in,
	   a_name_with_another_hyphen_is_the_same,
	   a_credential_is_for_its_path_alone,
	   a_credential_is_not_for_plain_http,
	   a_request_that_can_be_read_in_two_ways_is_refused,
	   a_request_in_any_right_form_is_taken,
	   without_tls_each_host_is_judged, a_head_has_limits,
	   requests_follow_one_another,
	   under_another_policy_there_is_no_next_request,
	   chunks_are_chunked_anew, chunks_that_lie_end_it,
	   a_hundred_comes_before_the_body, a_websocket_is_a_tunnel,
	   bodies_flow_in_bounded_memory, who_does_not_read_is_waited_for,
	   a_server_that_is_another_hears_nothing, what_breaks_off_is_told,
	   an_answer_that_is_none_is_told,
	   headers_that_look_like_framing_are_not_passed_on,
	   headers_that_name_another_path_are_not_passed_on,
	   a_server_that_never_finishes_its_handshake_is_told,
	   a_guest_that_never_finishes_its_handshake_is_left,
	   between_requests_it_rests)
