/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/vsock_host.c - host clients, and hosts that the guest calls
 *
 * A host client says "CONNECT <port>\n" and, once the guest has accepted, is
 * told "OK <n>\n", n being the host's port.  Every refusal is a close with no
 * reply.  The other way round, the guest's connects are made by the connector,
 * since this program may not: see docs/devices/vsock.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/unix.h"
#include "vmm/virtio/vsock_conn.h"

#define ACCEPT_BATCH   64
#define ACCEPT_WAIT_NS 100000000ull /* no descriptor left: look again after */
#define ANSWER_BATCH   64

/* What the connector is asked, and what it answers: docs/devices/vsock.md. */
struct dial_request {
	le32 port;
};

struct dial_answer {
	le32 port;
	le32 error;
};
_Static_assert(sizeof(struct dial_answer) == 8, "wire layout is ABI");

static void refuse(struct vsock_conn *c)
{
	c->v->stats.refused++;
	vsock_conn_drop(c);
}

static bool port_in_use(struct vsock *v, uint32_t port)
{
	struct list *p;

	list_for_each (p, &v->conns)
		if (list_entry(p, struct vsock_conn, all)->host_port == port)
			return true;
	return false;
}

/*
 * Free-running, so that a port that was closed is not used again for as long
 * as possible: a peer that still thinks of the old one must not meet the new.
 */
static uint32_t next_port(struct vsock *v)
{
	for (;;) {
		uint32_t port = v->next_port++;

		if (v->next_port == VSOCK_PORT_ANY) {
			v->next_port = VSOCK_PORT_FIRST;
			v->port_wrapped = true;
		}
		/* More ports than connections: this ends. */
		if (!v->port_wrapped || !port_in_use(v, port))
			return port;
	}
}

static void request(struct vsock_conn *c)
{
	struct vsock *v = c->v;

	c->host_port = next_port(v);
	c->state = VSOCK_REQUESTED;
	vsock_table_add(v, c);
	vsock_conn_due(c, VSOCK_OP_REQUEST);
}

/* The whole line is there. */
static void hello_done(struct vsock_conn *c, uint32_t port)
{
	struct vsock *v = c->v;

	list_del(&c->wait);
	c->guest_port = port;
	/* From now on only its death is of interest. */
	loop_mod(&c->io, 0);
	if (port != v->cfg.hold_port || v->rung) {
		request(c);
		return;
	}
	if (v->n_held == VSOCK_HELD_MAX) {
		refuse(c);
		return;
	}
	v->n_held++;
	c->state = VSOCK_HELD;
	list_add_tail(&v->held, &c->wait);
}

void vsock_host_ring(struct vsock *v)
{
	struct list *p, *n;

	if (v->rung)
		return;
	v->rung = true;
	if (v->cfg.bell)
		v->cfg.bell(v->cfg.ctx);
	list_for_each_safe (p, n, &v->held) {
		struct vsock_conn *c = list_entry(p, struct vsock_conn, wait);

		list_del(&c->wait);
		v->n_held--;
		request(c);
	}
}

/* "CONNECT 1000", the newline gone. Return: whether it is one */
static bool parse_connect(const char *s, size_t len, uint32_t *ret)
{
	static const char word[] = "CONNECT ";
	size_t i = sizeof(word) - 1;
	uint64_t port = 0;

	if (len <= i || memcmp(s, word, i) != 0)
		return false;
	for (; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		port = port * 10 + (uint64_t)(s[i] - '0');
		if (port >= VSOCK_PORT_ANY)
			return false;
	}
	*ret = (uint32_t)port;
	return true;
}

/*
 * Takes no byte behind the newline: those belong to the stream, and wait in
 * the socket like all others.  Return: 1 if the line is whole, 0 if not yet,
 * or -errno
 */
static int read_line(struct vsock_conn *c)
{
	char *at = c->line + c->line_len;
	size_t room = sizeof(c->line) - c->line_len;
	ssize_t n = recv(c->fd, at, room, MSG_PEEK | MSG_DONTWAIT);
	const char *nl;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	nl = memchr(at, '\n', (size_t)n);
	if (nl)
		n = nl - at + 1;
	if (recv(c->fd, at, (size_t)n, MSG_DONTWAIT) != n)
		return -EIO;
	c->line_len = (uint8_t)(c->line_len + n);
	if (nl)
		return 1;
	return c->line_len == sizeof(c->line) ? -EMSGSIZE : 0;
}

static void hello(struct vsock_conn *c)
{
	uint32_t port = 0;
	int r = read_line(c);

	if (r == 0)
		return;
	if (r < 0 || !parse_connect(c->line, c->line_len - 1u, &port))
		refuse(c);
	else
		hello_done(c, port);
}

