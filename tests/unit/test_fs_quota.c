/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_quota.c - a share that may not grow beyond what was said */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "common/mapped.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "vmm/fs/quota.h"

#define ROOT FUSE_ROOT_ID
#define MIB  (1ull << 20)

#define WORKERS 4
#define NAMES   6

static struct fs_opts quota(uint64_t bytes, uint64_t inodes)
{
	struct fs_opts o = fk_usual();

	o.owner = FS_OWNER_MAPPED;
	o.quota_bytes = bytes;
	o.quota_inodes = inodes;
	return o;
}

static void start(struct fuse_kit *k, uint64_t bytes, uint64_t inodes)
{
	struct fs_opts o = quota(bytes, inodes);

	fk_init(k, &o);
}

static struct treesize used(struct fuse_kit *k)
{
	struct fs_stats st;

	fs_server_stats(k->s, &st);
	return (struct treesize){ .bytes = st.bytes, .inodes = st.inodes };
}

/* What a walk finds is what was counted all along. */
static void expect_true(struct fuse_kit *k)
{
	struct treesize u = used(k), w;

	ck_assert_int_eq(treesize_count(k->fd, &w), 0);
	ck_assert_uint_eq(u.bytes, w.bytes);
	ck_assert_uint_eq(u.inodes, w.inodes);
}

/* The same, when the guest has let go of all that has no name. */
static void expect_true_in_the_end(struct fuse_kit *k)
{
	fs_server_reset(k->s);
	expect_true(k);
	ck_assert_int_eq(fk_start(k), 0);
}

static uint64_t make(struct fuse_kit *k, const char *name, uint32_t len)
{
	uint8_t *data = calloc(1, len ? len : 1);
	uint64_t node;

	ck_assert_ptr_nonnull(data);
	ck_assert_int_eq(fk_create(k, ROOT, name, O_RDWR, 0600), 0);
	node = k->entry.nodeid;
	if (len)
		ck_assert_int_eq(fk_write(k, node, k->fh, 0, data, len), len);
	free(data);
	return node;
}

static struct fuse_kstatfs statfs_of(struct fuse_kit *k)
{
	struct fuse_statfs_out out;

	ck_assert_int_eq(fk_op(k, FUSE_STATFS, ROOT, NULL, 0, FK_NO_NAMES), 0);
	ck_assert_uint_eq(k->len, sizeof(out));
	memcpy(&out, k->body, sizeof(out));
	return out.st;
}

START_TEST(bytes_end_where_they_were_said_to)
{
	struct fuse_setattr_in in = { .valid = FATTR_SIZE };
	static uint8_t data[MIB];
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node, room, got = 0;
	int n;

	start(&k, 4 * MIB, 0);
	room = 4 * MIB - used(&k).bytes;
	node = make(&k, "f", 0);
	while ((n = fk_write(&k, node, k.fh, got, data, MIB)) > 0)
		got += (uint64_t)n;
	ck_assert_int_eq(n, -ENOSPC);
	/* To the last block, but for what a name may have cost. */
	ck_assert_uint_le(got, room);
	ck_assert_uint_gt(got, room - 5ull * FS_QUOTA_BLOCK);
	ck_assert_uint_eq(statfs_of(&k).bfree, 0);
	/* What is there can be read, changed, and made less. */
	ck_assert_int_eq(fk_write(&k, node, k.fh, 0, "1", 1), 1);
	ck_assert_int_eq(fk_write(&k, node, k.fh, got - 1, "1", 1), 1);
	ck_assert_int_eq(fk_write(&k, node, k.fh, got, "1", 1), -ENOSPC);
	in.size = got + 1;
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), -ENOSPC);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.size, got);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), -ENOSPC);
	ck_assert_int_eq(fk_symlink(&k, ROOT, "l", "x"), -ENOSPC);
	ck_assert_int_eq(fk_rename(&k, ROOT, "f", ROOT, "g", 0), 0);
	in.size = 1;
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), 0);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	expect_true(&k);
	/* A sparse file counts as if it were full. */
	in.size = 1ull << 40;
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), -ENOSPC);
	in.size = 3 * MIB;
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), 0);
	ck_assert_uint_ge(used(&k).bytes, 3 * MIB);
	ck_assert_int_eq(fk_open(&k, node, O_RDWR | O_TRUNC), 0);
	ck_assert_uint_lt(used(&k).bytes, MIB);
	expect_true_in_the_end(&k);
	fk_done(&k);
}
END_TEST

