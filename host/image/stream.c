/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/stream.c - see stream.h */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "host/image/stream.h"

#define WHY_MAX 120

static ssize_t read_some(struct stream *s)
{
	ssize_t n;

	do
		n = read(s->fd, s->buf, sizeof(s->buf));
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		s->err = errno;
		return -1;
	}
	sha_add(&s->packed, s->buf, (size_t)n);
	s->n_packed += (uint64_t)n;
	if (s->fn)
		s->fn(s->arg, s->n_packed);
	return n;
}

static ssize_t on_read(struct archive *a, void *arg, const void **ret)
{
	struct stream *s = arg;
	ssize_t n = read_some(s);

	if (n < 0)
		archive_set_error(a, s->err, "%s", strerror(s->err));
	*ret = s->buf;
	return n;
}

static int failed(struct stream *s, struct err *e)
{
	const char *why = s->a ? archive_error_string(s->a) : NULL;
	char q[WHY_MAX];

	if (s->err)
		return err_set(e, -s->err, "cannot read it: %s",
			       strerror(s->err));
	if (s->a && archive_errno(s->a) == ENOMEM)
		return err_set(e, -E2BIG,
			       "unpacking it takes more memory than it may");
	why = why ? why : "no reason known";
	return err_set(e, -EBADMSG, "it is damaged: %s",
		       log_escape(q, sizeof(q), why, strlen(why)));
}

static int set_up(struct archive *a)
{
	/* Linked in, all of them: none of these starts a program. */
	if (archive_read_support_filter_gzip(a) != ARCHIVE_OK ||
	    archive_read_support_filter_zstd(a) != ARCHIVE_OK ||
	    archive_read_support_filter_xz(a) != ARCHIVE_OK ||
	    archive_read_support_filter_bzip2(a) != ARCHIVE_OK ||
	    archive_read_support_format_raw(a) != ARCHIVE_OK ||
	    archive_read_support_format_empty(a) != ARCHIVE_OK)
		return -ENOTSUP;
	return 0;
}

int stream_open(struct stream *s, int fd, uint64_t max, struct err *e)
{
	struct archive_entry *ae;
	int r;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	s->max = max;
	sha_init(&s->packed);
	sha_init(&s->plain);
	s->a = archive_read_new();
	if (!s->a)
		return err_set(e, -ENOMEM, "no memory");
	r = set_up(s->a);
	if (r < 0)
		return err_set(e, r, "libarchive here lacks a filter: %s",
			       archive_error_string(s->a));
	if (archive_read_open(s->a, s, NULL, on_read, NULL) != ARCHIVE_OK)
		return failed(s, e);
	r = archive_read_next_header(s->a, &ae);
	s->end = r == ARCHIVE_EOF;
	return r == ARCHIVE_OK || s->end ? 0 : failed(s, e);
}

void stream_close(struct stream *s)
{
	if (s->a)
		(void)archive_read_free(s->a);
	s->a = NULL;
}

ptrdiff_t stream_next(struct stream *s, const void **ret, struct err *e)
{
	la_int64_t off;
	size_t len = 0;
	int r;

	while (!s->end && len == 0) {
		r = archive_read_data_block(s->a, ret, &len, &off);
		s->end = r == ARCHIVE_EOF;
		if (r != ARCHIVE_OK && !s->end)
			return failed(s, e);
	}
	if (s->end)
		return 0;
	if (len > s->max - s->n_plain)
		return err_set(e, -E2BIG, "it unpacks to more than %llu bytes",
			       (unsigned long long)s->max);
	s->n_plain += len;
	sha_add(&s->plain, *ret, len);
	return (ptrdiff_t)len;
}

int stream_finish(struct stream *s, char packed[SHA_HEX + 1],
		  char plain[SHA_HEX + 1], struct err *e)
{
	const void *p;
	ptrdiff_t n;
	ssize_t more;

	do
		n = stream_next(s, &p, e);
	while (n > 0);
	if (n < 0)
		return (int)n;
	/* Behind the last compressed byte there may be more. */
	do
		more = read_some(s);
	while (more > 0);
	if (more < 0)
		return failed(s, e);
	sha_end(&s->packed, packed);
	sha_end(&s->plain, plain);
	return 0;
}
