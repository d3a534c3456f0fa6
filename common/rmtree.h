/* SPDX-License-Identifier: Apache-2.0 */
/* common/rmtree.h - remove a file, or a folder and all that is in it */
#ifndef HUTCH_COMMON_RMTREE_H
#define HUTCH_COMMON_RMTREE_H

#include "common/base.h"

/*
 * Folders in one another that are open at a time: an image is never deeper.
 * What a guest has made may be: what lies below is moved up, and goes then.
 */
#define RMTREE_DEPTH_MAX 300

/**
 * rmtree() - Remove @name in @dirfd, whatever it is; follows no link
 *
 * Return: 0 also if it was not there; or -errno
 */
MUST_CHECK int rmtree(int dirfd, const char *name);

/** rmtree_inside() - Remove all that is in the folder, but not itself */
MUST_CHECK int rmtree_inside(int dirfd);

#endif
