/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_make.c - links, devices, owners and modes of a received tree */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "common/fileinfo.h"
#include "common/tree_in.h"
#include "common/tree_xattr.h"

static int note(struct tree_in *t, int code, const char *why, struct err *e)
{
	char text[ERR_MSG_MAX], path[TREEPATH_SHOW_MAX];

	(void)snprintf(text, sizeof(text), "'%s': %s",
		       treepath_show(&t->path, path), why);
	return t->note(t->ctx, code, text, e);
}

/*
 * The folder that @path, inside the tree, is in: component by component, so
 * that no link leads out.  Return: its descriptor or -errno; *@name is the rest
 */
static int walk_to(const struct tree_in *t, const char *path, const char **name)
{
	auto_fd int fd = dup(t->level[0].fd);
	const char *slash;

	while (fd >= 0 && (slash = strchr(path, '/')) != NULL) {
		char part[WIRE_NAME_MAX + 1];
		int next;

		bug_on((size_t)(slash - path) > WIRE_NAME_MAX);
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		next = openat(fd, part,
			      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		(void)close(fd);
		fd = next;
		path = slash + 1;
	}
	*name = path;
	return fd < 0 ? -errno : take_fd(&fd);
}

/* One more name for what came before under @m->link. */
static int make_link(struct tree_in *t, int dirfd, const char *temp,
		     const struct msg_entry *m, struct err *e)
{
	const char *old = tree_names_find(&t->names, m->link), *name;
	auto_fd int at = -1;
	int r;

	if (!old || t->n == 0)
		return err_set(e, -EBADMSG,
			       "a link to number %u, which has not come",
			       m->link);
	at = walk_to(t, old, &name);
	if (at < 0)
		return tree_in_fail(t, at, e);
	if (linkat(at, name, dirfd, temp, 0) == 0)
		return 0;
	/* It may have been left out, with a note of its own. */
	if (errno != ENOENT)
		return tree_in_fail(t, -errno, e);
	r = note(t, ENOENT, "what it is one more name of is not there", e);
	return r < 0 ? r : 1;
}

static int make_device(struct tree_in *t, int dirfd, const char *temp,
		       const struct msg_entry *m, struct err *e)
{
	mode_t kind = m->kind == WIRE_KIND_CHAR ? S_IFCHR : S_IFBLK;
	int r;

	if (t->place->flags & TREE_DEVICES) {
		if (mknodat(dirfd, temp, kind | 0600,
			    makedev(m->rdev_major, m->rdev_minor)) == 0)
			return 0;
		if (errno != EPERM)
			return tree_in_fail(t, -errno, e);
	}
	r = note(t, 0, "a device is not copied", e);
	return r < 0 ? r : 1;
}

/* Return: 0; 1 if it was left out; -errno with a sentence. */
static int make_as(struct tree_in *t, int dirfd, const char *temp,
		   const struct msg_entry *m, struct err *e)
{
	int r;

	switch (m->kind) {
	case WIRE_KIND_SYMLINK:
		r = symlinkat(m->target, dirfd, temp);
		break;
	case WIRE_KIND_FIFO:
		r = mkfifoat(dirfd, temp, 0600);
		break;
	case WIRE_KIND_LINK:
		return make_link(t, dirfd, temp, m, e);
	case WIRE_KIND_CHAR:
	case WIRE_KIND_BLOCK:
		return make_device(t, dirfd, temp, m, e);
	default:
		return err_set(e, -EBADMSG, "a %s is not sent in a tree",
			       fileinfo_kind_name(m->kind));
	}
	return r < 0 ? tree_in_fail(t, -errno, e) : 0;
}

/* Whether setuid and setgid mean what they meant. */
static bool is_kept(const struct tree_in *t, bool owned)
{
	return owned && (t->place->flags & TREE_SETUID);
}

static mode_t mode_of(const struct tree_in *t, const struct msg_entry *m,
		      bool owned)
{
	mode_t mode = fileinfo_mode(m, is_kept(t, owned));

	return t->place->flags & TREE_ARCHIVE ? mode : mode & ~t->place->umask;
}

/* What may go wrong with an owner: nothing, for who is not root. */
static int owner_failed(struct tree_in *t, struct err *e)
{
	if (errno == EPERM && geteuid() != 0)
		return 0;
	return note(t, errno, "its owner cannot be set", e);
}

/* By name, which nobody else knows: what is no file cannot be opened. */
static int dress(struct tree_in *t, int dirfd, const char *temp,
		 const struct msg_entry *m, struct err *e)
{
	bool owned = false;
	int r = 0;

	if (t->place->flags & TREE_ARCHIVE) {
		owned = fchownat(dirfd, temp, m->uid, m->gid,
				 AT_SYMLINK_NOFOLLOW) == 0;
		if (!owned)
			r = owner_failed(t, e);
	}
	if (r == 0 && m->kind != WIRE_KIND_SYMLINK &&
	    fchmodat(dirfd, temp, mode_of(t, m, owned), 0) < 0)
		r = tree_in_fail(t, -errno, e);
	/* A link's own time is not worth a failure. */
	if (r == 0 && fileinfo_set_time(dirfd, temp, m->mtime_ns) < 0 &&
	    m->kind != WIRE_KIND_SYMLINK)
		r = tree_in_fail(t, -errno, e);
	return r;
}

int tree_in_make(struct tree_in *t, int dirfd, const char *name,
		 const struct msg_entry *m, struct err *e)
{
	char temp[NEWFILE_TEMP_MAX];
	int r;

	newfile_temp_name(temp);
	r = make_as(t, dirfd, temp, m, e);
	if (r)
		return MIN(r, 0);
	if (m->kind != WIRE_KIND_LINK)
		r = dress(t, dirfd, temp, m, e);
	if (r < 0) {
		(void)unlinkat(dirfd, temp, 0);
		return r;
	}
	r = newfile_rename(dirfd, temp, name);
	return r < 0 ? tree_in_fail(t, r, e) : 0;
}

int tree_in_own(struct tree_in *t, int fd, struct tree_meta *meta,
		struct err *e)
{
	if (!(t->place->flags & TREE_ARCHIVE))
		return 0;
	meta->owned = fchown(fd, meta->uid, meta->gid) == 0;
	return meta->owned ? 0 : owner_failed(t, e);
}

int tree_in_finish(struct tree_in *t, int fd, const struct tree_meta *meta,
		   struct err *e)
{
	const struct msg_entry m = { .kind = meta->kind, .mode = meta->mode };
	int r;

	if (fchmod(fd, mode_of(t, &m, meta->owned)) < 0)
		return tree_in_fail(t, -errno, e);
	r = fileinfo_set_time_fd(fd, meta->mtime_ns);
	return r < 0 ? tree_in_fail(t, r, e) : 0;
}

int tree_in_xattr(struct tree_in *t, int fd, const struct msg_xattr *m,
		  struct err *e)
{
	if (!tree_xattr_ok(m->name))
		return err_set(e, -EBADMSG,
			       "an attribute that is not to be copied");
	/* An ACL gives to others what ls shows as no more than a "+". */
	if (!(t->place->flags & TREE_ARCHIVE) ||
	    (tree_xattr_is_acl(m->name) && !(t->place->flags & TREE_SETUID)) ||
	    fsetxattr(fd, m->name, m->data, m->len, 0) == 0)
		return 0;
	if (t->xattr_missed || (errno == EPERM && geteuid() != 0))
		return 0;
	t->xattr_missed = true;
	return note(t, errno, "an extended attribute cannot be set", e);
}
