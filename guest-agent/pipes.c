/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/pipes.c - see pipes.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/io.h"
#include "guest-agent/pipes.h"
#include "guest-agent/pty.h"

void pipes_init(struct pipes *s)
{
	memset(s, 0xff, sizeof(*s)); /* each of them -1 */
}

void pipes_done(struct pipes *s)
{
	for (int i = 0; i < 3; i++) {
		base_closep(&s->ours[i]);
		/* Equal ones are copies of one number: close it once. */
		if (i == 0 || s->stdio[i] != s->stdio[i - 1])
			base_closep(&s->stdio[i]);
	}
	base_closep(&s->report[0]);
	base_closep(&s->report[1]);
}

/* Our end does not block; the child's does, as every program expects. */
static int make_pipe(int *ret_ours, int *ret_childs, int ours)
{
	int fd[2];
	int r;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	*ret_ours = fd[ours];
	*ret_childs = fd[!ours];
	r = io_set_nonblock(fd[ours], 1);
	return r;
}

static int open_null(int flags)
{
	int fd = open("/dev/null", flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int one_output(struct pipes *s, int i, bool null)
{
	int r;

	if (!null)
		return make_pipe(&s->ours[i], &s->stdio[i], 0);
	r = open_null(O_WRONLY);
	if (r < 0)
		return r;
	s->stdio[i] = r;
	return 0;
}

static int open_pipes(struct pipes *s, uint32_t flags)
{
	int r;

	if (flags & WIRE_EXEC_STDIN) {
		r = make_pipe(&s->ours[0], &s->stdio[0], 1);
	} else {
		r = open_null(O_RDONLY);
		if (r >= 0)
			s->stdio[0] = r;
	}
	if (r >= 0)
		r = one_output(s, 1, flags & WIRE_EXEC_STDOUT_NULL);
	if (r < 0)
		return r;
	if (flags & WIRE_EXEC_COMBINED) {
		s->stdio[2] = s->stdio[1];
		return 0;
	}
	return one_output(s, 2, flags & WIRE_EXEC_STDERR_NULL);
}

/* The master twice: one to read, one to write, each watched by itself. */
static int open_tty(struct pipes *s, const struct msg_exec *m, struct err *e)
{
	int r = pty_open(m->cols, m->rows, &s->ours[1], &s->stdio[0], e);

	if (r < 0)
		return r;
	s->stdio[1] = s->stdio[0];
	s->stdio[2] = s->stdio[0];
	s->ours[0] = fcntl(s->ours[1], F_DUPFD_CLOEXEC, 3);
	if (s->ours[0] < 0)
		return err_set(e, -errno, "a terminal: %s", strerror(errno));
	return 0;
}

int pipes_open(struct pipes *s, const struct msg_exec *m, struct err *e)
{
	int r;

	if (m->flags & WIRE_EXEC_PTY) {
		r = open_tty(s, m, e);
	} else {
		r = open_pipes(s, m->flags);
		if (r < 0)
			(void)err_set(e, r, "pipes for the process: %s",
				      strerror(-r));
	}
	if (r < 0)
		return r;
	r = make_pipe(&s->report[0], &s->report[1], 0);
	if (r < 0)
		return err_set(e, r, "a pipe: %s", strerror(-r));
	return 0;
}
