/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/tcp_ack.c - acknowledgements that wait for an answer to go with: see
 * tcp.h
 *
 * Who asks for a little gets an answer soon. An acknowledgement that goes with it is
 * a frame and an interrupt of the guest less, which is much of what a round trip
 * costs. It waits for TCP_ACK_NS at most; and of a connection where it has waited
 * in vain, since the guest has more to say and its kernel holds that back (RFC
 * 896), the next ones do not wait.
 */
#include "host/net/limits.h"
#include "host/net/tcp.h"

static void on_time(struct loop_timer *t)
{
	struct net *n = container_of(t, struct net, owed_timer);

	while (!list_empty(&n->owed)) {
		struct tcp *c = list_entry(n->owed.next, struct tcp, owed);

		list_del(&c->owed);
		c->quick = TCP_ACK_QUICK;
		c->ack_now = true;
		flow_settle(&c->f);
	}
}

/* Bulk is acknowledged at once; so is what is held until it is judged. */
static bool may_wait(const struct tcp *c)
{
	return !c->quick && !c->must_look && !c->look &&
	       c->rcv_nxt - c->rcv_told <= TCP_ACK_BYTES &&
	       tcp_told(c) >= TCP_ACK_BYTES;
}

void tcp_ack_data(struct tcp *c)
{
	struct net *n = c->f.net;

	if (!may_wait(c)) {
		if (c->quick)
			c->quick--;
		c->ack_now = true;
		return;
	}
	if (list_empty(&c->owed))
		list_add_tail(&n->owed, &c->owed);
	if (!loop_timer_is_set(&n->owed_timer))
		loop_timer_set(n->loop, &n->owed_timer, TCP_ACK_NS, on_time);
}

void tcp_ack_told(struct tcp *c)
{
	struct net *n = c->f.net;

	c->ack_now = false;
	c->rcv_told = c->rcv_nxt;
	if (list_empty(&c->owed))
		return;
	list_del(&c->owed);
	if (list_empty(&n->owed))
		loop_timer_cancel(&n->owed_timer);
}