START_TEST(inodes_end_too)
{
	struct fuse_kit k;
	char name[16];
	int made = 0;

	start(&k, 64 * MIB, 20);
	ck_assert_uint_eq(used(&k).inodes, 1);
	ck_assert_uint_eq(statfs_of(&k).files, 20);
	ck_assert_uint_eq(statfs_of(&k).ffree, 19);
	for (;; made++) {
		(void)snprintf(name, sizeof(name), "n%d", made);
		if (fk_mknod(&k, ROOT, name, S_IFREG | 0600, 0) < 0)
			break;
	}
	ck_assert_int_eq(made, 19);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), -ENOSPC);
	ck_assert_int_eq(fk_tmpfile(&k, ROOT, O_RDWR, 0600), -ENOSPC);
	ck_assert_int_eq(fk_rename(&k, ROOT, "n0", ROOT, "n1", RENAME_WHITEOUT),
			 -ENOSPC);
	/* What is there can be opened, be there room or not, and be linked. */
	ck_assert_int_eq(fk_create(&k, ROOT, "n1", O_RDWR, 0600), 0);
	ck_assert_int_eq(fk_create(&k, ROOT, "new", O_RDWR, 0600), -ENOSPC);
	ck_assert_int_eq(fk_create(&k, ROOT, "n1", O_RDWR | O_EXCL, 0600),
			 -ENOSPC);
	ck_assert_int_eq(fk_link(&k, fk_at(&k, "n1"), ROOT, "l"), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "l"), 0);
	ck_assert_int_eq(fk_rename(&k, ROOT, "n2", ROOT, "n3", 0), 0);
	expect_true_in_the_end(&k);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	expect_true_in_the_end(&k);
	fk_done(&k);
}
END_TEST

/* Return: how many folders there could be made */
static int make_folders(struct fuse_kit *k, const char *prefix)
{
	char name[32];
	int made = 0;

	do
		(void)snprintf(name, sizeof(name), "%s%d", prefix, made);
	while (fk_mkdir(k, ROOT, name, 0700) == 0 && ++made < 1000);
	return made;
}

