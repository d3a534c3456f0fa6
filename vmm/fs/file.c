/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/file.c - what is done with open files */
#include <errno.h>
#include <linux/falloc.h>
#include <sys/statfs.h>

#include "vmm/fs/dax.h"
#include "vmm/fs/handle.h"
#include "vmm/fs/lock.h"
#include "vmm/fs/open.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"
#include "vmm/fs/walk.h"

/* One COPY_FILE_RANGE, which may copy less than it is asked to. */
#define COPY_MAX (16u << 20)

/* What of fallocate() a guest can mean without moving what is behind. */
#define FALLOC_KNOWN \
	(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)

static bool range_ok(uint64_t off, uint64_t len)
{
	return off <= INT64_MAX && len <= INT64_MAX - off;
}

/*
 * A read that comes back short is the end of the file, or an error that the
 * next one tells of: it is not for us to take one for the other.
 *
 * Return: 0, with fewer bytes only at the end of the file; or -errno
 */
static int read_into(struct fs_req *r, int fd, uint64_t off, size_t size)
{
	struct iovec iov[FS_IOV_MAX];
	size_t len;

	while (size > 0) {
		int n = fs_req_pieces_out(r, size, iov, &len);
		ssize_t got = preadv(fd, iov, n, (off_t)off);

		if (got <= 0)
			return got < 0 ? -errno : 0;
		r->len += (size_t)got;
		off += (size_t)got;
		size -= (size_t)got;
	}
	return 0;
}

int fs_op_read(struct fs_req *r)
{
	struct fuse_read_in in;
	struct fs_handle *h = NULL;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = fs_req_needs(r, in.size);
	if (e < 0)
		return e;
	if (in.size > FS_IO_MAX || !range_ok(in.offset, in.size))
		return -EINVAL;
	e = fs_handle_get(r->s, in.fh, r->h.nodeid, false, &h);
	if (e)
		return e;
	e = read_into(r, h->fd, in.offset, in.size);
	fs_handle_put(r->s, h);
	return e;
}

/* Return: bytes written of @all, at least one; or -errno */
static ssize_t write_from(struct fs_req *r, int fd, uint64_t off, size_t all,
			  int flags)
{
	struct iovec iov[FS_IOV_MAX];
	size_t done = 0, len;

	while (done < all) {
		int n = fs_req_pieces_in(r, all - done, iov, &len);
		ssize_t got = pwritev2(fd, iov, n, (off_t)(off + done), flags);

		if (got < 0)
			return done ? (ssize_t)done : -errno;
		done += (size_t)got;
		if ((size_t)got < len)
			break;
	}
	return (ssize_t)done;
}

