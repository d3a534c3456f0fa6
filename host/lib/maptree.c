/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/maptree.c - see maptree.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "common/io.h"
#include "common/mapped.h"
#include "common/tree_links.h"
#include "host/lib/maptree.h"

#define NAMES_MAX  65536 /* as Linux bounds a list of attributes */
#define COPY_BYTES (1u << 30)
#define BUFFER     (1u << 20)

/* ---- Finding ---- */

/**
 * struct way - A path being followed
 * @at:		Where we are: names from the root, without symlinks
 * @left:	What is to be followed from there
 * @links:	Symlinks so far
 */
struct way {
	int root;
	char at[PATH_MAX];
	char left[PATH_MAX];
	unsigned int links;
};

static int open_at(const struct way *w)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, w->root, *w->at ? w->at : ".", &how,
			  sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static bool is_link(int fd)
{
	uint8_t buf[MAPPED_STAT_LEN];
	ssize_t n = fgetxattr(fd, MAPPED_STAT, buf, sizeof(buf));
	struct mapped_stat st;

	return n >= 0 && mapped_get(buf, (size_t)n, &st) == 0 &&
	       S_ISLNK(st.mode);
}

static void go_up(struct way *w)
{
	char *slash = strrchr(w->at, '/');

	*(slash ? slash : w->at) = '\0';
}

/* The symlink that we are at: its target comes before what was left. */
static int follow(struct way *w, int fd)
{
	char target[PATH_MAX], left[PATH_MAX];
	ssize_t n = io_read_full(fd, target, sizeof(target) - 1);
	int len;

	if (n < 0)
		return (int)n;
	target[n] = '\0';
	if (n == 0 || ++w->links > MAPTREE_LINKS_MAX)
		return -ELOOP;
	len = snprintf(left, sizeof(left), "%s/%s", target, w->left);
	if (len < 0 || (size_t)len >= sizeof(left))
		return -ENAMETOOLONG;
	memcpy(w->left, left, (size_t)len + 1);
	if (*target == '/')
		*w->at = '\0';
	else
		go_up(w);
	return 0;
}

/* Takes the next name off @left. Return: 0, or 1 if there is none */
static int next_name(struct way *w, char name[NAME_MAX + 1])
{
	size_t skip = strspn(w->left, "/"), len = strcspn(w->left + skip, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, w->left + skip, len);
	name[len] = '\0';
	memmove(w->left, w->left + skip + len,
		strlen(w->left + skip + len) + 1);
	return len == 0;
}

static int go_down(struct way *w, const char *name)
{
	size_t n = strlen(w->at);
	int len = snprintf(w->at + n, sizeof(w->at) - n, "%s%s", n ? "/" : "",
			   name);

	return len < 0 || (size_t)len >= sizeof(w->at) - n ? -ENAMETOOLONG : 0;
}

/* Return: 0; -ENOTDIR if it is neither a folder nor a symlink */
static int step(struct way *w, const char *name)
{
	auto_fd int fd = -1;
	struct stat st;
	int r;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		go_up(w);
		return 0;
	}
	r = go_down(w, name);
	fd = r < 0 ? r : open_at(w);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return 0;
	return S_ISREG(st.st_mode) && is_link(fd) ? follow(w, fd) : -ENOTDIR;
}

