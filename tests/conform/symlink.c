/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/symlink.c - symlink(), readlink(), and being led by them */
#include <limits.h>
#include <string.h>

#include "tests/conform/conform.h"

static void leads_to(const char *name, const char *target)
{
	char buf[LONG_PATH];
	size_t len = strlen(target);

	eq(len, readlink(name, buf, sizeof(buf)));
	so(memcmp(buf, target, len) == 0);
	eq(len, stat_of(name).st_size);
}

static void keeps_its_target(void)
{
	static const char *const target[] = {
		"a",          "/",
		".",          "..",
		"a/b/c",      "/absolute/path",
		"with blank", "\377\001\n",
		"a//b/",      "nowhere/at/all",
	};
	char name[] = "0";

	for (unsigned int i = 0; i < ARRAY_LEN(target); i++, name[0]++) {
		ok(symlink(target[i], name));
		leads_to(name, target[i]);
		eq(S_IFLNK | 0777, stat_of(name).st_mode);
		eq(1, stat_of(name).st_nlink);
	}
}

static void umask_is_ignored(void)
{
	(void)umask(077);
	make_link("a", "l");
	eq(S_IFLNK | 0777, stat_of("l").st_mode);
}

static void target_of_4095(void)
{
	char target[LONG_PATH];

	make_file("f", 0644);
	(void)long_path(target, PATH_MAX - 1, "f");
	ok(symlink(target, "l"));
	leads_to("l", target);
	file_is("l", TEXT);
	fails(ENAMETOOLONG, symlink(long_path(target, PATH_MAX, "f"), "m"));
}

static void target_of_sizes(void)
{
	static const size_t size[] = { 59, 60, 61, 255, 256, 1023, 1024 };
	char target[LONG_PATH], name[] = "a";

	for (unsigned int i = 0; i < ARRAY_LEN(size); i++, name[0]++) {
		(void)long_path(target, size[i], "f");
		ok(symlink(target, name));
		leads_to(name, target);
	}
}

static void target_of_nothing(void)
{
	fails(ENOENT, symlink("", "l"));
	so(!there("l"));
}

static void reads_what_fits(void)
{
	char buf[8] = "xxxxxxx";

	make_link("target", "l");
	eq(3, readlink("l", buf, 3));
	so(memcmp(buf, "tarx", 4) == 0);
	eq(6, readlink("l", buf, 6));
	so(memcmp(buf, "targetx", 7) == 0);
	fails(EINVAL, readlink("l", buf, 0));
}

static void reads_no_other(void)
{
	char buf[8];

	make_file("f", 0644);
	make_dir("d", 0755);
	make(FIFO_, "p");
	fails(EINVAL, readlink("f", buf, sizeof(buf)));
	fails(EINVAL, readlink("d", buf, sizeof(buf)));
	fails(EINVAL, readlink("p", buf, sizeof(buf)));
}

static void by_descriptor(void)
{
	char buf[8];
	int fd;

	make_link("target", "l");
	fd = ok(open("l", O_PATH | O_NOFOLLOW));
	eq(6, readlinkat(fd, "", buf, sizeof(buf)));
	ok(unlink("l"));
	eq(6, readlinkat(fd, "", buf, sizeof(buf)));
	eq(0, stat_fd(fd).st_nlink);
}

static void from_where_it_is(void)
{
	make_dir("a", 0755);
	make_dir("b", 0755);
	make_file("a/x", 0644);
	make_link("../a/x", "b/l");
	file_is("b/l", TEXT);
	make_link("a", "c");
	file_is("c/x", TEXT);
	ok(rename("b/l", "l"));
	fails(ENOENT, open("l", O_RDONLY));
}

/* As many as Linux follows in a path. */
static void forty_in_a_row(void)
{
	char name[16], target[16];

	make_file("0", 0644);
	for (unsigned int i = 0; i < 41; i++) {
		(void)snprintf(name, sizeof(name), "%u", i + 1);
		(void)snprintf(target, sizeof(target), "%u", i);
		make_link(target, name);
	}
	fails(ELOOP, open("41", O_RDONLY));
	file_is("40", TEXT);
}

static void same_name_other_target(void)
{
	make_file("f", 0644);
	make_dir("d", 0755);
	make_link("f", "l");
	leads_to("l", "f");
	ok(unlink("l"));
	make_link("d", "l");
	leads_to("l", "d");
	make_link("f", "m");
	ok(rename("m", "l"));
	leads_to("l", "f");
	file_is("l", TEXT);
}

static void in_a_folder_of_all(void)
{
	make_dir("s", 0777);
	be(USER, GROUP);
	make_link("../x", "s/l");
	leads_to("s/l", "../x");
}

static const struct rule symlink_rules[] = {
	RULE(keeps_its_target),       RULE(umask_is_ignored),
	RULE(target_of_4095),         RULE(target_of_sizes),
	RULE(target_of_nothing),      RULE(reads_what_fits),
	RULE(reads_no_other),         RULE(by_descriptor),
	RULE(from_where_it_is),       RULE(forty_in_a_row),
	RULE(same_name_other_target), RULE(in_a_folder_of_all),
};

const struct rules symlink_set = RULES(symlink);
