/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/inode.h - what the guest knows of the folder
 *
 * How it works.  A file is found by its identity (ident.h), and is reached by
 * walking to it from the root, by the names under which it was looked up.  So
 * an inode needs no descriptor.  Most have one for a while, since the same
 * file is often asked for again: the idle ones are kept in the order of their
 * last use, and the oldest is closed when there are too many.
 *
 * Where that would lose a file, the descriptor stays, and the inode is pinned:
 * before the guest unlinks the last name it knows, or renames over it.
 *
 * An inode is there as long as something refers to it: what the guest has
 * looked up and not forgotten, requests in flight, handles, and the names of
 * other inodes in it.  All these functions want the lock, which none releases.
 */
#ifndef HUTCH_VMM_FS_INODE_H
#define HUTCH_VMM_FS_INODE_H

#include <sys/types.h>

#include "vmm/fs/ident.h"
#include "vmm/fs/state.h"

/* Names of a file that are remembered; the one not seen for longest goes. */
#define FS_NAMES_MAX 8u

/**
 * struct fs_name - A place where an inode was seen
 * @next:	Seen before
 * @parent:	Folder, which this refers to
 * @len:	Bytes in @s, without the NUL
 */
struct fs_name {
	struct fs_name *next;
	struct fs_inode *parent;
	unsigned int len;
	char s[];
};

/**
 * struct fs_inode - A file or folder
 * @id:		The guest's number for it
 * @nlookup:	Lookups of the guest's that it has not forgotten
 * @refs:	All others who refer to it
 * @type:	S_IFMT bits on the host, which never change
 * @stub:	The folder made up for a shared file
 * @pinned:	@fd stays, as it is the only way to it, or may soon be
 * @holds:	Requests that remove a name of it, or are not sure of one
 * @fd:		Descriptor, or -1; an O_PATH one if @fd_real is false
 * @fd_access:	O_RDONLY, O_WRONLY or O_RDWR, if @fd_real
 * @fd_users:	Requests that use @fd
 * @lru:	In idle, if there are none
 * @names:	Newest first; a folder has one at most
 * @handles:	Of struct fs_handle
 * @hash:	fs_ident_hash()
 * @hash_next:	Same chain; or in fs_server.dead
 * @seen_mtime_ns: Time of the last write when the guest last opened it
 * @seen_ctime_ns: The same for the last change of any kind
 * @seen_size:	The same for its size
 * @doomed:	It has no name on the host, and counts until this is freed; see
 *		quota.h, whose locks these two have
 * @doomed_bytes: What it counts, if @doomed
 * @ident_type: See struct fs_ident
 * @ident_len:	Bytes in @ident
 */
struct fs_inode {
	uint64_t id;
	uint64_t nlookup;
	unsigned int refs;
	mode_t type;
	bool stub;
	bool pinned;
	bool fd_real;
	bool doomed;
	unsigned int holds;
	int fd;
	int fd_access;
	unsigned int fd_users;
	struct list lru;
	struct fs_name *names;
	struct list handles;
	uint64_t hash;
	struct fs_inode *hash_next;
	int64_t seen_mtime_ns;
	int64_t seen_ctime_ns;
	uint64_t seen_size;
	uint64_t doomed_bytes;
	int ident_type;
	unsigned int ident_len;
	uint8_t ident[];
};

/** fs_inode_find() - The inode the guest calls @id and has not forgotten */
struct fs_inode *fs_inode_find(const struct fs_server *s, uint64_t id);

/** fs_inode_known() - The inode of that identity, or NULL */
struct fs_inode *fs_inode_known(const struct fs_server *s,
				const struct fs_ident *ident);

/** fs_inode_is() - Whether that is the identity of @ino */
bool fs_inode_is(const struct fs_inode *ino, const struct fs_ident *ident);

/**
 * fs_inode_add() - A new inode, which nothing refers to yet
 *
 * Return: 0; -ENFILE if it is too much to know; -ENOMEM
 */
MUST_CHECK int fs_inode_add(struct fs_server *s, const struct fs_ident *ident,
			    mode_t type, struct fs_inode **ret);

/** fs_inode_drop() - One reference less, of @refs */
void fs_inode_drop(struct fs_server *s, struct fs_inode *ino);

/** fs_inode_forget() - The guest forgets @n lookups; more than there are is all */
void fs_inode_forget(struct fs_server *s, struct fs_inode *ino, uint64_t n);

/**
 * fs_inode_seen() - @ino is in @parent under @name
 *
 * Return: 0; -ENFILE if it is too much to know; -ENOMEM; -ESTALE if a folder
 *         would come to be in itself
 */
MUST_CHECK int fs_inode_seen(struct fs_server *s, struct fs_inode *ino,
			     struct fs_inode *parent, const char *name);

/** fs_inode_gone() - And now it is not; nothing if that name was not known */
void fs_inode_gone(struct fs_server *s, struct fs_inode *ino,
		   const struct fs_inode *parent, const char *name);

/**
 * fs_inode_lend_fd() - Let @ino have a descriptor, and use it
 * @fd:		The inode's from now on, or closed if it has one
 * @real:	It is not O_PATH
 *
 * Return: the descriptor to use, which fs_inode_unuse_fd() gives back
 */
int fs_inode_lend_fd(struct fs_server *s, struct fs_inode *ino, int fd,
		     bool real);

/** fs_inode_use_fd() - Use the descriptor. Return: it, or -1 if there is none */
int fs_inode_use_fd(struct fs_server *s, struct fs_inode *ino);

/** fs_inode_unuse_fd() - No longer */
void fs_inode_unuse_fd(struct fs_server *s, struct fs_inode *ino);

/**
 * fs_inode_pin() - Keep the descriptor, which is being used, until unpinned
 *
 * Return: 0, or -ENFILE if too many are
 */
MUST_CHECK int fs_inode_pin(struct fs_server *s, struct fs_inode *ino);
/**
 * fs_inode_inherit() - Pin the descriptor of a handle that is gone
 * @fd:		It, which is taken if the one that @ino has is not in use
 * @access:	As in struct fs_inode
 *
 * @ino is not pinned, and there is room for it: the handle's.
 */
void fs_inode_inherit(struct fs_server *s, struct fs_inode *ino, int *fd,
		      int access);

/** fs_inode_named() - Unpin @ino, if it has a name that nobody is removing */
void fs_inode_named(struct fs_server *s, struct fs_inode *ino);

/** fs_fds_room() - Whether one more may be open for long, and room for it */
bool fs_fds_room(struct fs_server *s);

/** fs_fds_evict() - Close up to FS_SPENT_MAX idle descriptors. Return: how many */
unsigned int fs_fds_evict(struct fs_server *s);

/** fs_inodes_forget_all() - As if the guest had forgotten everything */
void fs_inodes_forget_all(struct fs_server *s);

#endif
