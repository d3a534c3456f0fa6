/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/tcp_look.c - bytes that are judged before they go out: see tcp.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/limits.h"
#include "host/net/policy/clienthello.h"
#include "host/net/tcp.h"

/**
 * struct tcp_look - What is held of a connection
 * @link:	In the list of all
 * @since_ns:	When the first byte came
 * @sent:	Of @len bytes, those that the socket has taken since
 */
struct tcp_look {
	struct list link;
	struct tcp *of;
	struct hello_state hello;
	uint64_t since_ns;
	size_t len;
	size_t sent;
	uint8_t held[TCP_LOOK_BYTES_MAX];
};

static int deny(struct tcp *c, const char *sni, const char *why)
{
	struct net *n = c->f.net;
	struct attempt a = flow_attempt(&c->f);
	const struct verdict v = { .how = JUDGE_DENY, .rule = -1, .why = why };

	a.sni = sni;
	n->stats.denied++;
	n->cfg.denied(n->cfg.arg, &a, &v);
	return -EACCES;
}

/* Whoever begins and does not go on loses the oldest of these. */
static int make_room(struct net *n)
{
	struct list *p;

	if (n->n_look < NET_LOOK_MAX)
		return 0;
	list_for_each (p, &n->looks) {
		struct tcp *c = list_entry(p, struct tcp_look, link)->of;

		/* (Of one that is judged the host is slow to take what it has.) */
		if (!c->must_look)
			continue;
		n->stats.evicted++;
		(void)deny(c, "",
			   "too many others wait for their first bytes to be "
			   "read");
		tcp_reset(c);
		return 0;
	}
	n->stats.refused++;
	return -EMFILE;
}

static int begin(struct tcp *c)
{
	struct net *n = c->f.net;
	int r = make_room(n);

	if (r < 0)
		return r;
	c->look = calloc(1, sizeof(*c->look));
	if (!c->look)
		return -ENOMEM;
	c->look->of = c;
	list_add_tail(&n->looks, &c->look->link);
	n->n_look++;
	c->look->since_ns = net_now(n);
	/* What is set may be later than this one's time is up. */
	loop_timer_cancel(&c->f.timer);
	tcp_time(c);
	return 0;
}

void tcp_look_drop(struct tcp *c)
{
	if (!c->look)
		return;
	list_del(&c->look->link);
	free(take_ptr(&c->look));
	c->f.net->n_look--;
}

/* To an address of the VM's own: the stream is there already. */
static int give_own(struct tcp *c, const struct attempt *a,
		    const struct verdict *v)
{
	struct net *n = c->f.net;
	int r = n->cfg.intercept(n->cfg.arg, a, v, c->own_fd, -1);

	if (r < 0)
		return r;
	(void)tcp_own_take(c);
	c->f.ends_here = true;
	return 0;
}

/* The socket goes to who intercepts, a stream to them comes in its place. */
static int give_away(struct tcp *c, const struct attempt *a,
		     const struct verdict *v)
{
	struct net *n = c->f.net;
	int sv[2], up = c->f.fd, r;

	if (c->own_fd >= 0)
		return give_own(c, a, v);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       sv) < 0)
		return -errno;
	loop_del(&c->f.io);
	r = n->cfg.intercept(n->cfg.arg, a, v, sv[1], up);
	if (r < 0) {
		(void)close(sv[0]);
		(void)close(sv[1]);
		return r;
	}
	c->f.fd = -1;
	c->f.ends_here = true;
	c->is_tcp = false;
	c->peek_at = UINT32_MAX;
	c->room = 0;
	c->room_low = 0;
	c->rdhup = false;
	c->want_out = false;
	c->asked = false;
	c->more = true;
	r = flow_watch(&c->f, sv[0], TCP_WATCH);
	if (r < 0)
		(void)close(sv[0]);
	return r;
}

static int intercept(struct tcp *c, const struct attempt *a,
		     const struct verdict *v)
{
	/* What it said went to the guest as it was, heard by now or not. */
	if (c->spoke)
		return deny(c, a->sni,
			    "the server spoke first, and is to be "
			    "intercepted");
	if (give_away(c, a, v) < 0)
		return deny(c, a->sni,
			    "it is to be intercepted, and cannot be");
	return 0;
}

/* The verdict that counts. Return: 0 or -EACCES */
static int judge(struct tcp *c, const char *sni, bool plain)
{
	struct attempt a = flow_attempt(&c->f);
	struct verdict v;
	int r;

	a.sni = sni;
	a.plain = plain;
	v = net_judge(c->f.net, &a);
	if (v.how != JUDGE_ALLOW && v.how != JUDGE_INTERCEPT)
		return -EACCES;
	/* Nobody is there whom it could be allowed to. */
	bug_on(v.how == JUDGE_ALLOW && c->own_fd >= 0);
	r = v.how == JUDGE_INTERCEPT ? intercept(c, &a, &v) : 0;
	if (r < 0)
		return r;
	c->f.seen = plain ? FLOW_PLAIN : sni[0] ? FLOW_TLS : FLOW_NAMELESS;
	if (sni[0])
		v.name = sni;
	return flow_judged(&c->f, &v);
}

int tcp_look_flush(struct tcp *c)
{
	struct tcp_look *l = c->look;
	ssize_t n;

	if (!l || c->must_look)
		return 0;
	n = tcp_in_put(c, l->held + l->sent, l->len - l->sent);
	if (n < 0)
		return (int)n;
	l->sent += (size_t)n;
	if (l->sent == l->len)
		tcp_look_drop(c);
	return 0;
}

static void hold(struct tcp *c, const uint8_t *data, size_t len)
{
	memcpy(c->look->held + c->look->len, data, len);
	c->look->len += len;
}

ssize_t tcp_look(struct tcp *c, const uint8_t *data, size_t len)
{
	struct tcp_look *l;
	enum hello what;
	int r = c->look ? 0 : begin(c);

	if (r < 0)
		return r;
	l = c->look;
	/* Judged already, and the socket is slow to take what was held. */
	if (!c->must_look)
		return 0;
	len = MIN(len, TCP_LOOK_BYTES_MAX - l->len);
	hold(c, data, len);
	what = hello_feed(&l->hello, data, len);
	if (what == HELLO_MORE && l->len < TCP_LOOK_BYTES_MAX)
		return (ssize_t)len;
	if (what == HELLO_MORE || what == HELLO_BAD)
		return deny(c, "",
			    "its first bytes are no TLS that can be read");
	r = what == HELLO_NOT_TLS ? judge(c, "", true)
				  : judge(c, l->hello.name, false);
	if (r < 0)
		return r;
	c->must_look = false;
	r = tcp_look_flush(c);
	return r < 0 ? r : (ssize_t)len;
}

int tcp_look_end(struct tcp *c)
{
	int r;

	if (!c->must_look)
		return 0;
	if (c->look && c->look->len)
		return deny(c, "",
			    "it ended before its first bytes could be "
			    "read");
	r = judge(c, "", true);
	if (r == 0)
		c->must_look = false;
	return r;
}

uint32_t tcp_look_room(const struct tcp *c)
{
	return TCP_LOOK_BYTES_MAX - (c->look ? (uint32_t)c->look->len : 0);
}

int tcp_look_time(struct tcp *c)
{
	if (!c->look || !c->must_look ||
	    net_now(c->f.net) - c->look->since_ns < TCP_LOOK_NS)
		return 0;
	return deny(c, "", "its first bytes took too long to come");
}
