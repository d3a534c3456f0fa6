/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/forward.c - ports of the host that lead to ports of the guest
 *
 * How it works.  A connection that comes in is accepted and not read; CONNECT
 * asks the agent for one to the guest's port, and when that is there the two
 * are joined (common/relay.h), with nothing in between but the monitor.  If the
 * agent refuses, which it does when nobody listens, ours is reset: to the
 * client that is as near to "connection refused" as one can come who has to
 * accept first.
 *
 * Both the joined and the waiting are limited, and one more stays where it is,
 * in the socket's backlog, until there is room.  So nothing a client does takes
 * more than that of the monitor or of us.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/relay.h"
#include "common/wire_port.h"
#include "host/keeper/keeper.h"
#include "host/lib/forward.h"
#include "host/lib/internal.h"

#define NS_PER_MS 1000000ull

/* After accept() has found no descriptor, and none is ours to wait for. */
#define ACCEPT_AGAIN_MS 100

/**
 * struct forward - A listening socket
 * @f:		Its @host is @host
 */
struct forward {
	struct loop_io io;
	struct list link;
	struct loop_defer free;
	struct keeper *k;
	struct hutch_forward f;
	char host[HUTCH_ADDRESS_MAX + 1];
};

/**
 * struct joined - A connection of a client's
 * @vm:		CONNECT, until it is answered; then its socket is @vm_fd
 * @fd:		The client's
 * @gone:	Watches @fd for a client that has gone, until then
 * @timer:	How long the answer may take
 */
struct joined {
	struct list link;
	struct loop_defer free;
	struct keeper *k;
	struct conn vm;
	int vm_fd;
	int fd;
	struct loop_io io;
	struct loop_io gone;
	struct loop_timer timer;
	struct relay relay;
	bool waits;
};

/* ---- Room ---- */

static bool has_room(const struct keeper *k)
{
	return k->n_joined < KEEPER_JOINED_MAX &&
	       k->n_joining < KEEPER_JOINING_MAX &&
	       !loop_timer_is_set(&k->accept_timer);
}

static void listen_if_room(struct keeper *k)
{
	const uint32_t events = has_room(k) ? EPOLLIN : 0;
	struct list *l;

	list_for_each (l, &k->forwards)
		loop_mod(&list_entry(l, struct forward, link)->io, events);
}

static void on_accept_again(struct loop_timer *t)
{
	listen_if_room(container_of(t, struct keeper, accept_timer));
}

/* ---- A connection ---- */

static void free_joined(struct loop_defer *d)
{
	free(container_of(d, struct joined, free));
}

static void stop_waiting(struct joined *j)
{
	if (!j->waits)
		return;
	j->waits = false;
	j->k->n_joining--;
	loop_del(&j->io);
	loop_del(&j->gone);
	loop_timer_cancel(&j->timer);
	listen_if_room(j->k);
}

static void drop(struct joined *j, bool reset)
{
	struct keeper *k = j->k;

	stop_waiting(j);
	relay_stop(&j->relay);
	conn_close(&j->vm);
	drop_fd(&j->vm_fd);
	if (reset)
		relay_reset(j->fd);
	(void)close(take_fd(&j->fd));
	list_del(&j->link);
	k->n_joined--;
	loop_defer(&k->loop, &j->free, free_joined);
	listen_if_room(k);
}

static void on_over(struct relay *r, int error)
{
	drop(container_of(r, struct joined, relay), error < 0);
}

/* DONE has come, and maybe the first bytes of the server. */
static int join(struct joined *j)
{
	const void *rest = NULL;
	size_t len = wire_reader_rest(&j->vm.in, &rest);
	int r = 0;

	stop_waiting(j);
	/* One who answers what has not been asked yet is no agent. */
	if (j->vm.out.len)
		return -EBADMSG;
	j->vm_fd = take_fd(&j->vm.fd);
	relay_init(&j->relay, j->fd, j->vm_fd, j->k->relay_buf, on_over);
	if (len)
		r = relay_put(&j->relay, 0, rest, len);
	conn_close(&j->vm);
	return r < 0 ? r : relay_start(&j->relay, &j->k->loop);
}

