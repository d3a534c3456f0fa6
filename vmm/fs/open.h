/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/open.h - what opening a file and writing to it have in common */
#ifndef HUTCH_VMM_FS_OPEN_H
#define HUTCH_VMM_FS_OPEN_H

#include <sys/stat.h>

#include "vmm/fs/inode.h"
#include "vmm/fs/proto.h"

/**
 * fs_host_flags() - What the host needs to know of the guest's flags
 *
 * Return: flags for open(), or -EINVAL, -EROFS
 */
MUST_CHECK int fs_host_flags(const struct fs_server *s, uint32_t guest);

/** fs_open_flags() - What the guest may do with the pages of an open file */
uint32_t fs_open_flags(struct fs_server *s, struct fs_inode *ino,
		       const struct statx *st);

/** fs_open_file() - Open @ino as @in says. Return: 0 or what to answer */
MUST_CHECK int fs_open_file(struct fs_server *s, struct fs_inode *ino,
			    const struct fuse_open_in *in,
			    struct fuse_open_out *out);

/**
 * fs_truncate() - Give a file that is open for writing another size
 * @size:	INT64_MAX at most
 *
 * Return: 0; -ENOSPC if it would be more than the quota; or -errno
 */
MUST_CHECK int fs_truncate(struct fs_server *s, struct fs_inode *ino, int fd,
			   uint64_t size);

/**
 * fs_open_inode() - Open a regular file that the guest knows
 * @ino:	Referred to by the caller
 * @flags:	Of open(), see fs_walk()
 *
 * One that has lost its name can be opened again if it is open that way.
 *
 * Return: a descriptor, or as fs_walk()
 */
MUST_CHECK int fs_open_inode(struct fs_server *s, struct fs_inode *ino,
			     int flags);

/**
 * fs_kill_priv() - Somebody writes to a file who may not keep it setuid
 * @fd:		The file, no O_PATH
 *
 * The host does this itself for an ordinary user's writes; we do if we are root
 * there, and in a mapped tree.  File capabilities Linux removes by itself, with
 * a REMOVEXATTR.
 */
MUST_CHECK int fs_kill_priv(const struct fs_server *s, int fd);

#endif
