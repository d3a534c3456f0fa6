/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/walk.h - from the root to a file, and never out of the folder
 *
 * How it works.  Each walk is one openat2() from the root, by the names that
 * are known, that follows no symlink, crosses into no other mount and does not
 * leave the folder; what it opens must have the identity that was expected.  A
 * folder's descriptor from an earlier walk is never a place to begin: the host
 * may have moved that folder out of the tree since.  Descriptors of inodes
 * serve what concerns that one object, its attributes for instance.
 *
 * So a name that the host has renamed gives ESTALE, upon which Linux looks up
 * anew, from the root.
 *
 * Only regular files and folders are ever opened; all others are named by
 * O_PATH descriptors, which do nothing to a FIFO or a device.  What is shared
 * read-only is opened with O_NOATIME where the host allows it.
 */
#ifndef HUTCH_VMM_FS_WALK_H
#define HUTCH_VMM_FS_WALK_H

#include <limits.h>
#include <sys/stat.h>

#include "vmm/fs/handle.h"
#include "vmm/fs/inode.h"

/* For fs_get_open(): opened for whatever, as attributes do not care. */
#define FS_ANY_ACCESS (-1)

/* Bytes of a path from the root that we walk; deeper is ENAMETOOLONG. */
#define FS_PATH_MAX 65536u

/**
 * struct fs_path - A path from the root
 * @p:		Its beginning, NUL-terminated
 * @len:	Bytes, without the NUL
 * @heap:	Longer than @room, else NULL
 * @room:	Where it usually is
 */
struct fs_path {
	char *p;
	size_t len;
	char *heap;
	char room[1024];
};

/**
 * fs_path_of() - Path of an inode
 * @which:	Name of its @ino->names to use, 0 for the newest
 * @leaf:	A name in it to append, or NULL
 *
 * Context: takes the lock.
 *
 * Return: 0; -ESTALE if there is no such name; -ENAMETOOLONG; -ENOMEM
 */
MUST_CHECK int fs_path_of(struct fs_server *s, const struct fs_inode *ino,
			  unsigned int which, const char *leaf,
			  struct fs_path *ret);

void fs_path_done(struct fs_path *p);

/**
 * fs_open_path() - openat2() from the root
 * @flags:	Of open(); O_TRUNC is not for us, O_CREAT needs O_EXCL
 * @mode:	For what is created
 *
 * Makes room by closing idle descriptors where there is none.
 *
 * Return: a descriptor; -ENFILE if there are too many; or -errno
 */
MUST_CHECK int fs_open_path(struct fs_server *s, const struct fs_path *path,
			    int flags, mode_t mode);

/**
 * fs_open_in() - The same by one name, in a folder that was just walked to
 *
 * Return: as above
 */
MUST_CHECK int fs_open_in(struct fs_server *s, int dir_fd, const char *name,
			  int flags);

/**
 * fs_walk() - Open an inode, by any of its names
 * @flags:	Of open(), as above; unless O_PATH it is a file or a folder
 *
 * Return: a descriptor of that very inode; -ESTALE if it is at none of the
 *         names that are known; or -errno
 */
MUST_CHECK int fs_walk(struct fs_server *s, const struct fs_inode *ino,
		       int flags);

/**
 * fs_reopen() - Open a regular file once more, by a descriptor of it
 * @fd:		Which was seen to be one
 *
 * Return: a descriptor; -ENOENT where there is no /proc; or -errno
 */
MUST_CHECK int fs_reopen(const struct fs_server *s, int fd, int flags);

/**
 * fs_walk_dir() - A folder to make or remove names in
 * @own:	What the caller has to close, -1 before; the root is open always
 *
 * Return: an O_PATH descriptor; -ENOTDIR; -EROFS for the made-up folder; or as
 *         fs_walk()
 */
MUST_CHECK int fs_walk_dir(struct fs_server *s, const struct fs_inode *ino,
			   int *own);

/**
 * struct fs_at - An inode and a descriptor of it
 * @ino:	The inode, which this refers to; NULL if there is none
 * @h:		The handle that the descriptor is from, or NULL
 * @fd:		The descriptor, or -1 for the made-up folder
 * @shared:	It is @ino->fd
 */
struct fs_at {
	struct fs_inode *ino;
	struct fs_handle *h;
	int fd;
	bool shared;
};

/**
 * fs_find() - The inode that a request names
 *
 * Return: 0, fs_drop() is due then; -ESTALE if the guest does not know it
 */
MUST_CHECK int fs_find(struct fs_server *s, uint64_t nodeid,
		       struct fs_inode **ret);
void fs_drop(struct fs_server *s, struct fs_inode *ino);

/**
 * fs_reach() - A descriptor for attributes of @ino
 * @at:		Refers to nothing
 *
 * It may be O_PATH, but not in a mapped tree: there it is one to read from if
 * it is a file's or folder's.  The reference to @ino goes over to @at, even if
 * it fails.
 *
 * Return: 0, or as fs_walk(); fs_put() is due in any case
 */
MUST_CHECK int fs_reach(struct fs_server *s, struct fs_inode *ino,
			struct fs_at *at);

/** fs_get() - fs_find() and fs_reach(); fs_put() is due in any case */
MUST_CHECK int fs_get(struct fs_server *s, uint64_t nodeid, struct fs_at *at);
void fs_put(struct fs_server *s, struct fs_at *at);

/**
 * fs_get_there() - As fs_get(), for what changes the file or names it anew
 * @open:	One that the guest has open, or whose last name it removed, will
 *		do where it is; else only one without a name
 *
 * All others are walked to now, so that what the host has moved out of the
 * folder is -ESTALE, though a descriptor of it may be open.
 */
MUST_CHECK int fs_get_there(struct fs_server *s, uint64_t nodeid, bool open,
			    struct fs_at *at);

/**
 * fs_borrow() - A descriptor of @at->ino that is no O_PATH one, if there is one
 * @flags:	O_RDONLY, O_WRONLY or O_RDWR: what it has to be good for; or
 *		FS_ANY_ACCESS
 *
 * Return: whether there was; fs_put() gives it back
 */
bool fs_borrow(struct fs_server *s, int flags, struct fs_at *at);

/**
 * fs_get_open() - A descriptor that is no O_PATH one
 * @flags:	O_RDONLY, O_WRONLY, or FS_ANY_ACCESS
 *
 * As fs_get(), but for files and folders only, others are -EOPNOTSUPP.
 */
MUST_CHECK int fs_get_open(struct fs_server *s, uint64_t nodeid, int flags,
			   struct fs_at *at);

#endif
