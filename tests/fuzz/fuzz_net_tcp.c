/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net_tcp.c - connections, from both ends
 *
 * The input is what a guest and the other end do, in turn: segments with numbers
 * near those that are right, bytes and ends of the peer's, clocks. Connections
 * end in the process (JUDGE_INTERCEPT). After each step the books must be right:
 * no number before its time, no more in flight than there is room for.
 */
#include <string.h>
#include <sys/socket.h>

#include "common/rd.h"
#include "host/net/limits.h"
#include "host/net/tcp.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/link_kit.h"

#define CONNS 4u

enum action {
	SEGMENT, /* flags, and how far from what is right */
	PEER_SAYS,
	PEER_READS,
	PEER_SHUTS,
	PEER_GOES,
	TIME,
	RAW, /* a segment as it stands in the input */
	POLICY,
	N_ACTIONS
};

/** struct world - The network and both sides of its connections */
struct world {
	struct link_kit k;
	struct lk_tcp t[CONNS];
	int peer[CONNS];
};

static uint8_t bytes[60000];

static struct tcp *conn(struct world *w, unsigned int i)
{
	const struct flow_key key = { .peer = w->t[i].peer,
				      .peer_port = w->t[i].peer_port,
				      .guest_port = w->t[i].port,
				      .proto = NET_TCP };
	struct flow *f = flow_find(&w->k.net.flows, &key);

	return f ? tcp_of(f) : NULL;
}

static void check(struct world *w)
{
	unsigned int half = 0;
	struct list *p;

	list_for_each (p, &w->k.net.flows.all[NET_TCP]) {
		const struct tcp *c = tcp_of(list_entry(p, struct flow, kind));

		half += c->state != TCP_OPEN;
		bug_on(seq_lt(c->snd_nxt, c->snd_una));
		bug_on(seq_lt(c->snd_max, c->snd_nxt));
		bug_on(seq_lt(c->rcv_edge, c->rcv_nxt) && !c->fin_in);
		bug_on(c->snd_max - c->snd_una > TCP_INFLIGHT_MAX + 1);
		bug_on(c->state == TCP_OPEN && seq_lt(c->snd_una, c->base));
		bug_on(c->f.fd < 0);
	}
	bug_on(half != w->k.net.n_half);
	bug_on(w->k.net.flows.n[NET_TCP] > CONNS);
	bug_on(w->k.over);
}

/* What the guest hears is what it goes by; frames of raw ones are nobody's. */
static void hear(struct world *w)
{
	static uint8_t frame[LK_FRAME_MAX];
	size_t len;

	while ((len = lk_recv(&w->k, frame)) > 0) {
		const struct tcp_hdr *h = (const void *)(frame + 14 + 20);
		unsigned int i;

		if (len < 14 + 20 + sizeof(*h) || frame[14 + 9] != IP_TCP)
			continue;
		i = (be16_get(h->dport) - 1u) % CONNS;
		w->t[i].ack = be32_get(h->seq) +
			      (uint32_t)(len - 34 - (size_t)(h->off >> 4) * 4) +
			      !!(h->flags & (TCP_SYN | TCP_FIN));
	}
}

static void segment(struct world *w, unsigned int i, struct rd *rd)
{
	const struct tcp *c = conn(w, i);
	uint8_t flags = rd_u8(rd);
	size_t len = rd_le16(rd) % sizeof(bytes);
	struct lk_tcp t = w->t[i];

	t.seq = c ? c->rcv_nxt : rd_u8(rd);
	t.seq += (uint32_t)(int8_t)rd_u8(rd);
	t.ack += (uint32_t)(int8_t)rd_u8(rd);
	t.window = (uint16_t)(rd_u8(rd) * 257u);
	if (flags & 0x80)
		len = 0;
	lk_segment(&w->k, &t, flags & 0x1f, bytes, len);
	if (w->k.stream >= 0) {
		base_closep(&w->peer[i]);
		w->peer[i] = take_fd(&w->k.stream);
	}
}

static void raw(struct world *w, struct rd *rd)
{
	static uint8_t frame[LK_FRAME_MAX];
	size_t len = rd_u8(rd);
	const uint8_t *in;

	len = MIN(len, rd->left);
	in = rd_bytes(rd, len);
	len = lk_ip4(frame, IP_TCP, &w->t[0].peer, in, len);
	lk_send(&w->k, frame, len);
	base_closep(&w->k.stream);
	w->k.stream = -1;
}

static void peer(struct world *w, unsigned int i, enum action what, size_t n)
{
	static uint8_t buf[sizeof(bytes)];
	int *fd = &w->peer[i];

	if (*fd < 0)
		return;
	if (what == PEER_SAYS)
		(void)send(*fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (what == PEER_READS)
		(void)recv(*fd, buf, n, MSG_DONTWAIT);
	else if (what == PEER_SHUTS)
		(void)shutdown(*fd, SHUT_WR);
	else
		(void)close(take_fd(fd));
}

static void clock_of(struct world *w, unsigned int i)
{
	struct tcp *c = conn(w, i);

	if (!c || !loop_timer_is_set(&c->f.timer))
		return;
	c->since_ns = 1;
	loop_timer_cancel(&c->f.timer);
	c->f.timer.fn(&c->f.timer);
}

static void act(struct world *w, struct rd *rd)
{
	enum action what = rd_u8(rd) % N_ACTIONS;
	unsigned int i = rd_u8(rd) % CONNS;

	switch (what) {
	case SEGMENT:
		segment(w, i, rd);
		break;
	case RAW:
		raw(w, rd);
		break;
	case TIME:
		clock_of(w, i);
		break;
	case POLICY:
		w->k.how = rd_u8(rd) & 1 ? JUDGE_DENY : JUDGE_INTERCEPT;
		break;
	default:
		peer(w, i, what, rd_le16(rd) % sizeof(bytes));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct net_addr out4 = {
		{ [10] = 0xff, [11] = 0xff, [12] = 93, 184, 216, 34 }
	};
	struct rd rd = rd_init(data, len);
	struct world w;

	lk_init_with(&w.k, (struct net_config){
				   .mtu = len & 1 ? NET_MTU_MIN : NET_MTU_MAX,
				   .tcp_max = CONNS,
				   .no_peek_off = (len & 2) != 0,
			   });
	w.k.how = JUDGE_INTERCEPT;
	for (unsigned int i = 0; i < CONNS; i++) {
		w.peer[i] = -1;
		w.t[i] = (struct lk_tcp){ .peer = out4,
					  .port = (uint16_t)(1 + i),
					  .peer_port = 80 };
	}
	while (rd.left > 0 && !rd.bad) {
		act(&w, &rd);
		hear(&w);
		check(&w);
	}
	for (unsigned int i = 0; i < CONNS; i++)
		base_closep(&w.peer[i]);
	hear(&w);
	check(&w);
	lk_done(&w.k);
	return 0;
}
