/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/tcp_time.c - what happens when nothing happens: see tcp.h */
#include <errno.h>

#include "host/net/limits.h"
#include "host/net/tcp.h"

/* Of the guest's answer, that is. */
static bool is_unanswered(const struct tcp *c)
{
	return c->state != TCP_OPEN || c->snd_una != c->snd_max ||
	       (c->more && c->snd_wnd == 0);
}

/*
 * The guest has ended its side and waits for the peer's end, or has forgotten it:
 * its kernel does so after a minute, if nobody has the socket any more. It is
 * asked, and then resets.
 */
static bool is_half_closed(const struct tcp *c)
{
	return c->fin_in && !is_unanswered(c);
}

static uint64_t patience(const struct tcp *c)
{
	if (c->state == TCP_CONNECTING)
		return TCP_CONNECT_NS;
	if (is_half_closed(c) && c->tries == 0)
		return TCP_HALF_CLOSED_NS;
	return TCP_RETRY_NS << MIN(c->tries, TCP_DOUBLINGS_MAX);
}

static bool is_waiting(const struct tcp *c)
{
	return is_unanswered(c) || is_half_closed(c) || c->look;
}

/* One that is paused has not failed to answer, and is not to blame. */
static bool is_silent(const struct tcp *c)
{
	return c->state == TCP_OPEN && c->f.net->heard_ns < c->since_ns;
}

static void again(struct tcp *c)
{
	const unsigned int most = c->state == TCP_OPEN ? TCP_RETRIES_MAX
						       : TCP_HALF_RETRIES;

	/* A guest that is paused reads nothing, and is not to blame. */
	if (c->f.net->link.full)
		return;
	if (c->state == TCP_CONNECTING || c->tries >= most) {
		tcp_reset(c);
		return;
	}
	if (!is_silent(c))
		c->tries++;
	c->since_ns = net_now(c->f.net);
	if (c->state == TCP_ANSWERED)
		tcp_seg_send(c, TCP_SYN | TCP_ACK, c->snd_una);
	else if (c->snd_una != c->snd_max)
		tcp_out_again(c);
	else
		/* An old byte's place: the guest says what its window is, or
		 * that there is no such connection. */
		tcp_seg_send(c, TCP_ACK, c->snd_una - 1);
}

static void on_timer(struct loop_timer *t)
{
	struct tcp *c = tcp_of(container_of(t, struct flow, timer));
	struct net *n = c->f.net;

	if (!is_waiting(c))
		return;
	if (tcp_look_time(c) < 0) {
		tcp_reset(c);
		return;
	}
	if (!is_unanswered(c) && !is_half_closed(c)) {
		tcp_time(c);
		return;
	}
	if (net_now(n) - c->since_ns >= patience(c))
		again(c);
	if (!c->f.dead)
		tcp_time(c);
}

/*
 * Set if it is not, and never put off: what has been heard of meanwhile is seen
 * when it fires. So a busy connection sets it once in a while, not each time.
 */
void tcp_time(struct tcp *c)
{
	struct net *n = c->f.net;
	uint64_t gone, may;

	if (loop_timer_is_set(&c->f.timer) || !is_waiting(c))
		return;
	gone = net_now(n) - c->since_ns;
	may = patience(c);
	loop_timer_set(n->loop, &c->f.timer, gone < may ? may - gone : may,
		       on_timer);
}
