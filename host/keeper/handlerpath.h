/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/handlerpath.h - a path to a socket that no guest can have changed
 *
 * A guest that may write to a folder can put a link there, or another folder, in
 * the place of what the user had in mind. So the way is gone name by name, and
 * goes through no such folder, wherever links on it lead.
 */
#ifndef HUTCH_HOST_KEEPER_HANDLERPATH_H
#define HUTCH_HOST_KEEPER_HANDLERPATH_H

#include <sys/types.h>

#include "common/err.h"
#include "host/lib/hutch.h"

#define HANDLERPATH_SHARES_MAX (HUTCH_MOUNTS_MAX + 1) /* and the disk */

/** struct handlerpath_shares - What the guest may write to; zeroed is none */
struct handlerpath_shares {
	unsigned int n;
	struct {
		dev_t dev;
		ino_t ino;
	} one[HANDLERPATH_SHARES_MAX];
};

/** handlerpath_share() - Add what @fd is; -1 is nothing. Return: 0 or -errno */
MUST_CHECK int handlerpath_share(struct handlerpath_shares *s, int fd);

/**
 * handlerpath_open() - Find the socket at @path, without connecting to it
 * @path:	Absolute
 *
 * Return: a descriptor (O_PATH); -EXDEV: the way leads through what the guest may
 *         write to; -ENOTSOCK: something else is there, or a link; or -errno
 */
MUST_CHECK int handlerpath_open(const struct handlerpath_shares *s,
				const char *path);

#endif
