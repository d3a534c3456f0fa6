/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/dgram.c - see dgram.h */
#include <errno.h>
#include <sys/socket.h>

#include "host/net/dgram.h"
#include "host/net/ends.h"
#include "host/net/icmp.h"
#include "host/net/limits.h"
#include "host/net/sock.h"

struct out dgram_out(const struct dgram *d, uint8_t proto)
{
	return (struct out){ .src = d->f.key.peer,
			     .dst = *ends_guest(&d->f.key.peer),
			     .proto = proto };
}

static struct dgram *dgram_of(struct flow *f)
{
	return container_of(f, struct dgram, f);
}

static void on_event(struct flow *f, uint32_t events)
{
	(void)events;
	flow_ready(f);
}

static void tell_error(struct dgram *d, int err)
{
	struct icmp_quote q = icmp_quote_flow(&d->f.key);

	icmp_error(d->f.net, &q, icmp_why(err));
}

/*
 * Datagrams come in the scratch buffer, so many that all find room on the link, and
 * are copied to where they are sent from: how long each is, is known only then.
 *
 * Return: how many, fewer than @most if those were all; or -errno
 */
static int receive(struct dgram *d, struct mmsghdr *m, unsigned int most)
{
	const size_t head = d->ops->head;
	struct iovec iov[DGRAM_BATCH];
	int n;

	for (unsigned int i = 0; i < most; i++) {
		iov[i].iov_base = d->f.net->scratch + (size_t)i * NET_SCRATCH +
				  head;
		iov[i].iov_len = NET_SCRATCH - head;
		m[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &iov[i],
						      .msg_iovlen = 1 } };
	}
	n = recvmmsg(d->f.fd, m, most, MSG_DONTWAIT, NULL);
	return n < 0 ? -errno : n;
}

static bool turn(struct flow *f)
{
	struct dgram *d = dgram_of(f);
	struct net *n = f->net;
	struct mmsghdr m[DGRAM_BATCH];
	int got;

	for (unsigned int done = 0; done < UDP_TURN;
	     done += (unsigned int)got) {
		size_t most =
			MIN(DGRAM_BATCH, link_room(&n->link) / NET_TURN_ROOM);

		if (!most)
			return true;
		got = receive(d, m, (unsigned int)most);
		if (got == -EAGAIN)
			return false;
		if (got < 0) {
			tell_error(d, got);
			got = 1;
			continue;
		}
		d->heard = true;
		d->used_ns = net_now(n);
		for (int i = 0; i < got; i++)
			d->ops->deliver(d, n->scratch + (size_t)i * NET_SCRATCH,
					d->ops->head + m[i].msg_len);
		if ((size_t)got < most)
			return false;
	}
	return true;
}

static void free_dgram(struct flow *f)
{
	free(dgram_of(f));
}

static bool may_look(struct flow *f)
{
	(void)f;
	return false;
}

static const struct flow_ops flow_ops = {
	.may_look = may_look,
	.refuse = flow_end,
	.event = on_event,
	.turn = turn,
	.free = free_dgram,
};

/* Set anew only when it fires, not at each datagram. */
static void on_timer(struct loop_timer *t)
{
	struct flow *f = container_of(t, struct flow, timer);
	struct dgram *d = dgram_of(f);
	uint64_t may = d->heard ? d->ops->idle_ns : d->ops->unheard_ns;
	uint64_t idle = loop_now_ns() - d->used_ns;

	if (idle >= may)
		flow_end(f);
	else
		loop_timer_set(f->net->loop, t, may - idle, on_timer);
}

/* Who scans is answered by nobody: that costs none of those who speak. */
static struct flow *least_wanted(struct net *n, enum net_proto proto)
{
	struct list *p;

	list_for_each (p, &n->flows.all[proto]) {
		struct flow *f = list_entry(p, struct flow, kind);

		if (!dgram_of(f)->heard)
			return f;
	}
	return flow_first(&n->flows, proto);
}

static void make_room(struct net *n, const struct dgram_ops *ops,
		      enum net_proto proto)
{
	unsigned int most = ops->max;

	if (proto == NET_UDP && n->cfg.udp_max)
		most = MIN(most, n->cfg.udp_max);
	if (n->flows.n[proto] < most)
		return;
	n->stats.evicted++;
	flow_end(least_wanted(n, proto));
}

static int start(struct net *n, const struct dgram_ops *ops,
		 const struct flow_key *key, struct dgram **ret)
{
	struct verdict v;
	auto_fd int fd = -1;
	struct dgram *d;
	int r;

	if (!net_may_begin(n))
		return -EAGAIN;
	v = net_judge_key(n, key);
	if (v.how != JUDGE_ALLOW)
		return -EACCES;
	make_room(n, ops, (enum net_proto)key->proto);
	fd = net_connect(n, key);
	if (fd < 0)
		return fd;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->f.ops = &flow_ops;
	d->f.key = *key;
	d->ops = ops;
	flow_add(n, &d->f);
	r = flow_judged(&d->f, &v);
	r = r < 0 ? r : flow_watch(&d->f, fd, EPOLLIN | EPOLLET);
	if (r < 0) {
		flow_end(&d->f);
		return r;
	}
	(void)take_fd(&fd);
	d->used_ns = net_now(n);
	loop_timer_set(n->loop, &d->f.timer, ops->unheard_ns, on_timer);
	*ret = d;
	return 0;
}

/* An error of an earlier datagram is told here first, and is not this one's. */
static void send_on(struct dgram *d, const void *buf, size_t len)
{
	for (int i = 0; i < 2; i++) {
		int r = send(d->f.fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0
				? -errno
				: 0;

		if (r == 0 || r == -EAGAIN || r == -ENOBUFS)
			return;
		tell_error(d, r);
		if (r != -ECONNREFUSED)
			return;
	}
}

void dgram_send(struct net *n, const struct dgram_ops *ops,
		const struct flow_key *key, const struct icmp_quote *q,
		const void *buf, size_t len)
{
	struct flow *f = flow_find(&n->flows, key);
	struct dgram *d = f ? dgram_of(f) : NULL;
	int r;

	if (!d) {
		r = start(n, ops, key, &d);
		/* Lost, as a datagram may be. */
		if (r == -EAGAIN)
			return;
		if (r < 0) {
			icmp_error(n, q, icmp_why(r));
			return;
		}
		if (key->proto == NET_UDP)
			n->stats.udp_opened++;
		else
			n->stats.ping_opened++;
	}
	flow_used(&d->f);
	d->used_ns = net_now(n);
	send_on(d, buf, len);
}
