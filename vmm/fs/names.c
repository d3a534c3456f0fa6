/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/names.c - operations that make names */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "vmm/fs/acl.h"
#include "vmm/fs/entry.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

/**
 * struct making - An object that is being made
 * @dir:	Its folder
 * @st:		Attributes of that, as the guest sees them; in a mapped tree
 * @fd:		To name things in it
 * @own:	@fd if it is to be closed, else -1
 * @n:		What it takes of the quota
 * @heir:	What it has from the folder
 */
struct making {
	struct fs_at dir;
	struct statx st;
	int fd;
	int own;
	struct fs_naming n;
	struct fs_heir heir;
};

static const struct treesize one_inode = { .inodes = 1 };

/* @want is what it will take, and @room; end() is due in any case. */
static int begin(struct fs_req *r, uint64_t nodeid, enum fs_room room,
		 const struct treesize *want, struct making *m)
{
	struct fs_server *s = r->s;
	int e;

	*m = (struct making){ .fd = -1, .own = -1 };
	e = fs_get(s, nodeid, &m->dir);
	if (e == 0)
		e = m->fd = fs_walk_dir(s, m->dir.ino, &m->own);
	if (e >= 0)
		e = fs_is_mapped(s) ? fs_stat_at(s, &m->dir, &m->st) : 0;
	return e < 0 ? e : fs_quota_naming(s, m->fd, -1, room, want, &m->n);
}

static void end(struct fs_req *r, struct making *m)
{
	fs_quota_named(r->s, &m->n, NULL);
	base_closep(&m->own);
	fs_put(r->s, &m->dir);
}

/* The answer of what made @name, if @e is 0, and what that is. */
static int made(struct fs_req *r, struct making *m, const char *name, int e,
		const struct treesize *what)
{
	fs_quota_named(r->s, &m->n, e == 0 ? what : NULL);
	if (e == 0)
		e = fs_entry_put(r, m->dir.ino, name);
	end(r, m);
	return e;
}

/* The end of a request that is answered by the entry of that name. */
static int last_name(struct fs_req *r, char name[FS_NAME_LEN])
{
	int e = fs_req_name(r, name);

	if (e == 0)
		e = fs_req_end(r);
	return e < 0 ? e : fs_req_needs(r, sizeof(struct fuse_entry_out));
}

static int open_made(struct fs_req *r, const struct making *m, const char *name,
		     int flags)
{
	struct fs_path path;
	int fd = fs_path_of(r->s, m->dir.ino, 0, name, &path);

	if (fd < 0)
		return fd;
	fd = fs_open_path(r->s, &path, flags, flags & O_CREAT ? 0600 : 0);
	fs_path_done(&path);
	return fd;
}

/*
 * Anything but a folder is a file there, whose content is @text.  Without its
 * attribute it would be another than was asked for.
 */
static int make_mapped(struct fs_req *r, const struct making *m,
		       const char *name, const struct fs_birth *b,
		       const char *text)
{
	auto_fd int fd = -1;
	struct fs_ident ident;
	int e;

	fs_owner_making(r->s);
	fd = open_made(r, m, name, O_RDWR | O_CREAT | O_EXCL);
	e = fd < 0 ? fd : 0;
	if (e == 0 && text)
		e = io_write_full(fd, text, strlen(text));
	if (e == 0)
		e = fs_acl_born(fd, &m->heir);
	if (e == 0)
		e = fs_owner_born(r->s, fd, &m->st, b);
	fs_owner_made(r->s);
	if (e < 0 && fd >= 0 && fs_ident_get(r->s, fd, "", &ident) == 0)
		(void)fs_entry_unmake(r->s, m->fd, name, &ident);
	return e;
}

static int mkdir_mapped(struct fs_req *r, const struct making *m,
			const char *name, const struct fs_birth *b)
{
	auto_fd int fd = -1;
	int e;

	if (mkdirat(m->fd, name, 0700) < 0)
		return -errno;
	fd = open_made(r, m, name, O_RDONLY | O_DIRECTORY);
	e = fd < 0 ? fd : fs_acl_born(fd, &m->heir);
	if (e == 0)
		e = fs_owner_born(r->s, fd, &m->st, b);
	/* By its name alone: one that has anything in it stays. */
	if (e < 0)
		(void)unlinkat(m->fd, name, AT_REMOVEDIR);
	return e;
}

