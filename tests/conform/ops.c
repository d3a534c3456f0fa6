/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/ops.c - the operations that take a path; see path.h */
#include <sys/statfs.h>
#include <sys/xattr.h>

#include "tests/conform/path.h"

#define PAST 1000000000

static int call_access(const char *path)
{
	return access(path, F_OK);
}

static int call_chmod(const char *path)
{
	return chmod(path, 0600);
}

static int call_chown(const char *path)
{
	return chown(path, 0, 0);
}

static int call_lchown(const char *path)
{
	return lchown(path, 0, 0);
}

static int call_chdir(const char *path)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = chdir(path), err = errno;

	if (r == 0 && fchdir(here) < 0)
		_exit(2);
	(void)close(here);
	errno = err;
	return r;
}

static int call_link(const char *path)
{
	return link("src", path);
}

static int call_link_from(const char *path)
{
	return link(path, "dst");
}

static int call_mkdir(const char *path)
{
	return mkdir(path, 0755);
}

static int call_mkfifo(const char *path)
{
	return mkfifo(path, 0644);
}

static int call_mknod(const char *path)
{
	return mknod(path, S_IFREG | 0644, 0);
}

/* What was opened is closed, since only how it ended is asked. */
static int open_close(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	(void)close(fd);
	return 0;
}

static int call_open(const char *path)
{
	return open_close(path, O_RDONLY);
}

static int call_open_write(const char *path)
{
	return open_close(path, O_WRONLY);
}

static int call_open_trunc(const char *path)
{
	return open_close(path, O_WRONLY | O_TRUNC);
}

static int call_open_excl(const char *path)
{
	return open_close(path, O_WRONLY | O_CREAT | O_EXCL);
}

static int call_opendir(const char *path)
{
	return open_close(path, O_RDONLY | O_DIRECTORY);
}

static int call_tmpfile(const char *path)
{
	return open_close(path, O_WRONLY | O_TMPFILE);
}

static int call_readlink(const char *path)
{
	char buf[LONG_PATH];

	return (int)readlink(path, buf, sizeof(buf));
}

static int call_rename(const char *path)
{
	return rename("src", path);
}

static int call_rename_from(const char *path)
{
	return rename(path, "dst");
}

static int call_rmdir(const char *path)
{
	return rmdir(path);
}

static int call_stat(const char *path)
{
	struct stat st;

	return stat(path, &st);
}

static int call_lstat(const char *path)
{
	struct stat st;

	return lstat(path, &st);
}

static int call_statfs(const char *path)
{
	struct statfs st;

	return statfs(path, &st);
}

static int call_symlink(const char *path)
{
	return symlink("nowhere", path);
}

static int call_truncate(const char *path)
{
	return truncate(path, 3);
}

static int call_unlink(const char *path)
{
	return unlink(path);
}

static int call_utimensat(const char *path)
{
	return utimensat(AT_FDCWD, path, NULL, 0);
}

static int call_utimensat_set(const char *path)
{
	const struct timespec ts[2] = { { PAST, 1 }, { PAST, 2 } };

	return utimensat(AT_FDCWD, path, ts, AT_SYMLINK_NOFOLLOW);
}

static int call_setxattr(const char *path)
{
	return setxattr(path, ATTR, "new", 3, 0);
}

static int call_getxattr(const char *path)
{
	char buf[16];

	return (int)getxattr(path, ATTR, buf, sizeof(buf));
}

static int call_listxattr(const char *path)
{
	return (int)listxattr(path, NULL, 0);
}

static int call_removexattr(const char *path)
{
	return removexattr(path, ATTR);
}

#define ALL (CHANGED | WRITTEN | READ)

