/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_conring.c - common/conring.c */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/conring.h"
#include "tests/lib/check_main.h"

static int make(struct conring *c)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(conring_open(c, fd, NULL), 0);
	return fd;
}

static void holds(int fd, const char *want, size_t want_len)
{
	auto_free char *got = NULL;
	size_t len = 0;

	ck_assert_int_eq(conring_read(fd, &got, &len, NULL), 0);
	ck_assert_uint_eq(len, want_len);
	ck_assert_int_eq(memcmp(got, want, len), 0);
	ck_assert_int_eq(got[len], '\0');
}

START_TEST(what_was_put_is_read)
{
	struct conring c;
	int fd = make(&c);
	struct stat st;

	holds(fd, "", 0);
	conring_put(&c, "hello ", 6);
	conring_put(&c, "ring", 4);
	holds(fd, "hello ring", 10);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, CONRING_FILE_LEN);
	conring_close(&c);
	holds(fd, "hello ring", 10);
	(void)close(fd);
}
END_TEST

START_TEST(of_more_than_fits_the_last_is_kept_in_order)
{
	static const size_t steps[] = { 1,
					7,
					CONRING_DATA_LEN - 1,
					CONRING_DATA_LEN,
					CONRING_DATA_LEN + 1,
					3 * CONRING_DATA_LEN + 5 };

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		size_t total = 3 * CONRING_DATA_LEN + 5, at = 0;
		auto_free char *all = malloc(total);
		struct conring c;
		int fd = make(&c);

		ck_assert_ptr_nonnull(all);
		for (size_t k = 0; k < total; k++)
			all[k] = (char)(k * 7 + k / 251);
		for (; at < total; at += MIN(steps[i], total - at))
			conring_put(&c, all + at, MIN(steps[i], total - at));
		holds(fd, all + total - CONRING_DATA_LEN, CONRING_DATA_LEN);
		conring_close(&c);
		(void)close(fd);
	}
}
END_TEST

START_TEST(exactly_full_is_whole)
{
	auto_free char *all = malloc(CONRING_DATA_LEN);
	struct conring c;
	int fd = make(&c);

	ck_assert_ptr_nonnull(all);
	for (size_t k = 0; k < CONRING_DATA_LEN; k++)
		all[k] = (char)k;
	conring_put(&c, all, CONRING_DATA_LEN);
	holds(fd, all, CONRING_DATA_LEN);
	conring_close(&c);
	(void)close(fd);
}
END_TEST

START_TEST(a_writer_killed_at_once_leaves_all_it_put)
{
	int fd = memfd_create("ring", MFD_CLOEXEC), status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct conring c;

		if (conring_open(&c, fd, NULL) == 0)
			conring_put(&c, "last words", 10);
		(void)raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	holds(fd, "last words", 10);
	(void)close(fd);
}
END_TEST

static void spoiled(off_t off, const void *bytes, size_t len, off_t file_len,
		    int want)
{
	struct err e = { 0 };
	struct conring c;
	int fd = make(&c);
	char *got = NULL;
	size_t n = 0;

	conring_put(&c, "x", 1);
	if (len)
		ck_assert_int_eq(pwrite(fd, bytes, len, off), (ssize_t)len);
	conring_close(&c);
	ck_assert_int_eq(ftruncate(fd, file_len), 0);
	ck_assert_int_eq(conring_read(fd, &got, &n, &e), want);
	ck_assert((want < 0) == (e.msg[0] != '\0'));
	free(got);
	(void)close(fd);
}

START_TEST(files_that_are_no_ring_are_refused)
{
	spoiled(0, "", 0, CONRING_FILE_LEN, 0);
	spoiled(0, "X", 1, CONRING_FILE_LEN, -EBADMSG);
	spoiled(4, "\2", 1, CONRING_FILE_LEN, -EBADMSG);
	spoiled(0, "", 0, CONRING_FILE_LEN - 1, -EBADMSG);
	spoiled(0, "", 0, 0, -EBADMSG);
	/* Any count is a count. */
	spoiled(8, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, CONRING_FILE_LEN, 0);
}
END_TEST

CHECK_MAIN("conring", what_was_put_is_read,
	   of_more_than_fits_the_last_is_kept_in_order, exactly_full_is_whole,
	   a_writer_killed_at_once_leaves_all_it_put,
	   files_that_are_no_ring_are_refused)
