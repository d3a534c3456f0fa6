/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/rename.c - rename(); its flags are in rename2.c */
#include <sys/stat.h>

#include "tests/conform/conform.h"

static void keeps_the_inode(void)
{
	struct stat before, after;

	make_file("a", 0640);
	before = stat_of("a");
	ok(rename("a", "b"));
	after = stat_of("b");
	so(!there("a"));
	eq(before.st_ino, after.st_ino);
	eq(before.st_mode, after.st_mode);
	eq(1, after.st_nlink);
	so(same_time(before.st_mtim, after.st_mtim));
	file_is("b", TEXT);
}

static void of_kind(unsigned int kind)
{
	struct stat before;

	make((enum kind)kind, "a");
	before = stat_of("a");
	make_dir("d", 0755);
	ok(rename("a", "d/b"));
	so(!there("a"));
	eq(before.st_ino, stat_of("d/b").st_ino);
	eq(before.st_mode, stat_of("d/b").st_mode);
}

/* What is in the way and is no folder goes. */
static void over_kind(unsigned int kind)
{
	make((enum kind)kind, "b");
	make_file("a", 0640);
	ok(rename("a", "b"));
	so(!there("a"));
	eq(S_IFREG | 0640, stat_of("b").st_mode);
	file_is("b", TEXT);
}

static void over_what_is_open(void)
{
	struct stat st;
	int fd;

	make_file("a", 0644);
	make_file("b", 0644);
	fd = open_file("b", O_RDWR);
	write_text(fd, "old", 0);
	ok(rename("a", "b"));
	st = stat_fd(fd);
	eq(0, st.st_nlink);
	has_text(fd, "old", 0);
	write_text(fd, "OLD", 0);
	has_text(fd, "OLD", 0);
	file_is("b", TEXT);
	so(stat_of("b").st_ino != st.st_ino);
}

static void over_one_of_two_names(void)
{
	struct stat before, after;

	make_file("a", 0644);
	make_file("b", 0644);
	ok(link("b", "c"));
	before = stat_of("c");
	tick();
	ok(rename("a", "b"));
	after = stat_of("c");
	eq(1, after.st_nlink);
	eq(CHANGED, stamps(&before, &after));
}

static void to_itself(void)
{
	struct stat before, after, folder;

	make_file("a", 0644);
	before = stat_of("a");
	folder = stat_of(".");
	tick();
	ok(rename("a", "a"));
	ok(rename("a", "./a"));
	after = stat_of("a");
	eq(0, stamps(&before, &after));
	after = stat_of(".");
	eq(0, stamps(&folder, &after));
	make_dir("d", 0755);
	ok(rename("d", "d"));
	so(there("d"));
}

/* POSIX: nothing is done, and both stay. */
static void to_another_name_of_it(void)
{
	make_file("a", 0644);
	ok(link("a", "b"));
	ok(rename("a", "b"));
	so(there("a"));
	so(there("b"));
	eq(2, stat_of("a").st_nlink);
}

static void file_over_folder(void)
{
	make_file("a", 0644);
	make_dir("d", 0755);
	fails(EISDIR, rename("a", "d"));
	so(there("a"));
	make(FIFO_, "p");
	fails(EISDIR, rename("p", "d"));
	make_link("d", "l");
	fails(EISDIR, rename("l", "d"));
}

static void folder_over_file(void)
{
	make_file("a", 0644);
	make_dir("d", 0755);
	fails(ENOTDIR, rename("d", "a"));
	make(FIFO_, "p");
	fails(ENOTDIR, rename("d", "p"));
	make_link("d", "l");
	fails(ENOTDIR, rename("d", "l"));
	file_is("a", TEXT);
}

static void folder_over_empty_folder(void)
{
	ino_t ino;

	make_dir("a", 0755);
	make_file("a/x", 0644);
	make_dir("b", 0700);
	ino = stat_of("a").st_ino;
	ok(rename("a", "b"));
	so(!there("a"));
	eq(ino, stat_of("b").st_ino);
	eq(0755, stat_of("b").st_mode & 07777);
	file_is("b/x", TEXT);
}

static void folder_over_full_folder(void)
{
	make_dir("a", 0755);
	make_dir("b", 0755);
	make_file("b/x", 0644);
	fails(ENOTEMPTY, rename("a", "b"));
	so(there("a"));
	file_is("b/x", TEXT);
	ok(unlink("b/x"));
	ok(rename("a", "b"));
}

