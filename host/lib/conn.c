/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/conn.c - see conn.h */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/unix.h"
#include "host/lib/conn.h"
#include "host/lib/vmdir.h"

static int queue_hello(struct conn *c)
{
	static const struct msg_hello hello = { .version = WIRE_VERSION };
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));
	int n = snprintf((char *)buf, sizeof(buf), "CONNECT %u\n",
			 WIRE_PORT_AGENT);

	bug_on(n <= 0);
	wr.len = (size_t)n;
	wire_hello_put(&wr, &hello);
	bug_on(wr_end(&wr) < 0);
	return conn_queue(c, buf, wr.len);
}

int conn_open(struct conn *c, int run_fd, int flags, struct err *e)
{
	int fd = unix_connect(run_fd, VMDIR_VSOCK_SOCK, SOCK_STREAM | flags, e);

	*c = (struct conn){ .fd = -1 };
	return fd < 0 ? fd : conn_adopt(c, fd, e);
}

int conn_adopt(struct conn *c, int fd, struct err *e)
{
	int r = io_set_nonblock(fd, 1);

	*c = (struct conn){ .fd = fd, .out.cap = CONN_OUT_MAX };
	wire_reader_init(&c->in, WIRE_FROM_AGENT);
	if (r == 0)
		r = queue_hello(c);
	if (r < 0) {
		conn_close(c);
		return err_set(e, r, "connection to the VM: %s", strerror(-r));
	}
	return 0;
}

void conn_close(struct conn *c)
{
	drop_fd(&c->fd);
	ring_done(&c->out);
	wire_reader_done(&c->in);
	c->broken = true;
}

int conn_queue(struct conn *c, const void *buf, size_t len)
{
	ptrdiff_t n;

	if (c->broken)
		return -EPIPE;
	if (len > ring_room(&c->out))
		return -EAGAIN;
	n = ring_put(&c->out, buf, len);
	return n < 0 ? (int)n : 0;
}

/* Return: bytes sent, 0 if there is no room, -EPIPE if nobody is there. */
static ssize_t send_some(struct conn *c, struct iovec *iov, size_t n_iov)
{
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = n_iov };
	ssize_t n;

	do
		n = sendmsg(c->fd, &mh, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	if (errno == EAGAIN)
		return 0;
	/* Whatever it was, there is no way to go on; reading tells why. */
	c->broken = true;
	return -EPIPE;
}

int conn_flush(struct conn *c)
{
	struct iovec iov[2];

	if (c->broken)
		return -EPIPE;
	while (c->out.len) {
		int k = ring_peek(&c->out, iov);
		ssize_t n = send_some(c, iov, (size_t)k);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return -EAGAIN;
		ring_drop(&c->out, (size_t)n);
	}
	ring_done(&c->out);
	return 0;
}

int conn_send_data(struct conn *c, enum wire_type type, const void *data,
		   size_t len)
{
	uint8_t head[WIRE_HDR_LEN];
	struct wr wr = wr_init(head, sizeof(head));
	struct iovec iov[2] = { { .iov_base = head, .iov_len = sizeof(head) },
				{ .iov_len = len } };
	int r = conn_flush(c);
	ssize_t n;

	if (r < 0)
		return r;
	bug_on(len == 0 || len > WIRE_DATA_MAX);
	wire_head_put(&wr, type, len);
	bug_on(wr_end(&wr) != WIRE_HDR_LEN);
	memcpy(&iov[1].iov_base, &data, sizeof(data)); /* is only read */
	n = send_some(c, iov, 2);
	if (n < 0)
		return (int)n;
	/* What did not go is kept, so that poll() is asked for POLLOUT. */
	if ((size_t)n < WIRE_HDR_LEN) {
		r = conn_queue(c, head + n, WIRE_HDR_LEN - (size_t)n);
		n = WIRE_HDR_LEN;
	}
	n -= (ssize_t)WIRE_HDR_LEN;
	if (r == 0 && (size_t)n < len)
		r = conn_queue(c, (const char *)data + n, len - (size_t)n);
	if (r < 0)
		c->broken = true;
	return r;
}

short conn_poll_events(const struct conn *c)
{
	return c->out.len && !c->broken ? POLLIN | POLLOUT : POLLIN;
}

/* "OK <digits>\n"; what follows it is the first bytes of the stream. */
static int parse_greeting(struct conn *c, const char *nl, struct err *e)
{
	size_t len = (size_t)(nl - c->line);
	size_t digits = 0;

	while (3 + digits < len && c->line[3 + digits] >= '0' &&
	       c->line[3 + digits] <= '9')
		digits++;
	if (len < 4 || memcmp(c->line, "OK ", 3) != 0 || 3 + digits != len)
		return err_set(e, -EBADMSG,
			       "the VM's socket did not answer OK");
	c->greeted = true;
	len++;
	if (c->line_len > len) {
		ssize_t n = wire_reader_push(&c->in, c->line + len,
					     c->line_len - len);

		if (n != (ssize_t)(c->line_len - len))
			return err_set(e, -ENOMEM, "no memory");
	}
	return 0;
}

/* Return: 1 greeted, 0 not yet, -EPIPE, -EBADMSG. */
static int read_greeting(struct conn *c, struct err *e)
{
	while (!c->greeted) {
		const char *nl;
		ssize_t n;
		int r;

		if (c->line_len == sizeof(c->line))
			return err_set(e, -EBADMSG,
				       "the VM's socket did not answer OK");
		n = read(c->fd, c->line + c->line_len,
			 sizeof(c->line) - c->line_len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -EPIPE;
		c->line_len += (size_t)n;
		nl = memchr(c->line, '\n', c->line_len);
		r = nl ? parse_greeting(c, nl, e) : 0;
		if (r < 0)
			return r;
	}
	return 1;
}

static int check_hello(struct conn *c, const struct wire_frame *f,
		       struct err *e)
{
	struct msg_hello hello;
	int r;

	/* An agent that cannot serve us says so in place of HELLO. */
	if (f->type == WIRE_ERROR)
		return 1;
	if (f->type != WIRE_HELLO)
		return err_set(e, -EBADMSG, "the agent's first frame is %s",
			       wire_type_name(f->type));
	r = wire_hello_parse(f->data, f->len, &hello, e);
	if (r < 0)
		return r;
	if (hello.version != WIRE_VERSION)
		return err_set(e, -EBADMSG,
			       "the agent speaks version %u of the protocol, "
			       "this program %u",
			       hello.version, WIRE_VERSION);
	c->hello = true;
	return 0;
}

/* Return: as conn_next(). */
static int next_frame(struct conn *c, struct wire_frame *ret, struct err *e)
{
	for (;;) {
		int r = wire_reader_next(&c->in, ret, e);
		ssize_t n;

		if (r != 0)
			return r;
		n = wire_reader_fill(&c->in, c->fd);
		if (n == -EAGAIN)
			return 0;
		if (n == -ENOMEM)
			return err_set(e, -ENOMEM, "no memory");
		if (n <= 0)
			return -EPIPE;
	}
}

int conn_next(struct conn *c, struct wire_frame *ret, struct err *e)
{
	int r;

	if (c->fd < 0)
		return -EPIPE;
	r = read_greeting(c, e);
	while (r > 0) {
		bool first = !c->hello;

		r = next_frame(c, ret, e);
		if (r <= 0 || !first)
			break;
		r = check_hello(c, ret, e);
		if (r != 0)
			break;
		r = 1;
	}
	return r;
}
