/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_send.c - send a tree; see tree.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/fileinfo.h"
#include "common/tree.h"
#include "common/tree_links.h"
#include "common/tree_xattr.h"
#include "common/treepath.h"

/* FIFOs, and what may become one before it is opened, do not hold us up. */
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/**
 * struct walk - On the way through a tree
 * @dir:	Open folders, @n of them, [0] the root's
 * @dev:	The root's device
 * @links:	Files with several names that were sent
 * @data:	Bytes on their way, and attributes
 */
struct walk {
	const struct tree_sink *sink;
	unsigned int flags;
	DIR *dir[WIRE_TREE_DEPTH_MAX];
	unsigned int n;
	dev_t dev;
	struct tree_links links;
	struct treepath path;
	char target[WIRE_PATH_MAX + 1];
	uint8_t head[WIRE_ENTRY_FRAME_MAX];
	uint8_t data[WIRE_DATA_MAX];
};

/* The root is what was asked for; anything else may be missing. */
static bool at_root(const struct walk *w)
{
	return w->n == 0;
}

static int note(struct walk *w, int code, const char *why, struct err *e)
{
	char text[ERR_MSG_MAX], path[TREEPATH_SHOW_MAX];

	treepath_show(&w->path, path);
	if (code && at_root(w))
		return err_set(e, -code, "'%s': %s", path, why);
	(void)snprintf(text, sizeof(text), "'%s': %s", path, why);
	return w->sink->note(w->sink->ctx, code, text, e);
}

/* What vanishes while we look is as if it had never been. */
static int cannot(struct walk *w, int code, struct err *e)
{
	if (code == -ENOENT && !at_root(w))
		return 0;
	return note(w, -code, strerror(-code), e);
}

static int send_head(struct walk *w, struct wr *wr, struct err *e)
{
	bug_on(wr_end(wr) < 0);
	return w->sink->frame(w->sink->ctx, wr->buf, wr->len, NULL, 0, e);
}

static int send_entry(struct walk *w, const struct msg_entry *m, struct err *e)
{
	struct wr wr = wr_init(w->head, sizeof(w->head));

	wire_entry_put(&wr, m);
	return send_head(w, &wr, e);
}

static int send_data(struct walk *w, uint64_t at, size_t len, struct err *e)
{
	struct wr wr = wr_init(w->head, sizeof(w->head));

	wire_file_data_head_put(&wr, at, len);
	bug_on(wr_end(&wr) < 0);
	return w->sink->frame(w->sink->ctx, wr.buf, wr.len, w->data, len, e);
}

static int send_end(struct walk *w, uint64_t size, uint32_t flags,
		    struct err *e)
{
	struct wr wr = wr_init(w->head, sizeof(w->head));

	wire_file_end_put(
		&wr, &(struct msg_file_end){ .size = size, .flags = flags });
	return send_head(w, &wr, e);
}

static int send_xattrs(struct walk *w, int fd, struct err *e)
{
	struct tree_xattr x = { 0 };
	int r = 0;

	if (!(w->flags & TREE_ARCHIVE))
		return 0;
	while (r == 0 && tree_xattr_next(&x, fd, w->data, sizeof(w->data))) {
		struct wr wr = wr_init(w->head, sizeof(w->head));

		wire_head_put(&wr, WIRE_FILE_XATTR,
			      4 + strlen(x.name) + 1 + x.len);
		wr_str(&wr, x.name);
		bug_on(wr_end(&wr) < 0);
		r = w->sink->frame(w->sink->ctx, wr.buf, wr.len, w->data, x.len,
				   e);
	}
	tree_xattr_done(&x);
	return r;
}

/**
 * struct reading - A regular file under way
 * @at:		Bytes of it that are done, holes too
 * @size:	What it had when it was opened
 * @limit:	No more is read
 */
struct reading {
	int fd;
	uint64_t at;
	uint64_t size;
	uint64_t limit;
};

