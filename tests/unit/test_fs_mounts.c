/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_mounts.c - what is mounted in, or over, a shared folder */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

/* What a scene returns where nothing can be mounted; else a line, or 0. */
#define CANNOT (-1)

#define NEED(expr)                       \
	do {                             \
		if (!(expr))             \
			return __LINE__; \
	} while (0)

/* A path beside or in the shared folder. */
static const char *path_in(const struct fuse_kit *k, const char *rest,
			   char buf[FK_PATH + 32])
{
	(void)snprintf(buf, FK_PATH + 32, "%s/%s", k->top, rest);
	return buf;
}

/* @from, in the scratch folder, or a tmpfs if it is NULL. */
static bool put_over(const struct fuse_kit *k, const char *from,
		     const char *over)
{
	char a[FK_PATH + 32], b[FK_PATH + 32];

	path_in(k, over, b);
	if (!from)
		return mount("tmpfs", b, "tmpfs", 0, NULL) == 0;
	return mount(path_in(k, from, a), b, NULL, MS_BIND, NULL) == 0;
}

static void unmount(const struct fuse_kit *k)
{
	static const char *const at[] = { "share/m", "share/f", "share/d",
					  "share" };
	char path[FK_PATH + 32];

	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		(void)umount2(path_in(k, at[i], path), MNT_DETACH);
}

/* A folder "d", and "m" and "f" for what is to be over them. */
static void make_names(struct fuse_kit *k)
{
	fk_host_dir(k, "d");
	fk_host_dir(k, "m");
	fk_host_file(k, "f", "below");
}

/* Whether an open file is the one that was there first. */
static bool is_below(struct fuse_kit *k, uint64_t node, uint64_t fh)
{
	return fk_read(k, node, fh, 0, 64) == 0 && k->len == 5 &&
	       memcmp(k->body, "below", 5) == 0;
}

/* Whether it is listed with attributes, as what can be had is. */
static int listed(struct fuse_kit *k, const char *name)
{
	struct fk_dirent de;
	size_t at = 0;
	int ret = -ENOENT;

	if (fk_opendir(k, ROOT) < 0 || fk_readdir(k, ROOT, 0, 4096, true) < 0)
		return -EIO;
	while (fk_dirent(k, &at, true, &de))
		if (strcmp(de.name, name) == 0)
			ret = de.entry.nodeid != 0;
	return ret;
}

/* Folder or file, it is seen to be there, leads nowhere, and cannot go. */
static int is_out_of_reach(struct fuse_kit *k, const char *name)
{
	NEED(fk_lookup(k, ROOT, name) == -EXDEV);
	NEED(fk_create(k, ROOT, name, O_RDWR, 0600) < 0);
	NEED(fk_mknod(k, ROOT, name, S_IFREG | 0600, 0) == -EEXIST);
	NEED(fk_rename(k, ROOT, name, ROOT, "n", 0) == -EBUSY);
	NEED(fk_lookup(k, ROOT, "d") == 0);
	NEED(listed(k, name) == 0);
	NEED(listed(k, "d") == 1);
	return 0;
}

static void serve_path(struct fuse_kit *k)
{
	const struct fs_opts o = fk_usual();

	fk_serve(k, &o);
}

static int mounted_before(struct fuse_kit *k)
{
	int r;

	if (!put_over(k, NULL, "share/m") || !put_over(k, "secret", "share/f"))
		return CANNOT;
	serve_path(k);
	NEED(fk_start(k) == 0);
	r = is_out_of_reach(k, "m");
	r = r ? r : is_out_of_reach(k, "f");
	if (r)
		return r;
	NEED(fk_rmdir(k, ROOT, "m") == -EBUSY);
	NEED(fk_unlink(k, ROOT, "f") == -EBUSY);
	return 0;
}

/* What the guest has open goes on; what it only knows is stale. */
static int mounted_later(struct fuse_kit *k)
{
	uint64_t f, m, fh;
	int r;

	serve_path(k);
	NEED(fk_start(k) == 0);
	m = fk_at(k, "m");
	f = fk_at(k, "f");
	NEED(fk_open(k, f, O_RDONLY) == 0);
	fh = k->fh;
	if (!put_over(k, NULL, "share/m") || !put_over(k, "secret", "share/f"))
		return CANNOT;
	r = is_out_of_reach(k, "m");
	r = r ? r : is_out_of_reach(k, "f");
	if (r)
		return r;
	NEED(fk_opendir(k, m) == -ESTALE);
	NEED(fk_mkdir(k, m, "x", 0700) == -ESTALE);
	NEED(fk_lookup(k, m, "x") == -EXDEV);
	NEED(fk_rename(k, ROOT, "d", ROOT, "m", 0) == -EBUSY);
	NEED(is_below(k, f, fh));
	NEED(fk_release(k, f, fh) == 0);
	NEED(fk_open(k, f, O_RDONLY) == -ESTALE);
	unmount(k);
	NEED(fk_lookup(k, ROOT, "m") == 0 && k->entry.nodeid == m);
	NEED(fk_open(k, f, O_RDONLY) == 0);
	return 0;
}

