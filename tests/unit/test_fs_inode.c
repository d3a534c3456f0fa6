/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_inode.c - what the server remembers, and what it holds */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "vmm/fs/handle.h"
#include "vmm/fs/ids.h"

#define ROOT FUSE_ROOT_ID

static struct fs_stats stats(struct fuse_kit *k)
{
	struct fs_stats st;

	fs_server_stats(k->s, &st);
	return st;
}

START_TEST(ids_are_found_stale_and_bounded)
{
	struct fs_ids ids = { .max = 100 };
	uint64_t id[100], more;
	int thing[100];

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(fs_ids_add(&ids, &thing[i], &id[i]), 0);
	ck_assert_uint_eq(id[0], 1);
	ck_assert_int_eq(fs_ids_add(&ids, &thing[0], &more), -ENFILE);
	for (int i = 0; i < 100; i++)
		ck_assert_ptr_eq(fs_ids_get(&ids, id[i]), &thing[i]);
	fs_ids_del(&ids, id[7]);
	ck_assert_ptr_null(fs_ids_get(&ids, id[7]));
	ck_assert_int_eq(fs_ids_add(&ids, &thing[7], &more), 0);
	ck_assert_uint_ne(more, id[7]);
	ck_assert_ptr_null(fs_ids_get(&ids, id[7]));
	ck_assert_ptr_eq(fs_ids_get(&ids, more), &thing[7]);
	ck_assert_ptr_null(fs_ids_get(&ids, 0));
	ck_assert_ptr_null(fs_ids_get(&ids, 101));
	ck_assert_ptr_null(fs_ids_get(&ids, UINT64_MAX));
	ck_assert_ptr_null(fs_ids_get(&ids, 1ull << 32 | 1));
	fs_ids_done(&ids);
}
END_TEST

START_TEST(forget_is_counted_and_more_is_all)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	node = fk_at(&k, "f");
	ck_assert_uint_eq(fk_at(&k, "f"), node);
	ck_assert_uint_eq(fk_at(&k, "f"), node);
	fk_forget(&k, node, 2);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	fk_forget(&k, node, UINT64_MAX);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), -ESTALE);
	fk_forget(&k, node, 1);
	fk_forget(&k, 12345, 1);
	fk_forget(&k, 0, 1);
	/* The root is not the guest's to forget. */
	fk_forget(&k, ROOT, UINT64_MAX);
	ck_assert_int_eq(fk_getattr(&k, ROOT, &attr), 0);
	ck_assert_uint_eq(stats(&k).n_inodes, 1);
	ck_assert_uint_le(stats(&k).n_fds, 1); /* the root's */
	fk_done(&k);
}
END_TEST

START_TEST(forget_of_a_folder_before_what_is_in_it)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t a, f;

	fk_init(&k, NULL);
	fk_host_dir(&k, "a");
	fk_host_dir(&k, "a/b");
	fk_host_file(&k, "a/b/f", "");
	a = fk_at(&k, "a");
	f = fk_at(&k, "a/b/f");
	fk_forget(&k, a, 100);
	ck_assert_int_eq(fk_getattr(&k, a, &attr), -ESTALE);
	ck_assert_int_eq(fk_open(&k, f, O_RDONLY), 0);
	ck_assert_int_eq(fk_release(&k, f, k.fh), 0);
	ck_assert_uint_eq(stats(&k).n_inodes, 4);
	fk_forget(&k, f, 1);
	/* "b" is known yet; when that goes, its parent does too. */
	ck_assert_uint_eq(stats(&k).n_inodes, 3);
	ck_assert_uint_ne(fk_at(&k, "a/b"), 0);
	fk_forget(&k, fk_at(&k, "a"), 100);
	fk_forget(&k, fk_at(&k, "a/b"), 100);
	fk_forget(&k, fk_at(&k, "a"), 100);
	ck_assert_uint_eq(stats(&k).n_inodes, 1);
	fk_done(&k);
}
END_TEST

