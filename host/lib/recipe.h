/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/recipe.h - what an image is built from, as a person writes it
 *
 * docs/images.md has the format: a line a fact, "KEY VALUE", '#' begins a line
 * of comment.  The words of a recipe, and those of a command line that take
 * their place, become arguments of programs: each is checked here, so that none
 * can be taken for an option, a path or something that a shell reads.
 */
#ifndef HUTCH_HOST_LIB_RECIPE_H
#define HUTCH_HOST_LIB_RECIPE_H

#include <stdbool.h>

#include "common/err.h"

#define RECIPE_MAX          (64u << 10) /* bytes of the file */
#define RECIPE_SUITE_MAX    64
#define RECIPE_PACKAGE_MAX  200
#define RECIPE_PACKAGES_MAX 500
#define RECIPE_MIRROR_MAX   500
#define RECIPE_MIRRORS_MAX  16
#define RECIPE_WORDS_MAX    64 /* of env, of cmd */

/**
 * struct recipe - One, taken apart
 * @suite:	Of Debian
 * @packages:	Besides those that every Debian has
 * @env:	"NAME=VALUE"
 * @cmd:	What runs if nothing else is asked for
 *
 * Each list ends in NULL, or is NULL.
 */
struct recipe {
	const char *suite;
	const char *const *packages;
	const char *const *env;
	const char *const *cmd;
};

/** recipe_parse() - @text is changed. Return: 0, -EINVAL, -E2BIG, -ENOMEM */
MUST_CHECK int recipe_parse(char *text, struct recipe *ret, struct err *e);

/** recipe_read() - From a file, whose name is put in front of the sentence */
MUST_CHECK int recipe_read(const char *path, struct recipe *ret, struct err *e);

/** recipe_done() - Free what is in it */
void recipe_done(struct recipe *r);

/** recipe_set_suite() - Return: 0, or -EINVAL with a sentence */
MUST_CHECK int recipe_set_suite(struct recipe *r, const char *suite,
				struct err *e);

/**
 * recipe_add_packages() - One or more, with ',' or blanks between
 *
 * NAME[:ARCH][=VERSION], as Debian's policy has them.
 *
 * Return: 0, or -EINVAL, -E2BIG with a sentence
 */
MUST_CHECK int recipe_add_packages(struct recipe *r, const char *list,
				   struct err *e);

/** recipe_mirror_ok() - "http://...", "https://...", "file:///...", or a line
 *  "deb ..." of sources.list: printable. Return: 0 or -EINVAL with a sentence
 */
MUST_CHECK int recipe_mirror_ok(const char *mirror, struct err *e);

#endif
