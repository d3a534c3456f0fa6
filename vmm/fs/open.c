/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/open.c - OPEN, CREATE, TMPFILE, OPENDIR and their ends */
#include <errno.h>

#include "vmm/fs/entry.h"
#include "vmm/fs/open.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

/*
 * What the host needs to know of the guest's flags.  O_APPEND comes with each
 * WRITE; O_DIRECT would ask for an alignment of the guest's memory.
 *
 * Return: flags for open(), or -EINVAL, -EROFS
 */
static int host_flags(const struct fs_server *s, uint32_t guest)
{
	int flags = (int)(guest & (O_ACCMODE | O_SYNC));

	if ((flags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	/* Linux truncates for readers too. */
	if (guest & O_TRUNC && (flags & O_ACCMODE) == O_RDONLY)
		flags |= O_RDWR;
	if (!s->o.ro)
		return flags;
	return (flags & O_ACCMODE) == O_RDONLY ? flags | O_NOATIME : -EROFS;
}

/* The time of the last access is not ours to keep, of a file of others. */
static int walk(struct fs_server *s, const struct fs_inode *ino, int flags)
{
	int fd = fs_walk(s, ino, flags);

	if (fd == -EPERM && flags & O_NOATIME)
		fd = fs_walk(s, ino, flags & ~O_NOATIME);
	return fd;
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

static uint32_t open_flags(struct fs_server *s, struct fs_inode *ino,
			   const struct statx *st)
{
	switch (s->o.cache) {
	case FS_CACHE_ALWAYS:
		return FOPEN_NOFLUSH | FOPEN_KEEP_CACHE;
	case FS_CACHE_NEVER:
		return FOPEN_NOFLUSH | FOPEN_DIRECT_IO |
		       FOPEN_PARALLEL_DIRECT_WRITES;
	default:
		return unchanged(s, ino, st) ? FOPEN_NOFLUSH | FOPEN_KEEP_CACHE
					     : FOPEN_NOFLUSH;
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
		if (ftruncate(fd, 0) < 0)
			return -errno;
		if (in->open_flags & FUSE_OPEN_KILL_SUIDGID)
			r = fs_kill_priv(s, fd);
		if (r == 0)
			r = fs_stat(s, fd, &st);
	}
	if (r == 0)
		out->open_flags = open_flags(s, ino, &st);
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

/* Open @ino as @in says. */
static int open_file(struct fs_server *s, struct fs_inode *ino,
		     const struct fuse_open_in *in, struct fuse_open_out *out)
{
	auto_fd int fd = -1;
	int flags = host_flags(s, in->flags);

	if (flags < 0)
		return flags;
	if (S_ISDIR(ino->type))
		return -EISDIR;
	if (!S_ISREG(ino->type))
		return -EOPNOTSUPP;
	fd = walk(s, ino, flags);
	if (fd == -ESTALE)
		fd = open_again(s, ino, flags);
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
	e = open_file(r->s, ino, &in, &out);
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
		e = fd =
			walk(s, ino, s->o.ro ? O_RDONLY | O_NOATIME : O_RDONLY);
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

	return e < 0 ? e : fs_handle_close(r->s, in.fh, r->h.nodeid, dir);
}

int fs_op_release(struct fs_req *r)
{
	return release(r, false);
}

int fs_op_releasedir(struct fs_req *r)
{
	return release(r, true);
}

/**
 * struct made - A file that was made and opened
 * @fd:		It, -1 if it was there before
 * @flags:	As it was opened
 * @entry:	What the guest is told
 * @open:	The same
 */
struct made {
	int fd;
	int flags;
	struct fuse_entry_out entry;
	struct fuse_open_out open;
};

/* The file is there: let the guest know it and have it open. */
static int tell(struct fs_server *s, struct fs_inode *dir, const char *name,
		struct made *m)
{
	struct fs_inode *ino = NULL;
	struct statx st = { 0 };
	int r;

	r = fs_stat(s, m->fd, &st);
	if (r == 0)
		r = fs_entry_know(s, name ? dir : NULL, name, m->fd, S_IFREG,
				  &ino);
	if (r < 0)
		return r;
	fs_entry_fill(s, ino, &st, &m->entry);
	m->open.open_flags = open_flags(s, ino, &st);
	r = fs_handle_add(s, ino, take_fd(&m->fd), m->flags, &m->open.fh);
	if (r < 0)
		fs_entry_unknow(s, ino);
	else
		fs_drop(s, ino);
	return r;
}

/* The name was there already: open what it stands for. */
static int open_there(struct fs_server *s, struct fs_inode *dir,
		      const char *name, const struct fuse_create_in *in,
		      struct made *m)
{
	struct fuse_open_in open = { .flags = in->flags,
				     .open_flags = in->open_flags };
	struct fs_inode *ino = NULL;
	int r = fs_entry_find(s, dir, name, &m->entry);

	if (r < 0)
		return r;
	r = fs_find(s, m->entry.nodeid, &ino);
	if (r < 0)
		return r;
	r = open_file(s, ino, &open, &m->open);
	if (r < 0)
		fs_entry_unknow(s, ino);
	else
		fs_drop(s, ino);
	/* Linux looks again, and then opens or follows it by itself. */
	return r == -EOPNOTSUPP ? -ESTALE : r;
}

/* @name is NULL for one without a name. */
static int make_file(struct fs_req *r, const struct fs_at *dir,
		     const char *name, const struct fuse_create_in *in,
		     struct made *m)
{
	struct fs_server *s = r->s;
	struct fs_birth birth = { .mode = S_IFREG | (in->mode & 07777),
				  .uid = r->h.uid,
				  .gid = r->h.gid };
	mode_t mode = fs_is_mapped(s) ? 0600 : fs_owner_bits(birth.mode);
	int how = name ? O_CREAT | O_EXCL : O_TMPFILE;
	struct fs_path path;
	struct statx st = { 0 };
	int e;

	e = fs_stat_at(s, dir, &st);
	if (e == 0)
		e = fs_path_of(s, dir->ino, 0, name, &path);
	if (e < 0)
		return e;
	m->fd = fs_open_path(s, &path, m->flags | how, mode);
	fs_path_done(&path);
	if (m->fd < 0)
		return m->fd;
	e = fs_owner_born(s, m->fd, &st, &birth);
	return e < 0 ? e : tell(s, dir->ino, name, m);
}

static int create_in(struct fs_req *r, const char *name,
		     const struct fuse_create_in *in, struct made *m)
{
	struct fs_at dir;
	bool room;
	int e;

	m->flags = host_flags(r->s, in->flags & ~(uint32_t)O_TRUNC);
	if (m->flags < 0)
		return m->flags;
	fs_lock(r->s);
	room = fs_fds_room(r->s);
	fs_unlock(r->s);
	if (!room)
		return -ENFILE;
	e = fs_get(r->s, r->h.nodeid, &dir);
	if (e == 0 && !S_ISDIR(dir.ino->type))
		e = -ENOTDIR;
	if (e == 0 && dir.ino->stub)
		e = -EROFS;
	if (e == 0)
		e = make_file(r, &dir, name, in, m);
	if (e == -EEXIST && name && !(in->flags & O_EXCL))
		e = open_there(r->s, dir.ino, name, in, m);
	fs_put(r->s, &dir);
	base_closep(&m->fd);
	return e;
}

static int answer(struct fs_req *r, const struct made *m)
{
	int e = fs_req_put(r, &m->entry, sizeof(m->entry));

	return e < 0 ? e : fs_req_put(r, &m->open, sizeof(m->open));
}

int fs_op_create(struct fs_req *r)
{
	struct made m = { .fd = -1 };
	struct fuse_create_in in;
	char name[FS_NAME_LEN];
	int e = fs_req_get(r, &in, sizeof(in));

	if (e == 0)
		e = fs_req_name(r, name);
	if (e == 0)
		e = fs_req_end(r);
	if (e == 0)
		e = fs_req_needs(r, sizeof(m.entry) + sizeof(m.open));
	if (e == 0)
		e = create_in(r, name, &in, &m);
	return e < 0 ? e : answer(r, &m);
}

/* It comes with a name that is none, and that no two versions agree on. */
int fs_op_tmpfile(struct fs_req *r)
{
	struct made m = { .fd = -1 };
	struct fuse_create_in in;
	char name[FS_NAME_LEN];
	int e = fs_req_get(r, &in, sizeof(in));

	if (e == 0)
		e = fs_req_string(r, name, sizeof(name));
	if (e >= 0)
		e = fs_req_end(r);
	if (e == 0)
		e = fs_req_needs(r, sizeof(m.entry) + sizeof(m.open));
	if (e == 0)
		e = create_in(r, NULL, &in, &m);
	return e < 0 ? e : answer(r, &m);
}
