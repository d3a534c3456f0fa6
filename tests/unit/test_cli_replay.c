/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_replay.c - what a terminal is not asked a second time */
#include <stdio.h>
#include <string.h>

#include "host/cli/replay.h"
#include "tests/lib/check_main.h"

#define ROOM (4 * REPLAY_HOLD_MAX)

/* What is shown of @text, given in pieces of @step bytes, all of the past. */
static const char *shown(const char *text, size_t step)
{
	static char out[ROOM];
	size_t len = strlen(text), n = 0;
	struct replay r = { .until = len };

	for (size_t i = 0; i < len; i += step) {
		size_t piece = MIN(step, len - i);
		char *in = check_copy(text + i, piece);

		n += replay_pass(&r, i, in, piece, out + n);
		free(in);
	}
	ck_assert_uint_eq(r.n, 0);
	out[n] = '\0';
	return out;
}

static void expect(const char *text, const char *want)
{
	for (size_t step = 1; step <= strlen(text); step++)
		ck_assert_msg(strcmp(shown(text, step), want) == 0,
			      "'%s' in pieces of %zu: '%s', not '%s'", text + 1,
			      step, shown(text, step), want);
}

START_TEST(questions_are_left_out)
{
	static const char *const asks[] = {
		"\033[6n",
		"\033[5n",
		"\033[?6n",
		"\033[?996n",
		"\033[c",
		"\033[0c",
		"\033[>c",
		"\033[>0c",
		"\033[=c",
		"\033Z",
		"\033[>q",
		"\033[>0q",
		"\033[?2026$p",
		"\033[4$p",
		"\033[x",
		"\033[1x",
		"\033[?u",
		"\033[?4m",
		"\033[?1;1;0S",
		"\033[1$w",
		"\033[1$u",
		"\033[&u",
		"\033[1;1;1;1;2;2*y",
		"\033[1'|",
		"\033[#R",
		"\033[1;1;2;2#|",
		"\033[#S",
		"\033[14t",
		"\033[14;2t",
		"\033[18t",
		"\033[21t",
		"\033]10;?\007",
		"\033]11;?\033\\",
		"\033]10;?;?\033\\",
		"\033]4;1;?\007",
		"\033]4;1;#fff;2;?\007",
		"\033]52;c;?\007",
		"\033]50;?\007",
		"\033]21;foreground=?\033\\",
		"\033]22;?pointer\033\\",
		"\033]1337;ReportCellSize\007",
		"\033P$qm\033\\",
		"\033P+q544e\033\\",
		"\033P+Q666f\033\\",
		"\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\",
		"\005",
	};

	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		char text[128], want[128];

		(void)snprintf(text, sizeof(text), "a%sb\033[1m%sc", asks[i],
			       asks[i]);
		(void)snprintf(want, sizeof(want), "ab\033[1mc");
		expect(text, want);
	}
}
END_TEST

/* Like them, and none of them. */
START_TEST(all_else_is_as_it_was)
{
	static const char *const passes[] = {
		"plain \xc3\xa9 text\r\n",
		"\033[m\033[1;31mred\033[?25l\033[?2004h",
		"\033[>4;2m\033[>4n",
		"\033[?0c",
		"\033[2 q\033[1\"q\033[0q",
		"\033[!p\033[61\"p",
		"\033[8;24;80t\033[22;0t\033[23t\033[11;1\"t",
		"\033[u\033[>1u\033[<u\033[=1u\033[s",
		"\033[2S\033[3T\033[4$x\033[2*x",
		"\033]0;?\007\033]2;what?\033\\",
		"\033]10;#fff\033\\\033]4;1;rgb:1/2/3\007\033]110\007",
		"\033]8;;http://x/?a;b=?\033\\x\033]8;;\033\\",
		"\033]52;c;aGk=\007",
		"\033]1337;File=inline=1:AAAA\007",
		"\033Pq#0;2;0;0;0\033\\",
		"\033_Ga=T,f=100;a=q\033\\",
		"\033X?\033\\\033^?\033\\",
		"\033(B\033)0\0337\0338\033=\033>\033M\033c",
		"\033]\007\033]\033\\\033P\033\\\033[",
		"\033",
		"\033]10;?",
		"\033[6",
	};

	for (size_t i = 0; i < ARRAY_LEN(passes); i++)
		expect(passes[i], passes[i]);
}
END_TEST

