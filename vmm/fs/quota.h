/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/quota.h - how much a share may grow
 *
 * What is counted: of each file and folder of the host in the tree, itself
 * included, its size in blocks of FS_QUOTA_BLOCK bytes, and one inode.  Sizes
 * and not blocks of the disk: the host changes those by itself and later, and a
 * file that is mapped into a guest is filled behind our back.  So a sparse file
 * counts as if it were full.
 *
 * How it works.  Whoever makes a file grow first takes the room, and afterwards
 * gives back what was not needed, under a lock that keeps others from changing
 * the size of that file (one of few, by its number; writes within the blocks
 * that there are share it).  Whoever makes or removes names holds another, the
 * only one, so that what a folder grew by is counted once.  What has lost its
 * last name goes on counting until the guest has forgotten it, since so long it
 * is there.
 *
 * The count is kept nowhere while the server runs: it is taken by a walk at
 * start.  A server that has come to an orderly end leaves it as an attribute of
 * the root, which is good until the host starts anew, and which the next server
 * takes away before it serves.
 *
 * Only for mapped trees, which nobody else changes.
 */
#ifndef HUTCH_VMM_FS_QUOTA_H
#define HUTCH_VMM_FS_QUOTA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/statfs.h>

#include "common/err.h"
#include "common/treesize.h"

struct fs_inode;
struct fs_server;

#define FS_QUOTA_BLOCK TREESIZE_BLOCK

/* Least of fs_opts.quota_bytes. */
#define FS_QUOTA_MIN (1u << 20)

/* Without fs_opts.quota_inodes there is one for so many bytes. */
#define FS_QUOTA_INODE_BYTES TREESIZE_INODE_BYTES

/* Names and values of the guest's attributes, of one file or folder. */
#define FS_QUOTA_XATTR_MAX 4096u

/* Files whose numbers are alike in this wait for each other to grow. */
#define FS_QUOTA_LOCKS 64u

/*
 * What some requests may take beyond the limit: enum fs_room says how often.
 * So little that a host which has room for the quota has it for this too.
 */
#define FS_QUOTA_RESERVE        65536u
#define FS_QUOTA_RESERVE_INODES 16u

/* Bytes of /proc/sys/kernel/random/boot_id. */
#define FS_QUOTA_BOOT_LEN 36u

/**
 * enum fs_room - How many reserves may be taken from
 * @FS_ROOM_GIVEN:	None
 * @FS_ROOM_FILE:	One, in an upper layer only: for a new file, as overlayfs
 *			makes one at each mount
 * @FS_ROOM_NAME:	Two, in an upper layer only: for what overlayfs does to
 *			have a work folder and to take away a file of the image
 * @FS_ROOM_RENAME:	Three: for another name in the same folder
 *
 * An overlayfs that finds no room for its work folder is mounted read-only, so
 * that nothing could ever be removed.  Whoever is last in this list finds room
 * though all before have used up theirs.
 */
enum fs_room {
	FS_ROOM_GIVEN,
	FS_ROOM_FILE,
	FS_ROOM_NAME,
	FS_ROOM_RENAME,
};

/**
 * struct fs_quota - What there may be, and what there is
 * @on:		There is a limit; else nothing of this is used
 * @bytes_max:	As fs_opts has it
 * @inodes_max:	The same
 * @floor:	What reserves begin at: the limit, or what there was at start, if
 *		that was more
 * @lock:	For the two that follow; the innermost of all
 * @bytes:	In use or promised
 * @inodes:	The same
 * @names:	Held while names change
 * @size:	Held to write while the size of a file changes, else to read
 * @dir_fd:	The root, for its attribute
 * @ino:	Number of its inode
 * @boot:	Which start of the host this is
 * @counted:	@bytes and @inodes are true
 * @closed:	No request is served any more
 * @serving:	Requests that are under way
 */
struct fs_quota {
	bool on;
	uint64_t bytes_max;
	uint64_t inodes_max;
	struct treesize floor;
	pthread_mutex_t lock;
	uint64_t bytes;
	uint64_t inodes;
	pthread_mutex_t names;
	pthread_rwlock_t size[FS_QUOTA_LOCKS];
	int dir_fd;
	uint64_t ino;
	char boot[FS_QUOTA_BOOT_LEN];
	bool counted;
	atomic_bool closed;
	atomic_uint serving;
};

