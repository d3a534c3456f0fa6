/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/conform/path.c - rules for each operation that takes a path
 *
 * The path under test is always in the folder "d", or by way of it.
 */
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>

#include "tests/conform/path.h"

static bool any(const struct op *op)
{
	return true;
}

static bool follows(const struct op *op)
{
	return op->flags & FOLLOWS;
}

static bool makes(const struct op *op)
{
	return op->flags & MAKES;
}

static bool names(const struct op *op)
{
	return op->flags & (MAKES | REPLACES | REMOVES);
}

static bool wants_one(const struct op *op)
{
	return op->wants != NOTHING;
}

static bool wants_dir(const struct op *op)
{
	return op->wants == DIR_;
}

static bool writes_here(const struct op *op)
{
	return op->flags & (MAKES | REMOVES | CHANGES) &&
	       !(op->flags & ELSEWHERE);
}

static bool can_be_denied(const struct op *op)
{
	return op->denied != 0;
}

static bool needs_no_right(const struct op *op)
{
	return op->flags & ANYBODY;
}

/* Its other path, if it has one. */
static void arrange_source(const struct op *op)
{
	if (op->flags & SOURCE)
		make_file("src", 0666);
}

/* All as the operation needs it to be there, to be done to @path. */
static void arrange(const struct op *op, const char *path)
{
	arrange_source(op);
	if (op->wants != NOTHING)
		make((enum kind)op->wants, path);
	if (op->flags & ATTRIBUTED)
		ok(setxattr(path, ATTR, "old", 3, 0));
}

static void works(const struct op *op)
{
	make_dir("d", 0755);
	arrange(op, "d/x");
	ok(op->call("d/x"));
	if (op->flags & (MAKES | REPLACES))
		so(there("d/x"));
	if (op->flags & REMOVES)
		so(!there("d/x"));
}

static void missing(const struct op *op)
{
	make_dir("d", 0755);
	arrange_source(op);
	fails(ENOENT, op->call("d/x"));
}

static void missing_folder(const struct op *op)
{
	arrange_source(op);
	fails(ENOENT, op->call("d/x"));
}

static void empty_path(const struct op *op)
{
	arrange_source(op);
	fails(ENOENT, op->call(""));
}

static void folder_is_a_file(const struct op *op)
{
	make_file("d", 0644);
	arrange_source(op);
	fails(ENOTDIR, op->call("d/x"));
	fails(ENOTDIR, op->call("d/x/y"));
}

static void folder_is_a_symlink(const struct op *op)
{
	make_dir("real", 0755);
	make_link("real", "d");
	arrange(op, "real/x");
	ok(op->call("d/x"));
}

static void folder_is_a_lost_symlink(const struct op *op)
{
	make_link("nowhere", "d");
	arrange_source(op);
	fails(ENOENT, op->call("d/x"));
}

static void folder_is_a_loop(const struct op *op)
{
	make_link("d", "e");
	make_link("e", "d");
	arrange_source(op);
	fails(ELOOP, op->call("d/x"));
}

static void is_a_loop(const struct op *op)
{
	make_dir("d", 0755);
	make_link("y", "d/x");
	make_link("x", "d/y");
	arrange_source(op);
	fails(ELOOP, op->call("d/x"));
}

static void symlink_at_the_end(const struct op *op)
{
	make_dir("d", 0755);
	arrange(op, "d/real");
	make_link("real", "d/x");
	ok(op->call("d/x"));
	so(S_ISLNK(stat_of("d/x").st_mode));
}

static void lost_symlink_at_the_end(const struct op *op)
{
	make_dir("d", 0755);
	make_link("nowhere", "d/x");
	fails(ENOENT, op->call("d/x"));
}

static void name_of_255(const struct op *op)
{
	char name[NAME_LEN + 1], path[LONG_PATH];

	make_dir("d", 0755);
	(void)snprintf(path, sizeof(path), "d/%s",
		       long_name(name, NAME_LEN - 1));
	arrange(op, path);
	ok(op->call(path));
}

static void name_of_256(const struct op *op)
{
	char name[NAME_LEN + 1], path[LONG_PATH];

	make_dir("d", 0755);
	arrange_source(op);
	(void)snprintf(path, sizeof(path), "d/%s", long_name(name, NAME_LEN));
	fails(ENAMETOOLONG, op->call(path));
	(void)snprintf(path, sizeof(path), "%s/x", name);
	fails(ENAMETOOLONG, op->call(path));
}

static void path_of_4095(const struct op *op)
{
	char path[LONG_PATH];

	make_dir("d", 0755);
	(void)long_path(path, PATH_MAX - 1, "d/x");
	arrange(op, path);
	ok(op->call(path));
}