/* Else overlayfs could not have its work folder, and nothing could go. */
START_TEST(upper_layer_that_is_full_has_room_for_names)
{
	struct fs_opts o = quota(MIB, 0);
	struct fuse_setattr_in in = { .valid = FATTR_SIZE };
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t f, before;

	o.upper = true;
	fk_init(&k, &o);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "w", 0700), 0);
	f = make(&k, "f", 0);
	for (in.size = MIB; fk_setattr(&k, f, &in, &attr) < 0;)
		in.size -= FS_QUOTA_BLOCK;
	ck_assert_int_eq(fk_create(&k, ROOT, "n", O_RDWR, 0600), -ENOSPC);
	ck_assert_int_eq(fk_symlink(&k, ROOT, "l", "x"), -ENOSPC);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "n", S_IFREG | 0600, 0), 0);
	ck_assert_int_eq(fk_open(&k, k.entry.nodeid, O_RDWR), 0);
	ck_assert_int_eq(fk_write(&k, k.entry.nodeid, k.fh, 0, "1", 1),
			 -ENOSPC);
	ck_assert_int_eq(fk_rename(&k, ROOT, "n", ROOT, "m", RENAME_WHITEOUT),
			 0);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "wh", S_IFCHR, 0), 0);
	ck_assert_int_eq(fk_link(&k, k.entry.nodeid, ROOT, "wh2"), 0);
	ck_assert_int_eq(fk_rename(&k, ROOT, "wh2", k.entry.nodeid, "x", 0),
			 -ENOTDIR);
	ck_assert_int_eq(fk_rename(&k, ROOT, "wh2", fk_at(&k, "w"), "x", 0), 0);
	/* Not for ever; nor does it keep a file from getting another name. */
	ck_assert_int_gt(make_folders(&k, "a"), 0);
	ck_assert_uint_le(used(&k).bytes, MIB + 2ull * FS_QUOTA_RESERVE);
	ck_assert_uint_le(used(&k).inodes,
			  MIB / FS_QUOTA_INODE_BYTES +
				  2ull * FS_QUOTA_RESERVE_INODES);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "o", S_IFREG | 0600, 0), -ENOSPC);
	ck_assert_int_eq(fk_rename(&k, ROOT, "f", ROOT, "g", 0), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "m"), 0);
	expect_true_in_the_end(&k);
	/* Whatever was used up, the next start has some. */
	before = used(&k).bytes;
	fs_server_free(k.s);
	k.s = NULL;
	fk_serve(&k, &o);
	ck_assert_int_eq(fk_start(&k), 0);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "o", S_IFREG | 0600, 0), 0);
	ck_assert_int_gt(make_folders(&k, "b"), 0);
	ck_assert_uint_le(used(&k).bytes, before + 2ull * FS_QUOTA_RESERVE);
	ck_assert_int_eq(fk_create(&k, ROOT, "n2", O_RDWR, 0600), -ENOSPC);
	expect_true_in_the_end(&k);
	fk_done(&k);
}
END_TEST

