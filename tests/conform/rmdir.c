/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/rmdir.c - rmdir(), unlinkat() with AT_REMOVEDIR */
#include <dirent.h>
#include <sys/mount.h>

#include "tests/conform/conform.h"

static void not_empty(void)
{
	make_dir("d", 0755);
	make_file("d/x", 0644);
	fails(ENOTEMPTY, rmdir("d"));
	ok(unlink("d/x"));
	make_dir("d/e", 0755);
	fails(ENOTEMPTY, rmdir("d"));
	ok(rmdir("d/e"));
	make_link("nowhere", "d/l");
	fails(ENOTEMPTY, rmdir("d"));
	ok(unlink("d/l"));
	make(FIFO_, "d/p");
	fails(ENOTEMPTY, rmdir("d"));
	ok(unlink("d/p"));
	ok(rmdir("d"));
	so(!there("d"));
}

static void no_folder(void)
{
	make_file("f", 0644);
	make(FIFO_, "p");
	make_dir("d", 0755);
	make_link("d", "l");
	fails(ENOTDIR, rmdir("f"));
	fails(ENOTDIR, rmdir("p"));
	fails(ENOTDIR, rmdir("l"));
	fails(ENOTDIR, rmdir("l/"));
	so(there("d"));
}

static void dots(void)
{
	make_dir("d", 0755);
	fails(EINVAL, rmdir("d/."));
	fails(EINVAL, rmdir("."));
	fails(ENOTEMPTY, rmdir("d/.."));
	fails(ENOTEMPTY, rmdir(".."));
	fails(EBUSY, rmdir("/"));
	ok(rmdir("d/"));
}

static void mount_point(void)
{
	make_dir("d", 0755);
	mount_other("d");
	fails(EBUSY, rmdir("d"));
	ok(umount("d"));
	ok(rmdir("d"));
}

static void by_unlinkat(void)
{
	make_dir("d", 0755);
	fails(EISDIR, unlinkat(AT_FDCWD, "d", 0));
	ok(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR));
	make_file("f", 0644);
	fails(ENOTDIR, unlinkat(AT_FDCWD, "f", AT_REMOVEDIR));
	fails(EINVAL, unlinkat(AT_FDCWD, "f", AT_SYMLINK_NOFOLLOW));
}

/* It is there for who has it open, and holds nothing. */
static void of_what_is_open(void)
{
	struct dirent *de;
	DIR *dir;
	int fd;

	make_dir("d", 0755);
	dir = opendir("d");
	so(dir != NULL);
	fd = dirfd(dir);
	ok(rmdir("d"));
	so(stat_fd(fd).st_nlink == 0);
	errno = 0;
	while ((de = readdir(dir)))
		so(de->d_name[0] == '.');
	so(errno == 0 || errno == ENOENT);
	fails(ENOENT, openat(fd, "x", O_WRONLY | O_CREAT, 0644));
	fails(ENOENT, mkdirat(fd, "x", 0755));
	ok(closedir(dir));
}

static void name_can_be_used_again(void)
{
	int fd;

	make_dir("d", 0755);
	fd = open_file("d", O_RDONLY | O_DIRECTORY);
	ok(rmdir("d"));
	make_dir("d", 0755);
	make_file("d/x", 0644);
	fails(ENOENT, openat(fd, "x", O_RDONLY));
	file_is("d/x", TEXT);
	ok(unlink("d/x"));
	ok(rmdir("d"));
	make_file("d", 0644);
	file_is("d", TEXT);
}

static void denied(void)
{
	make_dir("a", 0755);
	make_dir("a/d", 0777);
	be(USER, GROUP);
	fails(EACCES, rmdir("a/d"));
}

/* No right to the folder itself is needed. */
static void of_others(void)
{
	make_dir("a", 0777);
	make_dir("a/d", 0700);
	be(USER, GROUP);
	ok(rmdir("a/d"));
}

static void sticky_folder(void)
{
	make_dir("s", 01777);
	make_dir("s/users", 0755);
	make_dir("s/others", 0777);
	give("s/users", USER, GROUP);
	give("s/others", OTHER, OTHERS);
	be(USER, GROUP);
	fails(EPERM, rmdir("s/others"));
	ok(rmdir("s/users"));
}

static void sticky_folder_of_root(void)
{
	make_dir("s", 01777);
	make_dir("s/d", 0777);
	be(USER, GROUP);
	fails(EPERM, rmdir("s/d"));
	be_root();
	ok(rmdir("s/d"));
}

static const struct rule rmdir_rules[] = {
	RULE(not_empty),
	RULE(no_folder),
	RULE(dots),
	RULE(mount_point),
	RULE(by_unlinkat),
	RULE(of_what_is_open),
	RULE(name_can_be_used_again),
	RULE(denied),
	RULE(of_others),
	RULE_NEEDS(sticky_folder, OWNERS),
	RULE(sticky_folder_of_root),
};

const struct rules rmdir_set = RULES(rmdir);
