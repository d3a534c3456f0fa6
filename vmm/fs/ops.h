/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/ops.h - the operations of FUSE, one function each
 *
 * Each reads the rest of its request, to the end, before it does anything, and
 * appends its answer.  Return: 0; a negative errno, which is then all of the
 * answer; or FS_NO_REPLY.
 *
 * Context: any thread, several at once; none holds the lock.
 */
#ifndef HUTCH_VMM_FS_OPS_H
#define HUTCH_VMM_FS_OPS_H

#include "vmm/fs/req.h"

/* session.c */
int fs_op_init(struct fs_req *r);
int fs_op_destroy(struct fs_req *r);

/* attr.c, setattr.c */
int fs_op_getattr(struct fs_req *r);
int fs_op_statx(struct fs_req *r);
int fs_op_setattr(struct fs_req *r);

/* entry.c */
int fs_op_lookup(struct fs_req *r);
int fs_op_forget(struct fs_req *r);
int fs_op_batch_forget(struct fs_req *r);

#endif
