/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/entry.h - a name in a folder and what it stands for */
#ifndef HUTCH_VMM_FS_ENTRY_H
#define HUTCH_VMM_FS_ENTRY_H

#include "vmm/fs/attr.h"
#include "vmm/fs/req.h"

/**
 * fs_entry_put() - Look up a name and append it to the answer
 * @dir:	Folder, which must be one of the guest's
 *
 * The guest then knows the inode once more.  Return: 0 or -errno
 */
MUST_CHECK int fs_entry_put(struct fs_req *r, struct fs_inode *dir,
			    const char *name);

/**
 * fs_entry_find() - Look up a name
 * @ret:	Filled in: then the guest knows the inode once more
 *
 * Return: 0, -ENOENT, or another negative errno
 */
MUST_CHECK int fs_entry_find(struct fs_server *s, struct fs_inode *dir,
			     const char *name, struct fuse_entry_out *ret);

/**
 * fs_entry_list() - The same for one of many, in a folder that is open
 * @dir_fd:	It, just walked to
 *
 * Quicker, as nothing is opened: the name is looked at twice, and may stand for
 * another file the second time. Then the guest is told the attributes of that,
 * and of an inode that is stale when it is used.
 */
MUST_CHECK int fs_entry_list(struct fs_server *s, struct fs_inode *dir,
			     int dir_fd, const char *name,
			     struct fuse_entry_out *ret);

/**
 * fs_entry_know() - The guest is told of an object that is open
 * @dir:	Where it is, NULL if it has no name
 * @fd:		Its descriptor; stays the caller's
 * @st:		Its attributes on the host, of which the type counts
 * @ret:	The inode, which refers to once more for the guest's lookup
 */
MUST_CHECK int fs_entry_know(struct fs_server *s, struct fs_inode *dir,
			     const char *name, int fd, mode_t type,
			     struct fs_inode **ret);

/** fs_entry_fill() - What the guest is told of an inode */
void fs_entry_fill(const struct fs_server *s, const struct fs_inode *ino,
		   const struct statx *st, struct fuse_entry_out *ret);

/** fs_entry_unknow() - Undo fs_entry_know(), as the guest was not told */
void fs_entry_unknow(struct fs_server *s, struct fs_inode *ino);

/**
 * fs_entry_unmake() - Remove a file that was made, and cannot be what it should
 * @dir_fd:	The folder
 * @name:	Its name there; nothing happens if that stands for another file,
 *		which the host put there
 * @made:	What it is
 *
 * Return: whether it is gone
 */
bool fs_entry_unmake(const struct fs_server *s, int dir_fd, const char *name,
		     const struct fs_ident *made);

#endif
