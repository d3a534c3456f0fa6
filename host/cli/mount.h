/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/mount.h - --volume and --mount, as Docker's people write them */
#ifndef HUTCH_CLI_MOUNT_H
#define HUTCH_CLI_MOUNT_H

#include "host/cli/base.h"
#include "host/lib/hutch.h"

/**
 * struct cli_mounts - What was read of all of them
 * @list:	For hutch_start(); ends in NULL, or is NULL
 * @text:	Strings of each of @one, malloc()ed
 */
struct cli_mounts {
	const struct hutch_mount **list;
	struct hutch_mount *one;
	char **text;
	size_t n;
};

/**
 * mount_volume() - "SRC:DST[:ro]", "NAME:DST[:ro,locks=host,dax=inode]"
 *
 * Return: 0; -EINVAL; -ERANGE; -ENOMEM
 */
MUST_CHECK int mount_volume(struct cli_mounts *ms, const char *word,
			    struct hutch_err *e);

/**
 * mount_words() - "type=bind|volume,src=SRC,dst=DST[,readonly][,locks=host]"
 *
 * Also dax=never|inode|always, window=SIZE, uid=N and gid=N.
 *
 * Return: 0; -EINVAL; -ERANGE; -ENOMEM
 */
MUST_CHECK int mount_words(struct cli_mounts *ms, const char *word,
			   struct hutch_err *e);

/** mount_list() - For hutch_start(), borrowed; NULL if there is none */
const struct hutch_mount *const *mount_list(const struct cli_mounts *ms);

/**
 * mount_image_dax() - "never", "inode,window=64M": the value of --image-dax
 * @word:	NULL: nothing was said, and @dax and @window stay
 *
 * Return: 0; -EINVAL; -ERANGE
 */
MUST_CHECK int mount_image_dax(const char *word, enum hutch_dax *dax,
			       uint64_t *window, struct hutch_err *e);

/** mount_done() - Free it */
void mount_done(struct cli_mounts *ms);

#endif
