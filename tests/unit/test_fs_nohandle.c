/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_nohandle.c - a file system that has no file handles */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

/* In place of libc's: as overlayfs and 9p answer on kernels before 6.5. */
int name_to_handle_at(int dfd, const char *name, struct file_handle *handle,
		      int *mnt_id, int flags)
{
	(void)dfd;
	(void)name;
	(void)flags;
	handle->handle_bytes = 0;
	*mnt_id = 0;
	errno = EOPNOTSUPP;
	return -1;
}

START_TEST(files_are_known_by_number_and_birth)
{
	struct fuse_kit k;
	uint64_t a, b;

	fk_init(&k, NULL);
	fk_host_dir(&k, "d");
	fk_host_file(&k, "d/a", "1");
	fk_host_file(&k, "d/b", "2");
	a = fk_at(&k, "d/a");
	b = fk_at(&k, "d/b");
	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(fk_at(&k, "d/a"), a);
	ck_assert_int_eq(fk_open(&k, a, O_RDONLY), 0);
	ck_assert_int_eq(fk_link(&k, a, ROOT, "c"), 0);
	ck_assert_uint_eq(k.entry.nodeid, a);
	fk_host_move(&k, "d/b", "d/a");
	fk_host_move(&k, "c", "gone");
	ck_assert_int_eq(fk_open(&k, b, O_RDONLY), -ESTALE);
	ck_assert_uint_eq(fk_at(&k, "d/a"), b);
	ck_assert_int_eq(fk_open(&k, b, O_RDONLY), 0);
	fk_done(&k);
}
END_TEST

START_TEST(unlinked_file_is_kept)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t a;

	fk_init(&k, NULL);
	fk_host_file(&k, "a", "12");
	a = fk_at(&k, "a");
	ck_assert_int_eq(fk_unlink(&k, ROOT, "a"), 0);
	ck_assert_int_eq(fk_getattr(&k, a, &attr), 0);
	ck_assert_uint_eq(attr.size, 2);
	fk_done(&k);
}
END_TEST

/* The number may be used again, but not the time: a tick has gone by. */
START_TEST(number_used_again_is_another_file)
{
	const struct timespec tick = { .tv_nsec = 20000000 };
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "old");
	node = fk_at(&k, "f");
	ck_assert_int_eq(unlinkat(k.fd, "f", 0), 0);
	ck_assert_int_eq(nanosleep(&tick, NULL), 0);
	fk_host_file(&k, "f", "new");
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), -ESTALE);
	ck_assert_uint_ne(fk_at(&k, "f"), node);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_nohandle", files_are_known_by_number_and_birth,
	   unlinked_file_is_kept, number_used_again_is_another_file)
