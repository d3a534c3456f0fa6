/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_net_handler.c - requests that a handler answers: what it gets, what
 * it may say, how it is connected to
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/handlers.h"
#include "host/net/intercepts.h"
#include "tests/lib/check_main.h"
#include "tests/lib/icpt_kit.h"
#include "tests/lib/net_kit.h"

#define HANDLED      "{\"intercept\":\"a.org\",\"handler\":\"/run/h.sock\"}"
#define GET          "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"
#define OK           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define OURS(scheme) "X-Hutch-VM: box\r\nX-Hutch-Scheme: " scheme "\r\n"

static void guest(struct icpt_kit *k, const char *text)
{
	icpt_kit_guest(k, text, strlen(text));
}

static void handler(struct icpt_kit *k, const char *text)
{
	icpt_kit_server(k, text, strlen(text));
}

/* ---- What it gets ---- */

START_TEST(it_gets_the_request_and_whose_it_is)
{
	struct icpt_kit *k = icpt_kit_new(HANDLED, true, NULL);

	ck_assert(!icpt_wants_up(k->s));
	guest(k, "POST /x?y HTTP/1.1\r\nHost: A.org\r\nCookie: c\r\n"
		 "Content-Length: 2\r\n\r\nhi");
	ck_assert(icpt_wants_up(k->s));
	ck_assert_str_eq(
		k->server_got,
		"POST /x?y HTTP/1.1\r\nHost: a.org\r\nCookie: c\r\n" OURS(
			"https") "Content-Length: 2\r\n"
				 "Connection: keep-alive\r\n\r\nhi");
	handler(k, OK);
	ck_assert_str_eq(k->guest_got, OK);
	icpt_kit_clear(k);
	guest(k, GET);
	ck_assert_str_eq(k->server_got,
			 "GET / HTTP/1.1\r\nHost: a.org\r\n" OURS(
				 "https") "Connection: keep-alive\r\n\r\n");
	ck_assert_ptr_null(icpt_why(k->s));
	icpt_kit_free(k);
}
END_TEST

START_TEST(the_guest_cannot_say_who_it_is)
{
	struct icpt_kit *k = icpt_kit_new(HANDLED, false, NULL);

	guest(k, "GET / HTTP/1.1\r\nHost: a.org\r\nX-Hutch-VM: other\r\n"
		 "x_hutch.vm: other\r\nX-HUTCH-SCHEME: https\r\n"
		 "X-Hutch-: x\r\nX-Hutch-New: x\r\nX-Hutchery: y\r\n"
		 "X-Hutch: z\r\n\r\n");
	ck_assert_str_eq(
		k->server_got,
		"GET / HTTP/1.1\r\nHost: a.org\r\nX-Hutchery: y\r\n"
		"X-Hutch: z\r\n" OURS("http") "Connection: keep-alive\r\n\r\n");
	icpt_kit_free(k);
	/* A server hears none of it, and all that the guest says. */
	k = icpt_kit_new("{\"intercept\":\"a.org\"}", false, NULL);
	guest(k, "GET / HTTP/1.1\r\nHost: a.org\r\nX-Hutch-VM: o\r\n\r\n");
	ck_assert_str_eq(k->server_got,
			 "GET / HTTP/1.1\r\nHost: a.org\r\nX-Hutch-VM: o\r\n"
			 "Connection: keep-alive\r\n\r\n");
	icpt_kit_free(k);
}
END_TEST

START_TEST(what_is_injected_it_gets)
{
	struct icpt_kit *k = icpt_kit_new(
		"{\"intercept\":\"a.org\",\"handler\":\"/h\",\"inject\":["
		"{\"path\":\"/no\",\"refuse\":true},{\"set\":{\"X-Key\":"
		"\"S\"}}]}",
		false, NULL);

	/* Nobody but the handler reads it, so it needs no TLS. */
	guest(k, GET);
	ck_assert_ptr_nonnull(strstr(k->server_got, "\r\nX-Key: S\r\n"));
	handler(k, OK);
	icpt_kit_clear(k);
	guest(k, "GET /no HTTP/1.1\r\nHost: a.org\r\n\r\n");
	ck_assert_uint_eq(k->server_n, 0);
	ck_assert_ptr_nonnull(strstr(k->guest_got, "HTTP/1.1 403"));
	icpt_kit_free(k);
}
END_TEST

