/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/unname.c - operations that take names away: UNLINK, RMDIR, RENAME
 *
 * How it works.  The guest may go on using a file whose last name it removed.
 * So before a name goes, what it stands for is looked at, and if the guest
 * knows it, its descriptor is pinned; one that it has open is referred to, and
 * leaves its descriptor to the inode if it is closed meanwhile.  When the name
 * is gone, and nobody else is about to remove another, the pin goes again if
 * there is a name left.
 */
#include <errno.h>
#include <linux/fs.h>
#include <sys/syscall.h>

#include "vmm/fs/ops.h"
#include "vmm/fs/walk.h"

#define RENAME_KNOWN (RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT)

/**
 * struct place - A name in a folder, and what it stands for
 * @dir:	The folder
 * @name:	The name
 * @fd:		Descriptor of @dir
 * @own:	@fd if it is to be closed, else -1
 * @at:		What is there, if the guest knows it, or there is a quota
 * @pinned:	It was pinned for this
 * @obj:	O_PATH descriptor of it, if there is a quota and it is to go
 * @bytes:	What it counts then, before it goes
 */
struct place {
	struct fs_inode *dir;
	const char *name;
	int fd;
	int own;
	struct fs_at at;
	bool pinned;
	int obj;
	uint64_t bytes;
};

static void place_done(struct fs_server *s, struct place *p)
{
	fs_put(s, &p->at);
	base_closep(&p->own);
	base_closep(&p->obj);
	if (p->dir)
		fs_drop(s, p->dir);
}

/* place_done() is due in any case. */
static int place_init(struct fs_server *s, uint64_t nodeid, const char *name,
		      struct place *p)
{
	int r;

	*p = (struct place){ .name = name, .fd = -1, .own = -1, .obj = -1 };
	p->at.fd = -1;
	r = fs_find(s, nodeid, &p->dir);
	if (r == 0)
		r = p->fd = fs_walk_dir(s, p->dir, &p->own);
	return r < 0 ? r : 0;
}

