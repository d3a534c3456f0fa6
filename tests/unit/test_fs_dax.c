/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_fs_dax.c - SETUPMAPPING, REMOVEMAPPING, and who asks for them
 *
 * The window is a real one, of files that lie in the scratch folder; the guest
 * looks at it by system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "tests/lib/fuse_window.h"
#include "vmm/fs/dax.h"

#define ROOT  FUSE_ROOT_ID
#define SLOT  FS_DAX_UNIT
#define SLOTS 8u
#define RD    FUSE_SETUPMAPPING_FLAG_READ
#define WR    FUSE_SETUPMAPPING_FLAG_WRITE
#define NO_FH UINT64_MAX

/* A guest with a window; @o may be NULL for the usual. */
static void start(struct fuse_kit *k, struct fuse_window *w,
		  const struct fs_opts *o)
{
	struct fs_opts opts = o ? *o : fk_usual();

	if (!o)
		opts.dax = FS_DAX_ALWAYS;
	fk_scratch(k);
	fw_init(w, SLOTS, &opts);
	fk_serve(k, &opts);
	ck_assert_int_eq(fk_start(k), 0);
}

static void end(struct fuse_kit *k, struct fuse_window *w)
{
	fk_done(k);
	fw_done(w);
}

static int setup(struct fuse_kit *k, uint64_t node, uint64_t off,
		 uint64_t flags)
{
	struct fuse_setupmapping_in in = {
		.fh = NO_FH, .moffset = off, .len = SLOT, .flags = flags
	};

	return fk_op(k, FUSE_SETUPMAPPING, node, &in, sizeof(in), FK_NO_NAMES);
}

static int setup_as(struct fuse_kit *k, uint64_t node,
		    const struct fuse_setupmapping_in *in)
{
	return fk_op(k, FUSE_SETUPMAPPING, node, in, sizeof(*in), FK_NO_NAMES);
}

/* As it is sent: nothing between the two. */
struct removal {
	struct fuse_removemapping_in head;
	struct fuse_removemapping_one one[300];
} __attribute__((packed));

static int removes(struct fuse_kit *k, const struct removal *m, size_t n)
{
	return fk_op(k, FUSE_REMOVEMAPPING, ROOT, m,
		     sizeof(m->head) + n * sizeof(m->one[0]), FK_NO_NAMES);
}

static int remove_one(struct fuse_kit *k, uint64_t off, uint64_t len)
{
	struct removal m = { .head = { .count = 1 },
			     .one = { { .moffset = off, .len = len } } };

	return removes(k, &m, 1);
}

/* A file of @len bytes with a word at @off; looked up. */
static uint64_t file(struct fuse_kit *k, const char *name, off_t len, off_t off,
		     const char *text)
{
	int fd;

	fk_host_file(k, name, "");
	fd = openat(k->fd, name, O_RDWR | O_CLOEXEC);
	bug_on(fd < 0 || ftruncate(fd, len) < 0);
	bug_on(pwrite(fd, text, strlen(text), off) != (ssize_t)strlen(text));
	base_closep(&fd);
	ck_assert_int_eq(fk_lookup(k, ROOT, name), 0);
	return k->entry.nodeid;
}