int maptree_find(int root, const char *path)
{
	struct way w = { .root = root };
	char name[NAME_MAX + 1];
	int r;

	if (strlen(path) >= sizeof(w.left))
		return -ENAMETOOLONG;
	memcpy(w.left, path, strlen(path) + 1);
	while ((r = next_name(&w, name)) == 0) {
		r = step(&w, name);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : open_at(&w);
}

/* ---- Copying ---- */

/* Of the deepest folder that is looked into, and a name in it. */
#define COPY_PATH_MAX ((MAPTREE_DEPTH_MAX + 2) * (NAME_MAX + 1))

/**
 * struct copy - A tree on its way
 * @top:	The new one's folder
 * @links:	Files of the old one that have several names
 * @names:	And where each of them is in the new one
 * @path:	Of the folder we are in, below @top; each name ends in '/'
 */
struct copy {
	int top;
	struct tree_links links;
	struct tree_names names;
	char path[COPY_PATH_MAX];
};

static void copy_freep(struct copy **c)
{
	if (!*c)
		return;
	tree_links_done(&(*c)->links);
	tree_names_done(&(*c)->names);
	free(*c);
}

static int copy_attr(int from, int to, const char *name)
{
	auto_free void *value = NULL;
	ssize_t n = fgetxattr(from, name, NULL, 0);

	/* What is not a user's is the host's, and not for copies. */
	if (strncmp(name, "user.", 5) != 0)
		return 0;
	if (n < 0)
		return -errno;
	value = malloc((size_t)n + 1);
	if (!value)
		return -ENOMEM;
	n = fgetxattr(from, name, value, (size_t)n);
	if (n < 0 || fsetxattr(to, name, value, (size_t)n, 0) < 0)
		return -errno;
	return 0;
}

static int copy_attrs(int from, int to)
{
	auto_free char *names = malloc(NAMES_MAX);
	ssize_t n;
	int r = 0;

	if (!names)
		return -ENOMEM;
	n = flistxattr(from, names, NAMES_MAX);
	if (n < 0)
		return -errno;
	for (const char *s = names; r == 0 && s < names + n; s += strlen(s) + 1)
		r = copy_attr(from, to, s);
	return r;
}

static int copy_times(int from, int to)
{
	struct timespec ts[2];
	struct stat st;

	if (fstat(from, &st) < 0)
		return -errno;
	ts[0] = st.st_atim;
	ts[1] = st.st_mtim;
	return futimens(to, ts) < 0 ? -errno : 0;
}

/* As copy_file_range(), by way of a buffer. */
static ssize_t copy_bytes(int from, off_t *in, int to, off_t *out, size_t len)
{
	auto_free char *buf = malloc(BUFFER);
	ssize_t n, w;

	if (!buf) {
		errno = ENOMEM;
		return -1;
	}
	n = pread(from, buf, MIN(len, (size_t)BUFFER), *in);
	w = n > 0 ? pwrite(to, buf, (size_t)n, *out) : n;
	if (w > 0) {
		*in += w;
		*out += w;
	}
	return w;
}

/* From @at up to the next hole. Return: 0, or 1 when there is no more data */
static int copy_extent(int from, int to, off_t *at)
{
	off_t data = lseek(from, *at, SEEK_DATA), end, out;

	if (data < 0)
		return errno == ENXIO ? 1 : -errno;
	end = lseek(from, data, SEEK_HOLE);
	if (end < 0)
		return -errno;
	for (out = data; data < end;) {
		size_t len = MIN((size_t)(end - data), (size_t)COPY_BYTES);
		ssize_t n = copy_file_range(from, &data, to, &out, len, 0);

		/* From one file system to another, or one that cannot. */
		if (n < 0 && errno != EIO && errno != ENOSPC)
			n = copy_bytes(from, &data, to, &out, len);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	*at = end;
	return 0;
}

static int copy_file(int from, int to)
{
	struct stat st;
	off_t at = 0;
	int r = 0;

	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return -errno;
	while (r == 0)
		r = copy_extent(from, to, &at);
	r = r < 0 ? r : copy_attrs(from, to);
	return r < 0 ? r : copy_times(from, to);
}

/* Return: a descriptor, or -errno */
static int open_to(int at, const char *name)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int copy_folder(struct copy *c, int from, int *to, unsigned int depth);

/*
 * Of folders in one another only the sources stay open: @to is closed, and found
 * again from below.  Takes @src over.
 */
static int copy_sub(struct copy *c, int src, int *to, const char *name,
		    unsigned int depth)
{
	auto_fd int from = src, sub = -1;
	size_t len = strlen(c->path);
	int r;

	if (mkdirat(*to, name, 0700) < 0)
		return -errno;
	sub = open_to(*to, name);
	if (sub < 0)
		return sub;
	(void)close(take_fd(to));
	(void)snprintf(c->path + len, sizeof(c->path) - len, "%s/", name);
	r = copy_folder(c, take_fd(&from), &sub, depth + 1);
	c->path[len] = '\0';
	if (r < 0)
		return r;
	*to = open_to(sub, "..");
	return MIN(*to, 0);
}

/*
 * One more name for what has been copied.  Beyond what is remembered, and where
 * there cannot be another name, it is a file of its own.
 *
 * Return: 1; 0 if it is to be copied; or -errno
 */
static int copy_link(struct copy *c, const struct stat *st, int to,
		     const char *name)
{
	size_t len = strlen(c->path);
	const char *first;
	uint32_t number;
	int r = tree_links_number(&c->links, st->st_dev, st->st_ino, &number);

	if (r == 0) {
		(void)snprintf(c->path + len, sizeof(c->path) - len, "%s",
			       name);
		r = tree_names_add(&c->names, number, c->path);
		c->path[len] = '\0';
	}
	if (r <= 0)
		return r == -ENOMEM ? r : 0;
	first = tree_names_find(&c->names, number);
	if (!first)
		return 0;
	if (linkat(c->top, first, to, name, 0) < 0)
		return errno == EMLINK || errno == ENAMETOOLONG ? 0 : -errno;
	return 1;
}

static int copy_one(struct copy *c, int from, int *to, const char *name,
		    unsigned int depth)
{
	auto_fd int src = openat(from, name,
				 O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
					 O_NONBLOCK | O_NOATIME);
	auto_fd int dst = -1;
	struct stat st;
	int r = 0;

	if (src < 0 || fstat(src, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return copy_sub(c, take_fd(&src), to, name, depth);
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_nlink > 1)
		r = copy_link(c, &st, *to, name);
	if (r != 0)
		return MIN(r, 0);
	dst = openat(*to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return dst < 0 ? -errno : copy_file(src, dst);
}

static int copy_names(struct copy *c, DIR *dir, int *to, unsigned int depth)
{
	const struct dirent *de;
	int r = 0;

	while (r == 0 && (de = readdir(dir)) != NULL)
		if (!base_is_dots(de->d_name))
			r = copy_one(c, dirfd(dir), to, de->d_name, depth);
	r = r < 0 ? r : copy_attrs(dirfd(dir), *to);
	return r < 0 ? r : copy_times(dirfd(dir), *to);
}

/* Takes @from over; after an error @to may be closed. */
static int copy_folder(struct copy *c, int from, int *to, unsigned int depth)
{
	auto_fd int own = from;
	DIR *dir;
	int r;

	if (depth > MAPTREE_DEPTH_MAX)
		return -ELOOP;
	dir = fdopendir(own);
	if (!dir)
		return -errno;
	(void)take_fd(&own);
	r = copy_names(c, dir, to, depth);
	(void)closedir(dir);
	return r;
}

int maptree_copy(int from, int to)
{
	AUTO(copy_freep) struct copy *c = calloc(1, sizeof(*c));
	auto_fd int top = open_to(to, ".");
	int own = top < 0 ? top : open_to(from, ".");

	if (!c) {
		base_closep(&own);
		return -ENOMEM;
	}
	c->top = to;
	return own < 0 ? own : copy_folder(c, own, &top, 0);
}

int maptree_new_root(int fd)
{
	const struct mapped_stat st = { .mode = S_IFDIR | 0755 };
	uint8_t buf[MAPPED_STAT_LEN];

	mapped_put(&st, buf);
	return fsetxattr(fd, MAPPED_STAT, buf, sizeof(buf), 0) < 0 ? -errno : 0;
}

bool maptree_is_empty(int fd)
{
	auto_fd int own = open_to(fd, ".");
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *de = NULL;

	if (dir)
		(void)take_fd(&own);
	while (dir && (de = readdir(dir)) != NULL && base_is_dots(de->d_name))
		;
	if (dir)
		(void)closedir(dir);
	return dir && !de;
}
