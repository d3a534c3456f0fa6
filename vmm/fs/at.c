/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/at.c - inodes and a descriptor of each, for one request; see walk.h */
#include <errno.h>

#include "vmm/fs/walk.h"

int fs_find(struct fs_server *s, uint64_t nodeid, struct fs_inode **ret)
{
	struct fs_inode *ino = NULL;

	fs_lock(s);
	ino = fs_inode_find(s, nodeid);
	if (ino)
		ino->refs++;
	fs_unlock(s);
	if (!ino)
		return -ESTALE;
	*ret = ino;
	return 0;
}

void fs_drop(struct fs_server *s, struct fs_inode *ino)
{
	fs_lock(s);
	fs_inode_drop(s, ino);
	fs_unlock(s);
}

/* The lock is held. Return: whether there is a descriptor at hand */
static bool at_hand(struct fs_server *s, struct fs_at *at)
{
	struct fs_inode *ino = at->ino;

	at->fd = fs_inode_use_fd(s, ino);
	at->shared = at->fd >= 0;
	if (at->shared || ino->stub)
		return true;
	if (list_empty(&ino->handles))
		return false;
	at->h = list_entry(ino->handles.next, struct fs_handle, link);
	at->h->refs++;
	at->fd = at->h->fd;
	return true;
}

/* In a mapped tree the attribute is read from it, for which O_PATH will not do. */
static bool wants_real(const struct fs_server *s, const struct fs_inode *ino)
{
	return s->o.owner == FS_OWNER_MAPPED &&
	       (S_ISREG(ino->type) || S_ISDIR(ino->type));
}

static int walk_to(struct fs_server *s, struct fs_at *at)
{
	bool real = wants_real(s, at->ino);
	int fd = fs_walk(s, at->ino, real ? O_RDONLY : O_PATH);

	if (fd < 0)
		return fd;
	fs_lock(s);
	at->fd = fs_inode_lend_fd(s, at->ino, fd, real);
	at->shared = true;
	fs_unlock(s);
	return 0;
}

int fs_reach(struct fs_server *s, struct fs_inode *ino, struct fs_at *at)
{
	bool found;

	at->ino = ino;
	fs_lock(s);
	found = at_hand(s, at);
	fs_unlock(s);
	return found ? 0 : walk_to(s, at);
}

int fs_get(struct fs_server *s, uint64_t nodeid, struct fs_at *at)
{
	bool found = false;

	*at = (struct fs_at){ .fd = -1 };
	fs_lock(s);
	at->ino = fs_inode_find(s, nodeid);
	if (at->ino) {
		at->ino->refs++;
		found = at_hand(s, at);
	}
	fs_unlock(s);
	if (!at->ino)
		return -ESTALE;
	return found ? 0 : walk_to(s, at);
}

/* The lock is held: whether @ino may be changed where the host has put it. */
static bool outlives_name(const struct fs_inode *ino, bool open)
{
	if (ino->stub)
		return true;
	return open ? ino->pinned || !list_empty(&ino->handles) : !ino->names;
}

int fs_get_there(struct fs_server *s, uint64_t nodeid, bool open,
		 struct fs_at *at)
{
	bool found = false;
	int r;

	*at = (struct fs_at){ .fd = -1 };
	r = fs_find(s, nodeid, &at->ino);
	if (r < 0)
		return r;
	fs_lock(s);
	if (outlives_name(at->ino, open))
		found = at_hand(s, at);
	fs_unlock(s);
	if (found)
		return 0;
	/* Not the inode's: the host may have moved the file out since. */
	at->fd =
		fs_walk(s, at->ino, wants_real(s, at->ino) ? O_RDONLY : O_PATH);
	return at->fd < 0 ? at->fd : 0;
}

void fs_put(struct fs_server *s, struct fs_at *at)
{
	struct fs_handle *h = at->h;

	if (!at->ino)
		return;
	if (!at->shared && !h)
		base_closep(&at->fd);
	fs_lock(s);
	if (at->shared)
		fs_inode_unuse_fd(s, at->ino);
	fs_inode_drop(s, at->ino);
	fs_unlock(s);
	if (h)
		fs_handle_put(s, h);
	*at = (struct fs_at){ .fd = -1 };
}

static bool serves(int have, int flags)
{
	return flags == FS_ANY_ACCESS || have == O_RDWR || have == flags;
}

/* The lock is held: one that is open for what is wanted, if any. */
static struct fs_handle *usable(const struct fs_inode *ino, int flags)
{
	struct list *p;

	list_for_each (p, &ino->handles) {
		struct fs_handle *h = list_entry(p, struct fs_handle, link);

		if (serves(h->flags & O_ACCMODE, flags))
			return h;
	}
	return NULL;
}

bool fs_borrow(struct fs_server *s, int flags, struct fs_at *at)
{
	struct fs_inode *ino = at->ino;

	fs_lock(s);
	/* An idle one may be of a file that the host has moved out since. */
	if (ino->pinned && ino->fd_real && serves(ino->fd_access, flags)) {
		at->fd = fs_inode_use_fd(s, ino);
		at->shared = at->fd >= 0;
	}
	at->h = at->shared ? NULL : usable(ino, flags);
	if (at->h) {
		at->h->refs++;
		at->fd = at->h->fd;
	}
	fs_unlock(s);
	return at->fd >= 0;
}

int fs_get_open(struct fs_server *s, uint64_t nodeid, int flags,
		struct fs_at *at)
{
	int r;

	*at = (struct fs_at){ .fd = -1 };
	r = fs_find(s, nodeid, &at->ino);
	if (r < 0)
		return r;
	if (at->ino->stub)
		return -EOPNOTSUPP;
	if (fs_borrow(s, flags, at))
		return 0;
	at->fd = fs_walk(s, at->ino, flags == FS_ANY_ACCESS ? O_RDONLY : flags);
	return at->fd < 0 ? at->fd : 0;
}
