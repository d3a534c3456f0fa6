/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/start.c - see start.h and process.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "guest-agent/agent.h"
#include "guest-agent/cgroup.h"
#include "guest-agent/child.h"
#include "guest-agent/clock.h"
#include "guest-agent/conn.h"
#include "guest-agent/process.h"
#include "guest-agent/pty.h"
#include "guest-agent/start.h"

#define NS_PER_MS 1000000ull

#define REPORT_MAX (WIRE_HDR_LEN + 16 + ERR_MSG_MAX)

/**
 * struct pipes - Descriptors of a start under way
 * @stdio:	The child's 0, 1, 2; closed here once it has them
 * @ours:	The agent's ends: stdin, stdout, stderr; -1 if there is none
 * @report:	Pipe on which the child reports
 */
struct pipes {
	int stdio[3];
	int ours[3];
	int report[2];
};

static void pipes_init(struct pipes *s)
{
	memset(s, 0xff, sizeof(*s)); /* each of them -1 */
}

static void pipes_done(struct pipes *s)
{
	for (int i = 0; i < 3; i++) {
		base_closep(&s->ours[i]);
		/* Equal ones are copies of one number: close it once. */
		if (i == 0 || s->stdio[i] != s->stdio[i - 1])
			base_closep(&s->stdio[i]);
	}
	base_closep(&s->report[0]);
	base_closep(&s->report[1]);
}

/* Our end does not block; the child's does, as every program expects. */
static int make_pipe(int *ret_ours, int *ret_childs, int ours)
{
	int fd[2];
	int r;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	*ret_ours = fd[ours];
	*ret_childs = fd[!ours];
	r = io_set_nonblock(fd[ours], 1);
	return r;
}

