/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/names.h - one deed for each name on the command line */
#ifndef HUTCH_CLI_NAMES_H
#define HUTCH_CLI_NAMES_H

#include "host/cli/cli.h"

/** names_fn - The deed. Return: 0, or -errno with a sentence in @e */
typedef int names_fn(struct cli *c, const char *name, const void *arg,
		     struct hutch_err *e);

/**
 * names_each() - Do it for each name, going on after a failure
 * @first:	Place of the first name among the words
 * @arg:	Handed to @fn
 *
 * Prints each name for which it worked; with --json an array of objects, in
 * which "error" is null where it worked.
 *
 * Return: exit code: 0 if all worked
 */
int names_each(struct cli *c, const struct opt_words *w, size_t first,
	       names_fn *fn, const void *arg);

#endif
