/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/mainlog.c - see mainlog.h */
#include <errno.h>
#include <string.h>

#include "common/rd.h"
#include "host/lib/internal.h"
#include "host/lib/mainlog.h"
#include "host/lib/vmdir.h"

void mainlog_init(struct mainlog *l, int dirfd)
{
	*l = (struct mainlog){ 0 };
	capfile_init(&l->file, dirfd, VMDIR_MAIN_LOG, VMDIR_MAIN_LOG_OLD,
		     MAINLOG_FILE_MAX);
}

void mainlog_done(struct mainlog *l)
{
	capfile_done(&l->file);
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

	bug_on(len == 0 || len > MAINLOG_PIECE_MAX);
	memcpy(&iov[0].iov_base, &head, sizeof(head)); /* only to be read */
	memcpy(&iov[1].iov_base, &data, sizeof(data));
	if (capfile_append(&l->file, iov, 2) < 0)
		l->lost += len;
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
