/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_keys.c - host/cli/keys.c, signals.c and value.c */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "host/cli/keys.h"
#include "host/cli/signals.h"
#include "host/cli/value.h"
#include "tests/lib/check_main.h"

#define OUT_MAX 64

/* What the pieces of @in come to, "|" where the caller leaves. */
static const char *pass(const char *seq, const char *const *in, char *out)
{
	struct keys k = { 0 };
	struct hutch_err e = { 0 };
	bool left = false;
	size_t n = 0;

	ck_assert_int_eq(keys_parse(&k, seq, &e), 0);
	for (; *in && !left; in++)
		n += keys_pass(&k, *in, strlen(*in), out + n, &left);
	if (left)
		out[n++] = '|';
	else
		n += keys_release(&k, out + n);
	out[n] = '\0';
	return out;
}

START_TEST(keys_leave_in_one_piece_or_in_two)
{
	static const struct {
		const char *in[5], *want;
	} c[] = {
		{ { "ab\020\021cd" }, "ab|" },
		{ { "ab\020", "\021cd" }, "ab|" },
		{ { "\020", "\021" }, "|" },
		{ { "\020", "x" }, "\020x" },
		{ { "\020" }, "\020" },
		{ { "\020\020", "\021" }, "\020|" },
		{ { "\021\020" }, "\021\020" },
		{ { "\020", "", "\021" }, "|" },
	};
	char out[OUT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		ck_assert_str_eq(pass(KEYS_DEFAULT, c[i].in, out), c[i].want);
}
END_TEST

START_TEST(keys_that_begin_like_themselves)
{
	static const char *const in[] = { "aa", "aab", NULL };
	static const char *const not_quite[] = { "aac", "aa", NULL };
	char out[OUT_MAX];

	ck_assert_str_eq(pass("a,a,b", in, out), "aa|");
	ck_assert_str_eq(pass("a,a,b", not_quite, out), "aacaa");
	ck_assert_str_eq(pass("", in, out), "aaaab");
}
END_TEST

START_TEST(keys_are_read_and_refused)
{
	static const char *const bad[] = {
		"ctrl-",  "ctrl-ab",           ",",    "a,",       "ab", "a,,b",
		"ctrl-1", "a,b,c,d,e,f,g,h,i", "\001", "\303\244",
	};
	struct keys k = { .n = 1 };
	struct hutch_err e = { 0 };

	ck_assert_int_eq(keys_parse(&k, "Ctrl-],CTRL-a,z", &e), 0);
	ck_assert_uint_eq(k.n, 3);
	ck_assert_mem_eq(k.seq, "\035\001z", 3);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(keys_parse(&k, bad[i], &e), -EINVAL);
		ck_assert_ptr_nonnull(strstr(e.msg, "--detach-keys"));
		ck_assert_uint_eq(k.n, 3);
	}
}
END_TEST

START_TEST(signals_by_name_and_number)
{
	static const struct {
		const char *word;
		int want;
	} good[] = {
		{ "TERM", SIGTERM },  { "SIGTERM", SIGTERM },
		{ "sigint", SIGINT }, { "kill", SIGKILL },
		{ "9", SIGKILL },     { "64", 64 },
		{ "RTMIN", 34 },      { "SIGRTMIN+1", 35 },
		{ "rtmax-2", 62 },    { "RTMAX", 64 },
	};
	static const char *const bad[] = {
		"",        "SIG",     "0",        "65",     "-9", "TERMINATE",
		"RTMIN-1", "RTMAX+1", "RTMIN+31", "RTMIN+", "9x", " 9",
	};
	char buf[SIGNALS_NAME_MAX];
	struct hutch_err e = { 0 };
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		ck_assert_int_eq(
			hutch_parse_signal("--signal", good[i].word, &n, &e),
			0);
		ck_assert_int_eq(n, good[i].want);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_int_eq(hutch_parse_signal("--signal", bad[i], &n, &e),
				 -EINVAL);
	ck_assert_str_eq(signals_name(SIGTERM, buf), "SIGTERM");
	ck_assert_str_eq(signals_name(50, buf), "signal 50");
	ck_assert_str_eq(signals_name(-1, buf), "signal -1");
}
END_TEST

START_TEST(values_keep_what_they_do_not_set)
{
	static const char *const words[] = { "one", "two", "three", NULL };
	struct hutch_err e = { 0 };
	unsigned int u = 7;
	uint64_t size = 7;
	int ms = 7;

	ck_assert_int_eq(value_ms("--t", NULL, &ms, &e), 0);
	ck_assert_int_eq(value_size("--s", NULL, &size, &e), 0);
	ck_assert_int_eq(value_uint("--u", NULL, 1, 2, &u, &e), 0);
	ck_assert_int_eq(value_choice("--c", NULL, words, &u, &e), 0);
	ck_assert(ms == 7 && size == 7 && u == 7);
	ck_assert_int_eq(value_ms("--t", "1000h", &ms, &e), -EINVAL);
	ck_assert_int_eq(value_uint("--u", "3", 1, 2, &u, &e), -ERANGE);
	ck_assert_int_eq(value_choice("--c", "four", words, &u, &e), -EINVAL);
	ck_assert_str_eq(e.msg, "--c: 'four' is not one, two or three");
	ck_assert(ms == 7 && u == 7);
	ck_assert_int_eq(value_choice("--c", "three", words, &u, &e), 0);
	ck_assert_uint_eq(u, 2);
	ck_assert_int_eq(value_size("--s", "2m", &size, &e), 0);
	ck_assert_uint_eq(size, 2u << 20);
}
END_TEST

CHECK_MAIN("cli_keys", keys_leave_in_one_piece_or_in_two,
	   keys_that_begin_like_themselves, keys_are_read_and_refused,
	   signals_by_name_and_number, values_keep_what_they_do_not_set)
