/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/names.h - what is named on the command line, and what is not */
#ifndef HUTCH_CLI_NAMES_H
#define HUTCH_CLI_NAMES_H

#include "host/cli/cli.h"

/* What libhutch calls a VM's main process. */
#define NAMES_MAIN "main"

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

/**
 * names_main() - The id of a VM's main process, which may not run any more
 *
 * Return: 0 with *@ret set; -ENOENT if the VM has none; -errno
 */
MUST_CHECK int names_main(const struct cli *c, const char *vm, const char **ret,
			  struct hutch_err *e);

#endif
