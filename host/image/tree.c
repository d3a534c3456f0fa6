/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/tree.c - see tree.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "common/log.h"
#include "host/image/tree.h"
#include "host/lib/hutch.h"
#include "common/rmtree.h"

#define IMPLICIT_MODE 0755u /* of a folder that no archive has named */
#define ATTR_MAX      255u  /* bytes of an attribute's name, Linux's limit */
#define PART_COLS     60
#define WHY_MAX       (TREE_QUOTE_MAX + 60)

const char *tree_quote(const char *name, char buf[TREE_QUOTE_MAX])
{
	return log_escape(buf, TREE_QUOTE_MAX, name, strlen(name));
}

static int refuse(const char *name, int code, const char *why, struct err *e)
{
	char q[TREE_QUOTE_MAX];

	return err_set(e, code, "'%s': %s", tree_quote(name, q), why);
}

static int failed(const char *name, int code, struct err *e)
{
	return refuse(name, code, strerror(-code), e);
}

void tree_init(struct tree *t, int fd, uint64_t max_entries)
{
	memset(t, 0, sizeof(*t));
	t->fd = fd;
	t->parent_fd = -1;
	t->max_entries = max_entries;
}

void tree_done(struct tree *t)
{
	drop_fd(&t->parent_fd);
}

/* ---- Names ---- */

static bool is_part(const char *s, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(s, what, len) == 0;
}

int tree_path(const char *name, struct tree_path *ret, struct err *e)
{
	unsigned int depth = 0;
	size_t n = 0, len;

	if (name[0] == '/')
		return refuse(name, -EPERM, "an absolute name is refused", e);
	for (const char *s = name; *s; s += len, s += strspn(s, "/")) {
		len = strcspn(s, "/");
		if (is_part(s, len, ".."))
			return refuse(name, -EPERM,
				      "a name with '..' is refused", e);
		if (len > NAME_MAX || len + 2 > sizeof(ret->text) - n)
			return refuse(name, -E2BIG, "the name is too long", e);
		if (is_part(s, len, "."))
			continue;
		if (++depth > HUTCH_IMAGE_DEPTH_MAX)
			return refuse(name, -E2BIG,
				      "too many folders in one another", e);
		if (n)
			ret->text[n++] = '/';
		memcpy(ret->text + n, s, len);
		n += len;
	}
	ret->text[n] = '\0';
	ret->base = strrchr(ret->text, '/');
	ret->base = ret->base ? ret->base + 1 : ret->text;
	return 0;
}

static int open_beneath(int fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	long r;

	do
		r = syscall(SYS_openat2, fd, *path ? path : ".", &how,
			    sizeof(how));
	while (r < 0 && (errno == EINTR || errno == EAGAIN));
	return r < 0 ? -errno : (int)r;
}

static int open_folder(int fd, const char *path)
{
	return open_beneath(fd, path, O_RDONLY | O_DIRECTORY);
}

static int count(struct tree *t, const char *name, struct err *e)
{
	char why[80];

	if (t->entries < t->max_entries) {
		t->entries++;
		return 0;
	}
	(void)snprintf(why, sizeof(why), "there are more than %llu entries",
		       (unsigned long long)t->max_entries);
	return refuse(name, -E2BIG, why, e);
}

static int make_implicit(struct tree *t, int fd, const char *part,
			 const char *name, struct err *e)
{
	const struct mapped_stat st = { .mode = S_IFDIR | IMPLICIT_MODE };
	auto_fd int got = -1;
	int r = count(t, name, e);

	if (r < 0)
		return r;
	if (mkdirat(fd, part, 0700) < 0)
		return failed(name, -errno, e);
	got = open_folder(fd, part);
	if (got < 0)
		return failed(name, got, e);
	r = tree_stat(got, &st, name, e);
	return r < 0 ? r : take_fd(&got);
}

/* One step down on the way to @name. Return: a descriptor or -errno. */
static int enter(struct tree *t, int at, const char *part, const char *name,
		 struct err *e)
{
	char why[WHY_MAX], q[TREE_QUOTE_MAX];
	int fd = open_folder(at, part);

	if (fd >= 0)
		return fd;
	if (fd == -ENOENT)
		return make_implicit(t, at, part, name, e);
	if (fd != -ENOTDIR)
		return failed(name, fd, e);
	(void)snprintf(why, sizeof(why),
		       "it leads through '%.*s', which is no folder", PART_COLS,
		       tree_quote(part, q));
	return refuse(name, -EPERM, why, e);
}

