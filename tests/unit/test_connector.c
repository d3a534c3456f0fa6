/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_connector.c - common/connector.c */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/connector.h"
#include "common/le.h"
#include "common/unix.h"
#include "tests/lib/check_main.h"

/** struct place - A folder with sockets, and both ends of a connector's */
struct place {
	char path[64];
	int dirfd;
	int us;
	int connector;
};

static void make(struct place *p)
{
	int sv[2];

	(void)strcpy(p->path, "/tmp/hutch-connector-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(p->path));
	p->dirfd = open(p->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(p->dirfd, 0);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	p->us = sv[0];
	p->connector = sv[1];
}

static void unmake(struct place *p)
{
	(void)unlinkat(p->dirfd, "vs_80", 0);
	(void)close(p->dirfd);
	(void)close(p->us);
	(void)close(p->connector);
	(void)rmdir(p->path);
}

/* Ask for @port. Return: the errno of the answer; *@fd is what came. */
static uint32_t ask(struct place *p, uint32_t port, int *fd)
{
	le32 q = le32_put(port), a[2];
	int fds[UNIX_FDS_MAX], n = 0;

	*fd = -1;
	ck_assert_int_eq(send(p->us, &q, sizeof(q), 0), 4);
	ck_assert_int_eq(connector_serve_one(p->connector, p->dirfd, "vs"), 0);
	ck_assert_int_eq(unix_recv_fds(p->us, a, sizeof(a), fds, &n), 8);
	ck_assert_uint_eq(le32_get(a[0]), port);
	ck_assert_int_eq(n, le32_get(a[1]) == 0);
	if (n)
		*fd = fds[0];
	return le32_get(a[1]);
}

START_TEST(a_port_with_a_listener_brings_a_connected_descriptor)
{
	int listener, fd, peer;
	struct place p;
	char c = 0;

	make(&p);
	listener = unix_listen(p.dirfd, "vs_80", SOCK_STREAM, NULL);
	ck_assert_int_ge(listener, 0);
	ck_assert_uint_eq(ask(&p, 80, &fd), 0);
	peer = accept(listener, NULL, NULL);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	ck_assert_int_eq(read(peer, &c, 1), 1);
	ck_assert_int_eq(c, 'x');
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	(void)close(fd);
	(void)close(peer);
	(void)close(listener);
	unmake(&p);
}
END_TEST

START_TEST(a_port_without_a_listener_brings_its_errno)
{
	struct place p;
	int fd;

	make(&p);
	ck_assert_uint_eq(ask(&p, 81, &fd), ENOENT);
	ck_assert_uint_eq(ask(&p, UINT32_MAX, &fd), ENOENT);
	fd = unix_listen(p.dirfd, "vs_80", SOCK_STREAM, NULL);
	(void)close(fd); /* its file stays, nobody listens */
	ck_assert_uint_eq(ask(&p, 80, &fd), ECONNREFUSED);
	unmake(&p);
}
END_TEST

/* A guest that connects faster than a service accepts must not stop us. */
START_TEST(a_full_backlog_is_an_answer_and_no_wait)
{
	int listener, fd[64], n = 0;
	struct place p;
	uint32_t r = 0;

	make(&p);
	listener = unix_listen(p.dirfd, "vs_80", SOCK_STREAM, NULL);
	ck_assert_int_eq(listen(listener, 1), 0);
	while (r == 0 && n < 64)
		r = ask(&p, 80, &fd[n++]);
	ck_assert_uint_eq(r, EAGAIN);
	while (n > 0)
		if (fd[--n] >= 0)
			(void)close(fd[n]);
	(void)close(listener);
	unmake(&p);
}
END_TEST

START_TEST(nonsense_and_the_end_are_told_apart)
{
	int pipefd[2];
	struct place p;

	make(&p);
	ck_assert_int_eq(send(p.us, "abc", 3, 0), 3);
	ck_assert_int_eq(connector_serve_one(p.connector, p.dirfd, "vs"),
			 -EBADMSG);
	/* A longer message is cut to four bytes by the kernel, yet no less odd;
	 * one that brings a descriptor is refused and the descriptor closed. */
	ck_assert_int_eq(pipe2(pipefd, O_CLOEXEC), 0);
	ck_assert_int_eq(unix_send_fds(p.us, "\x50\0\0\0", 4, &pipefd[1], 1),
			 4);
	ck_assert_int_eq(connector_serve_one(p.connector, p.dirfd, "vs"),
			 -EBADMSG);
	(void)close(pipefd[1]);
	ck_assert_int_eq(read(pipefd[0], &p.path[0], 1), 0);
	(void)close(pipefd[0]);
	(void)strcpy(p.path, "/nonexistent");
	(void)shutdown(p.us, SHUT_RDWR);
	ck_assert_int_eq(connector_serve_one(p.connector, p.dirfd, "vs"),
			 -EPIPE);
	unmake(&p);
}
END_TEST

CHECK_MAIN("connector", a_port_with_a_listener_brings_a_connected_descriptor,
	   a_port_without_a_listener_brings_its_errno,
	   a_full_backlog_is_an_answer_and_no_wait,
	   nonsense_and_the_end_are_told_apart)
