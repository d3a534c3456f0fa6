/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_relay.c - common/relay: ends, resets, and who holds up whom */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/relay.h"
#include "tests/lib/check_main.h"

#define BIG (8u << 20)

/**
 * struct bench - A relay between the inner ends of two pairs
 * @end:	The outer ones
 * @over:	Times it has been told that it is over
 */
struct bench {
	struct loop loop;
	struct relay r;
	int inner[2];
	int end[2];
	unsigned int over;
	int error;
	uint8_t buf[RELAY_CHUNK];
};

static void on_over(struct relay *r, int error)
{
	struct bench *b = container_of(r, struct bench, r);

	b->over++;
	b->error = error;
	for (int i = 0; i < 2; i++) {
		if (error)
			relay_reset(b->inner[i]);
		(void)close(take_fd(&b->inner[i]));
	}
}

static void unix_pair(int fd[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, fd),
			 0);
}

/* Over loopback: fd[0] was accepted. */
static void tcp_pair(int fd[2])
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	struct sockaddr *p = (struct sockaddr *)&sa;
	auto_fd int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(l, p, len), 0);
	ck_assert_int_eq(listen(l, 1), 0);
	ck_assert_int_eq(getsockname(l, p, &len), 0);
	fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd[1], p, len), 0);
	fd[0] = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	ck_assert_int_ge(fd[0], 0);
}

/* Side 0 is TCP, as a client is, side 1 Unix, as the monitor is. */
static void bench_prepare(struct bench *b)
{
	struct err e;
	int fd[2];

	memset(b, 0, sizeof(*b));
	ck_assert_int_eq(loop_init(&b->loop, &e), 0);
	tcp_pair(fd);
	b->inner[0] = fd[0];
	b->end[0] = fd[1];
	unix_pair(fd);
	b->inner[1] = fd[0];
	b->end[1] = fd[1];
	relay_init(&b->r, b->inner[0], b->inner[1], b->buf, on_over);
}

static struct bench *bench_new(void)
{
	struct bench *b = malloc(sizeof(*b));

	ck_assert_ptr_nonnull(b);
	bench_prepare(b);
	ck_assert_int_eq(relay_start(&b->r, &b->loop), 0);
	return b;
}

static void bench_free(struct bench *b)
{
	relay_stop(&b->r);
	for (int i = 0; i < 2; i++) {
		if (b->inner[i] >= 0)
			(void)close(b->inner[i]);
		if (b->end[i] >= 0)
			(void)close(b->end[i]);
	}
	loop_done(&b->loop);
	free(b);
}

static void step(struct bench *b)
{
	for (int i = 0; i < 1000 && loop_step(&b->loop, 0) > 0; i++)
		;
}

static void say(struct bench *b, int from, const char *what)
{
	ck_assert_int_eq(send(b->end[from], what, strlen(what), MSG_NOSIGNAL),
			 (ssize_t)strlen(what));
	step(b);
}

/* What an end reads now: at most one word. Return: recv()'s, or -errno */
static ssize_t hear(struct bench *b, int at, char word[32])
{
	ssize_t n;

	step(b);
	n = recv(b->end[at], word, 31, MSG_DONTWAIT);
	word[MAX(n, 0)] = '\0';
	return n < 0 ? -errno : n;
}

static void want(struct bench *b, int at, const char *what)
{
	char word[32];

	ck_assert_int_eq(hear(b, at, word), (ssize_t)strlen(what));
	ck_assert_str_eq(word, what);
}

START_TEST(bytes_go_both_ways)
{
	struct bench *b = bench_new();

	say(b, 0, "to the guest");
	want(b, 1, "to the guest");
	say(b, 1, "to the host");
	want(b, 0, "to the host");
	ck_assert_uint_eq(b->over, 0);
	bench_free(b);
}
END_TEST

START_TEST(what_was_put_comes_first)
{
	struct bench *b = malloc(sizeof(*b));
	char word[32];

	bench_prepare(b);
	ck_assert_int_eq(relay_put(&b->r, 0, "banner ", 7), 0);
	ck_assert_int_eq(relay_put(&b->r, 0, b->buf, RELAY_CHUNK), -ENOBUFS);
	ck_assert_int_eq(send(b->end[1], "and more", 8, MSG_NOSIGNAL), 8);
	ck_assert_int_eq(relay_start(&b->r, &b->loop), 0);
	ck_assert_int_eq(hear(b, 0, word), 15);
	ck_assert_str_eq(word, "banner and more");
	bench_free(b);
}
END_TEST

/* The one that has said all may go on listening. */
START_TEST(half_close_is_kept)
{
	for (int side = 0; side < 2; side++) {
		struct bench *b = bench_new();
		char word[32];

		say(b, side, "question");
		ck_assert_int_eq(shutdown(b->end[side], SHUT_WR), 0);
		want(b, !side, "question");
		ck_assert_int_eq(hear(b, !side, word), 0);
		ck_assert_uint_eq(b->over, 0);
		say(b, !side, "answer");
		want(b, side, "answer");
		ck_assert_int_eq(shutdown(b->end[!side], SHUT_WR), 0);
		ck_assert_int_eq(hear(b, side, word), 0);
		ck_assert_uint_eq(b->over, 1);
		ck_assert_int_eq(b->error, 0);
		bench_free(b);
	}
}
END_TEST

