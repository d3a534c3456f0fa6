/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/tmpfile.c - O_TMPFILE, and giving such a file a name */

#include "tests/conform/conform.h"

static void has_no_name(void)
{
	struct stat folder, after, st;
	int fd;

	make_dir("d", 0755);
	folder = stat_of("d");
	tick();
	fd = ok(open("d", O_RDWR | O_TMPFILE, 0640));
	st = stat_fd(fd);
	eq(0, st.st_nlink);
	eq(S_IFREG | 0640, st.st_mode);
	eq(0, st.st_size);
	after = stat_of("d");
	eq(0, stamps(&folder, &after));
	write_text(fd, "hidden", 0);
	has_text(fd, "hidden", 0);
	ok(ftruncate(fd, 3));
	ok(fchmod(fd, 0600));
	eq(3, stat_fd(fd).st_size);
	ok(rmdir("d"));
	has_text(fd, "hid", 0);
}

static void gets_a_name(void)
{
	struct stat folder, after;
	int fd;

	make_dir("d", 0755);
	fd = ok(open("d", O_RDWR | O_TMPFILE, 0640));
	write_text(fd, "shown", 0);
	folder = stat_of("d");
	tick();
	ok(linkat(fd, "", AT_FDCWD, "d/f", AT_EMPTY_PATH));
	after = stat_of("d");
	eq(CHANGED | WRITTEN, stamps(&folder, &after));
	eq(1, stat_fd(fd).st_nlink);
	eq(stat_fd(fd).st_ino, stat_of("d/f").st_ino);
	file_is("d/f", "shown");
	ok(linkat(fd, "", AT_FDCWD, "d/g", AT_EMPTY_PATH));
	eq(2, stat_of("d/f").st_nlink);
	fails(EEXIST, linkat(fd, "", AT_FDCWD, "d/g", AT_EMPTY_PATH));
}

/* As an ordinary user does it. */
static void gets_a_name_by_proc(void)
{
	char path[64];
	int fd;

	ok(chmod(".", 0777));
	be(USER, GROUP);
	fd = ok(open(".", O_RDWR | O_TMPFILE, 0600));
	write_text(fd, "shown", 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ok(linkat(AT_FDCWD, path, AT_FDCWD, "f", AT_SYMLINK_FOLLOW));
	be_root();
	file_is("f", "shown");
}

static void never_gets_a_name(void)
{
	int fd = ok(open(".", O_RDWR | O_TMPFILE | O_EXCL, 0600));

	write_text(fd, "x", 0);
	fails(ENOENT, linkat(fd, "", AT_FDCWD, "f", AT_EMPTY_PATH));
	so(!there("f"));
}

static void is_for_writing(void)
{
	fails(EINVAL, open(".", O_RDONLY | O_TMPFILE, 0600));
	ok(open(".", O_WRONLY | O_TMPFILE, 0600));
}

static void folder_not_writable(void)
{
	make_dir("d", 0755);
	make_dir("e", 0777);
	be(USER, GROUP);
	fails(EACCES, open("d", O_RDWR | O_TMPFILE, 0600));
	ok(open("e", O_RDWR | O_TMPFILE, 0600));
}

static void umask_counts(void)
{
	(void)umask(027);
	eq(S_IFREG | 0640,
	   stat_fd(ok(open(".", O_RDWR | O_TMPFILE, 0666))).st_mode);
}

static void owner_and_group(void)
{
	struct stat st;

	make_dir("d", 0777);
	make_dir("s", 0777);
	give("s", 0, OTHERS);
	ok(chmod("s", 02777));
	be(USER, GROUP);
	st = stat_fd(ok(open("d", O_RDWR | O_TMPFILE, 0600)));
	eq(USER, st.st_uid);
	eq(GROUP, st.st_gid);
	st = stat_fd(ok(open("s", O_RDWR | O_TMPFILE, 0600)));
	eq(OTHERS, st.st_gid);
}

static void many(void)
{
	int fd[50];

	for (unsigned int i = 0; i < ARRAY_LEN(fd); i++)
		fd[i] = ok(open(".", O_RDWR | O_TMPFILE, 0600));
	for (unsigned int i = 1; i < ARRAY_LEN(fd); i++)
		so(stat_fd(fd[0]).st_ino != stat_fd(fd[i]).st_ino);
}

static const struct rule tmpfile_rules[] = {
	RULE(has_no_name),
	RULE(gets_a_name),
	RULE_NEEDS(gets_a_name_by_proc, OWNERS),
	RULE(never_gets_a_name),
	RULE(is_for_writing),
	RULE(folder_not_writable),
	RULE(umask_counts),
	RULE_NEEDS(owner_and_group, OWNERS),
	RULE(many),
};

const struct rules tmpfile_set = RULES(tmpfile);
