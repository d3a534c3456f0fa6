/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_names.c - names made, taken away and moved */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT  FUSE_ROOT_ID
#define OTHER 12345

static struct stat host_stat(struct fuse_kit *k, const char *path)
{
	struct stat st;

	ck_assert_msg(fstatat(k->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0,
		      "%s: %s", path, strerror(errno));
	return st;
}

static bool host_has(struct fuse_kit *k, const char *path)
{
	struct stat st;

	return fstatat(k->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

START_TEST(lookup_finds_each_kind_and_enoent)
{
	struct fuse_kit k;

	fk_init(&k, NULL);
	fk_host_file(&k, "file", "12345");
	fk_host_dir(&k, "dir");
	ck_assert_int_eq(symlinkat("/etc/passwd", k.fd, "link"), 0);
	ck_assert_int_eq(mknodat(k.fd, "fifo", S_IFIFO | 0640, 0), 0);

	ck_assert_int_eq(fk_lookup(&k, ROOT, "file"), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFREG | 0644);
	ck_assert_uint_eq(k.entry.attr.size, 5);
	ck_assert_uint_eq(k.entry.attr.nlink, 1);
	ck_assert_uint_eq(k.entry.entry_valid, 1);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "dir"), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFDIR | 0755);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "link"), 0);
	ck_assert(S_ISLNK(k.entry.attr.mode));
	ck_assert_int_eq(fk_lookup(&k, ROOT, "fifo"), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFIFO | 0640);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "none"), -ENOENT);
	ck_assert_int_eq(fk_lookup(&k, fk_at(&k, "file"), "x"), -ENOTDIR);
	fk_done(&k);
}
END_TEST

START_TEST(cache_says_how_long_names_are_good)
{
	static const struct {
		enum fs_cache cache;
		uint64_t valid;
		int none;
	} tries[] = {
		{ FS_CACHE_AUTO, 1, -ENOENT },
		{ FS_CACHE_NEVER, 0, -ENOENT },
		{ FS_CACHE_ALWAYS, INT32_MAX, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		struct fs_opts o = fk_usual();
		struct fuse_kit k;

		o.cache = tries[i].cache;
		fk_init(&k, &o);
		fk_host_file(&k, "a", "");
		ck_assert_int_eq(fk_lookup(&k, ROOT, "a"), 0);
		ck_assert_uint_eq(k.entry.entry_valid, tries[i].valid);
		ck_assert_uint_eq(k.entry.attr_valid, tries[i].valid);
		ck_assert_int_eq(fk_lookup(&k, ROOT, "b"), tries[i].none);
		if (tries[i].none == 0)
			ck_assert_uint_eq(k.entry.nodeid, 0);
		fk_done(&k);
	}
}
END_TEST

START_TEST(mkdir_makes_a_folder_with_its_mode)
{
	struct fuse_kit k;
	uint64_t dir;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 01751), 0);
	dir = k.entry.nodeid;

	ck_assert_uint_eq(k.entry.attr.mode, S_IFDIR | 01751);
	ck_assert_uint_eq(host_stat(&k, "d").st_mode, S_IFDIR | 01751);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0755), -EEXIST);
	ck_assert_int_eq(fk_mkdir(&k, dir, "e", 0755), 0);
	ck_assert(host_has(&k, "d/e"));
	ck_assert_int_eq(fk_rmdir(&k, ROOT, "d"), -ENOTEMPTY);
	ck_assert_int_eq(fk_rmdir(&k, dir, "e"), 0);
	ck_assert_int_eq(fk_rmdir(&k, ROOT, "d"), 0);
	ck_assert(!host_has(&k, "d"));
	ck_assert_int_eq(fk_rmdir(&k, ROOT, "d"), -ENOENT);
	fk_done(&k);
}
END_TEST

