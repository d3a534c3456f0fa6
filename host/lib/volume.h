/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/volume.h - named volumes: folders of hutch's own that VMs mount
 *
 *	volumes/lock		flock: held, and briefly, by who changes a name
 *	volumes/name/NAME/	in the mapped layout; flock: shared, in use; alone,
 *				about to be filled, or in use and with a size
 *	volumes/tmp/HEX/	what is being made or removed; flock: by somebody
 *
 * A volume is made in tmp/ and moved to its name by one rename; to remove one
 * is to move it back.  To copy and to remove takes as long as it takes, and is
 * done without the lock: what is found in tmp/ and not locked was left by a
 * crash.  Whoever wants a volume that is being filled waits for just that.
 *
 * How large one may be is an attribute of its folder, which is there before the
 * name is.  Each monitor counts for itself what it lets a guest write (vmm/fs),
 * so of those that have a size one at a time is written to, and nobody else has
 * it meanwhile.
 */
#ifndef HUTCH_HOST_LIB_VOLUME_H
#define HUTCH_HOST_LIB_VOLUME_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "host/lib/hutch.h"

/**
 * volume_open() - Use a volume, made if it is not there
 * @tree:	Of an image, or -1.  An empty volume that nobody uses is filled
 *		with what this has at @target, as Docker does it
 * @ro:		Nothing will be written to it
 *
 * Return: a descriptor to read it; as long as it or a copy is open the volume
 *         stays.  -EINVAL if it is no name; -EBUSY if it has a size and another
 *         VM has it, which waits for a moment first; or -errno with a sentence
 */
MUST_CHECK int volume_open(struct hutch *h, const char *name, int tree,
			   const char *target, bool ro, struct err *e);

/** volume_set_size() - What volume_size() says from now on. Return: 0 or -errno */
MUST_CHECK int volume_set_size(int fd, uint64_t bytes);

/**
 * volume_size() - How large it may be
 * @fd:		Of volume_open()
 * @ret:	Bytes; 0 for as much as there is
 *
 * Return: 0; -EBADMSG if what says so is none of ours; -errno
 */
MUST_CHECK int volume_size(int fd, uint64_t *ret);

/** volume_used() - Bytes in it, as its size counts them; -1: not to be had */
int64_t volume_used(int fd);

#endif
