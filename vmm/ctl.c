/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/ctl.c - see ctl.h */
#include <errno.h>

#include <string.h>
#include <sys/socket.h>

#include "common/ctl.h"
#include "common/io.h"
#include "common/list.h"

#include "vmm/config.h"
#include "vmm/ctl.h"
#include "vmm/report.h"
#include "vmm/vm.h"

#define ACCEPT_WAIT_NS 100000000ull /* no descriptor left: look again after */

/** enum waits - What a client's request under way waits for */
enum waits {
	WAITS_NOT,
	WAITS_READY,
	WAITS_EXIT,
	WAITS_PAUSE
};

/**
 * struct client - One connection
 * @io:		Also owns the descriptor
 * @line:	@len bytes of a request that is not yet whole
 */
struct client {
	struct ctl_server *server;
	struct list link;
	struct loop_io io;
	struct loop_defer defer;
	enum waits waits;
	size_t len;
	char line[CTL_LINE_MAX];
};

struct listener {
	struct ctl_server *server;
	struct loop_io io;
	struct loop_timer timer;
};

/**
 * struct ctl_server - All of them
 * @out:	Scratch for the answer being made
 * @buf:	Scratch for the request being read
 */
struct ctl_server {
	struct vm *vm;
	struct list clients;
	unsigned int n_clients;
	unsigned int n_listeners;
	struct listener listener[CONFIG_CONTROLS_MAX];
	struct ctl_out out;
};

static void free_client(struct loop_defer *d)
{
	free(container_of(d, struct client, defer));
}

static void close_client(struct client *c)
{
	int fd = c->io.fd;

	if (!c->io.loop)
		return;
	loop_del(&c->io);
	(void)close(fd);
	list_del(&c->link);
	c->server->n_clients--;
	loop_defer(&c->server->vm->loop, &c->defer, free_client);
}

/* A client that does not read its answers is no client. */
static void answer(struct client *c)
{
	struct ctl_out *o = &c->server->out;
	int len = ctl_end(o);

	c->waits = WAITS_NOT;
	if (len < 0 || send(c->io.fd, o->buf, (size_t)len,
			    MSG_NOSIGNAL | MSG_DONTWAIT) != len)
		close_client(c);
}

static void answer_ok(struct client *c)
{
	ctl_begin(&c->server->out, "ok");
	answer(c);
}

static void answer_error(struct client *c, int code, const char *sentence)
{
	ctl_error(&c->server->out, code, sentence);
	answer(c);
}

static void answer_end(struct client *c, const struct run_end *end)
{
	struct ctl_out *o = &c->server->out;

	ctl_begin(o, "ok");
	ctl_add(o, "reason", run_reason_word(end->reason));
	if (end->text[0])
		ctl_add(o, "text", end->text);
	answer(c);
}

static void do_info(struct client *c,
		    const struct ctl_msg *m __attribute__((unused)))
{
	report_info(c->server->vm, &c->server->out);
	answer(c);
}

static void do_stats(struct client *c,
		     const struct ctl_msg *m __attribute__((unused)))
{
	report_stats(c->server->vm, &c->server->out);
	answer(c);
}

static void do_pause(struct client *c,
		     const struct ctl_msg *m __attribute__((unused)))
{
	struct vm *vm = c->server->vm;

	vm_pause(vm);
	if (vm_is_paused(vm))
		answer_ok(c);
	else
		c->waits = WAITS_PAUSE;
}

static void do_resume(struct client *c,
		      const struct ctl_msg *m __attribute__((unused)))
{
	struct list *p, *n;

	list_for_each_safe (p, n, &c->server->clients) {
		struct client *other = list_entry(p, struct client, link);

		if (other->waits == WAITS_PAUSE)
			answer_error(other, -ECANCELED,
				     "resumed before it was paused");
	}
	vm_resume(c->server->vm);
	answer_ok(c);
}

