/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/disk.c - see disk.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "common/mapped.h"
#include "common/rmtree.h"
#include "host/lib/disk.h"
#include "host/lib/internal.h"
#include "host/lib/maptree.h"
#include "host/lib/vmdir.h"

/* On the way: made, or to be removed, when a crash came. */
#define DISK_NEW  "disk.new"
#define DISK_GONE "disk.gone"

#define LOCK_STEP_NS 10000000
#define LOCK_STEPS   1000 /* ten seconds: a disk that is slow */

/* Beside those of common/mapped.h. */
#define IMAGE_ATTR MAPPED_PREFIX "image"

static int open_disk(int state_fd, const char *name)
{
	int fd = openat(state_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_id(const char *s, ssize_t len)
{
	return len == HUTCH_IMAGE_ID_LEN &&
	       strspn(s, "0123456789abcdef") == HUTCH_IMAGE_ID_LEN;
}

int disk_image(int state_fd, char ret[HUTCH_IMAGE_ID_LEN + 1])
{
	auto_fd int fd = open_disk(state_fd, DISK_DIR);
	ssize_t n;

	if (fd < 0)
		return fd;
	memset(ret, 0, HUTCH_IMAGE_ID_LEN + 1);
	n = fgetxattr(fd, IMAGE_ATTR, ret, HUTCH_IMAGE_ID_LEN);
	if (n < 0 && errno != ENODATA && errno != ERANGE)
		return -errno;
	return is_id(ret, n) ? 0 : -EBADMSG;
}

/* A folder that is not under the overlay, as the image has it. */
static int make_volume(int at, unsigned int i, int tree, const char *path)
{
	auto_fd int from = maptree_find(tree, path);
	auto_fd int to = -1;
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", i);
	if (mkdirat(at, name, 0700) < 0)
		return -errno;
	to = open_disk(at, name);
	if (to < 0)
		return to;
	if (from == -ENOENT || from == -ENOTDIR)
		return maptree_new_root(to);
	return from < 0 ? from : maptree_copy(from, to);
}

static int make_volumes(int fd, const struct hutch_image *image)
{
	const char *const *v = hutch_image_info_of(image)->volumes;
	auto_fd int at = -1;
	int r = 0;

	if (mkdirat(fd, DISK_VOLUMES, 0700) < 0)
		return -errno;
	at = open_disk(fd, DISK_VOLUMES);
	if (at < 0)
		return at;
	for (unsigned int i = 0; r == 0 && v && v[i]; i++)
		r = make_volume(at, i, hutch_image_tree(image), v[i]);
	return r;
}

/* It gets its name when all is in it. */
static int make(int state_fd, const struct hutch_image *image)
{
	const char *id = hutch_image_info_of(image)->id;
	auto_fd int fd = -1;
	int r;

	if (mkdirat(state_fd, DISK_NEW, 0700) < 0)
		return -errno;
	fd = open_disk(state_fd, DISK_NEW);
	if (fd < 0)
		return fd;
	r = fsetxattr(fd, IMAGE_ATTR, id, strlen(id), 0) < 0
		    ? -errno
		    : make_volumes(fd, image);
	if (r < 0)
		return r;
	if (syncfs(fd) < 0 ||
	    renameat(state_fd, DISK_NEW, state_fd, DISK_DIR) < 0)
		return -errno;
	return 0;
}

/* Whoever has it is on the way out, as its VM's lock is ours. */
static int lock(int fd)
{
	static const struct timespec step = { .tv_nsec = LOCK_STEP_NS };
	int r = -EWOULDBLOCK;

	for (int i = 0; r == -EWOULDBLOCK && i < LOCK_STEPS; i++) {
		r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
		if (r == -EWOULDBLOCK)
			(void)nanosleep(&step, NULL);
	}
	return r;
}

int disk_open(int state_fd, const struct hutch_image *image, struct err *e)
{
	int fd, r = 0;

	if (faccessat(state_fd, DISK_DIR, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = make(state_fd, image);
	if (r == -EOPNOTSUPP)
		return err_set(e, r,
			       "the file system of the VMs' state keeps no "
			       "user.* attributes, which a disk needs: use one "
			       "like ext4, xfs or btrfs (HUTCH_STATE), or "
			       "--disk ram");
	if (r < 0)
		return err_set(e, r, "cannot make the VM's disk: %s",
			       strerror(-r));
	fd = open_disk(state_fd, DISK_DIR);
	r = fd < 0 ? fd : lock(fd);
	if (r == 0)
		return fd;
	base_closep(&fd);
	if (r == -EWOULDBLOCK)
		return err_set(e, -EBUSY,
			       "the VM's disk is still in use by a monitor "
			       "that does not end");
	return err_set(e, r, "cannot open the VM's disk: %s", strerror(-r));
}

/* What has lost its name is no disk any more, however far this comes. */
int disk_remove(int state_fd)
{
	int r = rmtree(state_fd, DISK_NEW);

	r = r < 0 ? r : rmtree(state_fd, DISK_GONE);
	if (r == 0 && renameat(state_fd, DISK_DIR, state_fd, DISK_GONE) < 0)
		return errno == ENOENT ? 0 : -errno;
	return r < 0 ? r : rmtree(state_fd, DISK_GONE);
}

static int is_over(int state_fd, const void *id)
{
	char over[HUTCH_IMAGE_ID_LEN + 1];
	int r = disk_image(state_fd, over);

	if (r == -ENOENT || r == -ENOTDIR || r == -EBADMSG)
		return 0;
	return r < 0 ? r : strcmp(over, id) == 0;
}

int disk_user(struct hutch *h, const char *id, char ret[HUTCH_NAME_MAX + 1])
{
	return vmdir_find(h, is_over, id, ret);
}
