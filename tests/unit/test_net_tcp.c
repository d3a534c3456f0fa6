/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_net_tcp.c - TCP with segments made by hand
 *
 * Most connections end here (JUDGE_INTERCEPT), so that both ends of them are in
 * the test's hands. tests/net has a real TCP as the guest.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "host/net/limits.h"
#include "host/net/policy/own.h"
#include "host/net/tcp.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_kit.h"

#define OUTSIDE4                                                          \
	{                                                                 \
		{                                                         \
			[10] = 0xff, [11] = 0xff, [12] = 93, 184, 216, 34 \
		}                                                         \
	}
static const struct net_addr local4 = {
	{ [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 }
};

static struct link_kit k;
static struct lk_tcp t;

static bool no_peek_off;

static void set_up(void)
{
	lk_init_with(&k, (struct net_config){ .mtu = NET_MTU_MAX,
					      .no_peek_off = no_peek_off });
	t = (struct lk_tcp){ .peer = OUTSIDE4,
			     .port = 40000,
			     .peer_port = 80,
			     .seq = 0xfffffff0 }; /* soon round the circle */
}

static void open_one(void)
{
	set_up();
	lk_open(&k, &t);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
}

static struct tcp *conn(void)
{
	const struct flow_key key = { .peer = t.peer,
				      .peer_port = t.peer_port,
				      .guest_port = t.port,
				      .proto = NET_TCP };
	struct flow *f = flow_find(&k.net.flows, &key);

	return f ? tcp_of(f) : NULL;
}

static void heard(const char *want)
{
	char buf[256];
	ssize_t n = recv(k.stream, buf, sizeof(buf), MSG_DONTWAIT);

	ck_assert_int_eq(n, (ssize_t)strlen(want));
	ck_assert_mem_eq(buf, want, strlen(want));
}

static void heard_nothing(void)
{
	char c;

	ck_assert_int_lt(recv(k.stream, &c, 1, MSG_DONTWAIT), 0);
	ck_assert_int_eq(errno, EAGAIN);
}

/* The next segment is a plain ACK of all that the guest has sent. */
static void acked(void)
{
	const struct tcp_hdr *h = lk_answer(&k, &t, NULL, NULL);

	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(h->flags, TCP_ACK);
	ck_assert_uint_eq(be32_get(h->ack), t.seq);
}

static void say(const char *text)
{
	lk_segment(&k, &t, TCP_ACK | TCP_PSH, text, strlen(text));
	t.seq += (uint32_t)strlen(text);
}

/* ---- Beginning ---- */

START_TEST(data_goes_there_and_back)
{
	const struct tcp_hdr *h;
	const uint8_t *data;
	size_t len;

	open_one();
	say("hello");
	heard("hello");
	acked();
	ck_assert_int_eq(send(k.stream, "world", 5, 0), 5);
	h = lk_answer(&k, &t, &data, &len);
	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(be32_get(h->seq), t.ack);
	ck_assert_uint_eq(len, 5);
	ck_assert_mem_eq(data, "world", 5);
	lk_done(&k);
}
END_TEST

/* The answer carries it; else it comes by itself, and then so do the next. */
START_TEST(an_acknowledgement_waits_for_the_answer)
{
	static uint8_t frame[LK_FRAME_MAX];
	static const char much[TCP_ACK_BYTES + 2] = { 0 };
	const size_t at = sizeof(struct eth_hdr) + sizeof(struct ip4_hdr);
	const struct tcp_hdr *h;
	const uint8_t *data;
	size_t len;

	open_one();
	conn()->quick = 0;
	say("ask");
	heard("ask");
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	ck_assert_int_eq(send(k.stream, "yes", 3, 0), 3);
	h = lk_answer(&k, &t, &data, &len);
	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(len, 3);
	ck_assert_uint_eq(be32_get(h->ack), t.seq);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	ck_assert(list_empty(&k.net.owed));
	t.ack += 3;
	say("tell");
	heard("tell");
	ck_assert_uint_eq(lk_wait(&k, frame), at + sizeof(*h));
	h = (const void *)(frame + at);
	ck_assert_uint_eq(be32_get(h->ack), t.seq);
	for (unsigned int i = 0; i < TCP_ACK_QUICK; i++) {
		say("more");
		heard("more");
		acked();
	}
	lk_segment(&k, &t, TCP_ACK, much, sizeof(much));
	t.seq += sizeof(much);
	acked();
	say("last");
	/* And one that is owed something may end. */
	ck_assert(!list_empty(&k.net.owed));
	lk_done(&k);
}
END_TEST

START_TEST(what_is_denied_is_reset_at_once)
{
	const struct tcp_hdr *h;

	set_up();
	k.how = JUDGE_DENY;
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(h->flags, TCP_RST | TCP_ACK);
	ck_assert_uint_eq(be32_get(h->ack), t.seq + 1);
	ck_assert_uint_eq(k.denied, 1);
	ck_assert_uint_eq(k.net.flows.n[NET_TCP], 0);
	lk_done(&k);
}
END_TEST

START_TEST(segments_of_no_connection_are_reset)
{
	const struct tcp_hdr *h;

	set_up();
	t.ack = 77;
	lk_segment(&k, &t, TCP_ACK, "x", 1);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(h->flags, TCP_RST);
	ck_assert_uint_eq(be32_get(h->seq), 77);
	lk_segment(&k, &t, TCP_FIN, "x", 1);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_uint_eq(h->flags, TCP_RST | TCP_ACK);
	ck_assert_uint_eq(be32_get(h->ack), t.seq + 2);
	lk_segment(&k, &t, TCP_RST, NULL, 0);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	ck_assert_uint_eq(k.asked, 0);
	lk_done(&k);
}
END_TEST

START_TEST(a_refused_connection_is_reset)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint8_t buf[LK_FRAME_MAX];

	/* Bound and not listening: nobody else can have the port. */
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	set_up();
	t.peer = local4;
	t.peer_port = ntohs(in.sin_port);
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	ck_assert_uint_eq(lk_wait(&k, buf), 14 + 20 + 20);
	ck_assert_uint_eq(buf[14 + 20 + 13], TCP_RST | TCP_ACK);
	ck_assert_ptr_null(conn());
	ck_assert_uint_eq(k.net.n_half, 0);
	lk_done(&k);
}
END_TEST

