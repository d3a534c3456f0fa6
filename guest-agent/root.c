/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/root.c - see root.h
 *
 * The kernel unpacked the initramfs into its rootfs: this program as /init, the
 * boot message, and maybe below ROOT_BUILTIN the system that processes will
 * see.  That folder becomes a mount of its own and is moved over /, so that
 * pivot_root(2) works in the guest, which it does not on the rootfs itself.
 * A bind mount does that with the files where they are; a tmpfs of its own
 * would be a copy of each, and look the same.
 *
 * A root from an image is an overlay: the image below, on a virtiofs that many
 * guests share, and a layer of the guest's own above it, on another or in
 * memory.  Beside that layer, on the same file system, is the folder that the
 * guest finds at ROOT_DATA: overlayfs cannot lie over an overlay, so what runs
 * containers in the guest keeps them there.
 *
 * Every system call here is between the user and his first byte of output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "common/io.h"
#include "guest-agent/boot.h"
#include "guest-agent/root.h"

#ifndef OPEN_TREE_CLONE /* not in musl's headers */
#define OPEN_TREE_CLONE   1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif

/* Where a file system is whose one file will be seen elsewhere. */
#define HIDDEN "/dev/shm/.hutch-mount"

#define UPPER ROOT_UPPER "/upper"
#define WORK  ROOT_UPPER "/work"
#define DATA  "data" /* in ROOT_UPPER */

#define PROC_FD "/proc/self/fd/"

#define SAFE (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/*
 * redirect_dir: a folder of the image can be renamed, not only copied.  xino:
 * numbers of inodes are unique in all of the root, as layers use the low 32 to
 * 62 bits of theirs.  No index: it keeps hard links of the image together by
 * file handles, which no virtiofs has.  No metacopy: the owner of a file would
 * be changed without a copy of its data, but what is then fsync()ed is in two
 * layers.
 */
#define OVERLAY_OPTIONS                                            \
	"lowerdir=" ROOT_LOWER ",upperdir=" UPPER ",workdir=" WORK \
	",redirect_dir=on,xino=on,index=off,metacopy=off"

/** struct mount_point - What every guest has */
struct mount_point {
	const char *type;
	const char *at;
	unsigned long flags;
	const char *data;
};

/* Gid 5 is group tty in every distribution's /etc/group. */
static const struct mount_point mounts[] = {
	{ "devtmpfs", "/dev", MS_NOSUID, "mode=0755" },
	{ "proc", "/proc", SAFE, NULL },
	{ "sysfs", "/sys", SAFE, NULL },
	{ "cgroup2", "/sys/fs/cgroup", SAFE,
	  "nsdelegate,memory_recursiveprot" },
	{ "devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC,
	  "mode=620,gid=5,ptmxmode=666" },
	{ "tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777" },
};

/* An image has both as it wants them, and room for large files in them. */
static const struct mount_point builtin_mounts[] = {
	{ "tmpfs", "/tmp", MS_NOSUID | MS_NODEV, "mode=1777" },
	{ "tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=0755" },
};

/* If it cannot be made, whoever uses it says so. */
static void make_dir(const char *path)
{
	(void)mkdir(path, 0755);
}

void root_make_folders(const char *path)
{
	char part[WIRE_PATH_MAX + 1];

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(p - path),
			       path);
		make_dir(part);
	}
	make_dir(path);
}

static void mount_one(struct boot *b, const struct mount_point *m)
{
	make_dir(m->at);
	if (mount(m->type, m->at, m->type, m->flags, m->data) < 0)
		boot_problem_errno(b, "mount", m->at);
}

/* Our own 0 to 2, so that nothing else ever gets these numbers. */
static void open_stdio(struct boot *b)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < 3; i++)
		if (fd != i && dup2(fd, i) < 0)
			boot_problem_errno(b, "descriptor for", "/dev/null");
	if (fd > 2)
		(void)close(fd);
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	b->log.fd = fd;
	b->log.kmsg = 1;
}

/* ---- The built-in root ---- */

