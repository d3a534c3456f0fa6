/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_text.c - what people and programs are shown: text.c,
 * table.c, jsonw.c, event.c
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/event.h"
#include "host/cli/jsonw.h"
#include "host/cli/table.h"
#include "host/cli/text.h"
#include "tests/lib/check_main.h"

#define ROOM 256

static void utf8_locale(void)
{
	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
}

START_TEST(show_escapes_what_can_do_harm)
{
	static const struct {
		const char *in, *out;
	} t[] = {
		{ "plain", "plain" },
		{ "a\nb\tc\rd", "a\\nb\\tc\\rd" },
		{ "\033[2J", "\\e[2J" },
		{ "back\\slash", "back\\\\slash" },
		{ "\x7f\x01", "\\x7f\\x01" },
		{ "\xff\xc3", "\\xff\\xc3" },
		/* C1 control in UTF-8; overlong slash; a surrogate. */
		{ "\xc2\x9b", "\\xc2\\x9b" },
		{ "\xc0\xaf", "\\xc0\\xaf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		/* Right-to-left override takes no column. */
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae" },
		{ "\xc3\xa9\xe6\xbc\xa2", "\xc3\xa9\xe6\xbc\xa2" },
	};

	utf8_locale();
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		char *in = check_copy(t[i].in, strlen(t[i].in) + 1);
		char out[ROOM];

		(void)text_show(out, sizeof(out), in, SIZE_MAX);
		ck_assert_str_eq(out, t[i].out);
		free(in);
	}
}
END_TEST

START_TEST(show_counts_columns)
{
	char out[ROOM];

	utf8_locale();
	ck_assert_uint_eq(text_show(out, sizeof(out), "\xc3\xa9", 9), 1);
	ck_assert_uint_eq(text_show(out, sizeof(out), "\xe6\xbc\xa2", 9), 2);
	ck_assert_uint_eq(text_show(out, sizeof(out), "\n", 9), 2);
}
END_TEST

START_TEST(show_escapes_all_but_ascii_in_the_c_locale)
{
	char out[ROOM];

	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C"));
	(void)text_show(out, sizeof(out), "\xc3\xa9", SIZE_MAX);
	ck_assert_str_eq(out, "\\xc3\\xa9");
}
END_TEST

START_TEST(show_cuts_at_a_whole_piece)
{
	char out[ROOM];

	utf8_locale();
	ck_assert_uint_eq(text_show(out, sizeof(out), "12345678", 8), 8);
	ck_assert_str_eq(out, "12345678");
	ck_assert_uint_eq(text_show(out, sizeof(out), "123456789", 8), 8);
	ck_assert_str_eq(out, "12345...");
	/* The escape of ESC would not fit before the dots. */
	ck_assert_uint_eq(text_show(out, sizeof(out), "1234\033\033\033", 8),
			  7);
	ck_assert_str_eq(out, "1234...");
}
END_TEST

START_TEST(show_never_passes_the_end_of_its_room)
{
	for (size_t size = 5; size < 20; size++) {
		char *out = malloc(size);

		ck_assert_ptr_nonnull(out);
		(void)text_show(out, size, "a\033\xff\xc3\xa9xyz\n\n\n\n\n",
				SIZE_MAX);
		ck_assert_uint_lt(strlen(out), size);
		free(out);
	}
}
END_TEST

