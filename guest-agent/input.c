/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/input.c - see input.h */
#include <errno.h>
#include <string.h>
#include <termios.h>

#include "guest-agent/agent.h"
#include "guest-agent/conn.h"
#include "guest-agent/input.h"
#include "guest-agent/process.h"

/* Often enough that a client never waits, seldom enough to cost nothing. */
#define ACK_STEP (WIRE_STDIN_WINDOW / 4)

static void in_event(struct loop_io *io, uint32_t events);

int in_open(struct in_stream *s, struct proc *p, int fd)
{
	int r;

	s->p = p;
	s->fd = fd;
	s->closed = false;
	s->ring.cap = INPUT_QUEUE_MAX;
	/* Nothing to write yet, but a reader that goes away is noticed. */
	r = loop_add(&p->a->loop, &s->io, fd, 0, in_event);
	if (r < 0)
		in_close(s);
	return r;
}

/* @n bytes behind what is in the queue are this client's. */
static void add_run(const struct in_stream *s, struct in_client *ic, size_t n)
{
	uint64_t at = s->taken + s->ring.len;
	struct in_run *last = ic->n_runs ? &ic->run[ic->n_runs - 1] : NULL;

	if (last && (last->end == at || ic->n_runs == INPUT_RUNS_MAX)) {
		last->end = at + n;
		last->len += n;
		return;
	}
	ic->run[ic->n_runs++] = (struct in_run){ .end = at + n, .len = n };
}

/* The queue has moved: give back to the client what was his. */
static void credit(const struct in_stream *s, struct in_client *ic)
{
	unsigned int gone = 0;

	for (unsigned int i = 0; i < ic->n_runs; i++) {
		struct in_run *run = &ic->run[i];
		uint64_t from = run->end - run->len;
		uint64_t n = MIN(s->taken, run->end);

		if (n <= from)
			break;
		ic->consumed += n - from;
		run->len -= n - from;
		if (run->len == 0)
			gone++;
	}
	if (gone == 0)
		return;
	ic->n_runs -= gone;
	memmove(ic->run, ic->run + gone, ic->n_runs * sizeof(*ic->run));
}

static void credit_all(struct in_stream *s)
{
	struct list *l;

	list_for_each (l, &s->p->clients) {
		struct in_client *ic =
			&list_entry(l, struct conn, at.link)->at.in;

		credit(s, ic);
		if (!s->closed)
			continue;
		ic->consumed = ic->received;
		ic->n_runs = 0;
	}
}

static void ack_all(struct in_stream *s)
{
	struct list *l, *n;

	list_for_each_safe (l, n, &s->p->clients)
		in_ack(s, list_entry(l, struct conn, at.link));
}

void in_close(struct in_stream *s)
{
	loop_del(&s->io);
	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = -1;
	s->closed = true;
	ring_done(&s->ring);
	credit_all(s);
}

void in_ack(const struct in_stream *s, struct conn *c)
{
	uint8_t buf[WIRE_HDR_LEN + 16];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct in_client *ic = &c->at.in;
	bool tell = s->closed && !ic->told && !ic->sent_close;

	/* STARTED comes before anything else. */
	if (!ic->allowed || s->p->state == PROC_STARTING || !conn_attached(c) ||
	    !conn_ready(c))
		return;
	if (!tell && ic->consumed - ic->acked < ACK_STEP)
		return;
	ic->acked = ic->consumed;
	ic->told = s->closed;
	wire_stdin_ack_put(&wr,
			   &(struct msg_stdin_ack){
				   .consumed = ic->consumed,
				   .flags = s->closed ? WIRE_ACK_CLOSED : 0 });
	(void)conn_send(c, buf, wr.len);
}

/* Write what the other end takes. Return: bytes, or -1 if it is gone */
static ssize_t write_some(const struct in_stream *s, const uint8_t *p,
			  size_t len)
{
	ssize_t n;

	do
		n = write(s->fd, p, len);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		n = 0;
	return n < 0 ? -1 : n;
}

/* A terminal has no end of file: say it as a person would, with Ctrl-D. */
static void end_of_input(struct in_stream *s)
{
	struct termios t;

	if (s->tty) {
		if (tcgetattr(s->fd, &t) == 0 && (t.c_lflag & ICANON) &&
		    write(s->fd, &t.c_cc[VEOF], 1) < 0) {
			loop_mod(&s->io, EPOLLOUT);
			return;
		}
		loop_mod(&s->io, 0);
		/* It can be typed again, by this client or another. */
		s->close_due = false;
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
		s->taken += (uint64_t)n;
		credit_all(s);
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
	ack_all(s);
}

/* What the pipe does not take now waits, if there is room for it. */
static int enqueue(struct in_stream *s, struct conn *c, const uint8_t *data,
		   size_t len, struct err *e)
{
	size_t kept = c == proc_foreground(s->p) ? 0 : WIRE_STDIN_WINDOW;

	if (len + kept > ring_room(&s->ring))
		return err_set(e, -ENOBUFS,
			       "STDIN: the process does not read, and what "
			       "other clients wrote waits for it");
	add_run(s, &c->at.in, len);
	if (ring_put(&s->ring, data, len) < 0)
		return err_set(e, -ENOMEM, "STDIN: the guest is out of memory");
	loop_mod(&s->io, EPOLLOUT);
	return 0;
}

int in_put(struct in_stream *s, struct conn *c, const uint8_t *data, size_t len,
	   struct err *e)
{
	struct in_client *ic = &c->at.in;
	ssize_t n = 0;
	int r = 0;

	if (ic->sent_close)
		return err_set(e, -EPROTO, "STDIN after STDIN_CLOSE");
	if (len > WIRE_STDIN_WINDOW - (ic->received - ic->acked))
		return err_set(e, -EPROTO,
			       "STDIN: more than %u bytes without waiting for "
			       "STDIN_ACK",
			       WIRE_STDIN_WINDOW);
	ic->received += len;
	if (s->closed || s->close_due) {
		/* On their way when the end was told: not an offence. */
		ic->consumed += len;
		in_ack(s, c);
		return 0;
	}
	if (s->ring.len == 0)
		n = write_some(s, data, len);
	if (n < 0) {
		in_close(s);
		ack_all(s);
		return 0;
	}
	ic->consumed += (uint64_t)n;
	if ((size_t)n < len)
		r = enqueue(s, c, data + n, len - (size_t)n, e);
	if (r == 0)
		in_ack(s, c);
	return r;
}

void in_finish(struct in_stream *s)
{
	if (s->close_due || s->fd < 0)
		return;
	s->close_due = true;
	if (s->ring.len == 0)
		end_of_input(s);
	ack_all(s);
}
