/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_relay.c - questions of DNS under way, and their end */
#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/net/relay.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_kit.h"

static const struct net_addr loopback = {
	{ [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 }
};
static const struct flow_key asker = { .peer_port = NET_DNS_PORT,
				       .guest_port = 5,
				       .proto = NET_UDP };

static struct link_kit k;
static struct guard guard;
static struct denials denials;
static struct relay relay;
static int control[2];
static int guest; /* the guest's end of a stream */

/* Port 53 is ours in a network of our own. */
static void own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int user = geteuid() == 0 ? 0 : CLONE_NEWUSER;
	auto_fd int fd = -1;

	ck_assert_int_eq(unshare(CLONE_NEWNET | user), 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
}

/* At 127.0.0.@last. */
static int resolver_at(unsigned int last, int type)
{
	const struct sockaddr_in in = { .sin_family = AF_INET,
					.sin_port = htons(NET_DNS_PORT),
					.sin_addr.s_addr = htonl(
						INADDR_LOOPBACK - 1 + last) };
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&in, sizeof(in)), 0);
	if (type == SOCK_STREAM)
		ck_assert_int_eq(listen(fd, 200), 0);
	return fd;
}

static int resolver(int type)
{
	return resolver_at(1, type);
}

static void set_up(void)
{
	static const char text[] = "{\"rules\":[{\"deny\":\"example.net\"},"
				   "{\"allow\":\"internet\"}]}";
	struct locals self = { 0 };
	struct policy *p = NULL;
	int sv[2];

	lk_init(&k);
	ck_assert_int_eq(policy_parse(text, strlen(text), &p, NULL), 0);
	ck_assert_int_eq(guard_init(&guard, p), 0);
	guard_local(&guard, &self);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), 0);
	denials_init(&denials, &k.loop, control[0]);
	relay_prepare(&relay, &k.net, &guard, &denials);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv), 0);
	guest = sv[0];
	ck_assert_int_eq(relay_stream(&relay, sv[1]), 0);
}

static void tear_down(void)
{
	relay_done(&relay);
	denials_done(&denials);
	lk_done(&k);
	guard_done(&guard);
	base_closep(&guest);
	base_closep(&control[0]);
	base_closep(&control[1]);
}

/* Behind its length by TCP, the question for an address of example.org. */
static const uint8_t question[] = { 0,   29,  0xab, 0xcd, 1,   0,   0, 1,
				    0,   0,   0,    0,    0,   0,   7, 'e',
				    'x', 'a', 'm',  'p',  'l', 'e', 3, 'o',
				    'r', 'g', 0,    0,    1,   0,   1 };

static void ask_by_stream(void)
{
	ck_assert_int_eq(send(guest, question, sizeof(question), MSG_NOSIGNAL),
			 (ssize_t)sizeof(question));
}

static void ask_by_datagram(void)
{
	relay_datagram(&relay, &asker, question + 2, sizeof(question) - 2);
}

static void steps(int n)
{
	for (int i = 0; i < n; i++)
		ck_assert_int_ge(loop_step(&k.loop, 0), 0);
}

static unsigned int asks(void)
{
	const struct list *p;
	unsigned int n = 0;

	list_for_each (p, &relay.asks)
		n++;
	return n;
}

/* Nobody to ask, so it fails at once; and the one who asked has gone. */
START_TEST(an_answer_that_nobody_takes_ends_its_question_once)
{
	set_up();
	ask_by_stream();
	base_closep(&guest);
	steps(5);
	ck_assert_uint_eq(relay.n_streams, 0);
	ck_assert_uint_eq(relay.n_asks, 0);
	ask_by_datagram();
	ck_assert_uint_eq(relay.n_asks, 0);
	tear_down();
}
END_TEST