/* A device is a way into the host's kernel, whoever may make one. */
START_TEST(mknod_makes_files_fifos_sockets_and_whiteouts_alone)
{
	struct fuse_kit k;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "r", S_IFREG | 0640, 0), 0);
	ck_assert_uint_eq(host_stat(&k, "r").st_mode, S_IFREG | 0640);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "f", S_IFIFO | 0600, 0), 0);
	ck_assert(S_ISFIFO(host_stat(&k, "f").st_mode));
	ck_assert_int_eq(fk_mknod(&k, ROOT, "s", S_IFSOCK | 0600, 0), 0);
	ck_assert(S_ISSOCK(host_stat(&k, "s").st_mode));
	ck_assert_int_eq(fk_mknod(&k, ROOT, "w", S_IFCHR, 0), 0);
	ck_assert(S_ISCHR(host_stat(&k, "w").st_mode));
	ck_assert_uint_eq(host_stat(&k, "w").st_rdev, 0);

	ck_assert_int_eq(fk_mknod(&k, ROOT, "c", S_IFCHR | 0666, 0x103),
			 -EPERM);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "b", S_IFBLK | 0666, 0), -EPERM);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "n", 0644, 0), -EPERM);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "d", S_IFDIR | 0755, 0), -EINVAL);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "l", S_IFLNK | 0777, 0), -EINVAL);
	ck_assert(!host_has(&k, "c") && !host_has(&k, "b"));
	fk_done(&k);
}
END_TEST

START_TEST(symlink_keeps_any_target_and_is_read_back)
{
	static const char *const targets[] = { "a", "/etc/passwd", "../../x",
					       "", "with \xff byte" };
	struct fuse_kit k;

	fk_init(&k, NULL);
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		int want = *targets[i] ? 0 : -EINVAL;

		ck_assert_int_eq(fk_symlink(&k, ROOT, "l", targets[i]), want);
		if (want)
			continue;
		ck_assert_int_eq(fk_op(&k, FUSE_READLINK, k.entry.nodeid, NULL,
				       0, FK_NO_NAMES),
				 0);
		ck_assert(fk_body_is(&k, targets[i]));
		ck_assert_int_eq(fk_unlink(&k, ROOT, "l"), 0);
	}
	fk_host_file(&k, "f", "");
	ck_assert_int_eq(
		fk_op(&k, FUSE_READLINK, fk_at(&k, "f"), NULL, 0, FK_NO_NAMES),
		-EINVAL);
	fk_done(&k);
}
END_TEST

START_TEST(symlink_target_of_a_path_and_longer)
{
	char target[PATH_MAX + 1];
	struct fuse_kit k;

	fk_init(&k, NULL);
	memset(target, 't', sizeof(target));
	target[PATH_MAX - 1] = '\0';
	ck_assert_int_eq(fk_symlink(&k, ROOT, "l", target), 0);
	ck_assert_int_eq(
		fk_op(&k, FUSE_READLINK, k.entry.nodeid, NULL, 0, FK_NO_NAMES),
		0);
	ck_assert(fk_body_is(&k, target));
	target[PATH_MAX - 1] = 't';
	target[PATH_MAX] = '\0';
	ck_assert_int_eq(fk_symlink(&k, ROOT, "m", target), -ENAMETOOLONG);
	fk_done(&k);
}
END_TEST

START_TEST(link_is_the_same_inode_and_outlives_the_first_name)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node, dir;

	fk_init(&k, NULL);
	fk_host_file(&k, "a", "12");
	node = fk_at(&k, "a");
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0755), 0);
	dir = k.entry.nodeid;

	ck_assert_int_eq(fk_link(&k, node, dir, "b"), 0);

	ck_assert_uint_eq(k.entry.nodeid, node);
	ck_assert_uint_eq(k.entry.attr.nlink, 2);
	ck_assert_int_eq(fk_link(&k, node, dir, "b"), -EEXIST);
	ck_assert_int_eq(fk_link(&k, dir, ROOT, "e"), -EPERM);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "a"), 0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.nlink, 1);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	fk_done(&k);
}
END_TEST

