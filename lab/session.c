/* SPDX-License-Identifier: Apache-2.0 */
/* One command that a client has run in the lab. */
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto.h"
#include "spawn.h"

/**
 * session_new() - A session whose command is not yet known
 * @id:		Not 0
 *
 * Return: the session, or NULL.
 */
struct lab_session *session_new(uint16_t id)
{
	struct lab_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->id = id;
	s->in_fd = -1;
	for (int i = 0; i < 2; i++) {
		s->out[i].fd = -1;
		s->out[i].credit = LAB_WINDOW;
		s->out[i].left = UINT32_MAX;
	}
	return s;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/**
 * session_free() - Forget a session
 * @s:		Session, or NULL
 *
 * Return: NULL.
 */
struct lab_session *session_free(struct lab_session *s)
{
	if (!s)
		return NULL;
	close_fd(&s->in_fd);
	close_fd(&s->out[0].fd);
	close_fd(&s->out[1].fd);
	lab_buf_done(&s->args);
	lab_buf_done(&s->in);
	free(s);
	return NULL;
}

static int session_say(const struct lab_session *s, struct lab_world *w,
		       uint8_t type, uint8_t arg)
{
	return lab_frame_put(&w->out, &(struct lab_frame){
					      .session = s->id,
					      .type = type,
					      .arg = arg,
				      });
}

static int frame_start(struct lab_session *s, struct lab_world *w, uint8_t arg)
{
	int r;

	if (s->pid)
		return -EBADMSG;
	r = spawn_command(s, w, arg);
	lab_buf_done(&s->args);
	return r < 0 ? r : session_say(s, w, LAB_STARTED, 0);
}

static int frame_args(struct lab_session *s, const struct lab_frame *f)
{
	if (s->pid || f->len > LAB_START_MAX - s->args.len)
		return -EBADMSG;
	return lab_buf_add(&s->args, f->payload, f->len);
}

static int frame_stdin(struct lab_session *s, struct lab_world *w,
		       const struct lab_frame *f)
{
	if (s->in_eof || f->len > LAB_WINDOW - s->in.len)
		return -EBADMSG;
	/* Nobody reads it any more: taken and dropped. */
	if (s->in_fd < 0)
		return lab_frame_put_credit(&w->out, s->id, 0, f->len);
	return lab_buf_add(&s->in, f->payload, f->len);
}

static int frame_credit(struct lab_session *s, const struct lab_frame *f)
{
	struct lab_stream *o;

	if (f->len != 4 || f->arg < 1 || f->arg > 2)
		return -EBADMSG;
	o = &s->out[f->arg - 1];
	if (lab_get32(f->payload) > LAB_WINDOW - o->credit)
		return -EBADMSG;
	o->credit += lab_get32(f->payload);
	return 0;
}

/* The client is gone, so nobody will take output or grant credit. */
static void session_hang_up(struct lab_session *s)
{
	lab_buf_drop(&s->in, s->in.len);
	close_fd(&s->in_fd);
	close_fd(&s->out[0].fd);
	close_fd(&s->out[1].fd);
}

/**
 * session_frame() - Do what a client's frame asks
 * @s:		Session
 * @w:		The lab
 * @f:		Frame of that session
 *
 * Return: 0; -EBADMSG if the frame has no place here; -errno if the command
 *         could not be started.
 */
int session_frame(struct lab_session *s, struct lab_world *w,
		  const struct lab_frame *f)
{
	switch (f->type) {
	case LAB_ARGS:
		return frame_args(s, f);
	case LAB_START:
		return frame_start(s, w, f->arg);
	case LAB_STDIN:
		return frame_stdin(s, w, f);
	case LAB_STDIN_EOF:
		s->in_eof = true;
		if (!s->in.len && !s->tty)
			close_fd(&s->in_fd);
		return 0;
	case LAB_SIGNAL:
		if (s->pid && !s->ended && f->arg < NSIG)
			(void)kill(-s->pid, f->arg);
		return 0;
	case LAB_KILL:
		spawn_kill(s, w);
		if (f->arg)
			session_hang_up(s);
		return 0;
	case LAB_WINCH:
		if (f->len != 4)
			return -EBADMSG;
		if (s->tty && s->out[0].fd >= 0)
			(void)spawn_resize(s->out[0].fd, f->payload);
		return 0;
	case LAB_BROKEN:
		if (f->arg < 1 || f->arg > 2)
			return -EBADMSG;
		close_fd(&s->out[f->arg - 1].fd);
		return 0;
	case LAB_CREDIT:
		return frame_credit(s, f);
	default:
		return -EBADMSG;
	}
}

/**
 * session_poll() - What a session waits for
 * @s:		Session
 * @w:		The lab
 * @ret:	Room for three entries
 *
 * Return: entries set.
 */
unsigned int session_poll(struct lab_session *s, const struct lab_world *w,
			  struct pollfd *ret)
{
	unsigned int n = 0;