static bool host_has(struct fuse_kit *k, const char *name, off_t off,
		     const char *text)
{
	char buf[64] = { 0 };
	int fd = openat(k->fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = pread(fd, buf, strlen(text), off);

	base_closep(&fd);
	return n == (ssize_t)strlen(text) && strcmp(buf, text) == 0;
}

START_TEST(without_a_window_nothing_is_offered)
{
	struct fuse_init_out out;
	struct fuse_kit k;
	uint64_t node;

	fk_scratch(&k);
	fk_serve(&k, &(struct fs_opts){ .root_fd = -1, .fds_max = 512 });
	ck_assert_int_eq(fk_start(&k), 0);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_eq(out.flags & FUSE_MAP_ALIGNMENT, 0);
	ck_assert_uint_eq(out.flags2 & (FUSE_HAS_INODE_DAX >> 32), 0);
	ck_assert_uint_eq(out.map_alignment, 0);
	node = file(&k, "f", 4 << 20, 0, "text");
	ck_assert_uint_eq(k.entry.attr.flags, 0);
	ck_assert_int_eq(setup(&k, node, 0, RD), -ENOSYS);
	ck_assert_int_eq(remove_one(&k, 0, SLOT), -ENOSYS);
	fk_done(&k);
}
END_TEST

START_TEST(alignment_and_dax_by_inode_are_agreed_on)
{
	struct fuse_init_out out;
	struct fuse_window w;
	struct fuse_kit k;

	start(&k, &w, NULL);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_ne(out.flags & FUSE_MAP_ALIGNMENT, 0);
	ck_assert_uint_ne(out.flags2 & (FUSE_HAS_INODE_DAX >> 32), 0);
	ck_assert_uint_eq(1u << out.map_alignment, SLOT);
	end(&k, &w);
}
END_TEST

static uint32_t flags_of(struct fuse_kit *k, uint64_t node)
{
	struct fuse_attr a;

	ck_assert_int_eq(fk_getattr(k, node, &a), 0);
	return a.flags;
}

START_TEST(always_means_all_regular_files)
{
	struct fuse_window w;
	struct fuse_kit k;

	start(&k, &w, NULL);
	fk_host_dir(&k, "d");
	ck_assert_int_eq(symlinkat("f", k.fd, "l"), 0);
	ck_assert_uint_eq(flags_of(&k, file(&k, "f", 1, 0, "x")),
			  FUSE_ATTR_DAX);
	ck_assert_uint_eq(k.entry.attr.flags, FUSE_ATTR_DAX);
	ck_assert_int_eq(fk_create(&k, ROOT, "new", O_RDWR, 0600), 0);
	ck_assert_uint_eq(k.entry.attr.flags, FUSE_ATTR_DAX);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "d"), 0);
	ck_assert_uint_eq(k.entry.attr.flags, 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "l"), 0);
	ck_assert_uint_eq(k.entry.attr.flags, 0);
	end(&k, &w);
}
END_TEST

START_TEST(inode_means_large_files)
{
	struct fs_opts o = fk_usual();
	struct fuse_window w;
	struct fuse_kit k;
	struct fuse_setattr_in in = { .valid = FATTR_SIZE,
				      .size = FS_DAX_SIZE_MIN };
	struct fuse_attr a;
	uint64_t node;

	o.dax = FS_DAX_INODE;
	start(&k, &w, &o);
	node = file(&k, "f", FS_DAX_SIZE_MIN - 1, 0, "x");
	ck_assert_uint_eq(flags_of(&k, node), 0);
	ck_assert_int_eq(fk_setattr(&k, node, &in, &a), 0);
	ck_assert_uint_eq(a.flags, FUSE_ATTR_DAX);
	/* Which it maps is the guest's choice all the same. */
	node = file(&k, "small", 1, 0, "x");
	ck_assert_int_eq(setup(&k, node, 0, RD), 0);
	end(&k, &w);
}
END_TEST

START_TEST(guest_and_host_see_the_same_bytes)
{
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node;

	start(&k, &w, NULL);
	node = file(&k, "f", 100000, 50000, "hello");
	ck_assert_int_eq(setup(&k, node, SLOT, RD | WR), 0);
	ck_assert(fw_has(&w, SLOT + 50000, "hello"));
	ck_assert_int_eq(fw_put(&w, SLOT + 7, "guest"), 0);
	ck_assert(host_has(&k, "f", 7, "guest"));
	/* For reading alone: what the guest writes reaches no file. */
	ck_assert_int_eq(setup(&k, node, 2 * SLOT, RD), 0);
	ck_assert(fw_has(&w, 2 * SLOT + 7, "guest"));
	ck_assert_int_eq(fw_put(&w, 2 * SLOT + 7, "wrong"), 0);
	ck_assert(host_has(&k, "f", 7, "guest"));
	/* As Linux does it before the first write. */
	ck_assert_int_eq(setup(&k, node, 2 * SLOT, RD | WR), 0);
	ck_assert(fw_has(&w, 2 * SLOT + 7, "guest"));
	ck_assert_int_eq(remove_one(&k, SLOT, SLOT), 0);
	ck_assert_int_eq(fw_byte(&w, SLOT + 7), 0);
	ck_assert(fw_has(&w, 2 * SLOT + 7, "guest"));
	end(&k, &w);
}
END_TEST

