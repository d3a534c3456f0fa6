/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_file.c - what is in files, and how it gets there */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID
#define MIB  (1u << 20)

static mode_t host_mode(struct fuse_kit *k, const char *path)
{
	struct stat st;

	ck_assert_int_eq(fstatat(k->fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode;
}

START_TEST(create_writes_and_reads_back)
{
	struct fuse_kit k;
	uint64_t node, fh;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0640), 0);
	node = k.entry.nodeid;
	fh = k.fh;

	ck_assert_uint_eq(k.entry.attr.mode, S_IFREG | 0640);
	ck_assert_int_eq(fk_write(&k, node, fh, 0, "hello", 5), 5);
	ck_assert_int_eq(fk_write(&k, node, fh, 5, " you", 4), 4);
	ck_assert_str_eq(fk_host_text(&k, "f"), "hello you");
	ck_assert_int_eq(fk_read(&k, node, fh, 6, 100), 0);
	ck_assert(fk_body_is(&k, "you"));
	ck_assert_int_eq(fk_read(&k, node, fh, 9, 100), 0);
	ck_assert_uint_eq(k.len, 0);
	ck_assert_int_eq(fk_write(&k, node, fh, 0, "", 0), 0);
	ck_assert_int_eq(fk_release(&k, node, fh), 0);
	ck_assert_int_eq(fk_release(&k, node, fh), -EBADF);
	ck_assert_int_eq(fk_read(&k, node, fh, 0, 1), -EBADF);
	fk_done(&k);
}
END_TEST

START_TEST(create_of_what_is_there)
{
	struct fuse_kit k;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "12345");
	fk_host_dir(&k, "d");
	ck_assert_int_eq(symlinkat("../secret", k.fd, "l"), 0);
	ck_assert_int_eq(mknodat(k.fd, "p", S_IFIFO | 0600, 0), 0);

	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR | O_EXCL, 0600),
			 -EEXIST);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDONLY, 0600), 0);
	ck_assert_int_eq(fk_read(&k, k.entry.nodeid, k.fh, 0, 9), 0);
	ck_assert(fk_body_is(&k, "12345"));
	ck_assert_uint_eq(host_mode(&k, "f"), S_IFREG | 0644);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR | O_TRUNC, 0600), 0);
	ck_assert_str_eq(fk_host_text(&k, "f"), "");
	ck_assert_int_eq(fk_create(&k, ROOT, "d", O_RDWR, 0600), -EISDIR);
	/* Neither followed nor opened: that is for the guest's kernel to do. */
	ck_assert_int_eq(fk_create(&k, ROOT, "l", O_RDWR | O_TRUNC, 0600),
			 -ESTALE);
	ck_assert_int_eq(fk_create(&k, ROOT, "p", O_RDWR, 0600), -ESTALE);
	fk_done(&k);
}
END_TEST

START_TEST(open_of_other_kinds_is_refused)
{
	struct fuse_kit k;

	fk_init(&k, NULL);
	fk_host_dir(&k, "d");
	fk_host_file(&k, "f", "");
	ck_assert_int_eq(symlinkat("f", k.fd, "l"), 0);
	ck_assert_int_eq(mknodat(k.fd, "p", S_IFIFO | 0600, 0), 0);
	ck_assert_int_eq(mknodat(k.fd, "s", S_IFSOCK | 0600, 0), 0);

	ck_assert_int_eq(fk_open(&k, fk_at(&k, "d"), O_RDONLY), -EISDIR);
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "l"), O_RDONLY), -EOPNOTSUPP);
	/* Would wait for a writer, which there may never be. */
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "p"), O_RDONLY), -EOPNOTSUPP);
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "p"), O_WRONLY), -EOPNOTSUPP);
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "s"), O_RDWR), -EOPNOTSUPP);
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "f"), O_ACCMODE), -EINVAL);
	ck_assert_int_eq(fk_opendir(&k, fk_at(&k, "f")), -ENOTDIR);
	ck_assert_int_eq(fk_opendir(&k, fk_at(&k, "p")), -ENOTDIR);
	fk_done(&k);
}
END_TEST

