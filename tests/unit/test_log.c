/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_log.c - common/log.c */
#include <string.h>

#include "common/io.h"
#include "common/log.h"
#include "tests/lib/check_main.h"

static const char *esc(char *dst, size_t cap, const char *s, size_t len)
{
	return log_escape(dst, cap, s, len);
}

START_TEST(escape_shows_what_a_terminal_would_obey)
{
	static const struct {
		const char *in;
		size_t len;
		const char *want;
	} t[] = {
		{ "plain text.", 11, "plain text." },
		{ "", 0, "" },
		{ "a\nb\tc\rd\\", 8, "a\\nb\\tc\\rd\\\\" },
		{ "\033[2J", 4, "\\x1b[2J" },
		{ "\0\177", 2, "\\x00\\x7f" },
		{ "na\303\257ve \342\202\254 \360\237\246\212", 15,
		  "na\303\257ve \342\202\254 \360\237\246\212" },
		{ "\302\233m", 3, "\\xc2\\x9bm" },          /* C1: CSI */
		{ "\342\200\256x", 4, "\\xe2\\x80\\xaex" }, /* bidi override */
		{ "\300\257", 2, "\\xc0\\xaf" },            /* overlong '/' */
		{ "\340\200\257", 3, "\\xe0\\x80\\xaf" },
		{ "\355\240\200", 3, "\\xed\\xa0\\x80" }, /* a surrogate */
		{ "\364\220\200\200", 4, "\\xf4\\x90\\x80\\x80" },
		{ "\377", 1, "\\xff" },
		{ "\303", 1, "\\xc3" }, /* cut short */
		{ "\303(", 2, "\\xc3(" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		auto_free char *in = check_copy(t[i].in, t[i].len);
		char out[128];

		ck_assert_str_eq(esc(out, sizeof(out), in, t[i].len),
				 t[i].want);
	}
}
END_TEST

START_TEST(escape_cut_ends_in_dots_and_never_splits_a_character)
{
	static const char in[] = "ab\303\251\n\001xyz";

	for (size_t cap = 5; cap < 40; cap++) {
		auto_free char *out = check_copy(
			"........................................", cap);
		size_t len;

		(void)esc(out, cap, in, sizeof(in) - 1);

		len = strlen(out);
		ck_assert_uint_lt(len, cap);
		if (strcmp(out, "ab\303\251\\n\\x01xyz") == 0)
			continue;
		ck_assert_uint_ge(len, 3);
		ck_assert_str_eq(out + len - 3, "...");
		ck_assert(memchr(out, '\303', len) == NULL ||
			  strstr(out, "\303\251") != NULL);
	}
}
END_TEST

START_TEST(escape_fills_its_room_to_the_last_byte)
{
	char out[8];

	ck_assert_str_eq(esc(out, sizeof(out), "1234567", 7), "1234567");
	ck_assert_str_eq(esc(out, sizeof(out), "12345678", 8), "1234...");
}
END_TEST

/* What a log with @level makes of one line at @at. */
static size_t logged(char *buf, size_t cap, enum log_level level,
		     enum log_level at, int kmsg, const char *text)
{
	struct log log = { .level = level, .prefix = "p: ", .kmsg = kmsg };
	int fd[2];
	ssize_t n;

	ck_assert_int_eq(pipe(fd), 0);
	log.fd = fd[1];
	log_at(&log, at, "%s", text);
	(void)close(fd[1]);
	n = io_read_full(fd[0], buf, cap);
	(void)close(fd[0]);
	ck_assert_int_ge(n, 0);
	return (size_t)n;
}

START_TEST(a_line_has_prefix_and_newline)
{
	char buf[64] = { 0 };

	(void)logged(buf, sizeof(buf) - 1, LOG_LEVEL_INFO, LOG_LEVEL_INFO, 0,
		     "hello");
	ck_assert_str_eq(buf, "p: hello\n");
	memset(buf, 0, sizeof(buf));
	(void)logged(buf, sizeof(buf) - 1, LOG_LEVEL_INFO, LOG_LEVEL_WARN, 1,
		     "hello");
	ck_assert_str_eq(buf, "<4>p: hello\n");
}
END_TEST

START_TEST(a_level_above_the_log_is_dropped)
{
	char buf[64];

	ck_assert_uint_eq(logged(buf, sizeof(buf), LOG_LEVEL_WARN,
				 LOG_LEVEL_INFO, 0, "hello"),
			  0);
}
END_TEST

START_TEST(a_long_line_is_cut_and_still_ends)
{
	char text[2 * LOG_LINE_MAX], buf[2 * LOG_LINE_MAX];
	size_t n;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';

	n = logged(buf, sizeof(buf), LOG_LEVEL_INFO, LOG_LEVEL_INFO, 0, text);

	ck_assert_uint_le(n, LOG_LINE_MAX);
	ck_assert_uint_gt(n, LOG_LINE_MAX - 8);
	ck_assert_int_eq(buf[n - 1], '\n');
	ck_assert_ptr_null(memchr(buf, '\n', n - 1));
	ck_assert_ptr_null(memchr(buf, '\0', n));
}
END_TEST

START_TEST(a_log_without_a_descriptor_is_silent)
{
	struct log log = { .fd = -1, .level = LOG_LEVEL_DEBUG, .prefix = "" };

	log_err(&log, "nobody hears this");
}
END_TEST

CHECK_MAIN("log", escape_shows_what_a_terminal_would_obey,
	   escape_cut_ends_in_dots_and_never_splits_a_character,
	   escape_fills_its_room_to_the_last_byte,
	   a_line_has_prefix_and_newline, a_level_above_the_log_is_dropped,
	   a_long_line_is_cut_and_still_ends,
	   a_log_without_a_descriptor_is_silent)
