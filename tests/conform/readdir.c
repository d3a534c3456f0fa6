/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/readdir.c - readdir(), rewinddir(), telldir(), seekdir() */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conform/conform.h"

/* More than a buffer holds. */
#define MANY 700u

static DIR *dir_of(const char *name)
{
	DIR *d = opendir(name);

	so(d != NULL);
	return d;
}

static struct dirent *next(DIR *d)
{
	struct dirent *de;

	errno = 0;
	de = readdir(d);
	so(de || errno == 0);
	return de;
}

/* One that there must be. */
static struct dirent *some(DIR *d)
{
	struct dirent *de = next(d);

	so(de != NULL);
	return de;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Names that are left to read, without the dots. */
static unsigned int count(DIR *d)
{
	struct dirent *de;
	unsigned int n = 0;

	while ((de = next(d)))
		n += !is_dot(de->d_name);
	return n;
}

static void make_many(const char *dir, unsigned int n)
{
	char path[64];

	make_dir(dir, 0755);
	for (unsigned int i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%u", dir, i);
		ok(mknod(path, S_IFREG | 0644, 0));
	}
}

static unsigned int number(const char *name)
{
	char *end;
	unsigned long i = strtoul(name, &end, 10);

	so(!*end && i < MANY);
	return (unsigned int)i;
}

static void each_name_once(void)
{
	unsigned char seen[MANY] = { 0 };
	struct dirent *de;
	unsigned int dots = 0;
	DIR *d;

	make_many("d", MANY);
	d = dir_of("d");
	while ((de = next(d))) {
		if (is_dot(de->d_name))
			dots++;
		else
			seen[number(de->d_name)]++;
	}
	eq(2, dots);
	for (unsigned int i = 0; i < MANY; i++)
		eq(1, seen[i]);
	so(next(d) == NULL);
}

static void nothing_but_dots(void)
{
	DIR *d;

	make_dir("d", 0755);
	d = dir_of("d");
	eq(0, count(d));
	rewinddir(d);
	so(is_dot(some(d)->d_name));
	so(is_dot(some(d)->d_name));
	so(next(d) == NULL);
}

static void numbers_and_types(void)
{
	static const unsigned char type[] = {
		[FILE_] = DT_REG,  [DIR_] = DT_DIR,  [FIFO_] = DT_FIFO,
		[SOCK_] = DT_SOCK, [LINK_] = DT_LNK,
	};
	char path[] = "d/0";
	struct dirent *de;
	DIR *d;

	make_dir("d", 0755);
	for (unsigned int i = 0; i < ARRAY_LEN(type); i++) {
		path[2] = (char)('0' + i);
		make((enum kind)i, path);
	}
	d = dir_of("d");
	while ((de = next(d))) {
		if (is_dot(de->d_name))
			continue;
		path[2] = de->d_name[0];
		eq(stat_of(path).st_ino, de->d_ino);
		/* Who does not know may say so. */
		so(de->d_type == DT_UNKNOWN ||
		   de->d_type == type[path[2] - '0']);
	}
}

static void dots_have_numbers(void)
{
	struct dirent *de;
	DIR *d;

	make_dir("d", 0755);
	make_dir("d/e", 0755);
	d = dir_of("d/e");
	while ((de = next(d)))
		eq(stat_of(de->d_name[1] ? "d" : "d/e").st_ino, de->d_ino);
}

static void long_names(void)
{
	char name[NAME_LEN + 1], path[LONG_PATH];
	unsigned int n = 0;
	struct dirent *de;
	DIR *d;

	make_dir("d", 0755);
	for (unsigned int i = 0; i < 60; i++) {
		(void)long_name(name, NAME_LEN - 1);
		name[i] = 'x';
		(void)snprintf(path, sizeof(path), "d/%s", name);
		make_file(path, 0644);
	}
	d = dir_of("d");
	while ((de = next(d))) {
		if (is_dot(de->d_name))
			continue;
		eq(NAME_LEN - 1, strlen(de->d_name));
		n++;
	}
	eq(60, n);
}

/* Names that were there all the time come, and come once. */
static void names_go_meanwhile(void)
{
	unsigned char seen[MANY] = { 0 };
	char path[64];
	struct dirent *de;
	unsigned int k = 0;
	DIR *d;

	make_many("d", MANY);
	d = dir_of("d");
	while ((de = next(d))) {
		if (is_dot(de->d_name))
			continue;
		seen[number(de->d_name)]++;
		/* What has an odd number goes from under it. */
		for (unsigned int i = 0; i < 5 && k < MANY; i++, k += 2) {
			(void)snprintf(path, sizeof(path), "d/%u", k + 1);
			ok(unlink(path));
		}
	}
	for (unsigned int i = 0; i < MANY; i++)
		so(i % 2 ? seen[i] <= 1 : seen[i] == 1);
	rewinddir(d);
	eq(MANY / 2, count(d));
}

static void names_come_meanwhile(void)
{
	unsigned char seen[MANY] = { 0 };
	char path[64];
	struct dirent *de;
	unsigned int k = 0;
	DIR *d;

	make_many("d", MANY);
	d = dir_of("d");
	while ((de = next(d))) {
		(void)snprintf(path, sizeof(path), "d/new-%u", k++);
		if (k <= MANY)
			make_file(path, 0644);
		if (!is_dot(de->d_name) && de->d_name[0] != 'n')
			seen[number(de->d_name)]++;
	}
	for (unsigned int i = 0; i < MANY; i++)
		eq(1, seen[i]);
}

static void all_is_removed_while_read(void)
{
	char path[300];
	struct dirent *de;
	unsigned int n = 0;
	DIR *d;

	make_many("d", MANY);
	d = dir_of("d");
	while ((de = next(d))) {
		if (is_dot(de->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "d/%s", de->d_name);
		ok(unlink(path));
		n++;
	}
	eq(MANY, n);
	ok(rmdir("d"));
}

static void again_from_the_start(void)
{
	DIR *d;

	make_many("d", 10);
	d = dir_of("d");
	eq(10, count(d));
	make_file("d/new", 0644);
	ok(unlink("d/3"));
	ok(unlink("d/4"));
	rewinddir(d);
	eq(9, count(d));
}

/* Places that are far from each other, in any order. */
static void back_to_a_place(void)
{
	static const unsigned int order[] = { 4, 0, 3, 1, 2, 0, 4 };
	char name[5][NAME_LEN];
	long at[5];
	DIR *d;

	make_many("d", MANY);
	d = dir_of("d");
	for (unsigned int i = 0; i < ARRAY_LEN(at); i++) {
		for (unsigned int k = 0; k < 120; k++)
			(void)next(d);
		at[i] = telldir(d);
		(void)snprintf(name[i], NAME_LEN, "%s", some(d)->d_name);
	}
	for (unsigned int i = 0; i < ARRAY_LEN(order); i++) {
		seekdir(d, at[order[i]]);
		so(strcmp(some(d)->d_name, name[order[i]]) == 0);
	}
}

static void rename_is_seen(void)
{
	bool seen = false;
	struct dirent *de;
	DIR *d;

	make_many("d", 10);
	d = dir_of("d");
	eq(10, count(d));
	ok(rename("d/5", "d/moved"));
	rewinddir(d);
	while ((de = next(d))) {
		so(strcmp(de->d_name, "5") != 0);
		seen |= strcmp(de->d_name, "moved") == 0;
	}
	so(seen);
}

static void two_readers(void)
{
	unsigned int n = 0;
	DIR *a, *b;

	make_many("d", MANY);
	a = dir_of("d");
	b = dir_of("d");
	while (n < 300)
		n += !is_dot(some(a)->d_name);
	eq(MANY, count(b));
	eq(MANY - 300, count(a));
}

static void of_a_file(void)
{
	make_file("f", 0644);
	so(opendir("f") == NULL);
	eq(ENOTDIR, errno);
}

static const struct rule readdir_rules[] = {
	RULE(each_name_once),
	RULE(nothing_but_dots),
	RULE(numbers_and_types),
	RULE(dots_have_numbers),
	RULE(long_names),
	RULE(names_go_meanwhile),
	RULE(names_come_meanwhile),
	RULE(all_is_removed_while_read),
	RULE(again_from_the_start),
	RULE(back_to_a_place),
	RULE(rename_is_seen),
	RULE(two_readers),
	RULE(of_a_file),
};

const struct rules readdir_set = RULES(readdir);
