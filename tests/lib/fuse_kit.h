/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fuse_kit.h - a guest that speaks FUSE, and a scratch folder
 *
 * Requests and answers lie on the heap in pieces of exact size, so that ASan
 * sees what leaves them.  The folder is "share" in a scratch folder, whose
 * other content is out of the guest's reach, and is looked at in the end.
 */
#ifndef HUTCH_TESTS_FUSE_KIT_H
#define HUTCH_TESTS_FUSE_KIT_H

#include <sys/stat.h>

#include "vmm/fs/proto.h"
#include "vmm/fs/server.h"

#define FK_PATH 512u

/* What a request that the server puts aside gives, in place of an errno. */
#define FK_LATER 1

/* What lies beside the shared folder. */
#define FK_SECRET "the host's own"

/**
 * struct fuse_kit - Guest, server and scratch folder
 * @s:		The server
 * @top:	Path of the scratch folder
 * @top_fd:	It
 * @fd:		The shared folder in it
 * @uid:	Who makes the requests
 * @gid:	His group
 * @tid:	His thread; 0 for 1
 * @unique:	Number of the next request; 0 for any
 * @piece:	Bytes in each piece, 0 for as few pieces as there can be
 * @room:	Bytes that an answer may have, behind its header
 * @body:	Of the last answer, behind its header
 * @len:	Bytes in @body
 * @entry:	The last entry that was looked up or made
 * @fh:		The last handle
 * @open_flags:	And what the guest may do with its pages
 */
struct fuse_kit {
	struct fs_server *s;
	char top[FK_PATH];
	int top_fd;
	int fd;
	uint32_t uid;
	uint32_t gid;
	uint32_t tid;
	uint64_t unique;
	size_t piece;
	size_t room;
	uint8_t *body;
	size_t len;
	struct fuse_entry_out entry;
	uint64_t fh;
	uint32_t open_flags;
};

/** fk_scratch() - Only the folders, no server */
void fk_scratch(struct fuse_kit *k);

/** fk_serve() - Share the folder; @o's root_fd is not looked at */
void fk_serve(struct fuse_kit *k, const struct fs_opts *o);

/** fk_init() - All of it, up to INIT; @o may be NULL for the usual */
void fk_init(struct fuse_kit *k, const struct fs_opts *o);

/** fk_done() - End the server, check what is outside, remove all */
void fk_done(struct fuse_kit *k);

/** fk_usual() - Options as a root of a VM has them */
struct fs_opts fk_usual(void);

/**
 * fk_raw() - Send bytes as they are
 * @in:		The whole request, with its header
 * @out_len:	Room for all of the answer, with its header
 *
 * Return: bytes of the answer; k->body and k->len are what is behind the
 *         header, *ret_error is its errno, negative, if there is one
 */
size_t fk_raw(struct fuse_kit *k, const void *in, size_t len, size_t out_len,
	      int *ret_error);

/** struct fk_names - Names behind the fixed part of a request; NULL for none */
struct fk_names {
	const char *first;
	const char *second;
};

#define FK_NAMES(a, b) ((struct fk_names){ (a), (b) })
#define FK_NO_NAMES    FK_NAMES(NULL, NULL)

/**
 * fk_op() - Send a sound request and take its answer
 * @arg:	Its fixed part, @len bytes
 *
 * Return: 0, or the answer's errno, negative
 */
int fk_op(struct fuse_kit *k, uint32_t op, uint64_t node, const void *arg,
	  size_t len, struct fk_names names);

int fk_start(struct fuse_kit *k);

/* Each returns 0 or a negative errno; what it gives is in @k. */
int fk_lookup(struct fuse_kit *k, uint64_t dir, const char *name);
int fk_getattr(struct fuse_kit *k, uint64_t node, struct fuse_attr *ret);
void fk_forget(struct fuse_kit *k, uint64_t node, uint64_t n);

int fk_setattr(struct fuse_kit *k, uint64_t node,
	       const struct fuse_setattr_in *in, struct fuse_attr *ret);