/* Opens folder @path, making what is missing of it. */
static int make_parents(struct tree *t, const char *path, const char *name,
			struct err *e)
{
	auto_fd int at = open_folder(t->fd, "");
	char part[NAME_MAX + 1];

	if (at < 0)
		return failed(name, at, e);
	while (*path) {
		size_t len = strcspn(path, "/");
		int next;

		memcpy(part, path, len);
		part[len] = '\0';
		next = enter(t, at, part, name, e);
		if (next < 0)
			return next;
		(void)close(at);
		at = next;
		path += len + (path[len] == '/');
	}
	return take_fd(&at);
}

/*
 * The folder that @p is in; the tree's own, kept for the next of its files.
 * With @make what is missing is made, else -ENOENT or -ENOTDIR says so.
 */
static int open_parent(struct tree *t, const struct tree_path *p, bool make,
		       struct err *e)
{
	size_t len = p->base == p->text ? 0 : (size_t)(p->base - p->text) - 1;
	char path[PATH_MAX];
	int fd;

	memcpy(path, p->text, len);
	path[len] = '\0';
	if (t->parent_fd >= 0 && strcmp(path, t->parent) == 0)
		return t->parent_fd;
	fd = open_folder(t->fd, path);
	if (fd < 0 && make)
		fd = make_parents(t, path, p->text, e);
	if (fd < 0)
		return fd;
	base_closep(&t->parent_fd);
	t->parent_fd = fd;
	memcpy(t->parent, path, len + 1);
	return fd;
}

/* The folder we keep open may be among what is removed. */
static int remove_in(struct tree *t, int fd, const struct tree_path *p,
		     struct err *e)
{
	int r = rmtree(fd, p->base);

	if (strncmp(t->parent, p->text, strlen(p->text)) == 0)
		tree_done(t);
	return r < 0 ? failed(p->text, r, e) : 0;
}

/* ---- Objects ---- */

/* Counted, and its parent open. Return: the parent's descriptor. */
static int prepare(struct tree *t, const struct tree_path *p, struct err *e)
{
	int r = count(t, p->text, e);

	return r < 0 ? r : open_parent(t, p, true, e);
}

int tree_folder(struct tree *t, const struct tree_path *p, struct err *e)
{
	int fd, got;

	if (!*p->text) {
		got = open_folder(t->fd, "");
		return got < 0 ? failed(".", got, e) : got;
	}
	fd = prepare(t, p, e);
	if (fd < 0)
		return fd;
	got = open_folder(fd, p->base);
	if (got >= 0)
		return got;
	if (got == -ENOTDIR && unlinkat(fd, p->base, 0) < 0)
		return failed(p->text, -errno, e);
	if (mkdirat(fd, p->base, 0700) < 0)
		return failed(p->text, -errno, e);
	got = open_folder(fd, p->base);
	return got < 0 ? failed(p->text, got, e) : got;
}

static int create(int fd, const char *name)
{
	int r = openat(fd, name,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);

	return r < 0 ? -errno : r;
}

int tree_file(struct tree *t, const struct tree_path *p, struct err *e)
{
	int fd, got, r;

	if (!*p->text)
		return refuse(".", -EPERM, "the root must be a folder", e);
	fd = prepare(t, p, e);
	if (fd < 0)
		return fd;
	got = create(fd, p->base);
	if (got == -EEXIST) {
		r = remove_in(t, fd, p, e);
		if (r < 0)
			return r;
		fd = open_parent(t, p, true, e);
		got = fd < 0 ? fd : create(fd, p->base);
	}
	return got < 0 ? failed(p->text, got, e) : got;
}

/* Whether @target is there, and no folder. */
static int check_target(struct tree *t, const struct tree_path *p,
			const struct tree_path *target, struct err *e)
{
	char q[TREE_QUOTE_MAX], why[WHY_MAX];
	auto_fd int fd = *target->text
				 ? open_beneath(t->fd, target->text, O_PATH)
				 : -ENOENT;
	struct stat st = { 0 };

	if (fd >= 0 && fstat(fd, &st) < 0)
		return failed(p->text, -errno, e);
	if (fd >= 0 && S_ISREG(st.st_mode))
		return 0;
	(void)snprintf(why, sizeof(why),
		       "it is a link to '%.*s', which is no file of the image",
		       PART_COLS, tree_quote(target->text, q));
	return refuse(p->text, -EPERM, why, e);
}

