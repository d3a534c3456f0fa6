/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_loss.c - nothing is lost by a request that fails */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

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

CHECK_MAIN("fs_loss", open_that_is_refused_truncates_nothing,
	   open_that_fails_leaves_no_handle)
