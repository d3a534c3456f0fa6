/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/stream.c - see stream.h */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

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

/* Often enough that a client never waits, seldom enough to cost nothing. */
#define ACK_STEP (WIRE_STDIN_WINDOW / 4)

static void out_event(struct loop_io *io, uint32_t events);

int out_open(struct out_stream *s, struct proc *p, int fd, enum wire_type type)
{
	int r;

	s->p = p;
	s->type = type;
	s->ring.cap = AGENT_RING_MAX;
	s->fd = fd;
	r = loop_add(&p->a->loop, &s->io, fd, EPOLLIN, out_event);
	if (r < 0)
		out_close(s);
	return r;
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

/* Keep the newest bytes, in the place of the oldest. */
static void keep(struct out_stream *s, const uint8_t *p, size_t len)
{
	size_t room = ring_room(&s->ring);

	if (len > s->ring.cap) {
		s->dropped += len - s->ring.cap;
		p += len - s->ring.cap;
		len = s->ring.cap;
	}
	if (len > room) {
		s->dropped += len - room;
		ring_drop(&s->ring, len - room);
	}
	if (ring_put(&s->ring, p, len) < 0)
		s->dropped += len;
}

/* Hand on @n bytes that lie in the scratch frame, behind room for its head. */
static void deliver(struct out_stream *s, size_t n)
{
	struct agent *a = s->p->a;
	uint8_t *data = a->scratch + WIRE_OUTPUT_HEAD;
	struct wr wr = wr_init(a->scratch, WIRE_OUTPUT_HEAD);
	uint64_t cursor = s->total;

	s->total += n;
	if (s->p->conn) {
		wire_head_put(&wr, s->type, 16 + n);
		wr_le64(&wr, cursor);
		wr_le64(&wr, clock_wall_ns());
		if (conn_send(s->p->conn, a->scratch, WIRE_OUTPUT_HEAD + n) ==
		    0)
			return;
	}
	keep(s, data, n);
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
	size_t want = WIRE_DATA_MAX;
	ssize_t n;

	if (s->fd < 0)
		return 0;
	if (s->p->conn && !conn_ready(s->p->conn)) {
		pause_reading(s);
		return 0;
	}
	if (s->draining && s->p->conn)
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
	if (s->draining && s->p->conn) {
		/* No event tells that a terminal is empty: look. */
		while (s->left && out_pump(s) > 0)
			;
		return;
	}
	if (loop_add(&s->p->a->loop, &s->io, s->fd, EPOLLIN, out_event) < 0)
		out_close(s);
}

static void in_event(struct loop_io *io, uint32_t events);

int in_open(struct in_stream *s, struct proc *p, int fd)
{
	int r;

	s->p = p;
	s->ring.cap = WIRE_STDIN_WINDOW;
	s->fd = fd;
	/* Nothing to write yet, but a reader that goes away is noticed. */
	r = loop_add(&p->a->loop, &s->io, fd, 0, in_event);
	if (r < 0)
		in_close(s);
	return r;
}

void in_close(struct in_stream *s)
{
	loop_del(&s->io);
	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = -1;
	s->closed = true;
	s->consumed = s->received;
	ring_done(&s->ring);
}

void in_ack(struct in_stream *s)
{
	uint8_t buf[WIRE_HDR_LEN + 16];
	struct wr wr = wr_init(buf, sizeof(buf));
	bool tell = s->closed && !s->told && !s->close_due;
	struct conn *c = s->p ? s->p->conn : NULL;

	if (!c || c->state != CONN_EXEC || !conn_ready(c))
		return;
	if (!tell && s->consumed - s->acked < ACK_STEP)
		return;
	s->acked = s->consumed;
	s->told = s->closed;
	wire_stdin_ack_put(&wr,
			   &(struct msg_stdin_ack){
				   .consumed = s->consumed,
				   .flags = s->closed ? WIRE_ACK_CLOSED : 0 });
	(void)conn_send(c, buf, wr.len);
}

/* Write what the other end takes. Return: bytes, or -1 if it is gone */
static ssize_t write_some(struct in_stream *s, const uint8_t *p, size_t len)
{
	ssize_t n;

	do
		n = write(s->fd, p, len);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		n = 0;
	if (n > 0)
		s->consumed += (uint64_t)n;
	return n < 0 ? -1 : n;
}

/* A terminal has no end of file: say it as a person would, with Ctrl-D. */
static void end_of_input(struct in_stream *s)
{
	struct termios t;

	if (s->tty) {
		if (tcgetattr(s->fd, &t) == 0 && (t.c_lflag & ICANON) &&
		    write(s->fd, &t.c_cc[VEOF], 1) < 0)
			return;
		loop_mod(&s->io, 0);
		return;
	}
	in_close(s);
}

static void in_flush(struct in_stream *s)
{
	struct iovec iov[2];

	while (s->fd >= 0 && ring_peek(&s->ring, iov) > 0) {
		ssize_t n = write_some(s, iov[0].iov_base, iov[0].iov_len);

		if (n < 0) {
			in_close(s);
			return;
		}
		ring_drop(&s->ring, (size_t)n);
		if ((size_t)n < iov[0].iov_len) {
			loop_mod(&s->io, EPOLLOUT);
			return;
		}
	}
	ring_done(&s->ring);
	if (s->fd < 0)
		return;
	loop_mod(&s->io, 0);
	if (s->close_due)
		end_of_input(s);
}

static void in_event(struct loop_io *io, uint32_t events)
{
	struct in_stream *s = container_of(io, struct in_stream, io);

	if (events & EPOLLOUT)
		in_flush(s);
	if (events & (EPOLLERR | EPOLLHUP))
		in_close(s);
	in_ack(s);
}

int in_put(struct in_stream *s, const uint8_t *data, size_t len, struct err *e)
{
	ssize_t n = 0;

	if (s->close_due)
		return err_set(e, -EPROTO, "STDIN after STDIN_CLOSE");
	if (len > WIRE_STDIN_WINDOW - (s->received - s->acked))
		return err_set(e, -EPROTO,
			       "STDIN: more than %u bytes without waiting for "
			       "STDIN_ACK",
			       WIRE_STDIN_WINDOW);
	s->received += len;
	if (s->closed) {
		/* On their way when the end was told: not an offence. */
		s->consumed = s->received;
		in_ack(s);
		return 0;
	}
	if (s->ring.len == 0)
		n = write_some(s, data, len);
	if (n >= 0 && (size_t)n < len) {
		/* The window bounds what waits: all of it has room. */
		if (ring_put(&s->ring, data + n, len - (size_t)n) < 0)
			return err_set(e, -ENOMEM,
				       "STDIN: the guest is out of memory");
		loop_mod(&s->io, EPOLLOUT);
	}
	if (n < 0)
		in_close(s);
	in_ack(s);
	return 0;
}

void in_finish(struct in_stream *s)
{
	if (s->close_due || s->fd < 0)
		return;
	s->close_due = true;
	if (s->ring.len == 0)
		end_of_input(s);
}