/* It is there until the guest has let go of it. */
START_TEST(what_has_no_name_counts_on)
{
	struct fuse_kit k;
	struct treesize before;
	uint64_t node, fh;

	start(&k, 8 * MIB, 0);
	before = used(&k);
	node = make(&k, "f", MIB);
	fh = k.fh;
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	ck_assert_uint_eq(used(&k).bytes, before.bytes + MIB);
	ck_assert_int_eq(fk_write(&k, node, fh, MIB, "1", 1), 1);
	ck_assert_uint_eq(used(&k).bytes, before.bytes + MIB + FS_QUOTA_BLOCK);
	ck_assert_int_eq(fk_release(&k, node, fh), 0);
	ck_assert_uint_eq(used(&k).inodes, before.inodes + 1);
	fk_forget(&k, node, 1);
	ck_assert_uint_eq(used(&k).bytes, before.bytes);
	ck_assert_uint_eq(used(&k).inodes, before.inodes);

	ck_assert_int_eq(fk_tmpfile(&k, ROOT, O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	fh = k.fh;
	ck_assert_int_eq(fk_write(&k, node, fh, 0, "1", 1), 1);
	ck_assert_uint_eq(used(&k).inodes, before.inodes + 1);
	ck_assert_int_eq(fk_link(&k, node, ROOT, "t"), 0);
	ck_assert_int_eq(fk_release(&k, node, fh), 0);
	fk_forget(&k, node, 2);
	expect_true(&k);
	ck_assert_uint_eq(used(&k).bytes, before.bytes + FS_QUOTA_BLOCK);

	ck_assert_int_eq(fk_tmpfile(&k, ROOT, O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	fk_forget(&k, node, 1);
	/* One that the guest does not know goes at once. */
	ck_assert_int_eq(fk_unlink(&k, ROOT, "t"), 0);
	ck_assert_uint_eq(used(&k).bytes, before.bytes);
	ck_assert_uint_eq(used(&k).inodes, before.inodes);
	fk_done(&k);
}
END_TEST

static int allocate(struct fuse_kit *k, uint64_t node, uint32_t mode,
		    uint64_t off, uint64_t len)
{
	struct fuse_fallocate_in in = {
		.fh = k->fh, .offset = off, .length = len, .mode = mode
	};

	return fk_op(k, FUSE_FALLOCATE, node, &in, sizeof(in), FK_NO_NAMES);
}

START_TEST(nothing_is_to_be_had_beside_the_size)
{
	struct fuse_copy_file_range_in cp = { .len = MIB, .off_out = MIB };
	struct fuse_kit k;
	uint64_t node;

	start(&k, 4 * MIB, 0);
	node = make(&k, "f", MIB);
	ck_assert_int_eq(allocate(&k, node, 0, 0, 2 * MIB), 0);
	ck_assert_int_eq(allocate(&k, node, 0, 0, 8 * MIB), -ENOSPC);
	ck_assert_int_eq(allocate(&k, node, FALLOC_FL_KEEP_SIZE, 0, 3 * MIB),
			 -EOPNOTSUPP);
	ck_assert_int_eq(allocate(&k, node,
				  FALLOC_FL_KEEP_SIZE | FALLOC_FL_ZERO_RANGE, 0,
				  3 * MIB),
			 -EOPNOTSUPP);
	ck_assert_int_eq(allocate(&k, node, FALLOC_FL_KEEP_SIZE, 0, 2 * MIB),
			 0);
	ck_assert_int_eq(allocate(&k, node,
				  FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0,
				  9 * MIB),
			 0);
	cp.fh_in = cp.fh_out = k.fh;
	cp.nodeid_out = node;
	ck_assert_int_eq(fk_op(&k, FUSE_COPY_FILE_RANGE, node, &cp, sizeof(cp),
			       FK_NO_NAMES),
			 0);
	cp.off_out = 4 * MIB;
	ck_assert_int_eq(fk_op(&k, FUSE_COPY_FILE_RANGE, node, &cp, sizeof(cp),
			       FK_NO_NAMES),
			 -ENOSPC);
	expect_true_in_the_end(&k);
	fk_done(&k);
}
END_TEST

START_TEST(attributes_are_held_to_a_block)
{
	static uint8_t value[FS_QUOTA_XATTR_MAX];
	struct fuse_kit k;
	uint64_t node;

	start(&k, 4 * MIB, 0);
	node = make(&k, "f", 0);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", value,
				     FS_QUOTA_XATTR_MAX - 5, 0),
			 -ENOSPC);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", value, 2000, 0), 0);
	/* In place of the other, not beside it. */
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", value, 2500, 0), 0);
	ck_assert_int_eq(fk_setxattr(&k, node, "trusted.b", value, 2000, 0),
			 -ENOSPC);
	ck_assert_int_eq(fk_setxattr(&k, node, "trusted.b", value, 1000, 0), 0);
	ck_assert_int_eq(fk_removexattr(&k, node, "user.a"), 0);
	ck_assert_int_eq(fk_setxattr(&k, node, "user.c", value, 2000, 0), 0);
	fk_done(&k);
}
END_TEST

/* The next server, of the same folder. */
static void restart(struct fuse_kit *k, uint64_t bytes)
{
	struct fs_opts o = quota(bytes, 0);

	fs_server_free(k->s);
	k->s = NULL;
	fk_serve(k, &o);
	ck_assert_int_eq(fk_start(k), 0);
}

static bool has_mark(struct fuse_kit *k)
{
	return fgetxattr(k->fd, "user.hutch.quota", NULL, 0) > 0;
}

START_TEST(count_goes_from_one_server_to_the_next)
{
	struct fuse_kit k;
	struct treesize u;

	start(&k, 4 * MIB, 0);
	(void)make(&k, "f", 100000);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	(void)make(&k, "g", 5000);
	fs_server_settle(k.s);
	u = used(&k);
	ck_assert(has_mark(&k));
	/* Nothing can change any more. */
	ck_assert_int_eq(fk_start(&k), -EIO);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), -EIO);
	/* It is believed: what the host added meanwhile is not seen. */
	fk_host_file(&k, "more", "1");
	restart(&k, 4 * MIB);
	ck_assert(!has_mark(&k));
	ck_assert_uint_eq(used(&k).bytes, u.bytes);
	ck_assert_uint_eq(used(&k).inodes, u.inodes);
	fs_server_settle(k.s);
	/* Of another start of the host it would not be. */
	ck_assert_int_eq(fsetxattr(k.fd, "user.hutch.quota", "bad", 3, 0), 0);
	restart(&k, 4 * MIB);
	ck_assert(!has_mark(&k));
	ck_assert_uint_eq(used(&k).inodes, u.inodes + 1);
	expect_true(&k);
	/* The guest does not see it, nor can it make one. */
	ck_assert_int_eq(fk_setxattr(&k, ROOT, "user.hutch.quota", "1", 1, 0),
			 -EOPNOTSUPP);
	fk_done(&k);
}
END_TEST