/* A device that the host has in the folder is seen, and not opened. */
START_TEST(open_of_a_device_is_refused)
{
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	if (mknodat(k.fd, "null", S_IFCHR | 0666, 0x103) < 0) {
		/* An ordinary user can make one alone, which leads nowhere. */
		ck_assert_int_eq(errno, EPERM);
		ck_assert_int_eq(mknodat(k.fd, "null", S_IFCHR | 0666, 0), 0);
	}
	node = fk_at(&k, "null");
	ck_assert(S_ISCHR(k.entry.attr.mode));
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), -EOPNOTSUPP);
	fk_done(&k);
}
END_TEST

START_TEST(open_flags_follow_the_cache)
{
	static const struct {
		enum fs_cache cache;
		uint32_t first;
		uint32_t again;
		uint32_t changed;
	} tries[] = {
		{ FS_CACHE_AUTO, 0, FOPEN_KEEP_CACHE, 0 },
		{ FS_CACHE_ALWAYS, FOPEN_KEEP_CACHE, FOPEN_KEEP_CACHE,
		  FOPEN_KEEP_CACHE },
		{ FS_CACHE_NEVER, FOPEN_DIRECT_IO, FOPEN_DIRECT_IO,
		  FOPEN_DIRECT_IO },
	};
	const uint32_t mask = FOPEN_KEEP_CACHE | FOPEN_DIRECT_IO;

	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		struct fs_opts o = fk_usual();
		struct fuse_kit k;
		uint64_t node;

		o.cache = tries[i].cache;
		fk_init(&k, &o);
		fk_host_file(&k, "f", "1");
		node = fk_at(&k, "f");
		ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
		ck_assert_uint_eq(k.open_flags & mask, tries[i].first);
		ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
		ck_assert_uint_eq(k.open_flags & mask, tries[i].again);
		/* Longer: a change in one tick of the clock counts too. */
		fk_host_file(&k, "f", "12");
		ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
		ck_assert_uint_eq(k.open_flags & mask, tries[i].changed);
		fk_done(&k);
	}
}
END_TEST

/* Write @text over the start of a file, and set its time back. */
static void rewrite_keeping_time(struct fuse_kit *k, const char *path,
				 const char *text)
{
	auto_fd int fd = openat(k->fd, path, O_WRONLY | O_CLOEXEC);
	struct timespec times[2];
	struct stat before, after;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &before), 0);
	times[0] = before.st_atim;
	times[1] = before.st_mtim;
	do { /* until the clock of the file system has gone on */
		ck_assert_int_eq(pwrite(fd, text, strlen(text), 0),
				 (ssize_t)strlen(text));
		ck_assert_int_eq(futimens(fd, times), 0);
		ck_assert_int_eq(fstat(fd, &after), 0);
	} while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		 after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

START_TEST(pages_are_not_kept_if_the_time_was_set_back)
{
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "old");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	rewrite_keeping_time(&k, "f", "new");
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	ck_assert_uint_eq(k.open_flags & FOPEN_KEEP_CACHE, 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	ck_assert_uint_eq(k.open_flags & FOPEN_KEEP_CACHE, FOPEN_KEEP_CACHE);
	fk_done(&k);
}
END_TEST

START_TEST(truncate_at_open)
{
	static const uint32_t how[] = { O_RDONLY, O_WRONLY, O_RDWR };

	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		struct fuse_kit k;

		fk_init(&k, NULL);
		fk_host_file(&k, "f", "12345");
		ck_assert_int_eq(fk_open(&k, fk_at(&k, "f"), how[i] | O_TRUNC),
				 0);
		ck_assert_str_eq(fk_host_text(&k, "f"), "");
		fk_done(&k);
	}
}
END_TEST

