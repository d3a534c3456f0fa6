/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/conn.c - see conn.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "guest-agent/agent.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"
#include "guest-agent/port.h"
#include "guest-agent/process.h"
#include "guest-agent/request.h"
#include "guest-agent/tunnel.h"

#define OUT_MAX (WIRE_OUTPUT_HEAD + WIRE_DATA_MAX + AGENT_CONTROL_MAX)

static void conn_event(struct loop_io *io, uint32_t events);

static void bury(struct loop_defer *d)
{
	struct conn *c = container_of(d, struct conn, bury);

	wire_reader_done(&c->in);
	ring_done(&c->out);
	free(c);
}

int conn_give_away(struct conn *c)
{
	int fd = c->io.fd;

	c->state = CONN_GONE;
	loop_del(&c->io);
	list_del(&c->link);
	c->a->n_conns--;
	loop_defer(&c->a->loop, &c->bury, bury);
	events_leave(c);
	port_leave(c);
	tunnel_leave(c);
	proc_detach(c);
	return fd;
}

void conn_gone(struct conn *c)
{
	if (c->state != CONN_GONE)
		(void)close(conn_give_away(c));
}

void conn_new(struct agent *a, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c || loop_add(&a->loop, &c->io, fd, EPOLLIN, conn_event) < 0) {
		log_warn(&a->log, "out of memory: a client is turned away");
		free(c);
		(void)close(fd);
		return;
	}
	c->a = a;
	c->state = CONN_HELLO;
	c->out.cap = OUT_MAX;
	wire_reader_init(&c->in, WIRE_FROM_CLIENT);
	list_init(&c->at.link);
	list_init(&c->waiting);
	list_add_tail(&a->conns, &c->link);
	a->n_conns++;
}

bool conn_ready(const struct conn *c)
{
	return c->out.len == 0;
}

bool conn_attached(const struct conn *c)
{
	return c->state == CONN_EXEC || c->state == CONN_ATTACH;
}

void conn_call_again(struct conn *c)
{
	loop_mod(&c->io, EPOLLIN | EPOLLOUT);
}

/* When all is out after the last frame, say so to the client. */
static void shut_if_last(struct conn *c)
{
	if (c->state != CONN_LAST || c->shut || c->out.len)
		return;
	c->shut = true;
	(void)shutdown(c->io.fd, SHUT_WR);
}

static int send_now(struct conn *c, const uint8_t *p, size_t len)
{
	ssize_t n;

	do
		n = send(c->io.fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return (int)n;
}

int conn_send(struct conn *c, const void *frame, size_t len)
{
	const uint8_t *p = frame;
	ptrdiff_t took;
	int n = 0;

	if (c->state == CONN_GONE)
		return -EPIPE;
	if (c->out.len == 0) {
		n = send_now(c, p, len);
		if (n < 0) {
			conn_gone(c);
			return n;
		}
	}
	if ((size_t)n == len)
		return 0;
	took = ring_put(&c->out, p + n, len - (size_t)n);
	if (took < 0 || (size_t)took < len - (size_t)n) {
		/* Half a frame would garble all that follows. */
		log_warn(&c->a->log, "a client that does not read is dropped");
		conn_gone(c);
		return -ENOBUFS;
	}
	loop_mod(&c->io, EPOLLIN | EPOLLOUT);
	return 0;
}

void conn_last(struct conn *c)
{
	if (c->state == CONN_GONE)
		return;
	c->state = CONN_LAST;
	shut_if_last(c);
}

int conn_send_empty(struct conn *c, enum wire_type type)
{
	uint8_t buf[WIRE_HDR_LEN];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_empty_put(&wr, type);
	return conn_send(c, buf, wr.len);
}

void conn_done(struct conn *c)
{
	if (conn_send_empty(c, WIRE_DONE) == 0)
		conn_last(c);
}

void conn_error(struct conn *c, enum wire_error_kind kind, const struct err *e)
{
	uint8_t buf[WIRE_HDR_LEN + 16 + ERR_MSG_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_error_put(&wr, &(struct msg_error){ .code = (uint32_t)-e->code,
						 .kind = kind,
						 .sentence = e->msg });
	if (conn_send(c, buf, wr.len) == 0)
		conn_last(c);
}

/* Send what waits. Return: 0, or -errno and the connection is gone */
static int flush(struct conn *c)
{
	struct iovec iov[2];

	while (ring_peek(&c->out, iov) > 0) {
		int n = send_now(c, iov[0].iov_base, iov[0].iov_len);

		if (n < 0) {
			conn_gone(c);
			return n;
		}
		ring_drop(&c->out, (size_t)n);
		if ((size_t)n < iov[0].iov_len)
			return 0;
	}
	ring_done(&c->out);
	loop_mod(&c->io, EPOLLIN);
	shut_if_last(c);
	request_resume(c);
	return 0;
}

/*
 * After the last frame nothing that the client says matters, but that it closes
 * does.  When it has closed before we say that we are done, Linux forgets that
 * it has (vsock_shutdown() takes SOCK_DONE back), and ENOTCONN stands for it.
 */
static void discard(struct conn *c)
{
	ssize_t n = recv(c->io.fd, c->a->scratch, sizeof(c->a->scratch),
			 MSG_DONTWAIT);

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (n == 0 || errno == ENOTCONN)
		c->at.clean = c->shut;
	conn_gone(c);
}

static void refuse(struct conn *c, const struct err *e)
{
	bool limit = e->code == -ENOMEM || e->code == -ENOBUFS;

	conn_error(c, limit ? WIRE_ERR_LIMIT : WIRE_ERR_BAD_REQUEST, e);
	if (c->state != CONN_LAST)
		return;
	/* A client out of step may be anybody: its process is on its own. */
	events_leave(c);
	port_leave(c);
	tunnel_leave(c);
	proc_detach(c);
}

/* Serve the frames that are whole: at most one buffer full of them. */
static void serve_frames(struct conn *c)
{
	struct wire_frame f;
	struct err e = { 0 };
	int r;

	while (c->state != CONN_LAST && c->state != CONN_GONE) {
		r = wire_reader_next(&c->in, &f, &e);
		if (r == 0)
			return;
		if (r > 0)
			r = request_frame(c, &f, &e);
		if (r < 0)
			refuse(c, &e);
	}
}

static void conn_read(struct conn *c)
{
	ssize_t n;

	if (c->state == CONN_LAST) {
		discard(c);
		return;
	}
	n = wire_reader_fill(&c->in, c->io.fd);
	if (n == -EAGAIN)
		return;
	if (n <= 0)
		conn_gone(c);
	else
		serve_frames(c);
}

static void conn_event(struct loop_io *io, uint32_t events)
{
	struct conn *c = container_of(io, struct conn, io);

	if ((events & EPOLLOUT) && flush(c) < 0)
		return;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		conn_read(c);
}
