/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/env.h - the environment that --env and --env-file describe */
#ifndef HUTCH_CLI_ENV_H
#define HUTCH_CLI_ENV_H

#include "host/cli/base.h"
#include "host/lib/hutch.h"

#define ENV_FILE_MAX (1u << 20) /* bytes of an --env-file */

/**
 * struct env - A list of "NAME=VALUE" being gathered
 * @v:		Ends in NULL, malloc()ed as its strings are; NULL when empty
 */
struct env {
	char **v;
	size_t n;
};

/** env_done() - Free it */
void env_done(struct env *env);

/**
 * env_add() - Add "K=V", or "K" with the value it has here
 *
 * A "K" that is not set here is left out, as Docker does.
 *
 * Return: 0; -EINVAL; -E2BIG; -ENOMEM
 */
MUST_CHECK int env_add(struct env *env, const char *word, struct hutch_err *e);

/**
 * env_add_file() - Add each line of a file, in Docker's format
 *
 * Empty lines and those that start with # are skipped; nothing is unquoted.
 *
 * Return: as env_add(), or -errno of reading; -EFBIG
 */
MUST_CHECK int env_add_file(struct env *env, const char *path,
			    struct hutch_err *e);

#endif