START_TEST(handle_is_good_for_what_it_was_opened_for)
{
	struct fuse_kit k;
	uint64_t node, other, rd, wr;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "1");
	fk_host_file(&k, "g", "1");
	node = fk_at(&k, "f");
	other = fk_at(&k, "g");
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	rd = k.fh;
	ck_assert_int_eq(fk_open(&k, node, O_WRONLY), 0);
	wr = k.fh;

	ck_assert_int_eq(fk_write(&k, node, rd, 0, "x", 1), -EBADF);
	ck_assert_int_eq(fk_read(&k, node, wr, 0, 1), -EBADF);
	/* Of another file, or of none. */
	ck_assert_int_eq(fk_read(&k, other, rd, 0, 1), -EBADF);
	ck_assert_int_eq(fk_write(&k, other, wr, 0, "x", 1), -EBADF);
	ck_assert_int_eq(fk_read(&k, node, 0, 0, 1), -EBADF);
	ck_assert_int_eq(fk_read(&k, node, UINT64_MAX, 0, 1), -EBADF);
	ck_assert_int_eq(fk_read(&k, node, rd + (1ull << 32), 0, 1), -EBADF);
	ck_assert_int_eq(fk_release(&k, other, rd), -EBADF);
	ck_assert_int_eq(fk_releasedir(&k, node, rd), -EBADF);
	ck_assert_int_eq(fk_read(&k, node, rd, 0, 1), 0);
	fk_done(&k);
}
END_TEST

/* To the end of the file, wherever the guest thinks that is. */
START_TEST(append_goes_to_the_end_and_pages_to_their_place)
{
	struct fuse_write_in in = { .size = 1, .flags = O_APPEND | O_RDWR };
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "123");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_open(&k, node, O_RDWR | O_APPEND), 0);
	in.fh = k.fh;

	ck_assert_int_eq(fk_write_as(&k, &in, node, "4"), 1);
	ck_assert_str_eq(fk_host_text(&k, "f"), "1234");
	/* A page of a mapping, by whatever handle there is. */
	in.write_flags = FUSE_WRITE_CACHE;
	ck_assert_int_eq(fk_write_as(&k, &in, node, "0"), 1);
	ck_assert_str_eq(fk_host_text(&k, "f"), "0234");
	fk_done(&k);
}
END_TEST

START_TEST(largest_request_passes_and_larger_is_refused)
{
	uint8_t *data = malloc(MIB + 1);
	struct fuse_kit k;
	uint64_t node;

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < MIB + 1; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	/* In more pieces than go to the kernel at once. */
	k.piece = MIB / 700;
	k.room = MIB;
	ck_assert_int_eq(fk_write(&k, node, k.fh, 0, data, MIB), MIB);
	ck_assert_int_eq(fk_read(&k, node, k.fh, 0, MIB), 0);
	ck_assert_uint_eq(k.len, MIB);
	ck_assert_mem_eq(k.body, data, MIB);

	k.room = MIB + 1;
	ck_assert_int_eq(fk_write(&k, node, k.fh, 0, data, MIB + 1), -EINVAL);
	ck_assert_int_eq(fk_read(&k, node, k.fh, 0, MIB + 1), -EINVAL);
	/* More than the guest left room for. */
	k.room = 100;
	ck_assert_int_eq(fk_read(&k, node, k.fh, 0, 101), -EINVAL);
	ck_assert_int_eq(fk_read(&k, node, k.fh, 0, 100), 0);
	fk_done(&k);
	free(data);
}
END_TEST

START_TEST(offset_beyond_what_files_have_is_refused)
{
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;

	ck_assert_int_eq(fk_read(&k, node, k.fh, UINT64_MAX, 1), -EINVAL);
	ck_assert_int_eq(fk_read(&k, node, k.fh, INT64_MAX, 1), -EINVAL);
	ck_assert_int_eq(fk_read(&k, node, k.fh, INT64_MAX - 4096, 1), 0);
	ck_assert_int_eq(fk_write(&k, node, k.fh, UINT64_MAX, "x", 1), -EINVAL);
	ck_assert_int_eq(fk_write(&k, node, k.fh, INT64_MAX, "x", 1), -EINVAL);
	/* How far a file goes below that is the host's to say. */
	ck_assert_int_ne(fk_write(&k, node, k.fh, INT64_MAX - 1, "x", 1),
			 -EINVAL);
	fk_done(&k);
}
END_TEST

