/* SPDX-License-Identifier: Apache-2.0 */
/* common/relay.c - see relay.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/relay.h"

static void on_side(struct loop_io *io, uint32_t events);

static struct relay_side *other(struct relay_side *s)
{
	return &s->r->side[s == &s->r->side[0]];
}

void relay_init(struct relay *r, int a, int b, uint8_t *buf, relay_fn *fn)
{
	*r = (struct relay){ .fn = fn };
	r->buf = buf;
	for (int i = 0; i < 2; i++) {
		r->side[i].r = r;
		r->side[i].fd = i ? b : a;
		r->side[i].out.cap = RELAY_CHUNK;
	}
}

int relay_put(struct relay *r, int to, const void *p, size_t len)
{
	struct ring *out = &r->side[to].out;
	ptrdiff_t n;

	if (len > ring_room(out))
		return -ENOBUFS;
	n = ring_put(out, p, len);
	return n < 0 ? (int)n : 0;
}

void relay_stop(struct relay *r)
{
	for (int i = 0; i < 2; i++) {
		loop_del(&r->side[i].io);
		ring_done(&r->side[i].out);
	}
}

void relay_reset(int fd)
{
	const struct linger l = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

/* ---- What to wait for ---- */

/*
 * A hang-up is told as long as it is there, asked for or not: a side that has
 * nothing to do is not watched at all, else we would spin.  One that has ended
 * and is still to get something is watched for just that hang-up.
 *
 * Return: whether to watch, and for what in *@ret
 */
static bool wanted(struct relay_side *s, uint32_t *ret)
{
	*ret = s->out.len ? EPOLLOUT : 0;
	if (!s->ended && other(s)->out.len == 0)
		*ret |= EPOLLIN;
	return *ret || (s->ended && !s->shut);
}

static int watch(struct relay_side *s)
{
	uint32_t events;

	if (!wanted(s, &events)) {
		loop_del(&s->io);
		return 0;
	}
	if (!s->io.loop)
		return loop_add(s->r->loop, &s->io, s->fd, events, on_side);
	loop_mod(&s->io, events);
	return 0;
}

/* ---- Moving ---- */

/* Return: bytes taken, 0 if there is no room; -errno */
static ssize_t send_now(int fd, const uint8_t *p, size_t len)
{
	ssize_t n;

	do
		n = send(fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return n;
}

static int flush(struct relay_side *to)
{
	struct iovec iov[2];

	while (ring_peek(&to->out, iov) > 0) {
		ssize_t n = send_now(to->fd, iov[0].iov_base, iov[0].iov_len);

		if (n < 0)
			return (int)n;
		ring_drop(&to->out, (size_t)n);
		if ((size_t)n < iov[0].iov_len)
			return 0;
	}
	/* Idle connections hold no memory: there may be a thousand. */
	ring_done(&to->out);
	return 0;
}

static int pass_on(struct relay_side *to, const uint8_t *p, size_t len)
{
	ssize_t n = send_now(to->fd, p, len);
	ptrdiff_t kept;

	if (n < 0)
		return (int)n;
	if ((size_t)n == len)
		return 0;
	kept = ring_put(&to->out, p + n, len - (size_t)n);
	return kept < 0 ? (int)kept : 0;
}

/*
 * The end of what it sends, or of all?  Where the peer has closed, nothing can
 * be sent any more, not even nothing.
 */
static int take_end(struct relay_side *from)
{
	if (!from->shut && send(from->fd, "", 0, MSG_NOSIGNAL) < 0 &&
	    errno != EAGAIN)
		return -ECONNRESET;
	from->ended = true;
	return 0;
}

static int take_some(struct relay_side *from)
{
	ssize_t n;

	do
		n = recv(from->fd, from->r->buf, RELAY_CHUNK, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return take_end(from);
	return pass_on(other(from), from->r->buf, (size_t)n);
}

/* Say to the side that no more comes, once it has all. */
static int shut_if_over(struct relay_side *to)
{
	if (to->shut || to->out.len || !other(to)->ended)
		return 0;
	to->shut = true;
	return shutdown(to->fd, SHUT_WR) < 0 ? -errno : 0;
}

static int serve(struct relay_side *s, uint32_t events)
{
	int r = 0;

	if (s->out.len)
		r = flush(s);
	if (r == 0 && !s->ended && other(s)->out.len == 0)
		r = take_some(s);
	else if (r == 0 && events & (EPOLLERR | EPOLLHUP))
		r = -ECONNRESET;
	for (int i = 0; r == 0 && i < 2; i++)
		r = shut_if_over(&s->r->side[i]);
	for (int i = 0; r == 0 && i < 2; i++)
		r = watch(&s->r->side[i]);
	return r;
}

static void on_side(struct loop_io *io, uint32_t events)
{
	struct relay_side *s = container_of(io, struct relay_side, io);
	struct relay *r = s->r;
	int error = serve(s, events);

	if (error == 0 && !(r->side[0].shut && r->side[1].shut))
		return;
	relay_stop(r);
	r->fn(r, error);
}

int relay_start(struct relay *r, struct loop *l)
{
	int e = 0;

	r->loop = l;
	for (int i = 0; e == 0 && i < 2; i++)
		e = watch(&r->side[i]);
	if (e < 0)
		relay_stop(r);
	return e;
}