START_TEST(forget_while_it_is_open)
{
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	fk_forget(&k, node, 9);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), -ESTALE);
	ck_assert_int_eq(fk_write(&k, node, k.fh, 0, "1", 1), 1);
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	ck_assert_uint_eq(stats(&k).n_inodes, 1);
	ck_assert_uint_eq(stats(&k).n_handles, 0);
	fk_done(&k);
}
END_TEST

static void batch(struct fuse_kit *k, uint32_t count,
		  const struct fuse_forget_one *one, size_t n)
{
	struct fuse_batch_forget_in in = { .count = count };
	size_t len = sizeof(in) + n * sizeof(*one);
	uint8_t *arg = malloc(len);

	ck_assert_ptr_nonnull(arg);
	memcpy(arg, &in, sizeof(in));
	memcpy(arg + sizeof(in), one, n * sizeof(*one));
	(void)fk_op(k, FUSE_BATCH_FORGET, 0, arg, len, FK_NO_NAMES);
	free(arg);
}

START_TEST(batch_forget_of_as_many_as_it_says)
{
	struct fuse_forget_one one[200];
	struct fuse_kit k;

	fk_init(&k, NULL);
	for (unsigned int i = 0; i < ARRAY_LEN(one); i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i);
		fk_host_file(&k, name, "");
		one[i].nodeid = fk_at(&k, name);
		one[i].nlookup = 1;
	}
	/* Its count and its length disagree: nothing is forgotten. */
	batch(&k, 201, one, 200);
	batch(&k, 199, one, 200);
	batch(&k, UINT32_MAX, one, 200);
	batch(&k, 0, one, 200);
	ck_assert_uint_eq(stats(&k).n_inodes, 201);
	batch(&k, 200, one, 200);
	ck_assert_uint_eq(stats(&k).n_inodes, 1);
	/* The same once more, and each twice in one. */
	batch(&k, 200, one, 200);
	one[0].nodeid = fk_at(&k, "5");
	one[1] = one[0];
	batch(&k, 2, one, 2);
	ck_assert_uint_eq(stats(&k).n_inodes, 1);
	fk_done(&k);
}
END_TEST

START_TEST(nodes_that_were_made_up_are_stale)
{
	static const uint64_t nodes[] = {
		0, 2, 77, 1ull << 32 | 1, UINT64_MAX, 0xffffffff, 1ull << 63,
	};
	struct fuse_attr attr;
	struct fuse_kit k;

	fk_init(&k, NULL);
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		uint64_t n = nodes[i];

		ck_assert_int_eq(fk_getattr(&k, n, &attr), -ESTALE);
		ck_assert_int_eq(fk_lookup(&k, n, "x"), -ESTALE);
		ck_assert_int_eq(fk_open(&k, n, O_RDONLY), -ESTALE);
		ck_assert_int_eq(fk_opendir(&k, n), -ESTALE);
		ck_assert_int_eq(fk_mkdir(&k, n, "x", 0700), -ESTALE);
		ck_assert_int_eq(fk_create(&k, n, "x", O_RDWR, 0), -ESTALE);
		ck_assert_int_eq(fk_unlink(&k, n, "x"), -ESTALE);
		ck_assert_int_eq(fk_rename(&k, n, "x", ROOT, "y", 0), -ESTALE);
		ck_assert_int_eq(fk_rename(&k, ROOT, "x", n, "y", 0), -ESTALE);
		ck_assert_int_eq(fk_link(&k, n, ROOT, "y"), -ESTALE);
		ck_assert_int_eq(fk_listxattr(&k, n, 9), -ESTALE);
	}
	fk_done(&k);
}
END_TEST