START_TEST(write_whose_size_is_not_its_data_is_refused)
{
	struct {
		struct fuse_write_in in;
		char data[8];
	} m = { { 0 }, "1234567" };
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	m.in.fh = k.fh;
	for (uint32_t size = 0; size < 12; size++) {
		m.in.size = size;
		ck_assert_int_eq(
			fk_op(&k, FUSE_WRITE, node, &m, sizeof(m), FK_NO_NAMES),
			size == 8 ? 0 : -EINVAL);
	}
	m.in.size = UINT32_MAX;
	ck_assert_int_eq(
		fk_op(&k, FUSE_WRITE, node, &m, sizeof(m), FK_NO_NAMES),
		-EINVAL);
	fk_done(&k);
}
END_TEST

/* Who may not keep it setuid says so with each write. */
START_TEST(write_of_others_clears_setuid)
{
	struct fuse_write_in in = { .size = 1 };
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "1");
	ck_assert_int_eq(fchmodat(k.fd, "f", 06755, 0), 0);
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	in.fh = k.fh;
	in.write_flags = FUSE_WRITE_KILL_SUIDGID;
	ck_assert_int_eq(fk_write_as(&k, &in, node, "x"), 1);
	ck_assert_uint_eq(host_mode(&k, "f"), S_IFREG | 0755);
	/* Without group execute it is no setgid program, but for locks. */
	ck_assert_int_eq(fchmodat(k.fd, "f", 06745, 0), 0);
	ck_assert_int_eq(fk_write_as(&k, &in, node, "x"), 1);
	ck_assert_uint_eq(host_mode(&k, "f"), S_IFREG | 02745);
	/* Who may not write may not clear it either. */
	ck_assert_int_eq(fchmodat(k.fd, "f", 06755, 0), 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	in.fh = k.fh;
	ck_assert_int_eq(fk_write_as(&k, &in, node, "x"), -EBADF);
	ck_assert_uint_eq(host_mode(&k, "f"), S_IFREG | 06755);
	fk_done(&k);
}
END_TEST

START_TEST(fallocate_clears_setuid)
{
	struct fuse_fallocate_in in = {
		.length = 1, .mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
	};
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	/* There the kernel does not do it for us, whoever we are. */
	o.owner = FS_OWNER_MAPPED;
	fk_init(&k, &o);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 06755), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	in.fh = k.fh;
	ck_assert_int_eq(
		fk_op(&k, FUSE_FALLOCATE, node, &in, sizeof(in), FK_NO_NAMES),
		-EBADF);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFREG | 06755);
	ck_assert_int_eq(fk_open(&k, node, O_WRONLY), 0);
	in.fh = k.fh;
	ck_assert_int_eq(
		fk_op(&k, FUSE_FALLOCATE, node, &in, sizeof(in), FK_NO_NAMES),
		0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFREG | 0755);
	fk_done(&k);
}
END_TEST

START_TEST(tmpfile_can_be_linked_or_vanishes)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node, fh;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_tmpfile(&k, ROOT, O_RDWR, 0640), 0);
	node = k.entry.nodeid;
	fh = k.fh;
	ck_assert_uint_eq(k.entry.attr.nlink, 0);
	ck_assert_int_eq(fk_write(&k, node, fh, 0, "12", 2), 2);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.size, 2);

	ck_assert_int_eq(fk_link(&k, node, ROOT, "f"), 0);

	ck_assert_uint_eq(k.entry.nodeid, node);
	ck_assert_str_eq(fk_host_text(&k, "f"), "12");
	ck_assert_int_eq(fk_release(&k, node, fh), 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	ck_assert_int_eq(fk_tmpfile(&k, node, O_RDWR, 0640), -ENOTDIR);
	fk_done(&k);
}
END_TEST

