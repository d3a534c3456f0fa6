/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/handle.h - what the guest has open
 *
 * A handle is an inode, the flags it was opened with and a descriptor. As long
 * as there is one, the inode can be reached through it, whatever the host does
 * to its name.
 */
#ifndef HUTCH_VMM_FS_HANDLE_H
#define HUTCH_VMM_FS_HANDLE_H

#include <pthread.h>

#include "vmm/fs/inode.h"

/* Bytes of a folder read at once. */
#define FS_DIR_BUF 8192u

/** struct fs_dirent - An entry as getdents64() has it */
struct fs_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/**
 * struct fs_dir - Where a reader of a folder is
 * @lock:	For the rest and for the descriptor's position. Only a guest
 *		that reads one handle twice at once ever waits for it
 * @next:	Position that the guest will ask for if it goes on
 * @at:		Bytes of @buf that it has been given
 * @len:	Bytes in @buf
 * @buf:	Entries as the host has them, FS_DIR_BUF bytes that count as what
 *		the guest knows; NULL until it is read
 */
struct fs_dir {
	pthread_mutex_t lock;
	int64_t next;
	size_t at;
	size_t len;
	uint8_t *buf;
};

/**
 * struct fs_handle - An open file or folder
 * @id:		The guest's number for it
 * @refs:	One of the table, and of requests; the server's lock
 * @ino:	The inode, which this refers to
 * @link:	In @ino->handles, until the last reference goes
 * @fd:		Descriptor, -1 for the made-up folder; never O_PATH
 * @flags:	As opened on the host: of use is O_ACCMODE
 * @dir:	Of a folder, else NULL
 */
struct fs_handle {
	uint64_t id;
	unsigned int refs;
	struct fs_inode *ino;
	struct list link;
	int fd;
	int flags;
	struct fs_dir *dir;
};

/**
 * fs_handle_add() - The guest has opened something
 * @fd:		-1, or the handle's from now on, also if this fails
 *
 * Return: 0; -ENFILE if too many are open; -ENOMEM
 */
MUST_CHECK int fs_handle_add(struct fs_server *s, struct fs_inode *ino, int fd,
			     int flags, uint64_t *ret);

/**
 * fs_handle_get() - The handle that a request names
 * @nodeid:	Whose it has to be
 * @dir:	It has to be a folder's, or else a file's
 *
 * Return: 0, fs_handle_put() is due then; -EBADF if there is no such handle
 */
MUST_CHECK int fs_handle_get(struct fs_server *s, uint64_t id, uint64_t nodeid,
			     bool dir, struct fs_handle **ret);
void fs_handle_put(struct fs_server *s, struct fs_handle *h);

/** fs_handle_close() - The guest has closed it. Return: as for get */
MUST_CHECK int fs_handle_close(struct fs_server *s, uint64_t id,
			       uint64_t nodeid, bool dir);

/** fs_handles_close_all() - As if the guest had closed everything */
void fs_handles_close_all(struct fs_server *s);

#endif
