/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/logs.c - read the logs of a VM (hutch_logs_*)
 *
 * How following works.  Whether the VM has ended is asked before the log is
 * read, so that of one that has, all has been read when there is no more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "common/conring.h"
#include "host/lib/vmwatch.h"
#include "host/lib/internal.h"
#include "host/lib/mainlog.h"
#include "host/lib/record.h"
#include "host/lib/tail.h"
#include "host/lib/vmdir.h"

/**
 * struct hutch_logs - See hutch.h
 * @d:		The VM's folders
 * @tail:	Of the main process's log
 * @follow:	Open if followed
 * @keeper_fd:	-1: the VM has no keeper any more
 * @plain:	The console: one piece with no head, @len bytes in @buf
 */
struct hutch_logs {
	struct hutch *h;
	struct vmdir d;
	struct tail tail;
	struct vmwatch follow;
	int keeper_fd;
	bool following;
	bool plain;
	char *buf;
	size_t len;
};

/* ---- Opening ---- */

static int read_console(struct hutch_logs *l, struct err *e)
{
	auto_fd int fd =
		openat(l->d.state_fd, VMDIR_CONSOLE, O_RDONLY | O_CLOEXEC);

	l->plain = true;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(e, -errno, "cannot open '%s': %s", VMDIR_CONSOLE,
			       strerror(errno));
	return conring_read(fd, &l->buf, &l->len, e);
}

/* The watch first: what is written after it wakes us. */
static int start_following(struct hutch_logs *l)
{
	int r = vmwatch_open(&l->follow);

	if (r == 0)
		r = MIN(vmwatch_dir(&l->follow, l->d.state_fd), 0);
	if (r == 0 && l->d.run_fd >= 0)
		vmwatch_keeper(&l->follow, l->d.run_fd, &l->keeper_fd);
	return r;
}

static int open_main(struct hutch_logs *l, struct err *e)
{
	int r = l->following ? start_following(l) : 0;

	if (r == 0)
		r = tail_open(&l->tail, l->d.state_fd, VMDIR_MAIN_LOG,
			      VMDIR_MAIN_LOG_OLD,
			      sizeof(struct mainlog_head) + MAINLOG_PIECE_MAX);
	return r < 0 ? err_set(e, r, "cannot read the log of '%s': %s",
			       l->d.name, strerror(-r))
		     : 0;
}

static int open_log(struct hutch_logs *l, const char *name,
		    enum hutch_log which, struct err *e)
{
	int r = vmdir_open(l->h, name, &l->d, e);

	if (r < 0)
		return r;
	if (l->d.state_fd < 0)
		return err_set(e, -ENOENT,
			       "there is no VM named '%s'; hutch list shows "
			       "those there are",
			       name);
	return which == HUTCH_LOG_MAIN ? open_main(l, e) : read_console(l, e);
}

static int check(enum hutch_log which, unsigned int flags, struct err *e)
{
	if ((flags & ~HUTCH_LOGS_FOLLOW) ||
	    (which != HUTCH_LOG_MAIN && which != HUTCH_LOG_CONSOLE))
		return err_set(e, -EINVAL, "logs: unknown option");
	if (flags && which == HUTCH_LOG_CONSOLE)
		return err_set(e, -EINVAL,
			       "logs: the console cannot be followed");
	return 0;
}

int hutch_logs_open(struct hutch *h, const char *name, enum hutch_log which,
		    unsigned int flags, struct hutch_logs **ret,
		    struct hutch_err *e)
{
	struct hutch_logs *l;
	int r = check(which, flags, err_of(e));

	if (r < 0)
		return r;
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_set(err_of(e), -ENOMEM, "no memory");
	l->h = h;
	l->d = (struct vmdir)VMDIR_INIT;
	l->follow = (struct vmwatch)VMWATCH_INIT;
	l->keeper_fd = -1;
	l->following = flags & HUTCH_LOGS_FOLLOW;
	tail_init(&l->tail);
	r = open_log(l, name, which, err_of(e));
	if (r < 0) {
		hutch_logs_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

/* ---- Reading ---- */

/* Return: 1, 0 if there is no whole piece, -errno. */
static int take_piece(struct hutch_logs *l, struct hutch_log_piece *piece,
		      struct err *e)
{
	const struct mainlog_head *h;
	size_t len;
	const char *p = tail_left(&l->tail, &len);
	ptrdiff_t n = mainlog_next(p, len, &h);

	if (n < 0)
		return err_set(e, (int)n, "the log is damaged");
	if (n == 0)
		return 0;
	*piece = (struct hutch_log_piece){
		.stream = h->stream,
		.time_ns = (int64_t)le64_get(h->time_ns),
		.cursor = le64_get(h->cursor),
		.data = h + 1,
		.len = (size_t)n - sizeof(*h),
	};
	tail_take(&l->tail, (size_t)n);
	return 1;
}

/* Another VM may have the name by now. */
static bool is_of(const struct hutch_logs *l, const struct hutch_record *rec)
{
	AUTO(record_freep) struct hutch_record *ours = NULL;

	return record_read(l->d.state_fd, &ours, NULL) == 0 &&
	       strcmp(ours->id, rec->id) == 0;
}

static bool has_ended(struct hutch_logs *l)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;

	if (vmwatch_quiet(&l->follow, &l->keeper_fd))
		return false;
	if (vmdir_read(l->h, l->d.name, &rec, NULL) < 0 ||
	    rec->state == HUTCH_STATE_STOPPED || !is_of(l, rec))
		return true;
	vmwatch_keeper(&l->follow, l->d.run_fd, &l->keeper_fd);
	return false;
}

static int next_console(struct hutch_logs *l, struct hutch_log_piece *piece)
{
	if (l->len == 0)
		return 0;
	*piece = (struct hutch_log_piece){ .stream = 1,
					   .data = l->buf,
					   .len = l->len };
	l->len = 0;
	return 1;
}

int hutch_logs_next(struct hutch_logs *l, struct hutch_log_piece *piece,
		    struct hutch_err *e)
{
	bool ended = false, asked = false;
	int r;

	if (l->plain)
		return next_console(l, piece);
	(void)vmwatch_clear(&l->follow, -1);
	for (;;) {
		r = take_piece(l, piece, err_of(e));
		if (r != 0)
			return r;
		r = tail_more(&l->tail);
		if (r < 0)
			return err_set(err_of(e), r, "the log is damaged");
		if (r > 0)
			continue;
		if (!l->following)
			return 0;
		/* And once more, when we know: see the head of this file. */
		if (asked)
			return ended ? err_set(err_of(e), -ENODATA,
					       "the VM has ended")
				     : 0;
		ended = has_ended(l);
		asked = true;
	}
}

int hutch_logs_fd(const struct hutch_logs *l)
{
	return l->follow.epfd;
}

int hutch_logs_wait(struct hutch_logs *l, struct hutch_log_piece *piece,
		    int timeout_ms, struct hutch_err *e)
{
	uint64_t end = deadline_in(timeout_ms);

	for (;;) {
		int r = hutch_logs_next(l, piece, e);

		if (r != 0 || !l->following)
			return r;
		r = vmwatch_wait(&l->follow, end, err_of(e));
		if (r <= 0)
			return r;
	}
}

void hutch_logs_close(struct hutch_logs *l)
{
	if (!l)
		return;
	tail_done(&l->tail);
	if (l->keeper_fd >= 0)
		(void)close(l->keeper_fd);
	vmwatch_close(&l->follow);
	vmdir_close(&l->d);
	free(l->buf);
	free(l);
}
