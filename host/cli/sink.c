/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/sink.c - see sink.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "host/cli/sink.h"

static int open_anew(int fd)
{
	char path[sizeof("/proc/self/fd/") + 11];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void sink_open(struct sink *s, int fd)
{
	struct stat st;

	*s = (struct sink){ .kind = SINK_FILE, .fd = fd, .own = -1 };
	if (fstat(fd, &st) < 0)
		return;
	if (S_ISSOCK(st.st_mode)) {
		s->kind = SINK_SOCKET;
	} else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		s->own = open_anew(fd);
		s->kind = s->own < 0 ? SINK_CAREFUL : SINK_OWN;
		s->fd = s->own < 0 ? fd : s->own;
	}
}

void sink_close(struct sink *s)
{
	if (s->own >= 0)
		(void)close(s->own);
	free(s->buf);
	*s = (struct sink){ .fd = -1, .own = -1 };
}

bool sink_waits(const struct sink *s)
{
	return s->len > 0;
}

static ssize_t write_some(const struct sink *s, const char *p, size_t len)
{
	struct pollfd pfd = { .fd = s->fd, .events = POLLOUT };

	switch (s->kind) {
	case SINK_SOCKET:
		return send(s->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	case SINK_CAREFUL:
		if (poll(&pfd, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		return write(s->fd, p, MIN(len, (size_t)PIPE_BUF));
	case SINK_FILE:
	case SINK_OWN:
		break;
	}
	return write(s->fd, p, len);
}

/* Return: bytes written, all of them unless it would block; -errno. */
static ssize_t write_most(const struct sink *s, const char *p, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write_some(s, p + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			return -errno;
	}
	return (ssize_t)done;
}

static int end(struct sink *s, int error)
{
	s->error = error;
	s->off = s->len = 0;
	return error;
}

static int keep(struct sink *s, const char *p, size_t len)
{
	if (len > s->room) {
		char *buf = realloc(s->buf, len);

		if (!buf)
			return end(s, -ENOMEM);
		s->buf = buf;
		s->room = len;
	}
	memcpy(s->buf, p, len);
	s->off = 0;
	s->len = len;
	return 0;
}

int sink_put(struct sink *s, const void *p, size_t len)
{
	ssize_t n;

	if (s->error)
		return s->error;
	n = write_most(s, p, len);
	if (n < 0)
		return end(s, (int)n);
	if ((size_t)n == len)
		return 0;
	return keep(s, (const char *)p + n, len - (size_t)n);
}

int sink_flush(struct sink *s)
{
	ssize_t n;

	if (s->error || s->len == 0)
		return s->error;
	n = write_most(s, s->buf + s->off, s->len);
	if (n < 0)
		return end(s, (int)n);
	s->off += (size_t)n;
	s->len -= (size_t)n;
	return 0;
}
