/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/process.c - see process.h */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "guest-agent/agent.h"
#include "guest-agent/cgroup.h"
#include "guest-agent/clock.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"
#include "guest-agent/info.h"
#include "guest-agent/oom.h"
#include "guest-agent/port.h"
#include "guest-agent/process.h"
#include "guest-agent/pty.h"
#include "guest-agent/shutdown.h"
#include "guest-agent/start.h"
#include "guest-agent/table.h"

/* Chunks of one stream that come so close together are one. */
#define SAME_TIME_NS 1000000ull

static void bury(struct loop_defer *d)
{
	struct proc *p = container_of(d, struct proc, bury);

	info_free(p->info);
	free(p);
}

static void watch_close(struct loop_io *io)
{
	int fd = io->fd;

	if (!io->loop)
		return;
	loop_del(io);
	(void)close(fd);
}

static void drop_cgroup(struct proc *p)
{
	watch_close(&p->events);
	if (p->cgroup_fd < 0)
		return;
	(void)close(p->cgroup_fd);
	p->cgroup_fd = -1;
	cgroup_remove(p->cgroup_in, p->id);
}

/* Those who wait for its end or read it: there is nothing more to say. */
static void let_go(struct proc *p)
{
	struct list *l, *n;

	list_for_each_safe (l, n, &p->clients)
		attach_leave(list_entry(l, struct conn, at.link));
	p->fg = NULL;
	port_forget(p);
}

void proc_free(struct proc *p)
{
	struct agent *a = p->a;

	let_go(p);
	list_del(&p->link);
	if (p->state == PROC_EXITED)
		a->n_ended--;
	else
		a->n_live--;
	loop_timer_cancel(&p->timer);
	loop_timer_cancel(&p->kill_timer);
	watch_close(&p->report);
	for (int i = 0; i < 2; i++) {
		out_close(&p->out[i]);
		store_done(&p->out[i].store);
	}
	in_close(&p->in);
	drop_cgroup(p);
	loop_defer(&a->loop, &p->bury, bury);
	events_touch(a);
}

void proc_forget(struct proc *p)
{
	if (p->fetched && p->state == PROC_EXITED && list_empty(&p->clients))
		proc_free(p);
}

void proc_fill_exit(const struct proc *p, struct msg_exit *m)
{
	*m = (struct msg_exit){
		.state = p->state == PROC_EXITED ? WIRE_STATE_EXITED
						 : WIRE_STATE_LINGERING,
		.stdout_total = p->out[0].store.total,
		.stderr_total = p->out[1].store.total,
		.stdout_cut = store_cut(&p->out[0].store),
		.stderr_cut = store_cut(&p->out[1].store),
		.end_ns = p->ended_ns,
	};
	if (WIFSIGNALED(p->status)) {
		m->how = WIRE_HOW_SIGNALLED;
		m->value = (uint32_t)WTERMSIG(p->status);
		if (WCOREDUMP(p->status))
			m->flags |= WIRE_EXIT_CORE;
	} else {
		m->how = WIRE_HOW_EXITED;
		m->value = (uint32_t)WEXITSTATUS(p->status);
	}
	if (p->timed_out)
		m->flags |= WIRE_EXIT_TIMED_OUT;
	if (p->oom)
		m->flags |= WIRE_EXIT_OOM;
}

/* Only when nobody is left who is still taking its output. */
static void tell_main_ended(struct proc *p)
{
	struct main_proc *main = &p->a->main;
	struct msg_exit m;

	if (!(p->flags & WIRE_EXEC_MAIN) || main->ended || p->fg ||
	    p->state < PROC_LINGERING)
		return;
	proc_fill_exit(p, &m);
	memcpy(main->id, p->id, sizeof(main->id));
	main->ended = true;
	main->event = (struct msg_event){ .what = WIRE_EVENT_MAIN_ENDED,
					  .how = m.how,
					  .flags = m.flags,
					  .value = m.value,
					  .time_ns = m.end_ns,
					  .id = main->id,
					  .text = "" };
	events_tell(p->a, &main->event);
}

struct conn *proc_foreground(const struct proc *p)
{
	return p->flags & WIRE_EXEC_DETACH ? NULL : p->fg;
}

static bool has_writer(const struct proc *p)
{
	struct list *l;

	list_for_each (l, &p->clients)
		if (list_entry(l, struct conn, at.link)->at.in.allowed)
			return true;
	return false;
}

/* The client that started it has gone; he may have taken its end. */
static void foreground_gone(struct proc *p, bool fetched)
{
	bool detached = p->flags & WIRE_EXEC_DETACH;

	p->fg = NULL;
	p->fetched = p->fetched || fetched;
	/* A terminal waits for the next client, a pipe has no more to say. */
	if (!detached && !p->in.tty && !has_writer(p))
		in_finish(&p->in);
	for (int i = 0; i < 2; i++)
		out_resume(&p->out[i]);
	tell_main_ended(p);
}

