/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/create.c - open() that makes a file: O_CREAT, O_EXCL */
#include "tests/conform/conform.h"

#define NEW (O_WRONLY | O_CREAT)

static void mode_and_umask(void)
{
	(void)umask(0);
	ok(open("a", NEW, 0777));
	eq(S_IFREG | 0777, stat_of("a").st_mode);
	(void)umask(027);
	ok(open("b", NEW, 0666));
	eq(S_IFREG | 0640, stat_of("b").st_mode);
	(void)umask(0777);
	ok(open("c", NEW, 0777));
	eq(S_IFREG, stat_of("c").st_mode);
}

static void setuid_can_be_asked_for(void)
{
	(void)umask(0);
	ok(open("a", NEW, 04755));
	eq(S_IFREG | 04755, stat_of("a").st_mode);
	ok(open("b", NEW, 02755));
	eq(S_IFREG | 02755, stat_of("b").st_mode);
}

/* The mode is for those who come later. */
static void its_maker_can_use_it(void)
{
	int fd = ok(open("f", O_RDWR | O_CREAT, 0));

	write_text(fd, "mine", 0);
	has_text(fd, "mine", 0);
	eq(S_IFREG, stat_of("f").st_mode);
}

static void its_maker_can_write_what_is_read_only(void)
{
	int fd;

	ok(chmod(".", 0777));
	be(USER, GROUP);
	fd = ok(open("f", NEW | O_EXCL, 0444));
	eq(4, write(fd, "mine", 4));
	file_is("f", "mine");
	fails(EACCES, open("f", O_WRONLY));
}

static void is_new(void)
{
	struct stat st;

	ok(open("f", NEW, 0644));
	st = stat_of("f");
	eq(0, st.st_size);
	eq(0, st.st_blocks);
	eq(1, st.st_nlink);
	so(S_ISREG(st.st_mode));
}

static void all_stamps_are_new(void)
{
	struct stat folder = stat_of("."), after, st;

	tick();
	ok(open("f", NEW, 0644));
	st = stat_of("f");
	after = stat_of(".");
	eq(CHANGED | WRITTEN, stamps(&folder, &after));
	so(later(st.st_atim, folder.st_ctim));
	so(later(st.st_mtim, folder.st_ctim));
	so(later(st.st_ctim, folder.st_ctim));
}

static void what_is_there_is_not_changed(void)
{
	struct stat folder, before, after;

	make_file("f", 0640);
	before = stat_of("f");
	folder = stat_of(".");
	tick();
	ok(open("f", NEW, 0777));
	after = stat_of("f");
	eq(0, stamps(&before, &after));
	eq(before.st_mode, after.st_mode);
	after = stat_of(".");
	eq(0, stamps(&folder, &after));
	file_is("f", TEXT);
}

static void only_if_new(void)
{
	make_file("f", 0644);
	fails(EEXIST, open("f", NEW | O_EXCL, 0644));
	fails(EEXIST, open("f", NEW | O_EXCL | O_TRUNC, 0644));
	file_is("f", TEXT);
	ok(unlink("f"));
	ok(open("f", NEW | O_EXCL, 0644));
}

static void by_way_of_a_symlink(void)
{
	make_link("f", "l");
	ok(open("l", NEW, 0600));
	eq(S_IFREG | 0600, stat_of("f").st_mode);
	so(S_ISLNK(stat_of("l").st_mode));
	make_link("gone/f", "m");
	fails(ENOENT, open("m", NEW, 0600));
	make_link("g", "n");
	fails(ELOOP, open("n", NEW | O_NOFOLLOW, 0600));
	fails(EEXIST, open("n", NEW | O_EXCL, 0600));
	so(!there("g"));
}

static void with_what_makes_no_sense(void)
{
	fails(EINVAL, open("f", NEW | O_DIRECTORY, 0644));
	so(!there("f"));
	fails(EISDIR, open("f/", NEW, 0644));
	so(!there("f"));
}

static void folder_not_writable(void)
{
	make_dir("d", 0755);
	make_file("d/x", 0666);
	be(USER, GROUP);
	fails(EACCES, open("d/y", NEW, 0644));
	/* It is there: no right to the folder is needed. */
	ok(open("d/x", NEW, 0644));
}

static void folder_without_search(void)
{
	make_dir("d", 0766);
	be(USER, GROUP);
	fails(EACCES, open("d/x", NEW, 0644));
}

static void file_not_writable(void)
{
	make_file("f", 0644);
	ok(chmod(".", 0777));
	be(USER, GROUP);
	fails(EACCES, open("f", NEW, 0644));
	fails(EACCES, open("f", NEW | O_TRUNC, 0644));
	file_is("f", TEXT);
}

static void mounted_read_only(void)
{
	make_dir("d", 0755);
	make_file("d/x", 0644);
	make_ro("d");
	fails(EROFS, open("d/y", NEW, 0644));
	fails(EROFS, open("d/x", O_WRONLY));
	fails(EROFS, open("d/x", O_RDWR));
	fails(EROFS, open("d/x", O_RDONLY | O_TRUNC));
	ok(open("d/x", O_RDONLY | O_CREAT, 0644));
	fails(EROFS, open("d", O_RDWR | O_TMPFILE, 0644));
}

static void of_a_fifo(void)
{
	make(FIFO_, "p");
	ok(open("p", O_RDWR | O_CREAT, 0644));
	eq(S_IFIFO | 0644, stat_of("p").st_mode);
}

/* Each of those who make the same name at once gets the one file. */
static void by_several_at_once(void)
{
	pid_t pid[4];
	struct stat st;

	for (unsigned int i = 0; i < ARRAY_LEN(pid); i++) {
		pid[i] = child();
		if (pid[i] == 0) {
			for (unsigned int k = 0; k < 20; k++)
				eq(1, write(ok(open("f", NEW | O_APPEND, 0644)),
					    "x", 1));
			leave();
		}
	}
	for (unsigned int i = 0; i < ARRAY_LEN(pid); i++)
		joined(pid[i]);
	st = stat_of("f");
	eq(80, st.st_size);
	eq(1, st.st_nlink);
}

static void exclusively_by_several_at_once(void)
{
	pid_t pid[4];

	for (unsigned int i = 0; i < ARRAY_LEN(pid); i++) {
		pid[i] = child();
		if (pid[i] == 0) {
			char name[] = "a";

			for (unsigned int k = 0; k < 20; k++, name[0]++) {
				int fd = open(name, NEW | O_EXCL, 0644);

				so(fd >= 0 || errno == EEXIST);
				if (fd >= 0)
					eq(1,
					   write(ok(open("won", NEW | O_APPEND,
							 0644)),
						 "x", 1));
			}
			leave();
		}
	}
	for (unsigned int i = 0; i < ARRAY_LEN(pid); i++)
		joined(pid[i]);
	eq(20, stat_of("won").st_size);
}

static const struct rule create_rules[] = {
	RULE(mode_and_umask),
	RULE_NEEDS(setuid_can_be_asked_for, SUID),
	RULE(its_maker_can_use_it),
	RULE(its_maker_can_write_what_is_read_only),
	RULE(is_new),
	RULE(all_stamps_are_new),
	RULE(what_is_there_is_not_changed),
	RULE(only_if_new),
	RULE(by_way_of_a_symlink),
	RULE(with_what_makes_no_sense),
	RULE(folder_not_writable),
	RULE(folder_without_search),
	RULE(file_not_writable),
	RULE(mounted_read_only),
	RULE(of_a_fifo),
	RULE(by_several_at_once),
	RULE(exclusively_by_several_at_once),
};

const struct rules create_set = RULES(create);
