/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/attr.h - attributes of a file, as FUSE has them */
#ifndef HUTCH_VMM_FS_ATTR_H
#define HUTCH_VMM_FS_ATTR_H

#include <sys/stat.h>

#include "vmm/fs/proto.h"
#include "vmm/fs/walk.h"

/**
 * fs_stat() - Attributes of an object, as the guest sees them
 * @fd:		As for fs_owner_see()
 */
MUST_CHECK int fs_stat(const struct fs_server *s, int fd, struct statx *ret);

/** fs_stat_at() - The same for what fs_reach() found, the made-up folder too */
MUST_CHECK int fs_stat_at(const struct fs_server *s, const struct fs_at *at,
			  struct statx *ret);

/** fs_attr_fill() - FUSE's form of them */
void fs_attr_fill(const struct fs_server *s, const struct statx *st,
		  struct fuse_attr *ret);

/**
 * fs_attr_number() - The number of an inode, as the guest is to see it
 * @ino:	The host's
 *
 * With fs_opts.lower it is so many times as large that, with the highest bits
 * set, it is a number of floating point without loss: what languages that have
 * no other take for the same file is the same.  One that is too large for that,
 * of 51 bits and more, stays as it is.
 */
uint64_t fs_attr_number(const struct fs_server *s, uint64_t ino);

/** fs_valid_s() - Seconds for which the guest may remember what it is told */
uint64_t fs_valid_s(const struct fs_server *s);

/** fs_kill_mode() - @mode without what a write or a change of owner clears */
static inline uint32_t fs_kill_mode(uint32_t mode)
{
	uint32_t kill = mode & S_IXGRP ? S_ISUID | S_ISGID : S_ISUID;

	return S_ISREG(mode) ? mode & ~kill : mode;
}

#endif