START_TEST(mapping_goes_by_place_in_the_file)
{
	struct fuse_setupmapping_in in = { .fh = NO_FH,
					   .foffset = SLOT,
					   .len = 2 * SLOT,
					   .moffset = 4 * SLOT,
					   .flags = RD };
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node;

	start(&k, &w, NULL);
	node = file(&k, "f", 4 * SLOT, 2 * SLOT + 9, "third");
	ck_assert_int_eq(setup_as(&k, node, &in), 0);
	ck_assert(fw_has(&w, 5 * SLOT + 9, "third"));
	/* Nothing of the file is there: that is the guest's business. */
	in.foffset = 1ull << 40;
	ck_assert_int_eq(setup_as(&k, node, &in), 0);
	ck_assert_int_eq(fw_byte(&w, 5 * SLOT), 0);
	end(&k, &w);
}
END_TEST

START_TEST(numbers_that_do_not_fit_are_refused)
{
	static const struct fuse_setupmapping_in bad[] = {
		{ .flags = 0, .len = SLOT },
		{ .flags = WR, .len = SLOT },
		{ .flags = RD | 4, .len = SLOT },
		{ .flags = RD | 1ull << 63, .len = SLOT },
		{ .flags = RD, .len = 0 },
		{ .flags = RD, .len = 4096 },
		{ .flags = RD, .len = SLOT + 1 },
		{ .flags = RD, .len = 9 * SLOT },
		{ .flags = RD, .len = UINT64_MAX - SLOT + 1 },
		{ .flags = RD, .len = SLOT, .moffset = 4096 },
		{ .flags = RD, .len = SLOT, .moffset = 8 * SLOT },
		{ .flags = RD, .len = 2 * SLOT, .moffset = 7 * SLOT },
		{ .flags = RD, .len = SLOT, .moffset = -SLOT },
		{ .flags = RD, .len = 2 * SLOT, .moffset = -SLOT },
		{ .flags = RD, .len = SLOT, .foffset = 4096 },
		{ .flags = RD, .len = SLOT, .foffset = 1ull << 63 },
		{ .flags = RD, .len = SLOT, .foffset = (1ull << 63) - SLOT },
		{ .flags = RD, .len = SLOT, .foffset = -SLOT },
	};
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node;

	start(&k, &w, NULL);
	node = file(&k, "f", 100, 0, "x");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct fuse_setupmapping_in in = bad[i];

		in.fh = NO_FH;
		ck_assert_msg(setup_as(&k, node, &in) == -EINVAL, "%zu", i);
	}
	ck_assert_uint_eq(w.w.n_mapped, 0);
	/* Too short, and too long. */
	ck_assert_int_eq(
		fk_op(&k, FUSE_SETUPMAPPING, node, &bad[0], 39, FK_NO_NAMES),
		-EINVAL);
	end(&k, &w);
}
END_TEST

START_TEST(removals_are_all_checked_before_the_first)
{
	static const struct fuse_removemapping_one bad[] = {
		{ 0, 0 },           { 0, 4096 },        { 4096, SLOT },
		{ 8 * SLOT, SLOT }, { SLOT, 8 * SLOT }, { -SLOT, SLOT },
		{ 0, -SLOT },
	};
	struct removal m = { .head = { .count = 2 } };
	struct fuse_window w;
	struct fuse_kit k;

	start(&k, &w, NULL);
	ck_assert_int_eq(setup(&k, file(&k, "f", 100, 0, "x"), 0, RD), 0);
	m.one[0] = (struct fuse_removemapping_one){ 0, SLOT };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		m.one[1] = bad[i];
		ck_assert_msg(removes(&k, &m, 2) == -EINVAL, "%zu", i);
	}
	m.one[1] = m.one[0];
	ck_assert_int_eq(removes(&k, &m, 1), -EINVAL);
	ck_assert_int_eq(removes(&k, &m, 3), -EINVAL);
	m.head.count = 0;
	ck_assert_int_eq(removes(&k, &m, 0), -EINVAL);
	m.head.count = UINT32_MAX;
	ck_assert_int_eq(removes(&k, &m, 2), -EINVAL);
	m.head.count = 257;
	for (unsigned int i = 0; i < 257; i++)
		m.one[i] = m.one[0];
	ck_assert_int_eq(removes(&k, &m, 257), -EINVAL);
	ck_assert_uint_eq(w.w.n_mapped, 1);
	/* As many as Linux sends; one twice is no harm. */
	m.head.count = 256;
	ck_assert_int_eq(removes(&k, &m, 256), 0);
	ck_assert_uint_eq(w.w.n_mapped, 0);
	end(&k, &w);
}
END_TEST

