/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_fs_jail.c - every operation, by a thread that is locked in
 *
 * A system call that is not on the list of such threads kills the process: so
 * that is a child, and its end is looked at.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "tests/lib/fuse_window.h"
#include "vmm/jail/jail.h"

#define ROOT FUSE_ROOT_ID
#define USER 12345

/* What went wrong is told by its line, as there is nothing else to tell it. */
#define NEED(expr)                       \
	do {                             \
		if (!(expr))             \
			return __LINE__; \
	} while (0)

static int op(struct fuse_kit *k, uint32_t code, uint64_t node, const void *in,
	      size_t len)
{
	return fk_op(k, code, node, in, len, FK_NO_NAMES);
}

static int files(struct fuse_kit *k)
{
	struct fuse_fallocate_in fa = { .length = 100 };
	struct fuse_lseek_in ls = { .whence = SEEK_HOLE };
	struct fuse_copy_file_range_in cp = { .len = 2, .off_out = 50 };
	struct fuse_fsync_in fs = { 0 };
	struct fuse_write_in ap = { .size = 1, .flags = O_APPEND };
	struct fuse_flush_in fl = { 0 };
	uint64_t node, fh;

	NEED(fk_create(k, ROOT, "f", O_RDWR, 0640) == 0);
	node = k->entry.nodeid;
	fh = k->fh;
	fa.fh = ls.fh = cp.fh_in = cp.fh_out = fs.fh = ap.fh = fl.fh = fh;
	cp.nodeid_out = node;
	NEED(fk_write(k, node, fh, 0, "123", 3) == 3);
	NEED(fk_write_as(k, &ap, node, "4") == 1);
	NEED(fk_read(k, node, fh, 0, 9) == 0 && fk_body_is(k, "1234"));
	NEED(op(k, FUSE_FALLOCATE, node, &fa, sizeof(fa)) == 0);
	NEED(op(k, FUSE_LSEEK, node, &ls, sizeof(ls)) == 0);
	NEED(op(k, FUSE_COPY_FILE_RANGE, node, &cp, sizeof(cp)) == 0);
	NEED(op(k, FUSE_FSYNC, node, &fs, sizeof(fs)) == 0);
	fs.fsync_flags = FUSE_FSYNC_FDATASYNC;
	NEED(op(k, FUSE_FSYNC, node, &fs, sizeof(fs)) == 0);
	NEED(op(k, FUSE_FLUSH, node, &fl, sizeof(fl)) == 0);
	NEED(fk_open(k, node, O_RDWR | O_TRUNC) == 0);
	NEED(fk_release(k, node, k->fh) == 0);
	NEED(fk_unlink(k, ROOT, "f") == 0);
	NEED(fk_open(k, node, O_RDWR) == 0);
	NEED(fk_release(k, node, fh) == 0);
	NEED(fk_tmpfile(k, ROOT, O_RDWR, 0600) == 0);
	node = k->entry.nodeid;
	NEED(fk_link(k, node, ROOT, "t") == 0);
	NEED(fk_release(k, node, k->fh) == 0);
	return 0;
}

static int mappings(struct fuse_kit *k, struct fuse_window *w)
{
	struct fuse_setupmapping_in in = {
		.fh = UINT64_MAX,
		.len = WINDOW_SLOT,
		.flags = FUSE_SETUPMAPPING_FLAG_READ
	};
	struct {
		struct fuse_removemapping_in head;
		struct fuse_removemapping_one one;
	} __attribute__((packed)) rm = { { 1 }, { 0, WINDOW_SLOT } };
	struct fuse_setattr_in size = { .valid = FATTR_SIZE, .size = 100000 };
	struct fuse_attr a;
	uint64_t node;

	NEED(fk_create(k, ROOT, "mapped", O_RDWR, 0640) == 0);
	node = k->entry.nodeid;
	NEED(fk_setattr(k, node, &size, &a) == 0);
	NEED(op(k, FUSE_SETUPMAPPING, node, &in, sizeof(in)) == 0);
	in.flags |= FUSE_SETUPMAPPING_FLAG_WRITE;
	NEED(op(k, FUSE_SETUPMAPPING, node, &in, sizeof(in)) == 0);
	in.fh = k->fh;
	in.moffset = WINDOW_SLOT;
	NEED(op(k, FUSE_SETUPMAPPING, node, &in, sizeof(in)) == 0);
	NEED(window_tend(&w->w));
	NEED(fk_write(k, node, k->fh, 200000, "grown", 5) == 5);
	NEED(fw_has(w, WINDOW_SLOT + 200000, "grown"));
	NEED(op(k, FUSE_REMOVEMAPPING, node, &rm, sizeof(rm)) == 0);
	return 0;
}

static int attributes(struct fuse_kit *k)
{
	struct fuse_setattr_in in = {
		.valid = FATTR_MODE | FATTR_SIZE | FATTR_MTIME,
		.mode = 0600,
	};
	struct fuse_statx_in sx = { 0 };
	struct fuse_syncfs_in sy = { 0 };
	struct fuse_attr attr;
	uint64_t node;

	NEED(fk_mknod(k, ROOT, "a", S_IFREG | 0644, 0) == 0);
	node = k->entry.nodeid;
	NEED(fk_setattr(k, node, &in, &attr) == 0);
	NEED((attr.mode & 07777) == 0600);
	NEED(op(k, FUSE_STATX, node, &sx, sizeof(sx)) == 0);
	NEED(op(k, FUSE_STATFS, node, NULL, 0) == 0);
	NEED(op(k, FUSE_SYNCFS, ROOT, &sy, sizeof(sy)) == 0);
	NEED(fk_setxattr(k, node, "user.a", "1", 1, 0) == 0);
	NEED(fk_getxattr(k, node, "user.a", 9) == 0);
	NEED(fk_listxattr(k, node, 99) == 0);
	NEED(fk_removexattr(k, node, "user.a") == 0);
	NEED(fk_mknod(k, ROOT, "p", S_IFIFO | 0644, 0) == 0);
	in.valid = FATTR_MODE;
	NEED(fk_setattr(k, k->entry.nodeid, &in, &attr) == 0);
	return 0;
}

