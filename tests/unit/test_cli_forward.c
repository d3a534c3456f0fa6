/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_forward.c - [HOST:]PORT:GUEST_PORT, read and shown */
#include <errno.h>
#include <string.h>

#include "host/cli/forward.h"
#include "tests/lib/check_main.h"

START_TEST(what_is_right_is_read)
{
	static const struct {
		const char *word;
		bool place;
		const char *host;
		unsigned int port, guest_port;
		const char *shown;
	} v[] = {
		{ "8080:80", false, NULL, 8080, 80, "127.0.0.1:8080" },
		{ "0:65535", false, NULL, 0, 65535, "127.0.0.1:0" },
		{ "0.0.0.0:1:2", false, "0.0.0.0", 1, 2, "0.0.0.0:1" },
		{ "[::1]:1:2", false, "::1", 1, 2, "[::1]:1" },
		{ "8080", true, NULL, 8080, 0, "127.0.0.1:8080" },
		{ "10.0.0.1:80", true, "10.0.0.1", 80, 0, "10.0.0.1:80" },
		{ "[fe80::1:2]:80", true, "fe80::1:2", 80, 0,
		  "[fe80::1:2]:80" },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		char buf[FORWARD_PLACE_MAX];
		struct forward_one one;
		struct hutch_err e;

		ck_assert_msg(forward_read("-p", v[i].word, v[i].place, &one,
					   &e) == 0,
			      "%s", e.msg);
		if (v[i].host)
			ck_assert_str_eq(one.f.host, v[i].host);
		else
			ck_assert_ptr_null(one.f.host);
		ck_assert_uint_eq(one.f.port, v[i].port);
		ck_assert_uint_eq(one.f.guest_port, v[i].guest_port);
		ck_assert_str_eq(forward_place(&one.f, buf), v[i].shown);
	}
}
END_TEST

START_TEST(what_is_wrong_is_refused_with_what_to_write)
{
	static const char form[] = "is not [HOST:]PORT:GUEST_PORT";
	static const struct {
		const char *word;
		bool place;
		const char *says;
	} v[] = {
		{ "", false, form },
		{ "80", false, form },
		{ ":80", false, "is not a number" },
		{ "80:", false, "is not a number" },
		{ "::1:80:80", false, form },
		{ "[::1:80:80", false, form },
		{ "[::1]80:80", false, form },
		{ "[]:80:80", false, form },
		{ ":80:80", false, form },
		{ "1.2.3.4:80:80:80", false, form },
		{ "1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4:1:2", false,
		  form },
		{ "x:80", false, "is not a number" },
		{ "80:0", false, "is not a number from 1 to 65535" },
		{ "65536:80", false, "is not a number from 0 to 65535" },
		{ "0", true, "is not a number from 1 to 65535" },
		{ "80:80:80", true, "is not [HOST:]PORT, with" },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct forward_one one;
		struct hutch_err e = { 0 };

		ck_assert_int_lt(
			forward_read("-p", v[i].word, v[i].place, &one, &e), 0);
		ck_assert_msg(strstr(e.msg, v[i].says) != NULL, "%s: %s",
			      v[i].word, e.msg);
	}
}
END_TEST

START_TEST(many_words_are_one_list)
{
	const char *words[] = { "1:2", "[::1]:3:4", "5:6" };
	struct cli_forwards fs = { 0 };
	struct hutch_err e;

	ck_assert_int_eq(forwards_read(&fs, words, 0, &e), 0);
	ck_assert_ptr_null(fs.list);
	ck_assert_int_eq(forwards_read(&fs, words, 3, &e), 0);
	ck_assert_uint_eq(fs.list[0]->port, 1);
	ck_assert_str_eq(fs.list[1]->host, "::1");
	ck_assert_uint_eq(fs.list[2]->guest_port, 6);
	ck_assert_ptr_null(fs.list[3]);
	forwards_done(&fs);
	words[1] = "x";
	ck_assert_int_eq(forwards_read(&fs, words, 3, &e), -EINVAL);
	forwards_done(&fs);
}
END_TEST

CHECK_MAIN("cli_forward", what_is_right_is_read,
	   what_is_wrong_is_refused_with_what_to_write, many_words_are_one_list)
