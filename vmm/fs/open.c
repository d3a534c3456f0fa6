/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/open.c - OPEN, OPENDIR and their ends; see open.h */
#include <errno.h>

#include "vmm/fs/entry.h"
#include "vmm/fs/lock.h"
#include "vmm/fs/open.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

/*
 * O_APPEND comes with each WRITE; O_DIRECT would ask for an alignment of the
 * guest's memory.
 */
int fs_host_flags(const struct fs_server *s, uint32_t guest)
{
	int flags = (int)(guest & (O_ACCMODE | O_SYNC));

	if ((flags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	/* Linux truncates for readers too. */
	if (guest & O_TRUNC && (flags & O_ACCMODE) == O_RDONLY)
		flags |= O_RDWR;
	return s->o.ro && (flags & O_ACCMODE) != O_RDONLY ? -EROFS : flags;
}

/* One whose name is gone can be opened again if it is open that way. */
static int open_again(struct fs_server *s, struct fs_inode *ino, int flags)
{
	struct fs_at at = { .ino = ino, .fd = -1 };
	int fd = -ESTALE;

	fs_lock(s);
	ino->refs++;
	fs_unlock(s);
	if (fs_borrow(s, flags & O_ACCMODE, &at)) {
		fd = fcntl(at.fd, F_DUPFD_CLOEXEC, 0);
		fd = fd < 0 ? -errno : fd;
	}
	fs_put(s, &at);
	return fd;
}

int fs_open_inode(struct fs_server *s, struct fs_inode *ino, int flags)
{
	int fd = fs_walk(s, ino, flags);

	return fd == -ESTALE ? open_again(s, ino, flags) : fd;
}

static int64_t time_ns(const struct statx_timestamp *t)
{
	return (int64_t)((uint64_t)t->tv_sec * 1000000000u + t->tv_nsec);
}

/*
 * Whether the guest's pages of the file are as good as those of the file.  The
 * time of the last write can be set back, with that of the last change it
 * cannot be done.
 */
static bool unchanged(struct fs_server *s, struct fs_inode *ino,
		      const struct statx *st)
{
	int64_t mtime_ns = time_ns(&st->stx_mtime);
	int64_t ctime_ns = time_ns(&st->stx_ctime);
	bool same;

	fs_lock(s);
	same = ino->seen_mtime_ns == mtime_ns &&
	       ino->seen_ctime_ns == ctime_ns && ino->seen_size == st->stx_size;
	ino->seen_mtime_ns = mtime_ns;
	ino->seen_ctime_ns = ctime_ns;
	ino->seen_size = st->stx_size;
	fs_unlock(s);
	return same;
}

/* With locks of the host each close is to be told: they go with it. */
static uint32_t no_flush(const struct fs_server *s)
{
	return s->o.locks ? 0 : FOPEN_NOFLUSH;
}

uint32_t fs_open_flags(struct fs_server *s, struct fs_inode *ino,
		       const struct statx *st)
{
	switch (s->o.cache) {
	case FS_CACHE_ALWAYS:
		return no_flush(s) | FOPEN_KEEP_CACHE;
	case FS_CACHE_NEVER:
		return no_flush(s) | FOPEN_DIRECT_IO |
		       FOPEN_PARALLEL_DIRECT_WRITES;
	default:
		return unchanged(s, ino, st) ? no_flush(s) | FOPEN_KEEP_CACHE
					     : no_flush(s);
	}
}

/* What is there to be done before the guest has it. */
static int prepare(struct fs_server *s, struct fs_inode *ino, int fd,
		   const struct fuse_open_in *in, struct fuse_open_out *out)
{
	struct statx st = { 0 };
	int r = 0;

	if (fs_is_mapped(s) || s->o.cache == FS_CACHE_AUTO)
		r = fs_stat(s, fd, &st);
	if (r == 0 && fs_is_mapped(s) && !S_ISREG(st.stx_mode))
		r = -EOPNOTSUPP;
	if (r == 0 && in->flags & O_TRUNC) {
		r = fs_truncate(s, ino, fd, 0);
		if (r < 0)
			return r;
		if (in->open_flags & FUSE_OPEN_KILL_SUIDGID)
			r = fs_kill_priv(s, fd);
		if (r == 0)
			r = fs_stat(s, fd, &st);
	}
	if (r == 0)
		out->open_flags = fs_open_flags(s, ino, &st);
	return r;
}

/*
 * What may be refused comes first, and then what cannot be undone: nothing is
 * truncated for an answer that is an error.  The handle is referred to
 * meanwhile, as a guest may guess its number and close it.
 */
static int add_prepared(struct fs_server *s, struct fs_inode *ino, int fd,
			int flags, const struct fuse_open_in *in,
			struct fuse_open_out *out)
{
	struct fs_handle *h = NULL;
	int r = fs_handle_add(s, ino, fd, flags, &out->fh);

	if (r == 0)
		r = fs_handle_get(s, out->fh, ino->id, false, &h);
	if (r)
		return r;
	r = prepare(s, ino, h->fd, in, out);
	fs_handle_put(s, h);
	if (r < 0 && fs_handle_close(s, out->fh, ino->id, false) < 0)
		r = -EBADF; /* the guest did */
	return r;
}

int fs_open_file(struct fs_server *s, struct fs_inode *ino,
		 const struct fuse_open_in *in, struct fuse_open_out *out)
{
	auto_fd int fd = -1;
	int flags = fs_host_flags(s, in->flags);

	if (flags < 0)
		return flags;
	if (S_ISDIR(ino->type))
		return -EISDIR;
	if (!S_ISREG(ino->type))
		return -EOPNOTSUPP;
	fd = fs_open_inode(s, ino, flags);
	if (fd < 0)
		return fd;
	return add_prepared(s, ino, take_fd(&fd), flags, in, out);
}

int fs_op_open(struct fs_req *r)
{
	struct fuse_open_out out = { 0 };
	struct fuse_open_in in;
	struct fs_inode *ino = NULL;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = fs_req_needs(r, sizeof(out));
	if (e == 0)
		e = fs_find(r->s, r->h.nodeid, &ino);
	if (e)
		return e;
	e = fs_open_file(r->s, ino, &in, &out);
	fs_drop(r->s, ino);
	return e < 0 ? e : fs_req_put(r, &out, sizeof(out));
}

int fs_op_opendir(struct fs_req *r)
{
	struct fs_server *s = r->s;
	struct fuse_open_out out = { 0 };
	struct fuse_open_in in;
	struct fs_inode *ino = NULL;
	int fd = -1, e;

	e = fs_req_last(r, &in, sizeof(in));
	if (e == 0)
		e = fs_req_needs(r, sizeof(out));
	if (e == 0)
		e = fs_find(s, r->h.nodeid, &ino);
	if (e)
		return e;
	if (!S_ISDIR(ino->type))
		e = -ENOTDIR;
	else if (!ino->stub)
		e = fd = fs_walk(s, ino, O_RDONLY);
	if (e >= 0)
		e = fs_handle_add(s, ino, fd, O_RDONLY, &out.fh);
	fs_drop(s, ino);
	if (e < 0)
		return e;
	if (s->o.cache == FS_CACHE_ALWAYS)
		out.open_flags = FOPEN_KEEP_CACHE | FOPEN_CACHE_DIR;
	return fs_req_put(r, &out, sizeof(out));
}

static int release(struct fs_req *r, bool dir)
{
	struct fuse_release_in in;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = fs_handle_close(r->s, in.fh, r->h.nodeid, dir);
	if (e == 0 && !dir && r->s->o.locks)
		fs_locks_release(r->s, in.fh);
	return e;
}

int fs_op_release(struct fs_req *r)
{
	return release(r, false);
}

int fs_op_releasedir(struct fs_req *r)
{
	return release(r, true);
}
