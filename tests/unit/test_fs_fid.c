/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_fid.c - handles that are numbers, which are not unique */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

/* AT_HANDLE_FID, which libc's header may not have. */
#define FID 0x200

/* In place of libc's: an overlay where each number was given out twice. */
int name_to_handle_at(int dfd, const char *name, struct file_handle *handle,
		      int *mnt_id, int flags)
{
	struct statx st;
	uint64_t number;

	if (!(flags & FID)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (statx(dfd, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
		  STATX_INO | STATX_MNT_ID, &st) < 0)
		return -1;
	number = st.stx_ino / 1000000;
	handle->handle_type = 0x81;
	handle->handle_bytes = 12;
	memset(handle->f_handle, 0, 12);
	memcpy(handle->f_handle, &number, sizeof(number));
	*mnt_id = (int)st.stx_mnt_id;
	return 0;
}

START_TEST(files_of_one_number_are_told_apart)
{
	struct fuse_kit k;
	uint64_t d, f, g;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	d = k.entry.nodeid;
	ck_assert_int_eq(fk_create(&k, d, "f", O_RDWR, 0600), 0);
	f = k.entry.nodeid;
	ck_assert_int_eq(fk_write(&k, f, k.fh, 0, "f", 1), 1);
	ck_assert_int_eq(fk_create(&k, d, "g", O_RDWR, 0600), 0);
	g = k.entry.nodeid;
	ck_assert(f != g && f != d && g != ROOT);
	ck_assert_int_eq(fk_read(&k, g, k.fh, 0, 9), 0);
	ck_assert_uint_eq(k.len, 0);
	ck_assert_uint_eq(fk_at(&k, "d/f"), f);
	ck_assert_int_eq(fk_link(&k, f, ROOT, "h"), 0);
	ck_assert_uint_eq(k.entry.nodeid, f);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_fid", files_of_one_number_are_told_apart)
