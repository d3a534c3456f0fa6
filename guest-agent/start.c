/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/start.c - see start.h and process.h */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "guest-agent/agent.h"
#include "guest-agent/cgroup.h"
#include "guest-agent/child.h"
#include "guest-agent/clock.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"
#include "guest-agent/info.h"
#include "guest-agent/pipes.h"
#include "guest-agent/port.h"
#include "guest-agent/process.h"
#include "guest-agent/start.h"
#include "guest-agent/table.h"

#define NS_PER_MS 1000000ull

/* Ids that are made up for one process, if each is taken. */
#define IDS_TRIED_MAX 64u

#define REPORT_MAX (WIRE_HDR_LEN + 16 + ERR_MSG_MAX)

/**
 * struct place - Of a new process
 * @cgroup:	Its cgroup, in the folder @parent; -1 without
 */
struct place {
	char id[WIRE_ID_MAX + 1];
	int cgroup;
	int parent;
};

/* Whether a new process may have the id of one that is there. */
static int give_away(struct proc *old, struct err *e)
{
	const char *id = old->id;
	struct list *l;

	/* One whose client is still owed its end has not given it away. */
	list_for_each (l, &old->clients)
		if (conn_attached(list_entry(l, struct conn, at.link)))
			return err_set(e, -EEXIST,
				       "process '%s' exists already", id);
	if (old->state != PROC_EXITED ||
	    (old->fg && (old->flags & WIRE_EXEC_MAIN)))
		return err_set(e, -EEXIST, "process '%s' exists already", id);
	proc_free(old);
	return 0;
}

static int make_cgroup(const struct agent *a, const struct msg_exec *m,
		       const char *id, struct place *ret, struct err *e)
{
	int r;

	ret->parent = m->memory ? a->cgroups.limited : a->cgroups.plain;
	if (ret->parent < 0 && (m->memory || m->pids || m->cpu_weight))
		return err_set(e, -ENOTSUP,
			       "limits: this guest has no cgroups for them");
	if (ret->parent < 0)
		return 0;
	r = cgroup_make(ret->parent, id);
	if (r < 0)
		return err_set(e, r, "cgroup of process '%s': %s", id,
			       strerror(-r));
	ret->cgroup = r;
	return 0;
}

/* An id that nobody has; processes of the guest can take its cgroup's name. */
static int make_id(const struct agent *a, const struct msg_exec *m,
		   struct place *ret, struct err *e)
{
	uint64_t nr = a->n_started;
	int r = 0;

	for (unsigned int i = 0; i < IDS_TRIED_MAX; i++) {
		uint32_t salt = 0;

		do
			(void)snprintf(ret->id, sizeof(ret->id), "p%llu",
				       (unsigned long long)++nr);
		while (table_find(a, ret->id));
		/* Somebody is a step ahead of us: take one he cannot guess. */
		if (i >= IDS_TRIED_MAX / 2 &&
		    getrandom(&salt, sizeof(salt), GRND_NONBLOCK) > 0)
			(void)snprintf(ret->id, sizeof(ret->id), "p%llu-%08x",
				       (unsigned long long)nr, salt);
		r = make_cgroup(a, m, ret->id, ret, e);
		if (r != -EEXIST)
			return r;
	}
	return r;
}

/* Settle on an id, make room in the table and a cgroup. */
static int take_place(struct agent *a, const struct msg_exec *m,
		      struct place *ret, struct err *e)
{
	struct proc *old = *m->id ? table_find(a, m->id) : NULL;
	int r = old ? give_away(old, e) : 0;

	*ret = (struct place){ .cgroup = -1, .parent = -1 };
	if (r == 0)
		r = table_room(a, e);
	if (r < 0)
		return r;
	if (!*m->id)
		return make_id(a, m, ret, e);
	(void)snprintf(ret->id, sizeof(ret->id), "%s", m->id);
	return make_cgroup(a, m, ret->id, ret, e);
}

/* The streams are there before there is anything to read. */
static void init_streams(struct proc *p, const struct msg_exec *m)
{
	size_t tail = m->flags & WIRE_EXEC_KEEP_HEAD ? WIRE_RING_TAIL : 0;

	for (int i = 0; i < 2; i++) {
		p->out[i].p = p;
		p->out[i].fd = -1;
		store_init(&p->out[i].store, &p->a->pool,
			   m->ring ? m->ring : WIRE_RING_DEFAULT, tail);
	}
	p->in.p = p;
	p->in.fd = -1;
	p->in.closed = true;
}