/* The bound of descriptors is no bound of files. */
START_TEST(more_files_than_descriptors_stay_in_reach)
{
	unsigned int n = check_size(5000, 1000000);
	uint64_t *node = calloc(n, sizeof(*node));
	struct fs_opts o = fk_usual();
	struct rlimit old, low;
	struct fuse_attr attr;
	struct fuse_kit k;
	char name[32];

	ck_assert_ptr_nonnull(node);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = MIN(old.rlim_cur, 1024);
	o.fds_max = FS_FDS_MIN;
	fk_init(&k, &o);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (unsigned int i = 0; i < n; i++) {
		if (i % 1000 == 0) {
			(void)snprintf(name, sizeof(name), "%u", i / 1000);
			fk_host_dir(&k, name);
		}
		(void)snprintf(name, sizeof(name), "%u/%u", i / 1000, i);
		fk_host_file(&k, name, "");
		node[i] = fk_at(&k, name);
		ck_assert_uint_le(stats(&k).n_fds, FS_FDS_MIN);
	}
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_int_eq(fk_getattr(&k, node[i], &attr), 0);
		ck_assert_int_eq(fk_open(&k, node[i], O_RDONLY), 0);
		ck_assert_int_eq(fk_release(&k, node[i], k.fh), 0);
		ck_assert_uint_le(stats(&k).n_fds, FS_FDS_MIN);
	}
	ck_assert_uint_ge(stats(&k).n_inodes, n);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	fk_done(&k);
	free(node);
}
END_TEST

START_TEST(open_files_are_bounded_and_nothing_is_lost)
{
	unsigned int max = FS_FDS_MIN - 32;
	uint64_t fh[FS_FDS_MIN];
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	o.fds_max = FS_FDS_MIN;
	fk_init(&k, &o);
	fk_host_file(&k, "f", "12");
	fk_host_file(&k, "g", "3");
	node = fk_at(&k, "f");
	for (unsigned int i = 0; i < max; i++) {
		ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
		fh[i] = k.fh;
	}
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), -ENFILE);
	ck_assert_int_eq(fk_opendir(&k, ROOT), -ENFILE);
	ck_assert_int_eq(fk_create(&k, ROOT, "new", O_RDWR, 0600), -ENFILE);
	ck_assert_int_lt(faccessat(k.fd, "new", F_OK, 0), 0);
	/* It would be lost without its name: so the name stays. */
	ck_assert_uint_ne(fk_at(&k, "g"), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "g"), -ENFILE);
	ck_assert_str_eq(fk_host_text(&k, "g"), "3");
	/* What needs no descriptor for long goes on. */
	ck_assert_int_eq(fk_getattr(&k, fk_at(&k, "g"), &attr), 0);
	ck_assert_int_eq(fk_read(&k, node, fh[0], 0, 9), 0);
	ck_assert(fk_body_is(&k, "12"));
	ck_assert_int_eq(fk_release(&k, node, fh[0]), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "g"), 0);
	fk_forget(&k, fk_at(&k, "f"), 0);
	for (unsigned int i = 1; i < max; i++)
		ck_assert_int_eq(fk_release(&k, node, fh[i]), 0);
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	fk_done(&k);
}
END_TEST

/* Others of this process have them all: what is only kept is given back. */
START_TEST(process_without_descriptors_closes_idle_ones)
{
	struct fs_opts o = fk_usual();
	struct rlimit old, low;
	struct fuse_kit k;
	char name[32];
	int top;

	o.fds_max = 1024;
	fk_init(&k, &o);
	for (unsigned int i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		fk_host_file(&k, name, "");
		(void)fk_at(&k, name);
	}
	ck_assert_uint_ge(stats(&k).n_fds, 200);
	top = dup(0);
	base_closep(&top);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = (rlim_t)top;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "7"), O_RDONLY), 0);
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "8"), O_RDONLY), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	fk_done(&k);
}
END_TEST

