/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vsock_host.c - CONNECT, the bell, the connector, limits */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/unix.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fake_vsock.h"
#include "vmm/virtio/vsock_conn.h"

static void start(struct fake_vsock *f)
{
	fv_init(f,
		&(struct vsock_config){ .hold_port = 1000, .bell_port = 1001 });
	fv_boot(f);
}

static struct vsock_stats stats(struct fake_vsock *f)
{
	struct vsock_stats s;

	vsock_stats(f->v, &s);
	return s;
}

static int say(struct fake_vsock *f, const char *text)
{
	int fd = fv_client(f);

	ck_assert_int_eq(send(fd, text, strlen(text), 0), strlen(text));
	fv_run(f);
	return fd;
}

/* Closed, and no reply before it. */
static bool closed(int fd)
{
	char b;
	ssize_t n = recv(fd, &b, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static bool waiting(int fd)
{
	char b;

	return recv(fd, &b, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void ring(struct fake_vsock *f)
{
	struct fv_conn c = { .guest_port = 9, .host_port = 1001 };
	struct fv_packet p;

	fv_send(f, &c, VSOCK_OP_REQUEST, NULL, 0);
	fv_expect(f, &p, VSOCK_OP_RST);
	ck_assert_uint_eq(p.host_port, 1001);
}

START_TEST(connect_asks_the_guest_and_waits_for_it)
{
	struct fake_vsock f;
	struct fv_packet p;
	int fd;

	start(&f);
	fd = say(&f, "CONNECT 77\n");

	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	ck_assert_uint_eq(p.guest_port, 77);
	ck_assert_uint_eq(p.host_port, VSOCK_PORT_FIRST);
	ck_assert(waiting(fd));
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(connect_before_the_driver_is_up_waits)
{
	struct fake_vsock f;
	struct fv_packet p;
	int fd;

	fv_init(&f, &(struct vsock_config){ .hold_port = 1000 });
	fd = say(&f, "CONNECT 77\n");
	ck_assert(waiting(fd));

	fv_boot(&f);
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	ck_assert(waiting(fd));
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(bad_lines_are_refused_with_a_close)
{
	static const char *const bad[] = {
		"\n",
		"CONNECT\n",
		"CONNECT \n",
		"CONNECT  77\n",
		"CONNECT 77 \n",
		"CONNECT 77\r\n",
		"CONNECT -1\n",
		"CONNECT 0x10\n",
		"CONNECT 7a\n",
		"connect 77\n",
		"CONNECT 4294967295\n",
		"CONNECT 4294967296\n",
		"CONNECT 18446744073709551693\n",
		"CONNECT 00000000000000000000000077\n",
		"GET / HTTP/1.1\r\n\r\n",
	};
	struct fake_vsock f;
	struct fv_packet p;

	start(&f);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int fd = say(&f, bad[i]);

		ck_assert_msg(closed(fd), "%s", bad[i]);
		(void)close(fd);
	}
	ck_assert(!fv_recv(&f, &p));
	ck_assert_uint_eq(stats(&f).refused, ARRAY_LEN(bad));
	ck_assert_uint_eq(stats(&f).n_conns, 0);
	fv_done(&f);
}
END_TEST

START_TEST(lines_at_the_edge_are_taken)
{
	static const struct {
		const char *line;
		uint32_t port;
	} good[] = {
		{ "CONNECT 0\n", 0 },
		{ "CONNECT 4294967294\n", 4294967294 },
		/* VSOCK_LINE_MAX bytes in all */
		{ "CONNECT 00000000000000000000077\n", 77 },
	};
	struct fake_vsock f;
	struct fv_packet p;

	start(&f);
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		int fd = say(&f, good[i].line);

		fv_expect(&f, &p, VSOCK_OP_REQUEST);
		ck_assert_uint_eq(p.guest_port, good[i].port);
		(void)close(fd);
		fv_run(&f);
		fv_expect(&f, &p, VSOCK_OP_RST);
	}
	fv_done(&f);
}
END_TEST

START_TEST(line_may_come_byte_by_byte)
{
	static const char line[] = "CONNECT 77\n";
	struct fake_vsock f;
	struct fv_packet p;
	int fd;

	start(&f);
	fd = fv_client(&f);
	for (size_t i = 0; i < sizeof(line) - 1; i++) {
		ck_assert(!fv_recv(&f, &p));
		ck_assert_int_eq(send(fd, line + i, 1, 0), 1);
		fv_run(&f);
	}
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	ck_assert_uint_eq(p.guest_port, 77);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* 64 KiB without a newline: dropped, long before they are read. */
START_TEST(endless_line_is_cut)
{
	static char junk[65536];
	struct fake_vsock f;
	int fd;

	start(&f);
	memset(junk, 'C', sizeof(junk));
	fd = fv_client(&f);
	ck_assert_int_eq(send(fd, junk, sizeof(junk), 0), sizeof(junk));
	fv_run(&f);
	ck_assert(closed(fd));
	ck_assert_uint_eq(stats(&f).n_conns, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(client_that_leaves_at_any_byte_is_forgotten)
{
	static const char line[] = "CONNECT 77\n";

	for (size_t n = 0; n < sizeof(line); n++) {
		struct fake_vsock f;
		struct fv_packet p;
		int fd;

		start(&f);
		fd = fv_client(&f);
		ck_assert_int_eq(send(fd, line, n, 0), n);
		fv_run(&f);
		(void)close(fd);
		fv_run(&f);
		if (fv_recv(&f, &p)) { /* the whole line was there */
			struct fv_conn c = { .guest_port = p.guest_port,
					     .host_port = p.host_port };

			ck_assert_uint_eq(p.op, VSOCK_OP_REQUEST);
			fv_expect(&f, &p, VSOCK_OP_RST);
			fv_send(&f, &c, VSOCK_OP_RESPONSE, NULL, 0);
			fv_expect(&f, &p, VSOCK_OP_RST);
		}
		ck_assert_uint_eq(stats(&f).n_conns, 0);
		fv_done(&f);
	}
}
END_TEST

/* A deadline for those that never finish; the clock is not waited for. */
START_TEST(client_that_never_finishes_has_a_deadline)
{
	struct fake_vsock f;
	int fd;

	start(&f);
	fd = say(&f, "CONN");
	ck_assert(waiting(fd));
	ck_assert(loop_timer_is_set(&f.v->timer));
	list_entry(f.v->hello.next, struct vsock_conn, wait)->deadline_ns = 0;
	f.v->timer.fn(&f.v->timer);
	fv_run(&f);
	ck_assert(closed(fd));
	ck_assert_uint_eq(stats(&f).n_conns, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(bytes_behind_the_line_belong_to_the_stream)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = say(&f, "CONNECT 77\nhello\nworld");
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	c = (struct fv_conn){ .guest_port = 77,
			      .host_port = p.host_port,
			      .buf_alloc = 65536 };
	ck_assert(!fv_recv(&f, &p));
	fv_send(&f, &c, VSOCK_OP_RESPONSE, NULL, 0);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_uint_eq(p.len, 11);
	ck_assert_mem_eq(p.data, "hello\nworld", 11);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(guest_that_refuses_has_the_client_closed_without_a_word)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = say(&f, "CONNECT 77\n");
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	c = (struct fv_conn){ .guest_port = 77, .host_port = p.host_port };
	fv_send(&f, &c, VSOCK_OP_RST, NULL, 0);
	ck_assert(closed(fd));
	ck_assert(!fv_recv(&f, &p));
	ck_assert_uint_eq(stats(&f).refused, 1);
	ck_assert_uint_eq(stats(&f).n_conns, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(answers_to_a_request_not_sent_yet_open_nothing)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c = { .guest_port = 77, .host_port = VSOCK_PORT_FIRST };
	struct vsock_hdr h = { .src_cid = le64_put(3), .dst_cid = le64_put(2) };
	int fd;

	/* Starve it, so that REQUEST stays due. */
	start(&f);
	f.rx_max = 0;
	h.type = le16_put(VSOCK_TYPE_STREAM);
	h.op = le16_put(VSOCK_OP_RW);
	while (f.rx_out > 0) {
		fv_send_raw(&f, &h, NULL, 0);
		ck_assert(fv_recv(&f, &p));
	}
	fd = say(&f, "CONNECT 77\n");
	fv_send(&f, &c, VSOCK_OP_RESPONSE, NULL, 0);
	ck_assert(closed(fd));
	ck_assert_uint_eq(stats(&f).opened, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(connects_to_the_agent_wait_for_the_bell)
{
	struct fake_vsock f;
	struct fv_packet p;
	int fd[3];

	start(&f);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd[i] = say(&f, "CONNECT 1000\n");
	ck_assert(!fv_recv(&f, &p));
	ck_assert_uint_eq(f.bells, 0);

	ring(&f);
	ck_assert_uint_eq(f.bells, 1);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		fv_expect(&f, &p, VSOCK_OP_REQUEST);
		ck_assert_uint_eq(p.guest_port, 1000);
		ck_assert_uint_eq(p.host_port, VSOCK_PORT_FIRST + i);
		ck_assert(waiting(fd[i]));
		(void)close(fd[i]);
	}
	ring(&f);
	ck_assert_uint_eq(f.bells, 1); /* rung once is rung */
	fv_done(&f);
}
END_TEST

START_TEST(held_connects_are_bounded)
{
	static int fd[VSOCK_HELD_MAX];
	struct fake_vsock f;
	int over;

	start(&f);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd[i] = say(&f, "CONNECT 1000\n");
	over = say(&f, "CONNECT 1000\n");
	ck_assert(closed(over));
	(void)close(over);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		ck_assert(waiting(fd[i]));
	/* One that leaves makes room for another. */
	(void)close(fd[0]);
	fv_run(&f);
	fd[0] = say(&f, "CONNECT 1000\n");
	ck_assert(waiting(fd[0]));
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		(void)close(fd[i]);
	fv_done(&f);
}
END_TEST

START_TEST(held_connect_is_closed_when_the_vm_ends)
{
	struct fake_vsock f;
	int fd;

	start(&f);
	fd = say(&f, "CONNECT 1000\n");
	fv_done(&f);
	ck_assert(closed(fd));
	(void)close(fd);
}
END_TEST

START_TEST(held_connect_survives_the_drivers_first_reset)
{
	struct fake_vsock f;
	struct fv_packet p;
	int fd;

	fv_init(&f,
		&(struct vsock_config){ .hold_port = 1000, .bell_port = 1001 });
	fd = say(&f, "CONNECT 1000\n");
	fv_boot(&f); /* begins with one */
	ring(&f);
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	ck_assert(waiting(fd));
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* FC#5688: a peer that still thinks of the old one must not meet the new. */
START_TEST(host_ports_are_not_reused_when_closed)
{
	struct fake_vsock f;
	uint32_t last = VSOCK_PORT_FIRST - 1;

	start(&f);
	for (int i = 0; i < 100; i++) {
		struct fv_conn c;
		int fd = fv_connect(&f, 77, &c);

		ck_assert_uint_eq(c.host_port, last + 1);
		last = c.host_port;
		fv_send(&f, &c, VSOCK_OP_RST, NULL, 0);
		(void)close(fd);
	}
	fv_done(&f);
}
END_TEST

START_TEST(host_ports_wrap_past_those_in_use)
{
	struct fake_vsock f;
	struct fv_conn first, c;
	int a, b, d;

	start(&f);
	a = fv_connect(&f, 77, &first);
	f.v->next_port = VSOCK_PORT_ANY - 1;
	b = fv_connect(&f, 77, &c);
	ck_assert_uint_eq(c.host_port, VSOCK_PORT_ANY - 1);
	d = fv_connect(&f, 78, &c);
	ck_assert_uint_eq(c.host_port, VSOCK_PORT_FIRST + 1);
	(void)close(a);
	(void)close(b);
	(void)close(d);
	fv_done(&f);
}
END_TEST

START_TEST(guest_call_without_a_connector_is_reset)
{
	struct fake_vsock f;
	struct fv_conn c = { .guest_port = 40000, .host_port = 7 };
	struct fv_packet p;

	start(&f);
	(void)close(f.connector);
	f.connector = -1;
	fv_run(&f);
	fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
	fv_expect(&f, &p, VSOCK_OP_RST);
	ck_assert_uint_eq(p.guest_port, 40000);
	ck_assert_uint_eq(stats(&f).n_conns, 0);
	fv_done(&f);
}
END_TEST

START_TEST(guest_call_that_the_connector_cannot_make_is_reset)
{
	le32 answer[2] = { le32_put(7), le32_put(ENOENT) };
	struct fake_vsock f;
	struct fv_conn c = { .guest_port = 40000, .host_port = 7 };
	struct fv_packet p;

	start(&f);
	fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
	ck_assert(!fv_recv(&f, &p));
	ck_assert_int_eq(send(f.connector, answer, sizeof(answer), 0),
			 sizeof(answer));
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RST);
	ck_assert_uint_eq(stats(&f).n_conns, 0);
	fv_done(&f);
}
END_TEST

START_TEST(connector_that_dies_has_its_calls_reset)
{
	struct fake_vsock f;
	struct fv_packet p;

	start(&f);
	for (uint32_t i = 0; i < 3; i++) {
		struct fv_conn c = { .guest_port = 40000 + i, .host_port = 7 };

		fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
	}
	(void)close(f.connector);
	f.connector = -1;
	fv_run(&f);
	for (uint32_t i = 0; i < 3; i++) {
		fv_expect(&f, &p, VSOCK_OP_RST);
		ck_assert_uint_eq(p.guest_port, 40000 + i);
	}
	fv_done(&f);
}
END_TEST

/* What is sent, whether with a descriptor, and whether it is believed. */
START_TEST(connector_that_talks_nonsense_is_dropped)
{
	static const struct {
		size_t len;
		uint32_t error;
		int n_fds;
	} bad[] = {
		{ 7, 0, 1 }, /* short */
		{ 8, 0, 0 }, /* success without a socket */
		{ 8, 0, 2 }, /* two of them */
		{ 8, 5, 1 }, /* a failure with one */
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		le32 answer[2] = { le32_put(7), le32_put(bad[i].error) };
		struct fake_vsock f;
		struct fv_conn c = { .guest_port = 40000, .host_port = 7 };
		struct fv_packet p;
		int sv[2];

		start(&f);
		fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
		ck_assert_int_eq(unix_send_fds(f.connector, answer, bad[i].len,
					       sv, bad[i].n_fds),
				 bad[i].len);
		(void)close(sv[1]);
		fv_run(&f);
		fv_expect(&f, &p, VSOCK_OP_RST);
		ck_assert_int_eq(f.v->cfg.connector_fd, -1);
		ck_assert_uint_eq(stats(&f).n_conns, 0);
		(void)close(sv[0]);
		fv_done(&f);
	}
}
END_TEST

/* Answers come in order; one that nobody waits for any more is closed. */
START_TEST(guest_may_give_a_call_up)
{
	struct fake_vsock f;
	struct fv_conn c[2] = { { .guest_port = 40000, .host_port = 7 },
				{ .guest_port = 40001, .host_port = 8 } };
	struct fv_packet p;
	int peer[2];

	start(&f);
	for (size_t i = 0; i < 2; i++)
		fv_send(&f, &c[i], VSOCK_OP_REQUEST, NULL, 0);
	fv_send(&f, &c[0], VSOCK_OP_RST, NULL, 0);
	for (size_t i = 0; i < 2; i++) {
		le32 answer[2] = { le32_put(c[i].host_port), le32_put(0) };
		int sv[2];

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
		ck_assert_int_eq(unix_send_fds(f.connector, answer,
					       sizeof(answer), &sv[1], 1),
				 sizeof(answer));
		(void)close(sv[1]);
		peer[i] = sv[0];
	}
	fv_run(&f);
	ck_assert(closed(peer[0]));
	ck_assert(waiting(peer[1]));
	fv_expect(&f, &p, VSOCK_OP_RESPONSE);
	ck_assert_uint_eq(p.guest_port, 40001);
	ck_assert_uint_eq(stats(&f).n_conns, 1);
	(void)close(peer[0]);
	(void)close(peer[1]);
	fv_done(&f);
}
END_TEST

START_TEST(calls_outstanding_are_bounded)
{
	struct fake_vsock f;
	struct fv_packet p;

	start(&f);
	for (uint32_t i = 0; i < VSOCK_DIALS_MAX; i++) {
		struct fv_conn c = { .guest_port = 40000 + i, .host_port = 7 };
		le32 asked;

		fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
		ck_assert_int_eq(recv(f.connector, &asked, sizeof(asked), 0),
				 sizeof(asked));
		/* Given up, it still counts: its answer is yet to come. */
		if (i % 2)
			fv_send(&f, &c, VSOCK_OP_RST, NULL, 0);
	}
	ck_assert(!fv_recv(&f, &p));
	fv_send(&f, &(struct fv_conn){ .guest_port = 1, .host_port = 7 },
		VSOCK_OP_REQUEST, NULL, 0);
	fv_expect(&f, &p, VSOCK_OP_RST);
	ck_assert_uint_eq(p.guest_port, 1);
	fv_done(&f);
}
END_TEST

/* Nor can the guest use up what host clients need. */
START_TEST(guest_calls_leave_room_for_host_clients)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int peer[16], n = 0, fd;

	fv_init(&f, &(struct vsock_config){ .conns_max = 16 });
	fv_boot(&f);
	for (uint32_t i = 0; i < 12; i++)
		fv_call(&f, &c, 40000 + i, 7, &peer[n++]);
	fv_send(&f, &(struct fv_conn){ .guest_port = 1, .host_port = 7 },
		VSOCK_OP_REQUEST, NULL, 0);
	fv_expect(&f, &p, VSOCK_OP_RST);
	fd = fv_connect(&f, 77, &c);
	(void)close(fd);
	while (n > 0)
		(void)close(peer[--n]);
	fv_done(&f);
}
END_TEST

START_TEST(clients_past_the_limit_are_refused_and_later_let_in)
{
	struct fake_vsock f;
	struct fv_conn c[8];
	int fd[8], over;

	fv_init(&f, &(struct vsock_config){ .conns_max = 8 });
	fv_boot(&f);
	for (size_t i = 0; i < 8; i++)
		fd[i] = fv_connect(&f, 77, &c[i]);
	over = say(&f, "CONNECT 77\n");
	ck_assert(closed(over));
	(void)close(over);
	fv_send(&f, &c[3], VSOCK_OP_RST, NULL, 0);
	over = fv_connect(&f, 77, &c[3]);
	(void)close(over);
	for (size_t i = 0; i < 8; i++)
		(void)close(fd[i]);
	fv_done(&f);
}
END_TEST

/* A guest that never answers the end of a connection holds up nobody. */
START_TEST(closing_connections_make_room)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	fv_init(&f, &(struct vsock_config){ .conns_max = 8 });
	fv_boot(&f);
	for (size_t i = 0; i < 40; i++) {
		fd = fv_connect(&f, 77, &c);
		(void)close(fd);
		fv_run(&f);
		do
			fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
		while (p.flags != VSOCK_SHUT_BOTH);
		ck_assert_uint_le(stats(&f).n_conns, 8);
		if (i >= 7) /* the next client pushes the oldest out */
			break;
	}
	fd = say(&f, "CONNECT 77\n");
	fv_expect(&f, &p, VSOCK_OP_RST);
	ck_assert_uint_eq(p.host_port, VSOCK_PORT_FIRST);
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(closing_connection_has_a_deadline)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 77, &c);
	(void)close(fd);
	fv_run(&f);
	do
		fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	while (p.flags != VSOCK_SHUT_BOTH);
	ck_assert(loop_timer_is_set(&f.v->timer));
	list_entry(f.v->closing.next, struct vsock_conn, wait)->deadline_ns = 0;
	loop_timer_set(&f.loop, &f.v->timer, 0, f.v->timer.fn);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RST);
	ck_assert_uint_eq(stats(&f).n_conns, 0);
	fv_done(&f);
}
END_TEST

/* Leaves @spare descriptors to be had. Return: the limit of before */
static rlim_t squeeze(rlim_t spare)
{
	struct rlimit rl;
	rlim_t old;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	old = rl.rlim_cur;
	rl.rlim_cur = (rlim_t)fd + spare;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	return old;
}

static void relax(rlim_t old)
{
	struct rlimit rl;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = old;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
}

/* fv_run() would not return if the listener were reported for ever. */
START_TEST(clients_past_the_descriptor_limit_are_refused)
{
	struct fake_vsock f;
	struct fv_conn c;
	int fd[4], ok;
	rlim_t old;

	start(&f);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		fd[i] = fv_client(&f);
	old = squeeze(2);
	fv_run(&f);
	relax(old);
	ck_assert(waiting(fd[0]));
	ck_assert(waiting(fd[1]));
	ck_assert(closed(fd[2]));
	ck_assert(closed(fd[3]));
	ck_assert_uint_eq(stats(&f).refused, 2);

	ok = fv_connect(&f, 77, &c);
	(void)close(ok);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		(void)close(fd[i]);
	fv_done(&f);
}
END_TEST

START_TEST(listener_without_a_reserve_rests_until_a_connection_goes)
{
	struct fake_vsock f;
	struct fv_conn c;
	int fd, first;
	rlim_t old;

	start(&f);
	first = fv_connect(&f, 77, &c);
	base_closep(&f.v->reserve_fd); /* somebody else took it */
	f.v->reserve_fd = -1;
	fd = fv_client(&f);
	old = squeeze(0);
	fv_run(&f);
	ck_assert_uint_eq(f.v->listen_io.events, 0);
	ck_assert(loop_timer_is_set(&f.v->listen_timer));
	ck_assert(waiting(fd)); /* in the backlog still */
	relax(old);

	fv_send(&f, &c, VSOCK_OP_RST, NULL, 0);
	ck_assert_uint_eq(f.v->listen_io.events, EPOLLIN);
	ck_assert_int_ge(f.v->reserve_fd, 0);
	ck_assert_uint_eq(stats(&f).n_conns, 1);
	(void)close(fd);
	(void)close(first);
	fv_done(&f);
}
END_TEST

START_TEST(listener_that_rests_looks_again_by_itself)
{
	struct fake_vsock f;
	rlim_t old;
	int fd;

	start(&f);
	base_closep(&f.v->reserve_fd);
	f.v->reserve_fd = -1;
	fd = fv_client(&f);
	old = squeeze(0);
	fv_run(&f);
	ck_assert_uint_eq(f.v->listen_io.events, 0);
	relax(old);
	f.v->listen_timer.fn(&f.v->listen_timer);
	fv_run(&f);
	ck_assert_uint_eq(stats(&f).n_conns, 1);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(guest_call_past_the_descriptor_limit_is_reset)
{
	le32 answer[2] = { le32_put(7), le32_put(0) };
	struct fake_vsock f;
	struct fv_conn c = { .guest_port = 40000, .host_port = 7 };
	struct fv_packet p;
	int sv[2];
	rlim_t old;

	start(&f);
	fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	ck_assert_int_eq(
		unix_send_fds(f.connector, answer, sizeof(answer), &sv[1], 1),
		sizeof(answer));
	old = squeeze(0);
	fv_run(&f);
	relax(old);
	fv_expect(&f, &p, VSOCK_OP_RST);
	ck_assert_uint_eq(p.guest_port, 40000);
	/* The connector itself is fine. */
	ck_assert_int_ge(f.v->cfg.connector_fd, 0);
	(void)close(sv[0]);
	(void)close(sv[1]);
	fv_done(&f);
}
END_TEST

START_TEST(connections_are_limited_to_the_descriptors_there_are)
{
	struct fake_vsock f;
	rlim_t old;

	old = squeeze(100);
	start(&f);
	ck_assert_uint_lt(f.v->conns_max, 200);
	relax(old);
	fv_done(&f);
}
END_TEST

START_TEST(two_thousand_connections_at_once_are_kept_apart)
{
	enum {
		N = 2000
	};
	static struct fv_conn c[N];
	static int fd[N];
	struct fake_vsock f;
	struct fv_packet p;
	struct rlimit rl;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	ck_assert_uint_gt(rl.rlim_max, 2 * N + 200);
	rl.rlim_cur = rl.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);

	start(&f);
	for (unsigned int i = 0; i < N; i++)
		fd[i] = fv_connect(&f, 2000 + i % 7, &c[i]);
	for (unsigned int i = 0; i < N; i++) {
		char got[8] = { 0 }, text[8];
		int n = snprintf(text, sizeof(text), "%u", i);

		fv_send(&f, &c[i], VSOCK_OP_RW, text, (uint32_t)n);
		ck_assert_int_eq(recv(fd[i], got, sizeof(got), MSG_DONTWAIT),
				 n);
		ck_assert_str_eq(got, text);
		ck_assert_int_eq(send(fd[i], text, (size_t)n, 0), n);
	}
	fv_run(&f);
	for (unsigned int i = 0; i < N; i++) {
		fv_expect(&f, &p, VSOCK_OP_RW);
		p.data[p.len] = 0;
		ck_assert_uint_eq(
			c[strtoul((char *)p.data, NULL, 10)].host_port,
			p.host_port);
	}
	ck_assert_uint_eq(stats(&f).n_conns, N);
	for (unsigned int i = 0; i < N; i++)
		(void)close(fd[i]);
	fv_run(&f);
	fv_done(&f);
}
END_TEST

CHECK_MAIN("vsock_host", connect_asks_the_guest_and_waits_for_it,
	   connect_before_the_driver_is_up_waits,
	   bad_lines_are_refused_with_a_close, lines_at_the_edge_are_taken,
	   line_may_come_byte_by_byte, endless_line_is_cut,
	   client_that_leaves_at_any_byte_is_forgotten,
	   client_that_never_finishes_has_a_deadline,
	   bytes_behind_the_line_belong_to_the_stream,
	   guest_that_refuses_has_the_client_closed_without_a_word,
	   answers_to_a_request_not_sent_yet_open_nothing,
	   connects_to_the_agent_wait_for_the_bell, held_connects_are_bounded,
	   held_connect_is_closed_when_the_vm_ends,
	   held_connect_survives_the_drivers_first_reset,
	   host_ports_are_not_reused_when_closed,
	   host_ports_wrap_past_those_in_use,
	   guest_call_without_a_connector_is_reset,
	   guest_call_that_the_connector_cannot_make_is_reset,
	   connector_that_dies_has_its_calls_reset,
	   connector_that_talks_nonsense_is_dropped, guest_may_give_a_call_up,
	   calls_outstanding_are_bounded,
	   guest_calls_leave_room_for_host_clients,
	   clients_past_the_limit_are_refused_and_later_let_in,
	   closing_connections_make_room, closing_connection_has_a_deadline,
	   clients_past_the_descriptor_limit_are_refused,
	   listener_without_a_reserve_rests_until_a_connection_goes,
	   listener_that_rests_looks_again_by_itself,
	   guest_call_past_the_descriptor_limit_is_reset,
	   connections_are_limited_to_the_descriptors_there_are,
	   two_thousand_connections_at_once_are_kept_apart)
