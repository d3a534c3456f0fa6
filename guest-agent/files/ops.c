/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/files/ops.c - see ops.h: stat, list, mkdir, remove, rename */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fileinfo.h"
#include "common/log.h"
#include "common/rmtree.h"
#include "common/tree.h"
#include "guest-agent/files/ops.h"

/* Of folders that are made on the way to the one asked for. */
#define PARENT_MODE 0755

static int send_entry(struct files *f, const struct msg_entry *m, struct err *e)
{
	uint8_t buf[WIRE_ENTRY_FRAME_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_entry_put(&wr, m);
	return files_send_wr(f, &wr, e);
}

/* Return: 0; -errno without a sentence if it cannot be looked at */
static int look(int dirfd, const char *name, int flags, struct msg_entry *ret,
		char target[WIRE_PATH_MAX + 1])
{
	struct stat st;

	if (fstatat(dirfd, name, &st, flags) < 0)
		return -errno;
	fileinfo_of(&st, ret);
	if (ret->kind != WIRE_KIND_SYMLINK)
		return 0;
	ret->target = target;
	return fileinfo_target(dirfd, name, target);
}

int files_stat(struct files *f, struct err *e)
{
	int flags = f->req.flags & WIRE_FILE_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW;
	char target[WIRE_PATH_MAX + 1];
	struct msg_entry m;
	int r = look(AT_FDCWD, f->req.path, flags, &m, target);

	return r < 0 ? files_fail(e, r, f->req.path) : send_entry(f, &m, e);
}

static int list_one(struct files *f, DIR *dir, const char *name, struct err *e)
{
	char target[WIRE_PATH_MAX + 1];
	struct msg_entry m;
	int r;

	if (!wire_name_ok(name))
		return 0; /* the dots */
	r = look(dirfd(dir), name, AT_SYMLINK_NOFOLLOW, &m, target);
	/* Removed since the folder was read. */
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_wrap(e, files_fail(e, r, name), "'%s'", f->req.path);
	m.name = name;
	return send_entry(f, &m, e);
}

int files_list(struct files *f, struct err *e)
{
	DIR *dir = opendir(f->req.path);
	const struct dirent *de;
	int r = 0;

	if (!dir)
		return files_fail(e, -errno, f->req.path);
	for (errno = 0; r == 0 && (de = readdir(dir)) != NULL; errno = 0)
		r = list_one(f, dir, de->d_name, e);
	if (r == 0 && errno)
		r = files_fail(e, -errno, f->req.path);
	(void)closedir(dir);
	return r;
}

/* One that is there is as good, if it is a folder. */
static int make_dir(const char *path, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return 0;
	if (errno != EEXIST && errno != EROFS && errno != EACCES)
		return -errno;
	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int make_parents(char *path)
{
	char *p = path + strspn(path, "/");

	while ((p = strchr(p, '/')) != NULL) {
		int r;

		*p = '\0';
		r = make_dir(path, PARENT_MODE);
		*p = '/';
		if (r < 0)
			return r;
		p += strspn(p, "/");
	}
	return 0;
}

int files_mkdir(struct files *f, struct err *e)
{
	char path[WIRE_PATH_MAX + 1];
	int r;

	if (!(f->req.flags & WIRE_FILE_PARENTS)) {
		r = mkdir(f->req.path, f->req.mode) < 0 ? -errno : 0;
		return r < 0 ? files_fail(e, r, f->req.path) : 0;
	}
	memcpy(path, f->req.path, strlen(f->req.path) + 1);
	r = make_parents(path);
	if (r == 0)
		r = make_dir(path, f->req.mode);
	return r < 0 ? files_fail(e, r, f->req.path) : 0;
}

static int remove_tree(const char *path, struct err *e)
{
	char name[WIRE_NAME_MAX + 1];
	auto_fd int parent = tree_open_parent(path, name, e);
	int r;

	if (parent < 0)
		return parent;
	r = rmtree(parent, name);
	return r < 0 ? files_fail(e, r, path) : 0;
}

int files_remove(struct files *f, struct err *e)
{
	const char *path = f->req.path;
	struct stat st;

	if (lstat(path, &st) < 0) {
		if (errno == ENOENT && (f->req.flags & WIRE_FILE_FORCE))
			return 0;
		return files_fail(e, -errno, path);
	}
	if (S_ISDIR(st.st_mode)) {
		if (!(f->req.flags & WIRE_FILE_RECURSIVE))
			return files_fail(e, -EISDIR, path);
		return remove_tree(path, e);
	}
	return unlink(path) < 0 ? files_fail(e, -errno, path) : 0;
}

int files_rename(struct files *f, struct err *e)
{
	const char *from = f->req.path, *to = f->req.other;
	char q[2][FILES_QUOTE_MAX / 2];
	int r;

	if (rename(from, to) == 0)
		return 0;
	r = -errno;
	log_escape(q[0], sizeof(q[0]), from, strlen(from));
	log_escape(q[1], sizeof(q[1]), to, strlen(to));
	if (r == -EXDEV)
		return err_set(e, r,
			       "'%s' and '%s' are on different file systems, "
			       "and a rename does not copy",
			       q[0], q[1]);
	return err_set(e, r, "'%s' to '%s': %s", q[0], q[1], strerror(-r));
}
