/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/tcp_open.c - how a connection begins: see tcp.h */
#include <errno.h>
#include <sys/socket.h>

#include "host/net/ends.h"
#include "host/net/icmp.h"
#include "host/net/limits.h"
#include "host/net/policy/own.h"
#include "host/net/sock.h"
#include "host/net/tcp.h"

/*
 * RFC 6528: a clock, so that a port that is used again does not meet its past,
 * and a secret, so that nobody guesses.
 */
static uint32_t initial_seq(struct net *n, const struct flow_key *key)
{
	uint64_t hash = siphash(&n->isn_key, key, sizeof(*key));

	return (uint32_t)hash + (uint32_t)(net_now(n) / 4096);
}

static void on_event(struct flow *f, uint32_t events)
{
	struct tcp *c = tcp_of(f);

	if (c->state != TCP_CONNECTING)
		tcp_event(c, events);
	else if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		tcp_connected(c);
}

/* The batch is over: what no data carried goes by itself. */
static void settle(struct flow *f)
{
	struct tcp *c = tcp_of(f);

	tcp_out_drop(c);
	if (c->ack_now)
		tcp_seg_send(c, TCP_ACK, c->snd_nxt);
	/* Both have ended, and the guest knows it. */
	if (c->fin_in && tcp_fin_acked(c))
		tcp_close(c);
}

static bool may_look(struct flow *f)
{
	return tcp_of(f)->must_look;
}

static void refuse(struct flow *f)
{
	tcp_reset(tcp_of(f));
}

static void free_tcp(struct flow *f)
{
	if (tcp_of(f)->own_fd >= 0)
		(void)close(tcp_of(f)->own_fd);
	free(tcp_of(f)->look);
	free(tcp_of(f));
}

static const struct flow_ops ops = {
	.may_look = may_look,
	.refuse = refuse,
	.event = on_event,
	.turn = tcp_out_turn,
	.settle = settle,
	.free = free_tcp,
};

static struct tcp *new_tcp(struct net *n, const struct flow_key *key,
			   const struct tcp_seg *s)
{
	const uint32_t heads = sizeof(struct tcp_hdr) +
			       (addr_is_v4(&key->peer) ? 20u : 40u);
	struct tcp *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->f.ops = &ops;
	c->f.key = *key;
	list_init(&c->half);
	list_init(&c->owed);
	c->quick = TCP_ACK_QUICK / 4;
	c->is_tcp = true;
	c->own_fd = -1;
	c->peek_at = UINT32_MAX;
	c->mss = (uint16_t)MIN(MAX(s->mss, TCP_MSS_MIN), n->cfg.mtu - heads);
	c->guest_ws = s->ws < 0 ? 0 : (uint8_t)s->ws;
	c->our_ws = s->ws < 0 ? 0 : TCP_WSCALE;
	c->rcv_nxt = s->seq + 1;
	c->rcv_told = c->rcv_nxt;
	c->rcv_edge = c->rcv_nxt;
	c->snd_una = initial_seq(n, key);
	c->snd_nxt = c->snd_una;
	c->snd_max = c->snd_una;
	c->snd_wnd = s->window;
	c->since_ns = net_now(n);
	c->used_ns = c->since_ns;
	flow_add(n, &c->f);
	list_add_tail(&n->half, &c->half);
	n->n_half++;
	return c;
}

/*
 * One that can do without: half closed, and the guest has said nothing for a
 * while, or idle for long. The least recently used is looked at first, and the
 * first that was used lately is the last.
 */
static struct tcp *find_idle(struct net *n)
{
	const uint64_t now = net_now(n);
	struct list *p;

	list_for_each (p, &n->flows.all[NET_TCP]) {
		struct tcp *c = tcp_of(list_entry(p, struct flow, kind));
		uint64_t idle = now - c->used_ns;

		if (idle < TCP_HALF_CLOSED_NS)
			return NULL;
		if (c->fin_in || c->has_fin || idle >= TCP_IDLE_NS)
			return c;
	}
	return NULL;
}

/* Whoever floods us with SYNs loses the oldest of them, and nothing else. */
static int make_room(struct net *n)
{
	struct tcp *idle = n->flows.n[NET_TCP] >= n->tcp_max ? find_idle(n)
							     : NULL;

	if (idle) {
		n->stats.evicted++;
		tcp_reset(idle);
	}
	if (n->flows.n[NET_TCP] >= n->tcp_max) {
		n->stats.refused++;
		return -EMFILE;
	}
	if (n->n_half >= NET_HALF_MAX) {
		n->stats.evicted++;
		tcp_reset(list_entry(n->half.next, struct tcp, half));
	}
	return 0;
}

/* Refused by somebody who is there, or is there nobody? */
static void tell_failure(struct net *n, const struct packet *p,
			 const struct tcp_seg *s, int err)
{
	struct icmp_quote q = icmp_quote(p);
	enum icmp_why why = icmp_why(err);

	if (why == ICMP_WHY_NET || why == ICMP_WHY_HOST)
		icmp_error(n, &q, why);
	else
		tcp_seg_refuse(n, p, s);
}

/*
 * A stream that ends here: the other end is for @v's interceptor, or, of the
 * gateway, for DNS.
 */
