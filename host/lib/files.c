/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/files.c - files of a VM: the request, and what comes back */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "host/lib/files.h"

/* Linux has no errno beyond it that a file operation gives. */
#define ERRNO_LAST 133

int hutch_fs_open(struct hutch *h, const char *name,
		  const struct hutch_fs_opts *opts, struct hutch_fs **ret,
		  struct hutch_err *e)
{
	struct hutch_fs_opts o = { .size = 0 };
	struct hutch_fs *fs;
	int r = name_check(name, err_of(e));

	if (r == 0 && opts)
		r = opts_take(&o, sizeof(o), opts, opts->size, err_of(e));
	if (r < 0)
		return r;
	if (o.user && strlen(o.user) > WIRE_USER_MAX)
		return err_set(err_of(e), -EINVAL, "user: more than %u bytes",
			       WIRE_USER_MAX);
	fs = calloc(1, sizeof(*fs));
	if (fs)
		fs->user = strdup(o.user ? o.user : "");
	if (!fs || !fs->user) {
		free(fs);
		return err_set(err_of(e), -ENOMEM, "no memory");
	}
	fs->h = h;
	fs->note = o.note;
	fs->arg = o.arg;
	memcpy(fs->name, name, strlen(name) + 1);
	session_init(&fs->s, h, name);
	*ret = fs;
	return 0;
}

void hutch_fs_close(struct hutch_fs *fs)
{
	if (!fs)
		return;
	session_close(&fs->s);
	free(fs->user);
	free(fs);
}

int hutch_fs_refused(const struct hutch_fs *fs)
{
	return fs->refused;
}

int files_check_flags(unsigned int flags, unsigned int known, struct err *e)
{
	if (flags & ~known)
		return err_set(e, -EINVAL, "files: unknown flags %#x",
			       flags & ~known);
	return 0;
}

static int check_path(const char *path, struct err *e)
{
	if (!*path)
		return err_set(e, -EINVAL, "the path is empty");
	if (strlen(path) > WIRE_PATH_MAX)
		return err_set(e, -ENAMETOOLONG,
			       "the path has more than %u bytes",
			       WIRE_PATH_MAX);
	return 0;
}

int files_begin(struct hutch_fs *fs, struct msg_file *m, struct err *e)
{
	uint8_t buf[WIRE_FILE_FRAME_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));
	int r = check_path(m->path, e);

	if (!m->other)
		m->other = "";
	else if (r == 0 && m->op == WIRE_FILE_RENAME)
		r = check_path(m->other, e);
	if (r == 0 && m->mode > WIRE_MODE_MAX)
		r = err_set(e, -EINVAL, "mode %#o is not 0 to %#o", m->mode,
			    WIRE_MODE_MAX);
	fs->refused = false;
	fs->left_out = false;
	fs->since_look = 0;
	fs->more = false;
	if (r < 0)
		return r;
	m->user = fs->user;
	wire_file_put(&wr, m);
	bug_on(wr_end(&wr) < 0);
	session_init(&fs->s, fs->h, fs->name);
	r = session_open(&fs->s, e);
	return r < 0 ? r : session_send(&fs->s, buf, wr.len, e);
}

void files_end(struct hutch_fs *fs)
{
	char text[HUTCH_ERR_MAX];

	session_close(&fs->s);
	if (fs->notes > HUTCH_FS_NOTES_MAX && fs->note) {
		(void)snprintf(text, sizeof(text),
			       "VM '%s': %" PRIu64 " more were not shown",
			       fs->name, fs->notes - HUTCH_FS_NOTES_MAX);
		fs->note(fs->arg, 0, text);
	}
	fs->notes = 0;
}

void files_say(struct hutch_fs *fs, int code, const char *sentence)
{
	if (code)
		fs->left_out = true;
	/* A guest may never end: whoever reads them is to see the rest. */
	if (fs->notes++ < HUTCH_FS_NOTES_MAX && fs->note)
		fs->note(fs->arg, code, sentence);
}

static int on_note(struct hutch_fs *fs, const struct wire_frame *f,
		   struct err *e)
{
	char text[HUTCH_ERR_MAX];
	struct msg_note m;
	int r = wire_note_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	files_say(
		fs, m.code <= ERRNO_LAST ? -(int)m.code : -EIO,
		log_escape(text, sizeof(text), m.sentence, strlen(m.sentence)));
	return 0;
}

