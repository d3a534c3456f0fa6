/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_attr.c - attributes and extended ones, of the host's files */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

static struct stat host_stat(struct fuse_kit *k, const char *path)
{
	struct stat st;

	ck_assert_int_eq(fstatat(k->fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static int set(struct fuse_kit *k, uint64_t node, struct fuse_setattr_in in)
{
	struct fuse_attr attr;

	return fk_setattr(k, node, &in, &attr);
}

START_TEST(getattr_says_what_the_host_says)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	struct stat st;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "12345");
	ck_assert_int_eq(fk_getattr(&k, fk_at(&k, "f"), &attr), 0);
	st = host_stat(&k, "f");

	ck_assert_uint_eq(attr.ino, st.st_ino);
	ck_assert_uint_eq(attr.size, 5);
	ck_assert_uint_eq(attr.blocks, st.st_blocks);
	ck_assert_uint_eq(attr.mtime, st.st_mtim.tv_sec);
	ck_assert_uint_eq(attr.mtimensec, st.st_mtim.tv_nsec);
	ck_assert_uint_eq(attr.mode, st.st_mode);
	ck_assert_uint_eq(attr.blksize, st.st_blksize);
	fk_done(&k);
}
END_TEST

START_TEST(statx_has_the_time_of_birth)
{
	struct fuse_statx_in in = { .sx_mask = STATX_BTIME };
	struct fuse_statx_out out;
	struct fuse_kit k;
	struct statx st;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "12345");
	ck_assert_int_eq(fk_op(&k, FUSE_STATX, fk_at(&k, "f"), &in, sizeof(in),
			       FK_NO_NAMES),
			 0);
	ck_assert_uint_eq(k.len, sizeof(out));
	memcpy(&out, k.body, sizeof(out));
	ck_assert_int_eq(statx(k.fd, "f", 0, STATX_BTIME, &st), 0);

	ck_assert_uint_eq(out.stat.size, 5);
	ck_assert_uint_eq(out.stat.mask & STATX_BASIC_STATS, STATX_BASIC_STATS);
	ck_assert_uint_eq(out.stat.mask & STATX_BTIME,
			  st.stx_mask & STATX_BTIME);
	ck_assert_int_eq(out.stat.btime.tv_sec, st.stx_btime.tv_sec);
	fk_done(&k);
}
END_TEST

/* The host user's files are the guest root's, or whose one says. */
START_TEST(owner_is_the_one_of_the_options)
{
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	o.uid = 1234;
	o.gid = 5678;
	fk_init(&k, &o);
	fk_host_file(&k, "f", "");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.uid, 1234);
	ck_assert_uint_eq(attr.gid, 5678);

	/* To whom it belongs already: fine. To anybody else: no. */
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_UID | FATTR_GID,
					      .uid = 1234,
					      .gid = 5678 }),
		0);
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_UID, .uid = 0 }),
		-EPERM);
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_GID, .gid = 1 }),
		-EPERM);
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_UID | FATTR_MODE,
					      .uid = 1,
					      .mode = 0777 }),
		-EPERM);
	ck_assert_uint_eq(host_stat(&k, "f").st_mode, S_IFREG | 0644);
	fk_done(&k);
}
END_TEST

START_TEST(chown_to_the_same_owner_is_a_change)
{
	struct stat before, st;
	struct fuse_kit k;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	before = host_stat(&k, "f");
	fk_clock_goes_on(&k);
	ck_assert_int_eq(
		set(&k, fk_at(&k, "f"),
		    (struct fuse_setattr_in){ .valid = FATTR_UID, .uid = 0 }),
		0);
	st = host_stat(&k, "f");
	ck_assert(st.st_ctim.tv_sec != before.st_ctim.tv_sec ||
		  st.st_ctim.tv_nsec != before.st_ctim.tv_nsec);
	ck_assert_int_eq(st.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	fk_done(&k);
}
END_TEST

START_TEST(owner_of_others_is_as_on_the_host)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	struct stat st;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	/* Only root can give it away; without it this says less. */
	(void)!fchownat(k.fd, "f", 77, 78, 0);
	st = host_stat(&k, "f");
	ck_assert_int_eq(fk_getattr(&k, fk_at(&k, "f"), &attr), 0);
	ck_assert_uint_eq(attr.uid, st.st_uid == geteuid() ? 0 : st.st_uid);
	ck_assert_uint_eq(attr.gid, st.st_gid == getegid() ? 0 : st.st_gid);
	fk_done(&k);
}
END_TEST