static void on_io(struct loop_io *io, uint32_t events)
{
	struct vsock_conn *c = container_of(io, struct vsock_conn, io);

	if (c->state > VSOCK_REQUESTED) {
		vsock_conn_event(c, events);
		return;
	}
	/* A client may say its line and hang up: it wants no answer. */
	if (events & (EPOLLHUP | EPOLLERR))
		vsock_conn_reset(c);
	else if (c->state == VSOCK_HELLO)
		hello(c);
}

int vsock_host_opened(struct vsock_conn *c)
{
	char ok[32];
	int len = snprintf(ok, sizeof(ok), "OK %u\n", c->host_port);

	bug_on(len < 0 || (size_t)len >= sizeof(ok));
	/* The first bytes on this socket: they fit, or the client is gone. */
	if (send(c->fd, ok, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) != len)
		return -EPIPE;
	return 0;
}

/* A full table: those that only wait for the guest's last RST have to go. */
static bool make_room(struct vsock *v)
{
	struct vsock_conn *c;

	if (v->n_conns < v->conns_max)
		return true;
	if (list_empty(&v->closing))
		return false;
	c = list_entry(v->closing.next, struct vsock_conn, wait);
	vsock_stray(v, c->guest_port, c->host_port, VSOCK_TYPE_STREAM);
	vsock_conn_drop(c);
	return true;
}

static void welcome(struct vsock *v, int fd)
{
	struct vsock_conn *c = make_room(v) ? vsock_conn_new(v, fd) : NULL;

	if (!c) {
		(void)close(fd);
		v->stats.refused++;
		return;
	}
	c->state = VSOCK_HELLO;
	if (loop_add(v->loop, &c->io, fd, EPOLLIN, on_io) < 0) {
		refuse(c);
		return;
	}
	vsock_conn_wait(c, &v->hello, VSOCK_HELLO_NS);
	/* Mostly the line is there already. */
	hello(c);
}

static void keep_reserve(struct vsock *v)
{
	if (v->reserve_fd < 0)
		v->reserve_fd = fcntl(v->cfg.listen_fd, F_DUPFD_CLOEXEC, 0);
}

static void on_listen_timer(struct loop_timer *t)
{
	vsock_host_room(container_of(t, struct vsock, listen_timer));
}

/*
 * No descriptor is left; that is also what accept says when nobody is there.
 * Give up the reserve to accept one client and close it, so that it knows.
 * Without a reserve leave them in the backlog, and do not look until there is
 * a chance, since epoll would tell us of them for ever.
 *
 * Return: whether to look for more
 */
static bool refuse_one(struct vsock *v)
{
	bool nobody;
	int fd;

	drop_fd(&v->reserve_fd);
	fd = accept4(v->cfg.listen_fd, NULL, NULL, SOCK_CLOEXEC);
	nobody = fd < 0 && errno == EAGAIN;
	if (fd >= 0) {
		(void)close(fd);
		v->stats.refused++;
	}
	keep_reserve(v);
	if (v->reserve_fd >= 0 && (fd >= 0 || nobody))
		return !nobody;
	loop_mod(&v->listen_io, 0);
	loop_timer_set(v->loop, &v->listen_timer, ACCEPT_WAIT_NS,
		       on_listen_timer);
	return false;
}

void vsock_host_room(struct vsock *v)
{
	if (!v->listen_io.loop || v->listen_io.events)
		return;
	keep_reserve(v);
	if (v->reserve_fd < 0) {
		loop_timer_set(v->loop, &v->listen_timer, ACCEPT_WAIT_NS,
			       on_listen_timer);
		return;
	}
	loop_timer_cancel(&v->listen_timer);
	loop_mod(&v->listen_io, EPOLLIN);
}

static void on_listen(struct loop_io *io, uint32_t events)
{
	struct vsock *v = container_of(io, struct vsock, listen_io);

	(void)events;
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		int fd = accept4(v->cfg.listen_fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			welcome(v, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno == EAGAIN || !refuse_one(v))
			return;
	}
}

void vsock_host_undial(struct vsock_conn *c)
{
	struct vsock *v = c->v;

	for (unsigned int i = 0; i < v->n_dials; i++) {
		struct vsock_conn **d =
			&v->dial[(v->dial_head + i) % VSOCK_DIALS_MAX];

		if (*d == c)
			*d = NULL;
	}
}

/* The connector has gone, or talks nonsense: nobody gets anywhere any more. */
static void connector_lost(struct vsock *v)
{
	loop_del(&v->connector_io);
	(void)close(v->cfg.connector_fd);
	v->cfg.connector_fd = -1;
	for (; v->n_dials > 0; v->n_dials--) {
		struct vsock_conn *c = v->dial[v->dial_head];

		v->dial_head = (v->dial_head + 1) % VSOCK_DIALS_MAX;
		if (c) {
			v->stats.refused++;
			vsock_conn_reset(c);
		}
	}
}

