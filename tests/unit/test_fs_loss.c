/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_loss.c - nothing is lost by a request that fails */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

static void open_until_refused(struct fuse_kit *k, uint64_t node)
{
	unsigned int n = 0;
	int r = 0;

	while (r == 0 && n++ < FS_FDS_MIN)
		r = fk_open(k, node, O_RDONLY);
	ck_assert_int_eq(r, -ENFILE);
}

START_TEST(open_that_is_refused_truncates_nothing)
{
	struct fs_opts o = fk_usual();
	struct fs_stats before, after;
	struct fuse_kit k;
	uint64_t node;

	o.fds_max = FS_FDS_MIN;
	fk_init(&k, &o);
	fk_host_file(&k, "f", "precious");
	fk_host_file(&k, "g", "");
	node = fk_at(&k, "f");
	open_until_refused(&k, fk_at(&k, "g"));
	fs_server_stats(k.s, &before);

	ck_assert_int_eq(fk_open(&k, node, O_RDWR | O_TRUNC), -ENFILE);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR | O_TRUNC, 0600),
			 -ENFILE);
	ck_assert_str_eq(fk_host_text(&k, "f"), "precious");
	fs_server_stats(k.s, &after);
	ck_assert_uint_eq(after.n_handles, before.n_handles);
	fk_done(&k);
}
END_TEST

/* In a mapped tree it is known to be no file only when it is open. */
START_TEST(open_that_fails_leaves_no_handle)
{
	struct fs_opts o = fk_usual();
	struct fs_stats st;
	struct fuse_kit k;
	uint64_t node;

	o.owner = FS_OWNER_MAPPED;
	fk_init(&k, &o);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "p", S_IFIFO | 0600, 0), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), -EOPNOTSUPP);
	fs_server_stats(k.s, &st);
	ck_assert_uint_eq(st.n_handles, 0);
	fk_done(&k);
}
END_TEST

/**
 * end_of_mem() - Map a file of one page as two, of which the second is not there
 *
 * /proc/self/mem read across that gives what is there, and then EIO: a file
 * with an error in the middle, as a failing disk has it.
 *
 * Return: address of the second
 */
static uint64_t end_of_mem(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("page", MFD_CLOEXEC);
	char *p;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)page), 0);
	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(p, MAP_FAILED);
	(void)close(fd);
	memset(p, 'x', page);
	return (uint64_t)(uintptr_t)(p + page);
}

START_TEST(error_in_the_middle_is_no_end_of_file)
{
	struct fs_opts o = fk_usual();
	uint64_t node, end = end_of_mem();
	struct err e = { 0 };
	struct fuse_kit k;

	fk_scratch(&k);
	o.ro = true;
	o.root_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(o.root_fd, 0);
	ck_assert_int_eq(fs_server_new(&o, &k.s, &e), 0);
	ck_assert_int_eq(fk_start(&k), 0);
	node = fk_at(&k, FS_FILE_NAME);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);

	ck_assert_int_eq(fk_read(&k, node, k.fh, end - 16, 16), 0);
	ck_assert(fk_body_is(&k, "xxxxxxxxxxxxxxxx"));
	ck_assert_int_eq(fk_read(&k, node, k.fh, end - 16, 32), -EIO);
	ck_assert_int_eq(fk_read(&k, node, k.fh, end, 16), -EIO);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_loss", open_that_is_refused_truncates_nothing,
	   open_that_fails_leaves_no_handle,
	   error_in_the_middle_is_no_end_of_file)
