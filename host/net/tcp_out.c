/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/tcp_out.c - from the host's socket to the guest: see tcp.h */
#include <errno.h>
#include <sys/socket.h>

#include "host/net/limits.h"
#include "host/net/tcp.h"

#define SLOTS_MAX 4u
#define PAST_MAX  (TCP_INFLIGHT_MAX / NET_SCRATCH + 1)
#define DUPS_LOST 3u

/**
 * struct plan - What is to be sent, as frames that lie behind each other
 * @head:	Bytes before the data of each
 * @data:	Bytes of data of each but the last
 * @want:	Bytes of data in all
 * @n:		How many
 */
struct plan {
	size_t head;
	size_t data;
	size_t want;
	size_t n;
};

/* Whole segments, as many as an IP packet holds: the guest's kernel cuts. */
static size_t data_max(const struct tcp *c, const struct out *o)
{
	size_t most = OUT_IP_MAX - out_ip_head(o) - sizeof(struct tcp_hdr);

	return most / c->mss * c->mss;
}

/* Return: whether there is anything to do */
static bool make_plan(const struct tcp *c, const struct out *o, struct plan *p)
{
	const uint32_t flying = c->snd_nxt - c->snd_una;
	const uint32_t wnd = MIN(c->snd_wnd, TCP_INFLIGHT_MAX);
	const size_t room = link_room(&c->f.net->link);

	if (tcp_fin_sent(c) || flying >= wnd)
		return false;
	p->head = out_head(o) + sizeof(struct tcp_hdr);
	p->data = data_max(c, o);
	p->want = wnd - flying;
	/* The rest of a window that is not a segment waits: RFC 9293, 3.8.6.2. */
	if (flying && p->want < c->mss)
		return false;
	p->n = MIN(SLOTS_MAX, (p->want + p->data - 1) / p->data);
	p->n = MIN(p->n, room / (p->head + p->data));
	p->want = MIN(p->want, p->n * p->data);
	return p->n > 0;
}

/*
 * Skips what was sent and is still there: by SO_PEEK_OFF, or by reading it once
 * more to where nobody looks.
 *
 * Return: pieces of @iov that were needed for that, or -errno
 */
static int skip(struct tcp *c, struct iovec *iov)
{
	struct net *n = c->f.net;
	uint32_t past = c->snd_nxt - c->base;
	const int off = (int)past;
	int pieces = 0;

	if (n->peek_off) {
		if (c->peek_at == past)
			return 0;
		if (setsockopt(c->f.fd, SOL_SOCKET, SO_PEEK_OFF, &off,
			       sizeof(off)) < 0)
			return -errno;
		c->peek_at = past;
		return 0;
	}
	for (; past; pieces++) {
		iov[pieces].iov_base = n->scratch;
		iov[pieces].iov_len = MIN(past, NET_SCRATCH);
		past -= (uint32_t)iov[pieces].iov_len;
	}
	return pieces;
}