void proc_detach(struct conn *c)
{
	struct proc *p = c->proc;
	bool fetched = c->at.clean && c->at.exit_sent;

	if (!p || list_empty(&c->at.link))
		return;
	attach_leave(c);
	if (p->fg == c)
		foreground_gone(p, fetched);
	shutdown_progress(p->a);
	proc_forget(p);
}

void proc_feed(struct proc *p)
{
	struct list *l, *n;

	list_for_each_safe (l, n, &p->clients)
		attach_feed(list_entry(l, struct conn, at.link));
}

uint64_t proc_sequence(struct proc *p, const struct out_stream *s,
		       uint64_t now_ns)
{
	/* A clock that was set back is a new time as well. */
	if (p->seq_out != s || now_ns - p->seq_ns > SAME_TIME_NS) {
		p->seq++;
		p->seq_ns = now_ns;
		p->seq_out = s;
	}
	return p->seq;
}

int proc_send_started(struct conn *c)
{
	uint8_t buf[WIRE_HDR_LEN + 24 + WIRE_ID_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));
	const struct proc *p = c->proc;

	wire_started_put(&wr, &(struct msg_started){ .pid = (uint32_t)p->pid,
						     .start_ns = p->started_ns,
						     .id = p->id });
	return conn_send(c, buf, wr.len);
}

void proc_send_exit(struct conn *c)
{
	uint8_t buf[WIRE_HDR_LEN + sizeof(struct wire_exit)];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct msg_exit m;

	proc_fill_exit(c->proc, &m);
	/* What came since then, of children, is not in what it got. */
	if (!list_empty(&c->at.link)) {
		m.stdout_total = MIN(m.stdout_total, c->at.end[0]);
		m.stderr_total = MIN(m.stderr_total, c->at.end[1]);
	}
	m.stdout_cut = MIN(m.stdout_cut, m.stdout_total);
	m.stderr_cut = MIN(m.stderr_cut, m.stderr_total);
	wire_exit_put(&wr, &m);
	/* The client stays ours until it closes: it may yet be reading. */
	c->at.exit_sent = true;
	if (conn_send(c, buf, wr.len) == 0)
		conn_last(c);
}

/* All that EXIT waits for has been read. */
static void on_drained(struct proc *p)
{
	struct list *l;

	p->drained = true;
	list_for_each (l, &p->clients)
		attach_ended(list_entry(l, struct conn, at.link));
	proc_feed(p);
}

void proc_progress(struct proc *p)
{
	struct conn *c;

	if (p->state < PROC_LINGERING)
		return;
	if (!p->drained && out_drained(&p->out[0]) && out_drained(&p->out[1]))
		on_drained(p);
	c = p->fg;
	if (p->drained && c && c->state == CONN_EXEC && conn_ready(c))
		proc_send_exit(c);
}

void proc_resume(struct proc *p)
{
	in_ack(&p->in, p->fg);
	for (int i = 0; p->fg && i < 2; i++)
		out_resume(&p->out[i]);
	proc_progress(p);
}

/* Whether any of it is left: without cgroups only the process is known. */
static void on_exited(struct proc *p)
{
	struct agent *a = p->a;

	p->state = PROC_EXITED;
	loop_timer_cancel(&p->timer);
	loop_timer_cancel(&p->kill_timer);
	drop_cgroup(p);
	list_del(&p->link);
	list_add_tail(&a->ended, &p->link);
	a->n_live--;
	a->n_ended++;
	events_touch(a);
	shutdown_progress(a);
	proc_forget(p);
}

static void on_cgroup_event(struct loop_io *io, uint32_t events)
{
	struct proc *p = container_of(io, struct proc, events);

	(void)events;
	if (!cgroup_populated(io->fd))
		on_exited(p);
}

static void settle(struct proc *p)
{
	int fd = cgroup_watch(p->cgroup_fd);

	p->state = PROC_LINGERING;
	/* What it leaves in the background has no time-out; a kill goes on. */
	if (!p->timed_out)
		loop_timer_cancel(&p->timer);
	/* Read after the watch is there, so that no change is missed. */
	if (fd >= 0 && cgroup_populated(fd) &&
	    loop_add(&p->a->loop, &p->events, fd, EPOLLPRI, on_cgroup_event) ==
		    0)
		return;
	if (fd >= 0)
		(void)close(fd);
	on_exited(p);
}

/* Whether the oom-killer ended it, or made it fail. */
static bool was_oom(const struct proc *p)
{
	if (WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGKILL &&
	    !p->sent_kill && (p->oom || oom_killed(p->pid, p->start_ns)))
		return true;
	/* With a limit of its own the cgroup knows of its children too. */
	return p->info->memory && p->status && !p->sent_kill &&
	       cgroup_oom_kills(p->cgroup_fd) > 0;
}

