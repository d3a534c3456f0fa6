/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_fs_last.c - a file that the guest knows loses its last name
 *
 * Whether it is the last is looked at before it goes: what others do in between
 * is done here while a request is just about to remove the name.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

/* Of all who are about to remove a name, if it is armed. */
static atomic_bool armed;
static pthread_barrier_t about_to;

/* In place of libc's */
int unlinkat(int fd, const char *name, int flag)
{
	if (atomic_load(&armed)) {
		(void)pthread_barrier_wait(&about_to);
		(void)pthread_barrier_wait(&about_to);
	}
	return (int)syscall(SYS_unlinkat, fd, name, flag);
}

/**
 * struct guest - One of two threads of the guest
 * @k:		Its requests
 * @name:	What it unlinks
 */
struct guest {
	struct fuse_kit k;
	const char *name;
	int error;
};

static void *unlink_it(void *arg)
{
	struct guest *g = arg;

	g->error = fk_unlink(&g->k, ROOT, g->name);
	return NULL;
}

static void begin(struct fuse_kit *k, unsigned int threads)
{
	struct fs_opts o = fk_usual();

	o.fds_max = FS_FDS_MIN;
	fk_init(k, &o);
	ck_assert_int_eq(pthread_barrier_init(&about_to, NULL, threads), 0);
}

static pthread_t start(struct fuse_kit *k, struct guest *g, const char *name)
{
	pthread_t t;

	g->k = *k;
	g->k.body = NULL;
	g->name = name;
	atomic_store(&armed, true);
	ck_assert_int_eq(pthread_create(&t, NULL, unlink_it, g), 0);
	return t;
}

static void finish(pthread_t t, const struct guest *g)
{
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_int_eq(g->error, 0);
	free(g->k.body);
	atomic_store(&armed, false);
}

/* Have all descriptors closed that are not held. */
static void use_others(struct fuse_kit *k)
{
	char name[16];

	for (unsigned int i = 0; i < FS_FDS_MIN; i++) {
		(void)snprintf(name, sizeof(name), "f%u", i);
		fk_host_file(k, name, "");
		ck_assert_int_eq(fk_lookup(k, ROOT, name), 0);
		fk_forget(k, k->entry.nodeid, 1);
	}
	for (unsigned int i = 0; i < FS_FDS_MIN; i++) {
		(void)snprintf(name, sizeof(name), "f%u", i);
		ck_assert_int_eq(fk_lookup(k, ROOT, name), 0);
	}
}

static void expect_there(struct fuse_kit *k, uint64_t node)
{
	struct fuse_attr attr;
	struct fs_stats st;

	use_others(k);
	ck_assert_int_eq(fk_getattr(k, node, &attr), 0);
	ck_assert_uint_eq(attr.nlink, 0);
	fk_forget(k, node, 99);
	fs_server_stats(k->s, &st);
	ck_assert_uint_eq(st.n_inodes, 1 + FS_FDS_MIN);
	fk_done(k);
}

static uint64_t make(struct fuse_kit *k)
{
	ck_assert_int_eq(fk_create(k, ROOT, "a", O_RDWR, 0600), 0);
	return k->entry.nodeid;
}

START_TEST(two_names_at_once)
{
	struct guest g[2];
	struct fuse_kit k;
	pthread_t t[2];
	uint64_t node;

	begin(&k, 2);
	node = make(&k);
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	ck_assert_int_eq(fk_link(&k, node, ROOT, "b"), 0);
	t[0] = start(&k, &g[0], "a");
	t[1] = start(&k, &g[1], "b");
	finish(t[0], &g[0]);
	finish(t[1], &g[1]);
	expect_there(&k, node);
}
END_TEST

START_TEST(closed_meanwhile)
{
	struct fuse_kit k;
	struct guest g;
	uint64_t node;
	pthread_t t;

	begin(&k, 2);
	node = make(&k);
	t = start(&k, &g, "a");
	(void)pthread_barrier_wait(&about_to);
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	(void)pthread_barrier_wait(&about_to);
	finish(t, &g);
	expect_there(&k, node);
}
END_TEST

START_TEST(looked_up_meanwhile)
{
	struct fuse_kit k;
	struct guest g;
	uint64_t node;
	pthread_t t;

	begin(&k, 2);
	node = make(&k);
	ck_assert_int_eq(fk_release(&k, node, k.fh), 0);
	t = start(&k, &g, "a");
	(void)pthread_barrier_wait(&about_to);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "a"), 0);
	ck_assert_uint_eq(k.entry.nodeid, node);
	(void)pthread_barrier_wait(&about_to);
	finish(t, &g);
	expect_there(&k, node);
}
END_TEST

/* The name stays: nothing is held any more than before. */
START_TEST(name_that_stays_holds_nothing)
{
	struct fuse_kit k;
	struct fuse_attr attr;
	uint64_t dir;

	begin(&k, 2);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	dir = k.entry.nodeid;
	ck_assert_int_eq(fk_mkdir(&k, dir, "e", 0700), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(fk_rmdir(&k, ROOT, "d"), -ENOTEMPTY);
	fk_host_move(&k, "d", "away");
	use_others(&k);
	ck_assert_int_eq(fk_getattr(&k, dir, &attr), -ESTALE);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_last", two_names_at_once, closed_meanwhile, looked_up_meanwhile,
	   name_that_stays_holds_nothing)
