/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/mounts.h - what of the host a VM is to see: checked and opened */
#ifndef HUTCH_HOST_LIB_MOUNTS_H
#define HUTCH_HOST_LIB_MOUNTS_H

#include <stdbool.h>

#include "common/err.h"
#include "common/wire.h"
#include "host/lib/hutch.h"

#define MOUNTS_TAG_MAX 16

/**
 * struct mount_one - A folder or a regular file
 * @source:	Absolute, without symlinks; or name of the volume
 * @target:	Absolute, one '/' between names and none at the end
 * @dax:	As in struct hutch_mount, as are @window, @uid and @gid
 * @fd:		The folder's place, or the file open for what the guest may do;
 *		for the monitor
 */
struct mount_one {
	char *source;
	char *target;
	bool ro;
	bool file;
	bool volume;
	bool locks_host;
	bool nocopy;
	enum hutch_dax dax;
	uint64_t window;
	uint32_t uid;
	uint32_t gid;
	int fd;
};

/** struct mounts - In the order in which they are made: outer ones first */
struct mounts {
	unsigned int n;
	struct mount_one m[HUTCH_MOUNTS_MAX];
};

/**
 * mounts_open() - Check all of them, then open each as the calling user
 * @v:		Ends in NULL; NULL for none
 * @image:	The VM's, of which new volumes have their content; or NULL
 * @ret:	For mounts_done(), unless this fails
 *
 * Return: 0 or -errno with a sentence: -EINVAL, -ENOENT, -EACCES and so on
 */
MUST_CHECK int mounts_open(struct hutch *h, const struct hutch_mount *const *v,
			   const struct hutch_image *image, struct mounts *ret,
			   struct err *e);

/**
 * mounts_tidy() - In place: "/a//b/./c/" becomes "/a/b/c", "/" becomes ""
 *
 * Return: 0; -EINVAL at a ".."
 */
MUST_CHECK int mounts_tidy(char *path);

/** mounts_done() - Close what is open, free; takes a zeroed one */
void mounts_done(struct mounts *ms);

/** mounts_record() - As a record has them. Return: 0 or -ENOMEM */
MUST_CHECK int mounts_record(const struct mounts *ms,
			     const struct hutch_mount *const **field);

/** mounts_free() - A record's list; takes NULL */
void mounts_free(const struct hutch_mount *const *v);

/** mounts_tag() - What monitor and guest know mount @i by */
void mounts_tag(char buf[MOUNTS_TAG_MAX], unsigned int i);

/**
 * mounts_message() - For the boot message
 * @tag:	Room for the strings, as long as @ret is used
 */
void mounts_message(const struct mounts *ms,
		    char tag[HUTCH_MOUNTS_MAX][MOUNTS_TAG_MAX],
		    struct msg_mount ret[HUTCH_MOUNTS_MAX]);

#endif