/* Only for want of descriptors is one closed, not for want of a file. */
/* The name can only go by losing the file: it stays. */
START_TEST(unlink_without_descriptors_loses_nothing)
{
	struct fuse_attr attr;
	struct rlimit old, low;
	struct fuse_kit k;
	uint64_t node, other;
	int pad[64], n = 0;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "12");
	fk_host_file(&k, "g", "");
	node = fk_at(&k, "f");
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = ARRAY_LEN(pad);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	while (n < (int)ARRAY_LEN(pad) && (pad[n] = dup(k.fd)) >= 0)
		n++;
	/* Idle descriptors are closed for it, and then that one is too. */
	other = fk_at(&k, "g");
	fk_forget(&k, other, 1);
	while (n < (int)ARRAY_LEN(pad) && (pad[n] = dup(k.fd)) >= 0)
		n++;
	ck_assert_uint_eq(stats(&k).n_fds, 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), -ENFILE);
	while (n > 0)
		(void)close(pad[--n]);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.size, 2);
	fk_done(&k);
}
END_TEST

/* LOOKUP has left a descriptor, which is neither lost nor in the way. */
START_TEST(unlinked_file_outlives_its_last_handle)
{
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fuse_kit k;
	char name[16];
	uint64_t node;

	o.fds_max = FS_FDS_MIN;
	fk_init(&k, &o);
	fk_host_file(&k, "f", "12");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	for (unsigned int i = 0; i < FS_FDS_MIN; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		fk_host_file(&k, name, "");
		(void)fk_at(&k, name);
	}
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.size, 2);
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	ck_assert_int_eq(fk_read(&k, node, k.fh, 0, 9), 0);
	ck_assert(fk_body_is(&k, "12"));
	fk_done(&k);
}
END_TEST

START_TEST(handle_that_is_closed_while_it_is_used_leaves_the_file)
{
	struct fs_handle *h = NULL;
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	/* As a request does that is under way. */
	ck_assert_int_eq(fs_handle_get(k.s, k.fh, node, false, &h), 0);
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	ck_assert_int_eq(fk_release(&k, node, k.fh), -EBADF);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	fs_handle_put(k.s, h);
	ck_assert_uint_eq(stats(&k).n_handles, 0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	fk_done(&k);
}
END_TEST

START_TEST(unlinked_file_is_opened_again_only_as_it_was)
{
	struct fuse_kit k;
	uint64_t node;

	fk_init(&k, NULL);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_WRONLY, 0600), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_unlink(&k, ROOT, "f"), 0);
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), -ESTALE);
	ck_assert_int_eq(fk_open(&k, node, O_WRONLY), 0);
	ck_assert_int_eq(fk_write(&k, node, k.fh, 0, "12", 2), 2);
	fk_done(&k);
}
END_TEST

START_TEST(name_that_is_not_there_closes_nothing)
{
	unsigned int before;
	struct fuse_kit k;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	(void)fk_at(&k, "f");
	before = stats(&k).n_fds;
	ck_assert_uint_gt(before, 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "none"), -ENOENT);
	ck_assert_uint_eq(stats(&k).n_fds, before);
	fk_done(&k);
}
END_TEST

/* Lookups, listings and opens that are forgotten leave nothing behind. */
START_TEST(forgotten_files_leave_memory_as_it_was)
{
	unsigned int n = check_size(20000, 1000000);
	struct fuse_kit k;
	size_t before = 0;
	uint64_t node;

	fk_init(&k, NULL);
	for (unsigned int i = 0; i < 10; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i);
		fk_host_file(&k, name, "");
	}
	for (unsigned int i = 0; i < n; i++) {
		char name[16];
		struct fk_dirent de;
		size_t at = 0;

		/* The first rounds fill what stays. */
		if (i == 1000)
			before = mallinfo2().uordblks;
		(void)snprintf(name, sizeof(name), "%u", i % 10);
		node = fk_at(&k, name);
		ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
		ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
		fk_forget(&k, node, 1);
		ck_assert_int_eq(fk_lookup(&k, ROOT, "none"), -ENOENT);
		if (i % 10)
			continue;
		ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
		ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 8192, true), 0);
		while (fk_dirent(&k, &at, true, &de))
			(void)0;
		for (at = 0; fk_dirent(&k, &at, true, &de);) {
			struct fuse_forget_one one = { de.entry.nodeid, 1 };
			uint8_t *body = k.body;
			size_t len = k.len;

			k.body = NULL;
			batch(&k, 1, &one, 1);
			free(k.body);
			k.body = body;
			k.len = len;
		}
		ck_assert_int_eq(fk_releasedir(&k, ROOT, k.fh), 0);
		ck_assert_uint_eq(stats(&k).n_inodes, 1);
		ck_assert_uint_eq(stats(&k).n_fds, 0);
	}
	/* Within what the test itself holds at one time and another. */
	ck_assert_uint_le(mallinfo2().uordblks, before + 65536);
	fk_done(&k);
}
END_TEST

