/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/control.c - see control.h */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/unix.h"
#include "host/net/control.h"
#include "host/net/relay.h"

/* Takes @answer, the first: there is room, or nobody. */
static void answer(int fd, json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	if (text)
		(void)send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
	free(text);
	json_decref(answer);
}

void control_ok(int fd, const char *ca)
{
	answer(fd, json_pack("{s:b, s:s*}", "ok", 1, "ca", ca));
}

void control_error(int fd, const struct err *e)
{
	answer(fd, json_pack("{s:s}", "error", e->msg));
}

/* ---- Answers to requests: none is lost, as it is waited for ---- */

static char *text_of(json_t *doc)
{
	return doc ? json_dumps(doc, JSON_COMPACT) : NULL;
}

/* @list by half, again and again, until all of it is short enough. */
static void cut(json_t *doc, const char *list, char **text)
{
	json_t *a = json_object_get(doc, list);

	while (*text && strlen(*text) > CONTROL_ANSWER_MAX &&
	       json_array_size(a)) {
		size_t n = json_array_size(a) / 2;

		while (json_array_size(a) > n)
			(void)json_array_remove(a, json_array_size(a) - 1);
		(void)json_object_set_new(doc, "cut", json_true());
		free(*text);
		*text = text_of(doc);
	}
}

static bool is_for_later(int err)
{
	return err == EAGAIN || err == EINTR || err == ENOBUFS || err == ENOMEM;
}

