/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_words.c - common/words.c */
#include <errno.h>
#include <string.h>

#include "common/words.h"
#include "tests/lib/check_main.h"

struct good {
	const char *s;
	uint64_t want;
};

struct bad {
	const char *s;
	int want;
};

START_TEST(bytes_are_digits_and_back)
{
	static const uint8_t b[] = { 0x00, 0x9a, 0xf0, 0xff };
	char text[2 * sizeof(b) + 1];

	memset(text, 'x', sizeof(text));
	words_hex_text(text, b, sizeof(b));
	ck_assert_str_eq(text, "009af0ff");
	for (size_t i = 0; i < sizeof(b); i++)
		ck_assert_int_eq(words_hex(text[2 * i]) << 4 |
					 words_hex(text[2 * i + 1]),
				 b[i]);
	words_hex_text(text, b, 0);
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(size_good)
{
	static const struct good g[] = {
		{ "0", 0 },           { "4096", 4096 },
		{ "64K", 65536 },     { "512M", 512ull << 20 },
		{ "2G", 2ull << 30 }, { "1.5G", 3ull << 29 },
		{ "1T", 1ull << 40 }, { "18446744073709551615", UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(g); i++) {
		uint64_t v = 1;

		ck_assert_int_eq(words_size("--memory", g[i].s, &v, NULL), 0);
		ck_assert_uint_eq(v, g[i].want);
	}
}
END_TEST

START_TEST(size_bad)
{
	static const struct bad b[] = {
		{ "", -EINVAL },          { "M", -EINVAL },
		{ "-1", -EINVAL },        { "+1", -EINVAL },
		{ " 1", -EINVAL },        { "1 ", -EINVAL },
		{ "1m", -EINVAL },        { "1MB", -EINVAL },
		{ "0x10", -EINVAL },      { "1.", -EINVAL },
		{ ".5G", -EINVAL },       { "1.5.5G", -EINVAL },
		{ "1\n", -EINVAL },       { "18446744073709551616", -ERANGE },
		{ "16777216T", -ERANGE },
	};

	for (size_t i = 0; i < ARRAY_LEN(b); i++) {
		struct err e = { 0 };
		uint64_t v = 7;

		ck_assert_int_eq(words_size("--memory", b[i].s, &v, &e),
				 b[i].want);
		ck_assert_uint_eq(v, 7);
		ck_assert(strncmp(e.msg, "--memory: ", 10) == 0);
	}
}
END_TEST

START_TEST(duration_good)
{
	static const struct good g[] = {
		{ "90", 90000000000ull },
		{ "1.5s", 1500000000ull },
		{ "500ms", 500000000ull },
		{ "2m", 120000000000ull },
		{ "1h", 3600000000000ull },
		{ "0.000000001s", 1 },
		{ "0", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(g); i++) {
		uint64_t v = 1;

		ck_assert_int_eq(words_duration("--timeout", g[i].s, &v, NULL),
				 0);
		ck_assert_uint_eq(v, g[i].want);
	}
}
END_TEST

START_TEST(duration_bad)
{
	static const struct bad b[] = {
		{ "", -EINVAL },
		{ "s", -EINVAL },
		{ "-1s", -EINVAL },
		{ "1d", -EINVAL },
		{ "1 s", -EINVAL },
		{ "1e3", -EINVAL },
		{ "1S", -EINVAL },
		{ "inf", -EINVAL },
		{ "nan", -EINVAL },
		{ "0.0000000001s", -EINVAL },
		{ "18446744074", -ERANGE },
		{ "99999999999999999999h", -ERANGE },
	};

	for (size_t i = 0; i < ARRAY_LEN(b); i++) {
		struct err e = { 0 };
		uint64_t v = 7;

		ck_assert_int_eq(words_duration("--timeout", b[i].s, &v, &e),
				 b[i].want);
		ck_assert_uint_eq(v, 7);
		ck_assert(strncmp(e.msg, "--timeout: ", 11) == 0);
	}
}
END_TEST

START_TEST(uint_takes_both_ends_of_its_range)
{
	uint64_t v = 0;

	ck_assert_int_eq(words_uint("--cpus", "1", 1, 32, &v, NULL), 0);
	ck_assert_uint_eq(v, 1);
	ck_assert_int_eq(words_uint("--cpus", "32", 1, 32, &v, NULL), 0);
	ck_assert_uint_eq(v, 32);
}
END_TEST

START_TEST(uint_bad)
{
	static const struct bad b[] = {
		{ "0", -ERANGE },
		{ "33", -ERANGE },
		{ "99999999999999999999", -ERANGE },
		{ "", -EINVAL },
		{ "-1", -EINVAL },
		{ "1.0", -EINVAL },
		{ "2 ", -EINVAL },
		{ "two", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(b); i++) {
		struct err e = { 0 };
		uint64_t v = 7;

		ck_assert_int_eq(words_uint("--cpus", b[i].s, 1, 32, &v, &e),
				 b[i].want);
		ck_assert_uint_eq(v, 7);
		ck_assert(strncmp(e.msg, "--cpus: ", 8) == 0);
	}
}
END_TEST

START_TEST(the_sentence_quotes_the_value_and_says_what_to_write)
{
	struct err e = { 0 };
	uint64_t v;

	ck_assert_int_lt(words_size("--memory", "2\033[31mG", &v, &e), 0);
	ck_assert_str_eq(e.msg, "--memory: '2\\x1b[31mG' is not understood; "
				"write bytes, or a number with K, M, G or T, "
				"such as 512M");
	ck_assert_int_lt(words_uint("--cpus", "1000", 1, 32, &v, &e), 0);
	ck_assert_str_eq(e.msg, "--cpus: '1000' is not a number from 1 to 32");
}
END_TEST

START_TEST(a_value_of_any_length_leaves_a_sentence)
{
	char big[5000];
	struct err e = { 0 };
	uint64_t v;

	memset(big, 'z', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';

	ck_assert_int_eq(words_size("--memory", big, &v, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.msg, "zzz...'"));
}
END_TEST

START_TEST(name_rules)
{
	char s[WORDS_NAME_MAX + 2];

	ck_assert(words_name_ok("a"));
	ck_assert(words_name_ok("0"));
	ck_assert(words_name_ok("web-1"));
	ck_assert(words_name_ok("a-"));
	ck_assert(!words_name_ok(""));
	ck_assert(!words_name_ok("-a"));
	ck_assert(!words_name_ok("A"));
	ck_assert(!words_name_ok("a.b"));
	ck_assert(!words_name_ok("a/b"));
	ck_assert(!words_name_ok(".."));
	ck_assert(!words_name_ok("a\n"));
	ck_assert(!words_name_ok("\303\251"));

	memset(s, 'a', sizeof(s));
	s[WORDS_NAME_MAX] = '\0';
	ck_assert(words_name_ok(s));
	s[WORDS_NAME_MAX] = 'a';
	s[WORDS_NAME_MAX + 1] = '\0';
	ck_assert(!words_name_ok(s));
}
END_TEST

CHECK_MAIN("words", bytes_are_digits_and_back, size_good, size_bad,
	   duration_good, duration_bad, uint_takes_both_ends_of_its_range,
	   uint_bad, the_sentence_quotes_the_value_and_says_what_to_write,
	   a_value_of_any_length_leaves_a_sentence, name_rules)