START_TEST(handle_has_to_have_the_right)
{
	struct fuse_setupmapping_in in = { .len = SLOT };
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node, other, rd, wr, both;

	start(&k, &w, NULL);
	node = file(&k, "f", 100, 0, "text");
	other = file(&k, "g", 100, 0, "else");
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	rd = k.fh;
	ck_assert_int_eq(fk_open(&k, node, O_WRONLY), 0);
	wr = k.fh;
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	both = k.fh;

	in.flags = RD;
	in.fh = rd;
	ck_assert_int_eq(setup_as(&k, node, &in), 0);
	ck_assert(fw_has(&w, 0, "text"));
	in.fh = both;
	ck_assert_int_eq(setup_as(&k, node, &in), 0);
	in.fh = wr;
	ck_assert_int_eq(setup_as(&k, node, &in), -EACCES);
	in.flags = RD | WR;
	ck_assert_int_eq(setup_as(&k, node, &in), -EACCES);
	in.fh = rd;
	ck_assert_int_eq(setup_as(&k, node, &in), -EACCES);
	in.fh = both;
	ck_assert_int_eq(setup_as(&k, other, &in), -EBADF);
	ck_assert_int_eq(setup_as(&k, node, &in), 0);
	in.fh = both + 1000;
	ck_assert_int_eq(setup_as(&k, node, &in), -EBADF);
	/* It outlives the handle. */
	ck_assert_int_eq(fk_release(&k, node, both), 0);
	ck_assert_int_eq(fw_put(&w, 0, "kept"), 0);
	ck_assert(host_has(&k, "f", 0, "kept"));
	end(&k, &w);
}
END_TEST

START_TEST(only_regular_files_that_the_guest_knows)
{
	struct fuse_window w;
	struct fuse_kit k;

	start(&k, &w, NULL);
	ck_assert_int_eq(mknodat(k.fd, "p", S_IFIFO | 0600, 0), 0);
	ck_assert_int_eq(symlinkat("p", k.fd, "l"), 0);
	ck_assert_int_eq(setup(&k, ROOT, 0, RD), -ENODEV);
	ck_assert_int_eq(setup(&k, 12345, 0, RD), -ESTALE);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "p"), 0);
	ck_assert_int_eq(setup(&k, k.entry.nodeid, 0, RD), -ENODEV);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "l"), 0);
	ck_assert_int_eq(setup(&k, k.entry.nodeid, 0, RD), -ENODEV);
	end(&k, &w);
}
END_TEST

/* On the host they are files. */
START_TEST(symlinks_and_devices_of_a_mapped_tree_are_no_files)
{
	struct fs_opts o = fk_usual();
	struct fuse_window w;
	struct fuse_kit k;

	o.dax = FS_DAX_ALWAYS;
	o.owner = FS_OWNER_MAPPED;
	start(&k, &w, &o);
	ck_assert_int_eq(fk_symlink(&k, ROOT, "l", "target"), 0);
	ck_assert_uint_eq(k.entry.attr.flags, 0);
	ck_assert_int_eq(setup(&k, k.entry.nodeid, 0, RD | WR), -ENODEV);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "c", S_IFCHR | 0600, 0x105), 0);
	ck_assert_uint_eq(k.entry.attr.flags, 0);
	ck_assert_int_eq(setup(&k, k.entry.nodeid, 0, RD), -ENODEV);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	ck_assert_int_eq(setup(&k, k.entry.nodeid, 0, RD | WR), 0);
	end(&k, &w);
}
END_TEST

