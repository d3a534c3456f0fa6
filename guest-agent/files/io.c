/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/files/io.c - see io.h */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/log.h"
#include "guest-agent/files/io.h"

static int gone(struct files *f, struct err *e)
{
	f->gone = true;
	return err_set(e, -EPIPE, "the client has gone");
}

int files_send(struct files *f, const void *head, size_t head_len,
	       const void *data, size_t len, struct err *e)
{
	struct iovec iov[2] = { { .iov_len = head_len }, { .iov_len = len } };
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };

	/* Both are only read. */
	memcpy(&iov[0].iov_base, &head, sizeof(head));
	memcpy(&iov[1].iov_base, &data, sizeof(data));
	while (iov[0].iov_len + iov[1].iov_len) {
		ssize_t n = sendmsg(f->fd, &mh, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return gone(f, e);
		for (int i = 0; i < 2; i++) {
			size_t part = MIN((size_t)n, iov[i].iov_len);

			/* Without data its base is no pointer to add to. */
			if (part)
				iov[i].iov_base = (char *)iov[i].iov_base +
						  part;
			iov[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
	return 0;
}

int files_send_wr(struct files *f, const struct wr *wr, struct err *e)
{
	bug_on(wr_end(wr) < 0);
	return files_send(f, wr->buf, wr->len, NULL, 0, e);
}

int files_next(struct files *f, struct wire_frame *ret, struct err *e)
{
	for (;;) {
		int r = wire_reader_next(f->in, ret, e);
		ssize_t n;

		if (r > 0)
			return 0;
		if (r < 0) {
			f->broke = true;
			return r;
		}
		n = wire_reader_fill(f->in, f->fd);
		if (n == -ENOMEM)
			return err_set(e, -ENOMEM, "out of memory");
		if (n <= 0)
			return gone(f, e);
	}
}

int files_wait(struct files *f, int fd, short events, struct err *e)
{
	struct pollfd p[2] = { { .fd = fd, .events = events },
			       { .fd = f->fd, .events = POLLRDHUP } };

	for (;;) {
		int n = poll(p, ARRAY_LEN(p), -1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(e, -errno, "poll: %s", strerror(errno));
		if (p[1].revents)
			return gone(f, e);
		if (p[0].revents)
			return 0;
	}
}

int files_broken(struct files *f, const struct wire_frame *frame, struct err *e)
{
	f->broke = true;
	return err_set(e, -EPROTO, "%s is out of place",
		       wire_type_name(frame->type));
}

int files_fail(struct err *e, int code, const char *path)
{
	char q[FILES_QUOTE_MAX];

	return err_set(e, code, "'%s': %s",
		       log_escape(q, sizeof(q), path, strlen(path)),
		       strerror(-code));
}
