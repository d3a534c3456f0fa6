/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/entry.c - LOOKUP and FORGET; see entry.h */
#include <errno.h>
#include <string.h>

#include "vmm/fs/dax.h"
#include "vmm/fs/entry.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

/* Forgotten under the lock at once. */
#define FORGET_BATCH 64u

/**
 * struct found - What a name led to
 * @fd:		The object
 * @real:	@fd is no O_PATH one
 * @st:		Its attributes on the host
 */
struct found {
	int fd;
	bool real;
	struct statx st;
};

static int host_stat(int fd, struct statx *ret)
{
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, ret) < 0)
		return -errno;
	return 0;
}

/*
 * What it is was seen without opening it, and it is held: if that is what the
 * name stands for still, it can be opened.
 */
static int open_real(struct fs_server *s, const struct fs_path *path,
		     struct found *f)
{
	auto_fd int fd = fs_open_path(s, path, O_RDONLY, 0);
	struct statx st = { 0 };
	int r;

	if (fd < 0)
		return fd;
	r = host_stat(fd, &st);
	if (r < 0)
		return r;
	if (st.stx_ino != f->st.stx_ino ||
	    st.stx_dev_major != f->st.stx_dev_major ||
	    st.stx_dev_minor != f->st.stx_dev_minor)
		return -ESTALE;
	base_closep(&f->fd);
	f->fd = take_fd(&fd);
	f->real = true;
	f->st = st;
	return 0;
}

/* On failure, @f->fd may be open all the same. */
static int open_name(struct fs_server *s, const struct fs_inode *dir,
		     const char *name, struct found *f)
{
	struct fs_path path;
	int r;

	if (dir->stub) {
		if (strcmp(name, FS_FILE_NAME) != 0)
			return -ENOENT;
		f->fd = fcntl(s->file_fd, F_DUPFD_CLOEXEC, 0);
		f->real = true;
		return f->fd < 0 ? -errno : host_stat(f->fd, &f->st);
	}
	r = fs_path_of(s, dir, 0, name, &path);
	if (r < 0)
		return r;
	f->fd = fs_open_path(s, &path, O_PATH, 0);
	r = f->fd < 0 ? f->fd : host_stat(f->fd, &f->st);
	if (r == 0 && fs_is_mapped(s) &&
	    (S_ISREG(f->st.stx_mode) || S_ISDIR(f->st.stx_mode)))
		r = open_real(s, &path, f);
	fs_path_done(&path);
	return r;
}

/* The lock is held; @f may be NULL. */
static int know(struct fs_server *s, struct fs_inode *dir, const char *name,
		const struct fs_ident *ident, mode_t type,
		struct fs_inode **ret)
{
	struct fs_inode *ino = fs_inode_known(s, ident);
	int r;

	if (!ino) {
		r = fs_inode_add(s, ident, type, &ino);
		if (r < 0)
			return r;
	}
	ino->refs++;
	/* A file that became another: the file system has no such thing. */
	r = ino->type == (type & S_IFMT) ? 0 : -ESTALE;
	if (r == 0 && dir)
		r = fs_inode_seen(s, ino, dir, name);
	if (r < 0) {
		fs_inode_drop(s, ino);
		return r;
	}
	ino->nlookup++;
	*ret = ino;
	return 0;
}

/*
 * There is a way to it again, unless the name was removed after it was found,
 * by a request that was quicker than ours to say so.
 */
static void look_again(struct fs_server *s, struct fs_inode *dir,
		       const char *name, struct fs_inode *ino)
{
	struct fs_ident ident = { 0 };
	struct fs_path path;
	int fd = -1, r = fs_path_of(s, dir, 0, name, &path);

	if (r == 0) {
		fd = fs_open_path(s, &path, O_PATH, 0);
		fs_path_done(&path);
		r = fd < 0 ? fd : fs_ident_get(s, fd, "", &ident);
	}
	base_closep(&fd);
	fs_lock(s);
	if (r < 0 || !fs_inode_is(ino, &ident))
		fs_inode_gone(s, ino, dir, name);
	ino->holds--;
	fs_inode_named(s, ino);
	fs_unlock(s);
}

/* The lock is held: as fs_inode_drop(), but look again first if need be. */
static void drop_named(struct fs_server *s, struct fs_inode *dir,
		       const char *name, struct fs_inode *ino)
{
	bool again = ino->pinned;

	if (again) {
		ino->holds++;
		fs_unlock(s);
		look_again(s, dir, name, ino);
		fs_lock(s);
	}
	fs_inode_drop(s, ino);
}

int fs_entry_know(struct fs_server *s, struct fs_inode *dir, const char *name,
		  int fd, mode_t type, struct fs_inode **ret)
{
	struct fs_ident ident;
	int r = fs_ident_get(s, fd, "", &ident);

	if (r < 0)
		return r;
	fs_lock(s);
	r = know(s, dir, name, &ident, type, ret);
	fs_unlock(s);
	return r;
}

void fs_entry_unknow(struct fs_server *s, struct fs_inode *ino)
{
	fs_lock(s);
	fs_inode_forget(s, ino, 1);
	fs_inode_drop(s, ino);
	fs_unlock(s);
}

void fs_entry_fill(const struct fs_server *s, const struct fs_inode *ino,
		   const struct statx *st, struct fuse_entry_out *ret)
{
	*ret = (struct fuse_entry_out){
		.nodeid = ino->id,
		.entry_valid = fs_valid_s(s),
		.attr_valid = fs_valid_s(s),
	};
	fs_attr_fill(s, st, &ret->attr);
}

