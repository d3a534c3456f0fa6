/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/owner.h - whose a file is, and of what type and mode
 *
 * FS_OWNER_HOST: as the host has it, but the host user's files are shown as
 * fs_opts.uid and gid, whom the guest's root usually is.  Owners cannot change.
 *
 * FS_OWNER_MAPPED: all of it is in an attribute of the file (common/mapped.h),
 * and changes as it would on a disk of the guest's own.
 */
#ifndef HUTCH_VMM_FS_OWNER_H
#define HUTCH_VMM_FS_OWNER_H

#include <sys/stat.h>

#include "common/mapped.h"
#include "vmm/fs/state.h"

/**
 * struct fs_birth - What a new object is to be
 * @mode:	Type and permissions, from which the guest took its umask
 * @uid:	Who makes it
 * @gid:	And his group; the folder's, if that is setgid
 * @rdev:	Of a device, as FUSE has it
 */
struct fs_birth {
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t rdev;
};

/**
 * fs_owner_making() - An object of a mapped tree gets its name, then its attribute
 *
 * Until fs_owner_made() whoever finds it without one waits, since it would be a
 * file of another type and owner.  In between the calling thread asks for no
 * attribute and holds no lock but those of a quota.
 */
void fs_owner_making(const struct fs_server *s);
void fs_owner_made(const struct fs_server *s);

/**
 * fs_owner_init() - What these need. Return: 0 or -ENOMEM
 */
MUST_CHECK int fs_owner_init(struct fs_server *s);
void fs_owner_done(struct fs_server *s);

/**
 * fs_owner_see() - Make of the host's attributes what the guest sees
 * @fd:		Of the object; in a mapped tree one to read from, if the host
 *		has a file or a folder there
 *
 * Return: 0; -EIO if its attribute cannot be; or -errno
 */
MUST_CHECK int fs_owner_see(const struct fs_server *s, int fd,
			    struct statx *st);

/**
 * fs_owner_type() - Of what type the guest sees a regular file of a mapped tree
 *
 * Return: S_IFMT bits; 0 if that cannot be told, or its attribute cannot be
 */
uint32_t fs_owner_type(const struct fs_server *s, int fd);

/**
 * fs_owner_born() - Give a new object in a mapped tree its attribute
 * @fd:		Of the object, to read or write
 * @dir:	Attributes of its folder, as the guest sees them
 */
MUST_CHECK int fs_owner_born(const struct fs_server *s, int fd,
			     const struct statx *dir, const struct fs_birth *b);

/**
 * fs_owner_change() - Change mode or owner in a mapped tree
 * @st:		As the guest is to see it
 */
MUST_CHECK int fs_owner_change(const struct fs_server *s, int fd,
			       const struct statx *st);

/** fs_is_mapped() - Whether that is how the folder is shared */
static inline bool fs_is_mapped(const struct fs_server *s)
{
	return s->o.owner == FS_OWNER_MAPPED;
}

/**
 * fs_owner_bits() - Permissions that an object may have on the host
 * @mode:	Its type, and the permissions that the guest asks for
 *
 * A setuid file of the host user would let others of the host be him; so it is
 * as on a mount with nosuid, where the bits do nothing. Those of a folder say
 * only whose group new files get.
 *
 * Return: permissions, for FS_OWNER_HOST
 */
static inline uint32_t fs_owner_bits(uint32_t mode)
{
	return mode & (S_ISDIR(mode) ? 07777 : 01777);
}

#endif
