/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/tree.h - a tree of files as frames, out of one machine and into one
 *
 * Guest and host use the same two halves.  Neither trusts what it is given:
 * the sender reads folders that others change meanwhile, the receiver is sent
 * entries by whoever may own the other side.  Both have one folder open a
 * level and go from each to the next by one component, never through a
 * symbolic link; so nothing outside of the tree is read or made.
 *
 * What both hold is bounded: a level each by WIRE_TREE_DEPTH_MAX, what is
 * known of files with several names by WIRE_TREE_LINKS_MAX and
 * TREE_LINK_BYTES_MAX, one frame of data.
 */
#ifndef HUTCH_COMMON_TREE_H
#define HUTCH_COMMON_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/wire_file.h"

/* Paths of files that have several names, remembered by the receiver. */
#define TREE_LINK_BYTES_MAX (64u << 20)

/* Read of a file that says it is empty, as those of /proc do. */
#define TREE_UNSIZED_MAX (16u << 20)

/* send: the root, if it is a symbolic link; receive: the place likewise */
#define TREE_FOLLOW  0x01u
#define TREE_ARCHIVE 0x02u /* owners, attributes */
#define TREE_ONE_FS  0x04u /* send: nothing that is mounted below the root */
#define TREE_SETUID  0x08u /* receive: with ARCHIVE, setuid, setgid, ACLs too */
#define TREE_DEVICES 0x10u /* receive: make them, if we may */
#define TREE_INSIDE  0x20u /* receive: into the folder, not beside its name */
#define TREE_FOLDER  0x40u /* receive: the root is to be a folder */
#define TREE_NO_LINK 0x80u /* receive: the root is to be no symbolic link */

/**
 * struct tree_sink - Where a sender's frames go
 * @frame:	Take a head and data behind it. Return: 0, or -errno with a
 *		sentence, which ends it
 * @note:	Something was left out because of errno @code; 0: a remark.
 *		Return: as @frame
 */
struct tree_sink {
	int (*frame)(void *ctx, const void *head, size_t head_len,
		     const void *data, size_t len, struct err *e);
	int (*note)(void *ctx, int code, const char *sentence, struct err *e);
	void *ctx;
};

/**
 * tree_send() - Send what is at @path
 * @path:	At most WIRE_PATH_MAX bytes
 * @flags:	TREE_*
 *
 * Files that vanish meanwhile are left out; those that may not be read, and
 * sockets, with a note.  Of a file no more is sent than it had when opened.
 *
 * Return: 0; -errno if the root cannot be read, the tree is too deep or has
 *         too many links, or as the sink says
 */
MUST_CHECK int tree_send(const char *path, unsigned int flags,
			 const struct tree_sink *sink, struct err *e);

/**
 * struct tree_place - Where a tree is to be
 * @path:	As a person writes it; at most WIRE_PATH_MAX bytes
 * @base:	Its name, if @path is a folder; may be ""
 * @flags:	TREE_*
 * @umask:	Without TREE_ARCHIVE, permissions that are not given
 */
struct tree_place {
	const char *path;
	const char *base;
	unsigned int flags;
	mode_t umask;
};

/** tree_note_fn - As tree_sink.note, of a receiver */
typedef int tree_note_fn(void *ctx, int code, const char *sentence,
			 struct err *e);

/** struct tree_in - A receiver */
struct tree_in;

/**
 * tree_in_new() - Make ready to receive
 * @place:	Borrowed for as long
 *
 * Where the tree goes is settled when its root comes (see docs/files.md).  What
 * an earlier root made there is no way out: without TREE_FOLLOW a symbolic link
 * is replaced or refused, but followed only if a slash is written behind it.
 *
 * Return: NULL if there is no memory
 */
struct tree_in *tree_in_new(const struct tree_place *place, tree_note_fn *note,
			    void *ctx);

/**
 * tree_in_frame() - Take in a frame
 *
 * Return: 0; -EBADMSG or -EPROTO if it cannot come here; -errno, with a
 *         sentence: what is there by then stays, but the file under way goes
 */
MUST_CHECK int tree_in_frame(struct tree_in *t, const struct wire_frame *f,
			     struct err *e);

/**
 * tree_open_parent() - Open the folder that @path is in
 * @name:	Its name there
 *
 * Return: a descriptor (O_PATH); -errno with a sentence; -EINVAL if @path has
 *         no name of its own, as / and ..
 */
MUST_CHECK int tree_open_parent(const char *path, char name[WIRE_NAME_MAX + 1],
				struct err *e);

/**
 * tree_real_path() - Where writing to @path would go
 * @path:	At most WIRE_PATH_MAX bytes; stat() has said that it may be
 *		followed: it is there, or ENOENT
 * @ret:	Its last part is no symbolic link; a slash at its end stays if there
 *		is nothing
 *
 * Return: 0 or -errno
 */
MUST_CHECK int tree_real_path(const char *path, char ret[PATH_MAX + 1]);

/** tree_is_slashed() - Whether @path ends in a slash, so that it means a folder */
bool tree_is_slashed(const char *path);

/** tree_in_whole() - Whether the root has come, and all that is in it */
bool tree_in_whole(const struct tree_in *t);

/** tree_in_free() - Drop the file under way; takes NULL */
void tree_in_free(struct tree_in *t);

static inline void tree_in_freep(struct tree_in **t)
{
	tree_in_free(*t);
}

#endif
