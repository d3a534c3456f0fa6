/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_forward.c - libhutch and the keeper: forwards and ports */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "host/lib/forward.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static struct hutch_forward forward(const char *host, unsigned int port,
				    unsigned int guest_port)
{
	struct hutch_forward f = HUTCH_FORWARD_INIT;

	f.host = host;
	f.port = port;
	f.guest_port = guest_port;
	return f;
}

static int connect_to(int family, unsigned int port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons((uint16_t)port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = family == AF_INET
			? connect(fd, (struct sockaddr *)&v4, sizeof(v4))
			: connect(fd, (struct sockaddr *)&v6, sizeof(v6));

	if (r == 0)
		return fd;
	r = -errno;
	(void)close(fd);
	return r;
}

/* Reads @n bytes, or to the end. Return: bytes, or -errno */
static ssize_t hear(int fd, char *buf, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = recv(fd, buf + got, n - got, 0);

		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	buf[got] = '\0';
	return (ssize_t)got;
}

static unsigned int add(struct host_env *v, const char *host,
			unsigned int guest_port)
{
	const struct hutch_forward f = forward(host, 0, guest_port);
	unsigned int port = 0;

	ck_assert_msg(hutch_forward_add(v->h, "web", &f, &port, &v->e) == 0,
		      "%s", v->e.msg);
	ck_assert_uint_gt(port, 0);
	return port;
}

START_TEST(a_connection_goes_through_and_ends_as_it_should)
{
	static const struct {
		const char *host;
		int family;
	} at[] = { { NULL, AF_INET }, { "::1", AF_INET6 } };
	struct host_env v;
	char buf[64];

	host_up(&v);
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		int fd = connect_to(at[i].family, add(&v, at[i].host, 7));

		ck_assert_int_ge(fd, 0);
		/* All is said before anything is read: half-close. */
		ck_assert_int_eq(send(fd, "question", 8, MSG_NOSIGNAL), 8);
		ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
		ck_assert_int_eq(hear(fd, buf, 63), 8);
		ck_assert_str_eq(buf, "question");
		(void)close(fd);
		/* A server that speaks first, right behind the answer. */
		fd = connect_to(at[i].family, add(&v, at[i].host, 13));
		ck_assert_int_eq(hear(fd, buf, 63), 7);
		ck_assert_str_eq(buf, "banner\n");
		(void)close(fd);
		/* One that breaks has not ended. */
		fd = connect_to(at[i].family, add(&v, at[i].host, 9));
		(void)hear(fd, buf, 7);
		ck_assert_int_eq(hear(fd, buf, 1), -ECONNRESET);
		(void)close(fd);
	}
	host_down(&v);
}
END_TEST

START_TEST(nobody_there_is_a_reset)
{
	struct host_env v;
	char buf[8];
	int fd;

	host_up(&v);
	fd = connect_to(AF_INET, add(&v, NULL, 80));
	/* Some are told so early. */
	if (fd >= 0)
		ck_assert_int_eq(hear(fd, buf, 1), -ECONNRESET);
	else
		ck_assert_int_eq(fd, -ECONNRESET);
	if (fd >= 0)
		(void)close(fd);
	host_down(&v);
}
END_TEST

