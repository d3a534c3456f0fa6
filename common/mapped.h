/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/mapped.h - owner, mode and type of a file in a tree that hutch keeps
 *
 * An ordinary user of the host cannot make files that belong to others, nor
 * devices.  So in a tree that hutch manages every object is a regular file or
 * a folder of the host user, with mode u+rw (u+rwx), and what the guest sees
 * is in the attribute MAPPED_STAT.  A symlink is a regular file whose content
 * is its target; a FIFO, socket or device is an empty file.  Attributes of the
 * guest that only root may set are kept as MAPPED_XATTR and their name.  A file
 * without MAPPED_STAT is what it is on the host, and belongs to 0:0.
 *
 * The one exception is a real character device 0:0, which is how overlayfs
 * says that a name is deleted, and which every user may make.
 */
#ifndef HUTCH_COMMON_MAPPED_H
#define HUTCH_COMMON_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base.h"

#define MAPPED_STAT  "user.hutch.stat"
#define MAPPED_XATTR "user.hutch.x."

/* Both begin with this, which is nobody else's. */
#define MAPPED_PREFIX "user.hutch."

#define MAPPED_STAT_LEN 24u

/**
 * struct mapped_stat - What a guest sees of a file
 * @mode:	Type (S_IFMT) and permissions (07777), as in struct stat
 * @uid:	Owner in the guest
 * @gid:	Group in the guest
 * @rdev_major:	Of a device, else 0; fits in 12 bits
 * @rdev_minor:	Of a device, else 0; fits in 20 bits
 */
struct mapped_stat {
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t rdev_major;
	uint32_t rdev_minor;
};

/**
 * mapped_valid() - Whether @st can be: a known type, no other bits of mode, a
 *		    device number for devices alone and as Linux can have it,
 *		    and no owner -1, which means "leave as it is"
 */
bool mapped_valid(const struct mapped_stat *st);

/** mapped_put() - Bytes of the attribute for @st, which must be valid */
void mapped_put(const struct mapped_stat *st, uint8_t ret[MAPPED_STAT_LEN]);

/**
 * mapped_get() - Read the attribute
 * @buf:	Its value, @len bytes
 *
 * Return: 0, or -EBADMSG: wrong size, unknown version, or not valid
 */
MUST_CHECK int mapped_get(const void *buf, size_t len, struct mapped_stat *ret);

/** mapped_host_mode() - Mode of the host's object that stands for @st: a folder
 *			 0700, anything else a regular file 0600 */
uint32_t mapped_host_mode(const struct mapped_stat *st);

/**
 * mapped_xattr_kept() - Whether the guest's attribute @name is kept under
 *			 MAPPED_XATTR: security.*, trusted.*, and POSIX ACLs
 */
bool mapped_xattr_kept(const char *name);

#endif
