/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/net.c - see net.h */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "host/net/ends.h"
#include "host/net/icmp.h"
#include "host/net/limits.h"
#include "host/net/neigh.h"
#include "host/net/net.h"
#include "host/net/ping.h"
#include "host/net/proto.h"
#include "host/net/sock.h"
#include "host/net/tcp.h"
#include "host/net/udp.h"

uint64_t net_now(struct net *n)
{
	if (!n->now_ns) {
		n->now_ns = loop_now_ns();
		net_wake(n);
	}
	return n->now_ns;
}

struct net_rate net_rate(unsigned int most, uint64_t each_ns)
{
	return (struct net_rate){ .left = most,
				  .most = most,
				  .each_ns = each_ns,
				  .filled_ns = loop_now_ns() };
}

bool net_rate_take(struct net *n, struct net_rate *r)
{
	uint64_t more;

	if (!r->most)
		return true;
	more = (net_now(n) - r->filled_ns) / r->each_ns;
	r->left = (unsigned int)MIN(r->left + more, r->most);
	r->filled_ns += more * r->each_ns;
	if (r->left == 0) {
		n->stats.refused++;
		return false;
	}
	r->left--;
	return true;
}

bool net_may_begin(struct net *n)
{
	return net_rate_take(n, &n->begin);
}

bool net_is_crowded(const struct net *n)
{
	return n->n_large >= NET_LARGE_MAX;
}

struct verdict net_judge(struct net *n, const struct attempt *a)
{
	struct verdict v = n->cfg.judge(n->cfg.arg, a);

	/* Nobody there to take it: closed, never open. */
	if (v.how == JUDGE_INTERCEPT && !n->cfg.intercept) {
		v.how = JUDGE_DENY;
		v.why = "it is to be intercepted, and nothing here can";
	}
	if (v.how == JUDGE_DENY) {
		n->stats.denied++;
		n->cfg.denied(n->cfg.arg, a, &v);
	}
	return v;
}

struct verdict net_judge_key(struct net *n, const struct flow_key *key)
{
	const struct attempt a = {
		.proto = (enum net_proto)key->proto,
		.dst = key->peer,
		.port = key->peer_port,
	};

	return net_judge(n, &a);
}

static void deny(struct net *n, const struct flow_key *key, const char *why)
{
	const struct attempt a = { .proto = (enum net_proto)key->proto,
				   .dst = key->peer,
				   .port = key->peer_port };
	const struct verdict v = { .how = JUDGE_DENY, .rule = -1, .why = why };

	n->stats.denied++;
	n->cfg.denied(n->cfg.arg, &a, &v);
}

/* The kernel knows better than any list what it will keep to itself. */
int net_connect(struct net *n, const struct flow_key *key)
{
	auto_fd int fd = sock_connect(key, net_is_crowded(n));

	if (fd < 0 || !n->cfg.is_local || !sock_is_own(fd, &key->peer) ||
	    n->cfg.is_local(n->cfg.arg, &key->peer))
		return take_fd(&fd);
	deny(n, key, "it is an address of the host, which was not known");
	if (key->proto == NET_TCP)
		sock_abort(fd);
	return -EACCES;
}

static void judge_again(struct net *n, struct flow *f)
{
	struct attempt a = flow_attempt(f);
	struct verdict v;

	/* The gateway's own: DNS, which judges each question. */
	if (ends_is_gateway(&f->key.peer))
		return;
	v = net_judge(n, &a);
	/* Who ends it here does so by the policy that was. */
	if (f->ends_here)
		v.how = JUDGE_DENY;
	if (v.how == JUDGE_LOOK && f->ops->may_look(f))
		return;
	if (v.how != JUDGE_ALLOW || flow_judged(f, &v) < 0)
		f->ops->refuse(f);
}

static bool is_any(void *arg, const struct net_addr *peer)
{
	(void)arg;
	(void)peer;
	return true;
}