static ssize_t do_write(struct fs_req *r, const struct fuse_write_in *in,
			const struct fs_handle *h)
{
	bool cached = in->write_flags & FUSE_WRITE_CACHE;
	int flags = in->flags & O_APPEND && !cached ? RWF_APPEND : 0;
	struct fs_growing g;
	size_t len = in->size;
	ssize_t n;
	int e = 0;

	if ((h->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (in->write_flags & FUSE_WRITE_KILL_SUIDGID)
		e = fs_kill_priv(r->s, h->fd);
	if (e < 0)
		return e;
	e = fs_quota_writing(r->s, h->ino, h->fd,
			     flags ? UINT64_MAX : in->offset, &len, &g);
	if (e < 0)
		return e;
	n = write_from(r, h->fd, in->offset, len, flags);
	fs_quota_grown(r->s, &g);
	return n;
}

int fs_op_write(struct fs_req *r)
{
	struct fuse_write_out out = { 0 };
	struct fuse_write_in in;
	struct fs_handle *h = NULL;
	ssize_t n;
	int e = fs_req_get(r, &in, sizeof(in));

	if (e == 0)
		e = fs_req_needs(r, sizeof(out));
	if (e < 0)
		return e;
	if (in.size != r->in_left || in.size > FS_IO_MAX ||
	    !range_ok(in.offset, in.size))
		return -EINVAL;
	e = fs_handle_get(r->s, in.fh, r->h.nodeid, false, &h);
	if (e)
		return e;
	n = do_write(r, &in, h);
	fs_handle_put(r->s, h);
	if (n < 0)
		return (int)n;
	out.size = (uint32_t)n;
	return fs_req_put(r, &out, sizeof(out));
}

/* Each close() of a process; what there is to flush was written already. */
int fs_op_flush(struct fs_req *r)
{
	struct fuse_flush_in in;
	struct fs_handle *h = NULL;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = fs_handle_get(r->s, in.fh, r->h.nodeid, false, &h);
	if (e)
		return e;
	if (r->s->o.locks)
		fs_locks_flush(r->s, h->ino, in.lock_owner);
	fs_handle_put(r->s, h);
	return 0;
}

static int sync_handle(struct fs_req *r, bool dir)
{
	struct fuse_fsync_in in;
	struct fs_handle *h = NULL;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = fs_handle_get(r->s, in.fh, r->h.nodeid, dir, &h);
	if (e)
		return e;
	if (h->fd < 0)
		e = 0; /* the made-up folder never changes */
	else if (in.fsync_flags & FUSE_FSYNC_FDATASYNC)
		e = fdatasync(h->fd);
	else
		e = fsync(h->fd);
	e = e < 0 ? -errno : 0;
	fs_handle_put(r->s, h);
	return e;
}

int fs_op_fsync(struct fs_req *r)
{
	return sync_handle(r, false);
}

int fs_op_fsyncdir(struct fs_req *r)
{
	return sync_handle(r, true);
}

/*
 * With a quota it is the size that counts, so that there is nothing to be had
 * behind it.
 */
static int may_allocate(struct fs_server *s, const struct fuse_fallocate_in *in,
			const struct fs_handle *h, struct fs_growing *g)
{
	uint64_t end = in->offset + in->length;

	if (!(in->mode & FALLOC_FL_KEEP_SIZE))
		return fs_quota_sizing(s, h->ino, h->fd, end, g);
	fs_quota_holding(s, h->ino, h->fd, g);
	if (!g->lock || in->mode & FALLOC_FL_PUNCH_HOLE || end <= g->before)
		return 0;
	fs_quota_grown(s, g);
	return -EOPNOTSUPP;
}

/* It changes what is in the file, as a write does. */
static int allocate(struct fs_server *s, const struct fuse_fallocate_in *in,
		    const struct fs_handle *h)
{
	struct fs_growing g;
	int e;

	if ((h->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	e = fs_kill_priv(s, h->fd);
	if (e == 0)
		e = may_allocate(s, in, h, &g);
	if (e < 0)
		return e;
	if (fallocate(h->fd, (int)in->mode, (off_t)in->offset,
		      (off_t)in->length) < 0)
		e = -errno;
	fs_quota_grown(s, &g);
	return e;
}

int fs_op_fallocate(struct fs_req *r)
{
	struct fuse_fallocate_in in;
	struct fs_handle *h = NULL;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e < 0)
		return e;
	if (in.mode & ~(uint32_t)FALLOC_KNOWN)
		return -EOPNOTSUPP;
	if (in.length == 0 || !range_ok(in.offset, in.length))
		return -EINVAL;
	e = fs_handle_get(r->s, in.fh, r->h.nodeid, false, &h);
	if (e)
		return e;
	e = allocate(r->s, &in, h);
	fs_handle_put(r->s, h);
	return e;
}

int fs_op_lseek(struct fs_req *r)
{
	struct fuse_lseek_out out;
	struct fuse_lseek_in in;
	struct fs_handle *h = NULL;
	off_t at;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e < 0)
		return e;
	/* Linux asks for these two alone; the position is its own. */
	if (in.whence != SEEK_DATA && in.whence != SEEK_HOLE)
		return -EINVAL;
	/* One below 0, that is: there is neither data nor a hole. */
	if (in.offset > INT64_MAX)
		return -ENXIO;
	e = fs_handle_get(r->s, in.fh, r->h.nodeid, false, &h);
	if (e)
		return e;
	at = lseek(h->fd, (off_t)in.offset, (int)in.whence);
	e = at < 0 ? -errno : 0;
	fs_handle_put(r->s, h);
	if (e < 0)
		return e;
	out.offset = (uint64_t)at;
	return fs_req_put(r, &out, sizeof(out));
}

static ssize_t copy(struct fs_req *r, const struct fuse_copy_file_range_in *in,
		    const struct fs_handle *from)
{
	off_t off_in = (off_t)in->off_in, off_out = (off_t)in->off_out;
	size_t len = MIN(in->len, COPY_MAX);
	struct fs_handle *to = NULL;
	struct fs_growing g;
	ssize_t n;
	int e = fs_handle_get(r->s, in->fh_out, in->nodeid_out, false, &to);

	if (e < 0)
		return e;
	/* Before anything of it changes. */
	if ((to->flags & O_ACCMODE) == O_RDONLY ||
	    (from->flags & O_ACCMODE) == O_WRONLY)
		e = -EBADF;
	if (e == 0)
		e = fs_kill_priv(r->s, to->fd);
	if (e == 0)
		e = fs_quota_writing(r->s, to->ino, to->fd, in->off_out, &len,
				     &g);
	n = e;
	if (e == 0) {
		n = copy_file_range(from->fd, &off_in, to->fd, &off_out, len,
				    0);
		n = n < 0 ? -errno : n;
		fs_quota_grown(r->s, &g);
	}
	fs_handle_put(r->s, to);
	return n;
}

int fs_op_copy_file_range(struct fs_req *r)
{
	struct fuse_copy_file_range_in in;
	struct fuse_write_out out = { 0 };
	struct fs_handle *from = NULL;
	ssize_t n;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = fs_req_needs(r, sizeof(out));
	if (e < 0)
		return e;
	if (in.flags || !range_ok(in.off_in, in.len) ||
	    !range_ok(in.off_out, in.len))
		return -EINVAL;
	e = fs_handle_get(r->s, in.fh_in, r->h.nodeid, false, &from);
	if (e)
		return e;
	n = copy(r, &in, from);
	fs_handle_put(r->s, from);
	fs_dax_heal(r->s, in.nodeid_out);
	if (n < 0)
		return (int)n;
	out.size = (uint32_t)n;
	return fs_req_put(r, &out, sizeof(out));
}

int fs_op_statfs(struct fs_req *r)
{
	struct fuse_statfs_out out = { 0 };
	struct statfs st;
	struct fs_at at;
	int e = fs_req_end(r);

	if (e < 0)
		return e;
	e = fs_get(r->s, r->h.nodeid, &at);
	if (e == 0)
		e = fstatfs(at.ino->stub ? r->s->file_fd : at.fd, &st) < 0
			    ? -errno
			    : 0;
	fs_put(r->s, &at);
	if (e < 0)
		return e;
	fs_quota_statfs(r->s, &st);
	out.st = (struct fuse_kstatfs){
		.blocks = st.f_blocks,
		.bfree = st.f_bfree,
		.bavail = st.f_bavail,
		.files = st.f_files,
		.ffree = st.f_ffree,
		.bsize = (uint32_t)st.f_bsize,
		.namelen = NAME_MAX,
		.frsize = (uint32_t)st.f_frsize,
	};
	return fs_req_put(r, &out, sizeof(out));
}

int fs_op_syncfs(struct fs_req *r)
{
	auto_fd int fd = -1;
	struct fuse_syncfs_in in;
	struct fs_path root;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e < 0)
		return e;
	if (r->s->file_fd >= 0)
		return syncfs(r->s->file_fd) < 0 ? -errno : 0;
	e = fs_path_of(r->s, r->s->root, 0, NULL, &root);
	if (e < 0)
		return e;
	fd = fs_open_path(r->s, &root, O_RDONLY | O_DIRECTORY, 0);
	fs_path_done(&root);
	if (fd < 0)
		return fd;
	return syncfs(fd) < 0 ? -errno : 0;
}

/* Linux does not send it over virtio.  What is no waiter ends by itself. */
int fs_op_interrupt(struct fs_req *r)
{
	struct fuse_interrupt_in in;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e < 0)
		return e;
	fs_waiter_interrupt(r->s, in.unique);
	return 0;
}