static int mkdir_in(struct fs_req *r, const struct making *m, const char *name,
		    const struct fs_birth *b)
{
	int e;

	if (!fs_is_mapped(r->s))
		return mkdirat(m->fd, name, b->mode & 07777) < 0 ? -errno : 0;
	fs_owner_making(r->s);
	e = mkdir_mapped(r, m, name, b);
	fs_owner_made(r->s);
	return e;
}

static struct fs_birth birth(const struct fs_req *r, uint32_t mode)
{
	return (struct fs_birth){ .mode = mode,
				  .uid = r->h.uid,
				  .gid = r->h.gid };
}

int fs_op_mkdir(struct fs_req *r)
{
	struct treesize what = { .inodes = 1, .bytes = FS_QUOTA_BLOCK };
	struct fuse_mkdir_in in;
	char name[FS_NAME_LEN];
	struct fs_birth b;
	struct making m;
	int e = fs_req_get(r, &in, sizeof(in));

	if (e == 0)
		e = last_name(r, name);
	if (e < 0)
		return e;
	b = birth(r, S_IFDIR | (in.mode & 07777));
	e = begin(r, r->h.nodeid, FS_ROOM_NAME, &what, &m);
	if (e == 0)
		e = fs_acl_inherit(r->s, m.dir.fd, in.umask, &b, &m.heir);
	if (e == 0)
		e = mkdir_in(r, &m, name, &b);
	if (e == 0)
		what.bytes = fs_quota_size_at(r->s, m.fd, name);
	return made(r, &m, name, e, &what);
}

static bool is_whiteout(const struct fs_birth *b)
{
	return S_ISCHR(b->mode) && b->rdev == 0;
}

/*
 * On the host there are files, FIFOs, sockets, and overlayfs's whiteout, which
 * is a device that leads nowhere: no other device, whoever we run as.
 */
static int mknod_in(struct fs_req *r, const struct making *m, const char *name,
		    const struct fs_birth *b)
{
	bool whiteout = is_whiteout(b);
	mode_t mode;

	if (fs_is_mapped(r->s) && !whiteout)
		return make_mapped(r, m, name, b, NULL);
	if (!whiteout && !S_ISREG(b->mode) && !S_ISFIFO(b->mode) &&
	    !S_ISSOCK(b->mode))
		return -EPERM;
	mode = (b->mode & S_IFMT) | fs_owner_bits(b->mode);
	return mknodat(m->fd, name, mode, 0) < 0 ? -errno : 0;
}

int fs_op_mknod(struct fs_req *r)
{
	struct fuse_mknod_in in;
	char name[FS_NAME_LEN];
	struct fs_birth b;
	struct making m;
	int e = fs_req_get(r, &in, sizeof(in));

	if (e == 0)
		e = last_name(r, name);
	if (e < 0)
		return e;
	b = birth(r, in.mode & (S_IFMT | 07777));
	b.rdev = in.rdev;
	/* Of these two there are other operations. */
	if (S_ISDIR(b.mode) || S_ISLNK(b.mode))
		return -EINVAL;
	e = begin(r, r->h.nodeid, is_whiteout(&b) ? FS_ROOM_NAME : FS_ROOM_FILE,
		  &one_inode, &m);
	if (e == 0)
		e = fs_acl_inherit(r->s, m.dir.fd, in.umask, &b, &m.heir);
	if (e == 0)
		e = mknod_in(r, &m, name, &b);
	return made(r, &m, name, e, &one_inode);
}

static int symlink_in(struct fs_req *r, const struct making *m,
		      const char *name, const char *target)
{
	struct fs_birth b = birth(r, S_IFLNK | 0777);

	if (fs_is_mapped(r->s))
		return make_mapped(r, m, name, &b, target);
	return symlinkat(target, m->fd, name) < 0 ? -errno : 0;
}

int fs_op_symlink(struct fs_req *r)
{
	struct treesize what = { .inodes = 1 };
	char name[FS_NAME_LEN], target[PATH_MAX];
	struct making m;
	int e = fs_req_name(r, name);

	if (e == 0)
		e = fs_req_string(r, target, sizeof(target));
	if (e == 0) /* of no bytes */
		return -EINVAL;
	if (e > 0)
		e = fs_req_end(r);
	if (e == 0)
		e = fs_req_needs(r, sizeof(struct fuse_entry_out));
	if (e < 0)
		return e;
	what.bytes = treesize_blocks(strlen(target));
	e = begin(r, r->h.nodeid, FS_ROOM_GIVEN, &what, &m);
	if (e == 0)
		e = symlink_in(r, &m, name, target);
	return made(r, &m, name, e, &what);
}