void net_judge_all(struct net *n)
{
	net_judge_some(n, is_any, NULL);
}

void net_judge_some(struct net *n,
		    bool (*is)(void *arg, const struct net_addr *peer),
		    void *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(n->flows.all); i++) {
		struct list *p, *next;

		list_for_each_safe (p, next, &n->flows.all[i]) {
			struct flow *f = list_entry(p, struct flow, kind);

			if (is(arg, &f->key.peer))
				judge_again(n, f);
		}
	}
	net_wake(n);
}

/* ---- Frames ---- */

static void transport(struct net *n, const struct packet *p)
{
	switch (p->proto) {
	case IP_TCP:
		tcp_input(n, p);
		break;
	case IP_UDP:
		udp_input(n, p);
		break;
	case IP_ICMP:
	case IP_ICMP6:
		if (p->v6 == (p->proto == IP_ICMP6))
			icmp_input(n, p);
		break;
	default:
		n->stats.unserved++;
		icmp_refuse(n, p);
		break;
	}
}

/*
 * The guest has one address, and beside it those by which neighbours are found:
 * a link-local one, and none at all while it looks whether that is free.
 */
static bool is_spoofed(const struct packet *p)
{
	static const struct net_addr nobody;

	if (addr_eq(&p->src, p->v6 ? &ends_guest6 : &ends_guest4))
		return false;
	return !p->v6 || p->proto != IP_ICMP6 ||
	       !(ends_is_local6(&p->src) || addr_eq(&p->src, &nobody)) ||
	       !(ends_is_gateway(&p->dst) || p->dst.b[0] == 0xff);
}

static bool is_multicast(const struct packet *p)
{
	return p->v6 ? p->dst.b[0] == 0xff : p->dst.b[12] >= 224;
}

static void ip(struct net *n, const uint8_t *buf, size_t len, bool v6)
{
	struct packet p;
	int r = v6 ? packet_ip6(buf, len, &p) : packet_ip4(buf, len, &p);

	if (r < 0) {
		n->stats.bad_frames++;
		return;
	}
	if (is_spoofed(&p)) {
		n->stats.spoofed++;
		return;
	}
	/* Groups are of the link, where nobody else is. */
	if (is_multicast(&p) && p.proto != IP_ICMP6) {
		n->stats.unserved++;
		return;
	}
	if (p.frag) {
		n->stats.fragments++;
		r = frags_add(&n->frags, &p, net_now(n));
		if (r < 0)
			n->stats.bad_frames++;
		if (r <= 0)
			return;
	}
	transport(n, &p);
}

/* Frames are for the gateway, or for all. */
static bool is_for_us(const struct eth_hdr *eth)
{
	return (eth->dst[0] & 1) ||
	       memcmp(eth->dst, ends_gateway_mac, ETH_ADDR) == 0;
}

void net_frame(struct net *n, const uint8_t *frame, size_t len)
{
	const size_t head = sizeof(struct vnet_hdr) + sizeof(struct eth_hdr);
	const struct eth_hdr *eth;

	n->stats.frames_in++;
	if (len < head || len > NET_FRAME_MAX) {
		n->stats.bad_frames++;
		return;
	}
	eth = (const void *)(frame + sizeof(struct vnet_hdr));
	if (memcmp(eth->src, ends_guest_mac, ETH_ADDR) != 0) {
		n->stats.spoofed++;
		return;
	}
	if (!is_for_us(eth)) {
		n->stats.unserved++;
		return;
	}
	frame += head;
	len -= head;
	switch (be16_get(eth->type)) {
	case ETH_ARP:
		neigh_arp(n, frame, len);
		break;
	case ETH_IP4:
		ip(n, frame, len, false);
		break;
	case ETH_IP6:
		ip(n, frame, len, true);
		break;
	default:
		n->stats.unserved++;
		break;
	}
}

/* ---- Batches ---- */