static void path_of_4096(const struct op *op)
{
	char path[LONG_PATH];

	make_dir("d", 0755);
	arrange(op, "d/x");
	fails(ENAMETOOLONG, op->call(long_path(path, PATH_MAX, "d/x")));
}

static void bad_address(const struct op *op)
{
	arrange_source(op);
	fails(EFAULT, op->call(nowhere()));
}

static void slash_at_the_end(const struct op *op)
{
	make_dir("d", 0755);
	arrange(op, "d/x");
	if (op->slash)
		fails(op->slash, op->call("d/x/"));
	else
		ok(op->call("d/x/"));
}

static void many_slashes(const struct op *op)
{
	make_dir("d", 0755);
	arrange(op, "d/x");
	ok(op->call("d///.//..//d////x"));
}

static void any_byte_is_a_name(const struct op *op)
{
	make_dir("d", 0755);
	arrange(op, "d/ \001\n\\\377\303*?\"'");
	ok(op->call("d/ \001\n\\\377\303*?\"'"));
}

static void is_there(const struct op *op, enum kind kind)
{
	struct stat before;

	make_dir("d", 0755);
	arrange_source(op);
	make(kind, "d/x");
	before = stat_of("d/x");
	fails(EEXIST, op->call("d/x"));
	eq(before.st_ino, stat_of("d/x").st_ino);
	eq(before.st_mode, stat_of("d/x").st_mode);
}

static void file_is_there(const struct op *op)
{
	is_there(op, FILE_);
	file_is("d/x", TEXT);
}

static void folder_is_there(const struct op *op)
{
	is_there(op, DIR_);
}

static void fifo_is_there(const struct op *op)
{
	is_there(op, FIFO_);
}

static void socket_is_there(const struct op *op)
{
	is_there(op, SOCK_);
}

static void device_is_there(const struct op *op)
{
	is_there(op, CHR_);
}

/* Even one that leads nowhere. */
static void symlink_is_there(const struct op *op)
{
	is_there(op, LINK_);
	so(!there("d/nowhere"));
}

static void not_a_folder(const struct op *op)
{
	make_dir("d", 0755);
	arrange_source(op);
	make_file("d/x", 0644);
	fails(ENOTDIR, op->call("d/x"));
}

static void no_way_through(const struct op *op)
{
	make_dir("d", 0700);
	arrange(op, "d/x");
	be(USER, GROUP);
	fails(EACCES, op->call("d/x"));
}

static void no_way_though_readable(const struct op *op)
{
	make_dir("d", 0744);
	arrange(op, "d/x");
	be(USER, GROUP);
	fails(EACCES, op->call("d/x"));
}

/* Who is in the group has the group's rights, though all others may. */
static void no_way_for_the_group(const struct op *op)
{
	make_dir("d", 0705);
	arrange(op, "d/x");
	give("d", 0, GROUP);
	be(USER, GROUP);
	fails(EACCES, op->call("d/x"));
}

static void no_way_for_the_owner(const struct op *op)
{
	make_dir("d", 0077);
	arrange(op, "d/x");
	give("d", USER, GROUP);
	be(USER, GROUP);
	fails(EACCES, op->call("d/x"));
}

static void folder_not_writable(const struct op *op)
{
	make_dir("d", 0755);
	arrange(op, "d/x");
	ok(chmod(".", 0777));
	be(USER, GROUP);
	fails(EACCES, op->call("d/x"));
	be_root();
	eq(op->wants != NOTHING, there("d/x"));
}

static void folder_writable_by_all(const struct op *op)
{
	make_dir("d", 0777);
	arrange(op, "d/x");
	ok(chmod(".", 0777));
	be(USER, GROUP);
	ok(op->call("d/x"));
}

static void folder_writable_by_the_group(const struct op *op)
{
	make_dir("d", 0775);
	arrange(op, "d/x");
	give("d", 0, GROUP);
	ok(chmod(".", 0777));
	be_in(USER, OTHERS, GROUP);
	ok(op->call("d/x"));
}

static void no_right_to_it(const struct op *op)
{
	struct stat before, after;

	make_dir("d", 0755);
	arrange(op, "d/x");
	ok(chmod("d/x", 0600));
	before = stat_of("d/x");
	tick();
	be(USER, GROUP);
	fails(op->denied, op->call("d/x"));
	be_root();
	after = stat_of("d/x");
	eq(0, stamps(&before, &after));
}

static void no_right_is_needed(const struct op *op)
{
	make_dir("d", 0755);
	arrange(op, "d/x");
	if (op->wants == FILE_)
		ok(chmod("d/x", 0));
	be(USER, GROUP);
	ok(op->call("d/x"));
}

static void read_only(const struct op *op)
{
	make_dir("d", 0755);
	arrange(op, "d/x");
	make_ro("d");
	fails(EROFS, op->call("d/x"));
	eq(op->wants != NOTHING, there("d/x"));
}

