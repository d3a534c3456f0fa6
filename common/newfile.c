/* SPDX-License-Identifier: Apache-2.0 */
/* common/newfile.c - see newfile.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/newfile.h"

/* Names tried, should somebody be faster each time. */
#define TRIES_MAX 16

#define LINK_PATH_MAX 48

void newfile_temp_name(char ret[NEWFILE_TEMP_MAX])
{
	uint64_t word = 0;

	/* Without randomness O_EXCL still keeps us from what is there. */
	if (getrandom(&word, sizeof(word), GRND_NONBLOCK) < 0)
		word = (uint64_t)getpid();
	(void)snprintf(ret, NEWFILE_TEMP_MAX, ".hutch-%016llx",
		       (unsigned long long)word);
}

static void link_path(char ret[LINK_PATH_MAX], int fd)
{
	(void)snprintf(ret, LINK_PATH_MAX, "/proc/self/fd/%d", fd);
}

/* A file without a name, if one can be given to it later. */
static int open_nameless(int dirfd)
{
	char path[LINK_PATH_MAX];
	auto_fd int fd =
		openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	link_path(path, fd);
	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0
		       ? -errno
		       : take_fd(&fd);
}

int newfile_open(struct newfile *f, int dirfd)
{
	int fd = open_nameless(dirfd);

	*f = (struct newfile){ .fd = fd, .dirfd = dirfd };
	for (int i = 0; fd < 0 && i < TRIES_MAX; i++) {
		newfile_temp_name(f->temp);
		fd = openat(dirfd, f->temp,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		*f = (struct newfile)NEWFILE_NONE;
		return -errno;
	}
	f->fd = fd;
	return 0;
}

int newfile_rename(int dirfd, const char *temp, const char *name)
{
	int r = renameat(dirfd, temp, dirfd, name) < 0 ? -errno : 0;

	/* Gone, unless it failed or both were names of one file. */
	(void)unlinkat(dirfd, temp, 0);
	return r;
}

/* Give it a name, its own at best, else one to be renamed. */
static int name_it(struct newfile *f, const char *name)
{
	char path[LINK_PATH_MAX];

	link_path(path, f->fd);
	if (linkat(AT_FDCWD, path, f->dirfd, name, AT_SYMLINK_FOLLOW) == 0)
		return 1;
	for (int i = 0; errno == EEXIST && i < TRIES_MAX; i++) {
		newfile_temp_name(f->temp);
		if (linkat(AT_FDCWD, path, f->dirfd, f->temp,
			   AT_SYMLINK_FOLLOW) == 0)
			return 0;
	}
	f->temp[0] = '\0';
	return -errno;
}

int newfile_publish(struct newfile *f, const char *name)
{
	int r = *f->temp ? 0 : name_it(f, name);

	if (r == 0) {
		r = newfile_rename(f->dirfd, f->temp, name);
		f->temp[0] = '\0';
	}
	newfile_drop(f);
	return r < 0 ? r : 0;
}

void newfile_drop(struct newfile *f)
{
	if (f->fd < 0)
		return;
	if (*f->temp)
		(void)unlinkat(f->dirfd, f->temp, 0);
	(void)close(f->fd);
	*f = (struct newfile)NEWFILE_NONE;
}