/* The answer to the oldest question. @fd: the socket, or -1 */
static void answered(struct vsock *v, int fd)
{
	struct vsock_conn *c = v->dial[v->dial_head];

	v->dial_head = (v->dial_head + 1) % VSOCK_DIALS_MAX;
	v->n_dials--;
	if (!c) {
		base_closep(&fd);
		return;
	}
	c->fd = fd;
	if (fd < 0 || io_set_nonblock(fd, 1) < 0 ||
	    loop_add(v->loop, &c->io, fd, 0, on_io) < 0) {
		v->stats.refused++;
		vsock_conn_reset(c);
		return;
	}
	vsock_conn_due(c, VSOCK_OP_RESPONSE);
	vsock_conn_open(c);
}

/* Return: 1 if there was an answer, 0 if there is none, or -errno */
static int read_answer(struct vsock *v)
{
	int fds[UNIX_FDS_MAX], n_fds = 0, fd = -1;
	struct dial_answer a;
	ssize_t n =
		unix_recv_fds(v->cfg.connector_fd, &a, sizeof(a), fds, &n_fds);

	if (n == -EAGAIN)
		return 0;
	if (n == -EMSGSIZE && v->n_dials > 0) {
		answered(v, -1); /* no descriptor was left for this one */
		return 1;
	}
	if (n_fds == 1)
		fd = fds[0];
	for (int i = 0; n_fds > 1 && i < n_fds; i++)
		(void)close(fds[i]);
	if (n != sizeof(a) || v->n_dials == 0 ||
	    (fd >= 0) != (le32_get(a.error) == 0)) {
		base_closep(&fd);
		return -EBADMSG;
	}
	answered(v, fd);
	return 1;
}

static void on_connector(struct loop_io *io, uint32_t events)
{
	struct vsock *v = container_of(io, struct vsock, connector_io);

	(void)events;
	for (int i = 0; i < ANSWER_BATCH; i++) {
		int r = read_answer(v);

		if (r < 0)
			connector_lost(v);
		if (r <= 0)
			return;
	}
}

static bool send_dial(struct vsock *v, uint32_t port)
{
	struct dial_request q = { .port = le32_put(port) };

	if (v->cfg.connector_fd < 0 || v->n_dials == VSOCK_DIALS_MAX)
		return false;
	return send(v->cfg.connector_fd, &q, sizeof(q),
		    MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(q);
}

void vsock_host_dial(struct vsock *v, const struct vsock_hdr *h)
{
	uint32_t guest_port = le32_get(h->src_port);
	uint32_t host_port = le32_get(h->dst_port);
	struct vsock_conn *c = NULL;

	if (host_port == v->cfg.bell_port && host_port) {
		vsock_host_ring(v);
		vsock_stray(v, guest_port, host_port, VSOCK_TYPE_STREAM);
		return;
	}
	if (v->n_guest < v->guest_max && make_room(v))
		c = vsock_conn_new(v, -1);
	if (!c || !send_dial(v, host_port)) {
		if (c)
			vsock_conn_drop(c);
		v->stats.refused++;
		vsock_stray(v, guest_port, host_port, VSOCK_TYPE_STREAM);
		return;
	}
	c->guest_port = guest_port;
	c->host_port = host_port;
	c->from_guest = true;
	c->peer_alloc = le32_get(h->buf_alloc);
	c->state = VSOCK_DIALING;
	v->n_guest++;
	v->dial[(v->dial_head + v->n_dials++) % VSOCK_DIALS_MAX] = c;
	vsock_table_add(v, c);
}

int vsock_host_start(struct vsock *v, struct err *e)
{
	int r = 0;

	if (v->cfg.listen_fd >= 0) {
		r = io_set_nonblock(v->cfg.listen_fd, 1);
		if (r == 0)
			r = loop_add(v->loop, &v->listen_io, v->cfg.listen_fd,
				     EPOLLIN, on_listen);
		keep_reserve(v);
	}
	if (r == 0 && v->cfg.connector_fd >= 0) {
		r = io_set_nonblock(v->cfg.connector_fd, 1);
		if (r == 0)
			r = loop_add(v->loop, &v->connector_io,
				     v->cfg.connector_fd, EPOLLIN,
				     on_connector);
	}
	if (r < 0)
		return err_set(e, r, "vsock: cannot serve its sockets: %s",
			       strerror(-r));
	return 0;
}

void vsock_host_stop(struct vsock *v)
{
	loop_timer_cancel(&v->listen_timer);
	loop_del(&v->listen_io);
	loop_del(&v->connector_io);
	base_closep(&v->cfg.listen_fd);
	base_closep(&v->cfg.connector_fd);
	base_closep(&v->reserve_fd);
}
