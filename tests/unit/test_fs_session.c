/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_session.c - INIT and DESTROY, and what is no request */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

static int init(struct fuse_kit *k, const struct fuse_init_in *in,
		struct fuse_init_out *out)
{
	int e = fk_op(k, FUSE_INIT, 0, in, sizeof(*in), FK_NO_NAMES);

	if (e == 0) {
		ck_assert_uint_eq(k->len, sizeof(*out));
		memcpy(out, k->body, sizeof(*out));
	}
	return e;
}

/* As Linux 6.12 sends it, without DAX. */
static const struct fuse_init_in linux_612 = {
	.major = 7,
	.minor = 41,
	.max_readahead = 131072,
	.flags = 0x73fffffb,
	.flags2 = 0x1dd,
};

START_TEST(init_of_linux_gets_limits_and_known_flags)
{
	struct fs_opts o = fk_usual();
	struct fuse_init_out out;
	struct fuse_kit k;

	fk_scratch(&k);
	fk_serve(&k, &o);

	ck_assert_int_eq(init(&k, &linux_612, &out), 0);

	ck_assert_uint_eq(out.major, 7);
	ck_assert_uint_eq(out.minor, 40);
	ck_assert_uint_eq(out.max_write, 1 << 20);
	ck_assert_uint_eq(out.max_pages, 256);
	ck_assert_uint_eq(out.time_gran, 1);
	ck_assert_uint_eq(out.max_readahead, 131072);
	ck_assert_uint_eq(out.flags & FUSE_POSIX_LOCKS, 0);
	ck_assert_uint_eq(out.flags & FUSE_WRITEBACK_CACHE, 0);
	ck_assert_uint_ne(out.flags & FUSE_DO_READDIRPLUS, 0);
	ck_assert_uint_ne(out.flags & FUSE_AUTO_INVAL_DATA, 0);
	/* A number of ours means nothing to the next server. */
	ck_assert_uint_eq(out.flags2, FUSE_NO_EXPORT_SUPPORT >> 32);
	fk_done(&k);
}
END_TEST

/* Nothing is asked for that was not offered. */
START_TEST(init_answers_no_flag_that_was_not_offered)
{
	static const uint32_t offers[] = { 0, FUSE_ASYNC_READ,
					   FUSE_MAX_PAGES | FUSE_INIT_EXT };

	for (size_t i = 0; i < ARRAY_LEN(offers); i++) {
		struct fs_opts o = fk_usual();
		struct fuse_init_in in = linux_612;
		struct fuse_init_out out;
		struct fuse_kit k;

		fk_scratch(&k);
		o.cache = FS_CACHE_NEVER;
		fk_serve(&k, &o);
		in.flags = offers[i];
		in.flags2 = UINT32_MAX;

		ck_assert_int_eq(init(&k, &in, &out), 0);

		ck_assert_uint_eq(out.flags & ~offers[i], 0);
		if (!(offers[i] & FUSE_INIT_EXT))
			ck_assert_uint_eq(out.flags2, 0);
		else
			ck_assert_uint_eq(out.flags2,
					  (FUSE_DIRECT_IO_ALLOW_MMAP |
					   FUSE_NO_EXPORT_SUPPORT) >>
						  32);
		fk_done(&k);
	}
}
END_TEST

START_TEST(init_of_other_versions)
{
	static const struct {
		uint32_t major;
		uint32_t minor;
		int error;
	} tries[] = {
		{ 6, 41, -EPROTO }, { 7, 30, -EPROTO },     { 7, 0, -EPROTO },
		{ 0, 0, -EPROTO },  { 8, 0, 0 /* ours */ }, { 7, 31, 0 },
	};
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fuse_kit k;

	fk_scratch(&k);
	fk_serve(&k, &o);
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		struct fuse_init_in in = linux_612;
		struct fuse_init_out out;

		in.major = tries[i].major;
		in.minor = tries[i].minor;
		ck_assert_int_eq(init(&k, &in, &out), tries[i].error);
		if (tries[i].major != 8)
			continue;
		/* Told our version; not begun before it asks for that. */
		ck_assert_uint_eq(out.major, 7);
		ck_assert_int_eq(fk_getattr(&k, FUSE_ROOT_ID, &attr), -EIO);
	}
	ck_assert_int_eq(fk_getattr(&k, FUSE_ROOT_ID, &attr), 0);
	fk_done(&k);
}
END_TEST