/* Go over a hole, if there is one. Return: whether there is more to read */
static bool skip_hole(struct reading *f)
{
	off_t to;

	if (f->at >= f->limit)
		return false;
	/* What says that it is empty may lie. */
	if (f->size == 0)
		return true;
	to = lseek(f->fd, (off_t)f->at, SEEK_DATA);
	/* No data from here on, or it has become shorter: reading tells. */
	if (to < 0 && errno == ENXIO) {
		struct stat st;

		if (fstat(f->fd, &st) == 0)
			f->at = MAX(f->at, MIN((uint64_t)st.st_size, f->size));
		return false;
	}
	/* No holes that anybody could tell: all of it is data. */
	if (to > (off_t)f->at)
		f->at = MIN((uint64_t)to, f->limit);
	return f->at < f->limit;
}

/* Return: 0 at the end, the file's or ours; -errno of reading in *@broken. */
static int send_bytes(struct walk *w, struct reading *f, int *broken,
		      struct err *e)
{
	while (skip_hole(f)) {
		size_t want = MIN(f->limit - f->at, sizeof(w->data));
		ssize_t n = pread(f->fd, w->data, want, (off_t)f->at);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			*broken = -errno;
		if (n <= 0)
			return 0;
		r = send_data(w, f->at, (size_t)n, e);
		if (r < 0)
			return r;
		f->at += (uint64_t)n;
	}
	return 0;
}

static int send_file(struct walk *w, int fd, uint64_t size, struct err *e)
{
	struct reading f = { .fd = fd,
			     .size = size,
			     .limit = size ? size : TREE_UNSIZED_MAX };
	char why[72];
	int broken = 0;
	int r = send_bytes(w, &f, &broken, e);

	if (r == 0 && broken)
		r = note(w, -broken, strerror(-broken), e);
	if (r == 0 && !broken && f.at < size) {
		(void)snprintf(why, sizeof(why),
			       "it became shorter while it was read, %llu "
			       "bytes",
			       (unsigned long long)f.at);
		r = note(w, EBUSY, why, e);
	}
	if (r == 0)
		r = send_xattrs(w, fd, e);
	return r < 0 ? r : send_end(w, f.at, broken ? WIRE_END_BROKEN : 0, e);
}

/* The number of a file with several names. Return: 1 if it was sent before */
static int number(struct walk *w, const struct stat *st, struct msg_entry *m,
		  struct err *e)
{
	int r;

	if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
		return 0;
	r = tree_links_number(&w->links, st->st_dev, st->st_ino, &m->link);
	if (r == -ENOMEM)
		return err_set(e, r, "no memory");
	if (r < 0)
		return err_set(e, r,
			       "more than %u files of the tree have several "
			       "names",
			       WIRE_TREE_LINKS_MAX);
	if (r > 0)
		m->kind = WIRE_KIND_LINK;
	return r;
}

static int visit_file(struct walk *w, int dirfd, const char *name, bool follow,
		      struct err *e)
{
	auto_fd int fd =
		openat(dirfd, name, OPEN_FLAGS | (follow ? 0 : O_NOFOLLOW));
	struct msg_entry m;
	struct stat st;
	int r;

	if (fd < 0)
		return cannot(w, -errno, e);
	if (fstat(fd, &st) < 0)
		return cannot(w, -errno, e);
	if (!S_ISREG(st.st_mode))
		return note(w, EBUSY, "it has just been replaced", e);
	fileinfo_of(&st, &m);
	m.name = at_root(w) ? "" : name;
	r = number(w, &st, &m, e);
	if (r < 0)
		return r;
	if (r > 0) {
		m.size = 0;
		return send_entry(w, &m, e);
	}
	r = send_entry(w, &m, e);
	return r < 0 ? r : send_file(w, fd, (uint64_t)st.st_size, e);
}

static int send_up(struct walk *w, int fd, struct err *e)
{
	struct wr wr = wr_init(w->head, sizeof(w->head));
	int r = send_xattrs(w, fd, e);

	wire_empty_put(&wr, WIRE_FILE_UP);
	return r < 0 ? r : send_head(w, &wr, e);
}