START_TEST(the_same_syn_again_gets_the_same_answer)
{
	const struct tcp_hdr *h;
	uint32_t seq;

	set_up();
	k.how = JUDGE_INTERCEPT;
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	seq = be32_get(lk_answer(&k, &t, NULL, NULL)->seq);
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_uint_eq(h->flags, TCP_SYN | TCP_ACK);
	ck_assert_uint_eq(be32_get(h->seq), seq);
	ck_assert_uint_eq(k.asked, 1);
	/* Another one is another connection. */
	t.seq += 1000;
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_uint_eq(be32_get(h->ack), t.seq + 1);
	ck_assert_uint_eq(k.asked, 2);
	ck_assert_uint_eq(k.net.n_half, 1);
	lk_done(&k);
}
END_TEST

START_TEST(an_answer_to_what_was_not_said_is_reset)
{
	const struct tcp_hdr *h;

	set_up();
	k.how = JUDGE_INTERCEPT;
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	h = lk_answer(&k, &t, NULL, NULL);
	t.seq++;
	t.ack = be32_get(h->seq) + 2;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_uint_eq(h->flags, TCP_RST);
	ck_assert_int_eq(conn()->state, TCP_ANSWERED);
	lk_done(&k);
}
END_TEST

START_TEST(half_open_connections_are_few)
{
	set_up();
	k.how = JUDGE_INTERCEPT;
	for (unsigned int i = 0; i < NET_HALF_MAX + 10; i++) {
		t.port = (uint16_t)(1000 + i);
		lk_segment(&k, &t, TCP_SYN, NULL, 0);
		/* The RST of the oldest comes in between. */
		while (lk_recv(&k, (uint8_t[LK_FRAME_MAX]){ 0 }))
			;
	}
	ck_assert_uint_eq(k.net.n_half, NET_HALF_MAX);
	ck_assert_uint_eq(k.net.stats.evicted, 10);
	t.port = 1000;
	ck_assert_ptr_null(conn());
	t.port = 1010;
	ck_assert_ptr_nonnull(conn());
	lk_done(&k);
}
END_TEST

START_TEST(connections_have_a_limit)
{
	int streams[3];

	lk_init_with(&k, (struct net_config){ .mtu = 1500, .tcp_max = 3 });
	t = (struct lk_tcp){ .peer = OUTSIDE4, .peer_port = 80 };
	for (t.port = 1; t.port <= 3; t.port++) {
		t.seq = 5;
		lk_open(&k, &t);
		streams[t.port - 1] = take_fd(&k.stream);
	}
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	ck_assert_uint_eq(lk_answer(&k, &t, NULL, NULL)->flags,
			  TCP_RST | TCP_ACK);
	ck_assert_uint_eq(k.net.stats.refused, 1);
	for (size_t i = 0; i < 3; i++)
		(void)close(streams[i]);
	lk_done(&k);
}
END_TEST

/* ---- Sequence numbers ---- */

START_TEST(a_gap_is_not_filled_from_behind)
{
	open_one();
	t.seq += 5;
	lk_segment(&k, &t, TCP_ACK, "later", 5);
	heard_nothing();
	t.seq -= 5;
	acked();
	say("first");
	heard("first");
	lk_done(&k);
}
END_TEST

START_TEST(what_came_already_is_passed_over)
{
	open_one();
	say("hello");
	heard("hello");
	acked();
	/* All of it, then a part of it with news behind. */
	t.seq -= 5;
	say("hello");
	heard_nothing();
	acked();
	t.seq -= 2;
	say("lo, world");
	heard(", world");
	acked();
	lk_done(&k);
}
END_TEST

START_TEST(who_asks_whether_we_live_is_told)
{
	open_one();
	t.seq--;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	t.seq++;
	acked();
	lk_done(&k);
}
END_TEST