static void flush(struct control *c)
{
	if (send(c->fd, c->unsent, strlen(c->unsent),
		 MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    is_for_later(errno)) {
		loop_mod(&c->io, EPOLLOUT);
		return;
	}
	free(take_ptr(&c->unsent));
	loop_mod(&c->io, EPOLLIN);
}

/* Takes @doc. */
static void reply(struct control *c, json_t *doc)
{
	static const char short_of[] = "{\"error\":\"out of memory\"}";
	char *text = text_of(doc);

	cut(doc, "flows", &text);
	cut(doc, "rules", &text);
	json_decref(doc);
	bug_on(c->unsent);
	c->unsent = text ? text : strdup(short_of);
	if (c->unsent)
		flush(c);
	else
		(void)send(c->fd, short_of, sizeof(short_of) - 1,
			   MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * A message, and the descriptor that came with it; -1: none did. Of one that is too
 * long there is one byte too much.
 *
 * Return: bytes, 0: the end, -errno
 */
static ssize_t receive(int fd, char **ret, int *ret_fd)
{
	auto_free char *buf = malloc(CONFIG_MAX + 1);
	int fds[UNIX_FDS_MAX], n_fds = 0;
	ssize_t n;

	*ret_fd = -1;
	if (!buf)
		return -ENOMEM;
	n = unix_recv_fds(fd, buf, CONFIG_MAX + 1, fds, &n_fds);
	if (n < 0)
		return n;
	if (n_fds == 1)
		*ret_fd = fds[0];
	for (int i = 0; n_fds > 1 && i < n_fds; i++)
		(void)close(fds[i]);
	*ret = take_ptr(&buf);
	return n;
}

int control_first(int fd, struct config *ret, struct err *e)
{
	auto_free char *text = NULL;
	auto_fd int stray = -1;
	ssize_t n = receive(fd, &text, &stray);
	int r;

	if (n <= 0)
		return err_set(e, -EPIPE, "the keeper said nothing");
	r = config_first(text, (size_t)n, ret, e);
	/* Whatever is in it, it is in the policy now, if anywhere. */
	explicit_bzero(text, (size_t)n);
	if (r < 0)
		control_error(fd, e);
	return r;
}

/* ---- What is going on ---- */

static json_t *one_flow(const struct flow *f, const char *proto)
{
	char text[ADDR_TEXT_MAX];

	return json_pack("{s:s, s:s, s:i, s:s?, s:o}", "proto", proto,
			 "address", addr_text(&f->key.peer, text), "port",
			 (int)f->key.peer_port, "name", f->name, "rule",
			 f->rule < 0 ? json_null() : json_integer(f->rule + 1));
}

static json_t *some_flows(const struct net *n)
{
	static const char *const protos[] = {
		[NET_TCP] = "tcp", [NET_UDP] = "udp", [NET_ICMP] = "icmp"
	};
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_LEN(protos); i++) {
		struct list *p;

		list_for_each (p, &n->flows.all[i]) {
			const struct flow *f = list_entry(p, struct flow, kind);

			if (json_array_size(list) >= CONTROL_SHOWN_MAX)
				return list;
			/* Out of memory: there is one fewer to see. */
			(void)json_array_append_new(list,
						    one_flow(f, protos[i]));
		}
	}
	return list;
}

static json_t *counters(const struct net *n)
{
	const struct net_stats *s = &n->stats;
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
		{ "frames_in", s->frames_in },
		{ "frames_out", s->frames_out },
		{ "bad_frames", s->bad_frames },
		{ "spoofed", s->spoofed },
		{ "unserved", s->unserved },
		{ "fragments", s->fragments },
		{ "tcp_opened", s->tcp_opened },
		{ "udp_opened", s->udp_opened },
		{ "ping_opened", s->ping_opened },
		{ "denied", s->denied },
		{ "refused", s->refused },
		{ "evicted", s->evicted },
		{ "retransmits", s->retransmits },
		{ "link_dropped", n->link.dropped },
		{ "tcp", n->flows.n[NET_TCP] },
		{ "udp", n->flows.n[NET_UDP] },
		{ "icmp", n->flows.n[NET_ICMP] },
	};
	json_t *obj = json_object();

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		(void)json_object_set_new(
			obj, all[i].name,
			json_integer((json_int_t)all[i].value));
	return obj;
}

/* Who is asked for names, the one first that answered last. */
static json_t *resolvers(const struct relay *r)
{
	json_t *list = json_array();
	char text[ADDR_TEXT_MAX];

	for (unsigned int i = 0; i < r->n_resolvers; i++) {
		const unsigned int who = (r->first + i) % r->n_resolvers;

		(void)json_array_append_new(
			list, json_string(addr_text(&r->resolver[who], text)));
	}
	return list;
}

static void show(struct control *c)
{
	reply(c, json_pack("{s:b, s:o, s:o, s:o, s:o, s:s?}", "ok", 1, "rules",
			   tally_json(c->guard->tally, c->guard->policy),
			   "counters", counters(c->net), "flows",
			   some_flows(c->net), "resolvers", resolvers(c->relay),
			   "ca_sha256", intercepts_fingerprint(c->intercepts)));
}

/* Takes @fd, if the message is about it. */
static int obey(struct control *c, const char *text, size_t len, int *fd,
		struct err *e)
{
	struct config_request q = { 0 };
	const char *ca;
	int r = config_request(text, len, &q, e);

	if (r < 0)
		return r;
	if (q.connected.id) {
		handlers_answer(c->handlers, q.connected.id, take_fd(fd),
				*q.connected.error ? q.connected.error : NULL);
		return 0;
	}
	if (!q.policy && !q.has_resolvers) {
		show(c);
		return 0;
	}
	if (!q.policy) {
		relay_resolvers(c->relay, q.resolvers.v, q.resolvers.n);
		reply(c, json_pack("{s:b}", "ok", 1));
		return 0;
	}
	r = intercepts_prepare(c->intercepts, q.policy, &ca, e);
	if (r == 0 && guard_replace(c->guard, q.policy) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	if (r < 0) {
		policy_unref(q.policy);
		return r;
	}
	intercepts_retire(c->intercepts);
	if (q.has_resolvers)
		relay_resolvers(c->relay, q.resolvers.v, q.resolvers.n);
	if (q.all)
		net_judge_all(c->net);
	reply(c, json_pack("{s:b, s:s*}", "ok", 1, "ca", ca));
	return 0;
}

static void serve(struct control *c)
{
	auto_free char *text = NULL;
	auto_fd int fd = -1;
	struct err e = { 0 };
	ssize_t n = receive(c->fd, &text, &fd);

	/* (-EMSGSIZE: no room for a descriptor. Whoever waits for it gives up.) */
	if (n == -EAGAIN || n == -ENOMEM || n == -EMSGSIZE)
		return;
	if (n <= 0) {
		loop_del(&c->io);
		loop_stop(c->loop);
		return;
	}
	if (obey(c, text, (size_t)n, &fd, &e) < 0)
		reply(c, json_pack("{s:s}", "error", e.msg));
	if (text)
		explicit_bzero(text, (size_t)n);
}

static void on_io(struct loop_io *io, uint32_t events)
{
	struct control *c = container_of(io, struct control, io);

	(void)events;
	if (c->unsent)
		flush(c);
	else
		serve(c);
}

int control_watch(struct control *c)
{
	int r = io_set_nonblock(c->fd, 1);

	return r < 0 ? r : loop_add(c->loop, &c->io, c->fd, EPOLLIN, on_io);
}

void control_done(struct control *c)
{
	free(take_ptr(&c->unsent));
}
