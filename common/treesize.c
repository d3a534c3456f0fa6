/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/treesize.c - count a tree
 *
 * How it works.  Depth first, with the deepest few folders open; of those above
 * the position is remembered, and they are opened anew by their path when it is
 * their turn.  A file that has several names is met under each of them: all
 * that have n names are added up, and that is n times too much.  So there is no
 * table of files, and memory is for the depth of the tree, and for how many
 * different numbers of names there are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/beneath.h"
#include "common/treesize.h"

#define OPEN_MAX_LEVELS 16u
#define BUF_LEN         32768u

/* Different numbers of names; of more, each is counted as if it had one. */
#define SUMS_MAX 1024u

/**
 * struct sum - All that have the same number of names
 * @nlink:	That number
 * @names:	How many were met
 * @bytes:	What they are together, each name as a file
 */
struct sum {
	uint32_t nlink;
	uint64_t names;
	uint64_t bytes;
};

/**
 * struct level - A folder that is being read
 * @fd:		-1 if it is to be opened anew
 * @pos:	Behind the last entry that was counted
 * @len:	Bytes of the path that are its own and those above it
 */
struct level {
	int fd;
	int64_t pos;
	size_t len;
};

struct walker {
	int root_fd;
	struct level *level;
	size_t depth;
	size_t depth_cap;
	char *path;
	size_t path_cap;
	struct sum sum[SUMS_MAX];
	unsigned int n_sums;
	uint64_t mount;
	union {
		struct dirent64 de;
		uint8_t room[BUF_LEN];
	} u;
};

static struct sum *sum_of(struct walker *w, uint32_t nlink)
{
	for (unsigned int i = 0; i < w->n_sums; i++)
		if (w->sum[i].nlink == nlink)
			return &w->sum[i];
	if (w->n_sums == SUMS_MAX)
		return &w->sum[0];
	w->sum[w->n_sums].nlink = nlink;
	return &w->sum[w->n_sums++];
}

static void count(struct walker *w, const struct statx *st)
{
	bool sized = S_ISREG(st->stx_mode) || S_ISDIR(st->stx_mode);
	struct sum *sum =
		sum_of(w, S_ISDIR(st->stx_mode) ? 1 : MAX(st->stx_nlink, 1u));

	sum->names++;
	sum->bytes += sized ? treesize_blocks(st->stx_size) : 0;
}

static int look(int fd, const char *name, struct statx *ret)
{
	if (statx(fd, name,
		  AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_TYPE | STATX_NLINK | STATX_SIZE | STATX_MNT_ID,
		  ret) < 0)
		return -errno;
	return 0;
}

/* Room for one more level and for its name. */
static int grow(struct walker *w, size_t name_len)
{
	size_t cap = w->depth_cap ? w->depth_cap * 2 : 64;
	size_t len = w->depth ? w->level[w->depth - 1].len : 0;
	void *p;

	if (w->depth == w->depth_cap) {
		p = reallocarray(w->level, cap, sizeof(w->level[0]));
		if (!p)
			return -ENOMEM;
		w->level = p;
		w->depth_cap = cap;
	}
	if (w->path_cap - len < name_len + 2) {
		cap = (w->path_cap + name_len + 2) * 2;
		p = realloc(w->path, cap);
		if (!p)
			return -ENOMEM;
		w->path = p;
		w->path_cap = cap;
	}
	return 0;
}

/* Go into a folder; @fd is taken. */
static int push(struct walker *w, const char *name, int fd)
{
	size_t at = w->depth ? w->level[w->depth - 1].len : 0;
	size_t n = strlen(name);
	int r = grow(w, n);

	if (r < 0) {
		base_closep(&fd);
		return r;
	}
	if (at > 0)
		w->path[at++] = '/';
	memcpy(w->path + at, name, n + 1);
	w->level[w->depth] = (struct level){ .fd = fd, .len = at + n };
	if (w->depth >= OPEN_MAX_LEVELS)
		(void)close(take_fd(&w->level[w->depth - OPEN_MAX_LEVELS].fd));
	w->depth++;
	return 0;
}

static void pop(struct walker *w)
{
	base_closep(&w->level[--w->depth].fd);
	if (w->depth)
		w->path[w->level[w->depth - 1].len] = '\0';
}

static int reopen(struct walker *w, struct level *l)
{
	char here[] = ".";

	if (l->fd >= 0)
		return 0;
	l->fd = beneath_steps(w->root_fd, l->len ? w->path : here,
			      MAX(l->len, 1u), O_RDONLY | O_DIRECTORY, 0);
	return l->fd < 0 ? l->fd : 0;
}

/* Return: 1 if the walk goes on in this folder, 0 if in one that it is in */
static int take(struct walker *w, struct level *l, const struct dirent64 *de)
{
	struct statx st = { 0 };
	int fd, r;

	l->pos = de->d_off;
	if (base_is_dots(de->d_name))
		return 1;
	r = look(l->fd, de->d_name, &st);
	if (r < 0)
		return r == -ENOENT ? 1 : r;
	/* What is mounted there is not of this tree; st_dev would not do. */
	if (st.stx_mnt_id != w->mount)
		return 1;
	count(w, &st);
	if (!S_ISDIR(st.stx_mode))
		return 1;
	fd = beneath_open(l->fd, de->d_name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fd == -EXDEV || fd == -ENOENT ? 1 : fd;
	return push(w, de->d_name, fd);
}

static int read_on(struct walker *w)
{
	struct level *l = &w->level[w->depth - 1];
	int r = reopen(w, l);
	long n;

	if (r < 0)
		return r;
	if (lseek(l->fd, (off_t)l->pos, SEEK_SET) < 0)
		return -errno;
	n = getdents64(l->fd, w->u.room, BUF_LEN);
	if (n < 0)
		return -errno;
	if (n == 0)
		pop(w);
	r = 1;
	for (long at = 0; at < n && r == 1;) {
		const struct dirent64 *de = (const void *)(w->u.room + at);

		at += de->d_reclen;
		r = take(w, l, de);
	}
	return r < 0 ? r : 0;
}

static void add_up(const struct walker *w, struct treesize *ret)
{
	*ret = (struct treesize){ 0 };
	for (unsigned int i = 0; i < w->n_sums; i++) {
		const struct sum *sum = &w->sum[i];
		uint64_t n = sum->nlink;

		/* More than whole if a name is in another tree. */
		ret->inodes += (sum->names + n - 1) / n;
		ret->bytes += (sum->bytes + n - 1) / n;
	}
}

static int begin(struct walker *w)
{
	struct statx st = { 0 };
	int fd, r = look(w->root_fd, "", &st);

	if (r < 0)
		return r;
	w->mount = st.stx_mnt_id;
	/* The first is what there is too much for: one name each. */
	(void)sum_of(w, 1);
	count(w, &st);
	fd = beneath_open(w->root_fd, ".", O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? fd : push(w, "", fd);
}

int treesize_count(int root_fd, struct treesize *ret)
{
	struct walker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->root_fd = root_fd;
	r = begin(w);
	while (r == 0 && w->depth)
		r = read_on(w);
	if (r == 0)
		add_up(w, ret);
	while (w->depth)
		pop(w);
	free(w->level);
	free(w->path);
	free(w);
	return r;
}