/* What has another name is looked at by that. */
static void marks(const struct op *op)
{
	struct stat object = { 0 }, folder, after;
	int fd = -1;

	make_dir("d", 0755);
	arrange(op, "d/x");
	if (op->wants == FILE_)
		ok(link("d/x", "kept"));
	if (op->wants == FILE_ || op->wants == DIR_)
		fd = open_file("d/x", O_RDONLY);
	tick();
	object = fd >= 0 ? stat_fd(fd) : object;
	folder = stat_of("d");
	tick();
	ok(op->call("d/x"));
	after = stat_of("d");
	eq(names(op) ? CHANGED | WRITTEN : 0, stamps(&folder, &after));
	if (fd < 0)
		return;
	after = stat_fd(fd);
	/* Of a folder that is gone nobody needs the stamps. */
	if (op->wants == FILE_)
		eq(op->marks, stamps(&object, &after));
	if (op->wants == FILE_ && op->flags & REMOVES)
		eq(after.st_ctim.tv_nsec, stat_of("kept").st_ctim.tv_nsec);
}

/* A name that is made, of an object that is: all its stamps are new. */
static void marks_what_is_new(const struct op *op)
{
	struct stat before, after;

	make_dir("d", 0755);
	make_file("src", 0666);
	before = stat_of("src");
	tick();
	ok(op->call("d/x"));
	after = stat_of("d/x");
	if (op->flags & ELSEWHERE)
		eq(CHANGED, stamps(&before, &after));
	else
		eq(CHANGED | WRITTEN | READ, stamps(&before, &after));
}

static void marks_nothing_if_there(const struct op *op)
{
	struct stat object, folder, after;

	make_dir("d", 0755);
	arrange_source(op);
	make_file("d/x", 0644);
	object = stat_of("d/x");
	folder = stat_of("d");
	tick();
	fails(EEXIST, op->call("d/x"));
	after = stat_of("d/x");
	eq(0, stamps(&object, &after));
	after = stat_of("d");
	eq(0, stamps(&folder, &after));
}

static void marks_nothing_if_denied(const struct op *op)
{
	struct stat folder, after;

	make_dir("d", 0755);
	arrange(op, "d/x");
	ok(chmod(".", 0777));
	folder = stat_of("d");
	tick();
	be(USER, GROUP);
	fails(EACCES, op->call("d/x"));
	be_root();
	after = stat_of("d");
	eq(0, stamps(&folder, &after));
}

#define FOR(fn, which)                                            \
	{                                                         \
		.name = #fn, .check_op = (fn), .applies = (which) \
	}
#define FOR_NEEDS(fn, which, bits)                                 \
	{                                                          \
		.name = #fn, .check_op = (fn), .applies = (which), \
		.needs = (bits)                                    \
	}

static const struct rule path_rules[] = {
	FOR(works, any),
	FOR(missing, wants_one),
	FOR(missing_folder, any),
	FOR(empty_path, any),
	FOR(folder_is_a_file, any),
	FOR(folder_is_a_symlink, any),
	FOR(folder_is_a_lost_symlink, any),
	FOR(folder_is_a_loop, any),
	FOR(is_a_loop, follows),
	FOR(symlink_at_the_end, follows),
	FOR(lost_symlink_at_the_end, follows),
	FOR(name_of_255, any),
	FOR(name_of_256, any),
	FOR(path_of_4095, any),
	FOR(path_of_4096, any),
	FOR(bad_address, any),
	FOR(slash_at_the_end, any),
	FOR(many_slashes, any),
	FOR(any_byte_is_a_name, any),
	FOR(file_is_there, makes),
	FOR(folder_is_there, makes),
	FOR(fifo_is_there, makes),
	FOR(socket_is_there, makes),
	FOR_NEEDS(device_is_there, makes, DEVICES),
	FOR(symlink_is_there, makes),
	FOR(not_a_folder, wants_dir),
	FOR(no_way_through, any),
	FOR(no_way_though_readable, any),
	FOR_NEEDS(no_way_for_the_group, any, OWNERS),
	FOR_NEEDS(no_way_for_the_owner, any, OWNERS),
	FOR(folder_not_writable, names),
	FOR(folder_writable_by_all, names),
	FOR_NEEDS(folder_writable_by_the_group, names, OWNERS),
	FOR(no_right_to_it, can_be_denied),
	FOR(no_right_is_needed, needs_no_right),
	FOR(read_only, writes_here),
	FOR(marks, any),
	FOR(marks_what_is_new, makes),
	FOR(marks_nothing_if_there, makes),
	FOR(marks_nothing_if_denied, names),
};

const struct rules path_set = { "path", path_rules, ARRAY_LEN(path_rules) };
