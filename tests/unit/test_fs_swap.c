/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_fs_swap.c - names exchanged between two looks at one of them
 *
 * statx() is ours, and does the host's part at the very moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

/* The name that is exchanged with "file" when it is looked at, or NULL. */
static const char *watched;
static bool and_back;
static int shared_fd;

static void exchange(const char *name)
{
	ck_assert_int_eq(syscall(SYS_renameat2, shared_fd, name, shared_fd,
				 "file", RENAME_EXCHANGE),
			 0);
}

/* In place of libc's. */
int statx(int fd, const char *path, int flags, unsigned int mask,
	  struct statx *buf)
{
	const char *swap = watched;
	int r;

	if (!swap || strcmp(path, swap) != 0)
		return (int)syscall(SYS_statx, fd, path, flags, mask, buf);
	watched = NULL;
	exchange(swap);
	r = (int)syscall(SYS_statx, fd, path, flags, mask, buf);
	if (and_back)
		exchange(swap);
	return r;
}

/* Return: the node that a listing gives for @name, 0 if it gives none */
static uint64_t listed(struct fuse_kit *k, const char *name)
{
	struct fk_dirent de;
	uint64_t node = 0;
	size_t at = 0;

	ck_assert_int_eq(fk_opendir(k, ROOT), 0);
	ck_assert_int_eq(fk_readdir(k, ROOT, 0, 4096, true), 0);
	while (fk_dirent(k, &at, true, &de)) {
		if (strcmp(de.name, name) == 0)
			node = de.entry.nodeid;
	}
	ck_assert_int_eq(fk_releasedir(k, ROOT, k->fh), 0);
	return node;
}

static void begin(struct fuse_kit *k)
{
	fk_init(k, NULL);
	fk_host_file(k, "file", "x");
	ck_assert_int_eq(mkfifoat(k->fd, "fifo", 0600), 0);
	shared_fd = k->fd;
	watched = "fifo";
}

START_TEST(name_exchanged_while_it_is_listed_has_no_node)
{
	struct fuse_kit k;

	begin(&k);
	and_back = false;
	ck_assert_uint_eq(listed(&k, "fifo"), 0);
	ck_assert_ptr_null(watched);
	fk_done(&k);
}
END_TEST

START_TEST(fifo_that_was_taken_for_a_file_is_not_opened)
{
	struct fuse_kit k;
	uint64_t node;

	begin(&k);
	and_back = true;
	node = listed(&k, "fifo");
	ck_assert_ptr_null(watched);
	ck_assert_uint_ne(node, 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), -ESTALE);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), -ESTALE);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_swap", name_exchanged_while_it_is_listed_has_no_node,
	   fifo_that_was_taken_for_a_file_is_not_opened)
