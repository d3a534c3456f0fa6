/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/tcp.c - segments and the connections they are of: see tcp.h */
#include "host/net/ends.h"
#include "host/net/sock.h"
#include "host/net/tcp.h"

int tcp_own_take(struct tcp *c)
{
	if (c->own_fd >= 0)
		c->f.net->n_own--;
	return take_fd(&c->own_fd);
}

void tcp_close(struct tcp *c)
{
	int own;

	if (c->f.dead)
		return;
	if (c->state != TCP_OPEN)
		c->f.net->n_half--;
	list_del(&c->half);
	list_del(&c->owed);
	tcp_look_drop(c);
	own = tcp_own_take(c);
	if (own >= 0)
		(void)close(own);
	flow_end(&c->f);
}

void tcp_reset(struct tcp *c)
{
	if (c->f.dead)
		return;
	tcp_seg_send(c, TCP_RST | TCP_ACK, c->snd_nxt);
	if (c->f.fd >= 0)
		sock_abort(c->f.fd);
	tcp_close(c);
}

void tcp_event(struct tcp *c, uint32_t events)
{
	if ((events & EPOLLERR) && sock_error(c->f.fd) < 0) {
		tcp_reset(c);
		return;
	}
	if (events & EPOLLPRI)
		c->urgent = true;
	if (events & (EPOLLRDHUP | EPOLLHUP))
		c->rdhup = true;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP)) {
		c->more = true;
		flow_ready(&c->f);
	}
	if (events & EPOLLOUT)
		tcp_in_writable(c);
}

/*
 * RFC 5961, 3.2 and 4.2: only who knows the very next byte may break off; who
 * is near it is asked.
 */
static void in_reset(struct tcp *c, const struct tcp_seg *s)
{
	if (s->seq == c->rcv_nxt) {
		if (c->f.fd >= 0)
			sock_abort(c->f.fd);
		tcp_close(c);
	} else if (!seq_lt(s->seq, c->rcv_nxt) && seq_lt(s->seq, c->rcv_edge)) {
		c->ack_now = true;
		flow_settle(&c->f);
	}
}

/* Of a connection that is not open: it is the same SYN again, or another. */
static void in_syn(struct tcp *c, const struct packet *p,
		   const struct tcp_seg *s)
{
	struct net *n = c->f.net;

	if (s->seq + 1 == c->rcv_nxt) {
		if (c->state == TCP_ANSWERED)
			tcp_seg_send(c, TCP_SYN | TCP_ACK, c->snd_una);
		return;
	}
	if (c->f.fd >= 0)
		sock_abort(c->f.fd);
	tcp_close(c);
	tcp_open(n, p, s);
}

static void dispatch(struct tcp *c, const struct packet *p,
		     const struct tcp_seg *s)
{
	flow_used(&c->f);
	c->used_ns = net_now(c->f.net);
	if (s->flags & TCP_RST) {
		in_reset(c, s);
		return;
	}
	if (s->flags & TCP_SYN) {
		if (c->state != TCP_OPEN && !(s->flags & TCP_ACK)) {
			in_syn(c, p, s);
			return;
		}
		/* A challenge: one that has forgotten us resets. */
		c->ack_now = true;
		flow_settle(&c->f);
		return;
	}
	if (!(s->flags & TCP_ACK) || c->state == TCP_CONNECTING)
		return;
	if (c->state == TCP_ANSWERED) {
		if (s->ack != c->snd_nxt || s->seq != c->rcv_nxt) {
			tcp_seg_refuse(c->f.net, p, s);
			return;
		}
		tcp_opened(c);
	}
	tcp_in(c, s);
}

void tcp_input(struct net *n, const struct packet *p)
{
	struct flow_key key = { .peer = p->dst, .proto = NET_TCP };
	struct tcp_seg s;
	struct flow *f;

	if (tcp_seg_parse(p, &s) < 0) {
		n->stats.bad_frames++;
		return;
	}
	key.peer_port = s.dport;
	key.guest_port = s.sport;
	f = flow_find(&n->flows, &key);
	if (f)
		dispatch(tcp_of(f), p, &s);
	else if ((s.flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) == TCP_SYN)
		tcp_open(n, p, &s);
	else
		tcp_seg_refuse(n, p, &s);
}