START_TEST(mode_of_files_folders_and_fifos_changes)
{
	static const char *const names[] = { "f", "d", "p" };
	struct fuse_kit k;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	fk_host_dir(&k, "d");
	ck_assert_int_eq(mknodat(k.fd, "p", S_IFIFO | 0600, 0), 0);
	ck_assert_int_eq(symlinkat("f", k.fd, "l"), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		/* The type is not for the guest to change. */
		ck_assert_int_eq(
			set(&k, fk_at(&k, names[i]),
			    (struct fuse_setattr_in){ .valid = FATTR_MODE,
						      .mode = S_IFBLK | 0751 }),
			0);
		ck_assert_uint_eq(host_stat(&k, names[i]).st_mode & 07777,
				  0751);
	}
	ck_assert_int_eq(set(&k, fk_at(&k, "l"),
			     (struct fuse_setattr_in){ .valid = FATTR_MODE,
						       .mode = 0600 }),
			 -EOPNOTSUPP);
	ck_assert_uint_eq(host_stat(&k, "f").st_mode & 07777, 0751);
	fk_done(&k);
}
END_TEST

START_TEST(times_are_set_kept_and_now)
{
	struct fuse_kit k;
	struct stat st;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	ck_assert_int_eq(symlinkat("f", k.fd, "l"), 0);
	node = fk_at(&k, "f");
	ck_assert_int_eq(set(&k, node,
			     (struct fuse_setattr_in){
				     .valid = FATTR_ATIME | FATTR_MTIME,
				     .atime = 1000,
				     .atimensec = 1,
				     .mtime = 2000,
				     .mtimensec = 999999999 }),
			 0);
	st = host_stat(&k, "f");
	ck_assert_int_eq(st.st_atim.tv_sec, 1000);
	ck_assert_int_eq(st.st_mtim.tv_sec, 2000);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 999999999);
	ck_assert_int_eq(set(&k, node,
			     (struct fuse_setattr_in){
				     .valid = FATTR_MTIME | FATTR_MTIME_NOW }),
			 0);
	st = host_stat(&k, "f");
	ck_assert_int_eq(st.st_atim.tv_sec, 1000);
	ck_assert_int_gt(st.st_mtim.tv_sec, 2000);
	/* Of a symlink itself, as of all others. */
	ck_assert_int_eq(set(&k, fk_at(&k, "l"),
			     (struct fuse_setattr_in){ .valid = FATTR_MTIME,
						       .mtime = (uint64_t)-5 }),
			 0);
	ck_assert_int_eq(host_stat(&k, "l").st_mtim.tv_sec, -5);
	ck_assert_int_gt(host_stat(&k, "f").st_mtim.tv_sec, 2000);
	/* Values that mean something else to the host. */
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_MTIME,
					      .mtimensec = UTIME_NOW }),
		-EINVAL);
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_ATIME,
					      .atimensec = 1000000000 }),
		-EINVAL);
	fk_done(&k);
}
END_TEST

START_TEST(size_grows_and_shrinks_with_and_without_a_handle)
{
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "12345");
	fk_host_dir(&k, "d");
	node = fk_at(&k, "f");
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_SIZE, .size = 2 }),
		0);
	ck_assert_str_eq(fk_host_text(&k, "f"), "12");
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_SIZE | FATTR_FH,
					      .fh = k.fh,
					      .size = 4096 }),
		0);
	ck_assert_int_eq(host_stat(&k, "f").st_size, 4096);

	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_SIZE | FATTR_FH,
					      .fh = 99 }),
		-EBADF);
	ck_assert_int_eq(set(&k, node,
			     (struct fuse_setattr_in){ .valid = FATTR_SIZE,
						       .size = UINT64_MAX }),
			 -EINVAL);
	ck_assert_int_eq(set(&k, node,
			     (struct fuse_setattr_in){
				     .valid = FATTR_SIZE,
				     .size = (uint64_t)INT64_MAX + 1 }),
			 -EINVAL);
	ck_assert_int_eq(set(&k, fk_at(&k, "d"),
			     (struct fuse_setattr_in){ .valid = FATTR_SIZE }),
			 -EISDIR);
	ck_assert_int_eq(
		set(&k, node, (struct fuse_setattr_in){ .valid = 1u << 20 }),
		-EINVAL);
	fk_done(&k);
}
END_TEST

