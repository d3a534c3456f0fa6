/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vsock_credit.c - credit, windows, bytes exact */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_vsock.h"
#include "vmm/virtio/vsock_conn.h"

#define CHUNK 4096u

static void start(struct fake_vsock *f, size_t pool)
{
	fv_init(f, &(struct vsock_config){ .pool = pool });
	fv_boot(f);
}

/* The same bytes for the same seed, on every machine. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Byte number @i of every stream here. */
static uint8_t byte_at(uint32_t i)
{
	return (uint8_t)(i * 2654435761u >> 24);
}

static void make_bytes(uint8_t *buf, uint32_t from, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		buf[i] = byte_at(from + i);
}

static void check_bytes(const uint8_t *buf, uint32_t from, size_t len)
{
	size_t good = 0;

	while (good < len && buf[good] == byte_at(from + (uint32_t)good))
		good++;
	ck_assert_uint_eq(good, len);
}

static struct vsock_conn *inside(struct fake_vsock *f, const struct fv_conn *c)
{
	return vsock_find(f->v, c->guest_port, c->host_port);
}

static void drain(struct fake_vsock *f, struct fv_conn *c)
{
	struct fv_packet p;

	while (fv_recv(f, &p))
		if (p.host_port == c->host_port &&
		    p.guest_port == c->guest_port)
			fv_note(c, &p);
}

/* Sends what credit allows, up to @len. Return: bytes */
static uint32_t send_some(struct fake_vsock *f, struct fv_conn *c, uint32_t len)
{
	static uint8_t buf[FV_TX_MAX];

	len = MIN(MIN(len, fv_credit(c)), FV_TX_MAX);
	if (len) {
		make_bytes(buf, c->tx_cnt, len);
		fv_send(f, c, VSOCK_OP_RW, buf, len);
	}
	drain(f, c);
	return len;
}

static uint32_t read_some(struct fake_vsock *f, int fd, uint32_t at, size_t len)
{
	static uint8_t buf[FV_TX_MAX];
	ssize_t n = recv(fd, buf, MIN(len, sizeof(buf)), MSG_DONTWAIT);

	if (n < 0)
		n = 0;
	check_bytes(buf, at, (size_t)n);
	fv_run(f);
	return (uint32_t)n;
}

/* Fills @c until neither its socket nor its window takes more. */
static uint32_t stuff(struct fake_vsock *f, struct fv_conn *c)
{
	uint32_t n, sum = 0;

	while ((n = send_some(f, c, CHUNK)) > 0)
		sum += n;
	return sum;
}

