/* SPDX-License-Identifier: Apache-2.0 */
/* The lab's configuration, its users, and small steps that all labs share. */
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto.h"

/**
 * world_fail() - Say on the console why the lab cannot be made
 * @what:	What failed, with errno set
 * @name:	With which object
 *
 * Return: -errno.
 */
int world_fail(const char *what, const char *name)
{
	int r = -errno;

	(void)fprintf(stderr, "lab: %s '%s': %s\n", what, name, strerror(-r));
	return r < 0 ? r : -EIO;
}

/**
 * world_parse() - Take the configuration apart
 * @w:		Set
 * @f:		Frame that the keeper sends first
 *
 * Return: 0, -EBADMSG.
 */
int world_parse(struct world *w, const struct lab_frame *f)
{
	const char *p = w->text;

	if (f->type != LAB_ARGS || f->session || !f->len ||
	    f->len > sizeof(w->text) || f->payload[f->len - 1])
		return -EBADMSG;
	memcpy(w->text, f->payload, f->len);
	for (int i = 0; i < WORLD_N; i++) {
		if (p >= w->text + f->len)
			return -EBADMSG;
		w->s[i] = p;
		p += strlen(p) + 1;
	}
	w->uid = (uid_t)strtoul(w->s[WORLD_UID], NULL, 10);
	w->gid = (gid_t)strtoul(w->s[WORLD_GID], NULL, 10);
	return w->uid ? 0 : -EBADMSG;
}

/**
 * world_read() - Wait for the configuration
 * @port:	Stream to the keeper, blocking
 * @in:		Takes what follows it
 * @ret:	Set
 *
 * Return: 0, -EPIPE if the keeper has gone, -EBADMSG, -errno.
 */
int world_read(int port, struct lab_buf *in, struct world *ret)
{
	struct lab_frame f;
	int r;

	while ((r = lab_frame_get(in, &f)) == 0) {
		ssize_t n = lab_buf_fill(in, port, 4096);

		if (n <= 0)
			return n ? (int)n : -EPIPE;
	}
	if (r < 0)
		return r;
	r = world_parse(ret, &f);
	lab_frame_drop(in, &f);
	return r;
}

/**
 * world_open_port() - Open the virtio-serial port, once it is there
 *
 * Return: descriptor, -errno.
 */
int world_open_port(void)
{
	int ino = inotify_init1(IN_CLOEXEC), fd;
	char events[4096];

	if (ino < 0 || inotify_add_watch(ino, "/dev", IN_CREATE) < 0)
		return world_fail("cannot watch", "/dev");
	while ((fd = open("/dev/vport0p1", O_RDWR | O_CLOEXEC)) < 0) {
		if (errno != ENOENT && errno != ENXIO)
			break;
		if (read(ino, events, sizeof(events)) < 0)
			break;
	}
	close(ino);
	return fd < 0 ? world_fail("cannot open", "/dev/vport0p1") : fd;
}

/**
 * world_load_modules() - Load every module of a folder, in name order
 * @dir:	Folder
 *
 * Return: 0, -errno.
 */
int world_load_modules(const char *dir)
{
	struct dirent **name;
	int r = 0, n = scandir(dir, &name, NULL, alphasort);

	if (n < 0)
		return world_fail("cannot read", dir);
	for (int i = 0; i < n; i++) {
		char path[512];
		int fd;

		(void)snprintf(path, sizeof(path), "%s/%s", dir,
			       name[i]->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (name[i]->d_name[0] != '.' &&
		    syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST)
			r = world_fail("cannot load", path);
		if (fd >= 0)
			close(fd);
		free(name[i]);
	}
	free(name);
	return r;
}

/**
 * world_mkdirs() - Make a folder and what is missing above it
 * @path:	Absolute
 * @mode:	Mode of the last one, if it is made
 *
 * Return: 0, -errno.
 */
int world_mkdirs(const char *path, mode_t mode)
{
	char part[4096];

	for (size_t i = 1; path[i - 1]; i++) {
		if (i >= sizeof(part))
			return -ENAMETOOLONG;
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, path[i] ? 0755 : mode) < 0 && errno != EEXIST)
			return world_fail("cannot make", part);
	}
	return 0;
}

/* Appends a line, unless the file cannot be written: then goes without. */
static void append(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		(void)world_fail("cannot write", path);
	if (fd >= 0)
		close(fd);
}

/**
 * world_link_images() - Put the images where the ordinary user's hutch looks
 * @w:		Configuration
 *
 * Return: 0, -errno.
 */
int world_link_images(const struct world *w)
{
	static const char *const dirs[] = {
		"/scratch/home/.local", "/scratch/home/.local/share",
		"/scratch/home/.local/share/hutch"
	};
	const char *link = "/scratch/home/.local/share/hutch/images";

	if (!w->s[WORLD_IMAGES][0])
		return 0;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (world_mkdirs(dirs[i], 0700) < 0 ||
		    chown(dirs[i], w->uid, w->gid) < 0)
			return world_fail("cannot make", dirs[i]);
	if (symlink("/images/store", link) < 0)
		return world_fail("cannot link", link);
	return 0;
}

/**
 * world_people() - See that the ordinary user and group kvm exist
 * @w:		Configuration; the group's number is set
 *
 * The root's own /etc is changed, so it must be the throw-away one.
 *
 * Return: 0, -errno.
 */
int world_people(struct world *w)
{
	const char *name = w->s[WORLD_USER];
	const struct group *g = getgrnam("kvm");
	char line[512];

	if (g) {
		w->kvm_gid = g->gr_gid;
	} else {
		for (w->kvm_gid = 990; getgrgid(w->kvm_gid); w->kvm_gid--)
			;
		(void)snprintf(line, sizeof(line), "kvm:x:%u:%s\n", w->kvm_gid,
			       name);
		append("/etc/group", line);
	}
	if (!getgrgid(w->gid)) {
		(void)snprintf(line, sizeof(line), "%s:x:%u:\n", name, w->gid);
		append("/etc/group", line);
	}
	if (!getpwuid(w->uid)) {
		(void)snprintf(line, sizeof(line),
			       "%s:x:%u:%u::/scratch/home:/bin/sh\n", name,
			       w->uid, w->gid);
		append("/etc/passwd", line);
	}
	return 0;
}
