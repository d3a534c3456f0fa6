/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/create.c - CREATE and TMPFILE */
#include <errno.h>
#include <string.h>

#include "vmm/fs/acl.h"
#include "vmm/fs/entry.h"
#include "vmm/fs/open.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

/**
 * struct made - A file that was made and opened
 * @fd:		It, -1 if it was there before
 * @flags:	As it was opened
 * @known:	The server knows it
 * @there:	It has its name
 * @ident:	What it is; of one that could not be told
 * @entry:	What the guest is told
 * @open:	The same
 */
struct made {
	int fd;
	int flags;
	bool known;
	bool there;
	struct fs_ident ident;
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
	bug_on(!ino);
	m->known = true;
	if (!name)
		fs_quota_nameless(s, ino);
	fs_entry_fill(s, ino, &st, &m->entry);
	m->open.open_flags = fs_open_flags(s, ino, &st);
	r = fs_handle_add(s, ino, take_fd(&m->fd), m->flags, &m->open.fh);
	if (r == 0) {
		fs_drop(s, ino);
		return 0;
	}
	m->ident.type = ino->ident_type;
	m->ident.len = ino->ident_len;
	memcpy(m->ident.bytes, ino->ident, ino->ident_len);
	fs_lock(s);
	if (name)
		fs_inode_gone(s, ino, dir, name);
	fs_unlock(s);
	fs_entry_unknow(s, ino);
	return r;
}

/*
 * Who is told that no file was made must not find one, least of all one without
 * its owner.
 */
static void unmake(const struct fs_server *s, const struct fs_at *dir,
		   const char *name, struct made *m)
{
	if (m->fd >= 0 && fs_ident_get(s, m->fd, "", &m->ident) < 0)
		return;
	if (fs_entry_unmake(s, dir->fd, name, &m->ident))
		m->there = false;
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
	r = fs_open_file(s, ino, &open, &m->open);
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
	struct fs_heir heir;
	int how = name ? O_CREAT | O_EXCL : O_TMPFILE;
	struct fs_path path;
	struct statx st = { 0 };
	int e;

	e = fs_stat_at(s, dir, &st);
	if (e == 0)
		e = fs_acl_inherit(s, dir->fd, in->umask, &birth, &heir);
	if (e == 0)
		e = fs_path_of(s, dir->ino, 0, name, &path);
	if (e < 0)
		return e;
	fs_owner_making(s);
	m->fd = fs_open_path(s, &path, m->flags | how, mode);
	fs_path_done(&path);
	e = m->fd < 0 ? m->fd : fs_acl_born(m->fd, &heir);
	if (e == 0)
		e = fs_owner_born(s, m->fd, &st, &birth);
	fs_owner_made(s);
	if (m->fd < 0)
		return e;
	m->there = name;
	if (e == 0)
		e = tell(s, dir->ino, name, m);
	if (e < 0 && name)
		unmake(s, dir, name, m);
	return e;
}

/* The same, and what it takes of the quota. */
static int make_counted(struct fs_req *r, const struct fs_at *dir,
			const char *name, const struct fuse_create_in *in,
			struct made *m)
{
	static const struct treesize one = { .inodes = 1 };
	struct fs_naming n;
	int e = fs_quota_naming(r->s, dir->fd, -1, FS_ROOM_GIVEN, &one, &n);

	if (e < 0)
		return e;
	e = make_file(r, dir, name, in, m);
	/* One that has no name, and that nobody knows, is gone already. */
	fs_quota_named(r->s, &n, m->there || (m->known && !name) ? &one : NULL);
	return e;
}

static int create_in(struct fs_req *r, const char *name,
		     const struct fuse_create_in *in, struct made *m)
{
	struct fs_at dir;
	int e, there;
	bool room;

	m->flags = fs_host_flags(r->s, in->flags & ~(uint32_t)O_TRUNC);
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
		e = make_counted(r, &dir, name, in, m);
	if ((e == -EEXIST || e == -ENOSPC) && name && !(in->flags & O_EXCL)) {
		there = open_there(r->s, dir.ino, name, in, m);
		/* There is no room for it, if it is not there. */
		e = e == -ENOSPC && there == -ENOENT ? e : there;
	}
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
