/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/tail.c - see tail.h */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "host/lib/tail.h"

#define TURN_TRIES 10
#define LOAD_MAX   (16 << 20)

void tail_init(struct tail *t)
{
	*t = (struct tail){ .dirfd = -1, .fd = -1, .next_fd = -1 };
}

void tail_done(struct tail *t)
{
	if (t->fd >= 0)
		(void)close(t->fd);
	if (t->next_fd >= 0)
		(void)close(t->next_fd);
	free(t->buf);
	tail_init(t);
}

static int open_log(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 && errno != ENOENT ? -errno : fd;
}

/* Whether the file of that name is the open one; none is not. */
static bool is_named(int fd, int dirfd, const char *name)
{
	struct stat a, b;

	return fd >= 0 && fstat(fd, &a) == 0 &&
	       fstatat(dirfd, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static bool is_there(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Both as they are at one time: again, if they turned over meanwhile. */
static int open_both(struct tail *t, const char *old)
{
	for (int i = 0; i < TURN_TRIES; i++) {
		t->fd = open_log(t->dirfd, old);
		t->next_fd = open_log(t->dirfd, t->name);
		if (t->fd < -1 || t->next_fd < -1)
			return MIN(t->fd, t->next_fd);
		if (t->fd < 0 ? !is_there(t->dirfd, old)
			      : is_named(t->fd, t->dirfd, old))
			break;
		drop_fd(&t->fd);
		drop_fd(&t->next_fd);
	}
	if (t->fd < 0)
		t->fd = take_fd(&t->next_fd);
	return 0;
}

int tail_open(struct tail *t, int dirfd, const char *name, const char *old,
	      size_t cap)
{
	int r;

	tail_init(t);
	t->buf = malloc(cap);
	if (!t->buf)
		return -ENOMEM;
	t->dirfd = dirfd;
	t->name = name;
	t->cap = cap;
	r = open_both(t, old);
	if (r < 0) {
		t->fd = MAX(t->fd, -1);
		t->next_fd = MAX(t->next_fd, -1);
		tail_done(t);
	}
	return r;
}

const char *tail_left(const struct tail *t, size_t *ret_len)
{
	*ret_len = t->len - t->pos;
	return t->buf + t->pos;
}

void tail_take(struct tail *t, size_t n)
{
	bug_on(n > t->len - t->pos);
	t->pos += n;
}

/* Return: 1 if more is there than before, 0 if not, -errno. */
static int read_on(struct tail *t)
{
	size_t had = t->len - t->pos;
	ssize_t n;

	if (had == t->cap)
		return -EBADMSG;
	do
		n = pread(t->fd, t->buf, t->cap, (off_t)(t->off + t->pos));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	t->off += t->pos;
	t->pos = 0;
	t->len = (size_t)n;
	return t->len > had;
}

static void change_to(struct tail *t, int fd)
{
	(void)close(t->fd);
	t->fd = fd;
	t->off = 0;
	t->len = 0;
	t->pos = 0;
}

/* All of a file behind what is in the buffer. */
static int load_one(struct tail *t, int fd)
{
	struct stat st;
	char *more;
	ssize_t n;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > LOAD_MAX)
		return -EFBIG;
	more = realloc(t->buf, t->len + (size_t)st.st_size + 1);
	if (!more)
		return -ENOMEM;
	t->buf = more;
	n = pread(fd, t->buf + t->len, (size_t)st.st_size, 0);
	if (n < 0)
		return -errno;
	t->len += (size_t)n;
	return 0;
}

int tail_load(struct tail *t)
{
	int r;

	t->len = 0;
	t->pos = 0;
	r = load_one(t, t->fd);
	if (r == 0)
		r = load_one(t, t->next_fd);
	/* It may have begun, or turned over, since they were opened. */
	if (r == 0 && !is_named(t->next_fd >= 0 ? t->next_fd : t->fd, t->dirfd,
				t->name)) {
		auto_fd int fd = open_log(t->dirfd, t->name);

		r = load_one(t, fd);
	}
	drop_fd(&t->fd);
	drop_fd(&t->next_fd);
	t->name = NULL;
	return r;
}

int tail_more(struct tail *t)
{
	int fd, r;

	if (!t->name)
		return 0;
	if (t->fd < 0) {
		t->fd = open_log(t->dirfd, t->name);
		if (t->fd < 0)
			return t->fd == -1 ? 0 : t->fd;
	}
	r = read_on(t);
	if (r != 0)
		return r;
	if (t->next_fd >= 0) {
		change_to(t, take_fd(&t->next_fd));
		return 1;
	}
	if (is_named(t->fd, t->dirfd, t->name))
		return 0;
	/* It has turned over; what came before that is in ours by now. */
	r = read_on(t);
	if (r != 0)
		return r;
	fd = open_log(t->dirfd, t->name);
	if (fd < 0)
		return fd == -1 ? 0 : fd;
	change_to(t, fd);
	return 1;
}