static int enter(struct walk *w, int fd, struct err *e)
{
	char path[TREEPATH_SHOW_MAX];
	DIR *dir;

	if (w->n == WIRE_TREE_DEPTH_MAX) {
		(void)close(fd);
		return err_set(e, -ELOOP, "'%s': more than %u folders deep",
			       treepath_show(&w->path, path),
			       WIRE_TREE_DEPTH_MAX);
	}
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return err_set(e, -ENOMEM, "no memory");
	}
	w->dir[w->n++] = dir;
	return 0;
}

static int visit_dir(struct walk *w, int dirfd, const char *name, bool follow,
		     struct err *e)
{
	auto_fd int fd =
		openat(dirfd, name,
		       OPEN_FLAGS | O_DIRECTORY | (follow ? 0 : O_NOFOLLOW));
	struct msg_entry m;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return cannot(w, -errno, e);
	fileinfo_of(&st, &m);
	m.name = at_root(w) ? "" : name;
	if (at_root(w))
		w->dev = st.st_dev;
	r = send_entry(w, &m, e);
	if (r < 0)
		return r;
	if ((w->flags & TREE_ONE_FS) && st.st_dev != w->dev)
		return send_up(w, fd, e);
	return enter(w, take_fd(&fd), e);
}

static int visit_other(struct walk *w, int dirfd, const char *name,
		       const struct stat *st, struct err *e)
{
	struct msg_entry m;
	int r;

	fileinfo_of(st, &m);
	m.name = at_root(w) ? "" : name;
	if (m.kind == WIRE_KIND_SOCKET)
		return note(w, at_root(w) ? EOPNOTSUPP : 0,
			    "a socket is not copied", e);
	if (m.kind == WIRE_KIND_SYMLINK) {
		r = fileinfo_target(dirfd, name, w->target);
		if (r < 0)
			return cannot(w, r, e);
		m.target = w->target;
	}
	r = number(w, st, &m, e);
	if (r > 0)
		m.target = "";
	return r < 0 ? r : send_entry(w, &m, e);
}

static int visit(struct walk *w, int dirfd, const char *name, bool follow,
		 struct err *e)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return cannot(w, -errno, e);
	if (S_ISDIR(st.st_mode))
		return visit_dir(w, dirfd, name, follow, e);
	if (S_ISREG(st.st_mode))
		return visit_file(w, dirfd, name, follow, e);
	return visit_other(w, dirfd, name, &st, e);
}

/* The next name of the lowest folder, or back up. */
static int step(struct walk *w, struct err *e)
{
	DIR *dir = w->dir[w->n - 1];
	const struct dirent *de;
	unsigned int depth = w->n;
	int r = 0;

	errno = 0;
	de = readdir(dir);
	if (de && !wire_name_ok(de->d_name))
		return 0; /* the dots */
	if (de) {
		treepath_push(&w->path, de->d_name);
		r = visit(w, dirfd(dir), de->d_name, false, e);
		if (w->n == depth)
			treepath_pop(&w->path);
		return r;
	}
	if (errno)
		r = note(w, errno, strerror(errno), e);
	if (r == 0)
		r = send_up(w, dirfd(dir), e);
	(void)closedir(dir);
	w->n--;
	treepath_pop(&w->path);
	return r;
}

int tree_send(const char *path, unsigned int flags,
	      const struct tree_sink *sink, struct err *e)
{
	struct walk *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(e, -ENOMEM, "no memory");
	w->sink = sink;
	w->flags = flags;
	treepath_init(&w->path, path);
	r = visit(w, AT_FDCWD, path, (flags & TREE_FOLLOW) != 0, e);
	while (r == 0 && w->n)
		r = step(w, e);
	while (w->n)
		(void)closedir(w->dir[--w->n]);
	tree_links_done(&w->links);
	free(w);
	return r;
}