START_TEST(readonly_share_is_mapped_for_reading_alone)
{
	struct fs_opts o = fk_usual();
	struct stat before, after;
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node;

	o.dax = FS_DAX_ALWAYS;
	o.ro = true;
	start(&k, &w, &o);
	node = file(&k, "f", 100, 0, "text");
	before = fk_host_aged(&k, "f");
	ck_assert_int_eq(setup(&k, node, 0, RD | WR), -EROFS);
	ck_assert_int_eq(setup(&k, node, 0, RD), 0);
	ck_assert(fw_has(&w, 0, "text"));
	ck_assert_int_eq(fw_put(&w, 0, "evil"), 0);
	/* Not even its time of access, which mmap() sets. */
	ck_assert_int_eq(fstatat(k.fd, "f", &after, 0), 0);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	ck_assert(host_has(&k, "f", 0, "text"));
	end(&k, &w);
}
END_TEST

/* Linux unlinks, and maps what it had not yet touched. */
START_TEST(file_without_a_name_is_mapped_while_it_is_open)
{
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node, fh;

	start(&k, &w, NULL);
	node = file(&k, "f", 100, 0, "text");
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	fh = k.fh;
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	ck_assert_int_eq(setup(&k, node, 0, RD | WR), 0);
	ck_assert_int_eq(setup(&k, node, SLOT, RD), 0);
	ck_assert_int_eq(fw_put(&w, 0, "mine"), 0);
	ck_assert(fw_has(&w, SLOT, "mine"));
	ck_assert_int_eq(fk_read(&k, node, fh, 0, 4), 0);
	ck_assert(fk_body_is(&k, "mine"));
	end(&k, &w);
}
END_TEST

START_TEST(file_that_ends_early_is_seen_again_when_it_grows)
{
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node;
	int fd;

	start(&k, &w, NULL);
	node = file(&k, "f", 20000, 16384, "tail");
	ck_assert_int_eq(setup(&k, node, 0, RD | WR), 0);
	fd = openat(k.fd, "f", O_RDWR | O_CLOEXEC);
	bug_on(ftruncate(fd, 10) < 0);
	ck_assert_int_eq(fw_byte(&w, 16384), -EFAULT);
	/* What a vCPU does that comes upon it. */
	ck_assert_uint_eq(window_mend(&w.w), 1);
	ck_assert_int_eq(fw_byte(&w, 16384), 0);
	/* By the guest's own doing: seen before it is told that it is done. */
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	ck_assert_int_eq(fk_write(&k, node, k.fh, 8192, "grown", 5), 5);
	ck_assert(fw_has(&w, 8192, "grown"));
	ck_assert_int_eq(fw_byte(&w, 16384), 0);
	/* By the host's: when the guest asks for anything. */
	bug_on(pwrite(fd, "again", 5, 16384) != 5);
	ck_assert_int_eq(fw_byte(&w, 16384), 0);
	(void)flags_of(&k, node);
	ck_assert(fw_has(&w, 16384, "again"));
	base_closep(&fd);
	end(&k, &w);
}
END_TEST

