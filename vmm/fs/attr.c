/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/attr.c - GETATTR and STATX, and what others need of it; see attr.h */
#include <errno.h>

#include "vmm/fs/attr.h"
#include "vmm/fs/dax.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

#define AUTO_VALID_S   1u
#define ALWAYS_VALID_S INT32_MAX /* for ever */

/* Bits that overlayfs takes for two layers; and those that 53 do not keep. */
#define XINO_BITS   2
#define DOUBLE_LOST 11

#define STAT_MASK (STATX_BASIC_STATS | STATX_BTIME)

uint64_t fs_valid_s(const struct fs_server *s)
{
	switch (s->o.cache) {
	case FS_CACHE_ALWAYS:
		return ALWAYS_VALID_S;
	case FS_CACHE_NEVER:
		return 0;
	default:
		return AUTO_VALID_S;
	}
}

int fs_stat(const struct fs_server *s, int fd, struct statx *ret)
{
	if (statx(fd, "", AT_EMPTY_PATH, STAT_MASK, ret) < 0)
		return -errno;
	return fs_owner_see(s, fd, ret);
}

/* The made-up folder is as old as the file in it. */
static int stat_stub(const struct fs_server *s, struct statx *ret)
{
	int r = fs_stat(s, s->file_fd, ret);

	if (r < 0)
		return r;
	ret->stx_ino = ret->stx_ino == 1 ? 2 : 1;
	ret->stx_mode = S_IFDIR | 0555;
	ret->stx_nlink = 2;
	ret->stx_size = 0;
	ret->stx_blocks = 0;
	return 0;
}

int fs_stat_at(const struct fs_server *s, const struct fs_at *at,
	       struct statx *ret)
{
	return at->ino->stub ? stat_stub(s, ret) : fs_stat(s, at->fd, ret);
}

/* FUSE has the kernel's own form of a device number. */
static uint32_t rdev_of(const struct statx *st)
{
	uint32_t minor = st->stx_rdev_minor;

	return (minor & 0xff) | st->stx_rdev_major << 8 |
	       (minor & ~0xffu) << 12;
}

uint64_t fs_attr_number(const struct fs_server *s, uint64_t ino)
{
	return s->o.lower && ino >> (64 - XINO_BITS - DOUBLE_LOST) == 0
		       ? ino << DOUBLE_LOST
		       : ino;
}

void fs_attr_fill(const struct fs_server *s, const struct statx *st,
		  struct fuse_attr *ret)
{
	*ret = (struct fuse_attr){
		.ino = fs_attr_number(s, st->stx_ino),
		.size = st->stx_size,
		.blocks = st->stx_blocks,
		.atime = (uint64_t)st->stx_atime.tv_sec,
		.mtime = (uint64_t)st->stx_mtime.tv_sec,
		.ctime = (uint64_t)st->stx_ctime.tv_sec,
		.atimensec = st->stx_atime.tv_nsec,
		.mtimensec = st->stx_mtime.tv_nsec,
		.ctimensec = st->stx_ctime.tv_nsec,
		.mode = st->stx_mode,
		.nlink = st->stx_nlink,
		.uid = st->stx_uid,
		.gid = st->stx_gid,
		.rdev = rdev_of(st),
		.blksize = st->stx_blksize,
		.flags = fs_dax_wanted(s, st) ? FUSE_ATTR_DAX : 0,
	};
}

/* By the handle, if the guest names one: it is the quickest way, and sure. */
static int stat_request(struct fs_req *r, uint32_t flags, uint64_t fh,
			struct statx *st)
{
	struct fs_server *s = r->s;
	struct fs_handle *h = NULL;
	struct fs_at at;
	int e;

	if (flags & FUSE_GETATTR_FH) {
		e = fs_handle_get(s, fh, r->h.nodeid, false, &h);
		if (e < 0)
			return e;
		e = fs_stat(s, h->fd, st);
		fs_handle_put(s, h);
		return e;
	}
	e = fs_get(s, r->h.nodeid, &at);
	if (e == 0)
		e = fs_stat_at(s, &at, st);
	fs_put(s, &at);
	return e;
}

int fs_op_getattr(struct fs_req *r)
{
	struct fuse_attr_out out = { .attr_valid = fs_valid_s(r->s) };
	struct fuse_getattr_in in;
	struct statx st = { 0 };
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = stat_request(r, in.getattr_flags, in.fh, &st);
	if (e < 0)
		return e;
	fs_attr_fill(r->s, &st, &out.attr);
	return fs_req_put(r, &out, sizeof(out));
}

static struct fuse_sx_time sx_time(const struct statx_timestamp *t)
{
	return (struct fuse_sx_time){ .tv_sec = t->tv_sec,
				      .tv_nsec = t->tv_nsec };
}

static void fill_statx(const struct fs_server *s, const struct statx *st,
		       struct fuse_statx *ret)
{
	*ret = (struct fuse_statx){
		.mask = st->stx_mask & STAT_MASK,
		.blksize = st->stx_blksize,
		.nlink = st->stx_nlink,
		.uid = st->stx_uid,
		.gid = st->stx_gid,
		.mode = st->stx_mode,
		.ino = fs_attr_number(s, st->stx_ino),
		.size = st->stx_size,
		.blocks = st->stx_blocks,
		.atime = sx_time(&st->stx_atime),
		.btime = sx_time(&st->stx_btime),
		.ctime = sx_time(&st->stx_ctime),
		.mtime = sx_time(&st->stx_mtime),
		.rdev_major = st->stx_rdev_major,
		.rdev_minor = st->stx_rdev_minor,
	};
}

int fs_op_statx(struct fs_req *r)
{
	struct fuse_statx_out out = { .attr_valid = fs_valid_s(r->s) };
	struct fuse_statx_in in;
	struct statx st = { 0 };
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = stat_request(r, in.getattr_flags, in.fh, &st);
	if (e < 0)
		return e;
	fill_statx(r->s, &st, &out.stat);
	return fs_req_put(r, &out, sizeof(out));
}