int root_links(char *text)
{
	int n = 0;

	while (*text) {
		char *old = text, *end = strchr(text, '\n');
		char *new = strchr(text, ' ');

		if (!end || !new || new > end)
			return -EBADMSG;
		*end = '\0';
		*new ++ = '\0';
		text = end + 1;
		if (link(old, new) == 0)
			n++;
	}
	return n;
}

static void make_links(struct boot *b)
{
	auto_free char *text = NULL;
	struct err e = { 0 };
	int r = io_read_file(AT_FDCWD, ROOT_LINKS, ROOT_LINKS_MAX, &text, NULL,
			     &e);

	if (r == -ENOENT)
		return;
	if (r == 0)
		r = root_links(text);
	if (r == -EBADMSG)
		(void)err_set(&e, r, ROOT_LINKS ": not lines of two names");
	if (r < 0)
		boot_problem(b, &e);
	(void)unlink(ROOT_LINKS);
}

static void make_builtin(struct boot *b)
{
	if (mount(ROOT_BUILTIN, ROOT_BUILTIN, NULL, MS_BIND, NULL) < 0 ||
	    chdir(ROOT_BUILTIN) < 0)
		boot_problem_errno(b, "mount of the root", ROOT_BUILTIN);
	else
		make_links(b);
}

/* ---- The root of an image ---- */

/* The root of the overlay has owner and mode of its upper folder. */
static int copy_root_stat(void)
{
	struct stat st;

	if (stat(ROOT_LOWER, &st) < 0 || chown(UPPER, st.st_uid, st.st_gid) < 0)
		return -errno;
	return chmod(UPPER, st.st_mode & 07777) < 0 ? -errno : 0;
}

/* The work folder is made last: where it is there the others are complete. */
static int make_layer(void)
{
	if (access(WORK, F_OK) == 0)
		return 0;
	make_dir(UPPER);
	make_dir(ROOT_UPPER "/" DATA);
	return copy_root_stat() < 0 || mkdir(WORK, 0700) < 0 ? -errno : 0;
}

/* Return: 0, or -errno with a sentence */
static int mount_layers(const struct msg_boot *m, struct err *e)
{
	const char *type = *m->upper ? "virtiofs" : "tmpfs";
	const char *upper = *m->upper ? m->upper : "hutch";
	struct statvfs sv;

	make_dir(ROOT_LOWER);
	make_dir(ROOT_UPPER);
	if (mount(m->lower, ROOT_LOWER, "virtiofs", MS_RDONLY, NULL) < 0)
		return err_set(e, -errno, "mount of the image '%s': %s",
			       m->lower, strerror(errno));
	if (mount(upper, ROOT_UPPER, type, 0, *m->upper ? NULL : "mode=0755") <
		    0 ||
	    make_layer() < 0)
		return err_set(e, -errno, "mount of the disk '%s': %s", upper,
			       strerror(errno));
	if (mount("overlay", ROOT_BUILTIN, "overlay", 0, OVERLAY_OPTIONS) < 0)
		return err_set(e, -errno,
			       "mount of the disk over the image: %s",
			       strerror(errno));
	/* So overlayfs does it if it cannot make its folders there. */
	if (statvfs(ROOT_BUILTIN, &sv) == 0 && sv.f_flag & ST_RDONLY)
		return err_set(e, -ENOSPC,
			       "the disk is full: start with a larger --disk");
	return 0;
}

static void make_overlay(struct boot *b)
{
	struct err e;

	if (mount_layers(&b->msg, &e) < 0)
		boot_failed(b, &e);
	else if (chdir(ROOT_BUILTIN) < 0)
		boot_problem_errno(b, "root", ROOT_BUILTIN);
}

/* ---- Both ---- */