	/* Also with nothing to write, to see that its reader has gone. */
	if (s->in_fd >= 0 && !s->tty)
		ret[n++] = (struct pollfd){
			.fd = s->in_fd,
			.events = s->in.len ? POLLOUT : 0,
		};
	else if (s->in_fd >= 0 && s->in.len)
		ret[n++] = (struct pollfd){ .fd = s->in_fd, .events = POLLOUT };
	for (int i = 0; i < 2; i++) {
		const struct lab_stream *o = &s->out[i];

		if (o->fd >= 0 && o->credit && w->out.len < LAB_WINDOW)
			ret[n++] = (struct pollfd){ .fd = o->fd,
						    .events = POLLIN };
	}
	return n;
}

static int stdin_io(struct lab_session *s, struct lab_world *w, int events)
{
	ssize_t n = 0;

	if (s->in.len && events & POLLOUT)
		n = lab_buf_flush(&s->in, s->in_fd, LAB_WINDOW);
	if (n > 0) {
		int r = lab_frame_put_credit(&w->out, s->id, 0, (uint32_t)n);

		if (r < 0)
			return r;
	}
	if (events & POLLERR || (n < 0 && n != -EAGAIN && n != -EINTR)) {
		size_t lost = s->in.len;

		lab_buf_drop(&s->in, lost);
		close_fd(&s->in_fd);
		return lab_frame_put_credit(&w->out, s->id, 0, (uint32_t)lost);
	}
	if (s->in_eof && !s->in.len && !s->tty)
		close_fd(&s->in_fd);
	return 0;
}

static int stdout_io(struct lab_session *s, struct lab_world *w, int i)
{
	struct lab_stream *o = &s->out[i];
	uint8_t data[LAB_PAYLOAD_MAX];
	size_t max = sizeof(data);
	ssize_t n;

	if (max > o->credit)
		max = o->credit;
	if (max > o->left)
		max = o->left;
	n = max ? read(o->fd, data, max) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close_fd(&o->fd);
		return 0;
	}
	o->credit -= (uint32_t)n;
	if (s->ended && !s->tty)
		o->left -= (uint32_t)n;
	return lab_frame_put(&w->out,
			     &(struct lab_frame){
				     .payload = data,
				     .len = (uint32_t)n,
				     .session = s->id,
				     .type = i ? LAB_STDERR : LAB_STDOUT,
			     });
}

/**
 * session_io() - Go on after poll()
 * @s:		Session
 * @w:		The lab
 * @fd:		One that session_poll() gave
 * @events:	What poll() said of it
 *
 * Return: 0, -errno if the lab cannot go on.
 */
int session_io(struct lab_session *s, struct lab_world *w, int fd, int events)
{
	if (fd == s->in_fd)
		return stdin_io(s, w, events);
	for (int i = 0; i < 2; i++)
		if (fd == s->out[i].fd)
			return stdout_io(s, w, i);
	return 0;
}

/**
 * session_ended() - Take note that the command's first process is gone
 * @s:		Session
 * @status:	As from wait()
 *
 * What it has written until now is still delivered; what a child that it left
 * behind writes later is not.
 */
void session_ended(struct lab_session *s, int status)
{
	s->ended = true;
	s->code = (uint8_t)(WIFSIGNALED(status) ? 128 + WTERMSIG(status)
						: WEXITSTATUS(status));
	for (int i = 0; i < 2; i++) {
		int waiting = 0;

		/* A terminal's last bytes may not be there yet. */
		if (s->out[i].fd < 0 || s->tty)
			continue;
		(void)ioctl(s->out[i].fd, FIONREAD, &waiting);
		s->out[i].left = (uint32_t)waiting;
		if (!waiting)
			close_fd(&s->out[i].fd);
	}
}

/* Has a terminal given its last byte? It hangs up when nobody has it open. */
static void tty_check(struct lab_session *s)
{
	struct pollfd p = { .fd = s->out[0].fd, .events = POLLIN };

	if (p.fd < 0 || !s->out[0].credit)
		return;
	/* Something left behind still has it: wait for quiet, not for it. */
	if (poll(&p, 1, 50) == 0)
		close_fd(&s->out[0].fd);
}

/**
 * session_finish() - Say the command's end once its output is out
 * @s:		Session
 * @w:		The lab
 *
 * Return: 1 if it was said, and the session is to be freed; 0 if not yet;
 *         -errno.
 */
int session_finish(struct lab_session *s, struct lab_world *w)
{
	int r;

	if (!s->ended)
		return 0;
	if (s->tty)
		tty_check(s);
	if (s->out[0].fd >= 0 || s->out[1].fd >= 0)
		return 0;
	/* The host must find what the command has written. */
	(void)syncfs(w->tree);
	(void)syncfs(w->cache);
	spawn_forget(s, w);
	r = session_say(s, w, LAB_EXIT, s->code);
	return r < 0 ? r : 1;
}
