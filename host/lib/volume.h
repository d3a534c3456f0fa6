/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/volume.h - named volumes: folders of hutch's own that VMs mount
 *
 *	volumes/lock		flock: held, and briefly, by who changes a name
 *	volumes/name/NAME/	in the mapped layout; flock: shared, in use; alone,
 *				about to be filled
 *	volumes/tmp/HEX/	what is being made or removed; flock: by somebody
 *
 * A volume is made in tmp/ and moved to its name by one rename; to remove one
 * is to move it back.  To copy and to remove takes as long as it takes, and is
 * done without the lock: what is found in tmp/ and not locked was left by a
 * crash.  Whoever wants a volume that is being filled waits for just that.
 */
#ifndef HUTCH_HOST_LIB_VOLUME_H
#define HUTCH_HOST_LIB_VOLUME_H

#include "common/err.h"
#include "host/lib/hutch.h"

/**
 * volume_open() - Use a volume, made if it is not there
 * @tree:	Of an image, or -1.  An empty volume that nobody uses is filled
 *		with what this has at @target, as Docker does it
 *
 * Return: a descriptor to read it; as long as it or a copy is open the volume
 *         stays.  -EINVAL if it is no name; or -errno with a sentence
 */
MUST_CHECK int volume_open(struct hutch *h, const char *name, int tree,
			   const char *target, struct err *e);

#endif