START_TEST(it_gets_nothing_that_is_for_another)
{
	static const char *const other[] = {
		",{\"intercept\":\"b.org\"}",
		",{\"allow\":\"b.org\"}",
		",{\"intercept\":\"b.org\",\"handler\":\"/other\"}",
	};
	static const char get_b[] = "GET / HTTP/1.1\r\nHost: b.org\r\n\r\n";
	struct icpt_kit *k;
	char rules[200];

	for (size_t i = 0; i < ARRAY_LEN(other); i++) {
		(void)snprintf(rules, sizeof(rules), "%s%s", HANDLED, other[i]);
		k = icpt_kit_new(rules, false, NULL);
		guest(k, get_b);
		ck_assert_uint_eq(k->server_n, 0);
		ck_assert(!icpt_wants_up(k->s));
		ck_assert_ptr_nonnull(strstr(k->guest_got, "HTTP/1.1 403"));
		ck_assert_ptr_nonnull(
			strstr(icpt_why(k->s), "another connection"));
		icpt_kit_free(k);
	}
	/* Nor does a server get what a handler is to have. */
	k = icpt_kit_new("{\"intercept\":\"a.org\"},{\"intercept\":\"b.org\","
			 "\"handler\":\"/h\"}",
			 false, NULL);
	guest(k, get_b);
	ck_assert_uint_eq(k->server_n, 0);
	icpt_kit_free(k);
	/* The same handler is the same. */
	(void)snprintf(rules, sizeof(rules),
		       "%s,{\"intercept\":\"b.org\",\"handler\":"
		       "\"/run/h.sock\"}",
		       HANDLED);
	k = icpt_kit_new(rules, false, NULL);
	guest(k, get_b);
	ck_assert_ptr_nonnull(strstr(k->server_got, "Host: b.org\r\n"));
	icpt_kit_free(k);
}
END_TEST

/* ---- What it says ---- */

/* A request was sent; the handler says @text, and maybe no more after that. */
static void try_answer(const char *text, bool eof, const char *status,
		       const char *why)
{
	struct icpt_kit *k = icpt_kit_new(HANDLED, false, NULL);

	guest(k, GET);
	handler(k, text);
	if (eof)
		icpt_kit_eof(k, ICPT_UPSTREAM);
	ck_assert_msg(icpt_is_done(k->s), "%s", text);
	ck_assert_msg(strncmp(k->guest_got, status, strlen(status)) == 0,
		      "%s: %s", text, k->guest_got);
	if (why)
		ck_assert_msg(icpt_why(k->s) && strstr(icpt_why(k->s), why),
			      "%s: %s", text, icpt_why(k->s));
	else
		ck_assert_msg(!icpt_why(k->s), "%s: %s", text, icpt_why(k->s));
	icpt_kit_free(k);
}

START_TEST(what_is_no_answer_is_502)
{
	static const char bad[] = "HTTP/1.1 502 Bad Gateway\r\n";
	static const char malformed[] = "the handler's answer is malformed";

	try_answer("", true, bad, "the handler closed without an answer");
	try_answer("SSH-2.0-x\r\n", false, bad, malformed);
	try_answer("GET / HTTP/1.1\r\n\r\n", false, bad, malformed);
	try_answer("HTTP/1.1 20x OK\r\n\r\n", false, bad, malformed);
	try_answer("HTTP/9999.1 200 OK\r\n\r\n", false, bad, malformed);
	try_answer("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", false, bad,
		   malformed);
	try_answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
		   "Transfer-Encoding: chunked\r\n\r\n",
		   false, bad, malformed);
	try_answer("HTTP/1.1 200 OK\r\nContent-Length: "
		   "99999999999999999999\r\n\r\n",
		   false, bad, malformed);
}
END_TEST

START_TEST(an_answer_that_lies_ends_the_connection)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\n";

	try_answer(ok, true, ok, "the handler broke off its answer");
	try_answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", true, ok,
		   "the handler broke off its answer");
	try_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		   "2\r\nab\r\n",
		   true, ok, "the handler broke off its answer");
	try_answer("HTTP/1.1 101 Switching Protocols\r\n\r\n", false,
		   "HTTP/1.1 101", "the handler switches protocols unasked");
	/* Two for one. */
	try_answer(OK OK, false, OK, "the handler answers what was not asked");
	/* One that ends with the connection is no lie. */
	try_answer("HTTP/1.1 200 OK\r\n\r\nall", true,
		   "HTTP/1.1 200 OK\r\n\r\nall", NULL);
	try_answer("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false,
		   "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL);
	/* It may have enough before it has all. */
	try_answer("HTTP/1.1 413 No\r\nContent-Length: 0\r\n"
		   "Connection: close\r\n\r\n",
		   true, "HTTP/1.1 413 No\r\n", NULL);
}
END_TEST

