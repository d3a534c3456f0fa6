/* SPDX-License-Identifier: Apache-2.0 */
/* Holds a lab: joins its clients to the server in it, and ends it. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"
#include "proto.h"

/* The console's last bytes, for the case that the lab fails. */
#define CONSOLE_MAX 8192u
/* Port, console, listener, signals, who waits; then the clients. */
#define POLL_FIXED 5

struct client {
	int fd;
	uint16_t id;
	struct lab_buf in;
	struct lab_buf out;
	bool last; /* close once @out is empty */
	bool runs; /* it has come for more than to ask */
};

struct keeper {
	const struct host_opts *o;
	struct machine m;
	struct lab_buf in;
	struct lab_buf out;
	struct lab_buf console;
	struct client *c[LAB_SESSIONS_MAX];
	int listener;
	int signals;
	int ready_fd;
	uint16_t next_id;
	bool kept;
	bool ready;
	bool over;
	time_t since; /* of the start, then of the last client's end */
};

static time_t now_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec;
}

/* To ask for the lab's status is no use of it. */
static unsigned int clients(const struct keeper *k)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++)
		n += k->c[i] && k->c[i]->runs;
	return n;
}

static struct client *client_by_id(struct keeper *k, uint16_t id)
{
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++)
		if (k->c[i] && k->c[i]->id == id)
			return k->c[i];
	return NULL;
}

/* A client more; without room for it the connection is closed. */
static void client_add(struct keeper *k, int fd)
{
	struct client *c;

	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++) {
		if (k->c[i])
			continue;
		c = calloc(1, sizeof(*c));
		if (!c || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
			free(c);
			break;
		}
		do
			k->next_id++;
		while (!k->next_id || client_by_id(k, k->next_id));
		c->fd = fd;
		c->id = k->next_id;
		k->c[i] = c;
		return;
	}
	close(fd);
}

static void client_remove(struct keeper *k, unsigned int i)
{
	struct client *c = k->c[i];

	/* Gone before its command's end: then that ends too. */
	if (c->runs && !c->last)
		(void)lab_frame_put(&k->out, &(struct lab_frame){
						     .session = c->id,
						     .type = LAB_KILL,
						     .arg = 1,
					     });
	if (c->runs)
		k->since = now_s();
	if (!k->kept)
		k->over = true;
	close(c->fd);
	lab_buf_done(&c->in);
	lab_buf_done(&c->out);
	free(c);
	k->c[i] = NULL;
}

static int client_say(struct client *c, uint8_t type, const char *text)
{
	size_t len = strlen(text);

	c->last = true;
	return lab_frame_put(&c->out, &(struct lab_frame){
					      .payload = (const uint8_t *)text,
					      .len = (uint32_t)len,
					      .type = type,
				      });
}

static int client_status(struct keeper *k, struct client *c)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "%s state=%s commands=%u pid=%d idle_limit=%us\n",
		       k->o->about, k->ready ? "up" : "coming-up", clients(k),
		       (int)getpid(), k->o->idle_s);
	return client_say(c, LAB_STATUS, text);
}

static int client_frame(struct keeper *k, struct client *c, struct lab_frame *f)
{
	switch (f->type) {
	case LAB_DOWN:
		c->last = true;
		k->over = true;
		return 0;
	case LAB_STATUS:
		return client_status(k, c);
	default:
		c->runs = true;
		f->session = c->id;
		return lab_frame_put(&k->out, f);
	}
}

/* Return: 0, negative if the client is to be removed. */
static int client_io(struct keeper *k, struct client *c, int events)
{
	struct lab_frame f;
	ssize_t n = 0;
	int r = 0;

	if (events & POLLOUT && c->out.len)
		n = lab_buf_flush(&c->out, c->fd, LAB_WINDOW);
	if (n < 0 && n != -EAGAIN)
		return (int)n;
	if (c->last && !c->out.len)
		return -ENOENT;
	if (!(events & (POLLIN | POLLHUP | POLLERR)))
		return 0;
	n = lab_buf_fill(&c->in, c->fd, 65536);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return n ? (int)n : -EPIPE;
	while (!c->last && (r = lab_frame_get(&c->in, &f)) > 0) {
		struct lab_frame copy = f;

		r = client_frame(k, c, &copy);
		if (r < 0)
			return r;
		lab_frame_drop(&c->in, &f);
	}
	return r;
}

