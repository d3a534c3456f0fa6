/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_io.c - common/io.c */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/io.h"
#include "tests/lib/check_main.h"

#define BULK 300000u

static int memfd_with(const char *data, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_full(fd, data, len), 0);
	return fd;
}

static const char *fd_path(char *buf, size_t cap, int fd)
{
	(void)snprintf(buf, cap, "/proc/self/fd/%d", fd);
	return buf;
}

START_TEST(read_full_stops_at_the_end_of_the_file)
{
	auto_fd int fd = memfd_with("hello", 5);
	char buf[8];

	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(io_read_full(fd, buf, sizeof(buf)), 5);
	ck_assert_mem_eq(buf, "hello", 5);
	ck_assert_int_eq(io_read_full(fd, buf, sizeof(buf)), 0);
}
END_TEST

START_TEST(read_and_write_report_errno)
{
	char c = 0;

	ck_assert_int_eq(io_read_full(-1, &c, 1), -EBADF);
	ck_assert_int_eq(io_write_full(-1, &c, 1), -EBADF);
}
END_TEST

static void *write_bulk(void *arg)
{
	auto_free char *data = malloc(BULK);

	bug_on(!data);
	for (unsigned int i = 0; i < BULK; i++)
		data[i] = (char)(i * 7);
	bug_on(io_write_full(*(int *)arg, data, BULK) != 0);
	(void)shutdown(*(int *)arg, SHUT_WR);
	return NULL;
}

/* More than a socket holds, so that both halves see short counts. */
START_TEST(a_bulk_through_a_socket_arrives_whole)
{
	auto_free unsigned char *got = malloc(BULK + 1);
	pthread_t t;
	int fd[2];

	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, write_bulk, &fd[1]), 0);

	ck_assert_int_eq(io_read_full(fd[0], got, BULK + 1), BULK);

	ck_assert_int_eq(pthread_join(t, NULL), 0);
	for (unsigned int i = 0; i < BULK; i++)
		ck_assert_uint_eq(got[i], (unsigned char)(i * 7));
	(void)close(fd[0]);
	(void)close(fd[1]);
}
END_TEST

START_TEST(read_file_gives_all_of_it_with_a_nul_behind)
{
	/* Sizes on both sides of the first allocation. */
	static const size_t sizes[] = { 0, 1, 65534, 65535, 65536, 200000 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		auto_free char *data = calloc(1, sizes[i] + 1);
		auto_free char *got = NULL;
		auto_fd int fd = -1;
		char path[64];
		size_t len = 1;

		ck_assert_ptr_nonnull(data);
		memset(data, 'q', sizes[i]);
		fd = memfd_with(data, sizes[i]);
		ck_assert_int_eq(io_read_file(AT_FDCWD,
					      fd_path(path, sizeof(path), fd),
					      sizes[i], &got, &len, NULL),
				 0);
		ck_assert_uint_eq(len, sizes[i]);
		ck_assert_str_eq(got, data);
	}
}
END_TEST

START_TEST(read_file_one_byte_over_the_limit_is_refused)
{
	static const size_t sizes[] = { 1, 2, 65536, 200000 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		auto_free char *data = calloc(1, sizes[i]);
		char *got = NULL;
		auto_fd int fd = -1;
		struct err e = { 0 };
		char path[64];

		ck_assert_ptr_nonnull(data);
		fd = memfd_with(data, sizes[i]);
		ck_assert_int_eq(io_read_file(AT_FDCWD,
					      fd_path(path, sizeof(path), fd),
					      sizes[i] - 1, &got, NULL, &e),
				 -EFBIG);
		ck_assert_ptr_null(got);
		ck_assert_ptr_nonnull(strstr(e.msg, path));
	}
}
END_TEST

START_TEST(read_file_that_cannot_be_opened_or_read_says_so)
{
	char *got = NULL;
	struct err e = { 0 };

	ck_assert_int_eq(
		io_read_file(AT_FDCWD, "/nonexistent/x", 10, &got, NULL, &e),
		-ENOENT);
	ck_assert_str_eq(e.msg, "cannot open '/nonexistent/x': "
				"No such file or directory");
	ck_assert_int_eq(io_read_file(AT_FDCWD, "/", 10, &got, NULL, &e),
			 -EISDIR);
	ck_assert_str_eq(e.msg, "cannot read '/': Is a directory");
	ck_assert_ptr_null(got);
}
END_TEST

START_TEST(read_file_believes_the_bytes_not_the_size)
{
	auto_free char *got = NULL;
	size_t len = 0;

	ck_assert_int_eq(io_read_file(AT_FDCWD, "/proc/self/status", 65536,
				      &got, &len, NULL),
			 0);
	ck_assert_uint_gt(len, 0);
	ck_assert(strncmp(got, "Name:", 5) == 0);
}
END_TEST

START_TEST(descriptor_flags_go_on_and_off)
{
	auto_fd int fd = memfd_with("", 0);

	ck_assert_int_eq(io_set_nonblock(fd, 1), 0);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(io_set_nonblock(fd, 0), 0);
	ck_assert(!(fcntl(fd, F_GETFL) & O_NONBLOCK));
	ck_assert_int_eq(io_set_cloexec(fd, 0), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), 0);
	ck_assert_int_eq(io_set_cloexec(fd, 1), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(io_set_nonblock(-1, 1), -EBADF);
	ck_assert_int_eq(io_set_cloexec(-1, 1), -EBADF);
}
END_TEST

CHECK_MAIN("io", read_full_stops_at_the_end_of_the_file,
	   read_and_write_report_errno, a_bulk_through_a_socket_arrives_whole,
	   read_file_gives_all_of_it_with_a_nul_behind,
	   read_file_one_byte_over_the_limit_is_refused,
	   read_file_that_cannot_be_opened_or_read_says_so,
	   read_file_believes_the_bytes_not_the_size,
	   descriptor_flags_go_on_and_off)
