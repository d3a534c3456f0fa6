/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/disk.h - what a VM writes over its image: STATE/NAME/disk
 *
 * A folder in the mapped layout (common/mapped.h), which the guest mounts: the
 * layer above the image, and what it has beside that.  Which image it was made
 * over is in an attribute of the folder, so that the two cannot part, and which
 * the guest does not see.
 */
#ifndef HUTCH_HOST_LIB_DISK_H
#define HUTCH_HOST_LIB_DISK_H

#include "common/err.h"
#include "host/lib/hutch.h"

#define DISK_DIR "disk"

/* Of an image, each in the disk's folder "volumes" under its number. */
#define DISK_VOLUMES     "volumes"
#define DISK_VOLUMES_MAX 32

/**
 * disk_image() - Over which image the disk in the folder @state_fd was made
 *
 * Return: 0; -ENOENT if there is no disk; -EBADMSG if it is none of ours
 */
MUST_CHECK int disk_image(int state_fd, char ret[HUTCH_IMAGE_ID_LEN + 1]);

/**
 * disk_open() - Open the one there is, or make one
 * @image:	A new one has its volumes, with what is in them; there are at most
 *		DISK_VOLUMES_MAX
 *
 * It is locked for as long as the descriptor, or a copy in any process, is open:
 * a monitor may live on for a moment when its keeper does not.
 *
 * Return: a descriptor; -EOPNOTSUPP if the file system keeps no attributes of
 *         users; -EBUSY if another monitor does not end; or -errno with a
 *         sentence
 */
MUST_CHECK int disk_open(int state_fd, const struct hutch_image *image,
			 struct err *e);

/** disk_remove() - Remove it, with what was left of others; it need not be
 *  there.  Return: 0 or -errno
 */
MUST_CHECK int disk_remove(int state_fd);

/**
 * disk_user() - A VM, alive or stopped, whose disk was made over image @id
 * @ret:	Its name
 *
 * Return: 1; 0 if there is none; -errno if that cannot be known
 */
MUST_CHECK int disk_user(struct hutch *h, const char *id,
			 char ret[HUTCH_NAME_MAX + 1]);

#endif
