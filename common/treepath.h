/* SPDX-License-Identifier: Apache-2.0 */
/* common/treepath.h - where in a tree we are, for sentences and for links */
#ifndef HUTCH_COMMON_TREEPATH_H
#define HUTCH_COMMON_TREEPATH_H

#include "common/wire_file.h"

#define TREEPATH_MAX \
	(WIRE_PATH_MAX + (WIRE_TREE_DEPTH_MAX + 1u) * (WIRE_NAME_MAX + 1u) + 1u)
#define TREEPATH_SHOW_MAX 160 /* bytes of it in a sentence */

/**
 * struct treepath - A path that grows and shrinks by components
 * @base:	Bytes of it that are the tree's own root
 */
struct treepath {
	size_t base;
	size_t len;
	char text[TREEPATH_MAX];
};

/** treepath_init() - Begin with the root, a path of at most WIRE_PATH_MAX */
void treepath_init(struct treepath *p, const char *root);

/** treepath_push() - One component more, which fits if the depth is bounded */
void treepath_push(struct treepath *p, const char *name);

/** treepath_pop() - One component less; the root stays */
void treepath_pop(struct treepath *p);

/** treepath_inside() - What it is below the root; "" for that itself */
const char *treepath_inside(const struct treepath *p);

/** treepath_show() - Escaped, its end if it is long. Return: @buf */
const char *treepath_show(const struct treepath *p,
			  char buf[TREEPATH_SHOW_MAX]);

#endif
