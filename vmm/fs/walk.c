/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/walk.c - paths and the walk itself; see walk.h */
#include <errno.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/beneath.h"
#include "vmm/fs/walk.h"

/*
 * The names up to the root, from the end of @buf to its front.
 *
 * Return: where the path begins in @buf; -ESTALE; -ENAMETOOLONG if @cap is
 * too little
 */
static ssize_t write_names(const struct fs_server *s,
			   const struct fs_inode *ino, unsigned int which,
			   char *buf, size_t cap)
{
	const struct fs_name *n = ino->names;
	size_t at = cap;

	for (; n && which > 0; which--)
		n = n->next;
	while (ino != s->root) {
		if (!n)
			return -ESTALE;
		if (at < n->len + 1)
			return -ENAMETOOLONG;
		if (at < cap)
			buf[--at] = '/';
		at -= n->len;
		memcpy(buf + at, n->s, n->len);
		ino = n->parent;
		n = ino->names;
	}
	return (ssize_t)at;
}

static int path_in(struct fs_server *s, const struct fs_inode *ino,
		   unsigned int which, const char *leaf, struct fs_path *p)
{
	size_t leaf_len = leaf ? strlen(leaf) : 0;
	size_t cap = p->heap ? FS_PATH_MAX : sizeof(p->room);
	char *buf = p->heap ? p->heap : p->room;
	size_t names = cap - leaf_len - 2; /* a '/' and the NUL */
	ssize_t at;

	fs_lock(s);
	at = write_names(s, ino, which, buf, names);
	fs_unlock(s);
	if (at < 0)
		return (int)at;
	p->p = buf + at;
	p->len = names - (size_t)at;
	if (p->len && leaf)
		p->p[p->len++] = '/';
	if (!p->len && !leaf)
		p->p[p->len++] = '.';
	if (leaf)
		memcpy(p->p + p->len, leaf, leaf_len);
	p->len += leaf_len;
	p->p[p->len] = '\0';
	return 0;
}

int fs_path_of(struct fs_server *s, const struct fs_inode *ino,
	       unsigned int which, const char *leaf, struct fs_path *ret)
{
	int r;

	ret->heap = NULL;
	r = path_in(s, ino, which, leaf, ret);
	if (r != -ENAMETOOLONG)
		return r;
	ret->heap = malloc(FS_PATH_MAX);
	if (!ret->heap)
		return -ENOMEM;
	r = path_in(s, ino, which, leaf, ret);
	if (r < 0)
		fs_path_done(ret);
	return r;
}

void fs_path_done(struct fs_path *p)
{
	free(p->heap);
	p->heap = NULL;
}

/* Return: whether a descriptor could be freed after @r, so that it may work */
static bool out_of_fds(struct fs_server *s, int r)
{
	unsigned int n;

	if (r != -EMFILE && r != -ENFILE)
		return false;
	fs_lock(s);
	n = fs_fds_evict(s);
	fs_unlock(s);
	return n > 0;
}

/* Of what never changes, the time of the last access does not either. */
static int quiet(const struct fs_server *s, int flags)
{
	return s->o.ro && !(flags & O_PATH) ? flags | O_NOATIME : flags;
}

/* Of a file of others that time is not ours to keep. */
static bool too_quiet(int r, int *flags)
{
	if (r != -EPERM || !(*flags & O_NOATIME))
		return false;
	*flags &= ~O_NOATIME;
	return true;
}

int fs_open_path(struct fs_server *s, const struct fs_path *path, int flags,
		 mode_t mode)
{
	int fd;

	flags = quiet(s, flags);
	/* The folder itself is open already, and has no name in itself. */
	do {
		fd = beneath_steps(s->root_fd, path->p, path->len, flags, mode);
	} while (fd < 0 && (too_quiet(fd, &flags) || out_of_fds(s, fd)));
	return fd == -EMFILE ? -ENFILE : fd;
}

int fs_open_in(struct fs_server *s, int dir_fd, const char *name, int flags)
{
	int fd;

	flags = quiet(s, flags);
	do {
		fd = beneath_open(dir_fd, name, flags, 0);
	} while (fd < 0 && (too_quiet(fd, &flags) || out_of_fds(s, fd)));
	return fd == -EMFILE ? -ENFILE : fd;
}