/* A mapped one is in a file. */
static ssize_t read_link(const struct fs_server *s, const struct fs_at *at,
			 char *buf, size_t len)
{
	struct statx st = { 0 };
	ssize_t n;
	int r;

	if (at->ino->type == S_IFLNK) {
		n = readlinkat(at->fd, "", buf, len);
		return n < 0 ? -errno : n;
	}
	r = fs_stat_at(s, at, &st);
	if (r < 0)
		return r;
	if (!S_ISLNK(st.stx_mode))
		return -EINVAL;
	n = pread(at->fd, buf, len, 0);
	return n < 0 ? -errno : n;
}

int fs_op_readlink(struct fs_req *r)
{
	char target[PATH_MAX];
	struct fs_at at;
	ssize_t n;
	int e = fs_req_end(r);

	if (e < 0)
		return e;
	e = fs_get(r->s, r->h.nodeid, &at);
	n = e < 0 ? e : read_link(r->s, &at, target, sizeof(target) - 1);
	fs_put(r->s, &at);
	return n < 0 ? (int)n : fs_req_put(r, target, (size_t)n);
}

/* By its name, in its folder; the one that is found there is looked at after. */
static int link_by_name(struct fs_server *s, struct fs_inode *ino, int dir_fd,
			const char *name)
{
	auto_fd int own = -1;
	struct fs_inode *parent = NULL;
	char old[FS_NAME_LEN];
	int fd, r = 0;

	fs_lock(s);
	if (ino->names) {
		parent = ino->names->parent;
		parent->refs++;
		memcpy(old, ino->names->s, ino->names->len + 1);
	}
	fs_unlock(s);
	if (!parent)
		return -ENOENT; /* as of any file whose last name is gone */
	fd = fs_walk_dir(s, parent, &own);
	if (fd < 0)
		r = fd;
	else if (linkat(fd, old, dir_fd, name, 0) < 0)
		r = -errno;
	fs_drop(s, parent);
	return r;
}

/* What link_fd() says if the kernel does not let us. */
static bool is_refused(int r)
{
	return r == -ENOENT || r == -EACCES;
}

/*
 * By its descriptor: that needs Linux 6.10 and a thread that has not changed
 * its credentials since it was opened, or a capability.  By its place in /proc
 * it needs none of these.
 */
static int link_fd(const struct fs_server *s, int fd, int dir_fd,
		   const char *name)
{
	char number[16];

	if (linkat(fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOENT || s->self_fd < 0)
		return -errno;
	(void)snprintf(number, sizeof(number), "%d", fd);
	if (linkat(s->self_fd, number, dir_fd, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return -errno;
}

static int link_in(struct fs_server *s, struct fs_at *at, int dir_fd,
		   const char *name)
{
	int r = link_fd(s, at->fd, dir_fd, name);

	return is_refused(r) ? link_by_name(s, at->ino, dir_fd, name) : r;
}

/* Answer with the new name, which stands for @ino if nobody meddled. */
static int linked(struct fs_req *r, const struct making *m, const char *name,
		  const struct fs_inode *ino)
{
	struct fuse_entry_out out;
	struct fs_inode *other = NULL;
	int e = fs_entry_find(r->s, m->dir.ino, name, &out);

	if (e < 0)
		return e;
	if (out.nodeid == ino->id)
		return fs_req_put(r, &out, sizeof(out));
	/* The host has put another file there meanwhile: that is its own. */
	if (fs_find(r->s, out.nodeid, &other) == 0)
		fs_entry_unknow(r->s, other);
	return -ESTALE;
}

int fs_op_link(struct fs_req *r)
{
	static const struct treesize nothing = { 0 };
	struct fs_at at = { .fd = -1 };
	struct fuse_link_in in;
	char name[FS_NAME_LEN];
	struct making m;
	int e = fs_req_get(r, &in, sizeof(in));

	if (e == 0)
		e = last_name(r, name);
	if (e < 0)
		return e;
	/* overlayfs's whiteouts are links of one. */
	e = begin(r, r->h.nodeid, FS_ROOM_NAME, &nothing, &m);
	if (e == 0)
		e = fs_get_there(r->s, in.oldnodeid, false, &at);
	if (e == 0)
		e = link_in(r->s, &at, m.fd, name);
	if (e == 0)
		fs_quota_linked(r->s, at.ino);
	fs_quota_named(r->s, &m.n, NULL);
	if (e == 0)
		e = linked(r, &m, name, at.ino);
	fs_put(r->s, &at);
	end(r, &m);
	return e;
}