START_TEST(a_broken_connection_is_no_end)
{
	char word[32];

	/* The monitor's socket closes: of the client's it is a reset. */
	struct bench *b = bench_new();

	say(b, 1, "half of it");
	(void)close(take_fd(&b->end[1]));
	step(b);
	ck_assert_uint_eq(b->over, 1);
	ck_assert_int_lt(b->error, 0);
	want(b, 0, "half of it");
	ck_assert_int_eq(hear(b, 0, word), -ECONNRESET);
	bench_free(b);

	/* The client resets: the other one is closed. */
	b = bench_new();
	relay_reset(b->end[0]);
	(void)close(take_fd(&b->end[0]));
	step(b);
	ck_assert_uint_eq(b->over, 1);
	ck_assert_int_lt(b->error, 0);
	ck_assert_int_eq(hear(b, 1, word), 0);
	ck_assert_int_lt(send(b->end[1], "x", 1, MSG_NOSIGNAL), 0);
	bench_free(b);

	/* One who has said all, and then breaks: nobody waits for ever. */
	b = bench_new();
	ck_assert_int_eq(shutdown(b->end[1], SHUT_WR), 0);
	step(b);
	ck_assert_uint_eq(b->over, 0);
	(void)close(take_fd(&b->end[1]));
	step(b);
	ck_assert_uint_eq(b->over, 1);
	ck_assert_int_lt(b->error, 0);
	bench_free(b);
}
END_TEST

/* Fill one direction until nothing moves. Return: bytes written */
static size_t fill(struct bench *b, int from)
{
	static const uint8_t zero[4096];
	size_t all = 0;

	for (int idle = 0; idle < 100;) {
		ssize_t n = send(b->end[from], zero, sizeof(zero),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		idle = n > 0 ? 0 : idle + 1;
		all += (size_t)MAX(n, 0);
		step(b);
		ck_assert_uint_le(b->r.side[!from].out.len, RELAY_CHUNK);
	}
	return all;
}

START_TEST(a_slow_reader_holds_up_the_writer_and_nobody_else)
{
	struct bench *b = bench_new();
	size_t all = fill(b, 1), got = 0;
	uint8_t buf[4096];
	ssize_t n;

	ck_assert_uint_gt(b->r.side[0].out.len, 0);
	/* Nothing to do is no reason to be woken. */
	ck_assert_int_eq(loop_step(&b->loop, 0), 0);
	say(b, 0, "still there");
	want(b, 1, "still there");
	/* Nor that the writer has said all, before its bytes are through. */
	all += fill(b, 1);
	ck_assert_int_eq(shutdown(b->end[1], SHUT_WR), 0);
	ck_assert_int_eq(loop_step(&b->loop, 0), 0);
	while ((n = recv(b->end[0], buf, sizeof(buf), MSG_DONTWAIT)) != 0) {
		got += (size_t)MAX(n, 0);
		step(b);
	}
	ck_assert_uint_eq(got, all);
	ck_assert_uint_eq(b->over, 0);
	bench_free(b);

	/* One that has hung up is told to a reader, when it reads. */
	b = bench_new();
	(void)fill(b, 1);
	(void)close(take_fd(&b->end[1]));
	ck_assert_int_eq(loop_step(&b->loop, 0), 0);
	ck_assert_uint_eq(b->over, 0);
	while (!b->over) {
		(void)recv(b->end[0], buf, sizeof(buf), MSG_DONTWAIT);
		step(b);
	}
	ck_assert_int_lt(b->error, 0);
	bench_free(b);
}
END_TEST

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}

static void make(uint8_t *buf, size_t len, size_t at)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = byte_at(at + i);
}

/* As much as fits, of what comes next. Return: new place */
static size_t push(struct bench *b, int from, size_t at)
{
	uint8_t buf[10007];
	size_t len = MIN(sizeof(buf), BIG - at);
	ssize_t n;

	make(buf, len, at + (size_t)from);
	n = send(b->end[from], buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	at += (size_t)MAX(n, 0);
	if (at == BIG)
		ck_assert_int_eq(shutdown(b->end[from], SHUT_WR), 0);
	return at;
}

static size_t pull(struct bench *b, int at_end, size_t at)
{
	uint8_t buf[8191], want_buf[sizeof(buf)];
	ssize_t n = recv(b->end[at_end], buf, sizeof(buf), MSG_DONTWAIT);
	size_t len = (size_t)MAX(n, 0);

	make(want_buf, len, at + (size_t)!at_end);
	if (memcmp(buf, want_buf, len) != 0)
		ck_abort_msg("other bytes at %zu", at);
	return at + len;
}

START_TEST(much_both_ways_at_once_comes_whole)
{
	struct bench *b = bench_new();
	size_t sent[2] = { 0 }, got[2] = { 0 };

	while (got[0] < BIG || got[1] < BIG) {
		for (int i = 0; i < 2; i++) {
			if (sent[i] < BIG)
				sent[i] = push(b, i, sent[i]);
			got[i] = pull(b, i, got[i]);
		}
		ck_assert_int_ge(loop_step(&b->loop, 0), 0);
	}
	step(b);
	ck_assert_uint_eq(b->over, 1);
	ck_assert_int_eq(b->error, 0);
	bench_free(b);
}
END_TEST

CHECK_MAIN("relay", bytes_go_both_ways, what_was_put_comes_first,
	   half_close_is_kept, a_broken_connection_is_no_end,
	   a_slow_reader_holds_up_the_writer_and_nobody_else,
	   much_both_ways_at_once_comes_whole)