static void on_vm(struct loop_io *io, uint32_t events)
{
	struct joined *j = container_of(io, struct joined, io);
	struct wire_frame f;
	int r;

	(void)events;
	(void)conn_flush(&j->vm);
	r = conn_next(&j->vm, &f, NULL);
	if (r == 0) {
		loop_mod(io, conn_poll_events(&j->vm) & POLLOUT
				     ? EPOLLIN | EPOLLOUT
				     : EPOLLIN);
		return;
	}
	if (r > 0)
		r = f.type == WIRE_DONE ? join(j) : -ECONNREFUSED;
	if (r < 0)
		drop(j, true);
}

static void on_gone(struct loop_io *io, uint32_t events)
{
	(void)events;
	drop(container_of(io, struct joined, gone), true);
}

static void on_late(struct loop_timer *t)
{
	drop(container_of(t, struct joined, timer), true);
}

static int ask(struct joined *j, unsigned int guest_port)
{
	const struct msg_connect m = { .port = (uint16_t)guest_port };
	struct keeper *k = j->k;
	uint8_t req[64];
	struct wr wr = wr_init(req, sizeof(req));
	int r = conn_open(&j->vm, k->fd[LAUNCH_FD_RUN], SOCK_NONBLOCK, NULL);

	wire_connect_put(&wr, &m);
	bug_on(wr_end(&wr) < 0);
	if (r == 0)
		r = conn_queue(&j->vm, req, wr.len);
	if (r == 0)
		r = loop_add(&k->loop, &j->io, j->vm.fd, EPOLLIN | EPOLLOUT,
			     on_vm);
	/* What it has to say is not for us; that it hangs up is. */
	if (r == 0)
		r = loop_add(&k->loop, &j->gone, j->fd, 0, on_gone);
	return r;
}

/* A relay must not wait for more to send, nor for a peer that has vanished. */
static void set_options(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static void take_client(struct forward *fw, int fd)
{
	struct keeper *k = fw->k;
	struct joined *j = calloc(1, sizeof(*j));

	if (!j) {
		relay_reset(fd);
		(void)close(fd);
		return;
	}
	*j = (struct joined){
		.k = k, .vm.fd = -1, .vm_fd = -1, .fd = fd, .waits = true
	};
	list_add_tail(&k->joined, &j->link);
	k->n_joined++;
	k->n_joining++;
	set_options(fd);
	loop_timer_set(&k->loop, &j->timer, KEEPER_JOIN_MS * NS_PER_MS,
		       on_late);
	if (ask(j, fw->f.guest_port) < 0)
		drop(j, true);
	else
		listen_if_room(k);
}

static void on_listen(struct loop_io *io, uint32_t events)
{
	struct forward *fw = container_of(io, struct forward, io);
	struct keeper *k = fw->k;
	int fd;

	/* Another of this batch may have taken the last place. */
	if (!(events & EPOLLIN) || !has_room(k))
		return;
	fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		take_client(fw, fd);
	} else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
		loop_timer_set(&k->loop, &k->accept_timer,
			       ACCEPT_AGAIN_MS * NS_PER_MS, on_accept_again);
		listen_if_room(k);
	}
}

/* ---- The list ---- */

/* The record has what there is. */
static int put_on_record(struct keeper *k)
{
	const struct hutch_forward *v[HUTCH_FORWARDS_MAX + 1] = { NULL };
	struct list *l;
	size_t n = 0;

	list_for_each (l, &k->forwards)
		v[n++] = &list_entry(l, struct forward, link)->f;
	return forwards_record(v, &k->rec->forwards);
}

static void free_forward(struct loop_defer *d)
{
	free(container_of(d, struct forward, free));
}

static void forward_close(struct forward *fw)
{
	struct keeper *k = fw->k;
	int fd = fw->io.fd;

	loop_del(&fw->io);
	(void)close(fd);
	list_del(&fw->link);
	k->n_forwards--;
	loop_defer(&k->loop, &fw->free, free_forward);
}

static int listen_at(const struct hutch_forward *f, unsigned int *ret_port,
		     struct err *e)
{
	struct sockaddr_storage sa;
	socklen_t len = forward_address(f, &sa);
	struct sockaddr *p = (struct sockaddr *)&sa;
	auto_fd int fd = socket(sa.ss_family,
				SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;
	char text[FORWARD_TEXT_MAX];

	/* What a VM before has left in TIME_WAIT is in nobody's way; "::" is
	 * not 0.0.0.0 too, which may be another's.
	 */
	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (sa.ss_family == AF_INET6)
			(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
					 sizeof(on));
	}
	if (fd < 0 || bind(fd, p, len) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, p, &len) < 0)
		return err_set(e, -errno, "cannot listen at %s: %s",
			       forward_text(f, text), strerror(errno));
	*ret_port = forward_port(&sa);
	return take_fd(&fd);
}

