/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_err.c - common/err.c */
#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "tests/lib/check_main.h"

START_TEST(set_returns_its_code_and_keeps_the_sentence)
{
	struct err e = { 0 };

	ck_assert_int_eq(err_set(&e, -EINVAL, "queue %u: bad", 3u), -EINVAL);

	ck_assert_int_eq(e.code, -EINVAL);
	ck_assert_str_eq(e.msg, "queue 3: bad");
}
END_TEST

START_TEST(without_an_object_only_the_code_comes_back)
{
	ck_assert_int_eq(err_set(NULL, -EIO, "x"), -EIO);
	ck_assert_int_eq(err_wrap(NULL, -EPERM, "x"), -EPERM);
}
END_TEST

START_TEST(wrap_puts_the_outer_sentence_first)
{
	struct err e = { 0 };

	(void)err_set(&e, -EIO, "read 3 of 8 bytes");

	ck_assert_int_eq(err_wrap(&e, -ENOENT, "snapshot '%s'", "a"), -ENOENT);
	ck_assert_int_eq(e.code, -ENOENT);
	ck_assert_str_eq(e.msg, "snapshot 'a': read 3 of 8 bytes");
}
END_TEST

START_TEST(a_long_sentence_is_cut_and_terminated)
{
	struct err e = { 0 };
	char big[2 * ERR_MSG_MAX];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';

	(void)err_set(&e, -EIO, "%s", big);
	ck_assert_uint_eq(strlen(e.msg), ERR_MSG_MAX - 1);
	(void)err_wrap(&e, -EIO, "%s", big);
	ck_assert_uint_eq(strlen(e.msg), ERR_MSG_MAX - 1);
	(void)err_set(&e, -EIO, "inner");
	(void)err_wrap(&e, -EIO, "%.230s", big);
	ck_assert_uint_eq(strlen(e.msg), 230 + strlen(": inner"));
}
END_TEST

CHECK_MAIN("err", set_returns_its_code_and_keeps_the_sentence,
	   without_an_object_only_the_code_comes_back,
	   wrap_puts_the_outer_sentence_first,
	   a_long_sentence_is_cut_and_terminated)