static int names(struct fuse_kit *k)
{
	struct fk_dirent de;
	uint64_t dir, node;
	size_t at = 0;

	NEED(fk_mkdir(k, ROOT, "d", 0755) == 0);
	dir = k->entry.nodeid;
	NEED(fk_symlink(k, dir, "l", "target") == 0);
	node = k->entry.nodeid;
	NEED(op(k, FUSE_READLINK, node, NULL, 0) == 0);
	NEED(fk_link(k, node, ROOT, "m") == 0);
	NEED(fk_mkdir(k, dir, "e", 0700) == 0);
	NEED(fk_rename(k, dir, "l", ROOT, "n", 0) == 0);
	NEED(fk_rename(k, ROOT, "n", ROOT, "m", RENAME_EXCHANGE) == 0);
	NEED(fk_rename(k, ROOT, "n", ROOT, "o", RENAME_WHITEOUT) == 0);
	NEED(fk_mknod(k, ROOT, "w", S_IFCHR, 0) == 0);
	NEED(fk_opendir(k, dir) == 0);
	NEED(fk_readdir(k, dir, 0, 4096, true) == 0);
	while (fk_dirent(k, &at, true, &de))
		(void)0;
	NEED(fk_readdir(k, dir, 0, 4096, false) == 0);
	NEED(fk_releasedir(k, dir, k->fh) == 0);
	NEED(fk_rmdir(k, dir, "e") == 0);
	NEED(fk_unlink(k, ROOT, "m") == 0);
	fk_forget(k, node, 99);
	return 0;
}

/* By others credentials than ours: Linux 6.10 does not link it by itself. */
static int link_opened(struct fuse_kit *k, uint64_t node)
{
	NEED(fk_link(k, node, ROOT, "opened") == 0);
	NEED(k->entry.attr.nlink == 1);
	return 0;
}

struct cell {
	struct fuse_kit k;
	struct fuse_window w;
	pthread_barrier_t done;
	pthread_mutex_t never;
	uint64_t opened;
	int line;
};

static void *jailed(void *arg)
{
	static const int failed = __LINE__;
	struct cell *c = arg;
	int line = jail_enter(JAIL_FS, NULL) < 0 ? failed : 0;

	line = line ? line : files(&c->k);
	line = line ? line : attributes(&c->k);
	line = line ? line : names(&c->k);
	line = line ? line : mappings(&c->k, &c->w);
	line = line ? line : link_opened(&c->k, c->opened);
	c->line = line;
	(void)pthread_barrier_wait(&c->done);
	/* A sanitizer's thread could not end here without being killed. */
	(void)pthread_mutex_lock(&c->never);
	return NULL;
}

/* Whom hutch is made for. */
static void become_user(void)
{
	if (geteuid() != 0)
		return;
	bug_on(setgroups(0, NULL) < 0);
	bug_on(setresgid(USER, USER, USER) < 0);
	bug_on(setresuid(USER, USER, USER) < 0);
}

static void child(enum fs_owner owner, bool user)
{
	struct fs_opts o = fk_usual();
	static struct cell c;
	pthread_t t;

	if (user)
		become_user();
	o.owner = owner;
	o.dax = FS_DAX_ALWAYS;
	fw_init(&c.w, 2, &o);
	fk_init(&c.k, &o);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	bug_on(pthread_barrier_init(&c.done, NULL, 2) != 0);
	bug_on(pthread_mutex_init(&c.never, NULL) != 0);
	bug_on(pthread_mutex_lock(&c.never) != 0);
	bug_on(fk_tmpfile(&c.k, ROOT, O_RDWR, 0600) != 0);
	c.opened = c.k.entry.nodeid;
	bug_on(jail_drop(NULL) < 0);
	bug_on(pthread_create(&t, NULL, jailed, &c) != 0);
	(void)pthread_barrier_wait(&c.done);
	if (c.line)
		(void)fprintf(stderr, "line %d went wrong\n", c.line);
	fk_done(&c.k);
	fw_done(&c.w);
	_exit(c.line ? 1 : 0);
}

static void expect_survival(enum fs_owner owner, bool user)
{
	int status = -1;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		child(owner, user);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "status %#x", (unsigned int)status);
}

START_TEST(all_operations_on_the_hosts_files)
{
	expect_survival(FS_OWNER_HOST, false);
}
END_TEST

START_TEST(all_operations_by_an_ordinary_user)
{
	expect_survival(FS_OWNER_HOST, true);
	expect_survival(FS_OWNER_MAPPED, true);
}
END_TEST

START_TEST(all_operations_in_a_mapped_tree)
{
	expect_survival(FS_OWNER_MAPPED, false);
}
END_TEST

CHECK_MAIN("fs_jail", all_operations_on_the_hosts_files,
	   all_operations_by_an_ordinary_user, all_operations_in_a_mapped_tree)
