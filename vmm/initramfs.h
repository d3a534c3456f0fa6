/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/initramfs.h - the first root, written straight into guest memory
 *
 * The user's own initramfs, as it is, then one archive of ours (format
 * "newc", Documentation/driver-api/early-userspace/buffer-format):
 *
 *	/dev		folder, with /dev/console (5, 1)
 *	/.hutch		folder
 *	/.hutch/boot	0600, the boot message
 *	/init		0755, the agent
 */
#ifndef HUTCH_VMM_INITRAMFS_H
#define HUTCH_VMM_INITRAMFS_H

#include <stdint.h>

#include "common/err.h"

#define INITRAMFS_AGENT_MAX (64u << 20)
#define INITRAMFS_BOOT_MAX  (2u << 20) /* one message of the agent protocol */

struct gmem;

/** struct initramfs - Regular files, borrowed; -1 for none */
struct initramfs {
	int initrd_fd;
	int agent_fd;
	int boot_fd;
};

/**
 * initramfs_len() - Bytes it will take; 0 if there is nothing to put in
 *
 * Return: 0, -EINVAL for a file of a senseless size, or -errno; with a sentence
 */
MUST_CHECK int initramfs_len(const struct initramfs *i, uint64_t *ret,
			     struct err *e);

/** initramfs_load() - Write it at @gpa, where initramfs_len() bytes are free */
MUST_CHECK int initramfs_load(const struct initramfs *i, const struct gmem *m,
			      uint64_t gpa, struct err *e);

#endif