START_TEST(a_guest_that_reads_no_answer_loses_its_stream)
{
	set_up();
	for (int i = 0; i < 4000 && relay.n_streams; i++) {
		(void)send(guest, question, sizeof(question),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
		steps(2);
	}
	ck_assert_uint_eq(relay.n_streams, 0);
	ck_assert_uint_eq(relay.n_asks, 0);
	ask_by_datagram();
	ck_assert_uint_eq(relay.n_asks, 0);
	tear_down();
}
END_TEST

START_TEST(the_end_of_a_stream_ends_its_questions)
{
	int silent, silent_stream;

	own_network();
	silent = resolver(SOCK_DGRAM);
	silent_stream = resolver(SOCK_STREAM);
	set_up();
	relay_resolvers(&relay, &loopback, 1);
	ask_by_stream();
	ask_by_stream();
	steps(3);
	/* The second is not read before the first is answered. */
	ck_assert_uint_eq(relay.n_asks, 1);
	for (unsigned int i = 1; i < DNS_ASKS_MAX; i++)
		ask_by_datagram();
	ck_assert_uint_eq(relay.n_asks, DNS_ASKS_MAX);
	base_closep(&guest);
	steps(6);
	ck_assert_uint_eq(relay.n_streams, 0);
	ck_assert_uint_eq(relay.n_asks, DNS_ASKS_MAX - 1);
	ck_assert_uint_eq(asks(), DNS_ASKS_MAX - 1);
	tear_down();
	ck_assert_int_eq(close(silent), 0);
	ck_assert_int_eq(close(silent_stream), 0);
}
END_TEST

START_TEST(the_oldest_question_goes_and_the_new_one_is_asked)
{
	auto_fd int fd = -1;
	uint8_t buf[600];
	unsigned int n = 0;

	own_network();
	fd = resolver(SOCK_DGRAM);
	set_up();
	relay_resolvers(&relay, &loopback, 1);
	for (unsigned int i = 0; i < DNS_ASKS_MAX + 12; i++)
		ask_by_datagram();
	ck_assert_uint_eq(relay.n_asks, DNS_ASKS_MAX);
	ck_assert_uint_eq(asks(), DNS_ASKS_MAX);
	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0) {
		/* QR: it would be an answer. */
		ck_assert_uint_eq(buf[2] & 0x80, 0);
		n++;
	}
	ck_assert_uint_eq(n, DNS_ASKS_MAX + 12);
	tear_down();
}
END_TEST

/* Return: whether there was a question; it is answered: no such name. */
static bool answer_one(int fd)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	uint8_t buf[600];
	ssize_t n = recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len);

	if (n < 0)
		return false;
	buf[2] |= 0x80;
	buf[3] = 3;
	ck_assert_int_eq(sendto(fd, buf, (size_t)n, 0,
				(const struct sockaddr *)&from, len),
			 n);
	return true;
}

/*
 * The next question to @fd, answered with its own first bytes and @rcode: all of
 * it, or the head alone, as those do who know no EDNS.
 *
 * Return: bytes that the question had
 */
static size_t refuse_one(int fd, uint8_t buf[600], uint8_t rcode, bool head)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	uint8_t answer[600];
	ssize_t n = -1;

	for (int i = 0; i < 1000 && n < 0; i++) {
		n = recvfrom(fd, buf, 600, MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len);
		steps(1);
	}
	ck_assert_int_gt(n, 12);
	memcpy(answer, buf, (size_t)n);
	answer[2] |= 0x80;
	answer[3] = rcode;
	if (head)
		memset(answer + 4, 0, 8);
	ck_assert_int_gt(sendto(fd, answer, head ? 12 : (size_t)n, 0,
				(const struct sockaddr *)&from, len),
			 0);
	return (size_t)n;
}

static bool has_capitals(const uint8_t *msg)
{
	for (size_t i = 12; i < sizeof(question) - 2; i++)
		if (msg[i] >= 'A' && msg[i] <= 'Z')
			return true;
	return false;
}

START_TEST(one_resolver_is_asked_plainly_in_the_end)
{
	const size_t plain = sizeof(question) - 2;
	auto_fd int fd = -1;
	uint8_t buf[600];

	own_network();
	fd = resolver(SOCK_DGRAM);
	set_up();
	relay_resolvers(&relay, &loopback, 1);
	ask_by_datagram();
	for (unsigned int i = 1; i <= DNS_TRIES_MIN; i++) {
		const size_t n = refuse_one(fd, buf, 2, false);

		ck_assert_uint_eq(n, i < 3 ? plain + 11 : plain);
		ck_assert(i < 3 || !has_capitals(buf));
	}
	steps(5);
	ck_assert_uint_eq(relay.n_asks, 0);
	tear_down();
}
END_TEST

