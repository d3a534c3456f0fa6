/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/setattr.c - SETATTR: mode, owner, size and times */
#include <errno.h>
#include <sys/syscall.h>

#include "vmm/fs/acl.h"
#include "vmm/fs/attr.h"
#include "vmm/fs/open.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

/* Linux 6.6: chmod() of what an O_PATH descriptor names. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define KNOWN                                                            \
	(FATTR_MODE | FATTR_UID | FATTR_GID | FATTR_SIZE | FATTR_ATIME | \
	 FATTR_MTIME | FATTR_FH | FATTR_ATIME_NOW | FATTR_MTIME_NOW |    \
	 FATTR_LOCKOWNER | FATTR_CTIME | FATTR_KILL_SUIDGID)
#define OWNER (FATTR_UID | FATTR_GID)
#define TIMES (FATTR_ATIME | FATTR_MTIME)

static int host_chmod(int fd, uint32_t mode)
{
	mode_t bits = mode & 07777;

	if (syscall(SYS_fchmodat2, fd, "", bits, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
	return fchmod(fd, bits) < 0 ? -errno : 0;
}

/* Before Linux 6.6 an O_PATH descriptor is not enough: open it, if we may. */
static int chmod_at(struct fs_server *s, const struct fs_at *at, uint32_t mode)
{
	struct fs_at real;
	int r = host_chmod(at->fd, mode);

	if (r != -EBADF)
		return r;
	r = fs_get_open(s, at->ino->id, FS_ANY_ACCESS, &real);
	if (r == 0)
		r = host_chmod(real.fd, mode);
	fs_put(s, &real);
	return r;
}

int fs_kill_priv(const struct fs_server *s, int fd)
{
	struct statx st = { 0 };
	uint32_t mode;
	int r;

	if (!fs_is_mapped(s) && !s->keeps_suid)
		return 0;
	r = fs_stat(s, fd, &st);
	if (r < 0)
		return r;
	mode = fs_kill_mode(st.stx_mode);
	if (mode == st.stx_mode)
		return 0;
	st.stx_mode = (uint16_t)mode;
	return fs_is_mapped(s) ? fs_owner_change(s, fd, &st)
			       : host_chmod(fd, mode);
}

static bool changes_owner(const struct fuse_setattr_in *in,
			  const struct statx *st)
{
	return (in->valid & FATTR_UID && in->uid != st->stx_uid) ||
	       (in->valid & FATTR_GID && in->gid != st->stx_gid);
}

/* What is wanted of mode and owner, made of what is there. */
static void wish(const struct fuse_setattr_in *in, struct statx *st)
{
	uint32_t mode = st->stx_mode;

	/* As any chown() does, even one that changes nothing. */
	if (in->valid & (OWNER | FATTR_KILL_SUIDGID))
		mode = fs_kill_mode(mode);
	if (in->valid & FATTR_MODE)
		mode = (mode & S_IFMT) | (in->mode & 07777);
	st->stx_mode = (uint16_t)mode;
	if (in->valid & FATTR_UID)
		st->stx_uid = in->uid;
	if (in->valid & FATTR_GID)
		st->stx_gid = in->gid;
}

