/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/tree.h - the new root, in the mapped layout, from hostile names
 *
 * How it works.  In the mapped layout (common/mapped.h) there are folders and
 * regular files only, so no name that an archive gives can lead through a link:
 * the kernel is told to follow none (openat2), and finds none.  A name is taken
 * apart first: one that is absolute, has "..", or is too deep or too long, is
 * refused, and so is one that goes through something that is no folder.
 */
#ifndef HUTCH_HOST_IMAGE_TREE_H
#define HUTCH_HOST_IMAGE_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "common/err.h"
#include "common/mapped.h"

#define TREE_XATTR_MAX 65536u /* bytes of a value, the kernel's limit */
#define TREE_QUOTE_MAX 120    /* bytes of a name in a sentence */

/**
 * struct tree - A root being made
 * @fd:		Of its folder; borrowed
 * @parent_fd:	The folder last worked in; -1: none
 * @parent:	Its name, without a final '/'; "" is the root
 * @entries:	Made, parents too that no archive has named
 * @max_entries: More are refused
 */
struct tree {
	int fd;
	int parent_fd;
	char parent[PATH_MAX];
	uint64_t entries;
	uint64_t max_entries;
};

/**
 * struct tree_path - A name, checked
 * @text:	Without "./", "//" and a final '/'; "" is the root
 * @base:	The last part, in @text
 */
struct tree_path {
	char text[PATH_MAX];
	const char *base;
};

/** tree_init() - Begin in the folder @fd */
void tree_init(struct tree *t, int fd, uint64_t max_entries);

/** tree_done() - Close what it holds */
void tree_done(struct tree *t);

/**
 * tree_path() - Check a name
 *
 * Return: 0; -EPERM if it is hostile, -E2BIG if it is too deep or too long,
 *         with a sentence that has the name
 */
MUST_CHECK int tree_path(const char *name, struct tree_path *ret,
			 struct err *e);

/** tree_quote() - @name as sentences have it */
const char *tree_quote(const char *name, char buf[TREE_QUOTE_MAX]);

/**
 * tree_folder() - Make a folder, or take the one that is there
 *
 * Return: a descriptor, or -errno with a sentence
 */
MUST_CHECK int tree_folder(struct tree *t, const struct tree_path *p,
			   struct err *e);

/**
 * tree_file() - Make a new file, in place of whatever is there
 *
 * Return: a descriptor, or -errno with a sentence
 */
MUST_CHECK int tree_file(struct tree *t, const struct tree_path *p,
			 struct err *e);

/** tree_link() - Make @p another name of @target, a file of the tree */
MUST_CHECK int tree_link(struct tree *t, const struct tree_path *p,
			 const struct tree_path *target, struct err *e);

/** tree_remove() - Remove it and all in it; it need not be there */
MUST_CHECK int tree_remove(struct tree *t, const struct tree_path *p,
			   struct err *e);

/** tree_empty() - Remove all in a folder, which need not be there */
MUST_CHECK int tree_empty(struct tree *t, const struct tree_path *p,
			  struct err *e);

/** tree_stat() - Say whose the open object is, and what */
MUST_CHECK int tree_stat(int fd, const struct mapped_stat *st, const char *name,
			 struct err *e);

/**
 * tree_xattr() - Give the open object an attribute of the guest
 *
 * One of a namespace that Linux does not have is left out.
 *
 * Return: 0; -EPERM if it is one of hutch's own; -E2BIG; -errno
 */
MUST_CHECK int tree_xattr(int fd, const char *attr, const void *value,
			  size_t len, const char *name, struct err *e);

/** tree_time() - Set the modification time of an open object */
MUST_CHECK int tree_time(int fd, const struct timespec *mtime, const char *name,
			 struct err *e);

/** tree_folder_time() - The same of a folder by name, if it is still one */
MUST_CHECK int tree_folder_time(struct tree *t, const char *text,
				const struct timespec *mtime, struct err *e);

#endif