static void do_stop(struct client *c,
		    const struct ctl_msg *m __attribute__((unused)))
{
	/* Answered by ctl_on_end(), with the reason. */
	c->waits = WAITS_EXIT;
	run_end(&c->server->vm->run, RUN_STOPPED, NULL);
}

static void do_wait(struct client *c, const struct ctl_msg *m)
{
	const char *what = ctl_get(m, "for");

	if (what && strcmp(what, "exit") == 0)
		c->waits = WAITS_EXIT;
	else if (what && strcmp(what, "ready") == 0 && c->server->vm->ready)
		answer_ok(c);
	else if (what && strcmp(what, "ready") == 0)
		c->waits = WAITS_READY;
	else
		answer_error(c, -EINVAL, "wait for=ready or for=exit");
}

static const struct {
	const char *name;
	const char *key; /* the only one it takes, or NULL */
	void (*fn)(struct client *c, const struct ctl_msg *m);
} verbs[] = {
	{ "info", NULL, do_info },   { "stats", NULL, do_stats },
	{ "pause", NULL, do_pause }, { "resume", NULL, do_resume },
	{ "stop", NULL, do_stop },   { "wait", "for", do_wait },
};

static void obey(struct client *c, char *line, size_t len)
{
	struct err e = { 0 };
	struct ctl_msg m;

	if (ctl_parse(line, len, &m, &e) < 0) {
		answer_error(c, -EBADMSG, e.msg);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].name, m.verb) != 0)
			continue;
		for (unsigned int k = 0; k < m.n_args; k++) {
			if (verbs[i].key &&
			    strcmp(m.arg[k].key, verbs[i].key) == 0)
				continue;
			answer_error(c, -EINVAL, "a value it does not take");
			return;
		}
		verbs[i].fn(c, &m);
		return;
	}
	answer_error(c, -EINVAL,
		     "unknown verb; there are info, stats, pause, resume, stop "
		     "and wait");
}

/* One request at a time: what follows waits in the buffer. */
static void serve_lines(struct client *c)
{
	while (c->io.loop && c->waits == WAITS_NOT) {
		char *nl = memchr(c->line, '\n', c->len);
		size_t used;

		if (!nl)
			break;
		used = (size_t)(nl - c->line) + 1;
		obey(c, c->line, used - 1);
		c->len -= used;
		memmove(c->line, c->line + used, c->len);
	}
	if (!c->io.loop)
		return;
	if (c->len == sizeof(c->line) && c->waits == WAITS_NOT) {
		answer_error(c, -EMSGSIZE, "the line is too long");
		close_client(c);
		return;
	}
	/* A full buffer behind a wait is left in the socket. */
	loop_mod(&c->io, c->len < sizeof(c->line) ? EPOLLIN : 0);
}

static void on_client(struct loop_io *io, uint32_t events)
{
	struct client *c = container_of(io, struct client, io);
	ssize_t n;

	if (!(events & EPOLLIN)) {
		close_client(c);
		return;
	}
	n = recv(io->fd, c->line + c->len, sizeof(c->line) - c->len,
		 MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_client(c);
		return;
	}
	c->len += (size_t)n;
	serve_lines(c);
}

static int add_client(struct ctl_server *s, int fd)
{
	struct client *c;
	int r;

	if (s->n_clients == CTL_CLIENTS_MAX) {
		(void)close(fd);
		return -EMFILE;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		(void)close(fd);
		return -ENOMEM;
	}
	c->server = s;
	r = loop_add(&s->vm->loop, &c->io, fd, EPOLLIN, on_client);
	if (r < 0) {
		(void)close(fd);
		free(c);
		return r;
	}
	list_init(&c->link);
	list_add_tail(&s->clients, &c->link);
	s->n_clients++;
	return 0;
}

static void on_listen_timer(struct loop_timer *t)
{
	loop_mod(&container_of(t, struct listener, timer)->io, EPOLLIN);
}

