/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_fs_confine.c - no way out of the folder
 *
 * fk_done() looks at what lies beside the folder each time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

/* Turns of the guest against a host that swaps names as fast as it can. */
#define TURNS 2000

START_TEST(names_that_are_no_names_are_refused)
{
	static const char *const bad[] = { "",   ".",  "..",  "/",
					   "/a", "a/", "a/b", "../secret" };
	struct fuse_kit k;
	uint64_t f;

	fk_init(&k, NULL);
	fk_host_dir(&k, "a");
	fk_host_file(&k, "a/b", "");
	fk_host_file(&k, "f", "");
	f = fk_at(&k, "f");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const char *n = bad[i];

		ck_assert_int_eq(fk_lookup(&k, ROOT, n), -EINVAL);
		ck_assert_int_eq(fk_create(&k, ROOT, n, O_RDWR, 0600), -EINVAL);
		ck_assert_int_eq(fk_mkdir(&k, ROOT, n, 0700), -EINVAL);
		ck_assert_int_eq(fk_mknod(&k, ROOT, n, S_IFREG, 0), -EINVAL);
		ck_assert_int_eq(fk_symlink(&k, ROOT, n, "x"), -EINVAL);
		ck_assert_int_eq(fk_link(&k, f, ROOT, n), -EINVAL);
		ck_assert_int_eq(fk_unlink(&k, ROOT, n), -EINVAL);
		ck_assert_int_eq(fk_rmdir(&k, ROOT, n), -EINVAL);
		ck_assert_int_eq(fk_rename(&k, ROOT, n, ROOT, "x", 0), -EINVAL);
		ck_assert_int_eq(fk_rename(&k, ROOT, "f", ROOT, n, 0), -EINVAL);
		ck_assert_int_eq(fk_rename(&k, ROOT, n, ROOT, "x", 1), -EINVAL);
		ck_assert_int_eq(fk_rename(&k, ROOT, "f", ROOT, n, 1), -EINVAL);
	}
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), 0);
	fk_done(&k);
}
END_TEST

START_TEST(names_without_an_end_or_with_more_behind_are_refused)
{
	char name[300];
	struct fuse_kit k;

	fk_init(&k, NULL);
	/* 255 bytes are a name, 256 are none. */
	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	ck_assert_int_eq(fk_mkdir(&k, ROOT, name, 0700), 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, name), 0);
	name[255] = 'n';
	name[256] = '\0';
	ck_assert_int_eq(fk_lookup(&k, ROOT, name), -ENAMETOOLONG);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, name, 0700), -ENAMETOOLONG);
	/* No NUL at all; a NUL inside. */
	ck_assert_int_eq(fk_op(&k, FUSE_LOOKUP, ROOT, "abc", 3, FK_NO_NAMES),
			 -EINVAL);
	ck_assert_int_eq(fk_op(&k, FUSE_LOOKUP, ROOT, "a\0b", 4, FK_NO_NAMES),
			 -EINVAL);
	ck_assert_int_eq(fk_op(&k, FUSE_LOOKUP, ROOT, NULL, 0, FK_NO_NAMES),
			 -EINVAL);
	/* One name where there should be two. */
	ck_assert_int_eq(
		fk_op(&k, FUSE_SYMLINK, ROOT, NULL, 0, FK_NAMES("a", NULL)),
		-EINVAL);
	fk_done(&k);
}
END_TEST

START_TEST(symlinks_of_the_host_are_never_followed)
{
	struct fuse_kit k;
	uint64_t l;

	fk_init(&k, NULL);
	ck_assert_int_eq(symlinkat("..", k.fd, "up"), 0);
	ck_assert_int_eq(symlinkat("../secret", k.fd, "secret"), 0);
	ck_assert_int_eq(symlinkat("/proc/self/root", k.fd, "magic"), 0);
	l = fk_at(&k, "up");
	ck_assert(S_ISLNK(k.entry.attr.mode));
	ck_assert_int_eq(fk_lookup(&k, l, "secret"), -ENOTDIR);
	ck_assert_int_eq(fk_mkdir(&k, l, "x", 0700), -ENOTDIR);
	ck_assert_int_eq(fk_create(&k, l, "x", O_RDWR, 0600), -ENOTDIR);
	ck_assert_int_eq(fk_unlink(&k, l, "secret"), -ENOTDIR);
	ck_assert_int_eq(fk_rename(&k, l, "secret", ROOT, "x", 0), -ENOTDIR);
	ck_assert_int_eq(fk_opendir(&k, l), -ENOTDIR);
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "secret"), O_RDONLY),
			 -EOPNOTSUPP);
	ck_assert_int_eq(fk_lookup(&k, fk_at(&k, "magic"), "etc"), -ENOTDIR);
	fk_done(&k);
}
END_TEST

