/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_probe.c - what a host's file system lacks is said at once */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/mapped.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "vmm/fs/probe.h"
#include "vmm/fs/quota.h"

#define ROOT FUSE_ROOT_ID

/* In place of libc's: as 9p has it, which knows no attribute that is empty. */
int fsetxattr(int fd, const char *name, const void *value, size_t size,
	      int flags)
{
	if (size == 0) {
		errno = ENODATA;
		return -1;
	}
	return (int)syscall(SYS_fsetxattr, fd, name, value, size, flags);
}

static struct fs_opts mapped(bool upper)
{
	struct fs_opts o = fk_usual();

	o.owner = FS_OWNER_MAPPED;
	o.upper = upper;
	return o;
}

/* Return: what was said, in @e; "" if nothing was */
static const char *refusal(struct fs_opts o, int root_fd, struct err *e)
{
	struct fs_server *s = NULL;

	*e = (struct err){ 0 };
	o.root_fd = root_fd;
	if (fs_server_new(&o, &s, e) == 0)
		e->msg[0] = '\0';
	fs_server_free(s);
	return e->msg;
}

START_TEST(folder_without_attributes_is_not_for_mapped)
{
	struct fs_opts o = mapped(false);
	struct err e;

	for (int ro = 0; ro < 2; ro++) {
		o.ro = ro;
		refusal(o, open("/proc", O_PATH | O_CLOEXEC), &e);
		ck_assert_msg(strstr(e.msg, "keeps no user.* attributes"), "%s",
			      e.msg);
	}
	o.owner = FS_OWNER_HOST;
	ck_assert_str_eq(refusal(o, open("/proc", O_PATH | O_CLOEXEC), &e), "");
}
END_TEST

START_TEST(nothing_of_a_try_stays)
{
	struct fs_opts o = mapped(true);
	struct fuse_kit k;
	struct stat st;
	char list[256];
	ssize_t n;

	fk_scratch(&k);
	/* One that was killed left this. */
	fk_host_dir(&k, FS_PROBE_NAME);
	fk_host_file(&k, FS_PROBE_NAME "/a", "");
	fk_host_file(&k, FS_PROBE_NAME "/b", "");
	fk_serve(&k, &o);
	ck_assert_int_eq(fstatat(k.fd, FS_PROBE_NAME, &st, 0), -1);
	n = flistxattr(k.fd, list, sizeof(list));
	ck_assert_int_ge(n, 0);
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(list + at) + 1)
		ck_assert_int_ne(strncmp(list + at, MAPPED_PREFIX,
					 sizeof(MAPPED_PREFIX) - 1),
				 0);
	fk_done(&k);
}
END_TEST

/* Its root may mount the disk, and make any name in it. */
START_TEST(guest_cannot_keep_a_share_from_being_served)
{
	struct fs_opts o = mapped(true);
	struct fuse_kit k;
	struct stat st;

	fk_scratch(&k);
	for (int i = 0; i < 3; i++) {
		if (i == 0) {
			fk_host_file(&k, FS_PROBE_NAME, "a file");
		} else if (i == 1) {
			fk_host_dir(&k, FS_PROBE_NAME);
			fk_host_dir(&k, FS_PROBE_NAME "/a");
			fk_host_file(&k, FS_PROBE_NAME "/a/b", "");
		} else {
			ck_assert_int_eq(symlinkat(k.top, k.fd, FS_PROBE_NAME),
					 0);
		}
		fk_serve(&k, &o);
		ck_assert_int_lt(
			fstatat(k.fd, FS_PROBE_NAME, &st, AT_SYMLINK_NOFOLLOW),
			0);
		fs_server_free(k.s);
		k.s = NULL;
	}
	fk_done(&k);
}
END_TEST

START_TEST(upper_is_for_what_can_be_one)
{
	struct fs_opts o = mapped(true);
	struct err e;

	o.ro = true;
	refusal(o, open("/tmp", O_PATH | O_CLOEXEC), &e);
	ck_assert_msg(strstr(e.msg, "upper layer"), "%s", e.msg);
	o.ro = false;
	o.owner = FS_OWNER_HOST;
	refusal(o, open("/tmp", O_PATH | O_CLOEXEC), &e);
	ck_assert_msg(strstr(e.msg, "upper layer"), "%s", e.msg);
}
END_TEST

#define NEED(expr)                    \
	do {                          \
		if (!(expr)) {        \
			r = __LINE__; \
			goto out;     \
		}                     \
	} while (0)