START_TEST(smaller_quota_than_what_is_there)
{
	struct fuse_kit k;
	uint64_t node;

	start(&k, 8 * MIB, 0);
	(void)make(&k, "f", 1000000);
	(void)make(&k, "g", 1000000);
	restart(&k, MIB);
	ck_assert_uint_eq(statfs_of(&k).bfree, 0);
	ck_assert_uint_eq(statfs_of(&k).blocks, MIB / FS_QUOTA_BLOCK);
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	ck_assert_int_eq(fk_write(&k, node, k.fh, 0, "1", 1), 1);
	ck_assert_int_eq(fk_write(&k, node, k.fh, 1010000, "1", 1), -ENOSPC);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), -ENOSPC);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "g"), 0);
	expect_true_in_the_end(&k);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	fk_done(&k);
}
END_TEST

/* Deeper than folders are kept open, and with files of several names. */
START_TEST(walk_counts_deep_trees_and_links_once)
{
	struct fuse_kit k;
	uint64_t dir = ROOT, top = 0, f = 0;
	char name[200];

	start(&k, 64 * MIB, 0);
	f = make(&k, "f", 10000);
	memset(name, 'd', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 60; i++) {
		ck_assert_int_eq(fk_mkdir(&k, dir, "a", 0700), 0);
		ck_assert_int_eq(fk_link(&k, f, dir, "b"), 0);
		ck_assert_int_eq(fk_symlink(&k, dir, "c", "x"), 0);
		ck_assert_int_eq(fk_mkdir(&k, dir, name, 0700), 0);
		dir = k.entry.nodeid;
		top = top ? top : dir;
		if (i % 20 == 0)
			f = make(&k, i ? "g" : "h", 5000);
	}
	ck_assert_int_eq(fk_link(&k, top, dir, "no"), -EPERM);
	expect_true(&k);
	restart(&k, 64 * MIB);
	expect_true(&k);
	fk_done(&k);
}
END_TEST

struct worker {
	struct fuse_kit k;
	unsigned int seed;
	unsigned int turns;
};

static unsigned int draw(struct worker *w, unsigned int n)
{
	w->seed = w->seed * 1103515245 + 12345;
	return (w->seed >> 16) % n;
}

static const char *name(struct worker *w)
{
	static const char *const names[NAMES] = {
		"a", "b", "c", "d", "e", "f"
	};

	return names[draw(w, NAMES)];
}

