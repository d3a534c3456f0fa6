/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/rename2.c - renameat2() and its flags */
#include <string.h>

#include "tests/conform/conform.h"

static int rename2(const char *from, const char *to, unsigned int flags)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
}

static void only_if_free(void)
{
	make_file("a", 0644);
	make_file("b", 0600);
	make_dir("d", 0755);
	make_link("nowhere", "l");
	fails(EEXIST, rename2("a", "b", RENAME_NOREPLACE));
	fails(EEXIST, rename2("a", "d", RENAME_NOREPLACE));
	fails(EEXIST, rename2("a", "l", RENAME_NOREPLACE));
	fails(EEXIST, rename2("d", "b", RENAME_NOREPLACE));
	fails(EEXIST, rename2("a", "a", RENAME_NOREPLACE));
	so(there("a"));
	ok(rename2("a", "c", RENAME_NOREPLACE));
	so(!there("a"));
	ok(rename2("d", "e", RENAME_NOREPLACE));
	fails(ENOENT, rename2("a", "f", RENAME_NOREPLACE));
}

static void swaps_files(void)
{
	struct stat a, b, after;

	make_file("a", 0644);
	make_file("b", 0600);
	ok(truncate("b", 3));
	a = stat_of("a");
	b = stat_of("b");
	tick();
	ok(rename2("a", "b", RENAME_EXCHANGE));
	after = stat_of("b");
	eq(a.st_ino, after.st_ino);
	eq(CHANGED, stamps(&a, &after));
	after = stat_of("a");
	eq(b.st_ino, after.st_ino);
	eq(CHANGED, stamps(&b, &after));
	file_is("a", "con");
	file_is("b", TEXT);
}

static void swaps_file_and_folder(void)
{
	make_file("a", 0644);
	make_dir("p", 0755);
	make_dir("p/d", 0755);
	make_file("p/d/x", 0644);
	ok(rename2("a", "p/d", RENAME_EXCHANGE));
	file_is("p/d", TEXT);
	file_is("a/x", TEXT);
	eq(2, stat_of("p").st_nlink);
	eq(stat_of(".").st_ino, stat_of("a/..").st_ino);
}

static void swaps_full_folders(void)
{
	make_dir("a", 0755);
	make_dir("b", 0755);
	make_file("a/x", 0644);
	make_file("b/y", 0644);
	ok(rename2("a", "b", RENAME_EXCHANGE));
	so(there("a/y"));
	so(there("b/x"));
}

static void swaps_symlink_itself(void)
{
	make_file("a", 0644);
	make_link("a", "l");
	ok(rename2("a", "l", RENAME_EXCHANGE));
	so(S_ISLNK(stat_of("a").st_mode));
	file_is("l", TEXT);
}

static void swaps_what_is_open(void)
{
	int a, b;

	make_file("a", 0644);
	make_file("b", 0644);
	a = open_file("a", O_RDWR);
	b = open_file("b", O_RDWR);
	ok(rename2("a", "b", RENAME_EXCHANGE));
	write_text(a, "was a  ", 0);
	write_text(b, "was b  ", 0);
	file_is("b", "was a  ");
	file_is("a", "was b  ");
}

static void swap_with_nothing(void)
{
	make_file("a", 0644);
	fails(ENOENT, rename2("a", "b", RENAME_EXCHANGE));
	fails(ENOENT, rename2("b", "a", RENAME_EXCHANGE));
	so(there("a"));
}

static void swap_into_itself(void)
{
	make_dir("a", 0755);
	make_dir("a/b", 0755);
	fails(EINVAL, rename2("a", "a/b", RENAME_EXCHANGE));
	fails(EINVAL, rename2("a/b", "a", RENAME_EXCHANGE));
	make_file("f", 0644);
	ok(rename2("f", "f", RENAME_EXCHANGE));
}

static void swap_denied(void)
{
	make_dir("d", 0755);
	make_file("d/x", 0666);
	make_dir("e", 0777);
	make_file("e/y", 0666);
	be(USER, GROUP);
	fails(EACCES, rename2("d/x", "e/y", RENAME_EXCHANGE));
	fails(EACCES, rename2("e/y", "d/x", RENAME_EXCHANGE));
}

static void flags(void)
{
	make_file("a", 0644);
	make_file("b", 0644);
	fails(EINVAL, rename2("a", "b", RENAME_NOREPLACE | RENAME_EXCHANGE));
	fails(EINVAL, rename2("a", "b", 1u << 20));
}

static const struct rule rename2_rules[] = {
	RULE(only_if_free),          RULE(swaps_files),
	RULE(swaps_file_and_folder), RULE(swaps_full_folders),
	RULE(swaps_symlink_itself),  RULE(swaps_what_is_open),
	RULE(swap_with_nothing),     RULE(swap_into_itself),
	RULE(swap_denied),           RULE(flags),
};

const struct rules rename2_set = RULES(rename2);