/* The guest has known it, and its descriptor may be kept: no matter. */
START_TEST(folder_that_the_host_moved_out_is_out_of_reach)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t d, f;
	struct stat st;

	fk_init(&k, NULL);
	fk_host_dir(&k, "d");
	fk_host_file(&k, "d/f", "1");
	d = fk_at(&k, "d");
	f = fk_at(&k, "d/f");
	ck_assert_int_eq(fk_getattr(&k, d, &attr), 0);
	fk_host_move(&k, "d", "../d");

	ck_assert_int_lt(fk_lookup(&k, d, "f"), 0);
	ck_assert_int_lt(fk_create(&k, d, "new", O_RDWR, 0600), 0);
	ck_assert_int_eq(fk_mkdir(&k, d, "new", 0700), -ESTALE);
	ck_assert_int_eq(fk_symlink(&k, d, "new", "x"), -ESTALE);
	ck_assert_int_eq(fk_unlink(&k, d, "f"), -ESTALE);
	ck_assert_int_eq(fk_rename(&k, d, "f", ROOT, "f", 0), -ESTALE);
	ck_assert_int_eq(fk_link(&k, f, d, "new"), -ESTALE);
	ck_assert_int_eq(fk_open(&k, f, O_RDWR), -ESTALE);
	ck_assert_int_eq(fk_opendir(&k, d), -ESTALE);
	ck_assert_int_eq(fk_setxattr(&k, f, "user.a", "1", 1, 0), -ESTALE);
	ck_assert_int_eq(fstatat(k.top_fd, "d/f", &st, 0), 0);
	ck_assert_int_lt(fstatat(k.top_fd, "d/new", &st, 0), 0);
	/* And back: it is what it was. */
	ck_assert_int_eq(renameat(k.top_fd, "d", k.fd, "e"), 0);
	ck_assert_uint_eq(fk_at(&k, "e/f"), f);
	ck_assert_int_eq(fk_open(&k, f, O_RDWR), 0);
	fk_done(&k);
}
END_TEST

START_TEST(file_that_the_host_moved_out_is_not_changed)
{
	const struct fuse_setattr_in mode = { .valid = FATTR_MODE,
					      .mode = 0777 };
	const struct fuse_setattr_in times = { .valid = FATTR_MTIME,
					       .mtime = 1 };
	struct fuse_attr attr;
	struct fuse_kit k;
	struct stat st;
	uint64_t node, fh;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "one");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fchmodat(k.fd, "f", 0600, 0), 0);
	ck_assert_int_eq(renameat(k.fd, "f", k.top_fd, "out"), 0);
	ck_assert_int_eq(fk_setattr(&k, node, &mode, &attr), -ESTALE);
	ck_assert_int_eq(fk_setattr(&k, node, &times, &attr), -ESTALE);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "1", 1, 0), -ESTALE);
	ck_assert_int_eq(fk_link(&k, node, ROOT, "back"), -ESTALE);
	ck_assert_int_eq(fstatat(k.top_fd, "out", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_ne(st.st_mtime, 1);
	ck_assert_uint_eq(st.st_nlink, 1);

	/* What the guest has open goes on, but gets no name from outside. */
	ck_assert_int_eq(renameat(k.top_fd, "out", k.fd, "f"), 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	fh = k.fh;
	ck_assert_int_eq(renameat(k.fd, "f", k.top_fd, "out"), 0);
	ck_assert_int_eq(fk_setattr(&k, node, &mode, &attr), 0);
	ck_assert_int_eq(fk_link(&k, node, ROOT, "back"), -ESTALE);
	ck_assert_int_eq(fk_release(&k, node, fh), 0);
	ck_assert_int_eq(unlinkat(k.top_fd, "out", 0), 0);
	fk_done(&k);
}
END_TEST

START_TEST(mapped_file_that_the_host_moved_out_is_not_changed)
{
	const struct fuse_setattr_in mode = { .valid = FATTR_MODE,
					      .mode = 0777 };
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	o.owner = FS_OWNER_MAPPED;
	fk_init(&k, &o);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "f", S_IFREG | 0600, 0), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "1", 1, 0), 0);
	ck_assert_int_eq(renameat(k.fd, "f", k.top_fd, "out"), 0);
	ck_assert_int_eq(fk_setattr(&k, node, &mode, &attr), -ESTALE);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "2", 1, 0), -ESTALE);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), -ESTALE);
	ck_assert_int_eq(fk_link(&k, node, ROOT, "back"), -ESTALE);
	ck_assert_int_eq(unlinkat(k.top_fd, "out", 0), 0);
	fk_done(&k);
}
END_TEST