static void folder_over_its_parent(void)
{
	make_dir("a", 0755);
	make_dir("a/b", 0755);
	make_dir("a/b/c", 0755);
	fails(ENOTEMPTY, rename("a/b/c", "a"));
	fails(ENOTEMPTY, rename("a/b/c", "a/b"));
}

static void folder_into_itself(void)
{
	make_dir("a", 0755);
	make_dir("a/b", 0755);
	fails(EINVAL, rename("a", "a/c"));
	fails(EINVAL, rename("a", "a/b/c"));
	fails(EINVAL, rename("a", "a/b"));
}

static void dots(void)
{
	make_dir("a", 0755);
	fails(EBUSY, rename(".", "b"));
	fails(EBUSY, rename("..", "b"));
	fails(EBUSY, rename("a/.", "b"));
	fails(EBUSY, rename("a", "."));
	fails(EBUSY, rename("a", ".."));
	fails(EBUSY, rename("a", "a/.."));
}

static void slashes(void)
{
	make_dir("a", 0755);
	ok(rename("a/", "b/"));
	ok(rename("b", "c/"));
	so(there("c"));
	make_file("f", 0644);
	fails(ENOTDIR, rename("f", "g/"));
	fails(ENOTDIR, rename("f/", "g"));
	make_file("g", 0644);
	fails(ENOTDIR, rename("f", "g/"));
	make_link("c", "l");
	fails(ENOTDIR, rename("l/", "m"));
}

static void missing(void)
{
	make_dir("d", 0755);
	fails(ENOENT, rename("a", "b"));
	fails(ENOENT, rename("a", "d"));
	make_file("f", 0644);
	fails(ENOENT, rename("f", "e/f"));
	fails(ENOENT, rename("e/f", "f"));
	so(there("f"));
}

static void symlink_itself(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	ok(rename("l", "m"));
	so(S_ISLNK(stat_of("m").st_mode));
	so(there("f"));
	make_file("g", 0600);
	ok(rename("g", "m"));
	eq(S_IFREG | 0600, stat_of("m").st_mode);
	file_is("f", TEXT);
}

static void both_folders_are_marked(void)
{
	struct stat from, to, after;

	make_dir("a", 0755);
	make_dir("b", 0755);
	make_file("a/x", 0644);
	from = stat_of("a");
	to = stat_of("b");
	tick();
	ok(rename("a/x", "b/x"));
	after = stat_of("a");
	eq(CHANGED | WRITTEN, stamps(&from, &after));
	after = stat_of("b");
	eq(CHANGED | WRITTEN, stamps(&to, &after));
}

static void links_of_folders(void)
{
	make_dir("a", 0755);
	make_dir("b", 0755);
	make_dir("a/x", 0755);
	eq(3, stat_of("a").st_nlink);
	ok(rename("a/x", "b/x"));
	eq(2, stat_of("a").st_nlink);
	eq(3, stat_of("b").st_nlink);
	eq(stat_of("b").st_ino, stat_of("b/x/..").st_ino);
	make_dir("b/y", 0755);
	ok(rename("b/x", "b/y"));
	eq(3, stat_of("b").st_nlink);
}

static void where_we_are(void)
{
	make_dir("a", 0755);
	make_dir("b", 0755);
	make_file("a/x", 0644);
	make_file("b/y", 0644);
	ok(chdir("a"));
	ok(rename("../a", "../b/c"));
	file_is("x", TEXT);
	file_is("../y", TEXT);
	ok(chdir("../.."));
}

static void open_folder_follows(void)
{
	int fd;

	make_dir("a", 0755);
	make_dir("b", 0755);
	fd = open_file("a", O_RDONLY | O_DIRECTORY);
	ok(rename("a", "b/c"));
	ok(close(ok(openat(fd, "x", O_WRONLY | O_CREAT, 0644))));
	so(there("b/c/x"));
	make_dir("d", 0755);
	make_dir("e", 0755);
	fd = open_file("e", O_RDONLY | O_DIRECTORY);
	ok(rename("d", "e"));
	fails(ENOENT, openat(fd, "x", O_WRONLY | O_CREAT, 0644));
}

static void open_file_follows(void)
{
	int fd;

	make_dir("a", 0755);
	make_file("a/x", 0644);
	fd = open_file("a/x", O_RDWR);
	ok(rename("a", "b"));
	write_text(fd, "CONTENT", 0);
	file_is("b/x", "CONTENT");
	ok(rename("b/x", "y"));
	ok(rmdir("b"));
	write_text(fd, "content", 0);
	file_is("y", "content");
}