START_TEST(utf8_tells_bad_from_unfinished)
{
	static const struct {
		const char *s;
		int want;
	} t[] = {
		{ "a", 1 },
		{ "\xc3\xa9", 2 },
		{ "\xf0\x9f\x98\x80", 4 },
		{ "\xc3", -1 },
		{ "\xf0\x9f\x98", -1 },
		{ "\x80", 0 },
		{ "\xff", 0 },
		{ "\xc3z", 0 },
		{ "\xe0\x80\x80", 0 },
		{ "\xf4\x90\x80\x80", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		size_t len = strlen(t[i].s);
		char *s = check_copy(t[i].s, len);
		uint32_t wc = 0;

		ck_assert_int_eq(text_utf8(s, len, &wc), t[i].want);
		free(s);
	}
}
END_TEST

START_TEST(near_finds_what_was_meant)
{
	static const char *const words[] = { "run",     "start", "exec", "stop",
					     "inspect", "list",  "logs", NULL };

	ck_assert_str_eq(text_near("strat", words), "start");
	ck_assert_str_eq(text_near("insp", words), "inspect");
	ck_assert_str_eq(text_near("exe", words), "exec");
	ck_assert_str_eq(text_near("rnu", words), "run");
	ck_assert_ptr_null(text_near("banana", words));
	ck_assert_ptr_null(text_near("bogus", words));
	ck_assert_ptr_null(text_near("", words));
}
END_TEST

START_TEST(join_quotes_for_a_shell)
{
	static const char *const argv[] = { "sh", "-c",  "echo it's; $X",
					    "",   "a=b", NULL };
	char *line = text_join(argv);

	ck_assert_str_eq(line, "sh -c 'echo it'\\''s; $X' '' a=b");
	free(line);
}
END_TEST

START_TEST(table_lines_up_and_escapes)
{
	static const struct table_col col[] = { { "NAME", 0 }, { "X", 6 } };
	char out[ROOM] = "";
	struct table t;
	FILE *f;

	utf8_locale();
	table_init(&t, col, ARRAY_LEN(col));
	ck_assert_int_eq(table_add(&t, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9z"), 0);
	ck_assert_int_eq(table_add(&t, "1234567"), 0);
	ck_assert_int_eq(table_add(&t, "a\nb"), 0);
	ck_assert_int_eq(table_add(&t, NULL), 0);
	f = fmemopen(out, sizeof(out), "w");
	table_print(&t, f);
	ck_assert_int_eq(fclose(f), 0);
	table_done(&t);

	ck_assert_str_eq(out, "NAME   X\n"
			      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9z  123...\n"
			      "a\\nb   -\n");
}
END_TEST

START_TEST(json_escapes_and_nests)
{
	char out[ROOM] = "";
	struct jsonw j = { .out = fmemopen(out, sizeof(out), "w") };

	jsonw_object(&j, NULL);
	jsonw_strn(&j, "s\"", "a\\\n\x01\xff\xc3\xa9\0z", 9);
	jsonw_array(&j, "l");
	jsonw_uint(&j, NULL, UINT64_MAX);
	jsonw_int(&j, NULL, -1);
	jsonw_bool(&j, NULL, true);
	jsonw_str(&j, NULL, NULL);
	jsonw_array_end(&j);
	jsonw_object(&j, "o");
	jsonw_object_end(&j);
	jsonw_object_end(&j);
	ck_assert_int_eq(fclose(j.out), 0);

	ck_assert_str_eq(out,
			 "{\"s\\\"\": \"a\\\\\\n\\u0001\\ufffd\xc3\xa9"
			 "\\u0000z\", \"l\": [18446744073709551615, -1, true, "
			 "null], \"o\": {}}\n");
}
END_TEST

START_TEST(json_base64_pads)
{
	char out[ROOM] = "";
	struct jsonw j = { .out = fmemopen(out, sizeof(out), "w") };

	jsonw_array(&j, NULL);
	jsonw_base64(&j, NULL, "", 0);
	jsonw_base64(&j, NULL, "f", 1);
	jsonw_base64(&j, NULL, "fo", 2);
	jsonw_base64(&j, NULL, "foo", 3);
	jsonw_base64(&j, NULL, "\xff\xfe\xfd\x00", 4);
	jsonw_array_end(&j);
	ck_assert_int_eq(fclose(j.out), 0);

	ck_assert_str_eq(out, "[\"\", \"Zg==\", \"Zm8=\", \"Zm9v\", "
			      "\"//79AA==\"]\n");
}
END_TEST

/* What comes of output that arrives in these two pieces, and its end. */
static void two_pieces(char out[ROOM], const char *a, const char *b)
{
	struct jsonw j = { .out = fmemopen(out, ROOM, "w") };
	struct hutch_exec_event ev = { .kind = HUTCH_EXEC_STDOUT };
	const char *const pieces[] = { a, b };
	struct event_text t[2] = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		char *copy = check_copy(pieces[i], strlen(pieces[i]));

		ev.cursor += ev.len;
		ev.data = copy;
		ev.len = strlen(pieces[i]);
		event_put(&j, t, &ev);
		free(copy);
	}
	event_output_end(&j, &t[0], 0);
	ck_assert_int_eq(fclose(j.out), 0);
}

START_TEST(event_waits_for_the_rest_of_a_character)
{
	char out[ROOM] = "";

	two_pieces(out, "a\xc3", "\xa9z");

	ck_assert_str_eq(out, "{\"event\": \"stdout\", \"text\": \"a\"}\n"
			      "{\"event\": \"stdout\", \"text\": "
			      "\"\xc3\xa9z\"}\n");
}
END_TEST

START_TEST(event_loses_no_byte_of_what_is_no_text)
{
	char out[ROOM] = "";

	two_pieces(out, "\xff", "b\xe2\x82");

	ck_assert_str_eq(out, "{\"event\": \"stdout\", \"base64\": \"/w==\"}\n"
			      "{\"event\": \"stdout\", \"text\": \"b\"}\n"
			      "{\"event\": \"stdout\", \"base64\": "
			      "\"4oI=\"}\n");
}
END_TEST

/* The rest of a character is not to be glued to what came elsewhere. */
START_TEST(event_keeps_what_is_lost_apart)
{
	const struct hutch_exec_event ev[] = {
		{ .kind = HUTCH_EXEC_STARTED, .id = "p1", .pid = 9 },
		{ .kind = HUTCH_EXEC_STDERR,
		  .data = "a\xc3",
		  .len = 2,
		  .cursor = 5,
		  .time_ns = 1 },
		{ .kind = HUTCH_EXEC_TRUNCATED,
		  .stream = 2,
		  .lost = 3,
		  .cursor = 10 },
		{ .kind = HUTCH_EXEC_STDERR,
		  .data = "\xa9",
		  .len = 1,
		  .cursor = 10,
		  .time_ns = 1000000000 },
	};
	char out[4 * ROOM] = "";
	struct jsonw j = { .out = fmemopen(out, sizeof(out), "w") };
	struct event_text t[2] = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(ev); i++)
		event_put(&j, t, &ev[i]);
	ck_assert_int_eq(fclose(j.out), 0);

	ck_assert_str_eq(
		out,
		"{\"event\": \"started\", \"id\": \"p1\", \"pid\": 9, "
		"\"time\": null}\n"
		"{\"event\": \"stderr\", \"time\": "
		"\"1970-01-01T00:00:00.000Z\", \"cursor\": 5, \"text\": "
		"\"a\"}\n"
		"{\"event\": \"stderr\", \"time\": "
		"\"1970-01-01T00:00:00.000Z\", \"cursor\": 6, \"base64\": "
		"\"ww==\"}\n"
		"{\"event\": \"truncated\", \"stream\": \"stderr\", "
		"\"lost\": 3, \"cursor\": 10}\n"
		"{\"event\": \"stderr\", \"time\": "
		"\"1970-01-01T00:00:01.000Z\", \"cursor\": 10, \"base64\": "
		"\"qQ==\"}\n");
}
END_TEST

CHECK_MAIN("cli_text", show_escapes_what_can_do_harm, show_counts_columns,
	   show_escapes_all_but_ascii_in_the_c_locale,
	   show_cuts_at_a_whole_piece, show_never_passes_the_end_of_its_room,
	   utf8_tells_bad_from_unfinished, near_finds_what_was_meant,
	   join_quotes_for_a_shell, table_lines_up_and_escapes,
	   json_escapes_and_nests, json_base64_pads,
	   event_waits_for_the_rest_of_a_character,
	   event_loses_no_byte_of_what_is_no_text,
	   event_keeps_what_is_lost_apart)