/* Return: bytes that are new, 0 if that was all, or -errno */
static ssize_t peek(struct tcp *c, const struct plan *p, uint8_t *at)
{
	struct iovec iov[PAST_MAX + SLOTS_MAX];
	struct msghdr msg = { .msg_iov = iov };
	uint32_t past = c->snd_nxt - c->base;
	size_t left = p->want;
	int r = skip(c, iov);
	ssize_t n;

	if (r < 0)
		return r;
	msg.msg_iovlen = (size_t)r;
	for (size_t i = 0; i < p->n; i++) {
		struct iovec *v = &iov[msg.msg_iovlen++];

		v->iov_base = at + i * (p->head + p->data) + p->head;
		v->iov_len = MIN(left, p->data);
		left -= v->iov_len;
	}
	n = recvmsg(c->f.fd, &msg, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	if (c->f.net->peek_off) {
		c->peek_at += (uint32_t)n;
		return n;
	}
	if ((size_t)n > past)
		return n - (ssize_t)past;
	/* The end, or a mark among what was sent: past that when it is acked. */
	return c->rdhup && !(c->urgent && past) ? 0 : -EAGAIN;
}

static void send_all(struct tcp *c, const struct out *o, const struct plan *p,
		     uint8_t *at, size_t len)
{
	struct net *n = c->f.net;
	size_t used = 0;

	while (len) {
		size_t k = MIN(len, p->data);
		uint8_t *tcp = at + used + out_head(o);

		len -= k;
		tcp_seg_fill(c, tcp, len ? TCP_ACK : TCP_ACK | TCP_PSH,
			     c->snd_nxt);
		used += out_fill(n, o, at + used, sizeof(struct tcp_hdr) + k);
		c->snd_nxt += (uint32_t)k;
	}
	link_commit(&n->link, used);
}

static void sent(struct tcp *c)
{
	c->spoke = true;
	if (c->snd_una == c->snd_max)
		c->since_ns = net_now(c->f.net);
	if (seq_lt(c->snd_max, c->snd_nxt))
		c->snd_max = c->snd_nxt;
	tcp_time(c);
}

static void send_fin(struct tcp *c)
{
	tcp_seg_send(c, TCP_FIN | TCP_ACK, c->snd_nxt);
	c->has_fin = true;
	c->fin_seq = c->snd_nxt++;
	c->more = false;
	sent(c);
}

/* Return: bytes sent; 0: nothing more for now */
static size_t send_some(struct tcp *c)
{
	const struct out o = tcp_seg_out(c);
	struct plan p;
	uint8_t *at;
	ssize_t n;

	if (!make_plan(c, &o, &p)) {
		/* A window that is shut may be opened by a word that is lost. */
		tcp_time(c);
		return 0;
	}
	at = link_reserve(&c->f.net->link, p.n * (p.head + p.data));
	bug_on(!at);
	n = peek(c, &p, at);
	if (n < 0 && n != -EAGAIN) {
		tcp_reset(c);
		return 0;
	}
	if (n > 0) {
		send_all(c, &o, &p, at, (size_t)n);
		sent(c);
	}
	if (n == (ssize_t)p.want)
		return (size_t)n;
	/* Or it was what is before a mark, which it takes two reads to pass. */
	if (c->urgent && n > 0)
		return (size_t)n;
	if (c->urgent && n < 0 && !c->f.net->peek_off)
		return 0;
	/* That was all; the next event says that there is more. */
	c->more = false;
	if (n == 0 || c->rdhup)
		send_fin(c);
	return 0;
}

bool tcp_out_turn(struct flow *f)
{
	struct tcp *c = tcp_of(f);
	size_t done = 0, n;

	if (c->state != TCP_OPEN)
		return false;
	tcp_out_drop(c);
	while (c->more && done < TCP_TURN_BYTES) {
		if (link_room(&f->net->link) < NET_FRAME_MAX)
			return true;
		n = send_some(c);
		if (!n || f->dead)
			return false;
		done += n;
	}
	return c->more;
}

void tcp_out_again(struct tcp *c)
{
	c->f.net->stats.retransmits++;
	c->snd_nxt = c->snd_una;
	c->more = true;
	c->dups = 0;
	flow_ready(&c->f);
}

static void acked(struct tcp *c, uint32_t ack)
{
	c->snd_una = ack;
	if (seq_lt(c->snd_nxt, ack))
		c->snd_nxt = ack;
	c->since_ns = net_now(c->f.net);
	c->tries = 0;
	c->dups = 0;
}

/* RFC 5681, 2: the same again, with nothing else in it. */
static bool is_dup(const struct tcp *c, const struct tcp_seg *s, uint32_t wnd)
{
	return s->ack == c->snd_una && c->snd_una != c->snd_max && !s->len &&
	       !(s->flags & TCP_FIN) && wnd == c->snd_wnd;
}

/*
 * As long as it says that it has no room it is there, however long that is: RFC
 * 9293, 3.8.6.1. It is asked no more often for that.
 */
static void heard(struct tcp *c)
{
	if (c->snd_wnd == 0)
		c->tries = MIN(c->tries, TCP_DOUBLINGS_MAX);
	else if (c->snd_una == c->snd_max)
		c->tries = 0;
}

bool tcp_out_ack(struct tcp *c, const struct tcp_seg *s)
{
	const uint32_t wnd = (uint32_t)s->window << c->guest_ws;

	if (seq_lt(c->snd_max, s->ack))
		return false;
	if (seq_lt(s->ack, c->snd_una))
		return true;
	if (is_dup(c, s, wnd) && ++c->dups == DUPS_LOST)
		tcp_out_again(c);
	if (s->ack != c->snd_una)
		acked(c, s->ack);
	c->snd_wnd = wnd;
	heard(c);
	if (tcp_fin_acked(c))
		c->more = false;
	if (c->more)
		flow_ready(&c->f);
	return true;
}

/* Of other streams than TCP, MSG_TRUNC drops nothing: they are read. */
static ssize_t drop(struct tcp *c, size_t len)
{
	struct net *n = c->f.net;

	if (c->is_tcp)
		return recv(c->f.fd, NULL, len, MSG_TRUNC | MSG_DONTWAIT);
	return recv(c->f.fd, n->scratch, MIN(len, NET_SCRATCH), MSG_DONTWAIT);
}

void tcp_out_drop(struct tcp *c)
{
	uint32_t len = c->snd_una - c->base;
	ssize_t n;

	/* Our FIN has a number, but is no byte. */
	if (len && tcp_fin_acked(c))
		len--;
	while (len) {
		n = drop(c, len);
		if (n <= 0)
			return;
		len -= (uint32_t)n;
		c->base += (uint32_t)n;
		c->peek_at -= MIN((uint32_t)n, c->peek_at);
	}
}
