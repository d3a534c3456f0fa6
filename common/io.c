/* SPDX-License-Identifier: Apache-2.0 */
/* common/io.c - see io.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/io.h"

#define CHUNK 65536u

ssize_t io_read_full(int fd, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, (char *)buf + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int io_write_full(int fd, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)buf + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

/* Reads to the end rather than trusting st_size: /proc files say 0. */
static int read_all(int fd, size_t max, char **ret, size_t *ret_len)
{
	auto_free char *buf = NULL;
	size_t len = 0, size = 0;

	for (;;) {
		ssize_t n;

		if (size - len < 2) {
			char *more;

			size = size ? size * 2 : MIN(CHUNK, max + 2);
			more = realloc(buf, size);
			if (!more)
				return -ENOMEM;
			buf = more;
		}
		n = io_read_full(fd, buf + len, size - len - 1);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
	}
	buf[len] = '\0';
	*ret = take_ptr(&buf);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int io_read_file(int dirfd, const char *path, size_t max, char **ret,
		 size_t *ret_len, struct err *e)
{
	auto_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	if (fd < 0)
		return err_set(e, -errno, "cannot open '%s': %s", path,
			       strerror(errno));
	r = read_all(fd, max, ret, ret_len);
	if (r == -EFBIG)
		return err_set(e, r, "'%s' is larger than %zu bytes", path,
			       max);
	if (r < 0)
		return err_set(e, r, "cannot read '%s': %s", path,
			       strerror(-r));
	return 0;
}

int io_set_nonblock(int fd, int on)
{
	int fl = fcntl(fd, F_GETFL);

	if (fl < 0)
		return -errno;
	fl = on ? fl | O_NONBLOCK : fl & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, fl) < 0 ? -errno : 0;
}

int io_set_cloexec(int fd, int on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}
