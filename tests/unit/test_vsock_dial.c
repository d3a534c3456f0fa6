/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vsock_dial.c - the guest calls, by the connector */
#include <errno.h>
#include <string.h>

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
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
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
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
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
		ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
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
	ck_assert(fv_closed(peer[0]));
	ck_assert(fv_waiting(peer[1]));
	fv_expect(&f, &p, VSOCK_OP_RESPONSE);
	ck_assert_uint_eq(p.guest_port, 40001);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 1);
	(void)close(peer[0]);
	(void)close(peer[1]);
	fv_done(&f);
}
END_TEST

static void answer_call(struct fake_vsock *f, uint32_t port, int *ret)
{
	le32 answer[2] = { le32_put(port), le32_put(0) };
	int sv[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	ck_assert_int_eq(
		unix_send_fds(f->connector, answer, sizeof(answer), &sv[1], 1),
		sizeof(answer));
	(void)close(sv[1]);
	fv_run(f);
	*ret = sv[0];
}

/* What the guest sends before it was accepted, and the answer comes after. */
START_TEST(guest_that_breaks_the_rules_while_calling_is_reset)
{
	static const uint8_t ops[] = { VSOCK_OP_INVALID, VSOCK_OP_REQUEST,
				       VSOCK_OP_RESPONSE, VSOCK_OP_SHUTDOWN,
				       VSOCK_OP_RW };

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		struct fake_vsock f;
		struct fv_conn c = { .guest_port = 40000, .host_port = 7 };
		struct fv_packet p;
		int peer;

		start(&f);
		fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
		fv_send(&f, &c, ops[i], NULL, 0);
		fv_expect(&f, &p, VSOCK_OP_RST);
		answer_call(&f, 7, &peer);
		ck_assert(fv_closed(peer));
		ck_assert(!fv_recv(&f, &p));
		ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
		(void)close(peer);
		fv_done(&f);
	}
}
END_TEST

START_TEST(call_does_not_survive_a_reset_of_the_device)
{
	struct fake_vsock f;
	struct fv_conn c = { .guest_port = 40000, .host_port = 7 };
	struct fv_packet p;
	int peer;

	start(&f);
	fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
	fv_boot(&f);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
	answer_call(&f, 7, &peer);
	ck_assert(fv_closed(peer));
	ck_assert(!fv_recv(&f, &p));
	(void)close(peer);
	fv_done(&f);
}
END_TEST

/* The guest has forgotten a connection that we still close. */
START_TEST(call_from_a_port_that_is_closing_is_a_new_one)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int peer;

	start(&f);
	fv_call(&f, &c, 40000, 7, &peer);
	(void)close(peer);
	fv_run(&f);
	do
		fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	while (p.flags != VSOCK_SHUT_BOTH);
	fv_call(&f, &c, 40000, 7, &peer);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 1);
	fv_send(&f, &c, VSOCK_OP_RW, "x", 1);
	ck_assert(!fv_waiting(peer));
	(void)close(peer);
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

CHECK_MAIN("vsock_dial", guest_call_without_a_connector_is_reset,
	   guest_call_that_the_connector_cannot_make_is_reset,
	   connector_that_dies_has_its_calls_reset,
	   connector_that_talks_nonsense_is_dropped, guest_may_give_a_call_up,
	   guest_that_breaks_the_rules_while_calling_is_reset,
	   call_does_not_survive_a_reset_of_the_device,
	   call_from_a_port_that_is_closing_is_a_new_one,
	   calls_outstanding_are_bounded)
