/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/ident.h - what makes a file itself, whatever its name
 *
 * The bytes of its file handle, which a file system gives out once and not
 * again to a later file in the same place on the disk; where it has none, the
 * device, the number of the inode and the time of its birth.  A handle that is
 * no more than a number has the device added.
 */
#ifndef HUTCH_VMM_FS_IDENT_H
#define HUTCH_VMM_FS_IDENT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base.h"

struct fs_server;

#define FS_IDENT_MAX MAX_HANDLE_SZ

/**
 * struct fs_ident - Identity of a file
 * @type:	Kind of handle, which is the file system's own number
 * @len:	Bytes in @bytes
 */
struct fs_ident {
	int type;
	unsigned int len;
	uint8_t bytes[FS_IDENT_MAX];
};

/** fs_ident_probe() - Find out what the file system of @fd, the root, has */
MUST_CHECK int fs_ident_probe(struct fs_server *s, int fd);

/**
 * fs_ident_get() - Identity of an object
 * @fd:		The object, or the folder that it is in
 * @name:	"" or a single name in @fd; a symlink is not followed
 *
 * Return: 0; -EXDEV if something is mounted there; or -errno
 */
MUST_CHECK int fs_ident_get(const struct fs_server *s, int fd, const char *name,
			    struct fs_ident *ret);

bool fs_ident_same(const struct fs_ident *a, const struct fs_ident *b);

/** fs_ident_hash() - 64 bits, of which the upper are the better */
uint64_t fs_ident_hash(const struct fs_server *s, const struct fs_ident *i);

#endif
