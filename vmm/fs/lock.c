/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/lock.c - GETLK, SETLK, SETLKW; see lock.h */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "vmm/fs/lock.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/waiter.h"
#include "vmm/fs/walk.h"

/* ---- Owners ---- */

/* The lock is held. Return: whether to free_lock() it without the lock */
static bool put(struct fs_server *s, struct fs_lock *l)
{
	if (--l->refs > 0)
		return false;
	fs_inode_drop(s, l->ino);
	return true;
}

static void free_lock(struct fs_lock *l)
{
	base_closep(&l->fd);
	free(l);
}

static void put_lock(struct fs_server *s, struct fs_lock *l)
{
	bool last;

	fs_lock(s);
	last = put(s, l);
	fs_unlock(s);
	if (last)
		free_lock(l);
}

/* struct wanted - Owners to be dropped; NULL and 0 stand for any */
struct wanted {
	const struct fs_inode *ino;
	uint64_t owner;
	uint64_t fh;
	bool by_fh;
	bool all;
};

static bool matches(const struct fs_lock *l, const struct wanted *w)
{
	if (w->all)
		return true;
	if (w->by_fh)
		return l->fh == w->fh;
	return l->ino == w->ino && l->owner == w->owner && !l->whole;
}

/* The first that matches, out of the list. Return: it, or NULL */
static struct fs_lock *take_out(struct fs_server *s, const struct wanted *w)
{
	struct list *p;

	list_for_each (p, &s->locks) {
		struct fs_lock *l = list_entry(p, struct fs_lock, link);

		if (!matches(l, w))
			continue;
		list_del(&l->link);
		s->n_locks--;
		return l;
	}
	return NULL;
}

static void drop_all(struct fs_server *s, const struct wanted *w)
{
	bool any = false;

	for (;;) {
		struct fs_lock *l;

		fs_lock(s);
		l = take_out(s, w);
		fs_unlock(s);
		if (!l)
			break;
		/* A request under way keeps it a moment longer. */
		put_lock(s, l);
		any = true;
	}
	if (any)
		fs_waiters_again(s);
}

void fs_locks_flush(struct fs_server *s, const struct fs_inode *ino,
		    uint64_t owner)
{
	const struct wanted w = { .ino = ino, .owner = owner };

	drop_all(s, &w);
}

void fs_locks_release(struct fs_server *s, uint64_t fh)
{
	const struct wanted w = { .fh = fh, .by_fh = true };

	drop_all(s, &w);
}

void fs_locks_drop_all(struct fs_server *s)
{
	const struct wanted w = { .all = true };

	drop_all(s, &w);
}

/* ---- One owner ---- */

/* The lock is held. Return: it, with one reference more; or NULL */
static struct fs_lock *find(const struct fs_server *s,
			    const struct fs_handle *h, uint64_t owner,
			    bool whole)
{
	struct list *p;

	list_for_each (p, &s->locks) {
		struct fs_lock *l = list_entry(p, struct fs_lock, link);

		if (l->ino == h->ino && l->owner == owner &&
		    l->whole == whole) {
			l->refs++;
			return l;
		}
	}
	return NULL;
}

/*
 * The same file once more.  An owner of record locks may come with another
 * handle later, that can do more; flock() asks for nothing, and a file that is
 * open to be written cannot be executed.
 */
static int open_own(const struct fs_server *s, const struct fs_handle *h,
		    bool whole)
{
	const int mode = h->flags & O_ACCMODE;
	int fd = -EACCES;

	if (!whole && !s->o.ro)
		fd = fs_reopen(s, h->fd, O_RDWR | O_NONBLOCK);
	if (fd < 0)
		fd = fs_reopen(s, h->fd, mode | O_NONBLOCK);
	return fd;
}

