/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/mkdir.c - mkdir(), mkdirat(), and counts of links of folders */
#include "tests/conform/conform.h"

static void mode_and_umask(void)
{
	(void)umask(0);
	ok(mkdir("a", 0777));
	eq(S_IFDIR | 0777, stat_of("a").st_mode);
	ok(mkdir("b", 0));
	eq(S_IFDIR, stat_of("b").st_mode);
	(void)umask(027);
	ok(mkdir("c", 0777));
	eq(S_IFDIR | 0750, stat_of("c").st_mode);
	(void)umask(0777);
	ok(mkdir("d", 0777));
	eq(S_IFDIR, stat_of("d").st_mode);
}

static void sticky_bit(void)
{
	(void)umask(0);
	ok(mkdir("d", 01777));
	eq(S_IFDIR | 01777, stat_of("d").st_mode);
}

/* Those are for chmod() alone. */
static void setuid_is_ignored(void)
{
	ok(mkdir("d", 06755));
	eq(S_IFDIR | 0755, stat_of("d").st_mode);
}

static void links_are_counted(void)
{
	nlink_t n = stat_of(".").st_nlink;

	ok(mkdir("a", 0755));
	eq(2, stat_of("a").st_nlink);
	eq(n + 1, stat_of(".").st_nlink);
	ok(mkdir("a/b", 0755));
	ok(mkdir("a/c", 0755));
	make_file("a/f", 0644);
	eq(4, stat_of("a").st_nlink);
	ok(rmdir("a/b"));
	eq(3, stat_of("a").st_nlink);
	ok(rename("a/c", "c"));
	eq(2, stat_of("a").st_nlink);
	eq(n + 2, stat_of(".").st_nlink);
}

static void dots(void)
{
	fails(EEXIST, mkdir(".", 0755));
	fails(EEXIST, mkdir("..", 0755));
	fails(EEXIST, mkdir("/", 0755));
	ok(mkdir("d", 0755));
	fails(EEXIST, mkdir("d/", 0755));
	fails(EEXIST, mkdir("d/.", 0755));
	fails(ENOENT, mkdir("e/.", 0755));
	eq(stat_of("d").st_ino, stat_of("d/.").st_ino);
	eq(stat_of(".").st_ino, stat_of("d/..").st_ino);
}

static void in_a_folder_that_is_gone(void)
{
	ok(mkdir("d", 0755));
	ok(chdir("d"));
	ok(rmdir("../d"));
	fails(ENOENT, mkdir("e", 0755));
	fails(ENOENT, open("f", O_WRONLY | O_CREAT, 0644));
	fails(ENOENT, symlink("x", "l"));
	fails(ENOENT, mkfifo("p", 0644));
	ok(chdir("/"));
}

static void relative_to_a_descriptor(void)
{
	int fd;

	ok(mkdir("d", 0755));
	fd = open_file("d", O_RDONLY | O_DIRECTORY);
	ok(mkdirat(fd, "e", 0755));
	so(there("d/e"));
	ok(rename("d", "moved"));
	ok(mkdirat(fd, "f", 0755));
	so(there("moved/f"));
	make_file("file", 0644);
	fails(ENOTDIR, mkdirat(open_file("file", O_RDONLY), "x", 0755));
	fails(EBADF, mkdirat(-1, "x", 0755));
}

static void forty_levels(void)
{
	for (unsigned int i = 0; i < 40; i++) {
		ok(mkdir("level", 0755));
		ok(chdir("level"));
	}
	make_file("f", 0644);
	file_is("f", TEXT);
	for (unsigned int i = 0; i < 40; i++)
		ok(chdir(".."));
	so(there("level"));
}

static const struct rule mkdir_rules[] = {
	RULE(mode_and_umask),
	RULE(sticky_bit),
	RULE(setuid_is_ignored),
	RULE(links_are_counted),
	RULE(dots),
	RULE(in_a_folder_that_is_gone),
	RULE(relative_to_a_descriptor),
	RULE(forty_levels),
};

const struct rules mkdir_set = RULES(mkdir);