START_TEST(name_that_stands_for_another_file_now_is_stale)
{
	struct fuse_kit k;
	uint64_t f, d;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "1");
	fk_host_dir(&k, "d");
	f = fk_at(&k, "f");
	d = fk_at(&k, "d");
	fk_host_file(&k, "g", "22");
	fk_host_move(&k, "g", "f");
	fk_host_move(&k, "d", "e");
	fk_host_dir(&k, "d");

	ck_assert_int_eq(fk_open(&k, f, O_RDONLY), -ESTALE);
	ck_assert_int_eq(fk_open(&k, f, O_RDWR | O_TRUNC), -ESTALE);
	ck_assert_str_eq(fk_host_text(&k, "f"), "22");
	ck_assert_int_eq(fk_mkdir(&k, d, "x", 0700), -ESTALE);
	ck_assert_int_eq(fk_opendir(&k, d), -ESTALE);
	ck_assert_uint_ne(fk_at(&k, "f"), f);
	ck_assert_uint_eq(fk_at(&k, "e"), d);
	ck_assert_int_eq(fk_mkdir(&k, d, "x", 0700), 0);
	fk_done(&k);
}
END_TEST

/* Deleted and made anew, it often gets the same number: it is not the same. */
START_TEST(number_of_an_inode_used_again_is_another_file)
{
	struct fuse_attr attr;
	struct fuse_kit k;

	fk_init(&k, NULL);
	for (int i = 0; i < 50; i++) {
		uint64_t node;

		fk_host_file(&k, "f", "old");
		node = fk_at(&k, "f");
		ck_assert_int_eq(unlinkat(k.fd, "f", 0), 0);
		fk_host_file(&k, "f", "new one");
		ck_assert_int_eq(fk_open(&k, node, O_RDONLY), -ESTALE);
		ck_assert_uint_ne(fk_at(&k, "f"), node);
		/* The old one may be held yet, but is not mixed up. */
		if (fk_getattr(&k, node, &attr) == 0)
			ck_assert_uint_eq(attr.nlink, 0);
		ck_assert_int_eq(unlinkat(k.fd, "f", 0), 0);
	}
	fk_done(&k);
}
END_TEST

struct swapper {
	int fd;
	const char *a;
	const char *b;
	atomic_bool stop;
};

static void *swap(void *arg)
{
	struct swapper *sw = arg;

	while (!atomic_load(&sw->stop))
		bug_on(renameat2(sw->fd, sw->a, sw->fd, sw->b,
				 RENAME_EXCHANGE) < 0);
	return NULL;
}

/* Whatever was opened, it was not this. */
static void expect_not_secret(struct fuse_kit *k, uint64_t node)
{
	if (fk_open(k, node, O_RDONLY) < 0)
		return;
	ck_assert_int_eq(fk_read(k, node, k->fh, 0, 100), 0);
	ck_assert(!fk_body_is(k, FK_SECRET));
	ck_assert_int_eq(fk_release(k, node, k->fh), 0);
}