/* What is to count on after its last name has to be known to us. */
static int learn(struct fs_server *s, struct place *p,
		 const struct fs_ident *ident)
{
	struct statx st = { 0 };
	struct fs_ident there;
	int r;

	p->obj = fs_open_in(s, p->fd, p->name, O_PATH);
	if (p->obj < 0)
		return p->obj;
	r = fs_ident_get(s, p->obj, "", &there);
	if (r == 0 && !fs_ident_same(ident, &there))
		r = -ESTALE;
	p->bytes = fs_quota_size_at(s, p->obj, "");
	if (r < 0 || p->at.ino)
		return r;
	if (statx(p->obj, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
		return -errno;
	fs_lock(s);
	p->at.ino = fs_inode_known(s, ident);
	if (!p->at.ino)
		r = fs_inode_add(s, ident, st.stx_mode, &p->at.ino);
	if (r == 0)
		p->at.ino->refs++;
	fs_unlock(s);
	return r;
}

/* Find out what is there; @p->at.ino stays NULL if the guest does not know. */
static int look(struct fs_server *s, struct place *p)
{
	struct fs_inode *ino = NULL;
	struct fs_ident ident;
	int r = fs_ident_get(s, p->fd, p->name, &ident);

	if (r == -ENOENT)
		return 0; /* whoever needs it says so */
	if (r < 0)
		return r == -EXDEV ? -EBUSY : r;
	fs_lock(s);
	ino = fs_inode_known(s, &ident);
	if (ino)
		ino->refs++;
	fs_unlock(s);
	p->at.ino = ino;
	return s->quota.on ? learn(s, p, &ident) : 0;
}

/* The lock is held. Return: whether there is one that is open, to hold on to */
static bool use_handle(struct place *p)
{
	const struct list *handles = &p->at.ino->handles;

	if (list_empty(handles))
		return false;
	p->at.h = list_entry(handles->next, struct fs_handle, link);
	p->at.h->refs++;
	p->at.fd = p->at.h->fd;
	return true;
}

static int pin(struct fs_server *s, struct place *p)
{
	struct fs_inode *ino = p->at.ino;
	bool needed;
	int r = 0;

	if (!ino)
		return 0;
	fs_lock(s);
	needed = ino->nlookup && !use_handle(p);
	fs_unlock(s);
	if (!needed)
		return 0;
	r = fs_reach(s, ino, &p->at);
	/* The host was quicker: then it is lost already. */
	if (r == -ESTALE)
		return 0;
	if (r < 0)
		return r;
	if (!p->at.shared)
		return 0;
	fs_lock(s);
	r = fs_inode_pin(s, ino);
	p->pinned = r == 0;
	if (p->pinned)
		ino->holds++;
	fs_unlock(s);
	return r;
}

/* The name is gone, or else it is not and all is as before. */
static void settle(struct fs_server *s, struct place *p, bool gone)
{
	struct fs_inode *ino = p->at.ino;

	if (!ino)
		return;
	if (gone)
		fs_quota_unnamed(s, ino, p->obj, p->bytes);
	fs_lock(s);
	if (gone)
		fs_inode_gone(s, ino, p->dir, p->name);
	if (p->pinned) {
		ino->holds--;
		p->pinned = false;
	}
	fs_inode_named(s, ino);
	fs_unlock(s);
}

static int remove_name(struct fs_req *r, int flags)
{
	struct fs_server *s = r->s;
	struct fs_naming n = { 0 };
	char name[FS_NAME_LEN];
	struct place p;
	int e = fs_req_name(r, name);

	if (e == 0)
		e = fs_req_end(r);
	if (e < 0)
		return e;
	e = place_init(s, r->h.nodeid, name, &p);
	if (e == 0)
		e = fs_quota_naming(s, p.fd, -1, FS_ROOM_GIVEN, NULL, &n);
	if (e == 0)
		e = look(s, &p);
	if (e == 0)
		e = pin(s, &p);
	if (e == 0) {
		e = unlinkat(p.fd, name, flags) < 0 ? -errno : 0;
		settle(s, &p, e == 0);
	}
	fs_quota_named(s, &n, NULL);
	place_done(s, &p);
	return e;
}

int fs_op_unlink(struct fs_req *r)
{
	return remove_name(r, 0);
}

int fs_op_rmdir(struct fs_req *r)
{
	return remove_name(r, AT_REMOVEDIR);
}

/* The lock is held. A name that cannot be noted is looked up once more. */
static void moved(struct fs_server *s, const struct place *from,
		  const struct place *to)
{
	struct fs_inode *ino = from->at.ino;

	if (!ino)
		return;
	fs_inode_gone(s, ino, from->dir, from->name);
	if (fs_inode_seen(s, ino, to->dir, to->name) < 0)
		fs_inode_gone(s, ino, to->dir, to->name);
}

static void renamed(struct fs_server *s, struct place *from, struct place *to,
		    unsigned int flags)
{
	/* Two names of one file: nothing happens, says POSIX. */
	if (from->at.ino && from->at.ino == to->at.ino) {
		settle(s, to, false);
		return;
	}
	if (!(flags & RENAME_EXCHANGE))
		settle(s, to, true);
	fs_lock(s);
	if (flags & RENAME_EXCHANGE)
		moved(s, to, from);
	moved(s, from, to);
	fs_unlock(s);
}

static int do_rename(struct fs_server *s, struct place *from, struct place *to,
		     unsigned int flags)
{
	int r = look(s, from);

	if (r == 0)
		r = look(s, to);
	if (r == 0 && !(flags & (RENAME_EXCHANGE | RENAME_NOREPLACE)) &&
	    from->at.ino != to->at.ino)
		r = pin(s, to);
	if (r < 0)
		return r;
	/* Not libc's, which makes another call of one without flags. */
	if (syscall(SYS_renameat2, from->fd, from->name, to->fd, to->name,
		    flags) < 0)
		r = -errno;
	if (r < 0)
		settle(s, to, false);
	else
		renamed(s, from, to, flags);
	return r;
}

/* The same, and what it takes of the quota: the new name, and a whiteout. */
static int rename_counted(struct fs_server *s, struct place *from,
			  struct place *to, unsigned int flags)
{
	struct treesize want = { .inodes = flags & RENAME_WHITEOUT ? 1 : 0 };
	bool same = to->dir == from->dir;
	/* What a folder grows by for another name of the same is next to none. */
	enum fs_room room = same && !want.inodes ? FS_ROOM_RENAME
						 : FS_ROOM_NAME;
	struct fs_naming n;
	int r = fs_quota_naming(s, from->fd, same ? -1 : to->fd, room, &want,
				&n);

	if (r < 0)
		return r;
	r = do_rename(s, from, to, flags);
	/* Two names of one file: nothing was made. */
	same = from->at.ino && from->at.ino == to->at.ino;
	fs_quota_named(s, &n, r == 0 && !same ? &want : NULL);
	return r;
}

static int rename_request(struct fs_req *r, uint64_t newdir, unsigned int flags)
{
	struct place from = { .own = -1, .obj = -1, .at.fd = -1 };
	struct place to = { .own = -1, .obj = -1, .at.fd = -1 };
	char old[FS_NAME_LEN], new[FS_NAME_LEN];
	int e = fs_req_name(r, old);

	if (e == 0)
		e = fs_req_name(r, new);
	if (e == 0)
		e = fs_req_end(r);
	if (e < 0)
		return e;
	if (flags & ~RENAME_KNOWN)
		return -EINVAL;
	e = place_init(r->s, r->h.nodeid, old, &from);
	if (e == 0)
		e = place_init(r->s, newdir, new, &to);
	if (e == 0)
		e = rename_counted(r->s, &from, &to, flags);
	place_done(r->s, &to);
	place_done(r->s, &from);
	return e;
}

int fs_op_rename(struct fs_req *r)
{
	struct fuse_rename_in in;
	int e = fs_req_get(r, &in, sizeof(in));

	return e < 0 ? e : rename_request(r, in.newdir, 0);
}

int fs_op_rename2(struct fs_req *r)
{
	struct fuse_rename2_in in;
	int e = fs_req_get(r, &in, sizeof(in));

	return e < 0 ? e : rename_request(r, in.newdir, in.flags);
}