/* As overlayfs copies a file up: open for writing alone, and nameless yet. */
START_TEST(attributes_of_a_tmpfile_need_no_reading)
{
	struct fuse_setattr_in in = { .valid = FATTR_MODE, .mode = 0600 };
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_tmpfile(&k, ROOT, O_WRONLY, 0640), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "1", 1, 0), 0);
	ck_assert_int_eq(fk_getxattr(&k, node, "user.a", 9), 0);
	ck_assert(fk_body_is(&k, "1"));
	ck_assert_int_eq(fk_listxattr(&k, node, 99), 0);
	ck_assert_int_eq(fk_removexattr(&k, node, "user.a"), 0);
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFREG | 0600);
	/* What is in it is another matter. */
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), -ESTALE);
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	/* Its last descriptor is the inode's then. */
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "1", 1, 0), 0);
	fk_done(&k);
}
END_TEST

START_TEST(fallocate_seek_and_copy)
{
	struct fuse_fallocate_in fa = { .offset = 65536, .length = 65536 };
	struct fuse_lseek_in ls = { .whence = SEEK_DATA };
	struct fuse_copy_file_range_in cp = { .len = 3 };
	struct fuse_write_out out;
	struct fuse_lseek_out at;
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	fa.fh = ls.fh = cp.fh_in = k.fh;
	ck_assert_int_eq(
		fk_op(&k, FUSE_FALLOCATE, node, &fa, sizeof(fa), FK_NO_NAMES),
		0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.size, 131072);
	fa.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	ck_assert_int_eq(
		fk_op(&k, FUSE_FALLOCATE, node, &fa, sizeof(fa), FK_NO_NAMES),
		0);
	ck_assert_int_eq(
		fk_op(&k, FUSE_LSEEK, node, &ls, sizeof(ls), FK_NO_NAMES),
		-ENXIO);
	ck_assert_int_eq(fk_write(&k, node, ls.fh, 100000, "abc", 3), 3);
	ck_assert_int_eq(
		fk_op(&k, FUSE_LSEEK, node, &ls, sizeof(ls), FK_NO_NAMES), 0);
	memcpy(&at, k.body, sizeof(at));
	ck_assert_uint_gt(at.offset, 65535);
	ck_assert_uint_le(at.offset, 100000);

	ck_assert_int_eq(fk_create(&k, ROOT, "g", O_RDWR, 0600), 0);
	cp.off_in = 100000;
	cp.nodeid_out = k.entry.nodeid;
	cp.fh_out = k.fh;
	ck_assert_int_eq(fk_op(&k, FUSE_COPY_FILE_RANGE, node, &cp, sizeof(cp),
			       FK_NO_NAMES),
			 0);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_eq(out.size, 3);
	ck_assert_str_eq(fk_host_text(&k, "g"), "abc");
	fk_done(&k);
}
END_TEST