/* Round and round, each flow a bounded turn, until the link is full. */
static void give_turns(struct net *n)
{
	struct list *head = &n->flows.ready;

	while (!list_empty(head) && !n->link.full &&
	       link_room(&n->link) >= NET_TURN_ROOM) {
		struct flow *f = list_entry(head->next, struct flow, ready);

		list_del(&f->ready);
		if (f->ops->turn(f))
			flow_ready(f);
	}
}

/*
 * What has no room waits: an acknowledgement that is lost, with the window in it,
 * would be missed until a timer of the guest's runs out.
 */
static void settle(struct net *n)
{
	while (!list_empty(&n->flows.settle) &&
	       link_spare(&n->link) >= NET_BARE_MAX) {
		struct flow *f =
			list_entry(n->flows.settle.next, struct flow, settle);

		list_del(&f->settle);
		f->ops->settle(f);
	}
}

/*
 * Turns go on as long as the socket takes all there is; more than so many bytes
 * a batch would keep the guest's own frames waiting.
 */
static void on_batch(struct loop_defer *d)
{
	struct net *n = container_of(d, struct net, batch);

	give_turns(n);
	settle(n);
	link_flush(&n->link);
	n->now_ns = 0;
	if (!n->link.full &&
	    !(list_empty(&n->flows.ready) && list_empty(&n->flows.settle)))
		link_more(&n->link);
}

void net_wake(struct net *n)
{
	loop_defer(n->loop, &n->batch, on_batch);
}

static void on_frame(struct link *l, const uint8_t *frame, size_t len)
{
	struct net *n = container_of(l, struct net, link);

	net_wake(n);
	n->heard_ns = net_now(n);
	net_frame(n, frame, len);
}

static void on_room(struct link *l)
{
	net_wake(container_of(l, struct net, link));
}

static void on_end(struct link *l, int r)
{
	struct net *n = container_of(l, struct net, link);

	n->cfg.over(n->cfg.arg, r);
}

static const struct link_ops link_ops = {
	.frame = on_frame,
	.room = on_room,
	.end = on_end,
};

int net_open(struct net *n, struct loop *loop, int fd,
	     const struct net_config *cfg, struct err *e)
{
	struct siphash_key key[2];
	int r;

	memset(n, 0, sizeof(*n));
	n->link.fd = -1;
	n->loop = loop;
	n->cfg = *cfg;
	flows_init(&n->flows);
	list_init(&n->half);
	list_init(&n->looks);
	list_init(&n->owed);
	n->tcp_max = cfg->tcp_max ? MIN(cfg->tcp_max, NET_TCP_MAX)
				  : NET_TCP_MAX;
	if (cfg->mtu < NET_MTU_MIN || cfg->mtu > NET_MTU_MAX)
		return err_set(e, -EINVAL, "an MTU of %u is not in %u to %u",
			       cfg->mtu, NET_MTU_MIN, NET_MTU_MAX);
	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return err_set(e, -EIO, "no random bytes: %s", strerror(errno));
	n->flows.hash_key = key[0];
	n->isn_key = key[1];
	/* Of what nobody touches there is no memory. */
	n->scratch = malloc((size_t)DGRAM_BATCH * NET_SCRATCH);
	if (!n->scratch)
		return err_set(e, -ENOMEM, "out of memory");
	n->begin = net_rate(cfg->new_burst, NET_NEW_NS);
	n->peek_off = !cfg->no_peek_off && sock_has_peek_off();
	r = link_open(&n->link, loop, fd, &link_ops);
	if (r < 0) {
		free(take_ptr(&n->scratch));
		return err_set(e, r, "the link to the monitor: %s",
			       strerror(-r));
	}
	return 0;
}

void net_close(struct net *n)
{
	if (!n->loop)
		return;
	flows_done(&n->flows);
	loop_defer_cancel(n->loop, &n->batch);
	loop_timer_cancel(&n->owed_timer);
	frags_done(&n->frags);
	link_close(&n->link);
	free(take_ptr(&n->scratch));
	n->loop = NULL;
}