static void say_ready(struct keeper *k, const char *text)
{
	if (k->ready_fd < 0)
		return;
	(void)!write(k->ready_fd, text, strlen(text));
	close(k->ready_fd);
	k->ready_fd = -1;
}

static int port_frame(struct keeper *k, const struct lab_frame *f)
{
	struct lab_frame g = *f;
	struct client *c;

	if (!f->session) {
		if (f->type != LAB_READY || f->arg != LAB_VERSION)
			return -EBADMSG;
		k->ready = true;
		k->since = now_s();
		say_ready(k, "");
		return 0;
	}
	c = client_by_id(k, f->session);
	if (!c || c->last)
		return 0;
	c->last = f->type == LAB_EXIT || f->type == LAB_FAIL;
	g.session = 0;
	return lab_frame_put(&c->out, &g);
}

static int port_io(struct keeper *k, int events)
{
	struct lab_frame f;
	ssize_t n = 0;
	int r;

	if (events & POLLOUT && k->out.len)
		n = lab_buf_flush(&k->out, k->m.port, LAB_WINDOW);
	if (n < 0 && n != -EAGAIN)
		return (int)n;
	if (!(events & (POLLIN | POLLHUP | POLLERR)))
		return 0;
	n = lab_buf_fill(&k->in, k->m.port, LAB_WINDOW);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return n ? (int)n : -EPIPE;
	while ((r = lab_frame_get(&k->in, &f)) > 0) {
		r = port_frame(k, &f);
		if (r < 0)
			return r;
		lab_frame_drop(&k->in, &f);
	}
	return r;
}

/* Return: false once nobody prints there any more. */
static bool console_io(struct keeper *k)
{
	struct lab_buf *b = &k->console;
	ssize_t n = lab_buf_fill(b, k->m.console, 4096);

	if (n > 0 && k->o->console)
		(void)!write(2, b->p + b->head + b->len - n, (size_t)n);
	if (b->len > CONSOLE_MAX)
		lab_buf_drop(b, b->len - CONSOLE_MAX);
	return n > 0 || n == -EAGAIN;
}

/* The lab has ended by itself: whoever waits for it is told what it said. */
static void lab_died(struct keeper *k)
{
	char text[CONSOLE_MAX + 256];

	while (console_io(k))
		if (poll(&(struct pollfd){ .fd = k->m.console,
					   .events = POLLIN },
			 1, 1000) <= 0)
			break;
	(void)snprintf(text, sizeof(text),
		       "the lab ended %s; its console's last words:\n%.*s",
		       k->ready ? "unexpectedly" : "before it was up",
		       (int)k->console.len,
		       k->console.p ? (char *)k->console.p + k->console.head
				    : "");
	say_ready(k, text);
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++) {
		struct client *c = k->c[i];

		if (!c || c->last || client_say(c, LAB_FAIL, text) < 0)
			continue;
		/* A client that does not read now is not waited for. */
		(void)lab_buf_flush(&c->out, c->fd, SIZE_MAX);
	}
}

static int wait_ms(const struct keeper *k)
{
	time_t limit = k->ready ? k->o->idle_s : LAB_BOOT_LIMIT_S, left;

	if (k->ready && (!k->kept || clients(k)))
		return -1;
	left = k->since + limit - now_s();
	return left > 0 ? (int)left * 1000 : 0;
}

