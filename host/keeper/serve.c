/* SPDX-License-Identifier: Apache-2.0 */
/* host/keeper/serve.c - answer on keeper.sock; verbs in host/lib/kcall.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/unix.h"
#include "host/keeper/keeper.h"
#include "host/lib/forward.h"
#include "host/lib/memfile.h"
#include "host/lib/netpolicy.h"

#define GRACE_MAX_MS 86400000u
#define CLIENT_FDS   2

enum waits {
	WAITS_NOT,
	WAITS_READY,
	WAITS_EXIT,
	WAITS_NET
};

/**
 * struct client - One connection
 * @free:	It goes when the batch of events is over
 * @reserved:	Beyond KEEPER_CLIENTS_MAX
 * @len:	Bytes of a request so far
 * @fds:	That came with it; -1: none
 */
struct client {
	struct loop_io io;
	struct list link;
	struct loop_defer free;
	struct keeper *k;
	bool reserved;
	enum waits waits;
	size_t len;
	int fds[CLIENT_FDS];
	char line[KEEPER_LINE_MAX];
};

static void drop_fds(struct client *c)
{
	for (size_t i = 0; i < CLIENT_FDS; i++)
		drop_fd(&c->fds[i]);
}

static void free_client(struct loop_defer *d)
{
	free(container_of(d, struct client, free));
}

static void drop(struct client *c)
{
	int fd = c->io.fd;

	if (!c->io.loop)
		return;
	loop_del(&c->io);
	(void)close(fd);
	drop_fds(c);
	list_del(&c->link);
	c->k->n_clients--;
	c->k->n_reserved -= c->reserved;
	loop_defer(&c->k->loop, &c->free, free_client);
}

static void answer(struct client *c, struct ctl_out *o)
{
	int len = ctl_end(o);

	c->waits = WAITS_NOT;
	/* A client that does not read its answers gets no more of them. */
	if (len < 0 || send(c->io.fd, o->buf, (size_t)len,
			    MSG_NOSIGNAL | MSG_DONTWAIT) != len)
		drop(c);
}

static void answer_ok(struct client *c)
{
	struct ctl_out o;

	ctl_begin(&o, "ok");
	answer(c, &o);
}

static void answer_error(struct client *c, int code, const char *sentence)
{
	struct ctl_out o;

	ctl_error(&o, code, sentence);
	answer(c, &o);
}

/* ---- The network ---- */

static void refuse_net(struct client *c, int code)
{
	answer_error(c, code,
		     code == -EOPNOTSUPP
			     ? "the network of this VM has no policy"
		     : code == -EPIPE  ? "the network has ended"
		     : code == -EBUSY  ? "the network is being asked by another"
		     : code == -EAGAIN ? "the network has not begun yet"
				       : "the network cannot be asked");
}

static void ask_net(struct client *c, const char *message, size_t len)
{
	int r = netctl_ask(c->k, NET_ASKER_CLIENT, message, len);

	if (r < 0)
		refuse_net(c, r);
	else
		c->waits = WAITS_NET;
}

static void do_net_show(struct client *c)
{
	static const char show[] = "{\"show\":true}";

	ask_net(c, show, sizeof(show) - 1);
}

/* Whether the VM can have it; hutch-net will see what is wrong in it. */
static int check_policy(const struct keeper *k, const char *policy,
			struct err *e)
{
	if (!netctl_fits(k, policy))
		return err_set(
			e, -EINVAL,
			"the VM was started without a rule that intercepts, "
			"and does not trust who does: start it again with this "
			"policy");
	return handler_check(&k->net, policy, e);
}

