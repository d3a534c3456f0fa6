/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_in.c - receive a tree; see tree.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/fileinfo.h"
#include "common/log.h"
#include "common/tree_in.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static uint64_t file_limit(void)
{
	struct rlimit rl;

	/* Beyond it a write raises SIGXFSZ, which is not ours to catch. */
	if (getrlimit(RLIMIT_FSIZE, &rl) < 0 || rl.rlim_cur == RLIM_INFINITY)
		return INT64_MAX;
	return rl.rlim_cur;
}

struct tree_in *tree_in_new(const struct tree_place *place, tree_note_fn *note,
			    void *ctx)
{
	struct tree_in *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->place = place;
	t->note = note;
	t->ctx = ctx;
	t->parent = -1;
	t->file = (struct newfile)NEWFILE_NONE;
	t->limit = file_limit();
	treepath_init(&t->path, place->path);
	return t;
}

void tree_in_free(struct tree_in *t)
{
	if (!t)
		return;
	newfile_drop(&t->file);
	while (t->n)
		(void)close(t->level[--t->n].fd);
	if (t->parent >= 0)
		(void)close(t->parent);
	tree_names_done(&t->names);
	free(t);
}

bool tree_in_whole(const struct tree_in *t)
{
	return t->whole;
}

int tree_in_fail(const struct tree_in *t, int code, struct err *e)
{
	char path[TREEPATH_SHOW_MAX];

	return err_set(e, code, "'%s': %s", treepath_show(&t->path, path),
		       strerror(-code));
}

static int misplaced(const struct wire_frame *f, struct err *e)
{
	return err_set(e, -EPROTO, "%s is out of place",
		       wire_type_name(f->type));
}

static bool in_file(const struct tree_in *t)
{
	return t->file.fd >= 0;
}

/* What was entered is complete, be it a folder or a file. */
static void leave(struct tree_in *t)
{
	treepath_pop(&t->path);
	if (t->n == 0)
		t->whole = true;
}

static struct tree_meta meta_of(const struct msg_entry *m)
{
	return (struct tree_meta){ .made = true,
				   .kind = m->kind,
				   .mode = m->mode,
				   .uid = m->uid,
				   .gid = m->gid,
				   .mtime_ns = m->mtime_ns };
}

static int begin_dir(struct tree_in *t, int dirfd, const char *name,
		     const struct msg_entry *m, struct err *e)
{
	struct tree_level *l = &t->level[t->n];
	struct tree_meta meta = meta_of(m);
	int fd;

	if (t->n == WIRE_TREE_DEPTH_MAX)
		return err_set(e, -EBADMSG, "more than %u folders deep",
			       WIRE_TREE_DEPTH_MAX);
	if (mkdirat(dirfd, name, 0700) < 0) {
		if (errno != EEXIST)
			return tree_in_fail(t, -errno, e);
		meta.made = false;
	}
	fd = openat(dirfd, name, DIR_FLAGS);
	if (fd < 0)
		return tree_in_fail(t, errno == ELOOP ? -ENOTDIR : -errno, e);
	*l = (struct tree_level){ .fd = fd, .meta = meta };
	t->n++;
	return meta.made ? tree_in_own(t, fd, &l->meta, e) : 0;
}

static int begin_file(struct tree_in *t, int dirfd, const char *name,
		      const struct msg_entry *m, struct err *e)
{
	int r = newfile_open(&t->file, dirfd);

	if (r < 0)
		return tree_in_fail(t, r, e);
	memcpy(t->file_name, name, strlen(name) + 1);
	t->meta = meta_of(m);
	t->end = 0;
	return tree_in_own(t, t->file.fd, &t->meta, e);
}

static int begin(struct tree_in *t, int dirfd, const char *name,
		 const struct msg_entry *m, struct err *e)
{
	int r;

	if (m->kind == WIRE_KIND_DIR)
		return begin_dir(t, dirfd, name, m, e);
	if (m->link && m->kind != WIRE_KIND_LINK) {
		r = tree_names_add(&t->names, m->link,
				   treepath_inside(&t->path));
		if (r == -EBADMSG)
			return err_set(e, r, "link number %u out of turn",
				       m->link);
		if (r == -EMLINK)
			return err_set(e, r,
				       "more than %u files of the tree have "
				       "several names, or %u bytes of them",
				       WIRE_TREE_LINKS_MAX,
				       TREE_LINK_BYTES_MAX);
		if (r < 0)
			return err_set(e, r, "no memory");
	}
	if (m->kind == WIRE_KIND_FILE)
		return begin_file(t, dirfd, name, m, e);
	r = tree_in_make(t, dirfd, name, m, e);
	if (r == 0)
		leave(t);
	return r;
}

/* A root of another kind than was asked for is no answer to it. */
static int check_root(const struct tree_in *t, const struct msg_entry *m,
		      struct err *e)
{
	unsigned int flags = t->place->flags;