/* The guest goes on in what was shared, which the host's path is no more. */
static int mounted_over_the_root(struct fuse_kit *k)
{
	struct stat st;

	serve_path(k);
	NEED(fk_start(k) == 0);
	if (!put_over(k, NULL, "share"))
		return CANNOT;
	NEED(fk_lookup(k, ROOT, "d") == 0);
	NEED(fk_create(k, ROOT, "n", O_RDWR, 0600) == 0);
	NEED(fstatat(k->top_fd, "share/n", &st, 0) < 0);
	NEED(fstatat(k->fd, "n", &st, 0) == 0);
	return 0;
}

/* In place of fk_serve(): a copy of the mount, with those in it or without. */
static int serve_copy(struct fuse_kit *k, unsigned int flags)
{
	struct fs_opts o = fk_usual();
	char path[FK_PATH + 32];
	struct err e;

	o.root_fd = (int)syscall(SYS_open_tree, AT_FDCWD,
				 path_in(k, "share", path),
				 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
	if (o.root_fd < 0)
		return CANNOT;
	NEED(fs_server_new(&o, &k->s, &e) == 0);
	NEED(fk_start(k) == 0);
	return 0;
}

static int copied_with_mounts(struct fuse_kit *k)
{
	struct stat st;
	int r;

	if (!put_over(k, NULL, "share/m") || !put_over(k, "secret", "share/f"))
		return CANNOT;
	r = serve_copy(k, AT_RECURSIVE);
	r = r ? r : is_out_of_reach(k, "m");
	r = r ? r : is_out_of_reach(k, "f");
	if (r)
		return r;
	NEED(fk_create(k, ROOT, "n", O_RDWR, 0600) == 0);
	NEED(fstatat(k->top_fd, "share/n", &st, 0) == 0);
	/* What comes later is not in the copy: what is below is shared. */
	NEED(put_over(k, NULL, "share/d"));
	NEED(fk_mkdir(k, fk_at(k, "d"), "x", 0700) == 0);
	NEED(fstatat(k->top_fd, "share/d/x", &st, 0) < 0);
	NEED(fstatat(k->fd, "d", &st, 0) == 0);
	return 0;
}

static int copied_without(struct fuse_kit *k)
{
	int r;

	if (!put_over(k, NULL, "share/m") || !put_over(k, "secret", "share/f"))
		return CANNOT;
	r = serve_copy(k, 0);
	if (r)
		return r;
	NEED(fk_mkdir(k, fk_at(k, "m"), "x", 0700) == 0);
	NEED(fk_open(k, fk_at(k, "f"), O_RDONLY) == 0);
	NEED(is_below(k, fk_at(k, "f"), k->fh));
	return 0;
}

/* In a namespace of its own. Return: as the scene */
static int in_namespace(int (*scene)(struct fuse_kit *k))
{
	struct fuse_kit k;
	int r;

	if (unshare(CLONE_NEWNS) < 0 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return CANNOT;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return CANNOT;
	fk_scratch(&k);
	make_names(&k);
	r = scene(&k);
	unmount(&k);
	fk_done(&k);
	return r;
}

static void play(int (*scene)(struct fuse_kit *k))
{
	int pipefd[2], r = 0, status = -1;
	pid_t pid;

	ck_assert_int_eq(pipe(pipefd), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		r = in_namespace(scene);
		_exit(write(pipefd[1], &r, sizeof(r)) != sizeof(r));
	}
	(void)close(pipefd[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(pipefd[0], &r, sizeof(r)), sizeof(r));
	(void)close(pipefd[0]);
	if (r == CANNOT)
		(void)printf("# nothing can be mounted here\n");
	else
		ck_assert_msg(r == 0, "line %d", r);
}

#define SCENE(name)           \
	START_TEST(of_##name) \
	{                     \
		play(name);   \
	}                     \
	END_TEST

SCENE(mounted_before)
SCENE(mounted_later)
SCENE(mounted_over_the_root)
SCENE(copied_with_mounts)
SCENE(copied_without)

CHECK_MAIN("fs_mounts", of_mounted_before, of_mounted_later,
	   of_mounted_over_the_root, of_copied_with_mounts, of_copied_without)
