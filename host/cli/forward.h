/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/forward.h - [HOST:]PORT:GUEST_PORT, as Docker's people write it */
#ifndef HUTCH_CLI_FORWARD_H
#define HUTCH_CLI_FORWARD_H

#include <stdbool.h>

#include "host/cli/base.h"
#include "host/cli/jsonw.h"
#include "host/lib/hutch.h"

/* "[ADDRESS]:PORT" and a NUL. */
#define FORWARD_PLACE_MAX (HUTCH_ADDRESS_MAX + 10)

/** struct forward_one - What was read, and the address in it */
struct forward_one {
	struct hutch_forward f;
	char host[HUTCH_ADDRESS_MAX + 1];
};

/**
 * struct cli_forwards - What was read of all --publish
 * @list:	For hutch_start(); ends in NULL, or is NULL
 */
struct cli_forwards {
	const struct hutch_forward **list;
	struct forward_one *one;
	size_t n;
};

/**
 * forward_read() - "[HOST:]PORT:GUEST_PORT"
 * @what:	The option, for the sentence
 * @place:	Only "[HOST:]PORT"
 *
 * Return: 0; -EINVAL
 */
MUST_CHECK int forward_read(const char *what, const char *word, bool place,
			    struct forward_one *ret, struct hutch_err *e);

/** forwards_read() - All of them. Return: 0; -EINVAL; -ENOMEM */
MUST_CHECK int forwards_read(struct cli_forwards *fs, const char *const *words,
			     size_t n, struct hutch_err *e);

/** forwards_done() - Free it */
void forwards_done(struct cli_forwards *fs);

/** forward_place() - "127.0.0.1:80", "[::1]:80". Return: @buf */
const char *forward_place(const struct hutch_forward *f,
			  char buf[FORWARD_PLACE_MAX]);

/** forward_json() - As an object */
void forward_json(struct jsonw *j, const struct hutch_forward *f);

#endif
