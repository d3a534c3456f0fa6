/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/share_opt.h - the value of --fs: a folder or file and how it is shared */
#ifndef HUTCH_VMM_SHARE_OPT_H
#define HUTCH_VMM_SHARE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "vmm/core/window.h"
#include "vmm/fs/server.h"
#include "vmm/virtio/fs.h"

/* Folders of the user, an image, and the disk over it. */
#define SHARES_MAX 18u

/* Of files that are mapped; Linux never gets by with a few ranges of 2 MiB. */
#define SHARE_WINDOW_MIN     (16ull << 20)
#define SHARE_WINDOW_MAX     WINDOW_LEN_MAX
#define SHARE_WINDOW_DEFAULT (64ull << 20)

/* Of a smaller VM the window's page structures would take too large a part. */
#define SHARE_DAX_MEMORY (512ull << 20)

/**
 * struct share_opt - One --fs
 * @tag:	What the guest mounts it by
 * @dir:	Path as it stands on the command line, @dir_len bytes; NULL if
 *		@fd was given
 * @fd:		-1 until given or opened; then owned
 * @queues:	Of requests
 * @upper:	It is to be the upper layer of an overlayfs
 * @lower:	It is to be the lower layer of one
 * @quota_bytes: As fs_opts has it, and the next
 * @dax:	Which files the guest maps
 * @dax_auto:	It was not said, or left to us: see share_opt_settle()
 * @locks:	Where locks of files hold
 * @window:	Bytes of guest memory for that; 0 if none
 */
struct share_opt {
	char tag[VIRTIO_FS_TAG_MAX + 1];
	const char *dir;
	size_t dir_len;
	int fd;
	bool ro;
	enum fs_cache cache;
	enum fs_owner owner;
	uint32_t uid;
	uint32_t gid;
	unsigned int queues;
	bool upper;
	bool lower;
	uint64_t quota_bytes;
	uint64_t quota_inodes;
	enum fs_dax dax;
	bool dax_auto;
	enum fs_locks locks;
	uint64_t window;
};

/**
 * share_opt_parse() - "tag=T,dir=D,ro,..."; touches nothing but @ret
 * @v:		Borrowed as long as @ret is used
 *
 * Return: 0, or -EINVAL or -ERANGE with a sentence
 */
MUST_CHECK int share_opt_parse(const char *v, struct share_opt *ret,
			       struct err *e);

/**
 * share_opt_settle() - What depends on other options
 * @memory:	Of the guest, in bytes
 *
 * Files are mapped, if nothing was said, where nobody changes them: read-only,
 * and all may be remembered.  Their pages are then what the guest would have a
 * copy of, and no more.
 */
void share_opt_settle(struct share_opt *s, uint64_t memory);

/** share_opt_no_window() - Of one that was not asked for, and cannot be had */
void share_opt_no_window(struct share_opt *s);

/** share_opt_is_still() - Nobody changes the files: their lengths stay, too */
bool share_opt_is_still(const struct share_opt *s);

/**
 * share_opt_open() - Open what was named, or check the descriptor
 *
 * A folder is opened as a place alone, a regular file for what the guest may
 * do with it.
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int share_opt_open(struct share_opt *s, struct err *e);

#endif
