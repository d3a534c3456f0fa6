/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/tcp_in.c - from the guest to the host's socket: see tcp.h */
#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "host/net/limits.h"
#include "host/net/tcp.h"

/*
 * The kernel counts what a buffer costs, not what is in it: so a part of it is
 * never promised. A socket is writable to epoll when a third of it is free,
 * which leaves more than LOW_PART: who is below that waits for an event that
 * has not been already.
 */
#define PROMISED(sndbuf) ((sndbuf) / 4 * 3)
#define LOW_PART         16u
#define DUPS_FOR_LOST    3

static void await_room(struct tcp *c)
{
	c->want_out = true;
	loop_mod(&c->f.io, c->f.io.events | EPOLLOUT);
}

/*
 * A sender waits for a window that takes a whole segment of its, or half of the
 * largest window there was (RFC 9293, 3.8.6.2.1). Told of a smaller one it says
 * nothing until a timer of its own runs out, so that we have to speak. Windows
 * are told in steps: up to the next of them.
 */
static uint32_t least_window(const struct tcp *c)
{
	const uint32_t step = (1u << c->our_ws) - 1;

	return (MIN(tcp_seg_most(c), c->rcv_most / 2) + step) & ~step;
}

/* Return: whether it is so little that the guest may wait for more */
static bool ask_room(struct tcp *c)
{
	socklen_t len = sizeof(int);
	uint32_t promised, queued;
	int sndbuf = 0, out = 0;

	if (getsockopt(c->f.fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, &len) < 0 ||
	    ioctl(c->f.fd, SIOCOUTQ, &out) < 0)
		return false;
	c->asked = true;
	promised = PROMISED((uint32_t)MAX(sndbuf, 0));
	queued = (uint32_t)MAX(out, 0);
	c->room = queued < promised ? promised - queued : 0;
	c->room = MIN(c->room, TCP_WINDOW_MAX);
	c->room_low = MIN(promised, TCP_WINDOW_MAX) / 2;
	return c->room < (uint32_t)sndbuf / LOW_PART ||
	       MAX(c->room, tcp_told(c)) < least_window(c);
}

/* It is asked only when half of what it said last is used up. */
uint32_t tcp_in_window(struct tcp *c)
{
	uint32_t told = tcp_told(c);

	if (c->f.fd < 0)
		return 0;
	if (c->must_look)
		return MAX(tcp_look_room(c), told);
	if (c->room <= c->room_low && !c->asked && !c->want_out && ask_room(c))
		await_room(c);
	/* A window is never taken back: RFC 9293, 3.8.6.2.1. */
	return MAX(c->room, told);
}

/*
 * What was refused the guest takes for lost when it hears the same three times
 * more; the first of these tells the window.
 */
static void say_again(struct tcp *c)
{
	c->refused = false;
	for (int i = 0; i <= DUPS_FOR_LOST; i++)
		tcp_seg_send(c, TCP_ACK, c->snd_nxt);
}

/*
 * Told by epoll that it takes more, the socket takes a segment whole, whatever
 * its size: it may cost more than is free.
 */
void tcp_in_writable(struct tcp *c)
{
	uint32_t had = tcp_told(c);

	c->want_out = false;
	loop_mod(&c->f.io, c->f.io.events & ~(uint32_t)EPOLLOUT);
	if (tcp_look_flush(c) < 0) {
		tcp_reset(c);
		return;
	}
	/* What was held has filled it again. */
	if (c->want_out || c->state != TCP_OPEN)
		return;
	(void)ask_room(c);
	c->room = MAX(c->room, least_window(c));
	if (c->refused) {
		say_again(c);
	} else if (c->room > had) {
		c->ack_now = true;
		flow_settle(&c->f);
	}
}

/* What has come already is passed over. Return: whether there is a gap */
static bool trim(struct tcp *c, struct tcp_seg *s)
{
	uint32_t old = c->rcv_nxt - s->seq;

	if (seq_lt(c->rcv_nxt, s->seq))
		return true;
	if (old > s->len) {
		/* All of it, and its FIN too: or somebody asks if we live. */
		s->flags &= (uint8_t)~TCP_FIN;
		old = (uint32_t)s->len;
		c->ack_now = true;
	}
	s->seq += old;
	s->data += old;
	s->len -= old;
	if (old)
		c->ack_now = true;
	return false;
}

ssize_t tcp_in_put(struct tcp *c, const uint8_t *data, size_t len)
{
	ssize_t n = send(c->f.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == EAGAIN)
		n = 0;
	if (n < 0)
		return -errno;
	c->room -= MIN((uint32_t)n, c->room);
	c->asked = false;
	/* It has said what it has room for, by taking less. */
	if ((size_t)n < len) {
		c->room = 0;
		await_room(c);
	}
	return n;
}

static void take_fin(struct tcp *c)
{
	c->fin_in = true;
	c->rcv_nxt++;
	c->ack_now = true;
	(void)shutdown(c->f.fd, SHUT_WR);
	c->since_ns = net_now(c->f.net);
	tcp_time(c);
}

static void take(struct tcp *c, struct tcp_seg *s)
{
	ssize_t n = 0;

	if (trim(c, s)) {
		c->ack_now = true;
		return;
	}
	/* After its end there is nothing, whatever it says. */
	if (c->fin_in)
		return;
	if (s->len)
		n = c->must_look || c->look ? tcp_look(c, s->data, s->len)
					    : tcp_in_put(c, s->data, s->len);
	if (n < 0) {
		tcp_reset(c);
		return;
	}
	c->rcv_nxt += (uint32_t)n;
	if ((size_t)n < s->len)
		c->ack_now = true;
	else if (s->len)
		tcp_ack_data(c);
	c->refused |= (size_t)n < s->len;
	if (!(s->flags & TCP_FIN) || (size_t)n < s->len)
		return;
	if (tcp_look_end(c) < 0)
		tcp_reset(c);
	else if (!c->look)
		take_fin(c);
}

void tcp_in(struct tcp *c, const struct tcp_seg *seg)
{
	struct tcp_seg s = *seg;

	if (!tcp_out_ack(c, &s)) {
		c->ack_now = true;
		flow_settle(&c->f);
		return;
	}
	if (s.len || (s.flags & TCP_FIN) || s.seq != c->rcv_nxt)
		take(c, &s);
	flow_settle(&c->f);
}