static int on_error(struct hutch_fs *fs, const struct wire_frame *f,
		    struct err *e)
{
	char text[HUTCH_ERR_MAX];
	struct msg_error m;
	int r = wire_error_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	fs->refused = m.kind == WIRE_ERR_GENERAL;
	r = m.code <= ERRNO_LAST ? -(int)m.code : -EIO;
	/* What the agent has escaped is text, and stays as it is. */
	return err_set(
		e, r, "%s",
		log_escape(text, sizeof(text), m.sentence, strlen(m.sentence)));
}

/* Return: as files_next(), or 2 if it was a note. */
static int sort(struct hutch_fs *fs, const struct wire_frame *f, struct err *e)
{
	int r;

	switch (f->type) {
	case WIRE_DONE:
		return 0;
	case WIRE_ERROR:
		return on_error(fs, f, e);
	case WIRE_FILE_NOTE:
		r = on_note(fs, f, e);
		return r < 0 ? r : 2;
	default:
		return 1;
	}
}

int files_next(struct hutch_fs *fs, struct wire_frame *ret, struct err *e)
{
	int r;

	do {
		r = session_await(&fs->s, 0, ret, e);
		if (r == 0)
			r = sort(fs, ret, e);
		/* It may talk until it has all that we have queued. */
		(void)conn_flush(&fs->s.conn);
	} while (r == 2);
	return r;
}

int files_unexpected(const struct hutch_fs *fs, const struct wire_frame *f,
		     struct err *e)
{
	return err_set(e, -EBADMSG,
		       "VM '%s' sent %s, which is not what was asked for",
		       fs->name, wire_type_name(f->type));
}

int files_await_done(struct hutch_fs *fs, struct err *e)
{
	struct wire_frame f;
	int r = files_next(fs, &f, e);

	return r > 0 ? files_unexpected(fs, &f, e) : r;
}

/*
 * What the guest has said so far: while we send, nothing but why not to.  If it
 * talks on and on we listen for a while, and send something in between.
 */
static int listen_to(struct hutch_fs *fs, struct err *e)
{
	struct wire_frame f;
	unsigned int n = 0;
	int r;

	fs->since_look = 0;
	fs->more = false;
	while ((r = conn_next(&fs->s.conn, &f, e)) > 0) {
		r = sort(fs, &f, e);
		if (r < 0)
			return r;
		if (r < 2)
			return files_unexpected(fs, &f, e);
		fs->more = ++n == FILES_LISTEN_MAX;
		if (fs->more)
			return 0;
	}
	return r == -EPIPE ? session_broken(&fs->s, "it had all", e) : r;
}

/* Wait for @fd, if it is not -1, or else for room to send. */
static int wait_for(struct hutch_fs *fs, int fd, struct err *e)
{
	struct conn *c = &fs->s.conn;
	struct pollfd p[2] = { { .fd = c->fd, .events = conn_poll_events(c) },
			       { .fd = fd, .events = POLLIN } };

	if (poll(p, ARRAY_LEN(p), fs->more ? 0 : -1) < 0 && errno != EINTR)
		return err_set(e, -errno, "poll: %s", strerror(errno));
	(void)conn_flush(c);
	if (fs->more || (p[0].revents & ~POLLOUT)) {
		int r = listen_to(fs, e);

		if (r < 0)
			return r;
	}
	return p[1].revents != 0;
}

int files_wait_readable(struct hutch_fs *fs, int fd, struct err *e)
{
	int r;

	do
		r = wait_for(fs, fd, e);
	while (r == 0);
	return MIN(r, 0);
}

int files_send(struct hutch_fs *fs, const void *head, size_t head_len,
	       const void *data, size_t len, struct err *e)
{
	struct conn *c = &fs->s.conn;
	int r = conn_queue(c, head, head_len);

	if (r == 0 && len)
		r = conn_queue(c, data, len);
	if (r == 0)
		r = conn_flush(c);
	if (r == -ENOMEM)
		return err_set(e, r, "no memory");
	/* A broken connection is explained by what came on it. */
	if (r == -EPIPE || ++fs->since_look >= FILES_LOOK_EVERY) {
		r = listen_to(fs, e);
		if (r == 0 && c->broken)
			r = wait_for(fs, -1, e);
		if (r < 0)
			return r;
	}
	while (c->out.len > FILES_QUEUE_MAX) {
		r = wait_for(fs, -1, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int files_commit(struct hutch_fs *fs, struct err *e)
{
	uint8_t buf[WIRE_HDR_LEN];
	struct wr wr = wr_init(buf, sizeof(buf));
	int r;

	wire_empty_put(&wr, WIRE_FILE_COMMIT);
	r = files_send(fs, buf, wr.len, NULL, 0, e);
	return r < 0 ? r : files_await_done(fs, e);
}
