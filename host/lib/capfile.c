/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/capfile.c - see capfile.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/lib/capfile.h"

void capfile_init(struct capfile *c, int dirfd, const char *name,
		  const char *old, uint64_t max)
{
	*c = (struct capfile){
		.dirfd = dirfd, .name = name, .old = old, .max = max, .fd = -1
	};
}

void capfile_done(struct capfile *c)
{
	drop_fd(&c->fd);
}

/* What is there already, of a writer before us, is kept as well. */
static int open_file(struct capfile *c)
{
	auto_fd int fd = openat(c->dirfd, c->name,
				O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
				0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	c->size = (uint64_t)st.st_size;
	c->torn = false;
	c->fd = take_fd(&fd);
	return 0;
}

static int turn_over(struct capfile *c)
{
	if (renameat(c->dirfd, c->name, c->dirfd, c->old) < 0)
		return -errno;
	capfile_done(c);
	return open_file(c);
}

static int make_way(struct capfile *c, size_t len)
{
	int r = c->fd < 0 ? open_file(c) : 0;

	if (r < 0)
		return r;
	if (c->torn && ftruncate(c->fd, (off_t)c->size) < 0)
		return -errno;
	c->torn = false;
	/* Of an empty file there is nothing to keep. */
	if (c->size && len > c->max - MIN(c->size, c->max))
		return turn_over(c);
	return 0;
}

int capfile_append(struct capfile *c, const struct iovec *part, int n)
{
	size_t len = 0;
	ssize_t done;
	int r;

	for (int i = 0; i < n; i++)
		len += part[i].iov_len;
	bug_on(len > c->max);
	r = make_way(c, len);
	if (r < 0)
		return r;
	done = pwritev(c->fd, part, n, (off_t)c->size);
	if (done == (ssize_t)len) {
		c->size += len;
		return 0;
	}
	r = done < 0 ? -errno : -ENOSPC;
	/* Part of an item would make nonsense of the next one. */
	c->torn = done > 0 && ftruncate(c->fd, (off_t)c->size) < 0;
	return r;
}
