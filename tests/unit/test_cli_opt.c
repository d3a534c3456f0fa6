/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_opt.c - host/cli/opt.c */
#include <errno.h>
#include <string.h>

#include "host/cli/opt.h"
#include "tests/lib/check_main.h"

#define LAST (2 * (size_t)OPT_LIST_MAX)

struct opts {
	bool json;
	bool tty;
	bool in;
	const char *memory;
	struct opt_list env;
};

static const struct opt table[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct opts, json), NULL, "j" },
	{ "tty", 't', OPT_FLAG, offsetof(struct opts, tty), NULL, "t" },
	{ "interactive", 'i', OPT_FLAG, offsetof(struct opts, in), NULL, "i" },
	{ "memory", 'm', OPT_STR, offsetof(struct opts, memory), "SIZE", "m" },
	{ "env", 'e', OPT_LIST, offsetof(struct opts, env), "K=V", "e" },
	OPT_END,
};

static const struct opt_rules anywhere = { .table = table };
static const struct opt_rules like_run = { .table = table, .command = true };
static const struct opt_rules like_exec = { .table = table,
					    .command = true,
					    .n_words = 1 };

static void done(struct opts *o, struct opt_words *w)
{
	opt_list_done(&o->env);
	opt_words_done(w);
}

START_TEST(values_in_all_spellings)
{
	static const char *const spelling[][3] = {
		{ "--memory", "2G", NULL }, { "--memory=2G", NULL },
		{ "-m", "2G", NULL },       { "-m2G", NULL },
		{ "-m=2G", NULL },          { "-im2G", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(spelling); i++) {
		struct opts o = { 0 };
		struct opt_words w;

		ck_assert_int_eq(opt_parse(&anywhere, spelling[i], &o, &w), 0);
		ck_assert_str_eq(o.memory, "2G");
		ck_assert_uint_eq(w.n + w.n_rest, 0);
		done(&o, &w);
	}
}
END_TEST

START_TEST(value_may_look_like_an_option)
{
	static const char *const words[] = { "-e", "--json", "--env=", NULL };
	struct opts o = { 0 };
	struct opt_words w;

	ck_assert_int_eq(opt_parse(&anywhere, words, &o, &w), 0);
	ck_assert_uint_eq(o.env.n, 2);
	ck_assert_str_eq(o.env.v[0], "--json");
	ck_assert_str_eq(o.env.v[1], "");
	ck_assert(!o.json);
	done(&o, &w);
}
END_TEST

START_TEST(flags_in_one_word_and_switched_off)
{
	static const char *const words[] = { "-it", "--tty=false", NULL };
	struct opts o = { 0 };
	struct opt_words w;

	ck_assert_int_eq(opt_parse(&anywhere, words, &o, &w), 0);
	ck_assert(o.in);
	ck_assert(!o.tty);
	done(&o, &w);
}
END_TEST

START_TEST(command_keeps_its_own_options)
{
	static const char *const words[] = { "-t", "web", "-i", "ls",
					     "-m", "--",  NULL };
	struct opts o = { 0 };
	struct opt_words w;

	ck_assert_int_eq(opt_parse(&like_exec, words, &o, &w), 0);
	ck_assert(o.tty && o.in);
	ck_assert_ptr_null(o.memory);
	ck_assert_uint_eq(w.n, 1);
	ck_assert_str_eq(w.word[0], "web");
	ck_assert(!w.dashes);
	ck_assert_uint_eq(w.n_rest, 3);
	ck_assert_str_eq(w.rest[0], "ls");
	ck_assert_str_eq(w.rest[2], "--");
	ck_assert_ptr_null(w.rest[3]);
	done(&o, &w);
}
END_TEST

START_TEST(dashes_start_the_command)
{
	static const char *const words[] = {
		"web", "--", "-t", "--", "x", NULL
	};
	struct opts o = { 0 };
	struct opt_words w;

	ck_assert_int_eq(opt_parse(&like_exec, words, &o, &w), 0);
	ck_assert(!o.tty);
	ck_assert(w.dashes);
	ck_assert_uint_eq(w.n_rest, 3);
	ck_assert_str_eq(w.rest[0], "-t");
	ck_assert_str_eq(w.rest[1], "--");
	done(&o, &w);
}
END_TEST

START_TEST(word_of_run_is_not_behind_dashes)
{
	static const char *const words[] = { "-i", "sh", "--", "-c", NULL };
	struct opts o = { 0 };
	struct opt_words w;

	ck_assert_int_eq(opt_parse(&like_run, words, &o, &w), 0);
	ck_assert(!w.dashes);
	ck_assert_uint_eq(w.n, 0);
	ck_assert_uint_eq(w.n_rest, 3);
	ck_assert_str_eq(w.rest[0], "sh");
	done(&o, &w);
}
END_TEST

START_TEST(words_and_options_mix)
{
	static const char *const words[] = { "a",  "--json", "-",
					     "--", "-t",     NULL };
	struct opts o = { 0 };
	struct opt_words w;

	ck_assert_int_eq(opt_parse(&anywhere, words, &o, &w), 0);
	ck_assert(o.json && !o.tty);
	ck_assert_uint_eq(w.n, 2);
	ck_assert_str_eq(w.word[1], "-");
	ck_assert_uint_eq(w.n_rest, 1);
	ck_assert_str_eq(w.rest[0], "-t");
	done(&o, &w);
}
END_TEST

START_TEST(refusals_say_what_and_suggest)
{
	static const struct {
		const char *word;
		const char *sentence;
		const char *next;
	} bad[] = {
		{ "--memroy=1G", "unknown option '--memroy': did you mean "
				 "'--memory'?" },
		{ "--mem", "unknown option '--mem': did you mean "
			   "'--memory'?" },
		{ "--zzzzzzzz", "unknown option '--zzzzzzzz': --help lists "
				"them" },
		{ "-x", "unknown option '-x': --help lists them" },
		{ "-ix", "unknown option '-x' in '-ix': --help lists them" },
		{ "--memory", "--memory needs a value: --memory SIZE" },
		{ "-m", "--memory needs a value: --memory SIZE" },
		{ "--memory",
		  "--memory needs a value, and '--' ends the options: "
		  "--memory SIZE",
		  "--" },
		{ "-im",
		  "--memory needs a value, and '--' ends the options: "
		  "--memory SIZE",
		  "--" },
		{ "--tty=maybe", "--tty takes no value: 'maybe'" },
		{ "--\033[31m", "unknown option '--\\e[31m': --help lists "
				"them" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct opts o = { 0 };
		const char *const words[] = { bad[i].word, bad[i].next, NULL };
		struct opt_words w;

		ck_assert_int_eq(opt_parse(&anywhere, words, &o, &w), -EINVAL);
		ck_assert_str_eq(w.why, bad[i].sentence);
		done(&o, &w);
	}
}
END_TEST

START_TEST(sentence_about_a_huge_word_fits)
{
	struct opts o = { 0 };
	struct opt_words w;
	char *word = malloc(1 << 20);
	const char *const words[] = { word, NULL };

	ck_assert_ptr_nonnull(word);
	memset(word, '-', 1 << 20);
	word[(1 << 20) - 1] = '\0';
	ck_assert_int_eq(opt_parse(&anywhere, words, &o, &w), -EINVAL);
	ck_assert_uint_lt(strlen(w.why), OPT_WHY_MAX);
	done(&o, &w);
	free(word);
}
END_TEST

START_TEST(list_has_a_limit)
{
	static const char *words[2 * OPT_LIST_MAX + 3];
	struct opts o = { 0 };
	struct opt_words w;

	for (size_t i = 0; i <= OPT_LIST_MAX; i++) {
		words[2 * i] = "-e";
		words[2 * i + 1] = "A=1";
	}
	words[LAST] = NULL;
	ck_assert_int_eq(opt_parse(&anywhere, words, &o, &w), 0);
	ck_assert_uint_eq(o.env.n, OPT_LIST_MAX);
	done(&o, &w);

	words[LAST] = "-e";
	ck_assert_int_eq(opt_parse(&anywhere, words, &o, &w), -EINVAL);
	ck_assert_str_eq(w.why, "--env is given more than 1024 times");
	done(&o, &w);
}
END_TEST

CHECK_MAIN("cli_opt", values_in_all_spellings, value_may_look_like_an_option,
	   flags_in_one_word_and_switched_off, command_keeps_its_own_options,
	   dashes_start_the_command, word_of_run_is_not_behind_dashes,
	   words_and_options_mix, refusals_say_what_and_suggest,
	   sentence_about_a_huge_word_fits, list_has_a_limit)
