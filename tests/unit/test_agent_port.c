/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_port.c - guest-agent: CONNECT and PORTS */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/wire_port.h"
#include "guest-agent/conn.h"
#include "guest-agent/listeners.h"
#include "guest-agent/tunnel.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

/* ---- A server ---- */

/* Bound to a loopback address; listens if @backlog is not -1. */
static int server(int family, int backlog, unsigned int *ret_port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *p = family == AF_INET ? (struct sockaddr *)&v4
					       : (struct sockaddr *)&v6;
	socklen_t len = family == AF_INET ? sizeof(v4) : sizeof(v6);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, p, len), 0);
	ck_assert_int_eq(getsockname(fd, p, &len), 0);
	*ret_port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
	if (backlog >= 0)
		ck_assert_int_eq(listen(fd, backlog), 0);
	return fd;
}

static void client_connect(struct client *c, struct kit *k, unsigned int port)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_connect_put(&wr, &(struct msg_connect){ .port = (uint16_t)port });
	client_open(c, k, true);
	client_send(c, buf, wr.len);
}

/* HELLO and DONE are next; then the server's end of it. */
static int through(struct client *c, int listener)
{
	struct wire_frame f;
	int fd;

	client_want(c, WIRE_HELLO, &f);
	client_want(c, WIRE_DONE, &f);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Return: recv()'s, or -errno; after the agent had its turn */
static ssize_t hear(struct kit *k, int fd, char word[32])
{
	ssize_t n;

	for (int i = 0; i < 20; i++)
		kit_step(k, 0);
	n = recv(fd, word, 31, MSG_DONTWAIT);
	word[MAX(n, 0)] = '\0';
	return n < 0 ? -errno : n;
}

static void want(struct kit *k, int fd, const char *what)
{
	char word[32];

	ck_assert_int_eq(hear(k, fd, word), (ssize_t)strlen(what));
	ck_assert_str_eq(word, what);
}

static void say(int fd, const char *what)
{
	ck_assert_int_eq(send(fd, what, strlen(what), MSG_NOSIGNAL),
			 (ssize_t)strlen(what));
}

/* ---- CONNECT ---- */

START_TEST(connect_reaches_loopback_of_either_family)
{
	static const int family[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < ARRAY_LEN(family); i++) {
		unsigned int port;
		int l = server(family[i], 8, &port), fd;
		struct client c;
		struct kit k;
		char word[32];

		kit_init(&k);
		client_connect(&c, &k, port);
		fd = through(&c, l);
		ck_assert_uint_eq(k.a.n_conns, 0);
		ck_assert_uint_eq(k.a.n_tunnels, 1);
		ck_assert_uint_eq(k.a.n_clients, 1);
		/* Half-close, each in its turn. */
		say(c.fd, "question");
		want(&k, fd, "question");
		ck_assert_int_eq(shutdown(c.fd, SHUT_WR), 0);
		ck_assert_int_eq(hear(&k, fd, word), 0);
		say(fd, "answer");
		want(&k, c.fd, "answer");
		(void)close(fd);
		ck_assert_int_eq(hear(&k, c.fd, word), 0);
		ck_assert_uint_eq(k.a.n_tunnels, 0);
		ck_assert_uint_eq(k.a.n_clients, 0);
		client_close(&c);
		(void)close(l);
		kit_done(&k);
	}
}
END_TEST

static void want_refusal(struct kit *k, struct client *c, int code,
			 enum wire_error_kind kind)
{
	struct outcome o;

	client_collect(c, &o);
	ck_assert(o.failed);
	ck_assert_int_eq(o.error.code, code);
	ck_assert_int_eq(o.error.kind, kind);
	client_close(c);
	kit_step(k, 0);
	ck_assert_uint_eq(k->a.n_tunnels, 0);
	ck_assert_uint_eq(k->a.n_clients, 0);
	outcome_done(&o);
}

START_TEST(a_port_nobody_listens_on_is_refused)
{
	unsigned int port;
	int fd = server(AF_INET, -1, &port);
	struct client c;
	struct kit k;

	kit_init(&k);
	client_connect(&c, &k, port);
	want_refusal(&k, &c, ECONNREFUSED, WIRE_ERR_GENERAL);
	(void)close(fd);
	kit_done(&k);
}
END_TEST

START_TEST(bytes_before_the_answer_are_refused)
{
	unsigned int port;
	int l = server(AF_INET, 8, &port);
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct client c;
	struct kit k;

	kit_init(&k);
	wire_connect_put(&wr, &(struct msg_connect){ .port = (uint16_t)port });
	wr_u8(&wr, 'G');
	client_open(&c, &k, true);
	client_send(&c, buf, wr.len);
	want_refusal(&k, &c, EPROTO, WIRE_ERR_BAD_REQUEST);
	(void)close(l);
	kit_done(&k);
}
END_TEST

/* Its backlog is full, and it accepts none: the client may leave. */
START_TEST(a_client_need_not_wait_for_a_server_that_does_not_accept)
{
	unsigned int port;
	int l = server(AF_INET, 0, &port);
	struct client c[4];
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		client_connect(&c[i], &k, port);
		for (int n = 0; n < 5; n++)
			kit_step(&k, 1);
	}
	ck_assert_uint_gt(k.a.n_conns, 0);
	ck_assert_uint_eq(k.a.n_tunnels, ARRAY_LEN(c));
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		client_close(&c[i]);
	for (int n = 0; n < 10; n++)
		kit_step(&k, 1);
	ck_assert_uint_eq(k.a.n_conns, 0);
	ck_assert_uint_eq(k.a.n_tunnels, 0);
	(void)close(l);
	kit_done(&k);
}
END_TEST

