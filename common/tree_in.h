/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_in.h - what the files of a tree's receiver share */
#ifndef HUTCH_COMMON_TREE_IN_H
#define HUTCH_COMMON_TREE_IN_H

#include <sys/resource.h>

#include "common/newfile.h"
#include "common/tree.h"
#include "common/tree_links.h"
#include "common/treepath.h"

/**
 * struct tree_meta - What an entry is to have when it is whole
 * @made:	It is ours: what was there keeps what it has
 * @owned:	It has the owner that was asked for
 */
struct tree_meta {
	bool made;
	bool owned;
	enum wire_file_kind kind;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	int64_t mtime_ns;
};

/** struct tree_level - A folder that we are in */
struct tree_level {
	int fd;
	struct tree_meta meta;
};

/**
 * struct tree_in - A receiver
 * @place:	Where to; settled when the root comes
 * @parent:	Folder of the root, if that is not the folder itself
 * @name:	Of the root in it
 * @limit:	Longest file that this process may write
 * @level:	Folders we are in, @n of them
 * @file:	A regular file under way, fd -1 if there is none
 * @end:	Bytes of it so far, holes too
 * @whole:	The root is complete
 * @xattr_missed: It has been told that the file system takes none
 */
struct tree_in {
	const struct tree_place *place;
	tree_note_fn *note;
	void *ctx;
	int parent;
	char name[WIRE_NAME_MAX + 1];
	uint64_t limit;
	struct tree_level level[WIRE_TREE_DEPTH_MAX];
	unsigned int n;
	struct newfile file;
	char file_name[WIRE_NAME_MAX + 1];
	struct tree_meta meta;
	uint64_t end;
	bool whole;
	bool xattr_missed;
	struct tree_names names;
	struct treepath path;
};

/**
 * tree_place_settle() - Find where the root goes
 * @dir:	Whether the root is a folder
 *
 * Sets @t->parent and @t->name; or, if the root goes into a folder as its
 * contents, that folder as level 0.
 *
 * Return: 1 in that case, 0 else; -errno with a sentence
 */
MUST_CHECK int tree_place_settle(struct tree_in *t, bool dir, struct err *e);

/** tree_in_fail() - -errno and a sentence that names where we are */
int tree_in_fail(const struct tree_in *t, int code, struct err *e);

/**
 * tree_in_own() - Its owner, of an open one of ours, if that is to be kept
 *
 * Before anything else: a change of owner takes setuid and capabilities away.
 *
 * Return: 0; -errno with a sentence
 */
MUST_CHECK int tree_in_own(struct tree_in *t, int fd, struct tree_meta *meta,
			   struct err *e);

/**
 * tree_in_finish() - Mode and time of an open one of ours
 *
 * Return: 0; -errno with a sentence
 */
MUST_CHECK int tree_in_finish(struct tree_in *t, int fd,
			      const struct tree_meta *meta, struct err *e);

/** tree_in_make() - Make what is neither file nor folder. 0; -errno, sentence */
MUST_CHECK int tree_in_make(struct tree_in *t, int dirfd, const char *name,
			    const struct msg_entry *m, struct err *e);

/** tree_in_xattr() - Set an attribute of what is under way */
MUST_CHECK int tree_in_xattr(struct tree_in *t, int fd,
			     const struct msg_xattr *m, struct err *e);

#endif