static void to_another_file_system(void)
{
	make_dir("d", 0755);
	make_file("f", 0644);
	mount_other("d");
	fails(EXDEV, rename("f", "d/f"));
	fails(EBUSY, rename("d", "e"));
	make_dir("x", 0755);
	fails(EBUSY, rename("x", "d"));
}

static void mounted_read_only(void)
{
	make_dir("d", 0755);
	make_file("d/f", 0644);
	make_ro("d");
	fails(EROFS, rename("d/f", "d/g"));
}

static void denied(void)
{
	make_dir("a", 0755);
	make_dir("b", 0777);
	make_file("a/x", 0666);
	make_file("b/y", 0666);
	be(USER, GROUP);
	fails(EACCES, rename("a/x", "b/x"));
	fails(EACCES, rename("b/y", "a/y"));
	fails(EACCES, rename("b/y", "a/x"));
	ok(rename("b/y", "b/z"));
}

/* Its ".." would be written to. */
static void folder_of_others_to_elsewhere(void)
{
	make_dir("a", 0777);
	make_dir("b", 0777);
	make_dir("a/d", 0755);
	make_dir("a/e", 0777);
	be(USER, GROUP);
	fails(EACCES, rename("a/d", "b/d"));
	ok(rename("a/d", "a/f"));
	ok(rename("a/e", "b/e"));
}

static void sticky_folder(void)
{
	make_dir("s", 01777);
	make_file("s/roots", 0666);
	make_file("s/users", 0666);
	make_file("s/others", 0666);
	give("s/users", USER, GROUP);
	give("s/others", OTHER, OTHERS);
	be(USER, GROUP);
	ok(rename("s/users", "s/mine"));
	fails(EPERM, rename("s/others", "s/x"));
	fails(EPERM, rename("s/roots", "s/x"));
	fails(EPERM, rename("s/mine", "s/others"));
	so(there("s/mine"));
}

static void sticky_folder_of_ones_own(void)
{
	make_dir("s", 0755);
	make_file("s/others", 0644);
	give("s/others", OTHER, OTHERS);
	give("s", USER, GROUP);
	ok(chmod("s", 01755));
	be(USER, GROUP);
	ok(rename("s/others", "s/x"));
}

/* Without owners there is one way to be refused still. */
static void sticky_folder_of_root(void)
{
	make_dir("s", 01777);
	make_file("s/x", 0666);
	be(USER, GROUP);
	fails(EPERM, rename("s/x", "s/y"));
	fails(EPERM, unlink("s/x"));
}

static const struct rule rename_rules[] = {
	RULE(keeps_the_inode),
	{ .name = "of_folder", .check_with = of_kind, .with = DIR_ },
	{ .name = "of_fifo", .check_with = of_kind, .with = FIFO_ },
	{ .name = "of_socket", .check_with = of_kind, .with = SOCK_ },
	{ .name = "of_symlink", .check_with = of_kind, .with = LINK_ },
	{ .name = "of_device",
	  .check_with = of_kind,
	  .with = CHR_,
	  .needs = DEVICES },
	{ .name = "over_file", .check_with = over_kind, .with = FILE_ },
	{ .name = "over_fifo", .check_with = over_kind, .with = FIFO_ },
	{ .name = "over_socket", .check_with = over_kind, .with = SOCK_ },
	{ .name = "over_symlink", .check_with = over_kind, .with = LINK_ },
	{ .name = "over_device",
	  .check_with = over_kind,
	  .with = CHR_,
	  .needs = DEVICES },
	RULE(over_what_is_open),
	RULE(over_one_of_two_names),
	RULE(to_itself),
	RULE(to_another_name_of_it),
	RULE(file_over_folder),
	RULE(folder_over_file),
	RULE(folder_over_empty_folder),
	RULE(folder_over_full_folder),
	RULE(folder_over_its_parent),
	RULE(folder_into_itself),
	RULE(dots),
	RULE(slashes),
	RULE(missing),
	RULE(symlink_itself),
	RULE(both_folders_are_marked),
	RULE(links_of_folders),
	RULE(where_we_are),
	RULE(open_folder_follows),
	RULE(open_file_follows),
	RULE(to_another_file_system),
	RULE(mounted_read_only),
	RULE(denied),
	RULE(folder_of_others_to_elsewhere),
	RULE_NEEDS(sticky_folder, OWNERS),
	RULE_NEEDS(sticky_folder_of_ones_own, OWNERS),
	RULE(sticky_folder_of_root),
};

const struct rules rename_set = RULES(rename);