START_TEST(forwards_are_on_record_and_can_be_taken_back)
{
	struct hutch_record *rec;
	struct hutch_forward f;
	struct host_env v;
	unsigned int a, b;
	int fd;
	char buf[8];

	host_up(&v);
	a = add(&v, NULL, 7);
	b = add(&v, "::1", 9);
	rec = host_inspect(&v);
	ck_assert_ptr_nonnull(rec->forwards);
	ck_assert_str_eq(rec->forwards[0]->host, "127.0.0.1");
	ck_assert_uint_eq(rec->forwards[0]->port, a);
	ck_assert_uint_eq(rec->forwards[0]->guest_port, 7);
	ck_assert_str_eq(rec->forwards[1]->host, "::1");
	ck_assert_uint_eq(rec->forwards[1]->port, b);
	ck_assert_ptr_null(rec->forwards[2]);
	hutch_record_free(rec);

	f = forward(NULL, a, 0);
	fd = connect_to(AF_INET, a);
	ck_assert_int_eq(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	ck_assert_int_eq(hear(fd, buf, 1), 1);
	ck_assert_int_eq(hutch_forward_remove(v.h, "web", &f, &v.e), 0);
	ck_assert_int_eq(connect_to(AF_INET, a), -ECONNREFUSED);
	/* What is open stays. */
	ck_assert_int_eq(send(fd, "y", 1, MSG_NOSIGNAL), 1);
	ck_assert_int_eq(hear(fd, buf, 1), 1);
	ck_assert_int_eq(hutch_forward_remove(v.h, "web", &f, &v.e), -ENOENT);
	rec = host_inspect(&v);
	ck_assert_uint_eq(rec->forwards[0]->port, b);
	ck_assert_ptr_null(rec->forwards[1]);
	hutch_record_free(rec);
	/* It goes with the VM. */
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	ck_assert_int_eq(hear(fd, buf, 1), -ECONNRESET);
	(void)close(fd);
	ck_assert_int_eq(connect_to(AF_INET6, b), -ECONNREFUSED);
	ck_assert_int_eq(hutch_forward_remove(v.h, "web", &f, &v.e), -ESRCH);
	ck_assert_int_eq(hutch_forward_add(v.h, "web", &f, NULL, &v.e),
			 -EINVAL);
	f.guest_port = 1;
	ck_assert_int_eq(hutch_forward_add(v.h, "web", &f, NULL, &v.e), -ESRCH);
	ck_assert_int_eq(hutch_forward_add(v.h, "nobody", &f, NULL, &v.e),
			 -ENOENT);
	host_env_done(&v);
}
END_TEST

START_TEST(a_place_has_one_owner)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	const struct hutch_forward *list[2] = { NULL };
	struct hutch_forward f;
	struct host_env v;
	unsigned int port;

	host_up(&v);
	port = add(&v, NULL, 7);
	f = forward("127.0.0.1", port, 8);
	ck_assert_int_eq(hutch_forward_add(v.h, "web", &f, NULL, &v.e),
			 -EEXIST);
	/* Another VM is not even started. */
	list[0] = &f;
	o.name = "other";
	o.forwards = list;
	ck_assert_int_lt(host_start_quietly(&v, &o), 0);
	ck_assert_int_eq(hutch_inspect(v.h, "other", NULL, &v.e), -ENOENT);
	f = forward("192.0.2.1", 0, 8);
	ck_assert_int_eq(hutch_forward_add(v.h, "web", &f, NULL, &v.e),
			 -EADDRNOTAVAIL);
	ck_assert_str_eq(v.e.msg, "cannot listen at 192.0.2.1:0: Cannot assign "
				  "requested address");
	host_down(&v);
}
END_TEST

START_TEST(start_makes_them_and_says_which)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_forward f[2] = { forward(NULL, 0, 7),
				      forward(NULL, 0, 13) };
	const struct hutch_forward *list[] = { &f[0], &f[1], NULL };
	struct hutch_record *rec;
	struct host_env v;
	char buf[16];
	int fd;

	o.forwards = list;
	host_up_with(&v, "", &o);
	rec = host_inspect(&v);
	ck_assert_uint_ne(rec->forwards[0]->port, rec->forwards[1]->port);
	fd = connect_to(AF_INET, rec->forwards[1]->port);
	ck_assert_int_eq(hear(fd, buf, 7), 7);
	(void)close(fd);
	hutch_record_free(rec);
	host_down(&v);
}
END_TEST

