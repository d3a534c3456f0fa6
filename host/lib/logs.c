/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/logs.c - read the logs of a VM (hutch_logs_*) */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/conring.h"
#include "common/io.h"
#include "host/lib/internal.h"
#include "host/lib/mainlog.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

#define ROTATE_TRIES 10

/**
 * struct hutch_logs - See hutch.h
 * @buf:	All that there is, older file first; at most both files' size
 * @off:	Of the next piece
 * @plain:	The console: one piece with no head
 */
struct hutch_logs {
	char *buf;
	size_t len;
	size_t off;
	bool plain;
};

static int read_console(struct hutch_logs *l, int dirfd, struct err *e)
{
	auto_fd int fd = openat(dirfd, VMDIR_CONSOLE, O_RDONLY | O_CLOEXEC);

	l->plain = true;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(e, -errno, "cannot open '%s': %s", VMDIR_CONSOLE,
			       strerror(errno));
	return conring_read(fd, &l->buf, &l->len, e);
}

static ino_t inode_of(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino
								   : 0;
}

static int read_or_none(int dirfd, const char *name, char **ret, size_t *len,
			struct err *e)
{
	int r = io_read_file(dirfd, name, (size_t)MAINLOG_FILE_MAX * 2, ret,
			     len, e);

	if (r != -ENOENT)
		return r;
	*ret = NULL;
	*len = 0;
	return 0;
}

static int read_both(struct hutch_logs *l, int dirfd, struct err *e)
{
	auto_free char *old = NULL;
	auto_free char *new = NULL;
	size_t old_len = 0, new_len = 0;
	int r = read_or_none(dirfd, VMDIR_MAIN_LOG_OLD, &old, &old_len, e);

	if (r == 0)
		r = read_or_none(dirfd, VMDIR_MAIN_LOG, &new, &new_len, e);
	if (r < 0)
		return r;
	free(l->buf);
	l->buf = malloc(old_len + new_len + 1);
	if (!l->buf)
		return err_set(e, -ENOMEM, "no memory");
	if (old_len)
		memcpy(l->buf, old, old_len);
	if (new_len)
		memcpy(l->buf + old_len, new, new_len);
	l->len = old_len + new_len;
	return 0;
}

/* Again if the keeper has put one in the other's place meanwhile. */
static int read_main(struct hutch_logs *l, int dirfd, struct err *e)
{
	for (int i = 0; i < ROTATE_TRIES; i++) {
		ino_t before = inode_of(dirfd, VMDIR_MAIN_LOG_OLD);
		int r = read_both(l, dirfd, e);

		if (r < 0 || inode_of(dirfd, VMDIR_MAIN_LOG_OLD) == before)
			return r;
	}
	return 0; /* so much is written that a piece more or less is moot */
}

static int open_log(struct hutch *h, const char *name, enum hutch_log which,
		    struct hutch_logs *l, struct err *e)
{
	struct vmdir d = VMDIR_INIT;
	int r = vmdir_open(h, name, &d, e);

	if (r < 0)
		return r;
	if (d.state_fd < 0)
		r = err_set(e, -ENOENT, "there is no VM named '%s'", name);
	else if (which == HUTCH_LOG_MAIN)
		r = read_main(l, d.state_fd, e);
	else
		r = read_console(l, d.state_fd, e);
	vmdir_close(&d);
	return r;
}

int hutch_logs_open(struct hutch *h, const char *name, enum hutch_log which,
		    unsigned int flags, struct hutch_logs **ret,
		    struct hutch_err *e)
{
	struct hutch_logs *l;
	int r;

	if (flags || (which != HUTCH_LOG_MAIN && which != HUTCH_LOG_CONSOLE))
		return err_set(err_of(e), -EINVAL, "logs: unknown option");
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_set(err_of(e), -ENOMEM, "no memory");
	r = open_log(h, name, which, l, err_of(e));
	if (r < 0) {
		hutch_logs_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

int hutch_logs_next(struct hutch_logs *l, struct hutch_log_piece *piece,
		    struct hutch_err *e)
{
	const struct mainlog_head *h;
	ptrdiff_t n;

	if (l->off >= l->len)
		return 0;
	if (l->plain) {
		*piece = (struct hutch_log_piece){ .stream = 1,
						   .data = l->buf,
						   .len = l->len };
		l->off = l->len;
		return 1;
	}
	n = mainlog_next(l->buf + l->off, l->len - l->off, &h);
	if (n < 0)
		return err_set(err_of(e), (int)n, "the log is damaged");
	if (n == 0)
		return 0;
	*piece = (struct hutch_log_piece){
		.stream = h->stream,
		.time_ns = (int64_t)le64_get(h->time_ns),
		.cursor = le64_get(h->cursor),
		.data = h + 1,
		.len = (size_t)n - sizeof(*h),
	};
	l->off += (size_t)n;
	return 1;
}

void hutch_logs_close(struct hutch_logs *l)
{
	if (!l)
		return;
	free(l->buf);
	free(l);
}