START_TEST(fallocate_seek_and_copy_of_what_cannot_be)
{
	struct fuse_fallocate_in fa = { .length = 1 };
	struct fuse_lseek_in ls = { .whence = SEEK_HOLE };
	struct fuse_copy_file_range_in cp = { .len = 1 };
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	fa.fh = ls.fh = cp.fh_in = cp.fh_out = k.fh;
	cp.nodeid_out = node;
#define REFUSED(op, arg, field, value, errno_)                              \
	do {                                                                \
		__typeof__(arg) bad_ = (arg);                               \
		bad_.field = (value);                                       \
		ck_assert_int_eq(fk_op(&k, (op), node, &bad_, sizeof(bad_), \
				       FK_NO_NAMES),                        \
				 (errno_));                                 \
	} while (0)
	REFUSED(FUSE_FALLOCATE, fa, mode, FALLOC_FL_COLLAPSE_RANGE,
		-EOPNOTSUPP);
	REFUSED(FUSE_FALLOCATE, fa, mode, 0x80, -EOPNOTSUPP);
	REFUSED(FUSE_FALLOCATE, fa, length, 0, -EINVAL);
	REFUSED(FUSE_FALLOCATE, fa, length, UINT64_MAX, -EINVAL);
	REFUSED(FUSE_FALLOCATE, fa, offset, INT64_MAX, -EINVAL);
	REFUSED(FUSE_FALLOCATE, fa, fh, 99, -EBADF);
	REFUSED(FUSE_LSEEK, ls, whence, SEEK_SET, -EINVAL);
	REFUSED(FUSE_LSEEK, ls, whence, 99, -EINVAL);
	REFUSED(FUSE_LSEEK, ls, offset, UINT64_MAX, -ENXIO);
	REFUSED(FUSE_LSEEK, ls, fh, 99, -EBADF);
	REFUSED(FUSE_COPY_FILE_RANGE, cp, flags, 1, -EINVAL);
	REFUSED(FUSE_COPY_FILE_RANGE, cp, len, UINT64_MAX, -EINVAL);
	REFUSED(FUSE_COPY_FILE_RANGE, cp, off_in, INT64_MAX, -EINVAL);
	REFUSED(FUSE_COPY_FILE_RANGE, cp, off_out, INT64_MAX, -EINVAL);
	REFUSED(FUSE_COPY_FILE_RANGE, cp, fh_in, 99, -EBADF);
	REFUSED(FUSE_COPY_FILE_RANGE, cp, fh_out, 99, -EBADF);
	REFUSED(FUSE_COPY_FILE_RANGE, cp, nodeid_out, 99, -EBADF);
	fk_done(&k);
}
END_TEST

START_TEST(copy_to_what_is_open_to_read_changes_nothing)
{
	struct fuse_copy_file_range_in cp = { .len = 1 };
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node, to;

	o.owner = FS_OWNER_MAPPED;
	fk_init(&k, &o);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 04755), 0);
	cp.nodeid_out = to = k.entry.nodeid;
	ck_assert_int_eq(fk_open(&k, to, O_RDONLY), 0);
	cp.fh_out = k.fh;
	ck_assert_int_eq(fk_create(&k, ROOT, "g", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	cp.fh_in = k.fh;
	ck_assert_int_eq(fk_write(&k, node, k.fh, 0, "1", 1), 1);
	ck_assert_int_eq(fk_op(&k, FUSE_COPY_FILE_RANGE, node, &cp, sizeof(cp),
			       FK_NO_NAMES),
			 -EBADF);
	ck_assert_int_eq(fk_getattr(&k, to, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFREG | 04755);
	/* Nor is anything copied from what is open to write. */
	ck_assert_int_eq(fk_open(&k, to, O_RDWR), 0);
	cp.fh_out = k.fh;
	ck_assert_int_eq(fk_open(&k, node, O_WRONLY), 0);
	cp.fh_in = k.fh;
	ck_assert_int_eq(fk_op(&k, FUSE_COPY_FILE_RANGE, node, &cp, sizeof(cp),
			       FK_NO_NAMES),
			 -EBADF);
	ck_assert_int_eq(fk_getattr(&k, to, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFREG | 04755);
	fk_done(&k);
}
END_TEST

/* The signal that a lease is wanted back comes here. */
static void *give_up_lease(void *arg)
{
	const int *fd = arg;
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGRTMIN);
	bug_on(sigwait(&set, &sig) != 0);
	bug_on(fcntl(*fd, F_SETLEASE, F_UNLCK) < 0);
	return NULL;
}

START_TEST(lease_of_the_host_is_waited_for)
{
	struct fuse_kit k;
	uint64_t node;
	sigset_t set;
	pthread_t t;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGRTMIN);
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	fk_init(&k, NULL);
	fk_host_file(&k, "f", "1");
	node = fk_at(&k, "f");
	fd = openat(k.fd, "f", O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_SETSIG, SIGRTMIN), 0);
	ck_assert_int_eq(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, give_up_lease, &fd), 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	base_closep(&fd);
	fk_done(&k);
}
END_TEST