START_TEST(guest_bytes_arrive_whole_in_any_chunks)
{
	static const uint32_t total = 1u << 20;
	struct fake_vsock f;
	uint32_t seed = 1, got = 0;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	while (got < total) {
		uint32_t r = next_random(&seed);
		uint32_t len = r % 3 == 0 ? 1 : r % 20000;

		(void)send_some(&f, &c, MIN(len, total - c.tx_cnt));
		r = next_random(&seed);
		if (r % 4)
			got += read_some(&f, fd, got,
					 r % 3 == 0 ? 1 : r % 30000);
		drain(&f, &c);
	}
	ck_assert_uint_eq(c.tx_cnt, total);
	ck_assert_uint_eq(fv_stats(&f).tx_bytes, total);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(host_bytes_arrive_whole_in_any_chunks)
{
	static const uint32_t total = 1u << 20;
	static uint8_t buf[65536];
	struct fake_vsock f;
	uint32_t seed = 2, sent = 0, got = 0;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	c.buf_alloc = 10000;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	while (got < total) {
		uint32_t r = next_random(&seed);
		uint32_t len = r % 3 == 0 ? 1 : r % sizeof(buf);
		ssize_t n;

		len = MIN(len, total - sent);
		make_bytes(buf, sent, len);
		n = send(fd, buf, len, MSG_DONTWAIT);
		if (n > 0)
			sent += (uint32_t)n;
		fv_run(&f);
		while (fv_recv(&f, &p)) {
			if (p.op != VSOCK_OP_RW)
				continue;
			check_bytes(p.data, got, p.len);
			got += p.len;
			/* Never more on its way than we allowed. */
			ck_assert_uint_le(got - c.fwd_cnt, c.buf_alloc);
		}
		if (next_random(&seed) % 2) {
			c.fwd_cnt = got;
			fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
		}
	}
	ck_assert_uint_eq(fv_stats(&f).rx_bytes, total);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(window_grows_with_use_to_its_maximum)
{
	struct fake_vsock f;
	uint32_t got = 0;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	ck_assert_uint_eq(c.peer_alloc, VSOCK_WINDOW_MIN);
	while (got < 1u << 20) {
		(void)send_some(&f, &c, CHUNK);
		got += read_some(&f, fd, got, CHUNK);
	}
	ck_assert_uint_eq(c.peer_alloc, VSOCK_WINDOW_MAX);
	/* While the host keeps up nothing is copied. */
	ck_assert_uint_eq(fv_stats(&f).copied_bytes, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(slow_reader_stops_the_guest_and_nobody_else)
{
	struct fake_vsock f;
	struct fv_conn slow, c;
	struct vsock_stats s;
	uint32_t sent, got = 0, n;
	int slow_fd, fd;

	start(&f, 0);
	slow_fd = fv_connect(&f, 5, &slow);
	fd = fv_connect(&f, 6, &c);

	sent = stuff(&f, &slow);
	s = fv_stats(&f);
	ck_assert_uint_eq(fv_credit(&slow), 0);
	ck_assert_uint_gt(s.buffered_bytes, 0);
	ck_assert_uint_le(s.buffered_bytes, inside(&f, &slow)->window);
	ck_assert_uint_eq(s.copied_bytes, s.buffered_bytes);

	ck_assert_uint_eq(send_some(&f, &c, 100), 100);
	ck_assert_uint_eq(read_some(&f, fd, 0, 100), 100);

	while ((n = read_some(&f, slow_fd, got, CHUNK)) > 0)
		got += n;
	ck_assert_uint_eq(got, sent);
	drain(&f, &slow);
	ck_assert_uint_gt(fv_credit(&slow), 0);
	(void)close(fd);
	(void)close(slow_fd);
	fv_done(&f);
}
END_TEST

START_TEST(windows_together_are_bounded_by_the_pool)
{
	enum {
		N = 24
	};
	static const size_t pool = 1u << 20;
	static const size_t base = (size_t)N * VSOCK_WINDOW_MIN;
	struct fake_vsock f;
	struct fv_conn c[N], late;
	uint32_t got[N] = { 0 };
	int fd[N], late_fd;
	struct vsock_stats s;

	start(&f, pool);
	for (int i = 0; i < N; i++)
		fd[i] = fv_connect(&f, 5, &c[i]);
	/* One after the other, so that the first get all they want. */
	for (int i = 0; i < N; i++) {
		for (int k = 0; k < 200; k++) {
			(void)send_some(&f, &c[i], CHUNK);
			got[i] += read_some(&f, fd[i], got[i], CHUNK);
		}
		s = fv_stats(&f);
		ck_assert_uint_le(s.window_bytes, base + pool);
	}
	/* The first four windows have emptied the pool: the bound is met. */
	ck_assert_uint_eq(f.v->pool_left, 0);
	ck_assert_uint_eq(s.window_bytes, base + pool);

	/* Nobody reads any more: what waits is no more than was promised. */
	for (int i = 0; i < N; i++)
		(void)stuff(&f, &c[i]);
	s = fv_stats(&f);
	ck_assert_uint_le(s.buffered_bytes, s.window_bytes);
	ck_assert_uint_gt(s.buffered_bytes, s.window_bytes / 2);

	/* And yet a new one has its own. */
	late_fd = fv_connect(&f, 5, &late);
	ck_assert_uint_eq(late.peer_alloc, VSOCK_WINDOW_MIN);
	ck_assert_uint_eq(send_some(&f, &late, 10), 10);
	ck_assert_uint_eq(read_some(&f, late_fd, 0, 10), 10);

	for (int i = 0; i < N; i++)
		(void)close(fd[i]);
	(void)close(late_fd);
	fv_run(&f);
	ck_assert_uint_eq(fv_stats(&f).buffered_bytes, 0);
	ck_assert_uint_eq(f.v->pool_left, pool);
	fv_done(&f);
}
END_TEST

/* fv_note() checks that what was allowed is never taken away. */
START_TEST(large_windows_shrink_to_their_share_when_the_pool_is_low)
{
	enum {
		N = 16
	};
	static const size_t pool = 256u << 10;
	struct fake_vsock f;
	struct fv_conn c[N];
	uint32_t got[N] = { 0 }, share = VSOCK_WINDOW_MIN + pool / N;
	int fd[N];

	start(&f, pool);
	fd[0] = fv_connect(&f, 5, &c[0]);
	for (int k = 0; k < 200; k++) {
		(void)send_some(&f, &c[0], CHUNK);
		got[0] += read_some(&f, fd[0], got[0], CHUNK);
	}
	ck_assert_uint_gt(c[0].peer_alloc, share + share);
	for (int i = 1; i < N; i++)
		fd[i] = fv_connect(&f, 5, &c[i]);
	for (int k = 0; k < 200; k++) {
		for (int i = 0; i < N; i++) {
			(void)send_some(&f, &c[i], CHUNK);
			got[i] += read_some(&f, fd[i], got[i], CHUNK);
		}
	}
	ck_assert_uint_le(c[0].peer_alloc, share);
	for (int i = 0; i < N; i++) {
		ck_assert_uint_gt(c[i].peer_alloc, VSOCK_WINDOW_MIN);
		(void)close(fd[i]);
	}
	fv_done(&f);
}
END_TEST

/* The guest is told of no more, having no buffer to be told in. */
START_TEST(credit_may_be_used_to_the_last_byte_and_no_further)
{
	static uint8_t bytes[VSOCK_WINDOW_MIN];
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	fv_starve(&f, &c, 0);
	fv_send(&f, &c, VSOCK_OP_RW, bytes, sizeof(bytes) - 1);
	fv_send(&f, &c, VSOCK_OP_RW, bytes, 1);
	ck_assert_int_eq(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT),
			 sizeof(bytes));
	fv_send(&f, &c, VSOCK_OP_RW, bytes, 1);
	ck_assert_int_eq(recv(fd, bytes, 1, MSG_DONTWAIT), 0);
	f.rx_max = FV_QUEUE;
	fv_expect(&f, &p, VSOCK_OP_RST);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(credit_request_is_answered)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	fv_send(&f, &c, VSOCK_OP_RW, "12345", 5);
	ck_assert(!fv_recv(&f, &p)); /* too little for an update */
	fv_send(&f, &c, VSOCK_OP_CREDIT_REQUEST, NULL, 0);
	fv_expect(&f, &p, VSOCK_OP_CREDIT_UPDATE);
	ck_assert_uint_eq(p.fwd_cnt, 5);
	ck_assert_uint_eq(p.buf_alloc, VSOCK_WINDOW_MIN);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(host_bytes_stop_at_the_guests_credit_and_ask_once)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	c.buf_alloc = 10;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	ck_assert_int_eq(send(fd, "0123456789abcdef", 16, 0), 16);
	fv_run(&f); /* returns: a readable socket that must wait is no event */

	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_uint_eq(p.len, 10);
	fv_expect(&f, &p, VSOCK_OP_CREDIT_REQUEST);
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0); /* nothing new */
	ck_assert(!fv_recv(&f, &p));
	c.fwd_cnt = 4;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_uint_eq(p.len, 4);
	ck_assert_mem_eq(p.data, "abcd", 4);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(guest_without_any_buffer_gets_an_end_but_no_bytes)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	c.buf_alloc = 0;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	(void)shutdown(fd, SHUT_WR);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	ck_assert_uint_eq(p.flags, VSOCK_SHUT_SEND);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* Back in time, or ahead of what was sent: neither makes room. */
START_TEST(guest_that_lies_about_what_it_read_gains_nothing)
{
	static const uint32_t lies[] = {
		0, 5, 17, 1000, 0x80000000, UINT32_MAX
	};

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct fake_vsock f;
		struct fv_packet p;
		struct fv_conn c;
		int fd;

		start(&f, 0);
		fd = fv_connect(&f, 5, &c);
		c.buf_alloc = 10;
		fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
		ck_assert_int_eq(send(fd, "0123456789abcdefghij", 20, 0), 20);
		fv_run(&f);
		fv_expect(&f, &p, VSOCK_OP_RW);
		c.fwd_cnt = 6;
		fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
		fv_expect(&f, &p, VSOCK_OP_CREDIT_REQUEST);
		fv_expect(&f, &p, VSOCK_OP_RW);
		ck_assert_uint_eq(p.len, 6);
		fv_expect(&f, &p, VSOCK_OP_CREDIT_REQUEST);

		c.fwd_cnt = lies[i];
		fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
		ck_assert(!fv_recv(&f, &p));
		c.fwd_cnt = 16;
		fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
		fv_expect(&f, &p, VSOCK_OP_RW);
		ck_assert_uint_eq(p.len, 4);
		(void)close(fd);
		fv_done(&f);
	}
}
END_TEST

/* Packets of a guest may overtake each other: an old one takes nothing back. */
START_TEST(old_news_of_credit_does_not_stall)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	c.buf_alloc = 10;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	ck_assert_int_eq(send(fd, "0123456789", 10, 0), 10);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	c.fwd_cnt = 10;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	c.fwd_cnt = 0;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	ck_assert_int_eq(send(fd, "abcd", 4, 0), 4);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_uint_eq(p.len, 4);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(guest_that_lowers_its_buffer_gets_no_more)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	ck_assert_int_eq(send(fd, "0123456789", 10, 0), 10);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	c.buf_alloc = 5; /* with 10 on their way */
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	ck_assert_int_eq(send(fd, "x", 1, 0), 1);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_CREDIT_REQUEST);
	ck_assert(!fv_recv(&f, &p));
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* All counters run free: 4 GiB is nothing special. */
START_TEST(counters_wrap)
{
	static const uint32_t at = UINT32_MAX - 5000;
	struct fake_vsock f;
	uint32_t got = 0;
	struct vsock_conn *in;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	in = inside(&f, &c);
	in->recv_cnt = at;
	in->fwd_cnt = at;
	in->told_fwd = at;
	in->sent_cnt = at;
	in->peer_fwd = at;
	c.tx_cnt = at;
	c.peer_fwd = at;
	c.fwd_cnt = at;
	while (got < 200000) {
		(void)send_some(&f, &c, CHUNK);
		got += read_some(&f, fd, at + got, CHUNK);
	}
	ck_assert_uint_lt(c.tx_cnt, at);

	for (uint32_t i = 0; i < 100; i++) {
		static uint8_t bytes[1000];

		ck_assert_int_eq(send(fd, bytes, sizeof(bytes), 0),
				 sizeof(bytes));
		fv_run(&f);
		fv_expect(&f, &p, VSOCK_OP_RW);
		ck_assert_uint_eq(p.len, sizeof(bytes));
		c.fwd_cnt += p.len;
		fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	}
	ck_assert_uint_lt(in->peer_fwd, at);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* The guest powered off: neither its queue nor a slow reader's bytes are lost. */
START_TEST(what_the_guest_sent_last_is_drained)
{
	static uint8_t buf[FV_TX_MAX];
	struct fake_vsock f;
	struct fv_conn c;
	size_t got = 0;
	ssize_t n;
	int fd;

	start(&f, 0);
	fd = fv_connect(&f, 5, &c);
	fv_send(&f, &c, VSOCK_OP_RW, "abc", 3);
	/* The same packet once more, of which no notification tells. */
	fake_guest_offer(&f.g, VSOCK_TX,
			 (uint16_t)(f.g.q[VSOCK_TX].avail_idx - 1u) % FV_QUEUE);
	c.tx_cnt += 3;
	ck_assert(!vsock_drain(f.v));
	ck_assert_int_eq(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), 6);

	while (send_some(&f, &c, FV_TX_MAX) > 0)
		;
	ck_assert_uint_gt(fv_stats(&f).buffered_bytes, 0);
	while (vsock_drain(f.v)) {
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		ck_assert_int_gt(n, 0);
		got += (size_t)n;
		ck_assert_int_ge(loop_step(&f.loop, 0), 0);
	}
	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		got += (size_t)n;
	ck_assert_uint_eq(got, c.tx_cnt - 6);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

CHECK_MAIN("vsock_credit", guest_bytes_arrive_whole_in_any_chunks,
	   host_bytes_arrive_whole_in_any_chunks,
	   window_grows_with_use_to_its_maximum,
	   slow_reader_stops_the_guest_and_nobody_else,
	   windows_together_are_bounded_by_the_pool,
	   large_windows_shrink_to_their_share_when_the_pool_is_low,
	   credit_may_be_used_to_the_last_byte_and_no_further,
	   credit_request_is_answered,
	   host_bytes_stop_at_the_guests_credit_and_ask_once,
	   guest_without_any_buffer_gets_an_end_but_no_bytes,
	   guest_that_lies_about_what_it_read_gains_nothing,
	   old_news_of_credit_does_not_stall,
	   guest_that_lowers_its_buffer_gets_no_more, counters_wrap,
	   what_the_guest_sent_last_is_drained)
