/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/mainlog.c - see mainlog.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "common/rd.h"
#include "host/lib/internal.h"
#include "host/lib/mainlog.h"
#include "host/lib/vmdir.h"

void mainlog_init(struct mainlog *l, int dirfd)
{
	*l = (struct mainlog){ .dirfd = dirfd, .fd = -1 };
}

void mainlog_done(struct mainlog *l)
{
	if (l->fd >= 0)
		(void)close(take_fd(&l->fd));
}

static int open_file(struct mainlog *l)
{
	if (l->fd >= 0)
		return 0;
	l->fd = openat(l->dirfd, VMDIR_MAIN_LOG,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		       0600);
	l->size = 0;
	return l->fd < 0 ? -errno : 0;
}

static int make_way(struct mainlog *l, size_t len)
{
	if (l->fd >= 0 && l->size + len > MAINLOG_FILE_MAX) {
		mainlog_done(l);
		if (renameat(l->dirfd, VMDIR_MAIN_LOG, l->dirfd,
			     VMDIR_MAIN_LOG_OLD) < 0)
			return -errno;
	}
	return open_file(l);
}

void mainlog_put(struct mainlog *l, int stream, uint64_t cursor,
		 const void *data, size_t len)
{
	const struct mainlog_head h = {
		.time_ns = le64_put((uint64_t)now_ns()),
		.cursor = le64_put(cursor),
		.len = le32_put((uint32_t)len),
		.stream = (uint8_t)stream,
	};
	struct iovec iov[2] = { { .iov_len = sizeof(h) }, { .iov_len = len } };
	const void *head = &h;
	ssize_t n;

	bug_on(len == 0 || len > MAINLOG_PIECE_MAX);
	if (make_way(l, sizeof(h) + len) < 0) {
		l->lost += len;
		return;
	}
	memcpy(&iov[0].iov_base, &head, sizeof(head)); /* writev only reads */
	memcpy(&iov[1].iov_base, &data, sizeof(data));
	n = writev(l->fd, iov, 2);
	if (n == (ssize_t)(sizeof(h) + len)) {
		l->size += sizeof(h) + len;
		return;
	}
	l->lost += len;
	/* Part of a piece would make nonsense of the next one. */
	if (n > 0 && (ftruncate(l->fd, (off_t)l->size) < 0 ||
		      lseek(l->fd, (off_t)l->size, SEEK_SET) < 0))
		mainlog_done(l);
}

ptrdiff_t mainlog_next(const void *buf, size_t len,
		       const struct mainlog_head **ret)
{
	struct rd rd = rd_init(buf, len);
	const struct mainlog_head *h = rd_bytes(&rd, sizeof(*h));
	uint32_t n;

	if (!h)
		return 0;
	n = le32_get(h->len);
	if (n == 0 || n > MAINLOG_PIECE_MAX ||
	    (h->stream != 1 && h->stream != 2) || h->zero[0] || h->zero[1] ||
	    h->zero[2])
		return -EBADMSG;
	if (!rd_bytes(&rd, n))
		return 0;
	*ret = h;
	return (ptrdiff_t)(sizeof(*h) + n);
}