START_TEST(there_is_a_limit)
{
	struct host_env v;
	struct hutch_forward f = forward(NULL, 0, 7);

	host_up(&v);
	for (int i = 0; i < HUTCH_FORWARDS_MAX; i++)
		(void)add(&v, NULL, 7);
	ck_assert_int_eq(hutch_forward_add(v.h, "web", &f, NULL, &v.e),
			 -ENOSPC);
	ck_assert_str_eq(v.e.msg, "the VM has 64 forwards, the limit");
	host_down(&v);
}
END_TEST

/* More than may wait at once, and none is turned away. */
START_TEST(many_at_once_wait_their_turn)
{
	enum {
		MANY = 200
	};
	struct host_env v;
	int fd[MANY];
	unsigned int port;
	char buf[16];

	host_up(&v);
	port = add(&v, NULL, 7);
	for (int i = 0; i < MANY; i++) {
		fd[i] = connect_to(AF_INET, port);
		ck_assert_int_ge(fd[i], 0);
		ck_assert_int_eq(send(fd[i], "word", 4, MSG_NOSIGNAL), 4);
	}
	for (int i = MANY; i-- > 0;) {
		ck_assert_int_eq(hear(fd[i], buf, 4), 4);
		(void)close(fd[i]);
	}
	host_down(&v);
}
END_TEST

START_TEST(what_is_no_forward_is_refused)
{
	static const struct {
		const char *host;
		unsigned int port, guest_port;
		const char *says;
	} v[] = {
		{ "localhost", 80, 80, "'localhost' is no IPv4 or IPv6" },
		{ "", 80, 80, "'' is no IPv4" },
		{ "[::1]", 80, 80, "no IPv4 or IPv6" },
		{ NULL, 65536, 80, "port 65536 is not in 0..65535" },
		{ NULL, 80, 0, "the VM's port 0 is not in 1..65535" },
		{ NULL, 80, 65536, "the VM's port 65536" },
	};
	struct hutch_forward two[2] = { forward("127.0.0.1", 80, 1),
					forward(NULL, 80, 2) };
	const struct hutch_forward *list[] = { &two[0], &two[1], NULL };
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		const struct hutch_forward f =
			forward(v[i].host, v[i].port, v[i].guest_port);

		ck_assert_int_eq(forward_check(&f, &e), -EINVAL);
		ck_assert_msg(strstr(e.msg, v[i].says) != NULL, "%s", e.msg);
	}
	ck_assert_int_eq(forwards_check(list, &e), -EINVAL);
	ck_assert_str_eq(e.msg, "forward: 127.0.0.1:80 is given twice");
	two[1].port = two[0].port = 0;
	ck_assert_int_eq(forwards_check(list, &e), 0);
}
END_TEST

START_TEST(ports_of_a_guest_are_listed)
{
	struct hutch_port **list;
	struct host_env v;

	host_up(&v);
	ck_assert_int_eq(hutch_ports(v.h, "web", &list, &v.e), 2);
	ck_assert_str_eq(list[0]->address, "::");
	ck_assert_uint_eq(list[0]->port, 22);
	ck_assert_int_eq(list[0]->pid, 0);
	ck_assert_str_eq(list[0]->process, "");
	ck_assert_str_eq(list[1]->address, "127.0.0.1");
	ck_assert_uint_eq(list[1]->port, 8080);
	ck_assert_int_eq(list[1]->pid, 57);
	ck_assert_str_eq(list[1]->process, "webd");
	ck_assert_ptr_null(list[2]);
	hutch_ports_free(list);
	ck_assert_int_eq(hutch_ports(v.h, "nobody", &list, &v.e), -ENOENT);
	host_down(&v);
}
END_TEST

CHECK_MAIN("forward", a_connection_goes_through_and_ends_as_it_should,
	   nobody_there_is_a_reset,
	   forwards_are_on_record_and_can_be_taken_back, a_place_has_one_owner,
	   start_makes_them_and_says_which, there_is_a_limit,
	   many_at_once_wait_their_turn, what_is_no_forward_is_refused,
	   ports_of_a_guest_are_listed)