START_TEST(a_reset_is_passed_on)
{
	unsigned int port;
	int l = server(AF_INET, 8, &port), fd;
	struct client c;
	struct kit k;
	char word[32];

	kit_init(&k);
	/* By the client, whose socket knows no reset. */
	client_connect(&c, &k, port);
	fd = through(&c, l);
	client_close(&c);
	ck_assert_int_eq(hear(&k, fd, word), -ECONNRESET);
	(void)close(fd);
	/* By the server. */
	client_connect(&c, &k, port);
	fd = through(&c, l);
	relay_reset(fd);
	(void)close(fd);
	ck_assert_int_eq(hear(&k, c.fd, word), 0);
	ck_assert_int_lt(send(c.fd, "x", 1, MSG_NOSIGNAL), 0);
	ck_assert_uint_eq(k.a.n_tunnels, 0);
	client_close(&c);
	(void)close(l);
	kit_done(&k);
}
END_TEST

START_TEST(tunnels_have_a_limit)
{
	unsigned int port;
	int l = server(AF_INET, 8, &port);
	struct outcome o;
	struct client c;
	struct kit k;

	kit_init(&k);
	k.a.n_tunnels = AGENT_TUNNELS_MAX;
	client_connect(&c, &k, port);
	client_collect(&c, &o);
	ck_assert(o.failed);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_LIMIT);
	ck_assert_str_eq(o.sentence,
			 "1024 connections to ports are open, the limit");
	k.a.n_tunnels = 0;
	client_close(&c);
	outcome_done(&o);
	(void)close(l);
	kit_done(&k);
}
END_TEST

/* A server's last words reach who listens, but not for ever. */
START_TEST(power_off_waits_for_what_a_server_has_said)
{
	static uint8_t much[4u << 20];
	uint8_t wr_buf[64];
	struct wr wr = wr_init(wr_buf, sizeof(wr_buf));
	unsigned int port;
	int l = server(AF_INET, 8, &port), fd;
	struct client c, stop;
	struct wire_frame f;
	struct kit k;
	size_t said = 0, got = 0;
	ssize_t n;

	kit_init(&k);
	client_connect(&c, &k, port);
	fd = through(&c, l);
	while ((n = send(fd, much, sizeof(much), MSG_NOSIGNAL)) > 0 ||
	       said == 0)
		said += (size_t)MAX(n, 0);
	(void)close(fd);
	wire_shutdown_put(&wr, &(struct msg_shutdown){ .grace_ms = 1000 });
	client_open(&stop, &k, true);
	client_send(&stop, wr.buf, wr.len);
	client_want(&stop, WIRE_HELLO, &f);
	client_want(&stop, WIRE_DONE, &f);
	for (int i = 0; i < 20; i++)
		kit_step(&k, 0);
	ck_assert_uint_eq(k.powered_off, 0);
	while (got < said || !k.powered_off) {
		n = recv(c.fd, much, sizeof(much), MSG_DONTWAIT);
		if (n == 0) /* all of it: what we have to say is over too */
			client_close(&c);
		got += (size_t)MAX(n, 0);
		kit_step(&k, 1);
		if (c.fd < 0 && k.powered_off)
			break;
	}
	ck_assert_uint_eq(got, said);
	client_close(&stop);
	(void)close(l);
	kit_done(&k);
}
END_TEST

/* ---- PORTS ---- */

