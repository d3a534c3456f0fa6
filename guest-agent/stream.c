/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/stream.c - see stream.h */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "guest-agent/agent.h"
#include "guest-agent/clock.h"
#include "guest-agent/conn.h"
#include "guest-agent/process.h"
#include "guest-agent/stream.h"

/*
 * What a terminal can hold at most: the kernel's flip buffers and the line
 * discipline's own.  How much it does hold cannot be asked.
 */
#define TTY_HELD_MAX (128u << 10)

static void out_event(struct loop_io *io, uint32_t events);

void out_open(struct out_stream *s, struct proc *p, int fd, enum wire_type type)
{
	s->p = p;
	s->type = type;
	s->fd = fd;
}

void out_close(struct out_stream *s)
{
	loop_del(&s->io);
	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = -1;
}

bool out_drained(const struct out_stream *s)
{
	return s->fd < 0 || (s->draining && s->left == 0);
}

/* Hand on @n bytes that lie in the scratch frame, behind room for its head. */
static void deliver(struct out_stream *s, size_t n)
{
	struct proc *p = s->p;
	struct agent *a = p->a;
	struct wr wr = wr_init(a->scratch, WIRE_OUTPUT_HEAD);
	struct conn *fg = proc_foreground(p);
	uint64_t cursor = s->store.total, now = clock_wall_ns();

	store_put(&s->store, a->scratch + WIRE_OUTPUT_HEAD, n, now,
		  proc_sequence(p, s, now));
	if (fg) {
		wire_output_head_put(&wr, s->type, cursor, now, n);
		(void)conn_send(fg, a->scratch, WIRE_OUTPUT_HEAD + n);
	}
	proc_feed(p);
}

/* Stop reading; epoll would tell of a hang-up for ever, so leave it. */
static void pause_reading(struct out_stream *s)
{
	loop_del(&s->io);
}

/**
 * out_pump() - Move one chunk
 *
 * Return: bytes moved; 0 if there is nothing to do now
 */
static size_t out_pump(struct out_stream *s)
{
	struct agent *a = s->p->a;
	const struct conn *fg = proc_foreground(s->p);
	size_t want = WIRE_DATA_MAX;
	ssize_t n;

	if (s->fd < 0)
		return 0;
	if (fg && !conn_ready(fg)) {
		pause_reading(s);
		return 0;
	}
	if (s->draining && fg)
		want = MIN(want, s->left);
	if (want == 0) {
		pause_reading(s);
		return 0;
	}
	do
		n = read(s->fd, a->scratch + WIRE_OUTPUT_HEAD, want);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		/* A terminal that is empty now is a terminal drained. */
		s->left = 0;
		return 0;
	}
	if (n <= 0) {
		/* EIO is how a terminal says that its last user has gone. */
		out_close(s);
		return 0;
	}
	if (s->draining)
		s->left -= MIN(s->left, (uint64_t)n);
	deliver(s, (size_t)n);
	return (size_t)n;
}

static void out_event(struct loop_io *io, uint32_t events)
{
	struct out_stream *s = container_of(io, struct out_stream, io);

	(void)events;
	(void)out_pump(s);
	proc_progress(s->p);
}

void out_drain(struct out_stream *s)
{
	int held = 0;

	if (s->fd < 0)
		return;
	s->draining = true;
	if (s->tty)
		s->left = TTY_HELD_MAX;
	else if (ioctl(s->fd, FIONREAD, &held) == 0 && held > 0)
		s->left = (uint64_t)held;
	else
		s->left = 0;
	while (s->left && out_pump(s) > 0)
		;
}

void out_resume(struct out_stream *s)
{
	if (s->fd < 0 || s->io.loop)
		return;
	if (s->draining && proc_foreground(s->p)) {
		/* No event tells that a terminal is empty: look. */
		while (s->left && out_pump(s) > 0)
			;
		return;
	}
	if (loop_add(&s->p->a->loop, &s->io, s->fd, EPOLLIN, out_event) < 0)
		out_close(s);
}
