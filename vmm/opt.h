/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/opt.h - values of options that are lists of words: "tag=T,dir=D,ro" */
#ifndef HUTCH_VMM_OPT_H
#define HUTCH_VMM_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define OPT_QUOTE_MAX 64
#define OPT_WORD_MAX  64 /* of all values but a path */

/**
 * struct opt_value - What stands behind '='
 * @s:		Not terminated, @len bytes; NULL if there is no '='
 */
struct opt_value {
	const char *s;
	size_t len;
};

/**
 * struct opt_key - A word
 * @flag:	It takes no value
 * @take:	Stores the value. Return: 0 or -errno with a sentence
 */
struct opt_key {
	const char *name;
	bool flag;
	int (*take)(void *ctx, const struct opt_value *v, struct err *e);
};

/** struct opt_keys - Of the option @what, up to 32 of them */
struct opt_keys {
	const char *what;
	const struct opt_key *key;
	size_t n;
};

/**
 * opt_parse() - Take each word up to a comma, none of them twice
 * @ctx:	For @take
 * @seen:	A bit for each key that was given, for opt_seen()
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int opt_parse(const struct opt_keys *keys, const char *text,
			 void *ctx, unsigned int *seen, struct err *e);

/** opt_seen() - Whether the key @name, which there is, was given */
bool opt_seen(const struct opt_keys *keys, unsigned int seen, const char *name);

bool opt_is(const struct opt_value *v, const char *word);

/** opt_quote() - As log_escape(). Return: @q */
const char *opt_quote(char q[OPT_QUOTE_MAX], const struct opt_value *v);

/** opt_word() - As a string, cut if it is no word anyhow */
void opt_word(char word[OPT_WORD_MAX], const struct opt_value *v);

/** opt_uint() - As words_uint() */
MUST_CHECK int opt_uint(const char *what, const struct opt_value *v,
			uint64_t min, uint64_t max, uint64_t *ret,
			struct err *e);

#endif
