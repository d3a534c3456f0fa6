/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_xattr.h - the extended attributes that go with a file */
#ifndef HUTCH_COMMON_TREE_XATTR_H
#define HUTCH_COMMON_TREE_XATTR_H

#include <stdbool.h>

#include "common/wire_file.h"

/* Names of a file's attributes, all together; Linux's own limit. */
#define TREE_XATTR_NAMES_MAX 65536u

/**
 * struct tree_xattr - One after the other; begin with a zeroed one
 * @names:	Freed when there are no more
 * @name:	Borrowed until the next call
 * @len:	Of its value
 */
struct tree_xattr {
	char *names;
	size_t names_len;
	size_t at;
	const char *name;
	size_t len;
};

/**
 * tree_xattr_next() - Read the next one that is copied
 * @value:	Gets @x->len bytes
 *
 * Those are user.*, capabilities and ACLs.  What cannot be read is not there.
 *
 * Return: whether there was one
 */
bool tree_xattr_next(struct tree_xattr *x, int fd, void *value, size_t cap);

/** tree_xattr_is_acl() - Whether it gives rights that are not in the mode */
bool tree_xattr_is_acl(const char *name);

/** tree_xattr_ok() - Whether an attribute of this name is one of those */
bool tree_xattr_ok(const char *name);

/** tree_xattr_done() - Stop before the end */
void tree_xattr_done(struct tree_xattr *x);

#endif