START_TEST(lines_of_the_kernel_are_understood)
{
	static const struct {
		const char *line;
		enum wire_family family;
		const char *address;
		unsigned int port;
		uint64_t inode;
	} v[] = {
		{ "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 "
		  "00:00000000 00000000  1000        0 20983 1 0000 100 0\n",
		  WIRE_IPV4, "127.0.0.1", 8080, 20983 },
		{ "  12: 00000000000000000000000001000000:0016 "
		  "00000000000000000000000000000000:0000 0A 00000000:00000000 "
		  "00:00000000 00000000     0        0 18446744073709551615 1",
		  WIRE_IPV6, "::1", 22, UINT64_MAX },
		{ "   1: 0201A8C0:0050 0000:0 0A x y z u t", WIRE_IPV4,
		  "192.168.1.2", 80, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		char text[INET6_ADDRSTRLEN];
		struct listener l;

		ck_assert_int_eq(listener_parse(v[i].line, v[i].family, &l), 0);
		ck_assert_uint_eq(l.port, v[i].port);
		ck_assert_uint_eq(l.inode, v[i].inode);
		ck_assert_ptr_nonnull(
			inet_ntop(v[i].family == WIRE_IPV4 ? AF_INET : AF_INET6,
				  l.address, text, sizeof(text)));
		ck_assert_str_eq(text, v[i].address);
	}
}
END_TEST

START_TEST(other_lines_are_not)
{
	static const struct {
		const char *line;
		enum wire_family family;
	} v[] = {
		{ "  sl  local_address rem_address   st tx_queue", WIRE_IPV4 },
		{ "", WIRE_IPV4 },
		/* Established; of the other family; not hexadecimal. */
		{ "0: 0100007F:1F90 0100007F:0050 01 0:0 0:0 0 0 0 1",
		  WIRE_IPV4 },
		{ "0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 1",
		  WIRE_IPV6 },
		{ "0: 0100007G:1F90 00000000:0000 0A 0:0 0:0 0 0 0 1",
		  WIRE_IPV4 },
	};
	char *longer = malloc(5000);
	struct listener l;

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		ck_assert_int_eq(listener_parse(v[i].line, v[i].family, &l),
				 -ENOENT);
	memset(longer, ' ', 4999);
	longer[4999] = '\0';
	memcpy(longer, "0: 0100007F:1F90 00000000:0000 0A ", 34);
	ck_assert_int_eq(listener_parse(longer, WIRE_IPV4, &l), -ENOENT);
	free(longer);
}
END_TEST

START_TEST(ports_are_told_with_their_process)
{
	unsigned int port[2];
	int l[2] = { server(AF_INET, 8, &port[0]),
		     server(AF_INET6, 8, &port[1]) };
	unsigned int seen = 0, last = 0;
	struct wire_frame f;
	struct client c;
	struct kit k;

	kit_init(&k);
	client_open(&c, &k, true);
	client_empty(&c, WIRE_PORTS);
	client_want(&c, WIRE_HELLO, &f);
	while (client_next(&c, &f) && f.type == WIRE_PORT) {
		struct msg_port m;
		struct err e = { 0 };

		ck_assert_msg(wire_port_parse(f.data, f.len, &m, &e) == 0, "%s",
			      e.msg);
		ck_assert_uint_ge(m.port, last);
		last = m.port;
		for (int i = 0; i < 2; i++) {
			if (m.port != port[i])
				continue;
			seen++;
			ck_assert_int_eq(m.family, i ? WIRE_IPV6 : WIRE_IPV4);
			ck_assert_uint_eq(m.address[i ? 15 : 3], 1);
			ck_assert_uint_ne(m.pid, 0);
			ck_assert_ptr_nonnull(strstr(m.name, "test_agent"));
		}
	}
	ck_assert_int_eq(f.type, WIRE_DONE);
	ck_assert_uint_eq(seen, 2);
	client_close(&c);
	while (k.a.n_jobs)
		kit_step(&k, 10);
	(void)close(l[0]);
	(void)close(l[1]);
	kit_done(&k);
}
END_TEST

CHECK_MAIN("agent_port", connect_reaches_loopback_of_either_family,
	   a_port_nobody_listens_on_is_refused,
	   bytes_before_the_answer_are_refused,
	   a_client_need_not_wait_for_a_server_that_does_not_accept,
	   a_reset_is_passed_on, tunnels_have_a_limit,
	   power_off_waits_for_what_a_server_has_said,
	   lines_of_the_kernel_are_understood, other_lines_are_not,
	   ports_are_told_with_their_process)