START_TEST(deep_folders_are_reached_and_deeper_are_refused)
{
	char name[200];
	struct fuse_kit k;
	uint64_t node = ROOT;
	int depth = 0, e = 0;

	fk_init(&k, NULL);
	memset(name, 'd', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	/* Beyond PATH_MAX at 21, beyond our own bound at 328. */
	while (depth < 400) {
		e = fk_mkdir(&k, node, name, 0700);
		if (e < 0)
			break;
		node = k.entry.nodeid;
		depth++;
	}
	ck_assert_int_eq(e, -ENAMETOOLONG);
	ck_assert_int_gt(depth, 300);
	ck_assert_int_lt(depth, 330);
	ck_assert_int_eq(fk_opendir(&k, node), 0);
	fk_done(&k);
}
END_TEST

START_TEST(names_of_a_file_are_bounded)
{
	struct fuse_kit k;
	uint64_t node;
	char name[16];

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	node = fk_at(&k, "f");
	for (int i = 0; i < 50; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		ck_assert_int_eq(fk_link(&k, node, ROOT, name), 0);
	}
	/* All but the last one seen are gone: that one will do. */
	for (int i = 0; i < 49; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		ck_assert_int_eq(unlinkat(k.fd, name, 0), 0);
	}
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	fk_done(&k);
}
END_TEST

/* Look up "0", "1", ... below @n, each with a tail. Return: how many there were */
static unsigned int look_up_until_refused(struct fuse_kit *k, unsigned int n)
{
	char name[64];

	for (unsigned int i = 0; i < n; i++) {
		int r;

		(void)snprintf(name, sizeof(name), "%u-%030u", i, i);
		fk_host_file(k, name, "");
		r = fk_lookup(k, ROOT, name);
		if (r == -ENFILE)
			return i;
		ck_assert_int_eq(r, 0);
	}
	return n;
}

static void forget_all(struct fuse_kit *k)
{
	for (uint64_t id = ROOT + 1; id < 1000; id++)
		fk_forget(k, id, 1000);
}

/* It forgets only when its own memory is full: ours must not be so before. */
START_TEST(large_guest_may_know_more)
{
	static const struct {
		uint64_t guest_mem;
		uint64_t bound;
	} t[] = {
		{ 0, FS_MEM_MIN },
		{ 4 * FS_MEM_MIN, FS_MEM_MIN },
		{ 8ull << 30, 2ull << 30 },
		{ UINT64_MAX, FS_MEM_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct fs_opts o = fk_usual();
		struct fuse_kit k;

		o.guest_mem = t[i].guest_mem;
		fk_init(&k, &o);
		ck_assert_uint_eq(k.s->mem_max, t[i].bound);
		/* As many places for them as there may be of the smallest. */
		ck_assert_uint_eq(k.s->inodes.max,
				  t[i].bound / sizeof(struct fs_inode));
		fk_done(&k);
	}
}
END_TEST

START_TEST(memory_of_what_a_guest_knows_is_bounded)
{
	char name[16], tail[201];
	struct fuse_kit k;
	size_t before;
	unsigned int n;
	uint64_t node;

	fk_init(&k, NULL);
	before = k.s->mem;
	k.s->mem_max = before + 20000;
	n = look_up_until_refused(&k, 1000);
	ck_assert_uint_ge(n, 50);
	ck_assert_uint_lt(n, 150);
	/* So a million of them are within what there is. */
	ck_assert_uint_le((k.s->mem - before) / n * 1000000, FS_MEM_MIN);
	/* A folder can be opened, but not read; nothing else is disturbed. */
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, false), -ENFILE);
	ck_assert_int_eq(fk_releasedir(&k, ROOT, k.fh), 0);
	forget_all(&k);
	ck_assert_uint_eq(k.s->mem, before);

	/* Of one file, by its names; those that are too many go. */
	fk_host_file(&k, "f", "");
	node = fk_at(&k, "f");
	memset(tail, 'n', sizeof(tail));
	tail[sizeof(tail) - 1] = '\0';
	for (unsigned int i = 0; i < 20; i++) {
		memcpy(tail, name, (size_t)snprintf(name, 16, "%02u", i));
		ck_assert_int_eq(fk_link(&k, node, ROOT, tail), 0);
	}
	ck_assert_uint_lt(k.s->mem, before + 2560);
	k.s->mem_max = k.s->mem;
	tail[0] = 'x';
	ck_assert_int_eq(linkat(k.fd, "f", k.fd, tail, 0), 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, tail), -ENFILE);
	fk_forget(&k, node, 1000);
	ck_assert_uint_eq(k.s->mem, before);
	fk_done(&k);
}
END_TEST

