/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/lock.h - locks of the host's files, for locks=host
 *
 * How it works.  The guest names who locks: a process for record locks, an open
 * file for flock() and for locks of open files.  On the host each such owner of
 * a file is an open file of its own, which has the locks: record locks are those
 * of open file descriptions (F_OFD_SETLK), flock() is flock().  So owners
 * exclude each other, another VM and the host's processes alike, and who goes
 * takes his locks with him: his descriptor is closed.
 *
 * Linux tells when a process closes a file (FLUSH) and when an open file goes
 * (RELEASE); what it does not tell is that a lock of an open file goes with it.
 * So an owner belongs to the handle that it came with, too.
 *
 * A lock that is to be waited for is tried, and if it cannot be had the request
 * is put aside by the caller of fs_serve() and comes again: no thread waits.
 */
#ifndef HUTCH_VMM_FS_LOCK_H
#define HUTCH_VMM_FS_LOCK_H

#include "vmm/fs/handle.h"

/* Owners of locks at a time, a descriptor each; one more is ENOLCK. */
#define FS_LOCK_OWNERS_MAX 1024u

/* Owners that GETLK asks, at most, whether a lock is theirs. */
#define FS_LOCK_ASKED_MAX 32u

/**
 * struct fs_lock - Who has, or had, locks of a file; the server's lock
 * @refs:	One of the list, and of requests
 * @ino:	Which this refers to
 * @owner:	The guest's number for it
 * @fh:		Handle that it came with
 * @pid:	Of the guest's process that locked last
 * @whole:	Of flock(), which knows nothing of records and they not of it
 * @fd:		The open file that has the locks
 */
struct fs_lock {
	struct list link;
	unsigned int refs;
	struct fs_inode *ino;
	uint64_t owner;
	uint64_t fh;
	uint32_t pid;
	bool whole;
	int fd;
};

/** fs_locks_flush() - A process has closed the file: its record locks go */
void fs_locks_flush(struct fs_server *s, const struct fs_inode *ino,
		    uint64_t owner);

/** fs_locks_release() - An open file has gone: so do the owners it brought */
void fs_locks_release(struct fs_server *s, uint64_t fh);

/** fs_locks_drop_all() - As if the guest had closed everything */
void fs_locks_drop_all(struct fs_server *s);

#endif