/* A mapped tree on an overlay is as any other, but not the upper of one. */
static int on_overlay(struct fuse_kit *k)
{
	struct fs_opts upper = mapped(true), plain = mapped(false);
	struct fs_stats stats;
	struct treesize found;
	struct fk_dirent de;
	struct err e;
	size_t at = 0;
	auto_fd int root = -1;
	int r = 0;

	NEED(strstr(refusal(upper, openat(k->top_fd, "share", O_PATH), &e),
		    "RENAME_WHITEOUT"));
	plain.quota_bytes = FS_QUOTA_MIN;
	fk_serve(k, &plain);
	NEED(fk_start(k) == 0);
	NEED(fk_create(k, ROOT, "f", O_RDWR, 04755) == 0);
	NEED(fk_write(k, k->entry.nodeid, k->fh, 0, "1", 1) == 1);
	NEED(fk_mknod(k, ROOT, "f", S_IFIFO, 0) == -EEXIST);
	NEED(fk_mknod(k, ROOT, "p", S_IFIFO | 0600, 0) == 0);
	NEED(fk_lookup(k, ROOT, "f") == 0);
	NEED(k->entry.attr.mode == (S_IFREG | 04755));
	NEED(fk_link(k, k->entry.nodeid, ROOT, "g") == 0);
	NEED(fk_rename(k, ROOT, "g", ROOT, "f2", 0) == 0);
	NEED(fk_setxattr(k, k->entry.nodeid, "trusted.x", "1", 1, 0) == 0);
	NEED(fk_unlink(k, ROOT, "f2") == 0);
	NEED(fk_tmpfile(k, ROOT, O_WRONLY, 0600) == 0);
	NEED(fk_link(k, k->entry.nodeid, ROOT, "t") == 0);
	NEED(fk_opendir(k, ROOT) == 0);
	NEED(fk_readdir(k, ROOT, 0, 4096, false) == 0);
	while (fk_dirent(k, &at, false, &de))
		NEED(de.name[0] != 'p' || de.type == S_IFIFO >> 12);
	/* Files and folders of an overlay may be on different devices. */
	fs_server_stats(k->s, &stats);
	root = openat(k->top_fd, "share", O_PATH | O_CLOEXEC);
	NEED(treesize_count(root, &found) == 0);
	NEED(stats.bytes == found.bytes && stats.inodes == found.inodes);
	NEED(found.inodes == 4);
out:
	return r;
}

/* With its two layers on two file systems. Return: whether it could be */
static bool mount_overlay(const struct fuse_kit *k, const char *share)
{
	char opts[4 * FK_PATH], path[FK_PATH + 16];

	bug_on(mkdirat(k->top_fd, "l", 0755) < 0);
	bug_on(mkdirat(k->top_fd, "t", 0755) < 0);
	(void)snprintf(path, sizeof(path), "%s/t", k->top);
	(void)snprintf(opts, sizeof(opts),
		       "lowerdir=%s/l,upperdir=%s/t/u,workdir=%s/t/w", k->top,
		       k->top, k->top);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", path, "tmpfs", 0, NULL) < 0)
		return false;
	bug_on(mkdirat(k->top_fd, "t/u", 0755) < 0);
	bug_on(mkdirat(k->top_fd, "t/w", 0755) < 0);
	return mount("overlay", share, "overlay", 0, opts) == 0;
}

/* Return: 0; 2 if nothing can be mounted; or the line that went wrong */
static int with_overlay(void)
{
	char share[FK_PATH + 16], upper[FK_PATH + 16];
	struct fuse_kit k;
	int r = 2;

	if (unshare(CLONE_NEWNS) < 0 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return 2;
	fk_scratch(&k);
	(void)snprintf(share, sizeof(share), "%s/share", k.top);
	(void)snprintf(upper, sizeof(upper), "%s/t", k.top);
	if (mount_overlay(&k, share))
		r = on_overlay(&k);
	(void)umount2(share, MNT_DETACH);
	(void)umount2(upper, MNT_DETACH);
	fk_done(&k);
	return r;
}

START_TEST(overlay_is_a_host_for_all_but_an_upper)
{
	pid_t pid = fork();
	int status = -1;

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(with_overlay());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		(void)printf("# no overlay can be mounted here\n");
	else
		ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

CHECK_MAIN("fs_probe", folder_without_attributes_is_not_for_mapped,
	   nothing_of_a_try_stays, guest_cannot_keep_a_share_from_being_served,
	   upper_is_for_what_can_be_one, overlay_is_a_host_for_all_but_an_upper)