/* Files. */
int fk_open(struct fuse_kit *k, uint64_t node, uint32_t flags);
int fk_create(struct fuse_kit *k, uint64_t dir, const char *name,
	      uint32_t flags, uint32_t mode);
int fk_tmpfile(struct fuse_kit *k, uint64_t dir, uint32_t flags, uint32_t mode);
int fk_read(struct fuse_kit *k, uint64_t node, uint64_t fh, uint64_t off,
	    uint32_t size);
/** fk_write() - Return: bytes, or a negative errno */
int fk_write(struct fuse_kit *k, uint64_t node, uint64_t fh, uint64_t off,
	     const void *data, uint32_t len);
/** fk_write_as() - The same with flags of the file and of the write */
int fk_write_as(struct fuse_kit *k, const struct fuse_write_in *in,
		uint64_t node, const void *data);
int fk_release(struct fuse_kit *k, uint64_t node, uint64_t fh);

/* Folders. */
int fk_opendir(struct fuse_kit *k, uint64_t node);
int fk_releasedir(struct fuse_kit *k, uint64_t node, uint64_t fh);
int fk_readdir(struct fuse_kit *k, uint64_t node, uint64_t off, uint32_t size,
	       bool plus);

/**
 * struct fk_dirent - One entry of READDIR
 * @ino:	Number of the inode
 * @off:	Position behind it
 * @type:	DT_*
 * @name:	Its name
 * @entry:	What came with it, if it was READDIRPLUS
 */
struct fk_dirent {
	uint64_t ino;
	uint64_t off;
	uint32_t type;
	char name[256];
	struct fuse_entry_out entry;
};

/** fk_dirent() - The entry at *@at of the answer, which goes on to the next */
bool fk_dirent(const struct fuse_kit *k, size_t *at, bool plus,
	       struct fk_dirent *ret);

/* Names. */
int fk_mkdir(struct fuse_kit *k, uint64_t dir, const char *name, uint32_t mode);
int fk_mknod(struct fuse_kit *k, uint64_t dir, const char *name, uint32_t mode,
	     uint32_t rdev);
int fk_symlink(struct fuse_kit *k, uint64_t dir, const char *name,
	       const char *target);
int fk_link(struct fuse_kit *k, uint64_t node, uint64_t dir, const char *name);
int fk_unlink(struct fuse_kit *k, uint64_t dir, const char *name);
int fk_rmdir(struct fuse_kit *k, uint64_t dir, const char *name);
/** fk_rename() - RENAME2; plain RENAME if there are no flags */
int fk_rename(struct fuse_kit *k, uint64_t dir, const char *name,
	      uint64_t newdir, const char *newname, uint32_t flags);

/* Attributes. */
int fk_setxattr(struct fuse_kit *k, uint64_t node, const char *name,
		const void *value, uint32_t len, uint32_t flags);
int fk_getxattr(struct fuse_kit *k, uint64_t node, const char *name,
		uint32_t size);
int fk_listxattr(struct fuse_kit *k, uint64_t node, uint32_t size);
int fk_removexattr(struct fuse_kit *k, uint64_t node, const char *name);

/** fk_body_is() - Whether the answer is that text */
bool fk_body_is(const struct fuse_kit *k, const char *text);

/** fk_at() - The inode at a path of the folder, looked up step by step */
uint64_t fk_at(struct fuse_kit *k, const char *path);

/* The host's doings, in the shared folder. All must work. */
void fk_host_file(struct fuse_kit *k, const char *path, const char *text);
void fk_host_dir(struct fuse_kit *k, const char *path);
void fk_host_move(struct fuse_kit *k, const char *from, const char *to);

/** fk_host_aged() - Give it a time of access that any read would change */
struct stat fk_host_aged(struct fuse_kit *k, const char *path);

/** fk_clock_goes_on() - What is stamped from now on is stamped later */
void fk_clock_goes_on(struct fuse_kit *k);

/** fk_host_text() - What is in a file; "" if there is none. Static memory */
const char *fk_host_text(struct fuse_kit *k, const char *path);

#endif