static int stream_to_us(struct net *n, const struct flow_key *key,
			const struct verdict *v)
{
	const struct attempt a = { .proto = NET_TCP,
				   .dst = key->peer,
				   .port = key->peer_port };
	int sv[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       sv) < 0)
		return -errno;
	if (ends_is_gateway(&key->peer))
		r = n->cfg.dns_stream(n->cfg.arg, sv[1]);
	else
		r = n->cfg.intercept(n->cfg.arg, &a, v, sv[1], -1);
	if (r < 0) {
		(void)close(sv[0]);
		(void)close(sv[1]);
		return r;
	}
	return sv[0];
}

/*
 * A stream to nobody yet: at an address of the VM's own there is a handler, and
 * which one, if any, the first bytes say.
 */
static int stream_to_look(struct net *n, int *ret_other)
{
	int sv[2];

	if (n->n_own >= NET_OWN_MAX) {
		n->stats.refused++;
		return -EMFILE;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       sv) < 0)
		return -errno;
	*ret_other = sv[1];
	return sv[0];
}

static struct verdict judge(struct net *n, const struct flow_key *key)
{
	struct verdict v = { .how = JUDGE_DENY, .rule = -1 };

	if (!ends_is_gateway(&key->peer))
		return net_judge_key(n, key);
	/* Its own, about which no policy is asked. */
	if (key->peer_port == NET_DNS_PORT && n->cfg.dns_stream)
		v.how = JUDGE_INTERCEPT;
	return v;
}

/* Return: 0, and @fd is the connection's and *@other too; or -errno */
static int start(struct net *n, const struct flow_key *key,
		 const struct tcp_seg *s, const struct verdict *v, int fd,
		 int *other)
{
	struct tcp *c = new_tcp(n, key, s);
	int r;

	if (!c)
		return -ENOMEM;
	c->must_look = v->how == JUDGE_LOOK;
	c->is_tcp = v->how != JUDGE_INTERCEPT && *other < 0;
	c->f.ends_here = v->how == JUDGE_INTERCEPT;
	r = flow_judged(&c->f, v);
	r = r < 0 ? r : flow_watch(&c->f, fd, TCP_WATCH | EPOLLOUT);
	if (r < 0) {
		tcp_close(c);
		return r;
	}
	if (*other >= 0)
		n->n_own++;
	c->own_fd = take_fd(other);
	if (c->is_tcp)
		tcp_time(c);
	else
		tcp_connected(c);
	return 0;
}

void tcp_open(struct net *n, const struct packet *p, const struct tcp_seg *s)
{
	const struct flow_key key = { .peer = p->dst,
				      .peer_port = s->dport,
				      .guest_port = s->sport,
				      .proto = NET_TCP };
	struct verdict v;
	auto_fd int fd = -1, other = -1;

	/* It sends its SYN again. */
	if (!ends_is_gateway(&key.peer) && !net_may_begin(n))
		return;
	v = judge(n, &key);
	if (v.how == JUDGE_DENY || make_room(n) < 0) {
		tcp_seg_refuse(n, p, s);
		return;
	}
	if (v.how == JUDGE_INTERCEPT)
		fd = stream_to_us(n, &key, &v);
	else if (own_index(&key.peer) >= 0)
		fd = stream_to_look(n, &other);
	else
		fd = net_connect(n, &key);
	if (fd < 0)
		tell_failure(n, p, s, fd);
	else if (start(n, &key, s, &v, fd, &other) < 0)
		tcp_seg_refuse(n, p, s);
	else
		(void)take_fd(&fd);
}

/* The first bytes of the SYN that was, for an ICMP error that quotes it. */
static void tell_unreachable(struct tcp *c, enum icmp_why why)
{
	const struct tcp_hdr h = {
		.sport = be16_put(c->f.key.guest_port),
		.dport = be16_put(c->f.key.peer_port),
		.seq = be32_put(c->rcv_nxt - 1),
	};
	const struct packet p = { .dst = c->f.key.peer,
				  .proto = IP_TCP,
				  .l4 = (const void *)&h,
				  .l4_len = sizeof(h) };
	struct icmp_quote q = icmp_quote(&p);

	icmp_error(c->f.net, &q, why);
}

static void failed(struct tcp *c, int err)
{
	enum icmp_why why = icmp_why(err);

	if (why == ICMP_WHY_NET || why == ICMP_WHY_HOST)
		tell_unreachable(c, why);
	else
		tcp_seg_send(c, TCP_RST | TCP_ACK, 0);
	tcp_close(c);
}

void tcp_connected(struct tcp *c)
{
	int r = sock_error(c->f.fd);

	if (r < 0) {
		failed(c, r);
		return;
	}
	c->state = TCP_ANSWERED;
	loop_mod(&c->f.io, TCP_WATCH);
	tcp_seg_send(c, TCP_SYN | TCP_ACK, c->snd_una);
	c->snd_nxt = c->snd_una + 1;
	c->snd_max = c->snd_nxt;
	c->base = c->snd_nxt;
	c->tries = 0;
	c->since_ns = net_now(c->f.net);
	loop_timer_cancel(&c->f.timer);
	tcp_time(c);
}

void tcp_opened(struct tcp *c)
{
	struct net *n = c->f.net;

	c->state = TCP_OPEN;
	list_del(&c->half);
	n->n_half--;
	n->stats.tcp_opened++;
	c->snd_una = c->snd_nxt;
	c->tries = 0;
	c->more = true;
	flow_ready(&c->f);
}
