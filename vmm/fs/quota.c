/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/quota.c - see quota.h; the walk and the mark are in their own files */
#include <errno.h>
#include <sys/stat.h>

#include "vmm/fs/inode.h"

/* What a folder may grow by for one name: a block, and what an index needs. */
#define NAME_ROOM (3ull * FS_QUOTA_BLOCK)

static void lock(pthread_mutex_t *m)
{
	bug_on(pthread_mutex_lock(m) != 0);
}

static void unlock(pthread_mutex_t *m)
{
	bug_on(pthread_mutex_unlock(m) != 0);
}

static bool fits(uint64_t used, uint64_t more, uint64_t max)
{
	return more == 0 || (used <= max && more <= max - used);
}

static struct treesize limit(const struct fs_server *s, enum fs_room room)
{
	const struct fs_quota *q = &s->quota;
	struct treesize max = { q->bytes_max, q->inodes_max };

	if (room == FS_ROOM_GIVEN || (room != FS_ROOM_RENAME && !s->o.upper))
		return max;
	max = q->floor;
	max.bytes += (uint64_t)room * FS_QUOTA_RESERVE;
	max.inodes += (uint64_t)room * FS_QUOTA_RESERVE_INODES;
	return max;
}

static int take(struct fs_server *s, const struct treesize *want,
		enum fs_room room)
{
	const struct treesize max = limit(s, room);
	struct fs_quota *q = &s->quota;
	int r = -ENOSPC;

	lock(&q->lock);
	if (fits(q->bytes, want->bytes, max.bytes) &&
	    fits(q->inodes, want->inodes, max.inodes)) {
		q->bytes += want->bytes;
		q->inodes += want->inodes;
		r = 0;
	}
	unlock(&q->lock);
	return r;
}

/* @add is more and @sub is less; what is less has been counted before. */
static void settle(struct fs_quota *q, const struct treesize *add,
		   const struct treesize *sub)
{
	lock(&q->lock);
	q->bytes += add->bytes;
	q->inodes += add->inodes;
	/* A host that meddles in the tree must not make less than nothing. */
	q->bytes -= MIN(q->bytes, sub->bytes);
	q->inodes -= MIN(q->inodes, sub->inodes);
	unlock(&q->lock);
}

struct treesize fs_quota_now(struct fs_server *s)
{
	struct treesize u;

	lock(&s->quota.lock);
	u.bytes = s->quota.bytes;
	u.inodes = s->quota.inodes;
	unlock(&s->quota.lock);
	return u;
}

static uint64_t left(uint64_t used, uint64_t max)
{
	return used < max ? max - used : 0;
}

/* The host may have less than what was promised. */
void fs_quota_statfs(struct fs_server *s, struct statfs *st)
{
	const struct fs_quota *q = &s->quota;
	struct treesize u;
	uint64_t free, unit = st->f_frsize ? (uint64_t)st->f_frsize
					   : (uint64_t)st->f_bsize;

	if (!q->on)
		return;
	u = fs_quota_now(s);
	free = MIN(left(u.bytes, q->bytes_max) / FS_QUOTA_BLOCK,
		   st->f_bavail / FS_QUOTA_BLOCK * unit);
	st->f_bsize = FS_QUOTA_BLOCK;
	st->f_frsize = FS_QUOTA_BLOCK;
	st->f_blocks = q->bytes_max / FS_QUOTA_BLOCK;
	st->f_bfree = free;
	st->f_bavail = free;
	free = left(u.inodes, q->inodes_max);
	/* Some file systems have no limit, and say 0. */
	st->f_ffree = st->f_files ? MIN(free, st->f_ffree) : free;
	st->f_files = q->inodes_max;
}

/* Blocks of a file or folder; 0 of all that has no size. */
static uint64_t blocks_at(int fd, const char *name, bool *ret_named)
{
	struct statx st = { 0 };

	if (fd < 0 || statx(fd, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
			    STATX_TYPE | STATX_SIZE | STATX_NLINK, &st) < 0)
		return 0;
	if (ret_named)
		*ret_named = st.stx_nlink > 0;
	if (!S_ISREG(st.stx_mode) && !S_ISDIR(st.stx_mode))
		return 0;
	return treesize_blocks(st.stx_size);
}

static uint64_t blocks_of(int fd)
{
	return blocks_at(fd, "", NULL);
}

uint64_t fs_quota_size_at(const struct fs_server *s, int dir, const char *name)
{
	return s->quota.on ? blocks_at(dir, name, NULL) : 0;
}

static uint64_t blocks_of_both(const int dir[2])
{
	return blocks_of(dir[0]) + blocks_of(dir[1]);
}

int fs_quota_naming(struct fs_server *s, int dir, int other, enum fs_room room,
		    const struct treesize *want, struct fs_naming *n)
{
	struct fs_quota *q = &s->quota;

	*n = (struct fs_naming){ .dir = { dir, other } };
	if (!q->on)
		return 0;
	lock(&q->names);
	if (want) {
		n->taken = *want;
		n->taken.bytes += NAME_ROOM;
		if (take(s, &n->taken, room) < 0) {
			unlock(&q->names);
			return -ENOSPC;
		}
	}
	n->on = true;
	n->before = blocks_of_both(n->dir);
	return 0;
}