/* The policy for the record is kept until hutch-net has taken it. */
static void do_net_set(struct client *c)
{
	auto_free char *message = NULL;
	auto_free char *policy = NULL;
	ssize_t len = memfile_read(c->fds[0], NETPOLICY_MAX, &message);
	ssize_t n = memfile_read(c->fds[1], NETPOLICY_MAX, &policy);
	struct err e;

	drop_fds(c);
	if (len < 0 || n < 0) {
		answer_error(c, -EINVAL,
			     "net-set: wants two files of at most 64 KiB");
		return;
	}
	if (check_policy(c->k, policy, &e) < 0)
		answer_error(c, -EINVAL, e.msg);
	else
		ask_net(c, message, (size_t)len);
	explicit_bzero(message, (size_t)len);
	if (c->waits == WAITS_NET)
		c->k->net.policy = take_ptr(&policy);
}

static void answer_file(struct client *c, const char *text)
{
	auto_fd int fd = memfile_make("hutch-net", text, strlen(text), NULL);
	struct ctl_out o;
	int len;

	if (fd < 0) {
		answer_error(c, -ENOMEM, "no memory");
		return;
	}
	ctl_begin(&o, "ok");
	len = ctl_end(&o);
	c->waits = WAITS_NOT;
	if (len < 0 ||
	    unix_send_fds(c->io.fd, o.buf, (size_t)len, &fd, 1) != len)
		drop(c);
}

void serve_net(struct keeper *k, int code, const char *text)
{
	struct list *p, *n;

	list_for_each_safe (p, n, &k->clients) {
		struct client *c = list_entry(p, struct client, link);

		if (c->waits == WAITS_NET && code < 0)
			answer_error(c, code, text);
		else if (c->waits == WAITS_NET)
			answer_file(c, text);
	}
}

/* ---- Verbs ---- */

static void do_status(struct client *c)
{
	const struct hutch_record *rec = c->k->rec;
	struct ctl_out o;

	ctl_begin(&o, "ok");
	ctl_add(&o, "state", hutch_state_name(rec->state));
	ctl_add_u64(&o, "vmm_pid", (uint64_t)rec->vmm_pid);
	ctl_add_u64(&o, "ready", c->k->ready);
	answer(c, &o);
}

static void do_wait(struct client *c, const struct ctl_msg *m)
{
	const char *what = ctl_get(m, "for");

	if (what && strcmp(what, "exit") == 0)
		c->waits = WAITS_EXIT;
	else if (!what || strcmp(what, "ready") != 0)
		answer_error(c, -EINVAL, "wait: use for=ready or for=exit");
	else if (c->k->ready)
		answer_ok(c);
	else
		c->waits = WAITS_READY;
}

static void do_stop(struct client *c, const struct ctl_msg *m)
{
	static const struct cause asked = {
		.reason = HUTCH_REASON_STOPPED,
		.text = "stop",
	};
	uint64_t grace = c->k->rec->grace_ms;
	int r = ctl_get_u64(m, "grace_ms", &grace);

	if ((r < 0 && r != -ENOENT) || grace > GRACE_MAX_MS) {
		answer_error(c, -EINVAL,
			     "stop: grace_ms is not in 0..86400000");
		return;
	}
	c->waits = WAITS_EXIT;
	keeper_end(c->k, &asked, (int)grace);
}

static void do_kill(struct client *c)
{
	static const struct cause asked = {
		.reason = HUTCH_REASON_STOPPED,
		.text = "kill",
	};

	c->waits = WAITS_EXIT;
	keeper_end(c->k, &asked, -1);
}

/* Return: whether the message names a place of the host, put in *@ret */
static bool get_place(const struct ctl_msg *m, struct hutch_forward *ret)
{
	uint64_t port = UINT64_MAX;

	*ret = (struct hutch_forward)HUTCH_FORWARD_INIT;
	ret->host = ctl_get(m, "host");
	ret->guest_port = 1;
	if (!ret->host || ctl_get_u64(m, "port", &port) < 0 ||
	    port > UINT16_MAX)
		return false;
	ret->port = (unsigned int)port;
	return forward_check(ret, NULL) == 0;
}