static struct proc *proc_new(struct agent *a, const struct msg_exec *m,
			     struct place *place)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->info = info_new(m, a->boot);
	if (!p->info) {
		free(p);
		return NULL;
	}
	p->a = a;
	p->state = PROC_STARTING;
	p->flags = m->flags;
	p->nr = ++a->n_made;
	memcpy(p->id, place->id, sizeof(p->id));
	p->cgroup_fd = take_fd(&place->cgroup);
	p->cgroup_in = place->parent;
	p->grace_ns = m->grace_ms * NS_PER_MS;
	p->start_ns = loop_now_ns();
	p->started_ns = clock_wall_ns();
	list_init(&p->clients);
	init_streams(p, m);
	list_add_tail(&a->live, &p->link);
	a->n_live++;
	return p;
}

static void on_report(struct loop_io *io, uint32_t events)
{
	(void)events;
	(void)start_finish(container_of(io, struct proc, report));
}

/* Hand the agent's ends to the streams. Return: 0 or -errno */
static int attach_streams(struct proc *p, struct pipes *s)
{
	bool tty = p->flags & WIRE_EXEC_PTY;
	int r = loop_add(&p->a->loop, &p->report, s->report[0], EPOLLIN,
			 on_report);

	if (r < 0)
		return r;
	(void)take_fd(&s->report[0]);
	p->in.tty = tty;
	p->out[0].tty = tty;
	/* A terminal's input is there even if the client sends none. */
	if (s->ours[0] >= 0)
		r = in_open(&p->in, p, take_fd(&s->ours[0]));
	if (r == 0 && s->ours[1] >= 0)
		out_open(&p->out[0], p, take_fd(&s->ours[1]), WIRE_STDOUT);
	if (r == 0 && s->ours[2] >= 0)
		out_open(&p->out[1], p, take_fd(&s->ours[2]), WIRE_STDERR);
	return r;
}

static void on_grace_over(struct loop_timer *t)
{
	struct proc *p = container_of(t, struct proc, timer);

	proc_signal(p, SIGKILL, WIRE_SCOPE_TREE);
}

static void on_timeout(struct loop_timer *t)
{
	struct proc *p = container_of(t, struct proc, timer);

	p->timed_out = true;
	if (p->grace_ns == 0) {
		on_grace_over(t);
		return;
	}
	proc_terminate(p);
	loop_timer_set(&p->a->loop, &p->timer, p->grace_ns, on_grace_over);
}

static void set_timeout(struct proc *p, uint64_t timeout_ms)
{
	uint64_t ns = timeout_ms > UINT64_MAX / NS_PER_MS
			      ? UINT64_MAX
			      : timeout_ms * NS_PER_MS;

	if (timeout_ms)
		loop_timer_set(&p->a->loop, &p->timer, ns, on_timeout);
}

static int set_limits(const struct proc *p, const struct msg_exec *m,
		      struct err *e)
{
	const struct cgroup_limits limits = { .memory = m->memory,
					      .pids = m->pids,
					      .cpu_weight = m->cpu_weight };
	int r;

	if (p->cgroup_fd < 0)
		return 0;
	r = cgroup_limit(p->cgroup_fd, &limits);
	return r < 0 ? err_set(e, r, "limits of process '%s': %s", p->id,
			       strerror(-r))
		     : 0;
}

static int launch(struct proc *p, const struct msg_exec *m, struct pipes *s,
		  struct err *e)
{
	struct agent *a = p->a;
	struct spawn sp = { .req = m,
			    .boot = a->boot,
			    .tty = m->flags & WIRE_EXEC_PTY,
			    .cgroup_fd = p->cgroup_fd,
			    .report_fd = s->report[1] };
	int r = set_limits(p, m, e);

	if (r < 0)
		return r;
	memcpy(sp.stdio, s->stdio, sizeof(sp.stdio));
	r = a->ops->spawn(&sp);
	if (r < 0)
		return err_set(e, r, "fork: %s", strerror(-r));
	p->pid = r;
	r = attach_streams(p, s);
	if (r < 0) {
		(void)a->ops->kill(p->pid, SIGKILL);
		return err_set(e, r, "event loop: %s", strerror(-r));
	}
	set_timeout(p, m->timeout_ms);
	return 0;
}