static void enter(struct boot *b)
{
	if (mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		boot_problem_errno(b, "switch to the root", ROOT_BUILTIN);
}

/* A folder of the disk, which is not beneath the root, is to be seen there. */
static int bind_disk(const struct boot *b, const char *name, const char *at)
{
	char source[sizeof(PROC_FD) + 10 + WIRE_PATH_MAX];

	(void)snprintf(source, sizeof(source), PROC_FD "%d/%s", b->disk, name);
	root_make_folders(at);
	return mount(source, at, NULL, MS_BIND, NULL);
}

void root_make(struct boot *b)
{
	const bool overlay = b->msg.root == WIRE_ROOT_OVERLAY;

	make_dir("/.hutch");
	make_dir(ROOT_BUILTIN);
	if (overlay)
		make_overlay(b);
	else
		make_builtin(b);
	b->disk = overlay ? open(ROOT_UPPER, O_PATH | O_CLOEXEC) : -1;
	enter(b);
	for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
		mount_one(b, &mounts[i]);
		if (i == 0)
			open_stdio(b);
	}
	for (size_t i = 0; !overlay && i < ARRAY_LEN(builtin_mounts); i++)
		mount_one(b, &builtin_mounts[i]);
	if (overlay && bind_disk(b, DATA, ROOT_DATA) < 0)
		boot_problem_errno(b, "mount", ROOT_DATA);
}

/* ---- The mounts of the boot message ---- */

static unsigned long mount_flags(uint32_t flags)
{
	return (flags & WIRE_MOUNT_RDONLY ? MS_RDONLY : 0) |
	       (flags & WIRE_MOUNT_NOSUID ? MS_NOSUID : 0) |
	       (flags & WIRE_MOUNT_NODEV ? MS_NODEV : 0) |
	       (flags & WIRE_MOUNT_NOEXEC ? MS_NOEXEC : 0);
}

static void make_parents(const char *path)
{
	char part[WIRE_PATH_MAX + 1];
	const char *end = strrchr(path, '/');

	(void)snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
	if (*part)
		root_make_folders(part);
}

/* Return: 0; -1 with errno */
static int mount_share(struct boot *b, const struct msg_mount *m,
		       const char *at)
{
	int fd;

	if (mount(m->source, at, m->type, mount_flags(m->flags), m->options) <
	    0)
		return -1;
	if (!(m->flags & WIRE_MOUNT_LOCKS))
		return 0;
	fd = (int)syscall(SYS_open_tree, AT_FDCWD, at,
			  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd < 0)
		return -1;
	b->lock_mounts[b->n_lock_mounts++] = fd;
	return 0;
}

/* Out of sight, until its one file is where it belongs. */
static int mount_file(struct boot *b, const struct msg_mount *m)
{
	int fd, r, cause;

	make_dir(HIDDEN);
	if (mount_share(b, m, HIDDEN) < 0)
		return -1;
	make_parents(m->target);
	/* If it cannot be made, the mount on it says so. */
	fd = open(m->target,
		  O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
			  O_NOCTTY,
		  0644);
	if (fd >= 0)
		(void)close(fd);
	r = mount(HIDDEN "/" WIRE_MOUNT_ENTRY, m->target, NULL, MS_BIND, NULL);
	cause = errno;
	(void)umount2(HIDDEN, MNT_DETACH);
	(void)rmdir(HIDDEN);
	errno = cause;
	return r;
}

static int mount_folder(struct boot *b, const struct msg_mount *m)
{
	if (m->flags & WIRE_MOUNT_DISK)
		return bind_disk(b, m->source, m->target);
	root_make_folders(m->target);
	return mount_share(b, m, m->target);
}

void root_mount_message(struct boot *b)
{
	struct err e;

	for (uint32_t i = 0; i < b->msg.n_mounts; i++) {
		const struct msg_mount *m = &b->msg.mounts[i];

		if ((m->flags & WIRE_MOUNT_FILE ? mount_file(b, m)
						: mount_folder(b, m)) < 0) {
			(void)err_set(&e, -errno, "mount '%s': %s", m->target,
				      strerror(errno));
			boot_failed(b, &e);
		}
	}
	/* Nobody is to find the disk by it. */
	drop_fd(&b->disk);
}

void root_unmount_message(const struct boot *b)
{
	for (unsigned int i = 0; i < b->n_lock_mounts; i++)
		(void)close(b->lock_mounts[i]);
	for (uint32_t i = b->msg.n_mounts; i > 0; i--)
		(void)umount2(b->msg.mounts[i - 1].target, MNT_DETACH);
}