/* Whatever tells the guest of a new length shows it the bytes, too. */
START_TEST(bytes_are_there_when_the_guest_hears_of_them)
{
	struct fuse_copy_file_range_in cp = { .len = 6, .off_out = 12288 };
	struct fuse_fallocate_in fa = { .length = 20480 };
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node, from;
	int fd;

	start(&k, &w, NULL);
	node = file(&k, "f", 10, 0, "x");
	from = file(&k, "g", 6, 0, "copied");
	ck_assert_int_eq(setup(&k, node, 0, RD | WR), 0);
	(void)window_mend(&w.w);
	fd = openat(k.fd, "f", O_RDWR | O_CLOEXEC);
	bug_on(pwrite(fd, "lookup", 6, 4096) != 6);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), 0);
	ck_assert(fw_has(&w, 4096, "lookup"));

	bug_on(pwrite(fd, "list", 4, 8192) != 4);
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, true), 0);
	ck_assert(fw_has(&w, 8192, "list"));

	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	cp.fh_out = fa.fh = k.fh;
	cp.nodeid_out = node;
	ck_assert_int_eq(fk_open(&k, from, O_RDONLY), 0);
	cp.fh_in = k.fh;
	ck_assert_int_eq(fk_op(&k, FUSE_COPY_FILE_RANGE, from, &cp, sizeof(cp),
			       FK_NO_NAMES),
			 0);
	ck_assert(fw_has(&w, 12288, "copied"));

	ck_assert_int_eq(
		fk_op(&k, FUSE_FALLOCATE, node, &fa, sizeof(fa), FK_NO_NAMES),
		0);
	ck_assert_int_eq(fw_put(&w, 16384, "by guest"), 0);
	ck_assert(host_has(&k, "f", 16384, "by guest"));
	base_closep(&fd);
	end(&k, &w);
}
END_TEST

/* A write to a hole needs room, of which a vCPU could not be told the want. */
START_TEST(room_is_made_before_the_guest_may_write)
{
	struct fuse_window w;
	struct fuse_kit k;
	struct stat st;
	uint64_t node;

	start(&k, &w, NULL);
	node = file(&k, "f", 1 << 20, 0, "x");
	ck_assert_int_eq(setup(&k, node, 0, RD), 0);
	bug_on(fstatat(k.fd, "f", &st, 0) < 0);
	ck_assert_int_lt(st.st_blocks, 2048);
	ck_assert_int_eq(setup(&k, node, 0, RD | WR), 0);
	bug_on(fstatat(k.fd, "f", &st, 0) < 0);
	ck_assert_int_ge(st.st_blocks, 2048);
	ck_assert_int_eq(st.st_size, 1 << 20);
	/* And no more than the file is long. */
	ck_assert_int_lt(st.st_blocks, 4096);
	end(&k, &w);
}
END_TEST

START_TEST(all_goes_with_the_session)
{
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node;

	start(&k, &w, NULL);
	node = file(&k, "f", 100, 0, "text");
	ck_assert_int_eq(setup(&k, node, 0, RD | WR), 0);
	fk_forget(&k, node, 1);
	ck_assert(fw_has(&w, 0, "text"));
	ck_assert_int_eq(fk_op(&k, FUSE_DESTROY, 0, NULL, 0, FK_NO_NAMES), 0);
	ck_assert_uint_eq(w.w.n_mapped, 0);
	ck_assert_int_eq(fw_byte(&w, 0), 0);
	ck_assert_int_eq(setup(&k, ROOT, 0, RD), -EIO);
	ck_assert_int_eq(fk_start(&k), 0);
	node = file(&k, "f", 100, 0, "text");
	ck_assert_int_eq(setup(&k, node, 0, RD | WR), 0);
	ck_assert_int_eq(fw_put(&w, SLOT, "own"), 0);
	fs_server_reset(k.s);
	ck_assert_uint_eq(w.w.n_mapped, 0);
	ck_assert_int_eq(fw_byte(&w, SLOT), 0);
	ck_assert_int_eq(fk_start(&k), 0);
	end(&k, &w);
}
END_TEST

START_TEST(no_descriptor_and_no_memory_is_lost)
{
	struct fuse_window w;
	struct fuse_kit k;
	struct fs_stats before, after;
	uint64_t node;

	start(&k, &w, NULL);
	node = file(&k, "f", 100, 0, "text");
	fs_server_stats(k.s, &before);
	for (unsigned int i = 0; i < 100; i++)
		ck_assert_int_eq(
			setup(&k, node, i % SLOTS * SLOT, i % 2 ? RD : RD | WR),
			0);
	fs_server_stats(k.s, &after);
	ck_assert_uint_eq(after.n_fds, before.n_fds);
	ck_assert_uint_eq(after.n_inodes, before.n_inodes);
	ck_assert_uint_eq(w.w.n_mapped, SLOTS);
	end(&k, &w);
}
END_TEST