static int make(struct fs_server *s, const struct fs_handle *h,
		const struct fuse_lk_in *in, bool whole, struct fs_lock **ret)
{
	struct fs_lock *l = calloc(1, sizeof(*l)), *there;
	int r = 0;

	if (!l)
		return -ENOLCK;
	*l = (struct fs_lock){ .refs = 2,
			       .ino = h->ino,
			       .owner = in->owner,
			       .fh = in->fh,
			       .whole = whole,
			       .fd = open_own(s, h, whole) };
	if (l->fd < 0) {
		r = l->fd == -EAGAIN ? -EAGAIN : -ENOLCK;
		free(l);
		return r;
	}
	fs_lock(s);
	/* Another thread of the owner may have been faster. */
	there = find(s, h, in->owner, whole);
	if (!there && s->n_locks < FS_LOCK_OWNERS_MAX && fs_fds_room(s)) {
		list_add_tail(&s->locks, &l->link);
		s->n_locks++;
		h->ino->refs++;
		there = l;
	}
	fs_unlock(s);
	if (there != l)
		free_lock(l);
	if (!there)
		return -ENOLCK;
	*ret = there;
	return 0;
}

/* Return: 0 and it is referred to; -ENOENT if it has none and is not made */
static int get(struct fs_server *s, const struct fs_handle *h,
	       const struct fuse_lk_in *in, bool make_it, struct fs_lock **ret)
{
	const bool whole = in->lk_flags & FUSE_LK_FLOCK;

	fs_lock(s);
	*ret = find(s, h, in->owner, whole);
	fs_unlock(s);
	if (*ret)
		return 0;
	return make_it ? make(s, h, in, whole, ret) : -ENOENT;
}

/* ---- Locks ---- */

static int to_host(const struct fuse_lk_in *in, struct flock *ret)
{
	const struct fuse_file_lock *lk = &in->lk;

	if (lk->type != F_RDLCK && lk->type != F_WRLCK && lk->type != F_UNLCK)
		return -EINVAL;
	if (lk->start > lk->end || lk->end > INT64_MAX)
		return -EINVAL;
	*ret = (struct flock){
		.l_type = (short)lk->type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)lk->start,
		.l_len = lk->end == INT64_MAX
				 ? 0
				 : (off_t)(lk->end - lk->start + 1),
	};
	return 0;
}

static int set_whole(int fd, const struct fuse_lk_in *in)
{
	const int op = in->lk.type == F_RDLCK ? LOCK_SH : LOCK_EX;

	return flock(fd, op | LOCK_NB) < 0 ? -errno : 0;
}

static int set_record(int fd, struct flock *fl)
{
	if (fcntl(fd, F_OFD_SETLK, fl) == 0)
		return 0;
	/* The one word of two that POSIX allows and Linux does not use. */
	return errno == EACCES ? -EAGAIN : -errno;
}

/* All of it, or all that flock() knows: the owner goes. */
static bool is_all(const struct fuse_lk_in *in)
{
	return in->lk_flags & FUSE_LK_FLOCK ||
	       (in->lk.start == 0 && in->lk.end == INT64_MAX);
}

/* Out of the list; who has a reference, and so the caller, keeps it. */
static void forget(struct fs_server *s, struct fs_lock *l)
{
	bool last = false;

	fs_lock(s);
	if (!list_empty(&l->link)) {
		list_del(&l->link);
		s->n_locks--;
		last = put(s, l);
	}
	fs_unlock(s);
	bug_on(last);
}

static int unlock(struct fs_server *s, struct fs_lock *l, struct flock *fl,
		  const struct fuse_lk_in *in)
{
	int r;

	if (l->whole)
		r = flock(l->fd, LOCK_UN) < 0 ? -errno : 0;
	else
		r = set_record(l->fd, fl);
	if (is_all(in))
		forget(s, l);
	fs_waiters_again(s);
	return r;
}

static int lock_it(struct fs_server *s, struct fs_lock *l, struct flock *fl,
		   const struct fuse_lk_in *in, uint32_t pid)
{
	int r = l->whole ? set_whole(l->fd, in) : set_record(l->fd, fl);

	if (r < 0)
		return r;
	fs_lock(s);
	l->pid = pid;
	fs_unlock(s);
	return 0;
}

static int set(struct fs_server *s, const struct fs_handle *h,
	       const struct fuse_lk_in *in, uint32_t pid)
{
	const bool free_it = in->lk.type == F_UNLCK;
	struct fs_lock *l = NULL;
	struct flock fl;
	int r = to_host(in, &fl);

	if (r == 0)
		r = get(s, h, in, !free_it, &l);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* there is nothing to unlock */
	if (free_it)
		r = unlock(s, l, &fl, in);
	else
		r = lock_it(s, l, &fl, in, pid);
	put_lock(s, l);
	return r;
}

