/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_loss.c - nothing is lost by a request that fails */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/rmtree.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "vmm/fs/quota.h"

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

/**
 * struct meddler - A host that moves a file over another's name
 * @k:		In whose folder; NULL when there is none
 * @from:	What it moves
 * @to:		Where to
 *
 * It does so within a system call of the server's, where no thread could be
 * sure to hit.
 */
static struct meddler {
	struct fuse_kit *k;
	const char *from;
	const char *to;
} meddler;

static void meddle(void)
{
	struct fuse_kit *k = meddler.k;

	meddler.k = NULL;
	if (k)
		fk_host_move(k, meddler.from, meddler.to);
}

/* In place of the C library's: the server makes the name, and then the host. */
int linkat(int fromfd, const char *from, int tofd, const char *to, int flags)
{
	int r = (int)syscall(SYS_linkat, fromfd, from, tofd, to, flags);

	if (r == 0)
		meddle();
	return r;
}

/* The same; what the host meddles with gets no attribute. */
int fsetxattr(int fd, const char *name, const void *value, size_t size,
	      int flags)
{
	if (meddler.k) {
		meddle();
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_fsetxattr, fd, name, value, size, flags);
}

START_TEST(link_leaves_what_the_host_put_there)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "1");
	fk_host_file(&k, "h", "the host's");
	node = fk_at(&k, "f");
	meddler = (struct meddler){ .k = &k, .from = "h", .to = "new" };

	ck_assert_int_eq(fk_link(&k, node, ROOT, "new"), -ESTALE);

	ck_assert_ptr_null(meddler.k);
	ck_assert_str_eq(fk_host_text(&k, "new"), "the host's");
	/* And is there to be found; the other is what it was. */
	ck_assert_int_eq(fk_lookup(&k, ROOT, "new"), 0);
	ck_assert_uint_ne(k.entry.nodeid, node);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.size, 1);
	fk_done(&k);
}
END_TEST

START_TEST(mapped_file_is_unmade_if_it_is_that)
{
	struct fs_opts o = fk_usual();
	struct fuse_kit k;

	o.owner = FS_OWNER_MAPPED;
	fk_init(&k, &o);
	fk_host_file(&k, "h", "the host's");
	meddler = (struct meddler){ .k = &k, .from = "h", .to = "new" };
	ck_assert_int_eq(fk_symlink(&k, ROOT, "new", "x"), -ENOSPC);
	ck_assert_ptr_null(meddler.k);
	ck_assert_str_eq(fk_host_text(&k, "new"), "the host's");
	/* Nobody's name as an owner: that cannot be. */
	k.uid = UINT32_MAX;
	ck_assert_int_eq(fk_symlink(&k, ROOT, "l", "x"), -EINVAL);
	ck_assert_int_eq(faccessat(k.fd, "l", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0755), -EINVAL);
	ck_assert_int_eq(faccessat(k.fd, "d", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	fk_done(&k);
}
END_TEST

static void expect_nothing(struct fuse_kit *k, const char *name,
			   const struct fs_stats *before)
{
	struct fs_stats after;
	struct treesize found;

	ck_assert_int_eq(faccessat(k->fd, name, F_OK, AT_SYMLINK_NOFOLLOW), -1);
	ck_assert_int_eq(fk_lookup(k, ROOT, name), -ENOENT);
	fs_server_stats(k->s, &after);
	ck_assert_uint_eq(after.n_handles, before->n_handles);
	ck_assert_uint_eq(after.inodes, before->inodes);
	ck_assert_int_eq(treesize_count(k->fd, &found), 0);
	ck_assert_uint_eq(after.inodes, found.inodes);
	ck_assert_uint_eq(after.bytes, found.bytes);
}

START_TEST(create_that_fails_makes_nothing)
{
	struct fs_opts o = fk_usual();
	struct fs_stats before;
	struct fuse_kit k;

	o.owner = FS_OWNER_MAPPED;
	o.quota_bytes = FS_QUOTA_MIN;
	fk_scratch(&k);
	fk_host_file(&k, "h", "the host's");
	fk_serve(&k, &o);
	ck_assert_int_eq(fk_start(&k), 0);
	fs_server_stats(k.s, &before);
	/* Nobody's name as an owner: that cannot be. */
	k.uid = UINT32_MAX;
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), -EINVAL);
	k.uid = 0;
	expect_nothing(&k, "f", &before);
	/* No room for an owner; and that file is no answer to who has asked. */
	meddler = (struct meddler){ .k = &k, .from = "h", .to = "h" };
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), -ENOSPC);
	ck_assert_ptr_null(meddler.k);
	expect_nothing(&k, "f", &before);
	/* What the host has put in its place stays. */
	meddler = (struct meddler){ .k = &k, .from = "h", .to = "new" };
	ck_assert_int_lt(fk_create(&k, ROOT, "new", O_RDWR | O_EXCL, 0600), 0);
	ck_assert_str_eq(fk_host_text(&k, "new"), "the host's");
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR | O_EXCL, 0600), 0);
	fk_done(&k);
}
END_TEST

/* More names than ext4 lets a file have, which is 65,000. */
#define NAMES_MAX 70000

/* On the host, beside the share. Return: names "NUMBER" until no more go */
static int give_all_names(struct fuse_kit *k, const char *file)
{
	char name[16];
	int n = 0;

	ck_assert_int_eq(mkdirat(k->top_fd, "names", 0700), 0);
	for (; n < NAMES_MAX; n++) {
		(void)snprintf(name, sizeof(name), "names/%d", n);
		if (linkat(k->fd, file, k->top_fd, name, 0) < 0)
			break;
	}
	return n;
}

/* How many names a file may have is the host's to say: EMLINK, and all as it was. */
START_TEST(link_beyond_the_hosts_limit_makes_nothing)
{
	struct fs_opts o = fk_usual();
	struct fs_stats before;
	struct fuse_kit k;
	uint64_t f;
	int n;

	o.owner = FS_OWNER_MAPPED;
	o.quota_bytes = FS_QUOTA_MIN;
	fk_init(&k, &o);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "f", S_IFREG | 0600, 0), 0);
	f = k.entry.nodeid;
	fs_server_stats(k.s, &before);
	n = give_all_names(&k, "f");
	if (n < NAMES_MAX) {
		ck_assert_int_eq(errno, EMLINK);
		ck_assert_int_eq(fk_link(&k, f, ROOT, "g"), -EMLINK);
		ck_assert_int_eq(fk_lookup(&k, ROOT, "g"), -ENOENT);
		ck_assert_int_eq(fk_rename(&k, ROOT, "f", ROOT, "h", 0), 0);
		ck_assert_int_eq(fk_rename(&k, ROOT, "h", ROOT, "f", 0), 0);
		ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), 0);
		ck_assert_uint_eq(k.entry.attr.nlink, n + 1);
	} else {
		(void)printf("# a file may have any number of names here\n");
	}
	ck_assert_int_eq(unlinkat(k.top_fd, "names/0", 0), 0);
	ck_assert_int_eq(fk_link(&k, f, ROOT, "g"), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "g"), 0);
	/* What has no name in the tree is not of it. */
	ck_assert_int_eq(rmtree(k.top_fd, "names"), 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), 0);
	expect_nothing(&k, "g", &before);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_loss", open_that_is_refused_truncates_nothing,
	   open_that_fails_leaves_no_handle,
	   error_in_the_middle_is_no_end_of_file,
	   link_leaves_what_the_host_put_there,
	   mapped_file_is_unmade_if_it_is_that, create_that_fails_makes_nothing,
	   link_beyond_the_hosts_limit_makes_nothing)
