/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vsock_host.c - CONNECT, the bell, host ports */
#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_vsock.h"
#include "vmm/virtio/vsock_conn.h"

static void start(struct fake_vsock *f)
{
	fv_init(f,
		&(struct vsock_config){ .hold_port = 1000, .bell_port = 1001 });
	fv_boot(f);
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
	fd = fv_say(&f, "CONNECT 77\n");

	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	ck_assert_uint_eq(p.guest_port, 77);
	ck_assert_uint_eq(p.host_port, VSOCK_PORT_FIRST);
	ck_assert(fv_waiting(fd));
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
	fd = fv_say(&f, "CONNECT 77\n");
	ck_assert(fv_waiting(fd));

	fv_boot(&f);
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	ck_assert(fv_waiting(fd));
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
		int fd = fv_say(&f, bad[i]);

		ck_assert_msg(fv_closed(fd), "%s", bad[i]);
		(void)close(fd);
	}
	ck_assert(!fv_recv(&f, &p));
	ck_assert_uint_eq(fv_stats(&f).refused, ARRAY_LEN(bad));
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
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
		int fd = fv_say(&f, good[i].line);

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
	ck_assert(fv_closed(fd));
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
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
		ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
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
	fd = fv_say(&f, "CONN");
	ck_assert(fv_waiting(fd));
	ck_assert(loop_timer_is_set(&f.v->timer));
	list_entry(f.v->hello.next, struct vsock_conn, wait)->deadline_ns = 0;
	f.v->timer.fn(&f.v->timer);
	fv_run(&f);
	ck_assert(fv_closed(fd));
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
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
	fd = fv_say(&f, "CONNECT 77\nhello\nworld");
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
	fd = fv_say(&f, "CONNECT 77\n");
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	c = (struct fv_conn){ .guest_port = 77, .host_port = p.host_port };
	fv_send(&f, &c, VSOCK_OP_RST, NULL, 0);
	ck_assert(fv_closed(fd));
	ck_assert(!fv_recv(&f, &p));
	ck_assert_uint_eq(fv_stats(&f).refused, 1);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
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
	fd = fv_say(&f, "CONNECT 77\n");
	fv_send(&f, &c, VSOCK_OP_RESPONSE, NULL, 0);
	ck_assert(fv_closed(fd));
	ck_assert_uint_eq(fv_stats(&f).opened, 0);
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
		fd[i] = fv_say(&f, "CONNECT 1000\n");
	ck_assert(!fv_recv(&f, &p));
	ck_assert_uint_eq(f.bells, 0);

	ring(&f);
	ck_assert_uint_eq(f.bells, 1);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		fv_expect(&f, &p, VSOCK_OP_REQUEST);
		ck_assert_uint_eq(p.guest_port, 1000);
		ck_assert_uint_eq(p.host_port, VSOCK_PORT_FIRST + i);
		ck_assert(fv_waiting(fd[i]));
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
		fd[i] = fv_say(&f, "CONNECT 1000\n");
	over = fv_say(&f, "CONNECT 1000\n");
	ck_assert(fv_closed(over));
	(void)close(over);
	for (size_t i = 0; i < ARRAY_LEN(fd); i++)
		ck_assert(fv_waiting(fd[i]));
	/* One that leaves makes room for another. */
	(void)close(fd[0]);
	fv_run(&f);
	fd[0] = fv_say(&f, "CONNECT 1000\n");
	ck_assert(fv_waiting(fd[0]));
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
	fd = fv_say(&f, "CONNECT 1000\n");
	fv_done(&f);
	ck_assert(fv_closed(fd));
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
	fd = fv_say(&f, "CONNECT 1000\n");
	fv_boot(&f); /* begins with one */
	ring(&f);
	fv_expect(&f, &p, VSOCK_OP_REQUEST);
	ck_assert(fv_waiting(fd));
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
	   host_ports_wrap_past_those_in_use)