static void do_forward(struct client *c, const struct ctl_msg *m)
{
	struct hutch_forward f;
	unsigned int port = 0;
	uint64_t guest = 0;
	struct ctl_out o;
	struct err e;

	if (!get_place(m, &f) || ctl_get_u64(m, "guest_port", &guest) < 0 ||
	    guest == 0 || guest > UINT16_MAX) {
		answer_error(c, -EINVAL,
			     "forward: use host=ADDRESS port=N guest_port=N");
		return;
	}
	f.guest_port = (unsigned int)guest;
	if (c->k->ending || c->k->gone) {
		answer_error(c, -ESRCH, "the VM is ending");
		return;
	}
	if (forward_add(c->k, &f, &port, &e) < 0) {
		answer_error(c, e.code, e.msg);
		return;
	}
	ctl_begin(&o, "ok");
	ctl_add_u64(&o, "port", port);
	answer(c, &o);
}

static void do_unforward(struct client *c, const struct ctl_msg *m)
{
	struct hutch_forward f;
	struct err e;

	if (!get_place(m, &f))
		answer_error(c, -EINVAL, "unforward: use host=ADDRESS port=N");
	else if (forward_remove(c->k, &f, &e) < 0)
		answer_error(c, e.code, e.msg);
	else
		answer_ok(c);
}

static bool is_full(const struct keeper *k)
{
	return k->n_clients - k->n_reserved >= KEEPER_CLIENTS_MAX;
}

/* Return: whether there is a place for such a request, now. */
static bool has_place(struct client *c, const char *verb)
{
	if (!c->reserved || strcmp(verb, "stop") == 0 ||
	    strcmp(verb, "kill") == 0 || strcmp(verb, "status") == 0)
		return true;
	if (is_full(c->k))
		return false;
	c->reserved = false;
	c->k->n_reserved--;
	return true;
}

static void do_line(struct client *c, size_t len)
{
	struct ctl_msg m;
	struct err e;

	if (ctl_parse(c->line, len, &m, &e) < 0)
		answer_error(c, -EBADMSG, e.msg);
	else if (c->waits != WAITS_NOT || !has_place(c, m.verb))
		drop(c); /* one request at a time; or it asks again */
	else if (strcmp(m.verb, "status") == 0)
		do_status(c);
	else if (strcmp(m.verb, "wait") == 0)
		do_wait(c, &m);
	else if (strcmp(m.verb, "stop") == 0)
		do_stop(c, &m);
	else if (strcmp(m.verb, "kill") == 0)
		do_kill(c);
	else if (strcmp(m.verb, "net-show") == 0)
		do_net_show(c);
	else if (strcmp(m.verb, "net-set") == 0)
		do_net_set(c);
	else if (strcmp(m.verb, "forward") == 0)
		do_forward(c, &m);
	else if (strcmp(m.verb, "unforward") == 0)
		do_unforward(c, &m);
	else
		answer_error(c, -EINVAL, "unknown verb");
}

/* ---- Connections ---- */

/* The socket does not block. */
static ssize_t receive(struct client *c)
{
	int fds[UNIX_FDS_MAX], n_fds = 0;
	ssize_t n = unix_recv_fds(c->io.fd, c->line + c->len,
				  sizeof(c->line) - 1 - c->len, fds, &n_fds);

	if (n < 0)
		return n;
	if (n_fds)
		drop_fds(c);
	for (int i = 0; i < n_fds; i++) {
		if (i < CLIENT_FDS)
			c->fds[i] = fds[i];
		else
			(void)close(fds[i]);
	}
	return n;
}

static void on_client(struct loop_io *io, uint32_t events)
{
	struct client *c = container_of(io, struct client, io);
	ssize_t n = receive(c);
	char *nl;

	(void)events;
	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->len += (size_t)n;
	while (c->io.loop && (nl = memchr(c->line, '\n', c->len))) {
		size_t used = (size_t)(nl + 1 - c->line);

		do_line(c, used - 1);
		c->len -= used;
		memmove(c->line, c->line + used, c->len);
	}
	if (c->io.loop && c->len == sizeof(c->line) - 1)
		drop(c);
}

