/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/unlink.c - unlink(), and what has no name any more */
#include "tests/conform/conform.h"

static void of_kind(unsigned int kind)
{
	make((enum kind)kind, "x");
	ok(unlink("x"));
	so(!there("x"));
}

static void folder(void)
{
	make_dir("d", 0755);
	fails(EISDIR, unlink("d"));
	ok(chmod(".", 0777));
	be(USER, GROUP);
	fails(EISDIR, unlink("d"));
	so(there("d"));
}

static void dots(void)
{
	fails(EISDIR, unlink("."));
	fails(EISDIR, unlink(".."));
	fails(EISDIR, unlink("/"));
}

static void symlink_itself(void)
{
	make_file("f", 0644);
	make_dir("d", 0755);
	make_link("f", "l");
	make_link("d", "m");
	ok(unlink("l"));
	ok(unlink("m"));
	so(there("f"));
	so(there("d"));
}

static void links_are_counted(void)
{
	struct stat before, after;

	make_file("a", 0644);
	ok(link("a", "b"));
	ok(link("a", "c"));
	before = stat_of("c");
	tick();
	ok(unlink("a"));
	after = stat_of("c");
	eq(2, after.st_nlink);
	eq(CHANGED, stamps(&before, &after));
	ok(unlink("b"));
	eq(1, stat_of("c").st_nlink);
	file_is("c", TEXT);
}

static void of_what_is_open(void)
{
	struct stat before, st;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	before = stat_fd(fd);
	ok(unlink("f"));
	st = stat_fd(fd);
	eq(0, st.st_nlink);
	eq(before.st_ino, st.st_ino);
	eq(TEXT_LEN, st.st_size);
	write_text(fd, " and more", TEXT_LEN);
	has_text(fd, TEXT " and more", 0);
	eq(TEXT_LEN + 9, stat_fd(fd).st_size);
	ok(ftruncate(fd, 3));
	ok(fchmod(fd, 0600));
	st = stat_fd(fd);
	eq(3, st.st_size);
	eq(S_IFREG | 0600, st.st_mode);
	ok(fsync(fd));
}

static void of_what_is_open_twice(void)
{
	int a, b;

	make_file("f", 0644);
	a = open_file("f", O_RDWR);
	b = open_file("f", O_RDONLY);
	ok(unlink("f"));
	write_text(a, "CONTENT", 0);
	ok(close(a));
	has_text(b, "CONTENT", 0);
	eq(0, stat_fd(b).st_nlink);
}

static void name_can_be_used_again(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(unlink("f"));
	make_file("f", 0600);
	so(stat_fd(fd).st_ino != stat_of("f").st_ino);
	write_text(fd, "OTHER", 0);
	file_is("f", TEXT);
	ok(unlink("f"));
	make_dir("f", 0755);
	has_text(fd, "OTHERnt", 0);
}

static void of_others(void)
{
	make_dir("d", 0777);
	make_file("d/x", 0);
	be(USER, GROUP);
	ok(unlink("d/x"));
}

static void sticky_folder(void)
{
	make_dir("s", 01777);
	make_file("s/users", 0);
	make_file("s/others", 0666);
	give("s/users", USER, GROUP);
	give("s/others", OTHER, GROUP);
	be(USER, GROUP);
	fails(EPERM, unlink("s/others"));
	ok(unlink("s/users"));
}

static void sticky_folder_of_ones_own(void)
{
	make_dir("s", 0755);
	make_file("s/others", 0600);
	give("s/others", OTHER, OTHERS);
	give("s", USER, GROUP);
	ok(chmod("s", 01755));
	be(USER, GROUP);
	ok(unlink("s/others"));
}

static void twice(void)
{
	make_file("f", 0644);
	ok(unlink("f"));
	fails(ENOENT, unlink("f"));
}

static void many(void)
{
	char name[] = "aa";

	for (unsigned int i = 0; i < 260; i++) {
		name[0] = (char)('a' + i / 26);
		name[1] = (char)('a' + i % 26);
		make_file(name, 0644);
	}
	for (unsigned int i = 0; i < 260; i++) {
		name[0] = (char)('a' + i / 26);
		name[1] = (char)('a' + i % 26);
		ok(unlink(name));
		so(!there(name));
	}
	make_dir("d", 0755);
	ok(rmdir("d"));
}

static const struct rule unlink_rules[] = {
	{ .name = "of_fifo", .check_with = of_kind, .with = FIFO_ },
	{ .name = "of_socket", .check_with = of_kind, .with = SOCK_ },
	{ .name = "of_symlink", .check_with = of_kind, .with = LINK_ },
	{ .name = "of_device",
	  .check_with = of_kind,
	  .with = CHR_,
	  .needs = DEVICES },
	RULE(folder),
	RULE(dots),
	RULE(symlink_itself),
	RULE(links_are_counted),
	RULE(of_what_is_open),
	RULE(of_what_is_open_twice),
	RULE(name_can_be_used_again),
	RULE(of_others),
	RULE_NEEDS(sticky_folder, OWNERS),
	RULE_NEEDS(sticky_folder_of_ones_own, OWNERS),
	RULE(twice),
	RULE(many),
};

const struct rules unlink_set = RULES(unlink);
