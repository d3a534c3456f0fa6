/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_fs_threads.c - several workers at once
 *
 * Each is a guest of its own to the same server, in the same few names, so that
 * they are always in each other's way.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT    FUSE_ROOT_ID
#define WORKERS 4
#define TURNS   1500
#define NAMES   4

struct worker {
	struct fuse_kit k;
	unsigned int seed;
};

static unsigned int draw(struct worker *w, unsigned int n)
{
	w->seed = w->seed * 1103515245 + 12345;
	return (w->seed >> 16) % n;
}

static const char *name(struct worker *w)
{
	static const char *const names[NAMES] = { "a", "b", "c", "d" };

	return names[draw(w, NAMES)];
}

static void use_file(struct worker *w, uint64_t node)
{
	struct fuse_setattr_in set = { .valid = FATTR_SIZE,
				       .size = draw(w, 9) };
	struct fuse_kit *k = &w->k;
	struct fuse_attr attr;

	if (fk_open(k, node, O_RDWR) == 0) {
		uint64_t fh = k->fh;

		(void)fk_write(k, node, fh, draw(w, 9), "12345", 5);
		(void)fk_read(k, node, fh, 0, 64);
		(void)fk_getattr(k, node, &attr);
		(void)fk_release(k, node, fh);
	}
	(void)fk_setattr(k, node, &set, &attr);
	(void)fk_setxattr(k, node, "user.a", "1", 1, 0);
	(void)fk_listxattr(k, node, 64);
}

static void use_dir(struct worker *w, uint64_t node)
{
	struct fuse_kit *k = &w->k;
	struct fk_dirent de;
	size_t at = 0;

	if (fk_opendir(k, node) < 0)
		return;
	if (fk_readdir(k, node, 0, 4096, true) == 0) {
		uint64_t nodes[64];
		unsigned int n = 0;

		while (fk_dirent(k, &at, true, &de) && n < ARRAY_LEN(nodes))
			nodes[n++] = de.entry.nodeid;
		while (n > 0)
			fk_forget(k, nodes[--n], 1);
	}
	(void)fk_releasedir(k, node, k->fh);
}

/* Whatever comes of it: the others may have been quicker. */
static void turn(struct worker *w)
{
	struct fuse_kit *k = &w->k;
	struct fuse_attr attr;
	uint64_t node;

	k->entry.nodeid = 0;
	switch (draw(w, 9)) {
	case 0:
		if (fk_create(k, ROOT, name(w), O_RDWR, 0644) == 0)
			(void)fk_release(k, k->entry.nodeid, k->fh);
		break;
	case 1:
		(void)fk_mkdir(k, ROOT, name(w), 0755);
		break;
	case 2:
		(void)fk_unlink(k, ROOT, name(w));
		break;
	case 3:
		(void)fk_rmdir(k, ROOT, name(w));
		break;
	case 4:
		(void)fk_rename(k, ROOT, name(w), ROOT, name(w),
				draw(w, 2) ? RENAME_EXCHANGE : 0);
		break;
	case 5:
		if (fk_lookup(k, ROOT, name(w)) == 0)
			(void)fk_link(k, k->entry.nodeid, ROOT, name(w));
		break;
	default:
		(void)fk_lookup(k, ROOT, name(w));
	}
	node = k->entry.nodeid;
	if (!node)
		return;
	if (S_ISDIR(k->entry.attr.mode))
		use_dir(w, node);
	else
		use_file(w, node);
	(void)fk_getattr(k, node, &attr);
	fk_forget(k, node, 1 + draw(w, 2));
}

static void *run(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < TURNS; i++)
		turn(w);
	return NULL;
}

static void all_at_once(enum fs_owner owner)
{
	struct worker w[WORKERS] = { 0 };
	struct fs_opts o = fk_usual();
	pthread_t t[WORKERS];
	struct fs_stats st;
	struct fuse_kit k;

	/* Few, so that descriptors are closed all the time. */
	o.fds_max = FS_FDS_MIN;
	o.owner = owner;
	fk_init(&k, &o);
	for (unsigned int i = 0; i < WORKERS; i++) {
		w[i].k = (struct fuse_kit){ .s = k.s, .room = 65536 };
		w[i].seed = i + 1;
		ck_assert_int_eq(pthread_create(&t[i], NULL, run, &w[i]), 0);
	}
	for (unsigned int i = 0; i < WORKERS; i++) {
		ck_assert_int_eq(pthread_join(t[i], NULL), 0);
		free(w[i].k.body);
	}
	/* Nobody uses anything, and all that was opened was closed. */
	fs_server_stats(k.s, &st);
	ck_assert_uint_eq(st.n_handles, 0);
	ck_assert_uint_le(st.n_fds, FS_FDS_MIN);
	ck_assert_int_eq(fk_op(&k, FUSE_DESTROY, 0, NULL, 0, FK_NO_NAMES), 0);
	fs_server_stats(k.s, &st);
	ck_assert_uint_eq(st.n_inodes, 1);
	fk_done(&k);
}

START_TEST(workers_in_each_others_way)
{
	all_at_once(FS_OWNER_HOST);
}
END_TEST

START_TEST(workers_in_each_others_way_in_a_mapped_tree)
{
	all_at_once(FS_OWNER_MAPPED);
}
END_TEST

/* The driver starts anew while requests are under way. */
START_TEST(reset_while_workers_are_at_it)
{
	struct worker w[WORKERS] = { 0 };
	pthread_t t[WORKERS];
	struct fuse_kit k;

	fk_init(&k, NULL);
	for (unsigned int i = 0; i < WORKERS; i++) {
		w[i].k = (struct fuse_kit){ .s = k.s, .room = 65536 };
		w[i].seed = i + 1;
		ck_assert_int_eq(pthread_create(&t[i], NULL, run, &w[i]), 0);
	}
	for (int i = 0; i < 50; i++) {
		fs_server_reset(k.s);
		ck_assert_int_eq(fk_start(&k), 0);
	}
	for (unsigned int i = 0; i < WORKERS; i++) {
		ck_assert_int_eq(pthread_join(t[i], NULL), 0);
		free(w[i].k.body);
	}
	fk_done(&k);
}
END_TEST

/* One handle, read by two at once: each gets whole entries. */
static void *list(void *arg)
{
	struct fuse_kit *k = arg;

	for (int i = 0; i < 300; i++) {
		struct fk_dirent de;
		size_t at = 0;

		if (fk_readdir(k, ROOT, 0, 4096, false) < 0)
			continue;
		while (fk_dirent(k, &at, false, &de))
			(void)0;
	}
	return NULL;
}

START_TEST(one_folder_handle_read_by_two)
{
	struct fuse_kit k, other;
	pthread_t t;

	fk_init(&k, NULL);
	for (int i = 0; i < 100; i++) {
		char file[16];

		(void)snprintf(file, sizeof(file), "%d", i);
		fk_host_file(&k, file, "");
	}
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	other = (struct fuse_kit){ .s = k.s, .room = 65536, .fh = k.fh };
	ck_assert_int_eq(pthread_create(&t, NULL, list, &other), 0);
	(void)list(&k);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	free(other.body);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_threads", workers_in_each_others_way,
	   workers_in_each_others_way_in_a_mapped_tree,
	   reset_while_workers_are_at_it, one_folder_handle_read_by_two)
