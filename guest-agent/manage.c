/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/manage.c - see manage.h */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "guest-agent/agent.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"
#include "guest-agent/info.h"
#include "guest-agent/manage.h"
#include "guest-agent/port.h"
#include "guest-agent/process.h"
#include "guest-agent/table.h"

#define NS_PER_MS 1000000ull

/* Frames of a list in a row before others have their turn. */
#define LIST_TURN_MAX 64

static void refuse(struct conn *c, enum wire_error_kind kind, struct err *e,
		   int code, const char *id, const char *why)
{
	(void)err_set(e, code, "process '%s' %s", id, why);
	conn_error(c, kind, e);
}

/* The process, or NULL and the client has its answer. */
static struct proc *find(struct conn *c, const char *id, struct err *e)
{
	struct proc *p = table_find(c->a, id);

	if (!p)
		refuse(c, WIRE_ERR_NO_PROCESS, e, -ESRCH, id, "is not there");
	return p;
}

static int on_attach(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_attach m;
	int r = wire_attach_parse(f->data, f->len, &m, e);
	struct proc *p;

	if (r < 0)
		return r;
	p = find(c, m.id, e);
	if (p)
		attach_serve(c, p, &m);
	return 0;
}

static int on_list(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_list m;
	int r = wire_list_parse(f->data, f->len, &m, e);

	if (r < 0 || (*m.id && !find(c, m.id, e)))
		return r;
	c->state = CONN_LIST;
	c->listing.flags = m.flags;
	memcpy(c->listing.id, m.id, strlen(m.id) + 1);
	events_touch(c->a);
	manage_list_more(c);
	return 0;
}

/* The next one to tell of, or NULL at the end. */
static const struct proc *next_listed(struct conn *c)
{
	struct listing *l = &c->listing;
	const struct proc *p = table_next(c->a, l->next);

	while (p && *l->id && strcmp(p->id, l->id) != 0)
		p = table_next(c->a, p->nr + 1);
	if (p)
		l->next = p->nr + 1;
	return p;
}

void manage_list_more(struct conn *c)
{
	struct agent *a = c->a;

	for (int i = 0; c->state == CONN_LIST && conn_ready(c); i++) {
		const struct proc *p;
		ptrdiff_t n;

		if (i == LIST_TURN_MAX) {
			conn_call_again(c);
			return;
		}
		p = next_listed(c);
		if (!p) {
			conn_done(c);
			return;
		}
		n = info_put(p, c->listing.flags, a->scratch);
		if (n < 0) {
			struct err e;

			(void)err_set(&e, (int)n, "LIST: %s",
				      strerror((int)-n));
			conn_error(c, WIRE_ERR_LIMIT, &e);
			return;
		}
		if (conn_send(c, a->scratch, (size_t)n) < 0)
			return;
	}
}

static void kill_it(struct proc *p, const struct msg_kill *m)
{
	/* A person's "stop": as at shutdown, what is stopped goes on first. */
	if (m->signo == SIGTERM && m->grace_ms)
		proc_terminate(p);
	else
		proc_signal(p, (int)m->signo, m->scope);
	if (m->grace_ms)
		proc_kill_after(p, m->grace_ms * NS_PER_MS);
}

static int on_kill(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_kill m;
	int r = wire_kill_parse(f->data, f->len, &m, e);
	struct proc *p;

	if (r < 0)
		return r;
	events_touch(c->a);
	p = find(c, m.id, e);
	if (!p)
		return 0;
	if (p->state == PROC_EXITED ||
	    (p->state == PROC_LINGERING && m.scope == WIRE_SCOPE_ONE)) {
		refuse(c, WIRE_ERR_GENERAL, e, -ESRCH, m.id, "has ended");
		return 0;
	}
	kill_it(p, &m);
	conn_done(c);
	return 0;
}

static int on_drop(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_drop m;
	int r = wire_drop_parse(f->data, f->len, &m, e);
	struct proc *p;

	if (r < 0)
		return r;
	events_touch(c->a);
	p = find(c, m.id, e);
	if (!p)
		return 0;
	if (p->state != PROC_EXITED) {
		refuse(c, WIRE_ERR_GENERAL, e, -EBUSY, m.id,
		       p->state == PROC_LINGERING ? "lingers" : "runs");
		return 0;
	}
	p->fetched = true;
	proc_forget(p);
	conn_done(c);
	return 0;
}

static int on_wait_port(struct conn *c, const struct wire_frame *f,
			struct err *e)
{
	struct msg_wait_port m;
	int r = wire_wait_port_parse(f->data, f->len, &m, e);
	struct proc *p = NULL;

	if (r < 0)
		return r;
	events_touch(c->a);
	if (*m.id) {
		p = find(c, m.id, e);
		if (!p)
			return 0;
	}
	if (p && p->state >= PROC_LINGERING) {
		c->proc = p;
		proc_send_exit(c);
		c->proc = NULL;
		return 0;
	}
	port_wait(c, p, &m);
	return 0;
}

int manage_request(struct conn *c, const struct wire_frame *f, struct err *e)
{
	switch (f->type) {
	case WIRE_ATTACH:
		return on_attach(c, f, e);
	case WIRE_LIST:
		return on_list(c, f, e);
	case WIRE_KILL:
		return on_kill(c, f, e);
	case WIRE_DROP:
		return on_drop(c, f, e);
	case WIRE_WAIT_PORT:
		return on_wait_port(c, f, e);
	default:
		return err_set(e, -EPROTO, "%s is not a request",
			       wire_type_name(f->type));
	}
}
