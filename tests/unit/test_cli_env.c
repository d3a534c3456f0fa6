/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_env.c - host/cli/env.c */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/env.h"
#include "tests/lib/check_main.h"

#define PATH_ROOM 64

/* Writes a file; the caller unlinks @path. */
static void put_file(char path[PATH_ROOM], const char *text, size_t len)
{
	int fd;

	(void)snprintf(path, PATH_ROOM, "/tmp/test_cli_env.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, len), len);
	(void)close(fd);
}

static int add_text(struct env *env, const char *text, size_t len,
		    struct hutch_err *e)
{
	char path[PATH_ROOM];
	int r;

	put_file(path, text, len);
	r = env_add_file(env, path, e);
	(void)unlink(path);
	return r;
}

START_TEST(word_with_and_without_a_value)
{
	struct env env = { 0 };

	ck_assert_int_eq(setenv("TEST_CLI_ENV", "from here", 1), 0);
	ck_assert_int_eq(unsetenv("TEST_CLI_NONE"), 0);
	ck_assert_int_eq(env_add(&env, "A=1=2", NULL), 0);
	ck_assert_int_eq(env_add(&env, "TEST_CLI_ENV", NULL), 0);
	ck_assert_int_eq(env_add(&env, "TEST_CLI_NONE", NULL), 0);
	ck_assert_int_eq(env_add(&env, "EMPTY=", NULL), 0);

	ck_assert_uint_eq(env.n, 3);
	ck_assert_str_eq(env.v[0], "A=1=2");
	ck_assert_str_eq(env.v[1], "TEST_CLI_ENV=from here");
	ck_assert_str_eq(env.v[2], "EMPTY=");
	ck_assert_ptr_null(env.v[3]);
	env_done(&env);
}
END_TEST

START_TEST(word_without_a_name_is_refused)
{
	static const char *const bad[] = { "", "=1", "A B=1", " A=1" };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct env env = { 0 };
		struct hutch_err e = { 0 };

		ck_assert_int_eq(env_add(&env, bad[i], &e), -EINVAL);
		ck_assert_ptr_nonnull(strstr(e.msg, "write NAME=VALUE"));
		ck_assert_uint_eq(env.n, 0);
		env_done(&env);
	}
}
END_TEST

START_TEST(variables_have_a_limit)
{
	struct env env = { 0 };
	struct hutch_err e = { 0 };

	for (int i = 0; i < HUTCH_ARGS_MAX; i++) {
		if (env_add(&env, "A=1", &e) < 0)
			ck_abort_msg("refused too early: %d", i);
	}
	ck_assert_int_eq(env_add(&env, "A=1", &e), -E2BIG);
	ck_assert_str_eq(e.msg, "--env: more than 4096 variables");
	env_done(&env);
}
END_TEST

START_TEST(file_in_dockers_format)
{
	static const char text[] = "# comment\n\nA=1\n  B=two words \r\n"
				   "C='kept as it is'\nD=no newline";
	struct env env = { 0 };
	struct hutch_err e = { 0 };

	ck_assert_int_eq(add_text(&env, text, strlen(text), &e), 0);
	ck_assert_uint_eq(env.n, 4);
	ck_assert_str_eq(env.v[0], "A=1");
	ck_assert_str_eq(env.v[1], "B=two words ");
	ck_assert_str_eq(env.v[2], "C='kept as it is'");
	ck_assert_str_eq(env.v[3], "D=no newline");
	env_done(&env);
}
END_TEST

START_TEST(file_that_is_none_is_refused)
{
	struct env env = { 0 };
	struct hutch_err e = { 0 };

	ck_assert_int_eq(env_add_file(&env, "/nonexistent", &e), -ENOENT);
	ck_assert_str_eq(e.msg, "--env-file '/nonexistent': No such file or "
				"directory");
	ck_assert_int_eq(env_add_file(&env, "/", &e), -EISDIR);
	ck_assert_int_eq(env_add_file(&env, "/dev/zero", &e), -EFBIG);
	ck_assert_int_eq(add_text(&env, "A=1\0B", 5, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.msg, "it has a NUL"));
	ck_assert_int_eq(add_text(&env, "A=1\n=2\n", 7, &e), -EINVAL);
	env_done(&env);
}
END_TEST

CHECK_MAIN("cli_env", word_with_and_without_a_value,
	   word_without_a_name_is_refused, variables_have_a_limit,
	   file_in_dockers_format, file_that_is_none_is_refused)
