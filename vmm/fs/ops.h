/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/ops.h - the operations of FUSE, one function each
 *
 * Each reads the rest of its request, to the end, before it does anything, and
 * appends its answer.  Return: 0; a negative errno, which is then all of the
 * answer; FS_NO_REPLY; or FS_LATER.
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

/* open.c */
int fs_op_open(struct fs_req *r);
int fs_op_opendir(struct fs_req *r);
int fs_op_release(struct fs_req *r);
int fs_op_releasedir(struct fs_req *r);

/* create.c */
int fs_op_create(struct fs_req *r);
int fs_op_tmpfile(struct fs_req *r);

/* file.c */
int fs_op_read(struct fs_req *r);
int fs_op_write(struct fs_req *r);
int fs_op_flush(struct fs_req *r);
int fs_op_fsync(struct fs_req *r);
int fs_op_fsyncdir(struct fs_req *r);
int fs_op_fallocate(struct fs_req *r);
int fs_op_lseek(struct fs_req *r);
int fs_op_copy_file_range(struct fs_req *r);
int fs_op_statfs(struct fs_req *r);
int fs_op_syncfs(struct fs_req *r);
int fs_op_interrupt(struct fs_req *r);

/* lock.c */
int fs_op_getlk(struct fs_req *r);
int fs_op_setlk(struct fs_req *r);
int fs_op_setlkw(struct fs_req *r);

/* dax.c */
int fs_op_setupmapping(struct fs_req *r);
int fs_op_removemapping(struct fs_req *r);

/* dir.c */
int fs_op_readdir(struct fs_req *r);
int fs_op_readdirplus(struct fs_req *r);

/* names.c */
int fs_op_mkdir(struct fs_req *r);
int fs_op_mknod(struct fs_req *r);
int fs_op_symlink(struct fs_req *r);
int fs_op_readlink(struct fs_req *r);
int fs_op_link(struct fs_req *r);

/* unname.c */
int fs_op_unlink(struct fs_req *r);
int fs_op_rmdir(struct fs_req *r);
int fs_op_rename(struct fs_req *r);
int fs_op_rename2(struct fs_req *r);

/* xattr.c */
int fs_op_getxattr(struct fs_req *r);
int fs_op_setxattr(struct fs_req *r);
int fs_op_listxattr(struct fs_req *r);
int fs_op_removexattr(struct fs_req *r);

#endif