static void on_listener(struct loop_io *io,
			uint32_t events __attribute__((unused)))
{
	struct listener *l = container_of(io, struct listener, io);
	int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		/* Epoll would tell us of those who wait for ever. */
		loop_mod(io, 0);
		loop_timer_set(&l->server->vm->loop, &l->timer, ACCEPT_WAIT_NS,
			       on_listen_timer);
		return;
	}
	/* A client that finds no place has been closed: it sees the end. */
	if (fd >= 0 && add_client(l->server, fd) < 0)
		return;
}

static int add_control(struct ctl_server *s, struct config_end *end,
		       struct err *e)
{
	struct listener *l = &s->listener[s->n_listeners];
	int listens = 0, fd = take_fd(&end->fd), r;
	socklen_t len = sizeof(listens);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0) {
		r = -errno;
		(void)close(fd);
		return err_set(e, r, "--control: fd=%d is not a socket", fd);
	}
	if (!listens) {
		r = add_client(s, fd);
		return r < 0 ? err_set(e, r, "--control: %s", strerror(-r)) : 0;
	}
	r = loop_add(&s->vm->loop, &l->io, fd, EPOLLIN, on_listener);
	if (r < 0) {
		(void)close(fd);
		return err_set(e, r, "--control: %s", strerror(-r));
	}
	l->server = s;
	s->n_listeners++;
	return io_set_nonblock(fd, 1);
}

int ctl_new(struct ctl_server **ret, struct vm *vm, struct err *e)
{
	struct ctl_server *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return err_set(e, -ENOMEM, "no memory for the control sockets");
	s->vm = vm;
	list_init(&s->clients);
	for (unsigned int i = 0; r == 0 && i < vm->cfg->n_controls; i++)
		r = add_control(s, &vm->cfg->control[i], e);
	if (r < 0) {
		ctl_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* Outside of the loop: nobody looks at a client any more, so free at once. */
void ctl_free(struct ctl_server *s)
{
	struct list *p, *n;

	if (!s)
		return;
	list_for_each_safe (p, n, &s->clients) {
		struct client *c = list_entry(p, struct client, link);

		(void)close(c->io.fd);
		loop_del(&c->io);
		free(c);
	}
	for (unsigned int i = 0; i < s->n_listeners; i++) {
		loop_timer_cancel(&s->listener[i].timer);
		(void)close(s->listener[i].io.fd);
		loop_del(&s->listener[i].io);
	}
	free(s);
}

/*
 * Answer everybody who waits for @what; then serve what they sent since.  What
 * they sent may close any client, the next one too: so nobody is served while
 * the list of all is walked.
 */
static void wake(struct ctl_server *s, enum waits what,
		 void (*fn)(struct client *c))
{
	struct list *p, *n, woken;

	list_init(&woken);
	list_for_each_safe (p, n, &s->clients) {
		struct client *c = list_entry(p, struct client, link);

		if (c->waits != what)
			continue;
		fn(c);
		if (!c->io.loop)
			continue;
		list_del(&c->link);
		list_add_tail(&woken, &c->link);
	}
	while (!list_empty(&woken)) {
		struct client *c = list_entry(woken.next, struct client, link);

		list_del(&c->link);
		list_add_tail(&s->clients, &c->link);
		serve_lines(c);
	}
}

void ctl_on_ready(struct ctl_server *s)
{
	wake(s, WAITS_READY, answer_ok);
}

void ctl_on_paused(struct ctl_server *s)
{
	wake(s, WAITS_PAUSE, answer_ok);
}

void ctl_on_end(struct ctl_server *s, const struct run_end *end)
{
	struct list *p, *n;

	list_for_each_safe (p, n, &s->clients) {
		struct client *c = list_entry(p, struct client, link);

		if (c->waits == WAITS_EXIT)
			answer_end(c, end);
		else if (c->waits != WAITS_NOT)
			answer_error(c, -ESRCH, "the VM has ended");
	}
}