static void tell_exited(const struct proc *p)
{
	struct msg_exit m;

	proc_fill_exit(p, &m);
	events_tell(p->a,
		    &(struct msg_event){ .what = WIRE_EVENT_PROCESS_EXITED,
					 .how = m.how,
					 .flags = m.flags,
					 .value = m.value,
					 .time_ns = m.end_ns,
					 .id = p->id,
					 .text = "" });
}

void proc_reaped(struct agent *a, pid_t pid, int status)
{
	struct proc *p = table_find_pid(a, pid);

	if (!p)
		return;
	/* Its report may be in the same batch of events, after this one. */
	if (p->state == PROC_STARTING && !start_finish(p))
		return;
	/* Open yet: somebody took it from the child.  It has nothing to say. */
	watch_close(&p->report);
	p->status = status;
	p->ended_ns = clock_wall_ns();
	p->oom = was_oom(p);
	settle(p);
	in_close(&p->in);
	for (int i = 0; i < 2; i++) {
		/* If STARTED was never to be said it is read only now. */
		out_resume(&p->out[i]);
		out_drain(&p->out[i]);
	}
	proc_progress(p);
	port_ended(p);
	tell_exited(p);
	tell_main_ended(p);
}

void proc_signal(struct proc *p, int sig, enum wire_scope scope)
{
	if (p->state == PROC_EXITED)
		return;
	if (sig == SIGKILL)
		p->sent_kill = true;
	release_soon(p);
	if (scope == WIRE_SCOPE_ONE) {
		if (p->state < PROC_LINGERING)
			(void)p->a->ops->kill(p->pid, sig);
		return;
	}
	if (p->cgroup_fd < 0) {
		(void)p->a->ops->kill(-p->pid, sig);
		return;
	}
	if (sig != SIGKILL || cgroup_kill(p->cgroup_fd) < 0)
		cgroup_signal(p->cgroup_fd, sig);
	/* It may have moved itself to another cgroup; twice does no harm. */
	if (sig == SIGKILL && p->state < PROC_LINGERING)
		(void)p->a->ops->kill(p->pid, sig);
}

static void on_kill_timer(struct loop_timer *t)
{
	proc_signal(container_of(t, struct proc, kill_timer), SIGKILL,
		    WIRE_SCOPE_TREE);
}

void proc_kill_after(struct proc *p, uint64_t ns)
{
	/* Asked again: never later than was promised before. */
	if (!loop_timer_is_set(&p->kill_timer) ||
	    p->kill_timer.at_ns > loop_now_ns() + ns)
		loop_timer_set(&p->a->loop, &p->kill_timer, ns, on_kill_timer);
}

/* A main process that has a signal of its own tells its children itself. */
static void ask_to_end(struct proc *p)
{
	unsigned int sig = p->a->boot->stop_signal;

	if (sig && p->flags & WIRE_EXEC_MAIN)
		proc_signal(p, (int)sig, WIRE_SCOPE_ONE);
	else
		proc_signal(p, SIGTERM, WIRE_SCOPE_TREE);
}

void proc_terminate(struct proc *p)
{
	ask_to_end(p);
	if (p->flags & WIRE_EXEC_PTY)
		proc_signal(p, SIGHUP, WIRE_SCOPE_TREE);
	proc_signal(p, SIGCONT, WIRE_SCOPE_TREE);
}

int proc_resize(struct proc *p, uint16_t cols, uint16_t rows, struct err *e)
{
	if (!(p->flags & WIRE_EXEC_PTY))
		return err_set(e, -EPROTO, "RESIZE without a terminal");
	/* A terminal that has gone already has no size. */
	if (p->out[0].fd >= 0 && pty_resize(p->out[0].fd, cols, rows) < 0)
		log_debug(&p->a->log, "process '%s': resize failed", p->id);
	return 0;
}

int proc_stdin(struct conn *c, const uint8_t *data, size_t len, struct err *e)
{
	if (!c->at.in.allowed)
		return err_set(e, -EPROTO, "STDIN that was not announced");
	return in_put(&c->proc->in, c, data, len, e);
}

int proc_stdin_close(struct conn *c, struct err *e)
{
	if (!c->at.in.allowed)
		return err_set(e, -EPROTO,
			       "STDIN_CLOSE of STDIN that was not announced");
	c->at.in.sent_close = true;
	in_finish(&c->proc->in);
	return 0;
}

void proc_close_output(struct conn *c, int which)
{
	struct proc *p = c->proc;

	if (c != p->fg) {
		attach_stop(c, which);
		return;
	}
	out_close(&p->out[which]);
	/* A terminal has one end for both ways: it goes as a whole. */
	if ((p->flags & WIRE_EXEC_PTY) && which == 0)
		in_close(&p->in);
	proc_progress(p);
}
