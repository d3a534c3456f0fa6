/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/acl.h - POSIX ACLs of a mapped tree
 *
 * The guest's kernel obeys them; what is left to the file system is to keep
 * them, to keep mode and ACL in step, and to give what is made in a folder the
 * folder's default.  They are kept as attributes like others of root's, in the
 * form that Linux has for system.posix_acl_*, with the guest's numbers.
 *
 * FS_OWNER_MAPPED only: on the host an ACL names the host's users.
 */
#ifndef HUTCH_VMM_FS_ACL_H
#define HUTCH_VMM_FS_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mapped.h"

struct fs_birth;
struct fs_server;

#define FS_ACL_ACCESS  "system.posix_acl_access"
#define FS_ACL_DEFAULT "system.posix_acl_default"

/* Entries, as many as Linux takes from FUSE: a page of them. */
#define FS_ACL_MAX 511u

/* Bytes of one that has all of these. */
#define FS_ACL_LEN_MAX (4u + 8u * FS_ACL_MAX)

enum {
	FS_ACL_USER_OBJ = 0x01,
	FS_ACL_USER = 0x02,
	FS_ACL_GROUP_OBJ = 0x04,
	FS_ACL_GROUP = 0x08,
	FS_ACL_MASK = 0x10,
	FS_ACL_OTHER = 0x20
};

/** struct fs_acl_entry - What it lets whom do: @perm has r 4, w 2, x 1 */
struct fs_acl_entry {
	uint16_t tag;
	uint16_t perm;
	uint32_t id;
};

/** struct fs_acl - Sound, or empty with @n 0 */
struct fs_acl {
	unsigned int n;
	struct fs_acl_entry e[FS_ACL_MAX];
};

/**
 * fs_acl_get() - Read one
 *
 * Return: 0; -EINVAL if it is not what Linux would take: version 2, each kind
 *         of entry in its order, a mask if there are others than three
 */
MUST_CHECK int fs_acl_get(const void *buf, size_t len, struct fs_acl *ret);

/** fs_acl_put() - Its bytes. Return: how many */
size_t fs_acl_put(const struct fs_acl *a, uint8_t ret[FS_ACL_LEN_MAX]);

/** fs_acl_is_mode() - Whether it says no more than permissions do */
bool fs_acl_is_mode(const struct fs_acl *a);

/** fs_acl_mode() - @mode with the permissions of @a */
uint32_t fs_acl_mode(const struct fs_acl *a, uint32_t mode);

/** fs_acl_chmod() - Let @a have the permissions of @mode */
void fs_acl_chmod(struct fs_acl *a, uint32_t mode);

/**
 * fs_acl_set() - SETXATTR of an ACL; for a file its mode follows
 * @fd:		Of the object, no O_PATH one
 * @name:	FS_ACL_ACCESS or FS_ACL_DEFAULT
 * @kill_sgid:	Who sets it may not keep the file setgid
 */
MUST_CHECK int fs_acl_set(const struct fs_server *s, int fd, const char *name,
			  const void *value, size_t len, bool kill_sgid);

/** fs_acl_follow() - The mode has changed to @mode: the ACL, if any, follows */
MUST_CHECK int fs_acl_follow(int fd, uint32_t mode);

/**
 * struct fs_heir - What a new object has from its folder
 * @access:	Its ACL; none if @access.n is 0
 * @deflt:	Of a folder, what it hands on in turn
 */
struct fs_heir {
	struct fs_acl access;
	struct fs_acl deflt;
};

/**
 * fs_acl_inherit() - Make up the mode of a new object
 * @dir:	Its folder, no O_PATH descriptor
 * @umask:	The guest's, which is for folders without a default
 * @b:		Its mode has nothing of the umask yet
 */
MUST_CHECK int fs_acl_inherit(const struct fs_server *s, int dir,
			      uint32_t umask, struct fs_birth *b,
			      struct fs_heir *ret);

/** fs_acl_born() - Give the new object what it has inherited */
MUST_CHECK int fs_acl_born(int fd, const struct fs_heir *h);

#endif