static void change_size(struct worker *w, uint64_t node, uint64_t fh)
{
	static const uint8_t data[20000];
	struct fuse_copy_file_range_in cp = { .fh_in = fh,
					      .fh_out = fh,
					      .nodeid_out = node,
					      .off_out = draw(w, 200000),
					      .len = draw(w, 30000) };
	struct fuse_setattr_in set = { .valid = FATTR_SIZE | FATTR_FH,
				       .fh = fh,
				       .size = draw(w, 400000) };
	struct fuse_write_in wr = { .fh = fh,
				    .size = draw(w, sizeof(data)),
				    .flags = O_APPEND };
	struct fuse_kit *k = &w->k;

	k->fh = fh;
	switch (draw(w, 7)) {
	case 0:
		(void)fk_setattr(k, node, &set, NULL);
		break;
	case 1:
		(void)fk_write_as(k, &wr, node, data);
		break;
	case 2:
		(void)allocate(k, node, 0, draw(w, 300000), 1 + draw(w, 9999));
		break;
	case 3:
		(void)allocate(k, node,
			       FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			       draw(w, 300000), 1 + draw(w, 99999));
		break;
	case 4:
		(void)fk_op(k, FUSE_COPY_FILE_RANGE, node, &cp, sizeof(cp),
			    FK_NO_NAMES);
		break;
	default:
		(void)fk_write(k, node, fh, draw(w, 300000), data,
			       draw(w, sizeof(data)));
	}
}

static void use(struct worker *w, uint64_t node)
{
	struct fuse_kit *k = &w->k;
	uint64_t fh;

	if (fk_open(k, node, O_RDWR | (draw(w, 8) ? 0 : O_TRUNC)) < 0)
		return;
	fh = k->fh;
	for (unsigned int n = draw(w, 4); n > 0; n--)
		change_size(w, node, fh);
	(void)fk_setxattr(k, node, "user.a", "123", draw(w, 4), 0);
	/* Some are never closed. */
	if (draw(w, 16))
		(void)fk_release(k, node, fh);
}

static void turn(struct worker *w)
{
	static const uint32_t how[] = {
		0, 0, 0, RENAME_EXCHANGE, RENAME_WHITEOUT, RENAME_NOREPLACE
	};
	struct fuse_kit *k = &w->k;
	uint64_t dir = ROOT, other = ROOT, node;

	if (draw(w, 2) && fk_lookup(k, ROOT, name(w)) == 0)
		dir = k->entry.nodeid;
	if (draw(w, 2) && fk_lookup(k, ROOT, name(w)) == 0)
		other = k->entry.nodeid;
	k->entry.nodeid = 0;
	switch (draw(w, 12)) {
	case 0:
	case 1:
		(void)fk_create(k, dir, name(w), O_RDWR, 0644);
		break;
	case 2:
		(void)fk_mkdir(k, dir, name(w), 0755);
		break;
	case 3:
		(void)fk_unlink(k, dir, name(w));
		break;
	case 4:
		(void)fk_rmdir(k, dir, name(w));
		break;
	case 5:
	case 6:
		(void)fk_rename(k, dir, name(w), other, name(w),
				how[draw(w, ARRAY_LEN(how))]);
		break;
	case 7:
		if (fk_lookup(k, dir, name(w)) == 0)
			(void)fk_link(k, k->entry.nodeid, other, name(w));
		break;
	case 8:
		(void)fk_symlink(k, dir, name(w), "target");
		break;
	case 9:
		(void)fk_mknod(k, dir, name(w),
			       draw(w, 2) ? S_IFCHR : S_IFIFO | 0600, 0);
		break;
	case 10:
		if (fk_tmpfile(k, dir, O_RDWR, 0600) == 0 && draw(w, 2))
			(void)fk_link(k, k->entry.nodeid, dir, name(w));
		break;
	default:
		(void)fk_lookup(k, dir, name(w));
	}
	node = k->entry.nodeid;
	if (node && S_ISREG(k->entry.attr.mode))
		use(w, node);
	if (node && draw(w, 2))
		fk_forget(k, node, draw(w, 3));
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (unsigned int i = 0; i < w->turns; i++)
		turn(w);
	return NULL;
}