/* The one that has held a reserved place longest, and ends nothing, goes. */
static void make_room(struct keeper *k)
{
	struct list *p;

	list_for_each (p, &k->clients) {
		struct client *c = list_entry(p, struct client, link);

		if (c->reserved && c->waits == WAITS_NOT) {
			drop(c);
			return;
		}
	}
}

/* Return: whether there was one. */
static bool accept_one(struct keeper *k)
{
	int fd = accept4(k->listen_io.fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c = NULL;

	if (fd < 0)
		return false;
	if (k->n_reserved >= KEEPER_RESERVED)
		make_room(k);
	if (!is_full(k) || k->n_reserved < KEEPER_RESERVED)
		c = calloc(1, sizeof(*c));
	if (!c || loop_add(&k->loop, &c->io, fd, EPOLLIN, on_client) < 0) {
		(void)close(fd);
		free(c);
		return true;
	}
	c->k = k;
	for (size_t i = 0; i < CLIENT_FDS; i++)
		c->fds[i] = -1;
	c->reserved = is_full(k);
	list_add_tail(&k->clients, &c->link);
	k->n_clients++;
	k->n_reserved += c->reserved;
	return true;
}

static void on_listen(struct loop_io *io, uint32_t events)
{
	(void)events;
	(void)accept_one(container_of(io, struct keeper, listen_io));
}

int serve_start(struct keeper *k, struct err *e)
{
	int r = loop_add(&k->loop, &k->listen_io, k->fd[LAUNCH_FD_KEEPER_SOCK],
			 EPOLLIN, on_listen);

	return r < 0 ? err_set(e, r, "keeper: %s", strerror(-r)) : 0;
}

void serve_ready(struct keeper *k)
{
	struct list *p, *n;

	list_for_each_safe (p, n, &k->clients) {
		struct client *c = list_entry(p, struct client, link);

		if (c->waits == WAITS_READY)
			answer_ok(c);
	}
}

static void tell_end(struct client *c, const struct hutch_record *rec)
{
	char text[512];
	struct ctl_out o;

	if (c->waits == WAITS_READY) {
		char why[600];

		(void)snprintf(why, sizeof(why), "VM '%s' has ended: %s",
			       rec->name,
			       hutch_reason_text(rec, text, sizeof(text)));
		answer_error(c, -ESRCH, why);
		return;
	}
	ctl_begin(&o, "ok");
	ctl_add(&o, "id", rec->id);
	ctl_add(&o, "reason", hutch_reason_name(rec->reason));
	if (rec->exit_code >= 0)
		ctl_add_u64(&o, "exit_code", (uint64_t)rec->exit_code);
	ctl_add_u64(&o, "signal", (uint64_t)rec->signal);
	ctl_add_u64(&o, "ended", (uint64_t)rec->ended_ns);
	if (*rec->text)
		ctl_add(&o, "text", rec->text);
	answer(c, &o);
}

void serve_exit(struct keeper *k)
{
	struct list *p, *n;

	/* Those still in the backlog have waited too. */
	for (unsigned int i = 0; i < KEEPER_CLIENTS_MAX && accept_one(k); i++)
		continue;
	list_for_each_safe (p, n, &k->clients) {
		struct client *c = list_entry(p, struct client, link);

		if (c->waits == WAITS_NOT)
			on_client(&c->io, 0);
	}
	list_for_each_safe (p, n, &k->clients) {
		struct client *c = list_entry(p, struct client, link);

		if (c->waits != WAITS_NOT)
			tell_end(c, k->rec);
	}
}

void serve_close(struct keeper *k)
{
	struct list *p, *n;

	list_for_each_safe (p, n, &k->clients)
		drop(list_entry(p, struct client, link));
	loop_del(&k->listen_io);
	/* What is deferred runs at the end of a step. */
	if (k->loop.epfd >= 0 && loop_step(&k->loop, 0) < 0)
		return;
}