START_TEST(only_the_very_next_byte_resets)
{
	open_one();
	/* Far off: nothing. Near: a question. */
	t.seq -= 1;
	lk_segment(&k, &t, TCP_RST, NULL, 0);
	t.seq += 0x40000001;
	lk_segment(&k, &t, TCP_RST, NULL, 0);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	t.seq -= 0x40000000 - 10;
	lk_segment(&k, &t, TCP_RST, NULL, 0);
	t.seq -= 10;
	acked();
	ck_assert_ptr_nonnull(conn());
	lk_segment(&k, &t, TCP_RST, NULL, 0);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(a_syn_within_a_connection_is_a_question)
{
	open_one();
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	acked();
	ck_assert_ptr_nonnull(conn());
	lk_done(&k);
}
END_TEST

START_TEST(an_ack_of_what_was_not_sent_is_refused)
{
	open_one();
	t.ack += 1;
	lk_segment(&k, &t, TCP_ACK, "x", 1);
	heard_nothing();
	acked();
	lk_done(&k);
}
END_TEST

START_TEST(segments_without_ack_are_dropped)
{
	open_one();
	lk_segment(&k, &t, 0, "x", 1);
	heard_nothing();
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	lk_done(&k);
}
END_TEST

/* ---- To the guest ---- */

START_TEST(a_window_is_kept)
{
	const uint8_t *data;
	size_t len;

	set_up();
	t.window = 10;
	lk_open(&k, &t);
	ck_assert_int_eq(send(k.stream, "0123456789abcdef", 16, 0), 16);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, &data, &len));
	ck_assert_uint_eq(len, 10);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	/* Taken, and no room: then room. */
	t.ack += 10;
	t.window = 0;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	t.window = 100;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, &data, &len));
	ck_assert_uint_eq(len, 6);
	ck_assert_mem_eq(data, "abcdef", 6);
	lk_done(&k);
}
END_TEST

START_TEST(three_of_the_same_ack_send_it_again)
{
	const uint8_t *data;
	size_t len;

	open_one();
	ck_assert_int_eq(send(k.stream, "lost", 4, 0), 4);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
	for (int i = 0; i < 2; i++)
		lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, &data, &len));
	ck_assert_uint_eq(len, 4);
	ck_assert_mem_eq(data, "lost", 4);
	ck_assert_uint_eq(k.net.stats.retransmits, 1);
	lk_done(&k);
}
END_TEST

/* The timer's handler is called in place of waiting for it. */
static void time_passes(void)
{
	struct flow *f = &conn()->f;

	ck_assert(loop_timer_is_set(&f->timer));
	conn()->since_ns = 1;
	loop_timer_cancel(&f->timer);
	f->timer.fn(&f->timer);
}

START_TEST(what_is_not_acked_is_sent_again_and_then_given_up)
{
	const uint8_t *data;
	size_t len;
	unsigned int n = 0;

	open_one();
	ck_assert_int_eq(send(k.stream, "lost", 4, 0), 4);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
	while (conn()) {
		const struct tcp_hdr *h;

		time_passes();
		h = lk_answer(&k, &t, &data, &len);
		ck_assert_ptr_nonnull(h);
		ck_assert(h->flags & TCP_RST || len == 4);
		ck_assert_uint_le(n++, TCP_RETRIES_MAX);
	}
	ck_assert_uint_eq(n, TCP_RETRIES_MAX + 1);
	lk_done(&k);
}
END_TEST

START_TEST(a_shut_window_is_asked_about)
{
	const struct tcp_hdr *h;
	size_t len;
	const uint8_t *data;

	open_one();
	t.window = 0;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_int_eq(send(k.stream, "x", 1, 0), 1);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	time_passes();
	h = lk_answer(&k, &t, &data, &len);
	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(be32_get(h->seq), t.ack - 1);
	ck_assert_uint_eq(len, 0);
	lk_done(&k);
}
END_TEST

/* A reader that is stopped, in a guest that is well: for days, if it likes. */
START_TEST(a_window_that_stays_shut_is_no_failure)
{
	open_one();
	t.window = 0;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_int_eq(send(k.stream, "x", 1, 0), 1);
	for (unsigned int i = 0; i < 5 * TCP_RETRIES_MAX; i++) {
		ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
		time_passes();
		ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
		lk_segment(&k, &t, TCP_ACK, NULL, 0);
		ck_assert_ptr_nonnull(conn());
	}
	/* One that does not answer is another matter. */
	for (unsigned int i = 0; conn(); i++) {
		time_passes();
		ck_assert_uint_le(i, TCP_RETRIES_MAX);
	}
	lk_done(&k);
}
END_TEST

START_TEST(a_guest_that_is_paused_keeps_its_connections)
{
	open_one();
	ck_assert_int_eq(send(k.stream, "lost", 4, 0), 4);
	for (unsigned int i = 0; i < 5 * TCP_RETRIES_MAX; i++) {
		ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
		k.net.heard_ns = 0;
		time_passes();
		ck_assert_ptr_nonnull(conn());
	}
	lk_done(&k);
}
END_TEST

static void end_side(void)
{
	lk_segment(&k, &t, TCP_ACK | TCP_FIN, NULL, 0);
	t.seq++;
	acked();
}

