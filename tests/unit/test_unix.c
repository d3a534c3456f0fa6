/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_unix.c - common/unix.c */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/io.h"
#include "common/unix.h"
#include "tests/lib/check_main.h"

#define DEPTH    12
#define DIR_NAME "a-folder-with-a-long-name-of-forty-bytes"

/* A folder whose path is far longer than a socket address holds. */
struct deep {
	char top[32];
	int fd[DEPTH + 1];
};

static void deep_make(struct deep *d)
{
	(void)snprintf(d->top, sizeof(d->top), "/tmp/test-unix-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(d->top));
	d->fd[0] = open(d->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEPTH; i++) {
		ck_assert_int_eq(mkdirat(d->fd[i], DIR_NAME, 0700), 0);
		d->fd[i + 1] = openat(d->fd[i], DIR_NAME,
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(d->fd[i + 1], 0);
	}
}

static void deep_remove(struct deep *d)
{
	(void)unlinkat(d->fd[DEPTH], "s", 0);
	(void)close(d->fd[DEPTH]);
	for (int i = DEPTH - 1; i >= 0; i--) {
		ck_assert_int_eq(unlinkat(d->fd[i], DIR_NAME, AT_REMOVEDIR), 0);
		(void)close(d->fd[i]);
	}
	ck_assert_int_eq(rmdir(d->top), 0);
}

START_TEST(a_socket_in_a_deep_folder_works)
{
	struct deep d;
	int dirfd, srv, cli, peer = -1;

	deep_make(&d);
	dirfd = d.fd[DEPTH];

	srv = unix_listen(dirfd, "s", SOCK_STREAM, NULL);
	ck_assert_int_ge(srv, 0);
	cli = unix_connect(dirfd, "s", SOCK_STREAM, NULL);
	ck_assert_int_ge(cli, 0);
	peer = accept4(srv, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(peer, 0);

	ck_assert(fcntl(srv, F_GETFL) & O_NONBLOCK);
	ck_assert(!(fcntl(cli, F_GETFL) & O_NONBLOCK));
	ck_assert_int_eq(fcntl(srv, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(cli, F_GETFD), FD_CLOEXEC);
	(void)close(peer);
	(void)close(cli);
	(void)close(srv);
	deep_remove(&d);
}
END_TEST

START_TEST(a_name_somebody_listens_on_is_refused)
{
	struct deep d;
	struct err e = { 0 };
	int srv;

	deep_make(&d);
	srv = unix_listen(d.fd[DEPTH], "s", SOCK_STREAM, NULL);
	ck_assert_int_ge(srv, 0);

	ck_assert_int_eq(unix_listen(d.fd[DEPTH], "s", SOCK_STREAM, &e),
			 -EADDRINUSE);
	ck_assert_str_eq(e.msg, "cannot listen at 's': Address already in use");
	(void)close(srv);
	deep_remove(&d);
}
END_TEST

START_TEST(a_socket_file_left_behind_is_replaced)
{
	struct deep d;
	int srv;

	deep_make(&d);
	srv = unix_listen(d.fd[DEPTH], "s", SOCK_STREAM, NULL);
	ck_assert_int_ge(srv, 0);
	(void)close(srv);

	srv = unix_listen(d.fd[DEPTH], "s", SOCK_STREAM, NULL);

	ck_assert_int_ge(srv, 0);
	(void)close(srv);
	deep_remove(&d);
}
END_TEST

START_TEST(a_file_that_is_no_socket_is_never_removed)
{
	struct deep d;
	struct stat st;
	int fd;

	deep_make(&d);
	fd = openat(d.fd[DEPTH], "s", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_full(fd, "data", 4), 0);
	(void)close(fd);

	ck_assert_int_lt(unix_listen(d.fd[DEPTH], "s", SOCK_STREAM, NULL), 0);

	ck_assert_int_eq(fstatat(d.fd[DEPTH], "s", &st, 0), 0);
	ck_assert(S_ISREG(st.st_mode) && st.st_size == 4);
	deep_remove(&d);
}
END_TEST

START_TEST(connect_tells_nobody_there_from_too_long)
{
	struct err e = { 0 };
	struct deep d;
	char name[200];

	deep_make(&d);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';

	ck_assert_int_eq(unix_connect(d.fd[DEPTH], "s", SOCK_STREAM, &e),
			 -ENOENT);
	ck_assert_int_eq(unix_connect(AT_FDCWD, name, SOCK_STREAM, &e),
			 -ENAMETOOLONG);
	ck_assert_int_eq(unix_listen(AT_FDCWD, name, SOCK_STREAM, &e),
			 -ENAMETOOLONG);
	ck_assert_ptr_nonnull(strstr(e.msg, "longer than 107 bytes"));
	deep_remove(&d);
}
END_TEST

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

START_TEST(descriptors_travel_with_bytes)
{
	int sp[2], p[2], got[UNIX_FDS_MAX], n = -1;
	char buf[8], c = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sp), 0);
	ck_assert_int_eq(pipe(p), 0);

	ck_assert_int_eq(unix_send_fds(sp[0], "hey", 3, p, 2), 3);
	ck_assert_int_eq(unix_recv_fds(sp[1], buf, sizeof(buf), got, &n), 3);

	ck_assert_int_eq(n, 2);
	ck_assert_mem_eq(buf, "hey", 3);
	ck_assert_int_eq(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(io_write_full(got[1], "!", 1), 0);
	ck_assert_int_eq(io_read_full(got[0], &c, 1), 1);
	ck_assert_int_eq(c, '!');
	for (int i = 0; i < 2; i++) {
		(void)close(sp[i]);
		(void)close(p[i]);
		(void)close(got[i]);
	}
}
END_TEST

START_TEST(without_descriptors_only_bytes_come)
{
	int sp[2], got[UNIX_FDS_MAX], n = -1;
	char buf[8];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sp), 0);

	ck_assert_int_eq(unix_send_fds(sp[0], "hey", 3, NULL, 0), 3);
	ck_assert_int_eq(unix_recv_fds(sp[1], buf, sizeof(buf), got, &n), 3);
	ck_assert_int_eq(n, 0);
	(void)close(sp[0]);
	ck_assert_int_eq(unix_recv_fds(sp[1], buf, sizeof(buf), got, &n), 0);
	ck_assert_int_eq(unix_send_fds(sp[1], "x", 1, NULL, 0), -EPIPE);
	(void)close(sp[1]);
}
END_TEST

/* A peer of ours never does this; one that is not ours may. */
START_TEST(more_descriptors_than_the_limit_leak_none)
{
	enum {
		MANY = UNIX_FDS_MAX + 3
	};
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(MANY * sizeof(int))] = {
		0
	};
	int sp[2], got[UNIX_FDS_MAX], n = -1, before;
	char c = 'x', buf[8];
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = ctl,
			     .msg_controllen = sizeof(ctl) };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&mh);

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sp), 0);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(MANY * sizeof(int));
	for (size_t i = 0; i < MANY; i++)
		memcpy(CMSG_DATA(cm) + i * sizeof(int), &sp[0], sizeof(int));
	ck_assert_int_eq(sendmsg(sp[0], &mh, 0), 1);
	before = open_fds();

	ck_assert_int_eq(unix_recv_fds(sp[1], buf, sizeof(buf), got, &n),
			 -EMSGSIZE);

	ck_assert_int_eq(open_fds(), before);
	(void)close(sp[0]);
	(void)close(sp[1]);
}
END_TEST

CHECK_MAIN("unix", a_socket_in_a_deep_folder_works,
	   a_name_somebody_listens_on_is_refused,
	   a_socket_file_left_behind_is_replaced,
	   a_file_that_is_no_socket_is_never_removed,
	   connect_tells_nobody_there_from_too_long,
	   descriptors_travel_with_bytes, without_descriptors_only_bytes_come,
	   more_descriptors_than_the_limit_leak_none)
