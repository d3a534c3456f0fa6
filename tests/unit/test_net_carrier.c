/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_carrier.c - interceptions between sockets, in a loop */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/intercept/carrier.h"
#include "host/net/policy/pins.h"
#include "tests/lib/check_main.h"
#include "tests/lib/net_kit.h"

#define GET "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"
#define OK  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define BIG 1000000u

#define NEVER   (3600ull * 1000000000)
#define SOON    1000000ull
#define A_WHILE 300000000ull /* of a handler that is there at once */
#define HANDLED "{\"intercept\":\"a.org\",\"handler\":\"/h\"}"

/*
 * @guest and @server are the far ends; of a handler the latter comes later. @wait_ns
 * is for all that may take a while; 0: any time.
 */
struct world {
	struct loop loop;
	struct policy *p;
	struct pins *pins;
	struct carrier *c;
	int guest;
	int server;
	uint64_t wait_ns;
	int n_wanted;
	int n_ended;
	const char *why;
};

static void want_up(void *arg, struct carrier *c)
{
	struct world *w = arg;

	ck_assert_ptr_eq(c, w->c);
	w->n_wanted++;
}

static void ended(void *arg, struct carrier *c, const char *why)
{
	struct world *w = arg;

	ck_assert_ptr_eq(c, w->c);
	w->c = NULL;
	w->n_ended++;
	w->why = why;
}

static void start(struct world *w, int up_fd)
{
	const uint64_t ns = w->wait_ns ? w->wait_ns : NEVER;
	struct carrier_opts o = { .loop = &w->loop,
				  .up_fd = up_fd,
				  .begin_ns = ns,
				  .rest_ns = ns,
				  .idle_ns = ns,
				  .want_up = want_up,
				  .ended = ended,
				  .arg = w };
	struct err e = { 0 };
	int sv[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv), 0);
	w->guest = sv[0];
	o.guest_fd = sv[1];
	o.icpt = (struct icpt_opts){ .policy = w->p,
				     .pins = w->pins,
				     .name = "a.org",
				     .port = 80,
				     .dst = net_kit_addr("8.8.8.8") };
	ck_assert_msg(carrier_start(&o, &w->c, &e) == 0, "%s", e.msg);
}

static struct world *begin(const char *rules)
{
	struct world *w = calloc(1, sizeof(*w));

	ck_assert_int_eq(loop_init(&w->loop, NULL), 0);
	w->p = net_kit_policy(rules);
	w->pins = pins_new();
	w->server = -1;
	return w;
}

/* The end for the carrier; the other is @server. */
static int pair(struct world *w)
{
	int sv[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv), 0);
	w->server = sv[0];
	return sv[1];
}

static struct world *world_that_is(bool hasty)
{
	struct world *w = begin("{\"intercept\":\"a.org\"}");

	w->wait_ns = hasty ? SOON : 0;
	start(w, pair(w));
	return w;
}

static struct world *handled(uint64_t wait_ns)
{
	struct world *w = begin(HANDLED);

	w->wait_ns = wait_ns;
	start(w, -1);
	return w;
}

static struct world *world(void)
{
	return world_that_is(false);
}

static void end(struct world *w)
{
	carrier_stop(w->c);
	if (w->guest >= 0)
		(void)close(w->guest);
	if (w->server >= 0)
		(void)close(w->server);
	loop_done(&w->loop);
	pins_free(w->pins);
	policy_unref(w->p);
	free(w);
}

/* Until nothing happens any more. */
static void run(struct world *w)
{
	for (int i = 0; i < 10000; i++) {
		int n = loop_step(&w->loop, 0);

		ck_assert_int_ge(n, 0);
		if (n == 0)
			return;
	}
	ck_abort_msg("it spins");
}

static void say(struct world *w, int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), 0),
			 (ssize_t)strlen(text));
	run(w);
}