START_TEST(who_knows_no_edns_is_asked_without_at_once)
{
	/* The first is asked twice, and then it is the other's turn. */
	struct net_addr list[2] = { loopback, loopback };
	const size_t plain = sizeof(question) - 2;
	auto_fd int fd = -1, second = -1;
	uint8_t buf[600];

	own_network();
	list[1].b[15] = 2;
	fd = resolver(SOCK_DGRAM);
	second = resolver_at(2, SOCK_DGRAM);
	set_up();
	relay_resolvers(&relay, list, 2);
	ask_by_datagram();
	ck_assert_uint_eq(refuse_one(fd, buf, 1, true), plain + 11);
	ck_assert_uint_eq(refuse_one(fd, buf, 1, true), plain);
	ck_assert_uint_eq(refuse_one(second, buf, 3, false), plain);
	steps(5);
	ck_assert_uint_eq(relay.n_asks, 0);
	tear_down();
}
END_TEST

static void let_answer(int fd)
{
	while (relay.n_asks) {
		steps(1);
		(void)answer_one(fd);
	}
}

START_TEST(who_has_answered_last_is_asked_first)
{
	/* Nobody is there, or serves there. */
	struct net_addr list[3] = { loopback, loopback, loopback };
	auto_fd int second = -1, third = -1;

	own_network();
	list[1].b[15] = 2;
	list[2].b[15] = 3;
	second = resolver_at(2, SOCK_DGRAM);
	set_up();
	relay_resolvers(&relay, list, 3);
	ask_by_datagram();
	let_answer(second);
	ck_assert_uint_eq(relay.first, 1);
	/* The same ones again are no news. */
	relay_resolvers(&relay, list, 3);
	ask_by_datagram();
	ck_assert(answer_one(second));
	let_answer(second);
	/* It has gone: the next one is asked, and so on round. */
	base_closep(&second);
	third = resolver_at(3, SOCK_DGRAM);
	ask_by_datagram();
	let_answer(third);
	ck_assert_uint_eq(relay.first, 2);
	relay_resolvers(&relay, list, 2);
	ck_assert_uint_eq(relay.first, 0);
	tear_down();
}
END_TEST

START_TEST(a_name_that_is_denied_counts)
{
	static const uint8_t top[][3] = { { 'n', 'e', 't' },
					  { 'l', 'a', 'n' } };
	uint8_t other[sizeof(question) - 2];

	set_up();
	memcpy(other, question + 2, sizeof(other));
	for (size_t i = 0; i < ARRAY_LEN(top); i++) {
		memcpy(other + 21, top[i], sizeof(top[i]));
		relay_datagram(&relay, &asker, other, sizeof(other));
	}
	ck_assert_uint_eq(tally_get(guard.tally, 0), 1);
	ck_assert_uint_eq(tally_get(guard.tally, 1), 0);
	ck_assert_uint_eq(tally_get(guard.tally, -1), 1);
	tear_down();
}
END_TEST

/* What goes to a resolver costs it and the host something. */
START_TEST(a_flood_of_questions_is_slowed_down)
{
	set_up();
	relay.rate.left = 3;
	relay.rate.each_ns = UINT64_MAX;
	for (int i = 0; i < 5; i++)
		ask_by_datagram();
	ck_assert_uint_eq(k.net.stats.refused, 2);
	/* By a stream, which waits for an answer, that ends. */
	ask_by_stream();
	steps(5);
	ck_assert_uint_eq(k.net.stats.refused, 3);
	ck_assert_uint_eq(relay.n_streams, 0);
	relay.rate.each_ns = DNS_NEW_NS;
	relay.rate.filled_ns = loop_now_ns() - DNS_NEW_NS;
	ask_by_datagram();
	ck_assert_uint_eq(k.net.stats.refused, 3);
	tear_down();
}
END_TEST

CHECK_MAIN("net_relay", an_answer_that_nobody_takes_ends_its_question_once,
	   a_guest_that_reads_no_answer_loses_its_stream,
	   the_end_of_a_stream_ends_its_questions,
	   the_oldest_question_goes_and_the_new_one_is_asked,
	   one_resolver_is_asked_plainly_in_the_end,
	   who_knows_no_edns_is_asked_without_at_once,
	   who_has_answered_last_is_asked_first, a_name_that_is_denied_counts,
	   a_flood_of_questions_is_slowed_down)