static const struct op ops[] = {
	{ "access", call_access, FILE_, FOLLOWS | ANYBODY, 0, ENOTDIR, 0 },
	{ "chdir", call_chdir, DIR_, FOLLOWS, 0, 0, EACCES },
	{ "chmod", call_chmod, FILE_, FOLLOWS | CHANGES, CHANGED, ENOTDIR,
	  EPERM },
	{ "chown", call_chown, FILE_, FOLLOWS | CHANGES, CHANGED, ENOTDIR,
	  EPERM },
	{ "lchown", call_lchown, FILE_, CHANGES, CHANGED, ENOTDIR, EPERM },
	{ "link", call_link, NOTHING, MAKES | ELSEWHERE | SOURCE, 0, ENOENT,
	  0 },
	{ "link_from", call_link_from, FILE_, CHANGES | ELSEWHERE, CHANGED,
	  ENOTDIR, 0 },
	{ "mkdir", call_mkdir, NOTHING, MAKES, 0, 0, 0 },
	{ "mkfifo", call_mkfifo, NOTHING, MAKES, 0, ENOENT, 0 },
	{ "mknod", call_mknod, NOTHING, MAKES, 0, ENOENT, 0 },
	{ "open", call_open, FILE_, FOLLOWS, 0, ENOTDIR, EACCES },
	{ "open_write", call_open_write, FILE_, FOLLOWS | CHANGES, 0, ENOTDIR,
	  EACCES },
	{ "open_trunc", call_open_trunc, FILE_, FOLLOWS | CHANGES,
	  CHANGED | WRITTEN, ENOTDIR, EACCES },
	{ "open_excl", call_open_excl, NOTHING, MAKES, 0, EISDIR, 0 },
	{ "opendir", call_opendir, DIR_, FOLLOWS, 0, 0, EACCES },
	{ "tmpfile", call_tmpfile, DIR_, FOLLOWS | CHANGES, 0, 0, EACCES },
	{ "readlink", call_readlink, LINK_, ANYBODY, 0, ENOENT, 0 },
	{ "rename", call_rename, NOTHING, REPLACES | ELSEWHERE | SOURCE, 0,
	  ENOTDIR, 0 },
	{ "rename_from", call_rename_from, FILE_, REMOVES | ELSEWHERE, CHANGED,
	  ENOTDIR, 0 },
	{ "rmdir", call_rmdir, DIR_, REMOVES, CHANGED, 0, 0 },
	{ "stat", call_stat, FILE_, FOLLOWS | ANYBODY, 0, ENOTDIR, 0 },
	{ "lstat", call_lstat, FILE_, ANYBODY, 0, ENOTDIR, 0 },
	{ "statfs", call_statfs, FILE_, FOLLOWS | ANYBODY, 0, ENOTDIR, 0 },
	{ "symlink", call_symlink, NOTHING, MAKES, 0, ENOENT, 0 },
	{ "truncate", call_truncate, FILE_, FOLLOWS | CHANGES,
	  CHANGED | WRITTEN, ENOTDIR, EACCES },
	{ "unlink", call_unlink, FILE_, REMOVES, CHANGED, ENOTDIR, 0 },
	{ "utimensat", call_utimensat, FILE_, FOLLOWS | CHANGES, ALL, ENOTDIR,
	  EACCES },
	{ "utimensat_set", call_utimensat_set, FILE_, CHANGES, CHANGED, ENOTDIR,
	  EPERM },
	{ "setxattr", call_setxattr, FILE_, FOLLOWS | CHANGES, CHANGED, ENOTDIR,
	  EACCES },
	{ "getxattr", call_getxattr, FILE_, FOLLOWS | ATTRIBUTED, 0, ENOTDIR,
	  EACCES },
	{ "listxattr", call_listxattr, FILE_, FOLLOWS | ANYBODY, 0, ENOTDIR,
	  0 },
	{ "removexattr", call_removexattr, FILE_,
	  FOLLOWS | CHANGES | ATTRIBUTED, CHANGED, ENOTDIR, EACCES },
};

const struct op *op_at(size_t i)
{
	return i < ARRAY_LEN(ops) ? &ops[i] : NULL;
}

const char *op_name(const struct op *op)
{
	return op->name;
}