static void one_turn(struct fuse_kit *k)
{
	uint64_t dir;

	if (fk_lookup(k, ROOT, "d") < 0)
		return;
	dir = k->entry.nodeid;
	if (fk_lookup(k, dir, "secret") == 0) {
		uint64_t node = k->entry.nodeid;

		ck_assert_uint_ne(k->entry.attr.size, strlen(FK_SECRET));
		expect_not_secret(k, node);
		fk_forget(k, node, 1);
	}
	if (fk_create(k, dir, "new", O_RDWR, 0600) == 0) {
		ck_assert_int_eq(fk_release(k, k->entry.nodeid, k->fh), 0);
		fk_forget(k, k->entry.nodeid, 1);
	}
	if (fk_mkdir(k, dir, "newdir", 0700) == 0)
		fk_forget(k, k->entry.nodeid, 1);
	(void)fk_rename(k, dir, "new", dir, "secret2", 0);
	(void)fk_unlink(k, dir, "secret2");
	(void)fk_rmdir(k, dir, "newdir");
	if (fk_opendir(k, dir) == 0) {
		ck_assert_int_eq(fk_readdir(k, dir, 0, 4096, true), 0);
		ck_assert_int_eq(fk_releasedir(k, dir, k->fh), 0);
	}
	fk_forget(k, dir, 1);
}

static unsigned int entries_outside(const struct fuse_kit *k)
{
	int fd = openat(k->top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	unsigned int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

/* "d" is a folder, and a symlink to the one above, in turns. */
START_TEST(symlink_swapped_in_while_the_guest_walks)
{
	struct swapper sw = { .a = "d", .b = "other" };
	unsigned int before;
	struct fuse_kit k;
	pthread_t t;

	fk_init(&k, NULL);
	fk_host_dir(&k, "d");
	fk_host_file(&k, "d/secret", "not it");
	ck_assert_int_eq(symlinkat("..", k.fd, "other"), 0);
	before = entries_outside(&k);
	sw.fd = k.fd;
	ck_assert_int_eq(pthread_create(&t, NULL, swap, &sw), 0);
	for (int i = 0; i < TURNS; i++)
		one_turn(&k);
	atomic_store(&sw.stop, true);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_uint_eq(entries_outside(&k), before);
	fk_done(&k);
}
END_TEST

/* The file itself is a symlink to the secret, in turns. */
START_TEST(symlink_swapped_in_for_a_file)
{
	struct swapper sw = { .a = "f", .b = "l" };
	struct fuse_kit k;
	pthread_t t;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "not it");
	ck_assert_int_eq(symlinkat("../secret", k.fd, "l"), 0);
	sw.fd = k.fd;
	ck_assert_int_eq(pthread_create(&t, NULL, swap, &sw), 0);
	for (int i = 0; i < TURNS; i++) {
		if (fk_lookup(&k, ROOT, "f") < 0)
			continue;
		expect_not_secret(&k, k.entry.nodeid);
		(void)fk_create(&k, ROOT, "f", O_RDWR | O_TRUNC, 0600);
		(void)fk_setxattr(&k, k.entry.nodeid, "user.a", "1", 1, 0);
	}
	atomic_store(&sw.stop, true);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	fk_done(&k);
}
END_TEST

/* A folder that goes out of the tree and comes back, in turns. */
START_TEST(folder_moved_out_while_the_guest_walks)
{
	struct swapper sw = { .a = "d", .b = "../out" };
	struct stat st;
	struct fuse_kit k;
	pthread_t t;

	fk_init(&k, NULL);
	fk_host_dir(&k, "d");
	fk_host_dir(&k, "../out");
	ck_assert_int_eq(linkat(k.top_fd, "secret", k.top_fd, "out/secret", 0),
			 0);
	sw.fd = k.fd;
	ck_assert_int_eq(pthread_create(&t, NULL, swap, &sw), 0);
	/* Either folder is in the tree at times: nothing to say, but sound. */
	for (int i = 0; i < TURNS; i++) {
		uint64_t dir;

		if (fk_lookup(&k, ROOT, "d") < 0)
			continue;
		dir = k.entry.nodeid;
		(void)fk_mkdir(&k, dir, "x", 0700);
		(void)fk_rmdir(&k, dir, "x");
	}
	atomic_store(&sw.stop, true);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_int_eq(fstatat(k.top_fd, "secret", &st, 0), 0);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_confine", names_that_are_no_names_are_refused,
	   names_without_an_end_or_with_more_behind_are_refused,
	   symlinks_of_the_host_are_never_followed,
	   folder_that_the_host_moved_out_is_out_of_reach,
	   file_that_the_host_moved_out_is_not_changed,
	   mapped_file_that_the_host_moved_out_is_not_changed,
	   name_that_stands_for_another_file_now_is_stale,
	   number_of_an_inode_used_again_is_another_file,
	   symlink_swapped_in_while_the_guest_walks,
	   symlink_swapped_in_for_a_file,
	   folder_moved_out_while_the_guest_walks)