/* Each a guest of its own to the same server, in each other's way. */
static void let_work(struct fuse_kit *k, unsigned int seed, unsigned int turns)
{
	struct worker w[WORKERS] = { 0 };
	pthread_t t[WORKERS];

	for (unsigned int i = 0; i < WORKERS; i++) {
		w[i].k = *k;
		w[i].k.body = NULL;
		w[i].seed = seed * 77 + i;
		w[i].turns = turns;
		ck_assert_int_eq(pthread_create(&t[i], NULL, work, &w[i]), 0);
	}
	for (unsigned int i = 0; i < WORKERS; i++) {
		ck_assert_int_eq(pthread_join(t[i], NULL), 0);
		free(w[i].k.body);
	}
}

/* Small enough that much of it is refused; the second half is an upper's. */
START_TEST(count_never_drifts)
{
	unsigned int turns = check_size(500, 5000);
	struct fs_opts o = quota(2 * MIB, 40);
	struct fuse_kit k;

	fk_init(&k, &o);
	for (unsigned int i = 0; i < 8; i++) {
		if (i == 4) {
			o.upper = true;
			fs_server_free(k.s);
			fk_serve(&k, &o);
			ck_assert_int_eq(fk_start(&k), 0);
		}
		let_work(&k, i + 1, turns);
		ck_assert_uint_le(used(&k).bytes,
				  2 * MIB + (o.upper ? 2ull : 0) *
						    FS_QUOTA_RESERVE);
		ck_assert_uint_le(used(&k).inodes,
				  40 + (o.upper ? 2 : 0) *
						  FS_QUOTA_RESERVE_INODES);
		expect_true_in_the_end(&k);
	}
	restart(&k, 2 * MIB);
	expect_true(&k);
	fk_done(&k);
}
END_TEST

START_TEST(killed_server_leaves_a_tree_that_is_counted)
{
	struct fs_opts o = quota(2 * MIB, 40);
	struct fuse_kit k;
	int status;

	fk_scratch(&k);
	for (unsigned int i = 0; i < 5; i++) {
		pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (pid == 0) {
			fk_serve(&k, &o);
			bug_on(fk_start(&k) != 0);
			for (;;)
				let_work(&k, i + 1, 1000);
		}
		(void)usleep(100000);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(!has_mark(&k));
		fk_serve(&k, &o);
		ck_assert_int_eq(fk_start(&k), 0);
		expect_true(&k);
		let_work(&k, i + 1, 20);
		expect_true_in_the_end(&k);
		fs_server_free(k.s);
		k.s = NULL;
	}
	fk_done(&k);
}
END_TEST

static void expect_refused(struct fs_opts o, const char *word)
{
	struct fs_server *s = NULL;
	struct err e = { 0 };

	o.root_fd = open("/tmp", O_PATH | O_CLOEXEC);
	ck_assert_int_lt(fs_server_new(&o, &s, &e), 0);
	ck_assert_msg(strstr(e.msg, word) != NULL, "%s", e.msg);
}

START_TEST(quota_that_cannot_be_is_refused)
{
	struct fs_opts o = quota(FS_QUOTA_MIN, 0);

	o.ro = true;
	expect_refused(o, "writable folder");
	o = quota(FS_QUOTA_MIN, 0);
	o.owner = FS_OWNER_HOST;
	expect_refused(o, "owner=mapped");
	expect_refused(quota(FS_QUOTA_MIN - 1, 0), "at least");
	expect_refused(quota(UINT64_MAX, 0), "at least");
	expect_refused(quota(0, 5), "needs one of bytes");
}
END_TEST

CHECK_MAIN("fs_quota", bytes_end_where_they_were_said_to, inodes_end_too,
	   upper_layer_that_is_full_has_room_for_names,
	   what_has_no_name_counts_on, nothing_is_to_be_had_beside_the_size,
	   attributes_are_held_to_a_block,
	   count_goes_from_one_server_to_the_next,
	   smaller_quota_than_what_is_there,
	   walk_counts_deep_trees_and_links_once, count_never_drifts,
	   killed_server_leaves_a_tree_that_is_counted,
	   quota_that_cannot_be_is_refused)