static int open_null(int flags)
{
	int fd = open("/dev/null", flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int one_output(struct pipes *s, int i, bool null)
{
	int r;

	if (!null)
		return make_pipe(&s->ours[i], &s->stdio[i], 0);
	r = open_null(O_WRONLY);
	if (r < 0)
		return r;
	s->stdio[i] = r;
	return 0;
}

static int open_pipes(struct pipes *s, uint32_t flags)
{
	int r;

	if (flags & WIRE_EXEC_STDIN) {
		r = make_pipe(&s->ours[0], &s->stdio[0], 1);
	} else {
		r = open_null(O_RDONLY);
		if (r >= 0)
			s->stdio[0] = r;
	}
	if (r >= 0)
		r = one_output(s, 1, flags & WIRE_EXEC_STDOUT_NULL);
	if (r < 0)
		return r;
	if (flags & WIRE_EXEC_COMBINED) {
		s->stdio[2] = s->stdio[1];
		return 0;
	}
	return one_output(s, 2, flags & WIRE_EXEC_STDERR_NULL);
}

/* The master twice: one to read, one to write, each watched by itself. */
static int open_tty(struct pipes *s, const struct msg_exec *m, struct err *e)
{
	int r = pty_open(m->cols, m->rows, &s->ours[1], &s->stdio[0], e);

	if (r < 0)
		return r;
	s->stdio[1] = s->stdio[0];
	s->stdio[2] = s->stdio[0];
	s->ours[0] = fcntl(s->ours[1], F_DUPFD_CLOEXEC, 3);
	if (s->ours[0] < 0)
		return err_set(e, -errno, "a terminal: %s", strerror(errno));
	return 0;
}

static int open_all(struct pipes *s, const struct msg_exec *m, struct err *e)
{
	int r;

	if (m->flags & WIRE_EXEC_PTY) {
		r = open_tty(s, m, e);
	} else {
		r = open_pipes(s, m->flags);
		if (r < 0)
			(void)err_set(e, r, "pipes for the process: %s",
				      strerror(-r));
	}
	if (r < 0)
		return r;
	r = make_pipe(&s->report[0], &s->report[1], 0);
	if (r < 0)
		return err_set(e, r, "a pipe: %s", strerror(-r));
	return 0;
}

static struct proc *find_id(struct list *head, const char *id)
{
	struct list *l;

	list_for_each (l, head) {
		struct proc *p = list_entry(l, struct proc, link);

		if (strcmp(p->id, id) == 0)
			return p;
	}
	return NULL;
}

/* The oldest ended one that no client still looks at. */
static struct proc *find_stale(struct agent *a)
{
	struct list *l;

	list_for_each (l, &a->ended) {
		struct proc *p = list_entry(l, struct proc, link);

		if (!p->conn)
			return p;
	}
	return NULL;
}

static int make_room(struct agent *a, struct err *e)
{
	struct proc *old;

	if (a->n_live + a->n_ended < AGENT_PROCS_MAX)
		return 0;
	old = find_stale(a);
	if (!old)
		return err_set(e, -EAGAIN,
			       "%u processes are there, which is the limit",
			       a->n_live + a->n_ended);
	proc_free(old);
	return 0;
}

/* Settle on an id and make room in the table. Return: 0 or -errno */
static int take_place(struct agent *a, const struct msg_exec *m,
		      char id[WIRE_ID_MAX + 1], struct err *e)
{
	struct proc *old;

	(void)snprintf(id, WIRE_ID_MAX + 1, "%s", m->id);
	for (uint64_t n = a->n_started + 1; !*m->id; n++) {
		(void)snprintf(id, WIRE_ID_MAX + 1, "p%llu",
			       (unsigned long long)n);
		if (!find_id(&a->live, id))
			break;
	}
	old = find_id(&a->ended, id);
	/* One whose client is still owed its end has not given it away. */
	if (find_id(&a->live, id) ||
	    (old && old->conn &&
	     (old->conn->state == CONN_EXEC || (old->flags & WIRE_EXEC_MAIN))))
		return err_set(e, -EEXIST, "process '%s' exists already", id);
	if (old)
		proc_free(old);
	return make_room(a, e);
}

static struct proc *proc_new(struct agent *a, const struct msg_exec *m)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->a = a;
	p->state = PROC_STARTING;
	p->flags = m->flags;
	p->cgroup_fd = -1;
	p->grace_ns = m->grace_ms * NS_PER_MS;
	p->start_ns = loop_now_ns();
	p->started_ns = clock_wall_ns();
	for (int i = 0; i < 2; i++) {
		p->out[i].p = p;
		p->out[i].fd = -1;
	}
	p->in.p = p;
	p->in.fd = -1;
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
		r = out_open(&p->out[0], p, take_fd(&s->ours[1]), WIRE_STDOUT);
	if (r == 0 && s->ours[2] >= 0)
		r = out_open(&p->out[1], p, take_fd(&s->ours[2]), WIRE_STDERR);
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

static int launch(struct proc *p, const struct msg_exec *m, struct pipes *s,
		  struct err *e)
{
	struct agent *a = p->a;
	struct spawn sp = { .req = m,
			    .boot = a->boot,
			    .tty = m->flags & WIRE_EXEC_PTY,
			    .report_fd = s->report[1] };
	int r;

	if (a->cgroup_fd >= 0) {
		r = cgroup_make(a->cgroup_fd, p->id);
		if (r < 0)
			return err_set(e, r, "cgroup of process '%s': %s",
				       p->id, strerror(-r));
		p->cgroup_fd = r;
	}
	sp.cgroup_fd = p->cgroup_fd;
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

static int start(struct conn *c, const struct msg_exec *m, struct pipes *s,
		 struct err *e)
{
	struct agent *a = c->a;
	char id[WIRE_ID_MAX + 1];
	struct proc *p;
	int r = check_start(a, m, e);

	if (r == 0)
		r = take_place(a, m, id, e);
	if (r == 0)
		r = open_all(s, m, e);
	if (r < 0)
		return r;
	p = proc_new(a, m);
	if (!p)
		return err_set(e, -ENOMEM, "a process: out of memory");
	memcpy(p->id, id, sizeof(p->id));
	r = launch(p, m, s, e);
	if (r < 0) {
		proc_free(p);
		return r;
	}
	a->n_started++;
	if (m->flags & WIRE_EXEC_MAIN)
		a->main.started = true;
	p->conn = c;
	c->proc = p;
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

static void send_started(struct proc *p)
{
	uint8_t buf[WIRE_HDR_LEN + 24 + WIRE_ID_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	p->state = PROC_RUNNING;
	if (!p->conn)
		return;
	wire_started_put(&wr, &(struct msg_started){ .pid = (uint32_t)p->pid,
						     .start_ns = p->started_ns,
						     .id = p->id });
	(void)conn_send(p->conn, buf, wr.len);
}

/* The child's report is a frame that goes to the client as it is. */
static void send_failure(struct proc *p, const uint8_t *frame, size_t len)
{
	struct conn *c = p->conn;

	if (p->flags & WIRE_EXEC_MAIN)
		p->a->main.started = false;
	proc_free(p);
	if (c && conn_send(c, frame, len) == 0)
		conn_last(c);
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
		send_started(p);
		return true;
	}
	send_failure(p, buf, (size_t)n);
	return false;
}