static int check_new(const struct keeper *k, const struct hutch_forward *f,
		     struct err *e)
{
	char text[FORWARD_TEXT_MAX];
	struct list *l;
	int r = forward_check(f, e);

	if (r < 0)
		return r;
	if (k->n_forwards == HUTCH_FORWARDS_MAX)
		return err_set(e, -ENOSPC, "the VM has %d forwards, the limit",
			       HUTCH_FORWARDS_MAX);
	list_for_each (l, &k->forwards)
		if (forward_same(&list_entry(l, struct forward, link)->f, f))
			return err_set(e, -EEXIST, "%s leads to the VM already",
				       forward_text(f, text));
	return 0;
}

/* Return: 0, and it is in the list; or -errno with a sentence */
static int watch_one(struct keeper *k, const struct hutch_forward *f, int fd,
		     struct err *e)
{
	struct forward *fw = calloc(1, sizeof(*fw));
	int r = -ENOMEM;

	if (fw)
		r = loop_add(&k->loop, &fw->io, fd, has_room(k) ? EPOLLIN : 0,
			     on_listen);
	if (r < 0) {
		free(fw);
		return err_set(e, r, "forward: %s", strerror(-r));
	}
	fw->k = k;
	fw->f = *f;
	(void)strncpy(fw->host, f->host ? f->host : FORWARD_HOST,
		      sizeof(fw->host) - 1);
	fw->f.host = fw->host;
	list_add_tail(&k->forwards, &fw->link);
	k->n_forwards++;
	return 0;
}

static int open_one(struct keeper *k, const struct hutch_forward *f,
		    unsigned int *ret_port, struct err *e)
{
	struct hutch_forward got = *f;
	auto_fd int fd = -1;
	int r = check_new(k, f, e);

	if (r < 0)
		return r;
	fd = listen_at(f, &got.port, e);
	if (fd < 0)
		return fd;
	r = watch_one(k, &got, fd, e);
	if (r < 0)
		return r;
	(void)take_fd(&fd);
	*ret_port = got.port;
	return 0;
}

int forward_add(struct keeper *k, const struct hutch_forward *f,
		unsigned int *ret_port, struct err *e)
{
	int r = open_one(k, f, ret_port, e);

	if (r < 0)
		return r;
	r = put_on_record(k);
	if (r < 0) {
		forward_close(
			list_entry(k->forwards.prev, struct forward, link));
		return err_set(e, r, "no memory");
	}
	keeper_save(k);
	return 0;
}

int forward_remove(struct keeper *k, const struct hutch_forward *f,
		   struct err *e)
{
	char text[FORWARD_TEXT_MAX];
	struct list *l;

	list_for_each (l, &k->forwards) {
		struct forward *fw = list_entry(l, struct forward, link);

		if (!forward_same(f, &fw->f))
			continue;
		forward_close(fw);
		if (put_on_record(k) < 0)
			return err_set(e, -ENOMEM, "no memory");
		keeper_save(k);
		return 0;
	}
	return err_set(e, -ENOENT, "%s does not lead to the VM",
		       forward_text(f, text));
}

int forwards_start(struct keeper *k, struct err *e)
{
	const struct hutch_forward *const *v = k->rec->forwards;
	unsigned int port;
	int r = 0;

	for (size_t i = 0; r == 0 && v && v[i]; i++)
		r = open_one(k, v[i], &port, e);
	if (r == 0 && put_on_record(k) < 0)
		r = err_set(e, -ENOMEM, "no memory");
	return r;
}

void forwards_close(struct keeper *k)
{
	struct list *l, *n;

	/* One whose server has ended it has all; the others are broken. */
	list_for_each_safe (l, n, &k->joined) {
		struct joined *j = list_entry(l, struct joined, link);

		drop(j, !j->relay.side[0].shut);
	}
	list_for_each_safe (l, n, &k->forwards)
		forward_close(list_entry(l, struct forward, link));
	loop_timer_cancel(&k->accept_timer);
}