/* Takes over @f->fd if it is 0. */
static int keep(struct fs_server *s, struct fs_inode *dir, const char *name,
		struct found *f, struct fuse_entry_out *ret)
{
	struct fs_inode *ino = NULL;
	struct fs_ident ident;
	mode_t type = f->st.stx_mode;
	int r;

	r = fs_ident_get(s, f->fd, "", &ident);
	if (r == 0)
		r = fs_owner_see(s, f->fd, &f->st);
	if (r < 0)
		return r;
	fs_lock(s);
	r = know(s, dir, name, &ident, type, &ino);
	if (r == 0) {
		fs_entry_fill(s, ino, &f->st, ret);
		(void)fs_inode_lend_fd(s, ino, take_fd(&f->fd), f->real);
		fs_inode_unuse_fd(s, ino);
		drop_named(s, dir, name, ino);
	}
	fs_unlock(s);
	if (r == 0)
		fs_dax_heal(s, ret->nodeid);
	return r;
}

int fs_entry_find(struct fs_server *s, struct fs_inode *dir, const char *name,
		  struct fuse_entry_out *ret)
{
	struct found f = { .fd = -1 };
	int r = S_ISDIR(dir->type) ? open_name(s, dir, name, &f) : -ENOTDIR;

	if (r == 0)
		r = keep(s, dir, name, &f, ret);
	base_closep(&f.fd);
	return r;
}

/* By name and without opening it: it has to be the same before and after. */
static int look_at(const struct fs_server *s, int dir_fd, const char *name,
		   struct fs_ident *ident, struct statx *st)
{
	struct fs_ident after;
	int r = fs_ident_get(s, dir_fd, name, ident);

	if (r < 0)
		return r;
	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS, st) < 0)
		return -errno;
	r = fs_ident_get(s, dir_fd, name, &after);
	if (r < 0)
		return r;
	return fs_ident_same(ident, &after) ? 0 : -ESTALE;
}

int fs_entry_list(struct fs_server *s, struct fs_inode *dir, int dir_fd,
		  const char *name, struct fuse_entry_out *ret)
{
	struct fs_inode *ino = NULL;
	struct fs_ident ident;
	struct statx st = { 0 };
	int r = look_at(s, dir_fd, name, &ident, &st);

	if (r == 0)
		r = fs_owner_see(s, -1, &st);
	if (r < 0)
		return r;
	fs_lock(s);
	r = know(s, dir, name, &ident, st.stx_mode, &ino);
	if (r == 0) {
		fs_entry_fill(s, ino, &st, ret);
		drop_named(s, dir, name, ino);
	}
	fs_unlock(s);
	if (r == 0)
		fs_dax_heal(s, ret->nodeid);
	return r;
}

int fs_entry_put(struct fs_req *r, struct fs_inode *dir, const char *name)
{
	struct fuse_entry_out out;
	int e = fs_req_needs(r, sizeof(out));

	if (e == 0)
		e = fs_entry_find(r->s, dir, name, &out);
	if (e < 0)
		return e;
	return fs_req_put(r, &out, sizeof(out));
}

int fs_op_lookup(struct fs_req *r)
{
	struct fuse_entry_out none = { .entry_valid = fs_valid_s(r->s) };
	char name[FS_NAME_LEN];
	struct fs_inode *dir = NULL;
	int e = fs_req_name(r, name);

	if (e == 0)
		e = fs_req_end(r);
	if (e == 0)
		e = fs_find(r->s, r->h.nodeid, &dir);
	if (e)
		return e;
	e = fs_entry_put(r, dir, name);
	fs_drop(r->s, dir);
	/* That there is none can be remembered if nobody else makes files. */
	if (e == -ENOENT && r->s->o.cache == FS_CACHE_ALWAYS)
		return fs_req_put(r, &none, sizeof(none));
	return e;
}

static void forget(struct fs_server *s, const struct fuse_forget_one *one,
		   unsigned int n)
{
	fs_lock(s);
	for (unsigned int i = 0; i < n; i++) {
		struct fs_inode *ino = fs_inode_find(s, one[i].nodeid);

		if (ino && ino != s->root)
			fs_inode_forget(s, ino, one[i].nlookup);
	}
	fs_unlock(s);
}

int fs_op_forget(struct fs_req *r)
{
	struct fuse_forget_in in;
	struct fuse_forget_one one = { .nodeid = r->h.nodeid };

	if (fs_req_last(r, &in, sizeof(in)) < 0)
		return FS_NO_REPLY;
	one.nlookup = in.nlookup;
	forget(r->s, &one, 1);
	return FS_NO_REPLY;
}

int fs_op_batch_forget(struct fs_req *r)
{
	struct fuse_forget_one one[FORGET_BATCH];
	struct fuse_batch_forget_in in;
	size_t left;

	if (fs_req_get(r, &in, sizeof(in)) < 0 ||
	    r->in_left % sizeof(one[0]) != 0 ||
	    r->in_left / sizeof(one[0]) != in.count)
		return FS_NO_REPLY;
	for (left = in.count; left > 0;) {
		unsigned int n = (unsigned int)MIN(left, FORGET_BATCH);

		if (fs_req_get(r, one, n * sizeof(one[0])) < 0)
			break;
		forget(r->s, one, n);
		left -= n;
	}
	return FS_NO_REPLY;
}

bool fs_entry_unmake(const struct fs_server *s, int dir_fd, const char *name,
		     const struct fs_ident *made)
{
	struct fs_ident there;

	return fs_ident_get(s, dir_fd, name, &there) == 0 &&
	       fs_ident_same(made, &there) && unlinkat(dir_fd, name, 0) == 0;
}