START_TEST(folder_has_a_buffer_while_it_is_read)
{
	struct fuse_kit k;
	size_t before;

	fk_init(&k, NULL);
	before = k.s->mem;
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_uint_eq(k.s->mem, before);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, false), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, false), 0);
	ck_assert_uint_eq(k.s->mem, before + FS_DIR_BUF);
	ck_assert_uint_lt(sizeof(struct fs_dir), 256);
	ck_assert_int_eq(fk_releasedir(&k, ROOT, k.fh), 0);
	ck_assert_uint_eq(k.s->mem, before);
	fk_done(&k);
}
END_TEST

/* The host turns a tree inside out: there is no way round in a ring. */
START_TEST(folders_that_change_places_make_no_ring)
{
	struct fuse_kit k;
	uint64_t a, b;

	fk_init(&k, NULL);
	fk_host_dir(&k, "a");
	fk_host_dir(&k, "a/b");
	a = fk_at(&k, "a");
	b = fk_at(&k, "a/b");
	fk_host_move(&k, "a/b", "b");
	fk_host_move(&k, "a", "b/a");
	ck_assert_int_lt(fk_lookup(&k, b, "a"), 0);
	ck_assert_uint_eq(fk_at(&k, "b"), b);
	ck_assert_uint_eq(fk_at(&k, "b/a"), a);
	ck_assert_int_eq(fk_mkdir(&k, a, "c", 0700), 0);
	fk_done(&k);
}
END_TEST