/* Either name may go: the one that is left is found. */
START_TEST(link_name_removed_by_the_host_falls_back_to_another)
{
	static const char *const gone[] = { "a", "b" };

	for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
		struct fs_opts o = fk_usual();
		struct fuse_kit k;
		uint64_t node;

		fk_init(&k, &o);
		fk_host_file(&k, "a", "12");
		ck_assert_int_eq(linkat(k.fd, "a", k.fd, "b", 0), 0);
		node = fk_at(&k, "a");
		ck_assert_uint_eq(fk_at(&k, "b"), node);
		ck_assert_int_eq(unlinkat(k.fd, gone[i], 0), 0);
		/* OPEN walks, whatever descriptor is kept. */
		ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
		fk_done(&k);
	}
}
END_TEST

START_TEST(unlink_removes_files_and_links_not_folders)
{
	struct fuse_kit k;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	fk_host_dir(&k, "d");
	ck_assert_int_eq(symlinkat("../secret", k.fd, "l"), 0);

	ck_assert_int_eq(fk_unlink(&k, ROOT, "d"), -EISDIR);
	ck_assert_int_eq(fk_rmdir(&k, ROOT, "f"), -ENOTDIR);
	ck_assert_int_eq(fk_rmdir(&k, ROOT, "l"), -ENOTDIR);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "l"), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), -ENOENT);
	fk_done(&k);
}
END_TEST

/* Looked up, not open: the guest may have it as its working folder. */
START_TEST(unlinked_inode_can_be_used_until_it_is_forgotten)
{
	struct fuse_setattr_in set = { .valid = FATTR_MODE, .mode = 0600 };
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node, dir;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "123");
	fk_host_dir(&k, "d");
	node = fk_at(&k, "f");
	dir = fk_at(&k, "d");

	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	ck_assert_int_eq(fk_rmdir(&k, ROOT, "d"), 0);

	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.nlink, 0);
	ck_assert_uint_eq(attr.size, 3);
	ck_assert_int_eq(fk_setattr(&k, node, &set, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFREG | 0600);
	ck_assert_int_eq(fk_getattr(&k, dir, &attr), 0);
	ck_assert_int_eq(fk_lookup(&k, dir, "x"), -ESTALE);
	fk_forget(&k, node, 1);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), -ESTALE);
	fk_done(&k);
}
END_TEST

START_TEST(unlinked_file_that_is_open_goes_on)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node, fh, again;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "123");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	fh = k.fh;

	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);

	ck_assert_int_eq(fk_link(&k, node, ROOT, "again"), -ENOENT);
	ck_assert_int_eq(fk_write(&k, node, fh, 3, "45", 2), 2);
	ck_assert_int_eq(fk_read(&k, node, fh, 0, 10), 0);
	ck_assert(fk_body_is(&k, "12345"));
	/* As by /proc/self/fd in the guest. */
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	again = k.fh;
	ck_assert_int_eq(fk_release(&k, node, fh), 0);
	ck_assert_int_eq(fk_read(&k, node, again, 1, 2), 0);
	ck_assert(fk_body_is(&k, "23"));
	ck_assert_int_eq(fk_release(&k, node, again), 0);
	/* Closed, and known still. */
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.size, 5);
	fk_done(&k);
}
END_TEST