START_TEST(setuid_goes_with_chown_and_truncate)
{
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "1");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fchmodat(k.fd, "f", 06755, 0), 0);
	ck_assert_int_eq(
		set(&k, node,
		    (struct fuse_setattr_in){ .valid = FATTR_UID, .uid = 0 }),
		0);
	ck_assert_uint_eq(host_stat(&k, "f").st_mode & 07777, 0755);
	ck_assert_int_eq(fchmodat(k.fd, "f", 06755, 0), 0);
	ck_assert_int_eq(set(&k, node,
			     (struct fuse_setattr_in){
				     .valid = FATTR_SIZE | FATTR_KILL_SUIDGID,
			     }),
			 0);
	ck_assert_uint_eq(host_stat(&k, "f").st_mode & 07777, 0755);
	fk_done(&k);
}
END_TEST

/* On the host it would make others the user who runs hutch. */
START_TEST(setuid_is_not_for_files_of_the_host_user)
{
	static const char *const names[] = { "c", "n", "old", "t" };
	struct fuse_setattr_in in = { .valid = FATTR_MODE, .mode = 07755 };
	struct fuse_attr attr;
	struct fuse_kit k;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "c", O_RDWR, 07755), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFREG | 01755);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "n", S_IFREG | 07755, 0), 0);
	ck_assert_int_eq(fk_tmpfile(&k, ROOT, O_RDWR, 07755), 0);
	ck_assert_int_eq(fk_link(&k, k.entry.nodeid, ROOT, "t"), 0);
	fk_host_file(&k, "old", "");
	ck_assert_int_eq(fk_setattr(&k, fk_at(&k, "old"), &in, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFREG | 01755);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ck_assert_uint_eq(host_stat(&k, names[i]).st_mode,
				  S_IFREG | 01755);
	/* New files in a folder may get its group all the same. */
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 02755), 0);
	in.mode = 03755;
	ck_assert_int_eq(fk_setattr(&k, k.entry.nodeid, &in, &attr), 0);
	ck_assert_uint_eq(host_stat(&k, "d").st_mode, S_IFDIR | 03755);
	fk_done(&k);
}
END_TEST

START_TEST(xattr_of_the_user_is_set_read_listed_and_removed)
{
	struct fuse_getxattr_out out;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "value", 5, 0), 0);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "x", 1, XATTR_CREATE),
			 -EEXIST);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.b", "x", 1, XATTR_REPLACE),
			 -ENODATA);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.b", "", 0, 0), 0);

	ck_assert_int_eq(fk_getxattr(&k, node, "user.a", 0), 0);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_eq(out.size, 5);
	ck_assert_int_eq(fk_getxattr(&k, node, "user.a", 4), -ERANGE);
	ck_assert_int_eq(fk_getxattr(&k, node, "user.a", 5), 0);
	ck_assert(fk_body_is(&k, "value"));
	ck_assert_int_eq(fk_getxattr(&k, node, "user.c", 5), -ENODATA);
	ck_assert_int_eq(fk_listxattr(&k, node, 0), 0);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_eq(out.size, 14);
	ck_assert_int_eq(fk_listxattr(&k, node, 13), -ERANGE);
	ck_assert_int_eq(fk_listxattr(&k, node, 14), 0);
	ck_assert_mem_eq(k.body + 6, "", 1);
	ck_assert_int_eq(fk_removexattr(&k, node, "user.a"), 0);
	ck_assert_int_eq(fk_removexattr(&k, node, "user.a"), -ENODATA);
	ck_assert_int_eq(fk_listxattr(&k, node, 100), 0);
	ck_assert_uint_eq(k.len, 7);
	ck_assert_mem_eq(k.body, "user.b", 7);
	fk_done(&k);
}
END_TEST