int tree_link(struct tree *t, const struct tree_path *p,
	      const struct tree_path *target, struct err *e)
{
	int fd, r;

	if (!*p->text)
		return refuse(".", -EPERM, "the root must be a folder", e);
	r = check_target(t, p, target, e);
	if (r < 0 || strcmp(p->text, target->text) == 0)
		return r;
	fd = prepare(t, p, e);
	if (fd < 0)
		return fd;
	r = remove_in(t, fd, p, e);
	if (r < 0)
		return r;
	/* A folder that was removed may have had the target in it. */
	r = check_target(t, p, target, e);
	fd = r < 0 ? r : open_parent(t, p, true, e);
	if (fd < 0)
		return fd;
	/* By name, since by descriptor it takes a capability; and nobody else
	 * works in this tree.
	 */
	return linkat(t->fd, target->text, fd, p->base, 0) < 0
		       ? failed(p->text, -errno, e)
		       : 0;
}

int tree_remove(struct tree *t, const struct tree_path *p, struct err *e)
{
	int fd = open_parent(t, p, false, e);

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	return fd < 0 ? failed(p->text, fd, e) : remove_in(t, fd, p, e);
}

int tree_empty(struct tree *t, const struct tree_path *p, struct err *e)
{
	auto_fd int fd = open_folder(t->fd, p->text);
	int r;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	r = fd < 0 ? fd : rmtree_inside(fd);
	tree_done(t);
	return r < 0 ? failed(p->text, r, e) : 0;
}

/* ---- What is said about them ---- */

int tree_stat(int fd, const struct mapped_stat *st, const char *name,
	      struct err *e)
{
	uint8_t buf[MAPPED_STAT_LEN];

	if (!mapped_valid(st))
		return refuse(name, -EPERM,
			      "its owner, mode or device number cannot be", e);
	mapped_put(st, buf);
	if (fsetxattr(fd, MAPPED_STAT, buf, sizeof(buf), 0) == 0)
		return 0;
	if (errno == ENOTSUP)
		return err_set(e, -ENOTSUP,
			       "the file system of the images keeps no "
			       "attributes (user.*): put them on another with "
			       "HUTCH_STATE or XDG_DATA_HOME");
	return failed(name, -errno, e);
}

int tree_xattr(int fd, const char *attr, const void *value, size_t len,
	       const char *name, struct err *e)
{
	char host[sizeof(MAPPED_XATTR) + ATTR_MAX];
	bool kept = mapped_xattr_kept(attr);

	if (strncmp(attr, MAPPED_PREFIX, strlen(MAPPED_PREFIX)) == 0)
		return refuse(name, -EPERM,
			      "it has an attribute " MAPPED_PREFIX
			      "*, which are hutch's own",
			      e);
	if (!kept && strncmp(attr, "user.", 5) != 0)
		return 0;
	if (strlen(attr) + (kept ? strlen(MAPPED_XATTR) : 0) > ATTR_MAX ||
	    len > TREE_XATTR_MAX)
		return refuse(name, -E2BIG, "an attribute of it is too large",
			      e);
	(void)snprintf(host, sizeof(host), "%s%s", kept ? MAPPED_XATTR : "",
		       attr);
	if (fsetxattr(fd, host, value, len, 0) == 0)
		return 0;
	if (errno == ENOSPC || errno == E2BIG || errno == ERANGE)
		return refuse(name, -E2BIG,
			      "its attributes are larger than the file system "
			      "of the images can keep",
			      e);
	return failed(name, -errno, e);
}

int tree_time(int fd, const struct timespec *mtime, const char *name,
	      struct err *e)
{
	const struct timespec ts[2] = { *mtime, *mtime };

	return futimens(fd, ts) < 0 ? failed(name, -errno, e) : 0;
}

int tree_folder_time(struct tree *t, const char *text,
		     const struct timespec *mtime, struct err *e)
{
	auto_fd int fd = open_folder(t->fd, text);

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	return fd < 0 ? failed(text, fd, e) : tree_time(fd, mtime, text, e);
}