START_TEST(rename_moves_what_is_below_too)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t a, b, file;

	fk_init(&k, NULL);
	fk_host_dir(&k, "a");
	fk_host_dir(&k, "b");
	fk_host_dir(&k, "a/sub");
	fk_host_file(&k, "a/sub/f", "1");
	a = fk_at(&k, "a");
	b = fk_at(&k, "b");
	file = fk_at(&k, "a/sub/f");

	ck_assert_int_eq(fk_rename(&k, a, "sub", b, "moved", 0), 0);

	ck_assert(host_has(&k, "b/moved/f"));
	ck_assert_int_eq(fk_open(&k, file, O_RDONLY), 0);
	ck_assert_int_eq(fk_getattr(&k, file, &attr), 0);
	ck_assert_uint_eq(fk_at(&k, "b/moved/f"), file);
	ck_assert_int_eq(fk_rename(&k, a, "none", b, "x", 0), -ENOENT);
	/* Into itself. */
	ck_assert_int_eq(fk_rename(&k, ROOT, "b", fk_at(&k, "b/moved"), "b", 0),
			 -EINVAL);
	fk_done(&k);
}
END_TEST

START_TEST(rename_over_a_file_keeps_the_old_one_usable)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t old, new;

	fk_init(&k, NULL);
	fk_host_file(&k, "old", "1");
	fk_host_file(&k, "new", "22");
	old = fk_at(&k, "old");
	new = fk_at(&k, "new");

	ck_assert_int_eq(fk_rename(&k, ROOT, "new", ROOT, "old", 0), 0);

	ck_assert_int_eq(fk_getattr(&k, old, &attr), 0);
	ck_assert_uint_eq(attr.size, 1);
	ck_assert_uint_eq(attr.nlink, 0);
	ck_assert_int_eq(fk_open(&k, new, O_RDONLY), 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "old"), 0);
	ck_assert_uint_eq(k.entry.nodeid, new);
	fk_done(&k);
}
END_TEST

START_TEST(rename_flags_do_what_they_say)
{
	struct fuse_kit k;
	uint64_t a, b;

	fk_init(&k, NULL);
	fk_host_file(&k, "a", "1");
	fk_host_file(&k, "b", "22");
	a = fk_at(&k, "a");
	b = fk_at(&k, "b");
	ck_assert_int_eq(fk_rename(&k, ROOT, "a", ROOT, "b", RENAME_NOREPLACE),
			 -EEXIST);
	ck_assert_int_eq(fk_rename(&k, ROOT, "a", ROOT, "b", RENAME_EXCHANGE),
			 0);
	ck_assert_str_eq(fk_host_text(&k, "a"), "22");
	ck_assert_int_eq(fk_open(&k, a, O_RDONLY), 0);
	ck_assert_int_eq(fk_open(&k, b, O_RDONLY), 0);
	ck_assert_uint_eq(fk_at(&k, "a"), b);
	ck_assert_uint_eq(fk_at(&k, "b"), a);

	ck_assert_int_eq(fk_rename(&k, ROOT, "a", ROOT, "c", RENAME_WHITEOUT),
			 0);
	ck_assert(S_ISCHR(host_stat(&k, "a").st_mode));
	ck_assert_uint_eq(fk_at(&k, "c"), b);
	ck_assert_int_eq(fk_rename(&k, ROOT, "b", ROOT, "d", 8), -EINVAL);
	ck_assert_int_eq(fk_rename(&k, ROOT, "b", ROOT, "d", UINT32_MAX),
			 -EINVAL);
	fk_done(&k);
}
END_TEST

/* POSIX: two names of one file, and nothing happens. */
START_TEST(rename_to_another_name_of_the_same_file_changes_nothing)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "a", "1");
	node = fk_at(&k, "a");
	ck_assert_int_eq(fk_link(&k, node, ROOT, "b"), 0);

	ck_assert_int_eq(fk_rename(&k, ROOT, "a", ROOT, "b", 0), 0);

	ck_assert(host_has(&k, "a") && host_has(&k, "b"));
	ck_assert_int_eq(fk_unlink(&k, ROOT, "b"), 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.nlink, 1);
	fk_done(&k);
}
END_TEST