START_TEST(one_that_the_guest_has_forgotten_ends)
{
	const struct tcp_hdr *h;

	open_one();
	end_side();
	for (int i = 0; i < 20; i++) {
		time_passes();
		h = lk_answer(&k, &t, NULL, NULL);
		ck_assert_ptr_nonnull(h);
		ck_assert_uint_eq(be32_get(h->seq), t.ack - 1);
		ck_assert_uint_eq(be32_get(h->ack), t.seq);
		/* It waits for the peer's end, as it may. */
		lk_segment(&k, &t, TCP_ACK, NULL, 0);
		ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
		ck_assert_ptr_nonnull(conn());
	}
	time_passes();
	ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
	lk_segment(&k, &t, TCP_RST, NULL, 0);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

static const struct tcp_hdr *another(uint16_t port)
{
	struct lk_tcp u = t;

	u.port = port;
	u.seq = 7;
	lk_segment(&k, &u, TCP_SYN, NULL, 0);
	return lk_answer(&k, &u, NULL, NULL);
}

START_TEST(a_full_table_lets_go_of_what_is_over_on_one_side)
{
	struct lk_tcp u;

	open_one();
	end_side();
	k.net.tcp_max = 1;
	ck_assert(another(50000)->flags & TCP_RST);
	ck_assert_uint_eq(k.net.stats.refused, 1);
	conn()->used_ns = loop_now_ns() - TCP_HALF_CLOSED_NS;
	/* The old one's reset, and the new one's answer. */
	u = t;
	u.port = 50001;
	lk_segment(&k, &u, TCP_SYN, NULL, 0);
	ck_assert(lk_answer(&k, &t, NULL, NULL)->flags & TCP_RST);
	ck_assert_uint_eq(lk_answer(&k, &u, NULL, NULL)->flags,
			  TCP_SYN | TCP_ACK);
	ck_assert_ptr_null(conn());
	ck_assert_uint_eq(k.net.stats.evicted, 1);
	lk_done(&k);
}
END_TEST

START_TEST(a_full_table_keeps_what_is_open_for_an_hour)
{
	open_one();
	k.net.tcp_max = 1;
	conn()->used_ns = loop_now_ns() - TCP_IDLE_NS / 2;
	ck_assert(another(50000)->flags & TCP_RST);
	ck_assert_ptr_nonnull(conn());
	conn()->used_ns = loop_now_ns() - TCP_IDLE_NS;
	lk_segment(&k,
		   &(struct lk_tcp){
			   .peer = t.peer, .port = 50001, .peer_port = 80 },
		   TCP_SYN, NULL, 0);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(who_sends_past_the_window_is_not_told_a_larger_one)
{
	open_one();
	conn()->rcv_edge = conn()->rcv_nxt - 1;
	ck_assert_uint_le(tcp_in_window(conn()), TCP_WINDOW_MAX);
	lk_done(&k);
}
END_TEST

/* Flows to outside, of any kind; the gateway's own are as many as it likes. */
START_TEST(new_flows_are_slowed_down)
{
	lk_init_with(&k,
		     (struct net_config){ .mtu = NET_MTU_MAX, .new_burst = 3 });
	t = (struct lk_tcp){ .peer = OUTSIDE4, .peer_port = 80 };
	k.how = JUDGE_DENY;
	for (uint16_t i = 0; i < 5; i++) {
		t.port = (uint16_t)(1000 + i);
		k.net.begin.filled_ns = loop_now_ns();
		lk_segment(&k, &t, TCP_SYN, NULL, 0);
		ck_assert((lk_answer(&k, &t, NULL, NULL) != NULL) == (i < 3));
	}
	ck_assert_uint_eq(k.asked, 3);
	ck_assert_uint_eq(k.net.stats.refused, 2);
	k.net.begin.filled_ns = loop_now_ns() - NET_NEW_NS;
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	ck_assert_uint_eq(k.asked, 4);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
	t.peer = ends_gateway4;
	t.peer_port = 9;
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
	lk_done(&k);
}
END_TEST

START_TEST(an_answer_that_is_not_acked_is_given_up)
{
	unsigned int n = 0;

	set_up();
	k.how = JUDGE_INTERCEPT;
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
	while (conn()) {
		time_passes();
		ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
		n++;
	}
	ck_assert_uint_eq(n, TCP_HALF_RETRIES + 1);
	ck_assert_uint_eq(k.net.n_half, 0);
	lk_done(&k);
}
END_TEST

/* ---- Ends ---- */

START_TEST(the_guest_ends_first)
{
	const struct tcp_hdr *h;
	const uint8_t *data;
	size_t len;
	char c;

	open_one();
	lk_segment(&k, &t, TCP_ACK | TCP_FIN, "bye", 3);
	t.seq += 4;
	heard("bye");
	ck_assert_int_eq(recv(k.stream, &c, 1, MSG_DONTWAIT), 0);
	acked();
	/* Half of it is open still. */
	ck_assert_int_eq(send(k.stream, "more", 4, 0), 4);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, &data, &len));
	ck_assert_uint_eq(len, 4);
	t.ack += 4;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	(void)shutdown(k.stream, SHUT_WR);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(h->flags, TCP_FIN | TCP_ACK);
	t.ack += 1;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(the_host_ends_first)
{
	const struct tcp_hdr *h;

	open_one();
	ck_assert_int_eq(send(k.stream, "bye", 3, 0), 3);
	(void)shutdown(k.stream, SHUT_WR);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_ptr_nonnull(h);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_ptr_nonnull(h);
	ck_assert_uint_eq(h->flags, TCP_FIN | TCP_ACK);
	ck_assert_uint_eq(be32_get(h->seq), t.ack + 3);
	t.ack += 4;
	say("still here");
	heard("still here");
	acked();
	lk_segment(&k, &t, TCP_ACK | TCP_FIN, NULL, 0);
	t.seq++;
	acked();
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

/* Data and end are sent again, as what was acknowledged before was not. */
START_TEST(a_lost_end_is_sent_again)
{
	const struct tcp_hdr *h;
	const uint8_t *data;
	size_t len;

	open_one();
	ck_assert_int_eq(send(k.stream, "bye", 3, 0), 3);
	(void)shutdown(k.stream, SHUT_WR);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
	ck_assert_ptr_nonnull(lk_answer(&k, &t, NULL, NULL));
	time_passes();
	h = lk_answer(&k, &t, &data, &len);
	ck_assert_uint_eq(be32_get(h->seq), t.ack);
	ck_assert_uint_eq(len, 3);
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_uint_eq(h->flags, TCP_FIN | TCP_ACK);
	ck_assert_uint_eq(be32_get(h->seq), t.ack + 3);
	/* The guest had it after all, and says so while it is sent again. */
	conn()->snd_nxt = conn()->snd_una;
	t.ack += 4;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_ptr_null(lk_answer(&k, &t, NULL, NULL));
	lk_segment(&k, &t, TCP_ACK | TCP_FIN, NULL, 0);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(nothing_comes_after_an_end)
{
	open_one();
	lk_segment(&k, &t, TCP_ACK | TCP_FIN, NULL, 0);
	t.seq++;
	acked();
	lk_segment(&k, &t, TCP_ACK, "more", 4);
	ck_assert_int_eq(recv(k.stream, (char[4]){ 0 }, 4, MSG_DONTWAIT), 0);
	lk_done(&k);
}
END_TEST

/* ---- Room ---- */

START_TEST(who_does_not_read_shuts_the_window)
{
	static uint8_t data[30000];
	const struct tcp_hdr *h = NULL;
	uint32_t wnd = 65535, sent = 0;

	open_one();
	while (wnd) {
		size_t len = MIN(wnd, sizeof(data));

		lk_segment(&k, &t, TCP_ACK, data, len);
		h = lk_answer(&k, &t, NULL, NULL);
		ck_assert_ptr_nonnull(h);
		/* What was promised is taken. */
		t.seq += (uint32_t)len;
		sent += (uint32_t)len;
		ck_assert_uint_eq(be32_get(h->ack), t.seq);
		wnd = be16_get(h->window);
		ck_assert_uint_lt(sent, 64u << 20);
	}
	/* It reads: the guest is told. */
	while (recv(k.stream, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	h = lk_answer(&k, &t, NULL, NULL);
	ck_assert_ptr_nonnull(h);
	ck_assert_uint_gt(be16_get(h->window), 0);
	lk_done(&k);
}
END_TEST

/*
 * As a TCP does (RFC 9293, 3.8.6.2.1): nothing that is neither a whole segment
 * nor half of the largest window there was. Return: the window it stops at
 */
static uint32_t send_all_there_is_room_for(size_t most)
{
	static const uint8_t data[65535];
	uint32_t wnd = 65535;

	while (wnd >= 65535 / 2) {
		const size_t len = MIN(wnd, most);
		const struct tcp_hdr *h;

		lk_segment(&k, &t, TCP_ACK, data, len);
		t.seq += (uint32_t)len;
		h = lk_answer(&k, &t, NULL, NULL);
		ck_assert_ptr_nonnull(h);
		ck_assert_uint_eq(be32_get(h->ack), t.seq);
		wnd = be16_get(h->window);
	}
	return wnd;
}

static void read_all(void)
{
	static uint8_t data[65536];

	while (recv(k.stream, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
}

/* Sizes that leave more and less than what epoll calls writable. */
START_TEST(who_waits_for_more_room_is_told_without_asking)
{
	int in_between = 0;

	for (size_t most = 15000; most <= 36000; most += 700) {
		const struct tcp_hdr *h;
		uint32_t stopped, wnd = 0;

		open_one();
		stopped = send_all_there_is_room_for(most);
		in_between += stopped > 65536 / 4;
		read_all();
		while ((h = lk_answer(&k, &t, NULL, NULL))) {
			ck_assert_uint_eq(be32_get(h->ack), t.seq);
			wnd = be16_get(h->window);
		}
		ck_assert_uint_ge(wnd, 65535 / 2);
		lk_done(&k);
	}
	ck_assert_int_gt(in_between, 0);
}
END_TEST

/* Less room than was promised, which the guest cannot know. */
START_TEST(what_was_refused_is_asked_for_again)
{
	static const uint8_t data[65535];
	const int small = 1;
	uint32_t wnd = 0, seq = 0;
	const struct tcp_hdr *h;
	int n = 0, same = 0;

	open_one();
	ck_assert_int_eq(setsockopt(conn()->f.fd, SOL_SOCKET, SO_SNDBUF, &small,
				    sizeof(small)),
			 0);
	for (int i = 0; i < 3; i++) {
		lk_segment(&k, &t, TCP_ACK, data, 20000);
		t.seq += 20000;
	}
	while ((h = lk_answer(&k, &t, NULL, NULL)))
		seq = be32_get(h->ack);
	ck_assert(seq_lt(seq, t.seq));
	read_all();
	for (; (h = lk_answer(&k, &t, NULL, NULL)); n++) {
		ck_assert_uint_eq(be32_get(h->ack), seq);
		same += be16_get(h->window) == wnd;
		wnd = be16_get(h->window);
	}
	ck_assert_int_eq(n, 4);
	ck_assert_int_ge(same, 3);
	t.seq = seq;
	lk_segment(&k, &t, TCP_ACK, data, 1000);
	t.seq += 1000;
	acked();
	lk_done(&k);
}
END_TEST

/* An echo of the gateway's, of @len bytes of data. */
static void echo(size_t len)
{
	static uint8_t l4[LK_FRAME_MAX], frame[LK_FRAME_MAX];
	const struct icmp_hdr h = { .type = ICMP_ECHO };

	memcpy(l4, &h, sizeof(h));
	lk_send(&k, frame,
		lk_ip4(frame, IP_ICMP, &ends_gateway4, l4, sizeof(h) + len));
}

/* Full of answers to somebody who asks and does not read. */
START_TEST(an_acknowledgement_waits_for_room)
{
	static uint8_t frame[LK_FRAME_MAX];
	const struct tcp_hdr *h = (void *)(frame + 34);
	bool found = false;

	open_one();
	for (size_t most = 60000; most > 0; most /= 2)
		for (int i = 0; i < 40; i++)
			echo(most);
	for (int i = 0; i < 40; i++)
		echo(0);
	ck_assert_uint_gt(k.net.link.dropped, 0);
	say("hello");
	heard("hello");
	while (lk_recv(&k, frame) > 0)
		if (frame[14 + 9] == IP_TCP)
			found |= be32_get(h->ack) == t.seq;
	ck_assert(found);
	lk_done(&k);
}
END_TEST

/* ---- Looking ---- */

static int listener(uint16_t *ret_port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(in);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, len), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	*ret_port = ntohs(in.sin_port);
	return fd;
}

/* A connection whose other end is a real one. */
static void open_real(enum judgment how)
{
	auto_fd int fd = -1;
	const struct tcp_hdr *h;

	set_up();
	k.how = how;
	t.peer = local4;
	t.window = 65535;
	fd = listener(&t.peer_port);
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	while (!(h = lk_answer(&k, &t, NULL, NULL)))
		ck_assert_int_ge(loop_step(&k.loop, 100), 0);
	ck_assert_uint_eq(h->flags, TCP_SYN | TCP_ACK);
	t.seq++;
	t.ack = be32_get(h->seq) + 1;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	k.stream = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(k.stream, 0);
	ck_assert_uint_eq(k.asked, 1);
}

/* One more, to whom @fd listens: its first bytes, and no more. Return: its end */
static int begin_one_more(int fd)
{
	const struct tcp_hdr *h;
	int end;

	t.port++;
	t.seq = 77;
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	while (!(h = lk_answer(&k, &t, NULL, NULL)))
		ck_assert_int_ge(loop_step(&k.loop, 100), 0);
	ck_assert_uint_eq(h->flags, TCP_SYN | TCP_ACK);
	t.seq++;
	t.ack = be32_get(h->seq) + 1;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	end = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(end, 0);
	lk_segment(&k, &t, TCP_ACK, "\x16\3\1", 3);
	t.seq += 3;
	return end;
}

START_TEST(the_oldest_that_is_looked_at_makes_room)
{
	static uint8_t frame[LK_FRAME_MAX];
	int ends[NET_LOOK_MAX + 1], fd;

	set_up();
	k.how = JUDGE_LOOK;
	t.peer = local4;
	t.window = 65535;
	fd = listener(&t.peer_port);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		const uint16_t first = 40001;

		ends[i] = begin_one_more(fd);
		if (i < NET_LOOK_MAX)
			acked();
		/* The first is reset, and this one acknowledged. */
		while (i == NET_LOOK_MAX && lk_recv(&k, frame) > 0)
			;
		t.port = (uint16_t)(first + i);
	}
	ck_assert_uint_eq(k.net.n_look, NET_LOOK_MAX);
	ck_assert_uint_eq(k.net.stats.evicted, 1);
	ck_assert_uint_eq(k.denied, 1);
	ck_assert_ptr_nonnull(conn());
	t.port = 40001;
	ck_assert_ptr_null(conn());
	lk_done(&k);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		(void)close(ends[i]);
	(void)close(fd);
}
END_TEST

static void open_looked_at(void)
{
	open_real(JUDGE_LOOK);
}

static const char hello_begin[] = "\x16\3\1\0\x05\1";

START_TEST(bytes_are_held_until_they_are_judged)
{
	open_looked_at();
	lk_segment(&k, &t, TCP_ACK, hello_begin, 6);
	t.seq += 6;
	acked();
	heard_nothing();
	ck_assert_uint_eq(k.asked, 1);
	ck_assert_uint_eq(k.net.n_look, 1);
	lk_done(&k);
}
END_TEST

START_TEST(what_is_no_tls_is_judged_as_such)
{
	open_looked_at();
	k.how = JUDGE_ALLOW;
	say("GET /");
	ck_assert_uint_eq(k.asked, 2);
	ck_assert(k.attempt.plain);
	ck_assert_int_eq(recv(k.stream, (char[8]){ 0 }, 8, 0), 5);
	ck_assert_uint_eq(k.net.n_look, 0);
	acked();
	say("more");
	ck_assert_int_eq(recv(k.stream, (char[8]){ 0 }, 8, 0), 4);
	ck_assert_uint_eq(k.asked, 2);
	lk_done(&k);
}
END_TEST

START_TEST(what_is_denied_when_looked_at_goes_nowhere)
{
	open_looked_at();
	k.how = JUDGE_DENY;
	say("GET /");
	ck_assert_uint_eq(k.denied, 1);
	ck_assert(lk_answer(&k, &t, NULL, NULL)->flags & TCP_RST);
	ck_assert_ptr_null(conn());
	ck_assert_int_lt(recv(k.stream, (char[8]){ 0 }, 8, 0), 0);
	ck_assert_int_eq(errno, ECONNRESET);
	ck_assert_uint_eq(k.net.n_look, 0);
	lk_done(&k);
}
END_TEST

START_TEST(what_cannot_be_read_is_denied)
{
	open_looked_at();
	k.how = JUDGE_ALLOW;
	/* A handshake record of no length at all. */
	lk_segment(&k, &t, TCP_ACK, "\x16\3\1\0\0", 5);
	ck_assert_uint_eq(k.denied, 1);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(an_end_before_the_verdict_is_denied)
{
	open_looked_at();
	k.how = JUDGE_ALLOW;
	lk_segment(&k, &t, TCP_ACK | TCP_FIN, hello_begin, 6);
	ck_assert_uint_eq(k.denied, 1);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(who_begins_and_does_not_go_on_is_reset)
{
	open_looked_at();
	lk_segment(&k, &t, TCP_ACK, hello_begin, 6);
	t.seq += 6;
	acked();
	/* Its time is up, by the clock that the look began by. */
	for (int i = 0; i < 200 && conn(); i++)
		ck_assert_int_ge(loop_step(&k.loop, 100), 0);
	ck_assert_ptr_null(conn());
	ck_assert_uint_eq(k.denied, 1);
	ck_assert_uint_eq(k.net.n_look, 0);
	lk_done(&k);
}
END_TEST

START_TEST(a_server_that_speaks_first_is_heard)
{
	const uint8_t *data;
	size_t len = 0;

	open_looked_at();
	ck_assert_int_eq(send(k.stream, "220 hello", 9, 0), 9);
	while (!lk_answer(&k, &t, &data, &len))
		ck_assert_int_ge(loop_step(&k.loop, 100), 0);
	ck_assert_uint_eq(len, 9);
	lk_done(&k);
}
END_TEST

static void read_urgent_data(void)
{
	char all[16] = { 0 };
	size_t n = 0;
	bool fin = false;

	open_real(JUDGE_ALLOW);
	ck_assert_int_eq(send(k.stream, "abc", 3, 0), 3);
	ck_assert_int_eq(send(k.stream, "U", 1, MSG_OOB), 1);
	ck_assert_int_eq(send(k.stream, "def", 3, 0), 3);
	ck_assert_int_eq(shutdown(k.stream, SHUT_WR), 0);
	for (int i = 0; !fin; i++) {
		const uint8_t *data;
		size_t len;
		const struct tcp_hdr *h = lk_answer(&k, &t, &data, &len);

		ck_assert_int_lt(i, 600);
		if (!h) {
			ck_assert_int_ge(loop_step(&k.loop, 100), 0);
			continue;
		}
		ck_assert_uint_eq(be32_get(h->seq), t.ack);
		ck_assert_uint_lt(n + len, sizeof(all));
		memcpy(all + n, data, len);
		n += len;
		fin = h->flags & TCP_FIN;
		t.ack += (uint32_t)len + fin;
		lk_segment(&k, &t, TCP_ACK, NULL, 0);
	}
	ck_assert_str_eq(all, "abcUdef");
	lk_done(&k);
}

START_TEST(urgent_data_is_data)
{
	read_urgent_data();
	no_peek_off = true;
	read_urgent_data();
	no_peek_off = false;
}
END_TEST

/* ---- Another policy ---- */

START_TEST(a_new_policy_ends_what_it_denies)
{
	open_real(JUDGE_ALLOW);
	net_judge_all(&k.net);
	lk_run(&k);
	ck_assert_ptr_nonnull(conn());
	k.how = JUDGE_DENY;
	net_judge_all(&k.net);
	ck_assert(lk_answer(&k, &t, NULL, NULL)->flags & TCP_RST);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(what_nobody_looked_at_cannot_be_looked_at_later)
{
	open_real(JUDGE_ALLOW);
	k.how = JUDGE_LOOK;
	net_judge_all(&k.net);
	lk_run(&k);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(what_is_being_looked_at_goes_on)
{
	open_looked_at();
	net_judge_all(&k.net);
	lk_run(&k);
	ck_assert_ptr_nonnull(conn());
	lk_done(&k);
}
END_TEST

/* ---- Interception ---- */

START_TEST(what_is_intercepted_gets_what_was_held)
{
	int server;
	const uint8_t *data;
	size_t len;

	open_looked_at();
	/* The server's end stays open, in its own variable. */
	server = take_fd(&k.stream);
	k.how = JUDGE_INTERCEPT;
	say("GET / HTTP/1.1");
	heard("GET / HTTP/1.1");
	acked();
	ck_assert(conn()->f.ends_here);
	say("more");
	heard("more");
	acked();
	ck_assert_int_eq(send(k.stream, "answer", 6, 0), 6);
	ck_assert_ptr_nonnull(lk_answer(&k, &t, &data, &len));
	ck_assert_uint_eq(len, 6);
	ck_assert_mem_eq(data, "answer", 6);
	lk_done(&k);
	ck_assert_int_eq(close(server), 0);
}
END_TEST

/* An address of the VM's own: nobody is connected to, and none is told before. */
static void open_own(void)
{
	lk_init(&k);
	k.how = JUDGE_LOOK;
	t = (struct lk_tcp){ .peer = own_addr(1, false),
			     .port = 40000,
			     .peer_port = 80,
			     .seq = 1000,
			     .window = 65535 };
	lk_segment(&k, &t, TCP_SYN, NULL, 0);
	t.ack = be32_get(lk_answer(&k, &t, NULL, NULL)->seq) + 1;
	t.seq++;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	ck_assert_int_eq(k.stream, -1);
	ck_assert_uint_eq(k.net.n_own, 1);
}

START_TEST(an_address_of_its_own_is_a_stream_to_who_intercepts)
{
	open_own();
	k.how = JUDGE_INTERCEPT;
	say("GET / HTTP/1.1");
	ck_assert_uint_eq(k.net.n_own, 0);
	ck_assert(k.attempt.plain);
	heard("GET / HTTP/1.1");
	acked();
	ck_assert(conn()->f.ends_here);
	say("more");
	heard("more");
	lk_done(&k);
	/* Denied after all, and one that ends with nothing said. */
	open_own();
	k.how = JUDGE_DENY;
	say("GET / HTTP/1.1");
	ck_assert_ptr_null(conn());
	ck_assert_uint_eq(k.net.n_own, 0);
	lk_done(&k);
	open_own();
	lk_done(&k);
}
END_TEST

START_TEST(addresses_of_its_own_are_few_at_once)
{
	static uint8_t frame[LK_FRAME_MAX];
	struct lk_tcp other;

	open_own();
	other = t;
	for (unsigned int i = 1; i < NET_OWN_MAX; i++) {
		const struct tcp_hdr *h;

		other.port = (uint16_t)(40000 + i);
		other.seq = 1000;
		lk_segment(&k, &other, TCP_SYN, NULL, 0);
		h = lk_answer(&k, &other, NULL, NULL);
		ck_assert_ptr_nonnull(h);
		ck_assert_uint_eq(h->flags, TCP_SYN | TCP_ACK);
		other.ack = be32_get(h->seq) + 1;
		other.seq++;
		lk_segment(&k, &other, TCP_ACK, NULL, 0);
	}
	ck_assert_uint_eq(k.net.n_own, NET_OWN_MAX);
	other.port++;
	lk_segment(&k, &other, TCP_SYN, NULL, 0);
	ck_assert_uint_gt(lk_recv(&k, frame), 0);
	ck_assert_uint_eq(frame[14 + 9], IP_ICMP);
	ck_assert_uint_eq(k.net.n_own, NET_OWN_MAX);
	ck_assert_uint_eq(k.net.stats.refused, 1);
	lk_done(&k);
}
END_TEST

START_TEST(a_server_that_has_spoken_is_not_intercepted)
{
	open_looked_at();
	ck_assert_int_eq(send(k.stream, "220", 3, 0), 3);
	while (!lk_answer(&k, &t, NULL, NULL))
		ck_assert_int_ge(loop_step(&k.loop, 100), 0);
	k.how = JUDGE_INTERCEPT;
	say("EHLO");
	ck_assert_uint_eq(k.denied, 1);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

/* When it has all been acknowledged there is no trace of it in the numbers. */
START_TEST(a_server_that_was_heard_has_spoken)
{
	open_looked_at();
	ck_assert_int_eq(send(k.stream, "220", 3, 0), 3);
	while (!lk_answer(&k, &t, NULL, NULL))
		ck_assert_int_ge(loop_step(&k.loop, 100), 0);
	t.ack += 3;
	lk_segment(&k, &t, TCP_ACK, NULL, 0);
	k.how = JUDGE_INTERCEPT;
	say("EHLO");
	ck_assert_uint_eq(k.denied, 1);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

START_TEST(a_new_policy_ends_what_is_intercepted)
{
	open_one();
	k.how = JUDGE_ALLOW;
	net_judge_all(&k.net);
	ck_assert(lk_answer(&k, &t, NULL, NULL)->flags & TCP_RST);
	ck_assert_ptr_null(conn());
	lk_done(&k);
}
END_TEST

CHECK_MAIN(
	"net_tcp", data_goes_there_and_back,
	an_acknowledgement_waits_for_the_answer,
	what_is_denied_is_reset_at_once, segments_of_no_connection_are_reset,
	a_refused_connection_is_reset, the_same_syn_again_gets_the_same_answer,
	an_answer_to_what_was_not_said_is_reset, half_open_connections_are_few,
	connections_have_a_limit, a_gap_is_not_filled_from_behind,
	what_came_already_is_passed_over, who_asks_whether_we_live_is_told,
	only_the_very_next_byte_resets, a_syn_within_a_connection_is_a_question,
	an_ack_of_what_was_not_sent_is_refused,
	segments_without_ack_are_dropped, a_window_is_kept,
	three_of_the_same_ack_send_it_again,
	what_is_not_acked_is_sent_again_and_then_given_up,
	a_shut_window_is_asked_about, an_answer_that_is_not_acked_is_given_up,
	the_guest_ends_first, the_host_ends_first, a_lost_end_is_sent_again,
	nothing_comes_after_an_end, who_does_not_read_shuts_the_window,
	who_waits_for_more_room_is_told_without_asking,
	what_was_refused_is_asked_for_again, an_acknowledgement_waits_for_room,
	the_oldest_that_is_looked_at_makes_room,
	bytes_are_held_until_they_are_judged, what_is_no_tls_is_judged_as_such,
	what_is_denied_when_looked_at_goes_nowhere,
	what_cannot_be_read_is_denied, an_end_before_the_verdict_is_denied,
	who_begins_and_does_not_go_on_is_reset,
	a_server_that_speaks_first_is_heard, a_new_policy_ends_what_it_denies,
	what_nobody_looked_at_cannot_be_looked_at_later,
	what_is_being_looked_at_goes_on, what_is_intercepted_gets_what_was_held,
	a_server_that_has_spoken_is_not_intercepted,
	a_server_that_was_heard_has_spoken,
	an_address_of_its_own_is_a_stream_to_who_intercepts,
	addresses_of_its_own_are_few_at_once,
	a_new_policy_ends_what_is_intercepted,
	a_window_that_stays_shut_is_no_failure,
	a_guest_that_is_paused_keeps_its_connections,
	one_that_the_guest_has_forgotten_ends,
	a_full_table_lets_go_of_what_is_over_on_one_side,
	a_full_table_keeps_what_is_open_for_an_hour,
	who_sends_past_the_window_is_not_told_a_larger_one,
	new_flows_are_slowed_down, urgent_data_is_data)
