/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/link.c - link(), linkat() */
#include "tests/conform/conform.h"

static void one_file_two_names(void)
{
	struct stat a, b;

	make_file("a", 0640);
	eq(1, stat_of("a").st_nlink);
	ok(link("a", "b"));
	a = stat_of("a");
	b = stat_of("b");
	eq(a.st_ino, b.st_ino);
	eq(a.st_dev, b.st_dev);
	eq(2, a.st_nlink);
	eq(2, b.st_nlink);
	eq(0640, b.st_mode & 07777);
	ok(unlink("a"));
	eq(1, stat_of("b").st_nlink);
	file_is("b", TEXT);
}

static void many_names(void)
{
	char name[] = "a";

	make_file("0", 0644);
	for (unsigned int i = 0; i < 20; i++, name[0]++) {
		ok(link("0", name));
		eq(2 + i, stat_of("0").st_nlink);
	}
	for (unsigned int i = 20; i > 0; i--) {
		name[0]--;
		ok(unlink(name));
		eq(i, stat_of("0").st_nlink);
	}
}

/* What goes in by one name comes out by the other. */
static void content_is_shared(void)
{
	int fd;

	make_file("a", 0644);
	ok(link("a", "b"));
	fd = open_file("a", O_WRONLY | O_TRUNC);
	write_text(fd, "other", 0);
	file_is("b", "other");
	ok(truncate("b", 2));
	file_is("a", "ot");
}

static void in_another_folder(void)
{
	make_dir("d", 0755);
	make_dir("e", 0755);
	make_file("d/a", 0644);
	ok(link("d/a", "e/b"));
	eq(stat_of("d/a").st_ino, stat_of("e/b").st_ino);
	ok(unlink("d/a"));
	ok(rmdir("d"));
	file_is("e/b", TEXT);
}

static void of_kind(unsigned int kind)
{
	make((enum kind)kind, "a");
	ok(link("a", "b"));
	eq(stat_of("a").st_ino, stat_of("b").st_ino);
	eq(type_of((enum kind)kind), stat_of("b").st_mode & S_IFMT);
	eq(2, stat_of("b").st_nlink);
	ok(unlink("a"));
	eq(1, stat_of("b").st_nlink);
}

static void of_a_folder(void)
{
	make_dir("d", 0755);
	fails(EPERM, link("d", "e"));
	be(USER, GROUP);
	fails(EPERM, link("d", "e"));
}

static void follows_if_asked_to(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	ok(linkat(AT_FDCWD, "l", AT_FDCWD, "g", AT_SYMLINK_FOLLOW));
	eq(stat_of("f").st_ino, stat_of("g").st_ino);
	ok(linkat(AT_FDCWD, "l", AT_FDCWD, "m", 0));
	eq(stat_of("l").st_ino, stat_of("m").st_ino);
	file_is("m", TEXT);
}

static void flags(void)
{
	make_file("f", 0644);
	fails(EINVAL, linkat(AT_FDCWD, "f", AT_FDCWD, "g", 0x40000000));
}

static void to_another_file_system(void)
{
	make_dir("d", 0755);
	make_file("f", 0644);
	mount_other("d");
	fails(EXDEV, link("f", "d/f"));
}

static void of_a_descriptor(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	ok(linkat(fd, "", AT_FDCWD, "g", AT_EMPTY_PATH));
	eq(stat_of("f").st_ino, stat_of("g").st_ino);
}

static void of_what_has_no_name(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	ok(unlink("f"));
	fails(ENOENT, linkat(fd, "", AT_FDCWD, "g", AT_EMPTY_PATH));
}

static void to_a_folder_that_is_gone(void)
{
	int fd;

	make_dir("d", 0755);
	make_file("f", 0644);
	fd = open_file("d", O_RDONLY | O_DIRECTORY);
	ok(rmdir("d"));
	fails(ENOENT, linkat(AT_FDCWD, "f", fd, "g", 0));
}

static void relative_to_a_file(void)
{
	make_file("f", 0644);
	fails(ENOTDIR, linkat(open_file("f", O_RDONLY), "x", AT_FDCWD, "g", 0));
	fails(EBADF, linkat(-1, "x", AT_FDCWD, "g", 0));
}

static void mounted_read_only(void)
{
	make_dir("d", 0755);
	make_file("d/f", 0644);
	make_ro("d");
	fails(EROFS, link("d/f", "d/g"));
}

static void of_what_is_open(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(link("f", "g"));
	eq(2, stat_fd(fd).st_nlink);
	ok(unlink("f"));
	eq(1, stat_fd(fd).st_nlink);
	write_text(fd, "CONTENT", 0);
	file_is("g", "CONTENT");
}

static const struct rule link_rules[] = {
	RULE(one_file_two_names),
	RULE(many_names),
	RULE(content_is_shared),
	RULE(in_another_folder),
	{ .name = "of_fifo", .check_with = of_kind, .with = FIFO_ },
	{ .name = "of_socket", .check_with = of_kind, .with = SOCK_ },
	{ .name = "of_symlink", .check_with = of_kind, .with = LINK_ },
	{ .name = "of_device",
	  .check_with = of_kind,
	  .with = CHR_,
	  .needs = DEVICES },
	RULE(of_a_folder),
	RULE(follows_if_asked_to),
	RULE(flags),
	RULE(to_another_file_system),
	RULE(of_a_descriptor),
	RULE(of_what_has_no_name),
	RULE(to_a_folder_that_is_gone),
	RULE(relative_to_a_file),
	RULE(mounted_read_only),
	RULE(of_what_is_open),
};

const struct rules link_set = RULES(link);