static unsigned int fill_poll(const struct keeper *k, struct pollfd *p)
{
	unsigned int n = POLL_FIXED;

	p[0] = (struct pollfd){ .fd = k->m.port, .events = POLLIN };
	if (k->out.len)
		p[0].events |= POLLOUT;
	p[1] = (struct pollfd){ .fd = k->m.console, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = k->listener, .events = POLLIN };
	p[3] = (struct pollfd){ .fd = k->signals, .events = POLLIN };
	p[4] = (struct pollfd){ .fd = k->ready_fd };
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++) {
		if (!k->c[i])
			continue;
		p[n] = (struct pollfd){ .fd = k->c[i]->fd };
		if (k->out.len < LAB_WINDOW)
			p[n].events |= POLLIN;
		if (k->c[i]->out.len)
			p[n].events |= POLLOUT;
		n++;
	}
	return n;
}

static void clients_io(struct keeper *k, const struct pollfd *p, unsigned int n)
{
	for (unsigned int j = POLL_FIXED; j < n; j++) {
		for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++) {
			if (!k->c[i] || k->c[i]->fd != p[j].fd)
				continue;
			if (p[j].revents &&
			    client_io(k, k->c[i], p[j].revents) < 0)
				client_remove(k, i);
			break;
		}
	}
}

/* Return: 0, negative once the lab is at its end. */
static int keep_once(struct keeper *k)
{
	struct pollfd p[POLL_FIXED + LAB_SESSIONS_MAX];
	unsigned int n = fill_poll(k, p);
	int r;

	r = poll(p, n, wait_ms(k));
	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	if (r == 0 && wait_ms(k) == 0)
		return k->ready ? -ECANCELED : -ETIMEDOUT;
	/* Who had it made has gone before it was there. */
	if (p[3].revents || p[4].revents)
		return -ECANCELED;
	if (p[1].revents && !console_io(k)) {
		close(k->m.console);
		k->m.console = -1;
	}
	if (p[0].revents && port_io(k, p[0].revents) < 0)
		return -EPIPE;
	clients_io(k, p, n);
	if (p[2].revents) {
		int fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			client_add(k, fd);
	}
	return k->over ? -ECANCELED : 0;
}

static int keeper_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0 ||
	    signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int send_config(struct keeper *k)
{
	struct lab_buf text = { 0 };
	int r = 0;

	for (unsigned int i = 0; i < k->o->config.n && r >= 0; i++)
		r = lab_buf_add(&text, k->o->config.v[i],
				strlen(k->o->config.v[i]) + 1);
	if (r >= 0)
		r = lab_buf_add(&text, k->m.scratch, strlen(k->m.scratch) + 1);
	if (r >= 0)
		r = lab_frame_put(&k->out, &(struct lab_frame){
						   .payload = text.p,
						   .len = (uint32_t)text.len,
						   .type = LAB_ARGS,
					   });
	lab_buf_done(&text);
	return r;
}

/**
 * keeper_run() - Start a lab and hold it until it is over
 * @o:		Options
 * @listener:	Socket on which clients come, or -1
 * @client:	First client, or -1; without @listener the lab ends with it
 * @ready_fd:	Closed when the lab is up, after a text if it failed; or -1
 *
 * Context: a process of its own.
 *
 * Return: 0, or EXIT_LAB.
 */
int keeper_run(const struct host_opts *o, int listener, int client,
	       int ready_fd)
{
	struct keeper k = {
		.o = o,
		.listener = listener,
		.signals = keeper_signals(),
		.ready_fd = ready_fd,
		.kept = listener >= 0,
		.since = now_s(),
	};
	int r;

	if (k.signals < 0)
		return EXIT_LAB;
	if (client >= 0)
		client_add(&k, client);
	if (machine_start(o, &k.m) < 0)
		return EXIT_LAB;
	r = send_config(&k);
	while (r >= 0)
		r = keep_once(&k);
	if (r == -ETIMEDOUT || r == -EPIPE)
		lab_died(&k);
	if (listener >= 0)
		(void)unlink(o->socket);
	machine_stop(&k.m);
	return r == -ECANCELED ? 0 : EXIT_LAB;
}
