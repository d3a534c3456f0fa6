/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/probe.c - see probe.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "common/rmtree.h"
#include "vmm/fs/owner.h"
#include "vmm/fs/probe.h"

#define ATTRIBUTE MAPPED_PREFIX "probe"

#define WHO_CAN "ext4, XFS, btrfs and tmpfs can"

static int set_and_remove(int fd, bool ro)
{
	/* To look is enough to learn that there can be none. */
	if (fgetxattr(fd, ATTRIBUTE, NULL, 0) < 0 && errno != ENODATA)
		return -errno;
	if (ro)
		return 0;
	/* With a value: to 9p an empty one is none. */
	if (fsetxattr(fd, ATTRIBUTE, "1", 1, 0) < 0)
		return -errno;
	(void)fremovexattr(fd, ATTRIBUTE);
	return 0;
}

static int try_attributes(const struct fs_server *s, struct err *e)
{
	auto_fd int fd =
		openat(s->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return err_set(e, -errno, "share: cannot open the folder: %s",
			       strerror(errno));
	r = set_and_remove(fd, s->o.ro);
	if (r == -EOPNOTSUPP)
		return err_set(e, r,
			       "share: the file system of the folder keeps no "
			       "user.* attributes, which owner=mapped needs; "
			       "ext4, XFS, btrfs and, since Linux 6.6, tmpfs "
			       "do");
	if (r < 0)
		return err_set(e, r,
			       "share: attributes of the folder, which "
			       "owner=mapped needs: %s",
			       strerror(-r));
	return 0;
}

static int try_renames(int dir, struct err *e)
{
	static const struct {
		unsigned int flags;
		const char *what;
	} tries[] = {
		{ RENAME_WHITEOUT, "leave whiteouts (RENAME_WHITEOUT)" },
		{ RENAME_EXCHANGE, "exchange names (RENAME_EXCHANGE)" },
	};

	if (mknodat(dir, "a", S_IFREG | 0600, 0) < 0)
		return err_set(e, -errno, "share: cannot make a file: %s",
			       strerror(errno));
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		if (syscall(SYS_renameat2, dir, "a", dir, "b",
			    tries[i].flags) == 0)
			continue;
		return err_set(
			e, -errno,
			"share: the file system of the folder cannot %s, "
			"which the upper layer of an overlayfs needs: "
			"%s; " WHO_CAN,
			tries[i].what, strerror(errno));
	}
	return 0;
}

static int cannot_remove(int r, struct err *e)
{
	return err_set(e, r, "share: cannot remove '%s' in it: %s",
		       FS_PROBE_NAME, strerror(-r));
}

static int try_names(const struct fs_server *s, struct err *e)
{
	auto_fd int dir = -1;
	int r, gone;

	/* Of one that was killed, or of a guest, which may use any name. */
	r = rmtree(s->root_fd, FS_PROBE_NAME);
	if (r < 0)
		return cannot_remove(r, e);
	if (mkdirat(s->root_fd, FS_PROBE_NAME, 0700) < 0)
		return err_set(e, -errno, "share: cannot make a folder: %s",
			       strerror(errno));
	dir = openat(s->root_fd, FS_PROBE_NAME,
		     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_set(e, -errno, "share: '%s' in it: %s",
			       FS_PROBE_NAME, strerror(errno));
	r = try_renames(dir, e);
	gone = rmtree(s->root_fd, FS_PROBE_NAME);
	return r == 0 && gone < 0 ? cannot_remove(gone, e) : r;
}

int fs_probe(const struct fs_server *s, struct err *e)
{
	int r = 0;

	if (fs_is_mapped(s))
		r = try_attributes(s, e);
	if (r == 0 && s->o.upper)
		r = try_names(s, e);
	return r;
}