/**
 * fs_quota_start() - Count what there is, or take the last server's word
 *
 * Nothing if fs_opts has no quota.  Return: 0, or -errno with a sentence
 */
MUST_CHECK int fs_quota_start(struct fs_server *s, struct err *e);
void fs_quota_done(struct fs_server *s);

/** fs_quota_statfs() - Of the host's numbers, those that there are for a guest */
void fs_quota_statfs(struct fs_server *s, struct statfs *st);

/** fs_quota_now() - What there is, in use or promised */
struct treesize fs_quota_now(struct fs_server *s);

/**
 * struct fs_naming - A change of names that is under way
 * @on:		The lock is held
 * @dir:	Descriptors of the folders; -1 for none
 * @before:	Their sizes together
 * @taken:	What was taken for it
 */
struct fs_naming {
	bool on;
	int dir[2];
	uint64_t before;
	struct treesize taken;
};

/**
 * fs_quota_naming() - Begin to make or remove names
 * @dir:	Folder that it is in
 * @other:	Another, or -1
 * @room:	What it may go up to
 * @want:	What will be made, besides names; NULL if they only go
 *
 * Return: 0, fs_quota_named() is due then; -ENOSPC
 */
MUST_CHECK int fs_quota_naming(struct fs_server *s, int dir, int other,
			       enum fs_room room, const struct treesize *want,
			       struct fs_naming *n);

/**
 * fs_quota_named() - It is done, or could not be
 * @made:	What there is more now, besides names; NULL for nothing
 *
 * Nothing if fs_quota_naming() failed or was not called: @n is zeroed then.
 */
void fs_quota_named(struct fs_server *s, struct fs_naming *n,
		    const struct treesize *made);

/**
 * fs_quota_size_at() - What a file or folder counts; 0 without a quota
 * @name:	In the folder @dir, or "" for @dir itself
 */
uint64_t fs_quota_size_at(const struct fs_server *s, int dir, const char *name);

/**
 * fs_quota_unnamed() - A name of @ino is gone
 * @fd:		Of the object, O_PATH is enough
 * @dir_bytes:	What it counted before, if it is a folder
 *
 * If it was the last, the object counts until @ino is forgotten.
 *
 * Context: between fs_quota_naming() and fs_quota_named()
 */
void fs_quota_unnamed(struct fs_server *s, struct fs_inode *ino, int fd,
		      uint64_t dir_bytes);

/** fs_quota_nameless() - @ino was made without a name, and counts already */
void fs_quota_nameless(struct fs_server *s, struct fs_inode *ino);

/** fs_quota_linked() - @ino has a name more */
void fs_quota_linked(struct fs_server *s, struct fs_inode *ino);

/** fs_quota_forgotten() - The lock of @s is held: @ino is about to be freed */
void fs_quota_forgotten(struct fs_server *s, const struct fs_inode *ino);

/**
 * struct fs_growing - A change of a file's size that is under way
 * @lock:	The lock that is held, NULL for none
 * @ino:	The file
 * @fd:		Its descriptor
 * @alone:	It is held to write
 * @before:	Blocks of it, in bytes
 * @taken:	Bytes that were taken
 */
struct fs_growing {
	pthread_rwlock_t *lock;
	struct fs_inode *ino;
	int fd;
	bool alone;
	uint64_t before;
	uint64_t taken;
};

/**
 * fs_quota_writing() - Begin to write to a file
 * @off:	Where to; UINT64_MAX for its end
 * @len:	How much; becomes less if there is not room for all of it
 *
 * Return: 0, fs_quota_grown() is due then; -ENOSPC if there is room for nothing
 */
MUST_CHECK int fs_quota_writing(struct fs_server *s, struct fs_inode *ino,
				int fd, uint64_t off, size_t *len,
				struct fs_growing *g);

/** fs_quota_sizing() - The same for what gives a file the size @size, or less */
MUST_CHECK int fs_quota_sizing(struct fs_server *s, struct fs_inode *ino,
			       int fd, uint64_t size, struct fs_growing *g);

/** fs_quota_holding() - The same for what may only keep it as it is */
void fs_quota_holding(struct fs_server *s, struct fs_inode *ino, int fd,
		      struct fs_growing *g);

/** fs_quota_grown() - It is done, or could not be; nothing if not begun */
void fs_quota_grown(struct fs_server *s, struct fs_growing *g);

#endif