/* All others mean something to the host. */
START_TEST(xattr_of_the_host_is_out_of_reach)
{
	static const char *const names[] = {
		"security.capability",
		"security.selinux",
		"trusted.overlay.opaque",
		"system.posix_acl_access",
		"system.posix_acl_default",
		"other.x",
		"user",
		"USER.a",
	};
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	node = fk_at(&k, "f");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		ck_assert_int_eq(fk_setxattr(&k, node, names[i], "x", 1, 0),
				 -EOPNOTSUPP);
		ck_assert_int_eq(fk_getxattr(&k, node, names[i], 9),
				 -EOPNOTSUPP);
		ck_assert_int_eq(fk_removexattr(&k, node, names[i]),
				 -EOPNOTSUPP);
	}
	/* Those that are there are not listed. */
	if (geteuid() == 0) {
		char path[FK_PATH + 16];

		(void)snprintf(path, sizeof(path), "%s/share/f", k.top);
		ck_assert_int_eq(setxattr(path, "trusted.x", "1", 1, 0), 0);
	}
	ck_assert_int_eq(fk_listxattr(&k, node, 100), 0);
	ck_assert_uint_eq(k.len, 0);
	fk_done(&k);
}
END_TEST

START_TEST(xattr_request_that_is_not_sound_is_refused)
{
	char name[300] = "user.";
	struct {
		struct fuse_setxattr_in in;
		char rest[12];
	} m = { { .size = 4 }, "user.a\0" };
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	node = fk_at(&k, "f");
	memset(name + 5, 'n', sizeof(name) - 5);
	name[256] = '\0';
	ck_assert_int_eq(fk_setxattr(&k, node, name, "x", 1, 0), -ERANGE);
	ck_assert_int_eq(fk_setxattr(&k, node, "", "x", 1, 0), -EINVAL);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "x", 1, 4), -EINVAL);
	ck_assert_int_eq(fk_getxattr(&k, 77, "user.a", 4), -ESTALE);
	/* The size is that of what is behind the name. */
	for (uint32_t size = 0; size < 9; size++) {
		m.in.size = size;
		ck_assert_int_eq(fk_op(&k, FUSE_SETXATTR, node, &m,
				       sizeof(m.in) + 7 + 4, FK_NO_NAMES),
				 size == 4 ? 0 : -EINVAL);
	}
	m.in.size = 65537;
	ck_assert_int_eq(fk_op(&k, FUSE_SETXATTR, node, &m,
			       sizeof(m.in) + 7 + 4, FK_NO_NAMES),
			 -E2BIG);
	m.in.size = UINT32_MAX;
	ck_assert_int_eq(fk_op(&k, FUSE_SETXATTR, node, &m,
			       sizeof(m.in) + 7 + 4, FK_NO_NAMES),
			 -E2BIG);
	ck_assert_int_eq(fk_getxattr(&k, node, "user.a", UINT32_MAX), 0);
	ck_assert_uint_eq(k.len, 4);
	fk_done(&k);
}
END_TEST

/* Nothing is opened for it, and nothing waits. */
START_TEST(xattr_of_fifos_and_symlinks_there_is_none)
{
	struct fuse_kit k;

	fk_init(&k, NULL);
	ck_assert_int_eq(mknodat(k.fd, "p", S_IFIFO | 0600, 0), 0);
	ck_assert_int_eq(symlinkat("x", k.fd, "l"), 0);
	ck_assert_int_eq(fk_getxattr(&k, fk_at(&k, "p"), "user.a", 9),
			 -EOPNOTSUPP);
	ck_assert_int_eq(fk_setxattr(&k, fk_at(&k, "l"), "user.a", "1", 1, 0),
			 -EOPNOTSUPP);
	ck_assert_int_eq(fk_listxattr(&k, fk_at(&k, "l"), 100), 0);
	ck_assert_uint_eq(k.len, 0);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_attr", getattr_says_what_the_host_says,
	   statx_has_the_time_of_birth, owner_is_the_one_of_the_options,
	   chown_to_the_same_owner_is_a_change,
	   owner_of_others_is_as_on_the_host,
	   mode_of_files_folders_and_fifos_changes, times_are_set_kept_and_now,
	   size_grows_and_shrinks_with_and_without_a_handle,
	   setuid_goes_with_chown_and_truncate,
	   setuid_is_not_for_files_of_the_host_user,
	   xattr_of_the_user_is_set_read_listed_and_removed,
	   xattr_of_the_host_is_out_of_reach,
	   xattr_request_that_is_not_sound_is_refused,
	   xattr_of_fifos_and_symlinks_there_is_none)