	if (*m->name || m->kind == WIRE_KIND_LINK)
		return err_set(e, -EBADMSG, "the root of a tree has a name");
	if ((flags & (TREE_FOLDER | TREE_INSIDE)) && m->kind != WIRE_KIND_DIR)
		return err_set(e, -EBADMSG,
			       "a %s, where a folder was asked for",
			       fileinfo_kind_name(m->kind));
	if ((flags & TREE_NO_LINK) && m->kind == WIRE_KIND_SYMLINK)
		return err_set(e, -EBADMSG,
			       "a symbolic link, where what it points to was "
			       "asked for");
	return 0;
}

/* Whoever asked for a file and got a link is to know where it leads. */
static int tell_of_link(struct tree_in *t, const struct msg_entry *m,
			struct err *e)
{
	char text[ERR_MSG_MAX], path[TREEPATH_SHOW_MAX], to[TREEPATH_SHOW_MAX];

	(void)snprintf(
		text, sizeof(text),
		"'%s': what was copied is a symbolic link to '%s'",
		treepath_show(&t->path, path),
		log_escape(to, sizeof(to), m->target, strlen(m->target)));
	return t->note(t->ctx, 0, text, e);
}

/* The first entry: now it is known where the tree goes. */
static int begin_root(struct tree_in *t, const struct msg_entry *m,
		      struct err *e)
{
	int r = check_root(t, m, e);

	if (r == 0)
		r = tree_place_settle(t, m->kind == WIRE_KIND_DIR, e);
	if (r)
		return MIN(r, 0);
	r = begin(t, t->parent, t->name, m, e);
	if (r == 0 && m->kind == WIRE_KIND_SYMLINK &&
	    !(t->place->flags & TREE_FOLLOW))
		r = tell_of_link(t, m, e);
	return r;
}

static int on_entry(struct tree_in *t, const struct wire_frame *f,
		    struct err *e)
{
	struct msg_entry m;
	int r = wire_entry_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	if (t->whole || in_file(t))
		return misplaced(f, e);
	if (t->n == 0)
		return begin_root(t, &m, e);
	if (!*m.name)
		return err_set(e, -EBADMSG, "an entry of a folder has no name");
	treepath_push(&t->path, m.name);
	return begin(t, t->level[t->n - 1].fd, m.name, &m, e);
}

static int write_at(int fd, const uint8_t *p, size_t len, uint64_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

static int on_data(struct tree_in *t, const struct wire_frame *f, struct err *e)
{
	struct msg_file_data m;
	int r = wire_file_data_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	if (!in_file(t))
		return misplaced(f, e);
	if (m.offset < t->end)
		return err_set(e, -EBADMSG, "bytes of a file come twice");
	t->end = m.offset + m.len;
	if (t->end > t->limit)
		return tree_in_fail(t, -EFBIG, e);
	r = write_at(t->file.fd, m.data, m.len, m.offset);
	return r < 0 ? tree_in_fail(t, r, e) : 0;
}

static int finish_file(struct tree_in *t, const struct msg_file_end *m,
		       struct err *e)
{
	int r;

	if (m->size > t->limit)
		return tree_in_fail(t, -EFBIG, e);
	if (m->size > t->end && ftruncate(t->file.fd, (off_t)m->size) < 0)
		return tree_in_fail(t, -errno, e);
	r = tree_in_finish(t, t->file.fd, &t->meta, e);
	if (r < 0)
		return r;
	r = newfile_publish(&t->file, t->file_name);
	return r < 0 ? tree_in_fail(t, r, e) : 0;
}

static int on_end(struct tree_in *t, const struct wire_frame *f, struct err *e)
{
	struct msg_file_end m;
	int r = wire_file_end_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	if (!in_file(t))
		return misplaced(f, e);
	if (m.size < t->end)
		return err_set(e, -EBADMSG,
			       "a file has less bytes than have come");
	if (m.flags & WIRE_END_BROKEN)
		newfile_drop(&t->file);
	else
		r = finish_file(t, &m, e);
	if (r == 0)
		leave(t);
	return r;
}

static int on_up(struct tree_in *t, const struct wire_frame *f, struct err *e)
{
	struct tree_level *l;
	int r;

	if (t->n == 0 || in_file(t))
		return misplaced(f, e);
	l = &t->level[t->n - 1];
	r = l->meta.made ? tree_in_finish(t, l->fd, &l->meta, e) : 0;
	(void)close(l->fd);
	t->n--;
	if (r == 0)
		leave(t);
	return r;
}

static int on_xattr(struct tree_in *t, const struct wire_frame *f,
		    struct err *e)
{
	struct msg_xattr m;
	int r = wire_xattr_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	if (in_file(t))
		return tree_in_xattr(t, t->file.fd, &m, e);
	if (t->n == 0)
		return misplaced(f, e);
	if (!t->level[t->n - 1].meta.made)
		return 0;
	return tree_in_xattr(t, t->level[t->n - 1].fd, &m, e);
}

int tree_in_frame(struct tree_in *t, const struct wire_frame *f, struct err *e)
{
	switch (f->type) {
	case WIRE_FILE_ENTRY:
		return on_entry(t, f, e);
	case WIRE_FILE_DATA:
		return on_data(t, f, e);
	case WIRE_FILE_XATTR:
		return on_xattr(t, f, e);
	case WIRE_FILE_END:
		return on_end(t, f, e);
	case WIRE_FILE_UP:
		return on_up(t, f, e);
	default:
		return misplaced(f, e);
	}
}
