/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/open.h - what opening a file and writing to it have in common */
#ifndef HUTCH_VMM_FS_OPEN_H
#define HUTCH_VMM_FS_OPEN_H

#include <stdbool.h>

#include "common/base.h"

struct fs_server;

/**
 * fs_kill_priv() - Somebody writes to a file who may not keep it setuid
 * @fd:		The file, no O_PATH
 *
 * The host does this itself for an ordinary user's writes; we do if we are root
 * there, and in a mapped tree.  File capabilities Linux removes by itself, with
 * a REMOVEXATTR.
 */
MUST_CHECK int fs_kill_priv(const struct fs_server *s, int fd);

#endif
