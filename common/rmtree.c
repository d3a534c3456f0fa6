/* SPDX-License-Identifier: Apache-2.0 */
/* common/rmtree.c - see rmtree.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/rmtree.h"

/**
 * struct walk - Folders on the way down; a stack, for a depth is ours to bound
 * @dir:	Open ones, [0] the one we began with
 * @name:	Of each in the one above
 * @moved:	Folders that were too deep, and are in dir[0] now
 */
struct walk {
	DIR *dir[RMTREE_DEPTH_MAX];
	char name[RMTREE_DEPTH_MAX][NAME_MAX + 1];
	int n;
	unsigned int moved;
};

/* To where it is not deep.  Its new name may be of one that is left there. */
static int move_up(struct walk *w, int dirfd_, const char *name)
{
	char up[32];

	do
		(void)snprintf(up, sizeof(up), ".deep-%u", w->moved++);
	while (renameat(dirfd_, name, dirfd(w->dir[0]), up) < 0 &&
	       (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) &&
	       w->moved < UINT_MAX);
	return faccessat(dirfd_, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? 0
								      : -ELOOP;
}

static int enter(struct walk *w, int dirfd, const char *name)
{
	int fd;

	if (w->n == RMTREE_DEPTH_MAX)
		return move_up(w, dirfd, name);
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	fd = openat(dirfd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	w->dir[w->n] = fdopendir(fd);
	if (!w->dir[w->n]) {
		(void)close(fd);
		return -ENOMEM;
	}
	memcpy(w->name[w->n], name, strlen(name) + 1);
	w->n++;
	return 0;
}

static int remove_one(struct walk *w, int dirfd, const char *name)
{
	if (base_is_dots(name) || unlinkat(dirfd, name, 0) == 0 ||
	    errno == ENOENT)
		return 0;
	/* Linux says EISDIR, POSIX EPERM. */
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return enter(w, dirfd, name);
}

/* One step: the next name of the lowest folder, or back up. */
static int step(struct walk *w)
{
	DIR *d = w->dir[w->n - 1];
	const struct dirent *de;

	errno = 0;
	de = readdir(d);
	if (de)
		return remove_one(w, dirfd(d), de->d_name);
	if (errno)
		return -errno;
	(void)closedir(d);
	w->n--;
	if (w->n &&
	    unlinkat(dirfd(w->dir[w->n - 1]), w->name[w->n], AT_REMOVEDIR) < 0)
		return -errno;
	return 0;
}

/* Until nothing had to be moved: readdir() may have passed its new place. */
static int walk(struct walk *w, int dirfd)
{
	unsigned int before;
	int r;

	do {
		before = w->moved;
		r = enter(w, dirfd, ".");
		while (r == 0 && w->n)
			r = step(w);
	} while (r == 0 && w->moved != before);
	return r;
}

int rmtree_inside(int dirfd)
{
	struct walk *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	r = walk(w, dirfd);
	while (w->n)
		(void)closedir(w->dir[--w->n]);
	free(w);
	return r;
}

int rmtree(int dirfd, const char *name)
{
	auto_fd int fd = -1;
	int r;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = openat(dirfd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = rmtree_inside(fd);
	if (r == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}