START_TEST(sync_flush_and_statfs)
{
	struct fuse_fsync_in fs = { 0 };
	struct fuse_flush_in fl = { 0 };
	struct fuse_syncfs_in sy = { 0 };
	struct fuse_interrupt_in in = { .unique = 7 };
	struct fuse_statfs_out st;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	fs.fh = fl.fh = k.fh;
	ck_assert_int_eq(
		fk_op(&k, FUSE_FSYNC, node, &fs, sizeof(fs), FK_NO_NAMES), 0);
	fs.fsync_flags = FUSE_FSYNC_FDATASYNC;
	ck_assert_int_eq(
		fk_op(&k, FUSE_FSYNC, node, &fs, sizeof(fs), FK_NO_NAMES), 0);
	ck_assert_int_eq(
		fk_op(&k, FUSE_FLUSH, node, &fl, sizeof(fl), FK_NO_NAMES), 0);
	ck_assert_int_eq(
		fk_op(&k, FUSE_FSYNCDIR, node, &fs, sizeof(fs), FK_NO_NAMES),
		-EBADF);
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	fs.fh = k.fh;
	ck_assert_int_eq(
		fk_op(&k, FUSE_FSYNCDIR, ROOT, &fs, sizeof(fs), FK_NO_NAMES),
		0);
	ck_assert_int_eq(
		fk_op(&k, FUSE_SYNCFS, ROOT, &sy, sizeof(sy), FK_NO_NAMES), 0);
	ck_assert_int_eq(
		fk_op(&k, FUSE_INTERRUPT, 0, &in, sizeof(in), FK_NO_NAMES), 0);
	ck_assert_int_eq(fk_op(&k, FUSE_STATFS, node, NULL, 0, FK_NO_NAMES), 0);
	ck_assert_uint_eq(k.len, sizeof(st));
	memcpy(&st, k.body, sizeof(st));
	ck_assert_uint_gt(st.st.blocks, 0);
	ck_assert_uint_eq(st.st.namelen, 255);
	fk_done(&k);
}
END_TEST

/* By its handle, whatever the host did to its name. */
START_TEST(getattr_by_handle_of_a_file_that_the_host_removed)
{
	struct fuse_getattr_in in = { .getattr_flags = FUSE_GETATTR_FH };
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "123");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	ck_assert_int_eq(unlinkat(k.fd, "f", 0), 0);
	in.fh = k.fh;

	ck_assert_int_eq(
		fk_op(&k, FUSE_GETATTR, node, &in, sizeof(in), FK_NO_NAMES), 0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.size, 3);
	in.fh++;
	ck_assert_int_eq(
		fk_op(&k, FUSE_GETATTR, node, &in, sizeof(in), FK_NO_NAMES),
		-EBADF);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_file", create_writes_and_reads_back, create_of_what_is_there,
	   open_of_other_kinds_is_refused, open_of_a_device_is_refused,
	   open_flags_follow_the_cache,
	   pages_are_not_kept_if_the_time_was_set_back, truncate_at_open,
	   handle_is_good_for_what_it_was_opened_for,
	   append_goes_to_the_end_and_pages_to_their_place,
	   largest_request_passes_and_larger_is_refused,
	   offset_beyond_what_files_have_is_refused,
	   write_whose_size_is_not_its_data_is_refused,
	   write_of_others_clears_setuid, fallocate_clears_setuid,
	   tmpfile_can_be_linked_or_vanishes,
	   attributes_of_a_tmpfile_need_no_reading, fallocate_seek_and_copy,
	   fallocate_seek_and_copy_of_what_cannot_be,
	   copy_to_what_is_open_to_read_changes_nothing,
	   lease_of_the_host_is_waited_for, sync_flush_and_statfs,
	   getattr_by_handle_of_a_file_that_the_host_removed)