static int set_lock(struct fs_req *r)
{
	struct fs_handle *h = NULL;
	struct fuse_lk_in in;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0 && in.lk_flags & ~FUSE_LK_FLOCK)
		e = -EINVAL;
	if (e == 0)
		e = fs_handle_get(r->s, in.fh, r->h.nodeid, false, &h);
	if (e)
		return e;
	e = h->fd < 0 ? -EBADF : set(r->s, h, &in, r->h.pid);
	fs_handle_put(r->s, h);
	return e;
}

int fs_op_setlk(struct fs_req *r)
{
	return set_lock(r);
}

int fs_op_setlkw(struct fs_req *r)
{
	return fs_waiter_tried(r, set_lock(r));
}

/* The @n-th owner of record locks of a file. Return: as find() */
static struct fs_lock *nth(struct fs_server *s, const struct fs_inode *ino,
			   unsigned int n, uint32_t *ret_pid)
{
	struct fs_lock *found = NULL;
	struct list *p;

	fs_lock(s);
	list_for_each (p, &s->locks) {
		struct fs_lock *l = list_entry(p, struct fs_lock, link);

		if (l->ino != ino || l->whole || n-- > 0)
			continue;
		l->refs++;
		*ret_pid = l->pid;
		found = l;
		break;
	}
	fs_unlock(s);
	return found;
}

/*
 * Which process of this guest has the lock @had, which is in the way of one of
 * @type?  The one in whose way it is not.  Return: 0 if it is none, or not one
 * alone: a number of the host's, or of another guest's, would be some other
 * process here.
 */
static uint32_t whose(struct fs_server *s, const struct fs_inode *ino,
		      const struct flock *had, short type)
{
	for (unsigned int n = 0; n < FS_LOCK_ASKED_MAX; n++) {
		uint32_t pid = 0;
		struct fs_lock *l = nth(s, ino, n, &pid);
		struct flock fl = *had;
		bool mine;

		if (!l)
			break;
		fl.l_type = type;
		fl.l_pid = 0;
		mine = fcntl(l->fd, F_OFD_GETLK, &fl) == 0 &&
		       fl.l_type == F_UNLCK;
		put_lock(s, l);
		if (mine)
			return pid;
	}
	return 0;
}

static void from_host(const struct flock *fl, uint32_t pid,
		      struct fuse_file_lock *ret)
{
	*ret = (struct fuse_file_lock){ .type = (uint32_t)fl->l_type,
					.pid = pid };
	if (fl->l_type == F_UNLCK)
		return;
	ret->start = (uint64_t)fl->l_start;
	ret->end = fl->l_len == 0 ? INT64_MAX
				  : (uint64_t)(fl->l_start + fl->l_len - 1);
}

int fs_op_getlk(struct fs_req *r)
{
	struct fuse_lk_out out = { 0 };
	struct fs_handle *h = NULL;
	struct fs_lock *l = NULL;
	struct fuse_lk_in in;
	struct flock want = { 0 }, fl;
	uint32_t pid = 0;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = fs_req_needs(r, sizeof(out));
	if (e == 0 && in.lk_flags)
		e = -EINVAL;
	if (e == 0)
		e = to_host(&in, &want);
	if (e == 0)
		e = fs_handle_get(r->s, in.fh, r->h.nodeid, false, &h);
	if (e)
		return e;
	/* Its own locks are in nobody's way; without any, any file will do. */
	if (get(r->s, h, &in, false, &l) < 0)
		l = NULL;
	fl = want;
	if (fcntl(l ? l->fd : h->fd, F_OFD_GETLK, &fl) < 0)
		e = -errno;
	else if (fl.l_type != F_UNLCK)
		pid = whose(r->s, h->ino, &fl, want.l_type);
	if (l)
		put_lock(r->s, l);
	fs_handle_put(r->s, h);
	if (e < 0)
		return e;
	from_host(&fl, pid, &out.lk);
	return fs_req_put(r, &out, sizeof(out));
}
