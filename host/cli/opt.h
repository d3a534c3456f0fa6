/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/cli/opt.h - options by table: parsing, suggestions, the help text
 *
 * Docker's habits: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, -n=VALUE,
 * flags in one word (-it), --flag=false. A command's own options must not be
 * taken for ours, so a verb that runs one says how many words of its own come
 * before it: none for run, one for exec and start (NAME). The word after these
 * starts the command and ends the options, as "--" always does. With the other
 * verbs options may stand anywhere.
 */
#ifndef HUTCH_CLI_OPT_H
#define HUTCH_CLI_OPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "host/cli/base.h"

/* Times one option may be repeated; the agent's own limit is near this. */
#define OPT_LIST_MAX 1024
#define OPT_WHY_MAX  240
/* For a verb that takes any number of words. */
#define OPT_WORDS_ANY SIZE_MAX

/** enum opt_kind - What an option does to the field it names */
enum opt_kind {
	OPT_FLAG,  /* bool */
	OPT_STR,   /* const char *, the last one wins */
	OPT_LIST,  /* struct opt_list */
	OPT_NAMED, /* likewise, of pairs: the option's name, its value */
	OPT_NONE,  /* ends a table */
};

/**
 * struct opt - One line of a table
 * @name:	Without the dashes
 * @letter:	Short form, or 0
 * @kind:	What @off names
 * @off:	Of the field in the verb's struct
 * @arg:	What the value is called in the help; NULL for a flag
 * @help:	One line; NULL for what is taken and not told of
 */
struct opt {
	const char *name;
	char letter;
	enum opt_kind kind;
	size_t off;
	const char *arg;
	const char *help;
};

#define OPT_END                  \
	{                        \
		.kind = OPT_NONE \
	}

/**
 * struct opt_list - Values of a repeatable option, in order, borrowed
 * @v:		Ends in NULL, or is NULL
 */
struct opt_list {
	const char **v;
	size_t n;
};

/**
 * struct opt_rules - How a verb wants its words read
 * @table:	Its options
 * @command:	Whether a command may follow
 * @n_words:	Words of its own in front of the command
 */
struct opt_rules {
	const struct opt *table;
	bool command;
	unsigned int n_words;
};

/**
 * struct opt_words - What was no option
 * @word:	The verb's own words, borrowed
 * @n:		Of @word
 * @rest:	The command, or what follows "--": argv's own end
 * @n_rest:	Of @rest
 * @dashes:	Whether "--" stood in front of @rest
 * @why:	The sentence, if opt_parse() refused
 */
struct opt_words {
	const char **word;
	size_t n;
	const char *const *rest;
	size_t n_rest;
	bool dashes;
	char why[OPT_WHY_MAX];
};

/**
 * opt_parse() - Read a verb's words
 * @argv:	What follows the verb, NULL-terminated
 * @into:	The struct that the table's offsets point into
 * @w:		Set whole; opt_words_done() frees it, after a refusal too
 *
 * Return: 0; -EINVAL with @w->why set; -ENOMEM
 */
MUST_CHECK int opt_parse(const struct opt_rules *rules, const char *const *argv,
			 void *into, struct opt_words *w);

/** opt_word() - The word at place @i, in front of "--" or behind; or NULL */
const char *opt_word(const struct opt_words *w, size_t i);

/** opt_words_done() - Free the list of words, not the words */
void opt_words_done(struct opt_words *w);

/** opt_list_done() - Free the list of values, not the values */
void opt_list_done(struct opt_list *l);

/** opt_print_help() - A line or two for each option */
void opt_print_help(const struct opt *table, FILE *out);

#endif