START_TEST(init_without_flags2_is_sound_and_shorter_is_not)
{
	struct fs_opts o = fk_usual();
	struct fuse_kit k;

	fk_scratch(&k);
	fk_serve(&k, &o);
	ck_assert_int_eq(fk_op(&k, FUSE_INIT, 0, &linux_612, 15, FK_NO_NAMES),
			 -EINVAL);
	k.room = sizeof(struct fuse_init_out) - 1;
	ck_assert_int_eq(fk_op(&k, FUSE_INIT, 0, &linux_612, 16, FK_NO_NAMES),
			 -EINVAL);
	k.room++;
	ck_assert_int_eq(fk_op(&k, FUSE_INIT, 0, &linux_612, 16, FK_NO_NAMES),
			 0);
	fk_done(&k);
}
END_TEST

START_TEST(requests_before_init_and_after_destroy_get_eio)
{
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fuse_kit k;

	fk_scratch(&k);
	fk_serve(&k, &o);
	ck_assert_int_eq(fk_getattr(&k, FUSE_ROOT_ID, &attr), -EIO);
	ck_assert_int_eq(fk_lookup(&k, FUSE_ROOT_ID, "x"), -EIO);
	fk_forget(&k, FUSE_ROOT_ID, 1);
	ck_assert_int_eq(fk_start(&k), 0);
	ck_assert_int_eq(fk_getattr(&k, FUSE_ROOT_ID, &attr), 0);

	ck_assert_int_eq(fk_op(&k, FUSE_DESTROY, 0, NULL, 0, FK_NO_NAMES), 0);

	ck_assert_int_eq(fk_getattr(&k, FUSE_ROOT_ID, &attr), -EIO);
	ck_assert_int_eq(fk_op(&k, FUSE_DESTROY, 0, NULL, 0, FK_NO_NAMES),
			 -EIO);
	fk_done(&k);
}
END_TEST

START_TEST(init_twice_is_refused_and_changes_nothing)
{
	struct fuse_init_out out;
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "a", "1");
	node = fk_at(&k, "a");

	ck_assert_int_eq(init(&k, &linux_612, &out), -EBUSY);

	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	fk_done(&k);
}
END_TEST

START_TEST(reset_forgets_all_and_begins_anew)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_dir(&k, "d");
	fk_host_file(&k, "d/a", "1");
	node = fk_at(&k, "d/a");

	fs_server_reset(k.s);

	ck_assert_int_eq(fk_getattr(&k, node, &attr), -EIO);
	ck_assert_int_eq(fk_start(&k), 0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), -ESTALE);
	ck_assert_uint_ne(fk_at(&k, "d/a"), node);
	fk_done(&k);
}
END_TEST

START_TEST(header_that_does_not_agree_is_refused)
{
	struct fuse_getattr_in arg = { 0 };
	struct {
		struct fuse_in_header h;
		struct fuse_getattr_in arg;
	} m = { { .opcode = FUSE_GETATTR, .nodeid = 1 }, arg };
	struct fuse_kit k;
	int e;

	fk_init(&k, NULL);
	m.h.len = sizeof(m);
	ck_assert_uint_gt(fk_raw(&k, &m, sizeof(m), 4096, &e), 0);
	ck_assert_int_eq(e, 0);
	/* Longer and shorter than it says. */
	m.h.len = sizeof(m) + 1;
	ck_assert_uint_eq(fk_raw(&k, &m, sizeof(m), 4096, &e), 16);
	ck_assert_int_eq(e, -EINVAL);
	m.h.len = sizeof(m) - 1;
	ck_assert_uint_eq(fk_raw(&k, &m, sizeof(m), 4096, &e), 16);
	ck_assert_int_eq(e, -EINVAL);
	m.h.len = 0;
	ck_assert_uint_eq(fk_raw(&k, &m, sizeof(m), 4096, &e), 16);
	ck_assert_int_eq(e, -EINVAL);
	/* Extensions that were not agreed on. */
	m.h.len = sizeof(m);
	m.h.total_extlen = 1;
	ck_assert_uint_eq(fk_raw(&k, &m, sizeof(m), 4096, &e), 16);
	ck_assert_int_eq(e, -EINVAL);
	fk_done(&k);
}
END_TEST