/* An owner that was the same before: no attribute changes but the time of it. */
static int mark_changed(int fd)
{
	const unsigned int same = (unsigned int)-1;

	return fchownat(fd, "", same, same, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static bool same_attrs(const struct statx *a, const struct statx *b)
{
	return a->stx_mode == b->stx_mode && a->stx_uid == b->stx_uid &&
	       a->stx_gid == b->stx_gid;
}

static int set_mode_owner(struct fs_server *s, const struct fs_at *at,
			  const struct fuse_setattr_in *in)
{
	struct statx old, new;
	int r;

	if (!(in->valid & (FATTR_MODE | OWNER | FATTR_KILL_SUIDGID)))
		return 0;
	r = fs_stat(s, at->fd, &old);
	if (r < 0)
		return r;
	new = old;
	wish(in, &new);
	if (!fs_is_mapped(s)) {
		if (changes_owner(in, &old))
			return -EPERM;
		if (new.stx_mode == old.stx_mode && !(in->valid & FATTR_MODE))
			return in->valid & OWNER ? mark_changed(at->fd) : 0;
		return chmod_at(s, at, fs_owner_bits(new.stx_mode));
	}
	/* A whiteout is a device of the host's, and has no attribute. */
	if (!S_ISREG(at->ino->type) && !S_ISDIR(at->ino->type))
		return changes_owner(in, &old) ? -EPERM : 0;
	if (in->valid & FATTR_MODE && !S_ISLNK(new.stx_mode))
		r = fs_acl_follow(at->fd, new.stx_mode);
	r = r < 0 ? r : fs_owner_change(s, at->fd, &new);
	/* The host's file system may well see that nothing was to be done. */
	if (r == 0 && same_attrs(&old, &new))
		r = mark_changed(at->fd);
	return r;
}

int fs_truncate(struct fs_server *s, struct fs_inode *ino, int fd,
		uint64_t size)
{
	struct fs_growing g;
	int r = fs_quota_sizing(s, ino, fd, size, &g);

	if (r < 0)
		return r;
	r = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
	fs_quota_grown(s, &g);
	return r;
}

static int set_size(struct fs_server *s, const struct fs_at *at,
		    const struct fs_handle *h, uint64_t size)
{
	struct fs_at to = { .fd = -1 };
	struct statx st = { 0 };
	int fd = h ? h->fd : -1;
	int r = 0;

	if (size > INT64_MAX)
		return -EINVAL;
	if (S_ISDIR(at->ino->type))
		return -EISDIR;
	if (fs_is_mapped(s)) {
		r = fs_stat(s, at->fd, &st);
		if (r == 0 && !S_ISREG(st.stx_mode))
			r = -EINVAL;
	}
	if (r == 0 && fd < 0) {
		r = fs_get_open(s, at->ino->id, O_WRONLY, &to);
		fd = to.fd;
	}
	if (r == 0)
		r = fs_truncate(s, at->ino, fd, size);
	fs_put(s, &to);
	return r;
}

static int set_times(const struct fs_at *at, const struct fuse_setattr_in *in)
{
	struct timespec ts[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_nsec = UTIME_OMIT },
	};

	if (!(in->valid & TIMES))
		return 0;
	if ((in->valid & FATTR_ATIME && in->atimensec >= 1000000000) ||
	    (in->valid & FATTR_MTIME && in->mtimensec >= 1000000000))
		return -EINVAL;
	if (in->valid & FATTR_ATIME_NOW)
		ts[0].tv_nsec = UTIME_NOW;
	else if (in->valid & FATTR_ATIME)
		ts[0] = (struct timespec){ .tv_sec = (time_t)in->atime,
					   .tv_nsec = in->atimensec };
	if (in->valid & FATTR_MTIME_NOW)
		ts[1].tv_nsec = UTIME_NOW;
	else if (in->valid & FATTR_MTIME)
		ts[1] = (struct timespec){ .tv_sec = (time_t)in->mtime,
					   .tv_nsec = in->mtimensec };
	return utimensat(at->fd, "", ts, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int set_all(struct fs_server *s, const struct fs_at *at,
		   const struct fuse_setattr_in *in, struct statx *st)
{
	struct fs_handle *h = NULL;
	int r = 0;

	if (in->valid & FATTR_FH && !S_ISDIR(at->ino->type)) {
		r = fs_handle_get(s, in->fh, at->ino->id, false, &h);
		if (r < 0)
			return r;
	}
	r = set_mode_owner(s, at, in);
	if (r == 0 && in->valid & FATTR_SIZE)
		r = set_size(s, at, h, in->size);
	if (r == 0)
		r = set_times(at, in);
	if (h)
		fs_handle_put(s, h);
	return r < 0 ? r : fs_stat(s, at->fd, st);
}

int fs_op_setattr(struct fs_req *r)
{
	struct fuse_attr_out out = { .attr_valid = fs_valid_s(r->s) };
	struct fuse_setattr_in in;
	struct fs_at at;
	struct statx st = { 0 };
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = fs_req_needs(r, sizeof(out));
	if (e < 0)
		return e;
	if (in.valid & ~(uint32_t)KNOWN)
		return -EINVAL;
	e = fs_get_there(r->s, r->h.nodeid, true, &at);
	if (e == 0)
		e = at.ino->stub ? -EROFS : set_all(r->s, &at, &in, &st);
	fs_put(r->s, &at);
	if (e < 0)
		return e;
	fs_attr_fill(r->s, &st, &out.attr);
	return fs_req_put(r, &out, sizeof(out));
}
