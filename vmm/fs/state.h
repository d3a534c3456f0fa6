/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/state.h - what the files of the server share; server.h is for others */
#ifndef HUTCH_VMM_FS_STATE_H
#define HUTCH_VMM_FS_STATE_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/list.h"
#include "vmm/fs/ids.h"
#include "vmm/fs/quota.h"
#include "vmm/fs/server.h"
#include "vmm/fs/waiter.h"

/* Descriptors closed by one turn under the lock; see fs_unlock(). */
#define FS_SPENT_MAX 4u

/* Of fds_max, left for the root and for what is open only for a moment. */
#define FS_FDS_SPARE 32u

struct fs_inode;

/**
 * struct fs_server - One shared folder
 * @o:		As it was made
 * @root_fd:	The folder; -1 if it is a file
 * @file_fd:	The file, else -1
 * @self_fd:	/proc/self/fd, to give a name to what is open; -1 if there is none
 * @root_mount:	Mount that the folder is in; what is in another is out of reach
 * @ident_stat:	The file system has no file handles: identity is from statx()
 * @ident_device: Its handles are numbers of inodes that may not be all there is
 * @ident_flags: For name_to_handle_at()
 * @uid:	The host user, to whom new files belong
 * @gid:	His group
 * @keeps_suid:	This process may write to setuid files and they stay so
 * @ready:	INIT was answered, and no DESTROY since
 * @setxattr_ext: INIT agreed on the longer SETXATTR
 * @acl:	INIT agreed that the guest obeys POSIX ACLs
 * @making:	Of a mapped tree: see fs_owner_making()
 * @quota:	What there may be; has locks of its own
 * @lock:	For all that follows; never held during a system call, but for
 *		closing what was evicted
 * @inodes:	Of struct fs_inode
 * @handles:	Of struct fs_handle
 * @root:	Inode 1
 * @hash:	Inodes by identity, 1 << @hash_bits chains
 * @mult:	Random, so that no guest can choose what falls together
 * @idle:	Inodes with a descriptor that nobody uses, the oldest first
 * @n_idle:	Inodes in @idle
 * @n_busy:	Inodes with a descriptor that somebody uses now
 * @n_pinned:	Inodes with a descriptor that is the only way to them
 * @n_handles:	Open files and folders
 * @locks:	struct fs_lock, owners of locks
 * @n_locks:	How many
 * @waiters:	@n_waiters who wait for a lock, the oldest first
 * @mem:	Bytes that count towards @mem_max
 * @mem_max:	FS_MEM_MIN to FS_MEM_MAX
 * @spent:	Descriptors to close when the lock is released
 * @n_spent:	How many
 * @dead:	Inodes to free when the lock is released
 */
struct fs_server {
	struct fs_opts o;
	int root_fd;
	int file_fd;
	int self_fd;
	int root_mount;
	bool ident_stat;
	bool ident_device;
	int ident_flags;
	uint32_t uid;
	uint32_t gid;
	bool keeps_suid;
	atomic_bool ready;
	atomic_bool setxattr_ext;
	atomic_bool acl;
	pthread_rwlock_t *making;
	struct fs_quota quota;

	pthread_mutex_t lock;
	struct fs_ids inodes;
	struct fs_ids handles;
	struct fs_inode *root;
	struct fs_inode **hash;
	unsigned int hash_bits;
	uint64_t mult[2];
	struct list idle;
	unsigned int n_idle;
	unsigned int n_busy;
	unsigned int n_pinned;
	unsigned int n_handles;
	struct list locks;
	unsigned int n_locks;
	struct fs_waiter waiters[FS_WAITERS_MAX];
	unsigned int n_waiters;
	size_t mem;
	size_t mem_max;
	int spent[FS_SPENT_MAX];
	unsigned int n_spent;
	struct fs_inode *dead;
};

/**
 * fs_mem_take() - Count bytes that the guest makes us keep
 *
 * Context: the lock is held; for fs_mem_give() too.
 *
 * Return: 0, or -ENFILE if they would be more than there may be
 */
MUST_CHECK static inline int fs_mem_take(struct fs_server *s, size_t n)
{
	if (n > s->mem_max - s->mem)
		return -ENFILE;
	s->mem += n;
	return 0;
}

/** fs_mem_give() - They are freed, or about to be */
static inline void fs_mem_give(struct fs_server *s, size_t n)
{
	s->mem -= n;
}

/** fs_lock() - Take @s->lock */
void fs_lock(struct fs_server *s);

/** fs_unlock() - Release it, then free and close what was left for that */
void fs_unlock(struct fs_server *s);

#endif
