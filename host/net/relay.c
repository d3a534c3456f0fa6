/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/relay.c - see relay.h */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "host/net/proto.h"
#include "host/net/relay.h"
#include "host/net/sock.h"
#include "host/net/udp.h"

void relay_prepare(struct relay *r, struct net *n, struct guard *g,
		   struct denials *d)
{
	memset(r, 0, sizeof(*r));
	r->net = n;
	r->guard = g;
	r->denials = d;
	list_init(&r->asks);
	list_init(&r->streams);
	r->rate = net_rate(DNS_NEW_BURST, DNS_NEW_NS);
}

void relay_resolvers(struct relay *r, const struct net_addr *a, unsigned int n)
{
	bug_on(n > DNS_RESOLVERS_MAX);
	if (n == r->n_resolvers && memcmp(r->resolver, a, n * sizeof(*a)) == 0)
		return;
	memcpy(r->resolver, a, n * sizeof(*a));
	r->n_resolvers = n;
	r->first = 0;
}

static struct relay_ask *ask_of(struct list *p)
{
	return list_entry(p, struct relay_ask, link);
}

static void free_ask(struct loop_defer *d)
{
	struct relay_ask *a = container_of(d, struct relay_ask, defer);

	free(a->in);
	free(a);
}

static void stop_asking(struct relay_ask *a)
{
	loop_forget(&a->io);
	loop_timer_cancel(&a->timer);
	drop_fd(&a->fd);
	free(take_ptr(&a->in));
	a->in_len = 0;
	a->asked = false;
}

static void end(struct relay_ask *a)
{
	if (list_empty(&a->link))
		return;
	stop_asking(a);
	list_del(&a->link);
	a->relay->n_asks--;
	loop_defer(a->relay->net->loop, &a->defer, free_ask);
}

/*
 * Answers are composed where a datagram's header fits in front; those by TCP
 * may fill what is left.
 */
static struct dns_out answer_out(struct relay *r, bool tcp)
{
	const size_t head = sizeof(struct udp_hdr);

	return (struct dns_out){
		.buf = r->net->scratch + head,
		.cap = tcp ? NET_SCRATCH - head : DNS_UDP_MAX,
	};
}

static void answer(struct relay *r, const struct flow_key *key,
		   struct relay_stream *s, const struct dns_out *out)
{
	const size_t head = sizeof(struct udp_hdr);

	net_wake(r->net);
	if (s)
		relay_stream_answer(s, out->buf, out->len);
	else
		udp_to_guest(r->net, key, out->buf - head, head + out->len);
}

static void tell_denied(struct relay *r, const struct dns_query *q,
			const struct dns_out *out)
{
	guard_denied(r->guard, out->rule);
	denials_name(r->denials, q->name, out->rule, out->denied);
}

/* Over before it is answered: a stream that takes nothing ends its questions. */
static void finish(struct relay_ask *a, const struct dns_out *out)
{
	if (out->denied)
		tell_denied(a->relay, &a->q, out);
	end(a);
	answer(a->relay, &a->key, a->stream, out);
}

static void fail(struct relay_ask *a)
{
	struct dns_out out = answer_out(a->relay, a->q.tcp);

	(void)dns_fail(&a->q, &out);
	out.denied = NULL;
	finish(a, &out);
}

/* ---- Asking ---- */

static void ask(struct relay_ask *a);

/* Fresh bytes cannot fail to come once there were any. */
static void random_bytes(uint8_t rnd[DNS_RND])
{
	bug_on(getrandom(rnd, DNS_RND, 0) != (ssize_t)DNS_RND);
}

static void write_again(struct relay_ask *a)
{
	uint8_t rnd[DNS_RND];
	struct dns_out out = { .buf = a->out + sizeof(be16),
			       .cap = DNS_ASK_MAX };

	stop_asking(a);
	random_bytes(rnd);
	(void)dns_again(&a->q, rnd, &out);
	a->out_len = out.len;
}

static void ask_same(struct relay_ask *a)
{
	write_again(a);
	ask(a);
}

static void ask_next(struct relay_ask *a)
{
	a->try++;
	ask_same(a);
}

static void on_time(struct loop_timer *t)
{
	ask_next(container_of(t, struct relay_ask, timer));
}