static int check_start(const struct agent *a, const struct msg_exec *m,
		       struct err *e)
{
	if (a->stopping)
		return err_set(e, -ESHUTDOWN, "the sandbox is shutting down");
	if ((m->flags & WIRE_EXEC_MAIN) && a->main.started)
		return err_set(e, -EEXIST,
			       "the sandbox has a main process already");
	return 0;
}

/* From what failed to what the client may do about it. */
static enum wire_error_kind kind_of(int r)
{
	switch (r) {
	case -EAGAIN:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSPC:
		return WIRE_ERR_LIMIT;
	default:
		return WIRE_ERR_GENERAL;
	}
}

/* An object with its place; NULL, with the reason in @e. */
static struct proc *make(struct agent *a, const struct msg_exec *m,
			 struct err *e)
{
	struct place place;
	struct proc *p;

	if (take_place(a, m, &place, e) < 0)
		return NULL;
	p = proc_new(a, m, &place);
	if (p)
		return p;
	if (place.cgroup >= 0) {
		(void)close(place.cgroup);
		cgroup_remove(place.parent, place.id);
	}
	(void)err_set(e, -ENOMEM, "a process: out of memory");
	return NULL;
}

static int start(struct conn *c, const struct msg_exec *m, struct pipes *s,
		 struct err *e)
{
	struct agent *a = c->a;
	struct proc *p;
	int r = check_start(a, m, e);

	if (r < 0)
		return r;
	p = make(a, m, e);
	if (!p)
		return e->code;
	r = pipes_open(s, m, e);
	if (r == 0)
		r = launch(p, m, s, e);
	if (r < 0) {
		proc_free(p);
		return r;
	}
	a->n_started++;
	if (m->flags & WIRE_EXEC_MAIN)
		a->main.started = true;
	p->fg = c;
	attach_join(c, p, true);
	c->at.in.allowed = (m->flags & WIRE_EXEC_STDIN) &&
			   !(m->flags & WIRE_EXEC_DETACH);
	c->state = CONN_EXEC;
	return 0;
}

int proc_start(struct conn *c, const struct msg_exec *m,
	       enum wire_error_kind *kind, struct err *e)
{
	struct pipes s;
	int r;

	pipes_init(&s);
	r = start(c, m, &s, e);
	pipes_done(&s);
	if (r < 0)
		*kind = kind_of(r);
	return r;
}

static void tell_started(const struct proc *p)
{
	char text[WIRE_EVENT_ARG_MAX + 1];
	uint32_t flags = (p->flags & WIRE_EXEC_MAIN ? WIRE_PROC_MAIN : 0) |
			 (p->flags & WIRE_EXEC_PTY ? WIRE_PROC_PTY : 0);

	(void)snprintf(text, sizeof(text), "%s",
		       p->info->argc ? p->info->argv[0] : "");
	events_tell(p->a,
		    &(struct msg_event){ .what = WIRE_EVENT_PROCESS_STARTED,
					 .flags = flags,
					 .value = (uint32_t)p->pid,
					 .time_ns = p->started_ns,
					 .id = p->id,
					 .text = text });
}

static void on_started(struct proc *p)
{
	struct conn *c = p->fg;

	p->state = PROC_RUNNING;
	if (c && proc_send_started(c) == 0 && (p->flags & WIRE_EXEC_DETACH)) {
		/* That is all: from now on nobody is attached. */
		conn_last(c);
		proc_detach(c);
	}
	if (p->fg)
		in_ack(&p->in, p->fg);
	for (int i = 0; i < 2; i++)
		out_resume(&p->out[i]);
	tell_started(p);
}

/* The child's report is a frame that goes to its clients as it is. */
static void on_failure(struct proc *p, const uint8_t *frame, size_t len)
{
	struct list *l;

	if (p->flags & WIRE_EXEC_MAIN)
		p->a->main.started = false;
	port_failed(p, frame, len);
	while (!list_empty(&p->clients)) {
		struct conn *c;

		l = p->clients.next;
		c = list_entry(l, struct conn, at.link);
		attach_leave(c);
		if (conn_send(c, frame, len) == 0)
			conn_last(c);
	}
	proc_free(p);
}

bool start_finish(struct proc *p)
{
	uint8_t buf[REPORT_MAX];
	int fd = p->report.fd;
	ssize_t n = read(fd, buf, sizeof(buf));

	/* Not yet: the child still has it open and has said nothing. */
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	loop_del(&p->report);
	(void)close(fd);
	if (n <= 0) {
		on_started(p);
		return true;
	}
	on_failure(p, buf, (size_t)n);
	return false;
}
