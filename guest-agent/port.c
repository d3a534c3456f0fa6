/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/port.c - see port.h */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "guest-agent/agent.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"
#include "guest-agent/port.h"
#include "guest-agent/process.h"

/* TCP_LISTEN of the kernel's states. */
#define STATE_LISTEN 0x0aul

static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };

/* "  0: 0100007F:1F90 00000000:0000 0A ...": number, ours, theirs, state. */
unsigned int port_in_line(const char *line)
{
	unsigned long port, state;
	const char *p = strchr(line, ':');
	char *end;

	if (p)
		p = strchr(p + 1, ':');
	if (!p)
		return 0;
	port = strtoul(p + 1, &end, 16);
	p = *end == ' ' ? strchr(end, ':') : NULL;
	if (!p || port > 65535)
		return 0;
	(void)strtoul(p + 1, &end, 16);
	if (*end != ' ')
		return 0;
	state = strtoul(end + 1, &end, 16);
	return *end == ' ' && state == STATE_LISTEN ? (unsigned int)port : 0;
}

static bool waited_for(const struct agent *a, unsigned int port)
{
	struct list *l;

	list_for_each (l, &a->waiting)
		if (list_entry(l, struct conn, waiting)->port == port)
			return true;
	return false;
}

static void answer(struct agent *a, unsigned int port)
{
	struct list *l, *n;

	list_for_each_safe (l, n, &a->waiting) {
		struct conn *c = list_entry(l, struct conn, waiting);

		if (c->port != port)
			continue;
		port_leave(c);
		conn_done(c);
	}
}

/* Lines of one buffer. Return: false once listeners are over */
static bool look_at(struct agent *a, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		unsigned int port = port_in_line(line);

		if (port && waited_for(a, port))
			answer(a, port);
		if (!port && !strstr(line, "local_address"))
			return false;
	}
	return true;
}

/* A read returns whole lines, as many as fit. */
static void look(struct agent *a, const char *path)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *buf = (char *)a->scratch;
	size_t done = 0;

	while (fd >= 0 && done < PORT_TABLE_MAX) {
		ssize_t n = read(fd, buf, sizeof(a->scratch) - 1);

		if (n <= 0)
			return;
		buf[n] = '\0';
		done += (size_t)n;
		if (!look_at(a, buf))
			return;
	}
}

static void on_timer(struct loop_timer *t)
{
	struct agent *a = container_of(t, struct agent, port_timer);

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		look(a, tables[i]);
	if (list_empty(&a->waiting))
		return;
	a->port_look_ns = MIN(a->port_look_ns * 2, PORT_LOOK_MAX_NS);
	loop_timer_set(&a->loop, t, a->port_look_ns, on_timer);
}

void port_wait(struct conn *c, struct proc *p, const struct msg_wait_port *m)
{
	struct agent *a = c->a;

	c->state = CONN_WAIT;
	c->port = m->port;
	c->proc = p;
	list_add_tail(&a->waiting, &c->waiting);
	events_touch(a);
	/* Who comes new is answered at once, and for a while soon. */
	a->port_look_ns = PORT_LOOK_MIN_NS / 2;
	loop_timer_set(&a->loop, &a->port_timer, 0, on_timer);
}

void port_leave(struct conn *c)
{
	if (list_empty(&c->waiting))
		return;
	list_del(&c->waiting);
	c->proc = NULL;
	events_touch(c->a);
}

static struct conn *waiter_of(const struct proc *p)
{
	struct list *l;

	list_for_each (l, &p->a->waiting) {
		struct conn *c = list_entry(l, struct conn, waiting);

		if (c->proc == p)
			return c;
	}
	return NULL;
}

void port_ended(struct proc *p)
{
	struct conn *c;

	while ((c = waiter_of(p))) {
		list_del(&c->waiting);
		proc_send_exit(c);
		c->proc = NULL;
		events_touch(p->a);
	}
}

void port_failed(const struct proc *p, const void *frame, size_t len)
{
	struct conn *c;

	while ((c = waiter_of(p))) {
		port_leave(c);
		if (conn_send(c, frame, len) == 0)
			conn_last(c);
	}
}

void port_forget(const struct proc *p)
{
	struct conn *c;

	while ((c = waiter_of(p)))
		port_leave(c);
}
