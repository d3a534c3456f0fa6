/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/value.h - values of options that several verbs take */
#ifndef HUTCH_CLI_VALUE_H
#define HUTCH_CLI_VALUE_H

#include "host/cli/base.h"
#include "host/lib/hutch.h"

/* All: @what is the option's name, @word NULL leaves *@ret as it is. */

/** value_ms() - A duration that fits an int. Return: 0, -EINVAL, -ERANGE */
MUST_CHECK int value_ms(const char *what, const char *word, int *ret,
			struct hutch_err *e);

/** value_size() - A size; 512m as Docker's people write it is fine too */
MUST_CHECK int value_size(const char *what, const char *word, uint64_t *ret,
			  struct hutch_err *e);

/** value_uint() - A number from @min to @max */
MUST_CHECK int value_uint(const char *what, const char *word, unsigned int min,
			  unsigned int max, unsigned int *ret,
			  struct hutch_err *e);

/**
 * value_choice() - One of a few words
 * @choices:	NULL-terminated
 * @ret:	Its place among them
 *
 * Return: 0, -EINVAL
 */
MUST_CHECK int value_choice(const char *what, const char *word,
			    const char *const *choices, unsigned int *ret,
			    struct hutch_err *e);

/** value_refuse() - -EINVAL and a sentence that quotes @word: "%s: '%s' %s" */
int value_refuse(struct hutch_err *e, const char *what, const char *word,
		 const char *why);

#endif
