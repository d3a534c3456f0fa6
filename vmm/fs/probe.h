/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/probe.h - whether the host's file system has what a share needs */
#ifndef HUTCH_VMM_FS_PROBE_H
#define HUTCH_VMM_FS_PROBE_H

#include "common/base.h"
#include "common/err.h"

struct fs_server;

/*
 * A folder in the root, while it is tried what can be done with names.  What a
 * guest has put there is removed.
 */
#define FS_PROBE_NAME ".hutch-probe"

/**
 * fs_probe() - Try what requests will rely on, before there are any
 *
 * A mapped tree needs user.* attributes; one that fs_opts.upper is set for,
 * RENAME_WHITEOUT and RENAME_EXCHANGE too.  Nothing that it makes stays; what
 * a process that was killed has left goes when it is tried again.
 *
 * Return: 0, or -errno with a sentence in @e
 */
MUST_CHECK int fs_probe(const struct fs_server *s, struct err *e);

#endif