START_TEST(sequence_that_is_broken_off_hides_no_question)
{
	/* By another; and by the two bytes that do nothing else. */
	expect("a\033]0;x\033[6nb", "ab");
	expect("a\033]0;x\033\033[6nb", "ab");
	expect("a\033[1\033[6nb", "ab");
	expect("a\033[1\033[6n;31m", "a;31m");
	expect("a\033\033[6n[6nb", "a[6nb");
	expect("a\033[1\033[1mb", "a\033[1mb");
	expect("a\033]10;\030\033[6n?\007", "a\033]10;\030?\007");
	expect("a\033[\032\033[cb", "a\033[\032b");
	/* A terminal does what is in it, and then it goes on. */
	expect("a\033[6\nnb", "a\nb");
	expect("a\033\r[cb", "a\rb");
	expect("a\033[1\n;31mb", "a\n\033[1;31mb");
	expect("a\033[\0056\177nb", "a\177b");
	/* No terminal takes such a byte for a part of it. */
	expect("\033[6\xe9n", "\033[6\xe9n");
}
END_TEST

START_TEST(string_that_is_long_passes_and_ends)
{
	static char text[ROOM], want[ROOM];
	static const char *const ends[] = { "\007", "\033\\", "\033[6n" };

	for (size_t fill = REPLAY_HOLD_MAX - 8; fill < REPLAY_HOLD_MAX + 8;
	     fill++) {
		for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
			(void)snprintf(text, sizeof(text),
				       "\033]0;%0*d%s\033[6nz", (int)fill, 0,
				       ends[i]);
			(void)snprintf(want, sizeof(want), "\033]0;%0*d%sz",
				       (int)fill, 0, i < 2 ? ends[i] : "\030");
			/* One that could still be held is not passed at all. */
			if (i == 2 && fill + 4 < REPLAY_HOLD_MAX - 1)
				(void)snprintf(want, sizeof(want), "z");
			ck_assert_str_eq(shown(text, 1), want);
			ck_assert_str_eq(shown(text, 700), want);
		}
	}
}
END_TEST

START_TEST(what_is_not_of_the_past_is_passed_raw)
{
	static const char text[] = "\033[6nnow\033[6n";
	struct replay r = { .until = 4 };
	char out[sizeof(text) + REPLAY_HOLD_MAX];

	ck_assert_uint_eq(replay_pass(&r, 0, text, sizeof(text) - 1, out), 7);
	ck_assert_mem_eq(out, "now\033[6n", 7);
	ck_assert_uint_eq(replay_pass(&r, 11, "\033[c", 3, out), 3);
	/* Begun before and ended now: nobody can have answered. */
	r = (struct replay){ .until = 3 };
	ck_assert_uint_eq(replay_pass(&r, 0, "a\033[", 3, out), 3);
	ck_assert_mem_eq(out, "a\033[", 3);
	ck_assert_uint_eq(replay_pass(&r, 3, "6n", 2, out), 2);
	/* No past at all. */
	r = (struct replay){ 0 };
	ck_assert_uint_eq(replay_pass(&r, 100, "\033[6n", 4, out), 4);
}
END_TEST

START_TEST(what_is_missing_ends_a_sequence)
{
	struct replay r = { .until = 100 };
	char out[16 + REPLAY_HOLD_MAX];

	ck_assert_uint_eq(replay_pass(&r, 0, "a\033[6", 4, out), 1);
	ck_assert_uint_eq(replay_pass(&r, 50, "n\033[5", 4, out), 4);
	ck_assert_mem_eq(out, "\033[6n", 4);
	ck_assert_uint_eq(replay_pass(&r, 54, "n", 1, out), 0);
}
END_TEST

CHECK_MAIN("cli_replay", questions_are_left_out, all_else_is_as_it_was,
	   sequence_that_is_broken_off_hides_no_question,
	   string_that_is_long_passes_and_ends,
	   what_is_not_of_the_past_is_passed_raw,
	   what_is_missing_ends_a_sequence)