START_TEST(it_may_answer_in_pieces_and_switch)
{
	struct icpt_kit *k = icpt_kit_new(HANDLED, true, NULL);

	guest(k, "POST / HTTP/1.1\r\nHost: a.org\r\nExpect: 100-continue\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n");
	ck_assert(icpt_waits(k->s) == false);
	handler(k, "HTTP/1.1 100 Continue\r\n\r\n");
	guest(k, "2\r\nab\r\n0\r\n\r\n");
	ck_assert(icpt_waits(k->s));
	ck_assert_ptr_nonnull(strstr(k->server_got, "\r\n2\r\nab\r\n0\r\n"));
	handler(k, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	handler(k, "1\r\nx\r\n");
	handler(k, "0\r\n\r\n");
	ck_assert(!icpt_waits(k->s));
	ck_assert(!icpt_is_done(k->s));
	guest(k, "GET /ws HTTP/1.1\r\nHost: a.org\r\nConnection: Upgrade\r\n"
		 "Upgrade: websocket\r\n\r\n");
	handler(k, "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n"
		   "Upgrade: websocket\r\n\r\n\1\2");
	ck_assert(!icpt_waits(k->s));
	icpt_kit_clear(k);
	guest(k, "no HTTP\n");
	handler(k, "nor this");
	ck_assert_str_eq(k->server_got, "no HTTP\n");
	ck_assert_str_eq(k->guest_got, "nor this");
	icpt_kit_free(k);
}
END_TEST

/* ---- Asking the keeper ---- */

struct asker {
	struct handler_ask ask;
	int n_done;
	int fd;
	unsigned int status;
	const char *why;
};

static void done(struct handler_ask *a, int fd, unsigned int status,
		 const char *why)
{
	struct asker *k = container_of(a, struct asker, ask);

	k->n_done++;
	k->fd = fd;
	k->status = status;
	k->why = why;
}

static void heard(int fd, const char *text)
{
	char buf[200];
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);

	buf[n > 0 ? n : 0] = '\0';
	ck_assert_str_eq(buf, text);
}

