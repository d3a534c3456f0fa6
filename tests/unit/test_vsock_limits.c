/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vsock_limits.c - connections and descriptors run out */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/unix.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fake_vsock.h"
#include "vmm/ctl.h"
#include "vmm/kvm/vcpu.h"
#include "vmm/virtio/vsock_conn.h"

static void start(struct fake_vsock *f)
{
	fv_init(f,
		&(struct vsock_config){ .hold_port = 1000, .bell_port = 1001 });
	fv_boot(f);
}

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
	over = fv_say(&f, "CONNECT 77\n");
	ck_assert(fv_closed(over));
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
		ck_assert_uint_le(fv_stats(&f).n_conns, 8);
		if (i >= 7) /* the next client pushes the oldest out */
			break;
	}
	fd = fv_say(&f, "CONNECT 77\n");
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
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
	fv_done(&f);
}
END_TEST

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
	ck_assert(fv_waiting(fd[0]));
	ck_assert(fv_waiting(fd[1]));
	ck_assert(fv_closed(fd[2]));
	ck_assert(fv_closed(fd[3]));
	ck_assert_uint_eq(fv_stats(&f).refused, 2);

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
	ck_assert(fv_waiting(fd)); /* in the backlog still */
	relax(old);

	fv_send(&f, &c, VSOCK_OP_RST, NULL, 0);
	ck_assert_uint_eq(f.v->listen_io.events, EPOLLIN);
	ck_assert_int_ge(f.v->reserve_fd, 0);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 1);
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
	ck_assert_uint_eq(fv_stats(&f).n_conns, 1);
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
	/* What the rest of the program may need is not for connections. */
	old = squeeze(400);
	start(&f);
	ck_assert_uint_gt(f.v->conns_max, 200);
	ck_assert_uint_lt(f.v->conns_max + VCPU_MAX + CTL_CLIENTS_MAX, 400);
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
	ck_assert_uint_eq(fv_stats(&f).n_conns, N);
	for (unsigned int i = 0; i < N; i++)
		(void)close(fd[i]);
	fv_run(&f);
	fv_done(&f);
}
END_TEST

CHECK_MAIN("vsock_limits", guest_calls_leave_room_for_host_clients,
	   clients_past_the_limit_are_refused_and_later_let_in,
	   closing_connections_make_room, closing_connection_has_a_deadline,
	   clients_past_the_descriptor_limit_are_refused,
	   listener_without_a_reserve_rests_until_a_connection_goes,
	   listener_that_rests_looks_again_by_itself,
	   guest_call_past_the_descriptor_limit_is_reset,
	   connections_are_limited_to_the_descriptors_there_are,
	   two_thousand_connections_at_once_are_kept_apart)