START_TEST(file_that_is_shared_alone)
{
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fk_dirent de;
	struct fuse_kit k;
	struct err e = { 0 };
	uint64_t node;
	size_t at = 0;

	fk_scratch(&k);
	fk_host_file(&k, "f", "12345");
	o.root_fd = openat(k.fd, "f", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(fs_server_new(&o, &k.s, &e), 0);
	ck_assert_int_eq(fk_start(&k), 0);

	/* Linux mounts folders only: it is in one that is made up. */
	ck_assert_int_eq(fk_getattr(&k, ROOT, &attr), 0);
	ck_assert_uint_eq(attr.mode, S_IFDIR | 0555);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "g"), -ENOENT);
	ck_assert_int_eq(fk_lookup(&k, ROOT, FS_FILE_NAME), 0);
	node = k.entry.nodeid;
	ck_assert_uint_eq(k.entry.attr.size, 5);
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), 0);
	ck_assert_int_eq(fk_write(&k, node, k.fh, 0, "x", 1), 1);
	ck_assert_int_eq(fk_read(&k, node, k.fh, 0, 9), 0);
	ck_assert(fk_body_is(&k, "x2345"));
	ck_assert_int_eq(fk_open(&k, node, O_WRONLY | O_TRUNC), 0);
	ck_assert_str_eq(fk_host_text(&k, "f"), "");
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "1", 1, 0), 0);

	/* No room for an entry is no end of the folder. */
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 24, false), -EINVAL);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 32, false), 0);
	ck_assert_uint_eq(k.len, 32);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 3, 0, false), 0);
	ck_assert_int_eq(fk_releasedir(&k, ROOT, k.fh), 0);

	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), -EROFS);
	ck_assert_int_eq(fk_create(&k, ROOT, "d", O_RDWR, 0700), -EROFS);
	ck_assert_int_eq(fk_create(&k, ROOT, FS_FILE_NAME, O_RDWR, 0700),
			 -EROFS);
	ck_assert_int_eq(fk_unlink(&k, ROOT, FS_FILE_NAME), -EROFS);
	ck_assert_int_eq(fk_rename(&k, ROOT, FS_FILE_NAME, ROOT, "g", 0),
			 -EROFS);
	ck_assert_int_eq(fk_link(&k, node, ROOT, "g"), -EROFS);
	ck_assert_int_eq(fk_setxattr(&k, ROOT, "user.a", "1", 1, 0),
			 -EOPNOTSUPP);
	ck_assert_int_eq(fk_op(&k, FUSE_STATFS, ROOT, NULL, 0, FK_NO_NAMES), 0);
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, true), 0);
	while (fk_dirent(&k, &at, true, &de))
		(void)0;
	ck_assert_str_eq(fk_host_text(&k, "f"), "");
	fk_forget(&k, node, 9);
	ck_assert_int_eq(fk_lookup(&k, ROOT, FS_FILE_NAME), 0);
	fk_done(&k);
}
END_TEST

START_TEST(file_that_is_shared_to_read_is_not_written)
{
	struct fs_opts o = fk_usual();
	struct fuse_kit k;
	struct err e = { 0 };
	uint64_t node;

	fk_scratch(&k);
	fk_host_file(&k, "f", "12345");
	o.root_fd = openat(k.fd, "f", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fs_server_new(&o, &k.s, &e), 0);
	ck_assert_int_eq(fk_start(&k), 0);
	node = fk_at(&k, FS_FILE_NAME);
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), -EACCES);
	ck_assert_int_eq(fk_open(&k, node, O_WRONLY), -EACCES);
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	ck_assert_int_eq(fk_read(&k, node, k.fh, 0, 9), 0);
	ck_assert(fk_body_is(&k, "12345"));
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_inode", ids_are_found_stale_and_bounded,
	   forget_is_counted_and_more_is_all,
	   forget_of_a_folder_before_what_is_in_it, forget_while_it_is_open,
	   batch_forget_of_as_many_as_it_says,
	   nodes_that_were_made_up_are_stale,
	   more_files_than_descriptors_stay_in_reach,
	   open_files_are_bounded_and_nothing_is_lost,
	   process_without_descriptors_closes_idle_ones,
	   unlink_without_descriptors_loses_nothing,
	   unlinked_file_outlives_its_last_handle,
	   handle_that_is_closed_while_it_is_used_leaves_the_file,
	   unlinked_file_is_opened_again_only_as_it_was,
	   name_that_is_not_there_closes_nothing,
	   forgotten_files_leave_memory_as_it_was,
	   deep_folders_are_reached_and_deeper_are_refused,
	   names_of_a_file_are_bounded, folders_that_change_places_make_no_ring,
	   large_guest_may_know_more, memory_of_what_a_guest_knows_is_bounded,
	   folder_has_a_buffer_while_it_is_read, file_that_is_shared_alone,
	   file_that_is_shared_to_read_is_not_written)