static bool not_there(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EXDEV ||
	       r == -ESTALE || r == -ENXIO;
}

/*
 * @fd has the identity of @ino, and what it is was seen by a name: the host may
 * have put another there between the two.
 */
static int check_type(int fd, const struct fs_inode *ino)
{
	struct statx st = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
		return -errno;
	return (st.stx_mode & S_IFMT) == ino->type ? 0 : -ESTALE;
}

int fs_reopen(const struct fs_server *s, int fd, int flags)
{
	struct open_how how = { 0 };
	char number[16];
	int r;

	if (s->self_fd < 0)
		return -ENOENT;
	(void)snprintf(number, sizeof(number), "%d", fd);
	flags = quiet(s, flags);
	do {
		how.flags = (unsigned int)flags | O_CLOEXEC;
		r = (int)syscall(SYS_openat2, s->self_fd, number, &how,
				 sizeof(how));
		r = r < 0 ? -errno : r;
	} while (r == -EINTR || too_quiet(r, &flags));
	return r;
}

/*
 * Somebody on the host has a lease on the file, and was just told to give it
 * up.  Until he does, or the host's lease-break-time is over, one may wait: for
 * a regular file, that is, which only a descriptor is sure to be.
 */
static int open_leased(struct fs_server *s, const struct fs_path *path,
		       int flags)
{
	auto_fd int fd = fs_open_path(s, path, O_PATH, 0);
	struct statx st = { 0 };

	if (fd < 0)
		return fd;
	if (s->self_fd < 0 ||
	    statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0 ||
	    !S_ISREG(st.stx_mode))
		return -EAGAIN;
	return fs_reopen(s, fd, flags);
}

static int walk_one(struct fs_server *s, const struct fs_inode *ino,
		    unsigned int which, int flags)
{
	struct fs_ident ident;
	struct fs_path path;
	int fd, r;

	r = fs_path_of(s, ino, which, NULL, &path);
	if (r < 0)
		return r;
	fd = fs_open_path(s, &path, flags, 0);
	if (fd == -EAGAIN && !(flags & O_PATH))
		fd = open_leased(s, &path, flags);
	fs_path_done(&path);
	if (fd < 0)
		return fd;
	r = fs_ident_get(s, fd, "", &ident);
	if (r == 0 && !fs_inode_is(ino, &ident))
		r = -ESTALE;
	if (r == 0 && !(flags & O_PATH))
		r = check_type(fd, ino);
	if (r < 0) {
		base_closep(&fd);
		return r;
	}
	return fd;
}

/* A file that is shared alone is open, and that has to do. */
static int dup_shared(const struct fs_server *s, int flags)
{
	int have = fcntl(s->file_fd, F_GETFL);
	int want = flags & O_ACCMODE;
	int fd;

	if (have < 0)
		return -errno;
	have &= O_ACCMODE;
	if (!(flags & O_PATH) && have != O_RDWR && have != want)
		return -EACCES;
	fd = fcntl(s->file_fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int fs_walk(struct fs_server *s, const struct fs_inode *ino, int flags)
{
	int r = -ESTALE;

	if (s->file_fd >= 0)
		return ino->stub ? -EROFS : dup_shared(s, flags);
	if (!(flags & O_PATH) && !S_ISREG(ino->type) && !S_ISDIR(ino->type))
		return -EOPNOTSUPP;
	if (S_ISDIR(ino->type))
		flags |= O_DIRECTORY;
	/* The path of a name too many is ESTALE too, and the end. */
	for (unsigned int which = 0; which < FS_NAMES_MAX; which++) {
		r = walk_one(s, ino, which, flags);
		if (r >= 0 || !not_there(r))
			return r;
		if (S_ISDIR(ino->type))
			break;
	}
	return -ESTALE;
}

int fs_walk_dir(struct fs_server *s, const struct fs_inode *ino, int *own)
{
	if (!S_ISDIR(ino->type))
		return -ENOTDIR;
	if (ino->stub)
		return -EROFS;
	if (ino == s->root)
		return s->root_fd;
	*own = fs_walk(s, ino, O_PATH);
	return *own;
}
