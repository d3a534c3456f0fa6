/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_place.c - where a received tree goes; see docs/files.md */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fileinfo.h"
#include "common/log.h"
#include "common/tree_in.h"

#define QUOTE_MAX 160
#define LINKS_MAX 40 /* one behind another, as Linux follows them */

static int refuse(struct err *e, int code, const char *path, const char *why)
{
	char q[QUOTE_MAX];

	return err_set(e, code, "'%s': %s",
		       log_escape(q, sizeof(q), path, strlen(path)), why);
}

static int check_name(const char *path, const char *name, size_t len,
		      char ret[WIRE_NAME_MAX + 1], struct err *e)
{
	char word[WIRE_NAME_MAX + 1] = "";

	if (len > WIRE_NAME_MAX)
		return refuse(e, -ENAMETOOLONG, path, strerror(ENAMETOOLONG));
	memcpy(word, name, len);
	if (!wire_name_ok(word))
		return refuse(e, -EINVAL, path, "its last part is no name");
	memcpy(ret, word, sizeof(word));
	return 0;
}

static int open_dir(const char *dir, int flags, struct err *e)
{
	int fd = open(dir, flags | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? refuse(e, -errno, dir, strerror(errno)) : fd;
}

int tree_open_parent(const char *path, char name[WIRE_NAME_MAX + 1],
		     struct err *e)
{
	char dir[PATH_MAX + 1];
	size_t len = strlen(path), from;
	int r;

	while (len > 1 && path[len - 1] == '/')
		len--;
	from = len;
	while (from > 0 && path[from - 1] != '/')
		from--;
	if (from > PATH_MAX)
		return refuse(e, -ENAMETOOLONG, path, strerror(ENAMETOOLONG));
	memcpy(dir, from ? path : ".", from ? from : 1);
	dir[from ? from : 1] = '\0';
	r = check_name(path, path + from, len - from, name, e);
	return r < 0 ? r : open_dir(dir, O_PATH, e);
}

bool tree_is_slashed(const char *path)
{
	size_t len = strlen(path);

	return len && path[len - 1] == '/';
}

/* @path is a link to @target: make it what that says. */
static int go_by(char path[PATH_MAX + 1], const char *target)
{
	const char *slash = *target == '/' ? NULL : strrchr(path, '/');
	size_t at = slash ? (size_t)(slash + 1 - path) : 0;
	size_t len = strlen(target);

	if (len > PATH_MAX - at)
		return -ENAMETOOLONG;
	memcpy(path + at, target, len + 1);
	return 0;
}

int tree_real_path(const char *path, char ret[PATH_MAX + 1])
{
	char text[WIRE_PATH_MAX + 1];
	const char *here = ret;

	if (realpath(path, ret))
		return 0;
	if (errno != ENOENT)
		return -errno;
	memcpy(ret, path, strlen(path) + 1);
	/* The last of the links, if there are any, leads to nothing. */
	for (unsigned int i = 0; i <= LINKS_MAX; i++) {
		int r = fileinfo_target(AT_FDCWD, here, text);

		if (r == -EINVAL || r == -ENOENT)
			return 0;
		r = r < 0 ? r : go_by(ret, text);
		if (r < 0)
			return r;
	}
	return -ELOOP;
}

static int into_folder(struct tree_in *t, bool dir, struct err *e)
{
	const char *path = t->place->path, *base = t->place->base;
	/* What was no link when it was looked at may have become one. */
	int nofollow = t->place->flags & TREE_FOLLOW ? 0 : O_NOFOLLOW;
	int fd, r;

	if (!dir || !(t->place->flags & TREE_INSIDE)) {
		if (!*base)
			return refuse(e, -EISDIR, path, "is a folder");
		r = check_name(path, base, strlen(base), t->name, e);
		if (r == 0)
			r = t->parent = open_dir(path, O_PATH | nofollow, e);
		return MIN(r, 0);
	}
	fd = open_dir(path, O_RDONLY | nofollow, e);
	if (fd < 0)
		return fd;
	t->level[t->n++] = (struct tree_level){ .fd = fd };
	return 1;
}

/* The place names the root itself. */
static int settle(struct tree_in *t, bool dir, struct err *e)
{
	const char *path = t->place->path;
	char real[PATH_MAX + 1];
	int r;

	if (t->place->flags & TREE_FOLLOW) {
		/* Through a link, as writing to it would go. */
		r = tree_real_path(path, real);
		if (r < 0)
			return refuse(e, r, path, strerror(-r));
		path = real;
	}
	if (!dir && tree_is_slashed(path))
		return refuse(e, -ENOENT, path, "there is no such folder");
	t->parent = tree_open_parent(path, t->name, e);
	return MIN(t->parent, 0);
}

/*
 * Whoever sent an earlier tree may have made the link: it leads nowhere, but
 * is replaced as any file is.  A person's own link to a folder is not to go by
 * a slash that was forgotten, nor /dev/stdout by root's hand: say where it
 * leads, so that somebody can decide.
 */
static int check_link(const char *path, struct err *e)
{
	char target[WIRE_PATH_MAX + 1], q[QUOTE_MAX], to[QUOTE_MAX];
	struct stat st;
	int r;

	if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	r = fileinfo_target(AT_FDCWD, path, target);
	if (r < 0)
		return refuse(e, r, path, strerror(-r));
	return err_set(e, -ELOOP, "'%s' is a symbolic link to '%s', %s",
		       log_escape(q, sizeof(q), path, strlen(path)),
		       log_escape(to, sizeof(to), target, strlen(target)),
		       S_ISDIR(st.st_mode)
			       ? "which is a folder: to copy into it, write a "
				 "slash behind the link"
			       : "which is no file: it is not replaced");
}

int tree_place_settle(struct tree_in *t, bool dir, struct err *e)
{
	bool follow = t->place->flags & TREE_FOLLOW;
	const char *path = t->place->path;
	struct stat st;
	int r;

	/* With a slash at its end a link is followed here, too. */
	if ((follow ? stat(path, &st) : lstat(path, &st)) < 0) {
		if (errno != ENOENT)
			return refuse(e, -errno, path, strerror(errno));
		return settle(t, dir, e);
	}
	if (S_ISDIR(st.st_mode))
		return into_folder(t, dir, e);
	r = S_ISLNK(st.st_mode) ? check_link(path, e) : 0;
	if (r < 0)
		return r;
	if (dir)
		return refuse(e, -ENOTDIR, path,
			      "is no folder, and a folder does not replace it");
	return settle(t, dir, e);
}