START_TEST(the_keeper_is_asked_and_answers)
{
	struct asker a = { .ask = { .path = "/h", .done = done } }, b = a;
	struct handlers h;
	struct loop loop;
	int sv[2], up[2];

	ck_assert_int_eq(loop_init(&loop, NULL), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, up), 0);
	handlers_init(&h, &loop, sv[0]);
	handlers_ask(&h, &a.ask);
	handlers_ask(&h, &b.ask);
	heard(sv[1], "{\"connect\":\"/h\",\"id\":1}");
	heard(sv[1], "{\"connect\":\"/h\",\"id\":2}");
	/* To nobody: the descriptor goes nowhere. */
	handlers_answer(&h, 3, dup(up[1]), NULL);
	handlers_answer(&h, 0, -1, NULL);
	ck_assert_int_eq(a.n_done + b.n_done, 0);
	handlers_answer(&h, 2, up[0], NULL);
	ck_assert_int_eq(b.n_done, 1);
	ck_assert_int_eq(b.fd, up[0]);
	ck_assert(fcntl(b.fd, F_GETFL) & O_NONBLOCK);
	/* Once is all. */
	handlers_answer(&h, 2, -1, "none");
	ck_assert_int_eq(b.n_done, 1);
	/* Busy: asked again, soon. */
	handlers_answer(&h, 1, -1, "busy");
	ck_assert_int_eq(a.n_done, 0);
	while (recv(sv[1], (char[1]){ 0 }, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
		ck_assert_int_ge(loop_step(&loop, 1000), 0);
	heard(sv[1], "{\"connect\":\"/h\",\"id\":3}");
	handlers_answer(&h, 1, -1, "none");
	ck_assert_int_eq(a.n_done, 0);
	handlers_answer(&h, 3, -1, "refused");
	ck_assert_int_eq(a.fd, -1);
	ck_assert_uint_eq(a.status, 502);
	ck_assert_str_eq(a.why, "nobody listens at the handler's socket");
	/* A word that nobody knows, and an answer with nothing in it. */
	for (int i = 0; i < 2; i++) {
		handlers_ask(&h, &a.ask);
		handlers_answer(&h, 4u + (unsigned int)i, -1,
				i ? "strange" : NULL);
		ck_assert_int_eq(a.n_done, 2 + i);
		ck_assert_str_eq(a.why, "the handler cannot be connected to");
	}
	handlers_ask(&h, &a.ask);
	handlers_cancel(&a.ask);
	handlers_cancel(&a.ask);
	handlers_answer(&h, 6, -1, NULL);
	ck_assert_int_eq(a.n_done, 3);
	(void)close(up[0]);
	(void)close(up[1]);
	(void)close(sv[0]);
	(void)close(sv[1]);
	loop_done(&loop);
}
END_TEST

START_TEST(a_keeper_that_does_not_answer_is_given_up)
{
	struct asker a = { .ask = { .path = "/h", .done = done } };
	struct handlers h;
	struct loop loop;
	int sv[2];

	ck_assert_int_eq(loop_init(&loop, NULL), 0);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sv), 0);
	/* It does not even listen, at first. */
	while (send(sv[0], "x", 1, 0) == 1)
		;
	handlers_init(&h, &loop, sv[0]);
	handlers_ask(&h, &a.ask);
	ck_assert_uint_eq(a.ask.id, 0);
	while (recv(sv[1], (char[1]){ 0 }, 1, 0) == 1)
		;
	while (!a.ask.id)
		ck_assert_int_ge(loop_step(&loop, 1000), 0);
	/* (Its time is moved, not waited for.) */
	a.ask.until_ns = loop_now_ns() + 1000000;
	loop_timer_set(&loop, &a.ask.timer, 0, a.ask.timer.fn);
	while (!a.n_done)
		ck_assert_int_ge(loop_step(&loop, 1000), 0);
	ck_assert_uint_eq(a.status, 504);
	ck_assert_str_eq(a.why, "the handler takes no connection");
	(void)close(sv[0]);
	(void)close(sv[1]);
	loop_done(&loop);
}
END_TEST

/* ---- Whom servers are believed by ---- */

/* Return: what intercepts_prepare() does. */
static int prepare(const char *rules, struct err *e)
{
	struct intercepts i = { .vm = "box" };
	struct policy *p = net_kit_policy(rules);
	const char *ca;
	int r;

	*e = (struct err){ 0 };
	intercepts_open(&i);
	r = intercepts_prepare(&i, p, &ca, e);
	intercepts_done(&i);
	policy_unref(p);
	return r;
}

START_TEST(a_bundle_that_is_named_is_that_one_or_none)
{
	static const char direct[] = "{\"intercept\":\"a.org\"}";
	char path[] = "/tmp/hutch-ca-XXXXXX";
	int fd = mkstemp(path);
	struct err e;

	ck_assert_int_eq(setenv("SSL_CERT_FILE", "/nosuch/ca.pem", 1), 0);
	ck_assert_int_eq(prepare(direct, &e), -ENOENT);
	ck_assert_str_eq(e.msg, "SSL_CERT_FILE: cannot open '/nosuch/ca.pem': "
				"No such file or directory");
	/* A handler needs none. */
	ck_assert_msg(prepare(HANDLED, &e) == 0, "%s", e.msg);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(setenv("SSL_CERT_FILE", path, 1), 0);
	ck_assert_int_eq(ftruncate(fd, INTERCEPTS_BUNDLE_MAX + 1), 0);
	ck_assert_int_eq(prepare(direct, &e), -EFBIG);
	ck_assert_msg(strstr(e.msg, "is larger than"), "%s", e.msg);
	ck_assert_int_eq(unsetenv("SSL_CERT_FILE"), 0);
	(void)close(fd);
	(void)unlink(path);
}
END_TEST

CHECK_MAIN("net_handler", it_gets_the_request_and_whose_it_is,
	   the_guest_cannot_say_who_it_is, what_is_injected_it_gets,
	   it_gets_nothing_that_is_for_another, what_is_no_answer_is_502,
	   an_answer_that_lies_ends_the_connection,
	   it_may_answer_in_pieces_and_switch, the_keeper_is_asked_and_answers,
	   a_keeper_that_does_not_answer_is_given_up,
	   a_bundle_that_is_named_is_that_one_or_none)