/* Data goes there by system calls; what cannot be had is that request's loss. */
START_TEST(request_in_the_window_fails_if_its_page_is_no_more)
{
	struct fuse_read_in rd = { .size = 8 };
	struct fuse_out_header head;
	struct fuse_in_header h = { .opcode = FUSE_READ,
				    .len = sizeof(h) + sizeof(rd) };
	struct iovec in[2], out[2];
	struct fuse_window w;
	struct fuse_kit k;
	uint64_t node;
	int fd;

	start(&k, &w, NULL);
	node = file(&k, "page", 8192, 0, "before");
	ck_assert_int_eq(setup(&k, node, 0, RD | WR), 0);
	h.nodeid = file(&k, "f", 8, 0, "12345678");
	ck_assert_int_eq(fk_open(&k, h.nodeid, O_RDWR), 0);
	rd.fh = k.fh;
	in[0] = (struct iovec){ &h, sizeof(h) };
	in[1] = (struct iovec){ &rd, sizeof(rd) };
	out[0] = (struct iovec){ &head, sizeof(head) };
	out[1] = (struct iovec){ w.w.hva + 4096, 8 };
	ck_assert_uint_eq(fs_serve(k.s, in, 2, out, 2), sizeof(head) + 8);
	ck_assert_int_eq(head.error, 0);
	ck_assert(host_has(&k, "page", 4096, "12345678"));

	/* Header and answer may be there too. */
	fd = openat(k.fd, "page", O_RDWR | O_CLOEXEC);
	bug_on(pwrite(fd, &h, sizeof(h), 1000) != sizeof(h));
	bug_on(pwrite(fd, &rd, sizeof(rd), 2000) != sizeof(rd));
	in[0].iov_base = w.w.hva + 1000;
	in[1].iov_base = w.w.hva + 2000;
	out[0].iov_base = w.w.hva + 3000;
	ck_assert_uint_eq(fs_serve(k.s, in, 2, out, 2), sizeof(head) + 8);
	bug_on(pread(fd, &head, sizeof(head), 3000) != sizeof(head));
	ck_assert_int_eq(head.error, 0);
	ck_assert_uint_eq(head.len, sizeof(head) + 8);

	/* The data's page is no more, then the answer's, then the request's. */
	bug_on(ftruncate(fd, 4096) < 0);
	ck_assert_uint_eq(fs_serve(k.s, in, 2, out, 2), sizeof(head));
	bug_on(pread(fd, &head, sizeof(head), 3000) != sizeof(head));
	ck_assert_int_eq(head.error, -EFAULT);
	out[0].iov_base = w.w.hva + 5000;
	ck_assert_uint_eq(fs_serve(k.s, in, 2, out, 2), 0);
	out[0].iov_base = &head;
	in[1].iov_base = w.w.hva + 5000;
	ck_assert_uint_eq(fs_serve(k.s, in, 2, out, 2), sizeof(head));
	ck_assert_int_eq(head.error, -EFAULT);
	in[0].iov_base = w.w.hva + 5000;
	ck_assert_uint_eq(fs_serve(k.s, in, 2, out, 2), 0);
	base_closep(&fd);
	end(&k, &w);
}
END_TEST

CHECK_MAIN("fs_dax", without_a_window_nothing_is_offered,
	   alignment_and_dax_by_inode_are_agreed_on,
	   always_means_all_regular_files, inode_means_large_files,
	   guest_and_host_see_the_same_bytes, mapping_goes_by_place_in_the_file,
	   numbers_that_do_not_fit_are_refused,
	   removals_are_all_checked_before_the_first,
	   handle_has_to_have_the_right,
	   only_regular_files_that_the_guest_knows,
	   symlinks_and_devices_of_a_mapped_tree_are_no_files,
	   readonly_share_is_mapped_for_reading_alone,
	   file_without_a_name_is_mapped_while_it_is_open,
	   file_that_ends_early_is_seen_again_when_it_grows,
	   bytes_are_there_when_the_guest_hears_of_them,
	   room_is_made_before_the_guest_may_write, all_goes_with_the_session,
	   no_descriptor_and_no_memory_is_lost,
	   request_in_the_window_fails_if_its_page_is_no_more)