/* Return: 0, or -errno: this resolver is of no use */
static int send_question(struct relay_ask *a)
{
	const size_t head = a->q.tcp ? sizeof(be16) : 0;
	const size_t len = a->out_len + head;
	const be16 prefix = be16_put((uint16_t)a->out_len);
	const uint8_t *from = a->out + sizeof(be16) - head;

	memcpy(a->out, &prefix, sizeof(prefix));
	a->asked = true;
	/* A new socket has room for a question, whatever it is. */
	if (send(a->fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
		return -EIO;
	return 0;
}

static void reply(struct relay_ask *a, const void *msg, size_t len)
{
	struct relay *r = a->relay;
	struct dns_env env = guard_dns_env(r->guard, NULL);
	struct dns_out out = answer_out(r, a->q.tcp);
	enum dns_act act = dns_reply(&env, &a->q, msg, len, &out);

	if (act == DNS_ANSWER && r->n_resolvers)
		r->first = (a->first + a->try) % r->n_resolvers;
	if (act == DNS_ANSWER)
		finish(a, &out);
	else if (act == DNS_SAME)
		ask_same(a);
	/* By TCP nobody else can have sent it: there is nothing to wait for. */
	else if (act == DNS_NEXT || a->q.tcp)
		ask_next(a);
}

static void receive_datagram(struct relay_ask *a)
{
	ssize_t n = recv(a->fd, a->relay->in, DNS_MSG_MAX, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		ask_next(a);
	else
		reply(a, a->relay->in, (size_t)n);
}

static void receive_stream(struct relay_ask *a)
{
	const size_t most = sizeof(be16) + DNS_MSG_MAX;
	size_t want = most;
	be16 prefix;
	ssize_t n;

	if (!a->in)
		a->in = malloc(most);
	n = a->in ? recv(a->fd, a->in + a->in_len, most - a->in_len,
			 MSG_DONTWAIT)
		  : -1;
	if (n < 0 && a->in && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		ask_next(a);
		return;
	}
	a->in_len += (size_t)n;
	if (a->in_len >= sizeof(prefix)) {
		memcpy(&prefix, a->in, sizeof(prefix));
		want = sizeof(prefix) + be16_get(prefix);
	}
	if (a->in_len >= want)
		reply(a, a->in + sizeof(prefix), want - sizeof(prefix));
}

static void on_io(struct loop_io *io, uint32_t events)
{
	struct relay_ask *a = container_of(io, struct relay_ask, io);

	if (a->q.tcp && !a->asked) {
		if (sock_error(a->fd) < 0 || send_question(a) < 0)
			ask_next(a);
		else
			loop_mod(io, EPOLLIN);
	} else if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
		if (a->q.tcp)
			receive_stream(a);
		else
			receive_datagram(a);
	}
}

/* Return: 0, and an answer or the end of patience comes; or -errno */
static int ask_one(struct relay_ask *a, const struct net_addr *resolver)
{
	const struct flow_key key = { .peer = *resolver,
				      .peer_port = NET_DNS_PORT,
				      .proto = a->q.tcp ? NET_TCP : NET_UDP };
	struct loop *loop = a->relay->net->loop;
	int r;

	a->fd = sock_connect(&key, true);
	if (a->fd < 0)
		return a->fd;
	r = loop_add(loop, &a->io, a->fd, a->q.tcp ? EPOLLOUT : EPOLLIN, on_io);
	if (r == 0 && !a->q.tcp)
		r = send_question(a);
	if (r == 0)
		loop_timer_set(loop, &a->timer, DNS_WAIT_NS, on_time);
	return r;
}

static unsigned int tries(const struct relay *r)
{
	return r->n_resolvers ? MAX(r->n_resolvers * DNS_ROUNDS, DNS_TRIES_MIN)
			      : 0;
}

static void ask(struct relay_ask *a)
{
	const struct relay *r = a->relay;

	for (; a->try < tries(r); a->try++) {
		const unsigned int who = (a->first + a->try) % r->n_resolvers;

		if (ask_one(a, &r->resolver[who]) == 0)
			return;
		write_again(a);
	}
	fail(a);
}

/* ---- Questions ---- */

static struct relay_ask *new_ask(struct relay *r)
{
	struct relay_ask *a;

	if (!r->in)
		r->in = malloc(DNS_MSG_MAX);
	a = r->in ? calloc(1, sizeof(*a)) : NULL;
	if (!a)
		return NULL;
	a->relay = r;
	a->fd = -1;
	list_add_tail(&r->asks, &a->link);
	r->n_asks++;
	return a;
}

/*
 * Of one too many the oldest goes: by now its asker has asked again. It is
 * answered by the scratch buffer, and if it was asked on the same stream, that
 * may end, and @a with it.
 *
 * Return: whether @a is still to be asked
 */
static bool make_room(struct relay *r, const struct relay_ask *a)
{
	if (r->n_asks > DNS_ASKS_MAX)
		fail(ask_of(r->asks.next));
	return !list_empty(&a->link);
}

static void question(struct relay *r, const struct flow_key *key,
		     struct relay_stream *s, const void *msg, size_t len)
{
	uint8_t rnd[DNS_RND];
	struct dns_out out = answer_out(r, s != NULL);
	struct dns_env env;
	struct relay_ask *a;
	struct dns_query q;
	enum dns_act act;

	random_bytes(rnd);
	env = guard_dns_env(r->guard, rnd);
	act = dns_ask(&env, msg, len, s != NULL, &q, &out);
	if (act == DNS_ANSWER && out.denied)
		tell_denied(r, &q, &out);
	if (act == DNS_ANSWER)
		answer(r, key, s, &out);
	/* (By datagram: it asks again. By stream: that ends.) */
	a = act == DNS_ASK && net_rate_take(r->net, &r->rate) ? new_ask(r)
							      : NULL;
	if (a) {
		a->q = q;
		a->first = r->first;
		a->stream = s;
		if (key)
			a->key = *key;
		a->out_len = MIN(out.len, DNS_ASK_MAX);
		memcpy(a->out + sizeof(be16), out.buf, a->out_len);
		if (make_room(r, a))
			ask(a);
	} else if (s && act != DNS_ANSWER) {
		relay_stream_close(s);
	}
}

void relay_datagram(struct relay *r, const struct flow_key *key,
		    const void *msg, size_t len)
{
	question(r, key, NULL, msg, len);
}

void relay_question(struct relay *r, struct relay_stream *s, const void *msg,
		    size_t len)
{
	question(r, NULL, s, msg, len);
}

void relay_forget(struct relay *r, const struct relay_stream *s)
{
	struct list *p, *next;

	list_for_each_safe (p, next, &r->asks)
		if (ask_of(p)->stream == s)
			end(ask_of(p));
}

void relay_done(struct relay *r)
{
	if (!r->net)
		return;
	relay_streams_close(r);
	while (!list_empty(&r->asks))
		end(ask_of(r->asks.next));
	free(take_ptr(&r->in));
}