START_TEST(read_only_share_changes_nothing)
{
	struct fuse_setattr_in set = { .valid = FATTR_MODE, .mode = 0600 };
	struct fs_opts o = fk_usual();
	struct stat before, after;
	struct fuse_kit k;
	uint64_t f;

	o.ro = true;
	fk_init(&k, &o);
	fk_host_file(&k, "f", "123");
	fk_host_dir(&k, "d");
	before = host_stat(&k, "f");
	f = fk_at(&k, "f");

	ck_assert_int_eq(fk_mkdir(&k, ROOT, "x", 0755), -EROFS);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "x", S_IFREG, 0), -EROFS);
	ck_assert_int_eq(fk_symlink(&k, ROOT, "x", "y"), -EROFS);
	ck_assert_int_eq(fk_link(&k, f, ROOT, "x"), -EROFS);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), -EROFS);
	ck_assert_int_eq(fk_rmdir(&k, ROOT, "d"), -EROFS);
	ck_assert_int_eq(fk_rename(&k, ROOT, "f", ROOT, "x", 0), -EROFS);
	ck_assert_int_eq(fk_rename(&k, ROOT, "f", ROOT, "x", 1), -EROFS);
	ck_assert_int_eq(fk_create(&k, ROOT, "x", O_RDWR, 0644), -EROFS);
	ck_assert_int_eq(fk_tmpfile(&k, ROOT, O_RDWR, 0644), -EROFS);
	ck_assert_int_eq(fk_setattr(&k, f, &set, NULL), -EROFS);
	ck_assert_int_eq(fk_setxattr(&k, f, "user.a", "1", 1, 0), -EROFS);
	ck_assert_int_eq(fk_removexattr(&k, f, "user.a"), -EROFS);
	ck_assert_int_eq(fk_open(&k, f, O_WRONLY), -EROFS);
	ck_assert_int_eq(fk_open(&k, f, O_RDWR), -EROFS);
	ck_assert_int_eq(fk_open(&k, f, O_RDONLY | O_TRUNC), -EROFS);
	ck_assert_int_eq(fk_open(&k, f, O_RDONLY), 0);
	ck_assert_int_eq(fk_write(&k, f, k.fh, 0, "x", 1), -EROFS);
	ck_assert_int_eq(fk_read(&k, f, k.fh, 0, 10), 0);
	ck_assert(fk_body_is(&k, "123"));

	after = host_stat(&k, "f");
	ck_assert_mem_eq(&before, &after, sizeof(before));
	fk_done(&k);
}
END_TEST

/* Of which the host lets only their owner read without a trace. */
START_TEST(readonly_share_has_files_of_others)
{
	struct fs_opts o = fk_usual();
	struct fuse_kit k;
	uint64_t f;

	o.ro = true;
	fk_init(&k, &o);
	fk_host_file(&k, "f", "123");
	f = fk_at(&k, "f");
	(void)setfsuid(OTHER);

	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_int_eq(fk_open(&k, f, O_RDONLY), 0);
	ck_assert_int_eq(fk_read(&k, f, k.fh, 0, 10), 0);
	ck_assert(fk_body_is(&k, "123"));

	(void)setfsuid(geteuid());
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_names", lookup_finds_each_kind_and_enoent,
	   cache_says_how_long_names_are_good,
	   mkdir_makes_a_folder_with_its_mode,
	   mknod_makes_files_fifos_sockets_and_whiteouts_alone,
	   symlink_keeps_any_target_and_is_read_back,
	   symlink_target_of_a_path_and_longer,
	   link_is_the_same_inode_and_outlives_the_first_name,
	   link_name_removed_by_the_host_falls_back_to_another,
	   unlink_removes_files_and_links_not_folders,
	   unlinked_inode_can_be_used_until_it_is_forgotten,
	   unlinked_file_that_is_open_goes_on, rename_moves_what_is_below_too,
	   rename_over_a_file_keeps_the_old_one_usable,
	   rename_flags_do_what_they_say,
	   rename_to_another_name_of_the_same_file_changes_nothing,
	   read_only_share_changes_nothing, readonly_share_has_files_of_others)
