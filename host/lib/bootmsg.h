/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/bootmsg.h - what the agent of a VM is told as it boots */
#ifndef HUTCH_HOST_LIB_BOOTMSG_H
#define HUTCH_HOST_LIB_BOOTMSG_H

#include "common/err.h"
#include "host/lib/hutch.h"
#include "host/lib/mounts.h"

/* What monitor and guest know an image and the disk over it by. */
#define BOOTMSG_TAG_IMAGE "hutch-image"
#define BOOTMSG_TAG_DISK  "hutch-disk"

/**
 * bootmsg_make() - The BOOT frame
 * @o:		Checked, with what the image says in it
 * @ret:	malloc()ed, @ret_len bytes
 *
 * Return: 0; -EINVAL if a signal is named that is none; -E2BIG; -ENOMEM
 */
MUST_CHECK int bootmsg_make(const struct hutch_start_opts *o,
			    const struct mounts *mounts, const char *hostname,
			    uint8_t **ret, size_t *ret_len, struct err *e);

/**
 * bootmsg_add_ca() - The same message with a certificate, as a memory file
 * @fd:		A memory file that holds one that has a network
 * @pem:	See struct msg_net
 *
 * Return: a descriptor; -EBADMSG if either is not what it should be; or -errno
 */
MUST_CHECK int bootmsg_add_ca(int fd, const char *pem, struct err *e);

#endif
