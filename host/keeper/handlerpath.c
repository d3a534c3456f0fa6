/* SPDX-License-Identifier: Apache-2.0 */
/* host/keeper/handlerpath.c - see handlerpath.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "host/keeper/handlerpath.h"

#define PLACE     (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#define LINKS_MAX 40 /* as in the kernel */

/**
 * struct walk - On the way
 * @at:		Where it has come to
 * @rest:	Of the way, in @path: it begins with a slash, or is ""
 */
struct walk {
	const struct handlerpath_shares *shares;
	int at;
	unsigned int n_links;
	const char *rest;
	char path[PATH_MAX];
};

int handlerpath_share(struct handlerpath_shares *s, int fd)
{
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	bug_on(s->n == HANDLERPATH_SHARES_MAX);
	s->one[s->n].dev = st.st_dev;
	s->one[s->n++].ino = st.st_ino;
	return 0;
}

static bool is_shared(const struct handlerpath_shares *s, const struct stat *st)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (s->one[i].dev == st->st_dev && s->one[i].ino == st->st_ino)
			return true;
	return false;
}

static int follow(struct walk *w, int link);

/* To @name, from where it is. */
static int step(struct walk *w, const char *name)
{
	auto_fd int fd = openat(w->at, name, PLACE);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode) && w->rest[strspn(w->rest, "/")])
		return follow(w, fd);
	if (is_shared(w->shares, &st))
		return -EXDEV;
	drop_fd(&w->at);
	w->at = take_fd(&fd);
	return 0;
}

/* What a link says comes before the rest of the way. */
static int follow(struct walk *w, int link)
{
	char path[PATH_MAX];
	ssize_t len = readlinkat(link, "", path, sizeof(path));
	size_t rest = strlen(w->rest) + 1;

	if (len < 0)
		return -errno;
	if (w->n_links++ == LINKS_MAX)
		return -ELOOP;
	if (rest > sizeof(path) - (size_t)len)
		return -ENAMETOOLONG;
	memcpy(path + len, w->rest, rest);
	memcpy(w->path, path, (size_t)len + rest);
	w->rest = w->path;
	return *w->path == '/' ? step(w, "/") : 0;
}

/* Return: whether there was one. */
static int next_name(struct walk *w, char name[NAME_MAX + 1])
{
	const char *from = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(from, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, from, len);
	name[len] = '\0';
	w->rest = from + len;
	return len > 0;
}

static int go(struct walk *w)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int r = step(w, "/");

	while (r == 0 && (r = next_name(w, name)) > 0)
		r = step(w, name);
	if (r < 0)
		return r;
	if (fstat(w->at, &st) < 0)
		return -errno;
	return S_ISSOCK(st.st_mode) ? 0 : -ENOTSOCK;
}

int handlerpath_open(const struct handlerpath_shares *s, const char *path)
{
	struct walk w = { .shares = s, .at = -1 };
	size_t len = strlen(path);
	int r;

	if (len >= sizeof(w.path))
		return -ENAMETOOLONG;
	memcpy(w.path, path, len + 1);
	w.rest = w.path;
	r = go(&w);
	if (r < 0)
		drop_fd(&w.at);
	return r < 0 ? r : w.at;
}