/* What is there to be read, as a string. */
static const char *hear(int fd, char *buf, size_t cap)
{
	ssize_t n = recv(fd, buf, cap - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static void check_end(int fd)
{
	char byte;

	ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
}

START_TEST(a_request_goes_and_its_answer_comes)
{
	struct world *w = world();
	char buf[1000];

	for (int i = 0; i < 2; i++) {
		say(w, w->guest, GET);
		ck_assert_ptr_nonnull(strstr(hear(w->server, buf, sizeof(buf)),
					     "\r\nHost: a.org\r\n"));
		say(w, w->server, OK);
		ck_assert_str_eq(hear(w->guest, buf, sizeof(buf)), OK);
	}
	/* The guest has enough. */
	(void)close(take_fd(&w->guest));
	run(w);
	ck_assert_int_eq(w->n_ended, 1);
	ck_assert_ptr_null(w->why);
	check_end(w->server);
	end(w);
}
END_TEST

START_TEST(a_refusal_is_read_to_its_end)
{
	struct world *w = world();
	char buf[1000];

	say(w, w->guest, "GET / HTTP/1.1\r\nHost: b.org\r\n\r\n");
	check_end(w->server);
	/* What still comes is thrown away, and no reset. */
	say(w, w->guest, "more, and more");
	ck_assert_int_eq(
		strncmp(hear(w->guest, buf, sizeof(buf)), "HTTP/1.1 403", 12),
		0);
	check_end(w->guest);
	ck_assert_int_eq(w->n_ended, 0);
	(void)close(take_fd(&w->guest));
	run(w);
	ck_assert_int_eq(w->n_ended, 1);
	ck_assert_ptr_nonnull(w->why);
	end(w);
}
END_TEST

START_TEST(who_stays_after_the_end_is_left)
{
	struct world *w = world();

	say(w, w->guest, "GET / HTTP/1.1\r\nHost: b.org\r\n\r\n");
	ck_assert_int_eq(w->n_ended, 0);
	while (w->n_ended == 0)
		ck_assert_int_ge(loop_step(&w->loop, 5000), 0);
	end(w);
}
END_TEST

START_TEST(much_goes_through_to_one_who_is_slow)
{
	struct world *w = world();
	char *big = calloc(1, BIG), buf[5000], head[100];
	size_t sent = 0, got = 0;
	ssize_t n;

	memset(big, 'x', BIG);
	say(w, w->guest, GET);
	(void)snprintf(head, sizeof(head),
		       "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", BIG);
	say(w, w->server, head);
	for (int i = 0; i < 100000 && got < BIG + strlen(head); i++) {
		n = send(w->server, big + sent, BIG - sent, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		run(w);
		/* It has all been said: hang up, while much waits. */
		if (sent == BIG && w->server >= 0)
			(void)close(take_fd(&w->server));
		n = recv(w->guest, buf, sizeof(buf), 0);
		got += n > 0 ? (size_t)n : 0;
	}
	ck_assert_uint_eq(got, BIG + strlen(head));
	run(w);
	check_end(w->guest);
	free(big);
	end(w);
}
END_TEST

START_TEST(what_is_idle_ends_under_another_policy)
{
	struct world *w = world();
	char buf[1000];

	say(w, w->guest, GET);
	carrier_retire(w->c);
	run(w);
	say(w, w->server, OK);
	ck_assert_str_eq(hear(w->guest, buf, sizeof(buf)), OK);
	check_end(w->guest);
	end(w);
	w = world();
	run(w);
	carrier_retire(w->c);
	run(w);
	check_end(w->guest);
	end(w);
}
END_TEST

/* Until it is over, by timers alone. */
static void wait_for_end(struct world *w)
{
	while (w->n_ended == 0)
		ck_assert_int_ge(loop_step(&w->loop, 5000), 0);
}

START_TEST(who_says_nothing_is_left)
{
	struct world *w = world_that_is(true);

	/* No request, which is nobody's fault. */
	wait_for_end(w);
	ck_assert_ptr_null(w->why);
	check_end(w->guest);
	check_end(w->server);
	end(w);
}
END_TEST

START_TEST(a_server_that_never_answers_is_left)
{
	struct world *w = world_that_is(true);

	ck_assert_int_gt(send(w->guest, GET, strlen(GET), 0), 0);
	wait_for_end(w);
	ck_assert_str_eq(w->why, "nothing came for too long");
	end(w);
}
END_TEST

/* The answer is never read, and nothing else waits for it. */
START_TEST(who_does_not_read_what_it_is_told_is_left)
{
	struct world *w = world_that_is(true);
	static const char head[] = "HTTP/1.1 200 OK\r\n"
				   "Content-Length: 10000000\r\n\r\n";
	static char big[300000];
	ssize_t n;

	ck_assert_int_gt(send(w->guest, GET, strlen(GET), 0), 0);
	ck_assert_int_ge(loop_step(&w->loop, 1000), 0);
	ck_assert_int_gt(send(w->server, head, strlen(head), MSG_NOSIGNAL), 0);
	do
		n = send(w->server, big, sizeof(big), MSG_NOSIGNAL);
	while (n > 0 && loop_step(&w->loop, 0) >= 0);
	wait_for_end(w);
	end(w);
}
END_TEST

START_TEST(a_server_that_is_not_there_is_told)
{
	struct world *w = world();
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	char buf[1000];
	int bound, fd;

	/* A port that nobody listens on. */
	bound = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(bound, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(getsockname(bound, (struct sockaddr *)&a, &len), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	(void)connect(fd, (struct sockaddr *)&a, sizeof(a));
	carrier_stop(w->c);
	(void)close(w->guest);
	start(w, fd);
	run(w);
	say(w, w->guest, GET);
	ck_assert_int_eq(
		strncmp(hear(w->guest, buf, sizeof(buf)), "HTTP/1.1 502", 12),
		0);
	(void)close(bound);
	end(w);
}
END_TEST

/* ---- A handler ---- */

static void connect_it(struct world *w)
{
	carrier_up(w->c, pair(w));
	run(w);
}

static void hears(int fd, const char *begin)
{
	char buf[2000];
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	ck_assert_msg(strncmp(buf, begin, strlen(begin)) == 0, "%s", buf);
}

START_TEST(it_is_connected_to_with_the_first_request)
{
	struct world *w = handled(0);

	run(w);
	ck_assert_int_eq(w->n_wanted, 0);
	say(w, w->guest, GET);
	ck_assert_int_eq(w->n_wanted, 1);
	connect_it(w);
	for (int i = 0; i < 3; i++) {
		hears(w->server, "GET / HTTP/1.1\r\nHost: a.org\r\nX-Hutch");
		say(w, w->server, OK);
		hears(w->guest, OK);
		say(w, w->guest, GET);
	}
	ck_assert_int_eq(w->n_wanted, 1);
	/* It leaves: so is the guest left. */
	(void)close(take_fd(&w->server));
	run(w);
	hears(w->guest, "HTTP/1.1 502 Bad Gateway\r\n");
	ck_assert_int_eq(recv(w->guest, (char[1]){ 0 }, 1, 0), 0);
	(void)close(take_fd(&w->guest));
	run(w);
	ck_assert_int_eq(w->n_ended, 1);
	ck_assert_str_eq(w->why, "the handler closed without an answer");
	end(w);
}
END_TEST

START_TEST(one_that_cannot_be_had_is_told)
{
	struct world *w = handled(0);

	say(w, w->guest, GET);
	carrier_no_up(w->c, 504, "it takes none");
	run(w);
	hears(w->guest, "HTTP/1.1 504 Gateway Timeout\r\n");
	(void)close(take_fd(&w->guest));
	run(w);
	ck_assert_str_eq(w->why, "it takes none");
	end(w);
	/* The connection comes when nobody wants it any more. */
	w = handled(0);
	say(w, w->guest, GET);
	carrier_no_up(w->c, 502, "gone");
	run(w);
	connect_it(w);
	ck_assert_int_eq(recv(w->server, (char[1]){ 0 }, 1, 0), 0);
	end(w);
}
END_TEST

START_TEST(one_that_is_silent_is_given_up)
{
	struct world *w = handled(A_WHILE);

	say(w, w->guest, GET);
	connect_it(w);
	ck_assert_int_eq(w->n_ended, 0);
	for (int i = 0; i < 1000 && recv(w->guest, (char[1]){ 0 }, 1,
					 MSG_PEEK | MSG_DONTWAIT) < 0;
	     i++)
		ck_assert_int_ge(loop_step(&w->loop, 100), 0);
	hears(w->guest, "HTTP/1.1 504 Gateway Timeout\r\n");
	(void)close(take_fd(&w->guest));
	run(w);
	ck_assert_str_eq(w->why, "the handler fell silent");
	end(w);
	/* A guest that does not go on with its body is not its fault. */
	w = handled(A_WHILE);
	say(w, w->guest,
	    "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 9\r\n\r\n12");
	connect_it(w);
	wait_for_end(w);
	ck_assert_str_eq(w->why, "nothing came for too long");
	end(w);
}
END_TEST

START_TEST(its_last_words_are_read_though_it_reads_no_more)
{
	struct world *w = handled(0);
	char *big = calloc(1, BIG);

	say(w, w->guest,
	    "POST / HTTP/1.1\r\nHost: a.org\r\n"
	    "Content-Length: 1000000\r\n\r\n");
	connect_it(w);
	hears(w->server, "POST");
	ck_assert_int_gt(send(w->server,
			      "HTTP/1.1 413 No\r\n"
			      "Content-Length: 0\r\n\r\n",
			      38, MSG_NOSIGNAL),
			 0);
	(void)close(take_fd(&w->server));
	(void)!send(w->guest, big, BIG, MSG_NOSIGNAL);
	run(w);
	hears(w->guest, "HTTP/1.1 413 No\r\n");
	free(big);
	end(w);
}
END_TEST

CHECK_MAIN("net_carrier", a_request_goes_and_its_answer_comes,
	   a_refusal_is_read_to_its_end, who_stays_after_the_end_is_left,
	   what_is_idle_ends_under_another_policy,
	   much_goes_through_to_one_who_is_slow, who_says_nothing_is_left,
	   a_server_that_never_answers_is_left,
	   who_does_not_read_what_it_is_told_is_left,
	   a_server_that_is_not_there_is_told,
	   it_is_connected_to_with_the_first_request,
	   one_that_cannot_be_had_is_told, one_that_is_silent_is_given_up,
	   its_last_words_are_read_though_it_reads_no_more)
