/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_links.h - files of a tree that have several names, numbered */
#ifndef HUTCH_COMMON_TREE_LINKS_H
#define HUTCH_COMMON_TREE_LINKS_H

#include <sys/types.h>

#include "common/wire_file.h"

struct tree_link;

/**
 * struct tree_links - A hash table; zeroed is empty
 * @room:	Slots, a power of two
 */
struct tree_links {
	struct tree_link *slot;
	uint32_t room;
	uint32_t n;
};

/**
 * tree_links_number() - The number of a file, 1 for the first
 *
 * Return: 1 if it had one; 0 if it has a new one; -ENOMEM; -EMLINK if there
 *         are WIRE_TREE_LINKS_MAX
 */
MUST_CHECK int tree_links_number(struct tree_links *t, dev_t dev, ino_t ino,
				 uint32_t *ret);

void tree_links_done(struct tree_links *t);

/**
 * struct tree_names - What each number's file is called, by the receiver
 * @name:	@n of them, path inside the tree, malloc()ed
 */
struct tree_names {
	char **name;
	uint32_t room;
	uint32_t n;
	size_t bytes;
};

/**
 * tree_names_add() - The file of the next number, which @number must be
 *
 * Return: 0; -EBADMSG; -ENOMEM; -EMLINK past TREE_LINK_BYTES_MAX
 */
MUST_CHECK int tree_names_add(struct tree_names *t, uint32_t number,
			      const char *path);

/** tree_names_find() - Path of a number, or NULL */
const char *tree_names_find(const struct tree_names *t, uint32_t number);

void tree_names_done(struct tree_names *t);

#endif
