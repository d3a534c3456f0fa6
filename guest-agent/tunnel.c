/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/tunnel.c - see tunnel.h */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "guest-agent/agent.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"
#include "guest-agent/shutdown.h"
#include "guest-agent/tunnel.h"

#define NS_PER_MS 1000000ull

_Static_assert(sizeof(((struct agent *)0)->scratch) >= RELAY_CHUNK,
	       "relays share the scratch");

static void try_next(struct tunnel *t);

static void bury(struct loop_defer *d)
{
	free(container_of(d, struct tunnel, bury));
}

static void drop_socket(struct tunnel *t)
{
	loop_del(&t->io);
	drop_fd(&t->fd);
}

static void tunnel_free(struct tunnel *t)
{
	struct agent *a = t->a;

	loop_timer_cancel(&t->timer);
	relay_stop(&t->relay);
	drop_socket(t);
	drop_fd(&t->client_fd);
	list_del(&t->link);
	a->n_tunnels--;
	a->n_clients--;
	events_touch(a);
	loop_defer(&a->loop, &t->bury, bury);
	shutdown_progress(a);
}

void tunnel_leave(struct conn *c)
{
	struct tunnel *t = c->tunnel;

	c->tunnel = NULL;
	/* One that is through has its own socket and goes on. */
	if (t && t->c)
		tunnel_free(t);
}

bool tunnels_owe(const struct agent *a)
{
	struct list *l;

	list_for_each (l, &a->tunnels) {
		const struct tunnel *t = list_entry(l, struct tunnel, link);

		if (!t->c && !t->relay.side[0].shut)
			return true;
	}
	return false;
}

void tunnels_done(struct agent *a)
{
	while (!list_empty(&a->tunnels)) {
		struct tunnel *t =
			list_entry(a->tunnels.next, struct tunnel, link);

		if (t->c)
			t->c->tunnel = NULL;
		tunnel_free(t);
	}
}

/* ---- Through ---- */

/* A broken connection must not look like one that has ended. */
static void on_over(struct relay *r, int error)
{
	struct tunnel *t = container_of(r, struct tunnel, relay);

	if (error < 0)
		relay_reset(t->fd);
	tunnel_free(t);
}

/* What of the answer the client has not taken yet goes before all else. */
static int take_answer(struct tunnel *t, struct ring *out)
{
	struct iovec iov[2];
	int n = ring_peek(out, iov), r = 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = relay_put(&t->relay, 0, iov[i].iov_base, iov[i].iov_len);
	return r;
}

static void go_through(struct tunnel *t)
{
	struct conn *c = t->c;
	int r;

	loop_timer_cancel(&t->timer);
	loop_del(&t->io);
	/* Cleans up behind itself, and us, if the client has gone. */
	if (conn_send_empty(c, WIRE_DONE) < 0)
		return;
	relay_init(&t->relay, c->io.fd, t->fd, t->a->scratch, on_over);
	r = take_answer(t, &c->out);
	t->c = NULL;
	t->client_fd = conn_give_away(c);
	if (r == 0)
		r = relay_start(&t->relay, &t->a->loop);
	if (r < 0)
		on_over(&t->relay, r);
}

/* ---- On the way ---- */

static void fail(struct tunnel *t, int error)
{
	enum wire_error_kind kind = error == -EMFILE || error == -ENOMEM
					    ? WIRE_ERR_LIMIT
					    : WIRE_ERR_GENERAL;
	struct conn *c = t->c;
	struct err e;

	(void)err_set(&e, error, "port %u: %s", t->port, strerror(-error));
	tunnel_leave(c);
	conn_error(c, kind, &e);
}

static void refused(struct tunnel *t, int error)
{
	drop_socket(t);
	/* Of a guest without IPv6 the first one says more. */
	t->error = t->error ? t->error : error;
	t->tried++;
	try_next(t);
}

static void on_connected(struct loop_io *io, uint32_t events)
{
	struct tunnel *t = container_of(io, struct tunnel, io);
	socklen_t len = sizeof(int);
	int error = 0;

	(void)events;
	if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error)
		refused(t, -error);
	else
		go_through(t);
}

static void on_late(struct loop_timer *timer)
{
	fail(container_of(timer, struct tunnel, timer), -ETIMEDOUT);
}

int tunnel_dial(uint16_t port, unsigned int nr)
{
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_port = htons(port),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct sockaddr *sa = nr ? (const struct sockaddr *)&v6
				       : (const struct sockaddr *)&v4;
	const int on = 1;
	auto_fd int fd = socket(sa->sa_family,
				SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	/* Who passes bytes on must not wait for more of them. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, sa, nr ? sizeof(v6) : sizeof(v4)) < 0 &&
	    errno != EINPROGRESS)
		return -errno;
	return take_fd(&fd);
}

static void try_next(struct tunnel *t)
{
	int r;

	if (t->tried == TUNNEL_ADDRESSES) {
		fail(t, t->error);
		return;
	}
	t->fd = t->a->ops->dial(t->port, t->tried);
	r = t->fd < 0 ? t->fd
		      : loop_add(&t->a->loop, &t->io, t->fd, EPOLLOUT,
				 on_connected);
	if (r < 0)
		refused(t, r);
}

static int check(const struct conn *c, struct err *e)
{
	const struct agent *a = c->a;

	if (a->stopping)
		return err_set(e, -ESHUTDOWN, "the sandbox is shutting down");
	if (a->n_tunnels >= AGENT_TUNNELS_MAX)
		return err_set(e, -EAGAIN,
			       "%u connections to ports are open, the limit",
			       a->n_tunnels);
	return 0;
}

static struct tunnel *tunnel_new(struct conn *c, uint16_t port)
{
	struct agent *a = c->a;
	struct tunnel *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct tunnel){
		.a = a, .c = c, .fd = -1, .client_fd = -1, .port = port
	};
	list_add_tail(&a->tunnels, &t->link);
	a->n_tunnels++;
	a->n_clients++;
	events_touch(a);
	c->tunnel = t;
	c->state = CONN_CONNECT;
	return t;
}

int tunnel_open(struct conn *c, uint16_t port, struct err *e)
{
	struct tunnel *t;
	int r = check(c, e);

	/* Nobody could tell them from frames, should the answer be no. */
	if (wire_reader_partial(&c->in))
		return err_set(e, -EPROTO,
			       "bytes came behind CONNECT before its answer");
	t = r < 0 ? NULL : tunnel_new(c, port);
	if (r == 0 && !t)
		r = err_set(e, -ENOMEM, "out of memory");
	if (r < 0) {
		conn_error(c,
			   r == -ESHUTDOWN ? WIRE_ERR_GENERAL : WIRE_ERR_LIMIT,
			   e);
		return 0;
	}
	loop_timer_set(&c->a->loop, &t->timer, AGENT_TUNNEL_WAIT_MS * NS_PER_MS,
		       on_late);
	try_next(t);
	return 0;
}