START_TEST(request_that_cannot_be_answered_gets_no_answer)
{
	struct {
		struct fuse_in_header h;
		struct fuse_getattr_in arg;
	} m = { { .len = sizeof(m), .opcode = FUSE_GETATTR, .nodeid = 1 },
		{ 0 } };
	struct fuse_kit k;
	int e;

	fk_init(&k, NULL);
	for (size_t len = 0; len < sizeof(m.h); len++)
		ck_assert_uint_eq(fk_raw(&k, &m, len, 4096, &e), 0);
	for (size_t room = 0; room < 16; room++)
		ck_assert_uint_eq(fk_raw(&k, &m, sizeof(m), room, &e), 0);
	/* Room for the header, but not for the attributes. */
	ck_assert_uint_eq(fk_raw(&k, &m, sizeof(m), 16, &e), 16);
	ck_assert_int_eq(e, -EINVAL);
	ck_assert_uint_eq(fk_raw(&k, &m, sizeof(m), 16 + 103, &e), 16);
	ck_assert_int_eq(e, -EINVAL);
	ck_assert_uint_eq(fk_raw(&k, &m, sizeof(m), 16 + 104, &e), 120);
	ck_assert_int_eq(e, 0);
	fk_done(&k);
}
END_TEST

START_TEST(unknown_opcodes_get_enosys)
{
	static const uint32_t ops[] = {
		0,
		7,
		19,
		FUSE_GETLK,
		FUSE_SETLK,
		FUSE_SETLKW,
		FUSE_ACCESS,
		FUSE_BMAP,
		FUSE_IOCTL,
		FUSE_POLL,
		FUSE_NOTIFY_REPLY,
		FUSE_SETUPMAPPING,
		FUSE_REMOVEMAPPING,
		53,
		4096,
		UINT32_MAX,
		UINT32_MAX - 63,
	};
	struct fuse_kit k;

	fk_init(&k, NULL);
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		ck_assert_int_eq(
			fk_op(&k, ops[i], 1, "1234567", 8, FK_NO_NAMES),
			-ENOSYS);
	fk_done(&k);
}
END_TEST

START_TEST(any_cut_of_the_pieces_is_the_same)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 8, 39, 40, 41, 64 };
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "file with a name", "12345");
	node = fk_at(&k, "file with a name");
	k.room = 200;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		k.piece = pieces[i];
		ck_assert_uint_eq(fk_at(&k, "file with a name"), node);
		ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
		ck_assert_uint_eq(attr.size, 5);
	}
	fk_done(&k);
}
END_TEST

static void expect_refused(struct fs_opts o, const char *word)
{
	struct fs_server *s = NULL;
	struct err e = { 0 };

	if (o.root_fd < 0)
		o.root_fd = open("/tmp", O_PATH | O_CLOEXEC);
	ck_assert_int_lt(fs_server_new(&o, &s, &e), 0);
	ck_assert_ptr_null(s);
	ck_assert_msg(strstr(e.msg, word) != NULL, "%s", e.msg);
	/* It was taken over, and is closed. */
	ck_assert_int_eq(fcntl(o.root_fd, F_GETFD), -1);
}

START_TEST(options_that_cannot_be_are_refused)
{
	struct fs_opts o = fk_usual();

	o.fds_max = FS_FDS_MIN - 1;
	expect_refused(o, "descriptors");
	o.fds_max = FS_FDS_MAX + 1;
	expect_refused(o, "descriptors");
	o = fk_usual();
	o.cache = FS_CACHE_NEVER + 1;
	expect_refused(o, "no such way");
	o = fk_usual();
	o.root_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	expect_refused(o, "no regular file");
	/* A file that is only named could never be read. */
	o.root_fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	expect_refused(o, "open for reading");
	o.root_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	o.owner = FS_OWNER_MAPPED;
	expect_refused(o, "cannot be mapped");
	o = fk_usual();
	o.root_fd = memfd_create("f", MFD_CLOEXEC);
	ck_assert_int_eq(fcntl(o.root_fd, F_SETFL, O_APPEND), 0);
	expect_refused(o, "appending");
}
END_TEST

CHECK_MAIN("fs_session", init_of_linux_gets_limits_and_known_flags,
	   init_answers_no_flag_that_was_not_offered, init_of_other_versions,
	   init_without_flags2_is_sound_and_shorter_is_not,
	   requests_before_init_and_after_destroy_get_eio,
	   init_twice_is_refused_and_changes_nothing,
	   reset_forgets_all_and_begins_anew,
	   header_that_does_not_agree_is_refused,
	   request_that_cannot_be_answered_gets_no_answer,
	   unknown_opcodes_get_enosys, any_cut_of_the_pieces_is_the_same,
	   options_that_cannot_be_are_refused)