void fs_quota_named(struct fs_server *s, struct fs_naming *n,
		    const struct treesize *made)
{
	struct treesize add = { 0 }, sub = n->taken;
	uint64_t after;

	if (!n->on)
		return;
	after = blocks_of_both(n->dir);
	if (made)
		add = *made;
	if (after > n->before)
		add.bytes += after - n->before;
	else
		sub.bytes += n->before - after;
	settle(&s->quota, &add, &sub);
	n->on = false;
	unlock(&s->quota.names);
}

static pthread_rwlock_t *size_lock(struct fs_server *s,
				   const struct fs_inode *ino)
{
	return &s->quota.size[ino->id % FS_QUOTA_LOCKS];
}

static void hold(struct fs_growing *g, bool alone)
{
	g->alone = alone;
	bug_on((alone ? pthread_rwlock_wrlock(g->lock)
		      : pthread_rwlock_rdlock(g->lock)) != 0);
	g->before = blocks_of(g->fd);
}

static void let_go(struct fs_growing *g)
{
	bug_on(pthread_rwlock_unlock(g->lock) != 0);
	g->lock = NULL;
}

static bool begin(struct fs_server *s, struct fs_inode *ino, int fd,
		  struct fs_growing *g)
{
	*g = (struct fs_growing){ .ino = ino, .fd = fd };
	if (s->quota.on)
		g->lock = size_lock(s, ino);
	return g->lock;
}

/*
 * Take what is missing up to @end, or as much of it as there is, if @some.
 * A file is never shortened by that.
 *
 * Return: the end that there is room for
 */
static uint64_t take_up_to(struct fs_quota *q, struct fs_growing *g,
			   uint64_t end, bool some)
{
	uint64_t want = treesize_blocks(end), left;

	if (want <= g->before)
		return end;
	want -= g->before;
	lock(&q->lock);
	left = q->bytes < q->bytes_max ? q->bytes_max - q->bytes : 0;
	left -= left % FS_QUOTA_BLOCK;
	if (want > left) {
		want = some ? left : 0;
		end = g->before + want;
	}
	q->bytes += want;
	g->taken = want;
	unlock(&q->lock);
	return end;
}

int fs_quota_writing(struct fs_server *s, struct fs_inode *ino, int fd,
		     uint64_t off, size_t *len, struct fs_growing *g)
{
	struct statx st = { 0 };
	uint64_t end;

	if (!begin(s, ino, fd, g))
		return 0;
	if (off <= INT64_MAX) {
		hold(g, false);
		if (off + *len <= g->before)
			return 0;
		bug_on(pthread_rwlock_unlock(g->lock) != 0);
	}
	hold(g, true);
	if (off > INT64_MAX) {
		if (statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &st) < 0)
			st.stx_size = g->before;
		off = st.stx_size;
	}
	if (*len > INT64_MAX - off)
		*len = INT64_MAX - off;
	end = take_up_to(&s->quota, g, off + *len, true);
	if (end <= off && *len > 0) {
		fs_quota_grown(s, g);
		return -ENOSPC;
	}
	*len = end - off;
	return 0;
}

int fs_quota_sizing(struct fs_server *s, struct fs_inode *ino, int fd,
		    uint64_t size, struct fs_growing *g)
{
	if (!begin(s, ino, fd, g))
		return 0;
	hold(g, true);
	if (take_up_to(&s->quota, g, size, false) >= size)
		return 0;
	fs_quota_grown(s, g);
	return -ENOSPC;
}

void fs_quota_holding(struct fs_server *s, struct fs_inode *ino, int fd,
		      struct fs_growing *g)
{
	if (begin(s, ino, fd, g))
		hold(g, true);
}

void fs_quota_grown(struct fs_server *s, struct fs_growing *g)
{
	struct treesize add = { 0 }, sub = { .bytes = g->taken };
	uint64_t after;

	if (!g->lock)
		return;
	if (g->alone) {
		after = blocks_of(g->fd);
		if (after > g->before)
			add.bytes = after - g->before;
		else
			sub.bytes += g->before - after;
		settle(&s->quota, &add, &sub);
		g->ino->doomed_bytes += after - g->before;
	}
	let_go(g);
}

void fs_quota_unnamed(struct fs_server *s, struct fs_inode *ino, int fd,
		      uint64_t dir_bytes)
{
	struct fs_growing g;
	bool named = true;
	uint64_t bytes;

	if (!begin(s, ino, fd, &g))
		return;
	hold(&g, true);
	bytes = blocks_at(fd, "", &named);
	/* A folder has no size any more, and maybe links. */
	if (!named || S_ISDIR(ino->type)) {
		ino->doomed = true;
		ino->doomed_bytes = S_ISDIR(ino->type) ? dir_bytes : bytes;
	}
	let_go(&g);
}

static void set_doomed(struct fs_server *s, struct fs_inode *ino, bool doomed)
{
	struct fs_growing g;

	if (!begin(s, ino, -1, &g))
		return;
	hold(&g, true);
	ino->doomed = doomed;
	ino->doomed_bytes = 0;
	let_go(&g);
}

void fs_quota_nameless(struct fs_server *s, struct fs_inode *ino)
{
	set_doomed(s, ino, true);
}

void fs_quota_linked(struct fs_server *s, struct fs_inode *ino)
{
	set_doomed(s, ino, false);
}

void fs_quota_forgotten(struct fs_server *s, const struct fs_inode *ino)
{
	static const struct treesize none = { 0 };
	struct treesize gone = { .bytes = ino->doomed_bytes, .inodes = 1 };

	if (ino->doomed)
		settle(&s->quota, &none, &gone);
}
