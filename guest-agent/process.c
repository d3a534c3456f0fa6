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
#include "guest-agent/oom.h"
#include "guest-agent/process.h"
#include "guest-agent/pty.h"
#include "guest-agent/request.h"
#include "guest-agent/shutdown.h"
#include "guest-agent/start.h"

void process_count(const struct agent *a, uint32_t *ret_running,
		   uint32_t *ret_lingering)
{
	struct list *l;

	*ret_running = 0;
	*ret_lingering = 0;
	list_for_each (l, &a->live) {
		const struct proc *p = list_entry(l, struct proc, link);

		if (p->state == PROC_LINGERING)
			(*ret_lingering)++;
		else
			(*ret_running)++;
	}
}

static void bury(struct loop_defer *d)
{
	struct proc *p = container_of(d, struct proc, bury);

	for (int i = 0; i < 2; i++)
		ring_done(&p->out[i].ring);
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
	cgroup_remove(p->a->cgroup_fd, p->id);
}

void proc_free(struct proc *p)
{
	struct agent *a = p->a;

	if (p->conn) {
		p->conn->proc = NULL;
		p->conn = NULL;
	}
	list_del(&p->link);
	if (p->state == PROC_EXITED)
		a->n_ended--;
	else
		a->n_live--;
	loop_timer_cancel(&p->timer);
	watch_close(&p->report);
	for (int i = 0; i < 2; i++)
		out_close(&p->out[i]);
	in_close(&p->in);
	drop_cgroup(p);
	loop_defer(&a->loop, &p->bury, bury);
}

/* How it ended, as EXIT and MAIN_ENDED tell it. */
static void fill_exit(const struct proc *p, struct msg_exit *m)
{
	*m = (struct msg_exit){
		.state = p->state == PROC_EXITED ? WIRE_STATE_EXITED
						 : WIRE_STATE_LINGERING,
		.stdout_total = p->out[0].total,
		.stderr_total = p->out[1].total,
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

	if (!(p->flags & WIRE_EXEC_MAIN) || main->ended || p->conn ||
	    p->state < PROC_LINGERING)
		return;
	fill_exit(p, &m);
	memcpy(main->id, p->id, sizeof(main->id));
	main->ended = true;
	main->event = (struct msg_event){ .what = WIRE_EVENT_MAIN_ENDED,
					  .how = m.how,
					  .flags = m.flags,
					  .value = m.value,
					  .time_ns = m.end_ns,
					  .id = main->id,
					  .text = "" };
	request_tell(p->a, &main->event);
}

void proc_detach(struct proc *p)
{
	p->conn = NULL;
	in_finish(&p->in);
	for (int i = 0; i < 2; i++)
		out_resume(&p->out[i]);
	tell_main_ended(p);
	shutdown_progress(p->a);
}

void proc_progress(struct proc *p)
{
	uint8_t buf[WIRE_HDR_LEN + sizeof(struct wire_exit)];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct conn *c = p->conn;
	struct msg_exit m;

	if (!c || c->state != CONN_EXEC || p->state < PROC_LINGERING ||
	    !conn_ready(c) || !out_drained(&p->out[0]) ||
	    !out_drained(&p->out[1]))
		return;
	fill_exit(p, &m);
	wire_exit_put(&wr, &m);
	/* The client stays ours until it closes: it may yet be reading. */
	if (conn_send(c, buf, wr.len) == 0)
		conn_last(c);
}

void proc_resume(struct proc *p)
{
	in_ack(&p->in);
	for (int i = 0; p->conn && i < 2; i++)
		out_resume(&p->out[i]);
	proc_progress(p);
}

/* Whether any of it is left: without cgroups only the process is known. */
static void on_exited(struct proc *p)
{
	struct agent *a = p->a;

	p->state = PROC_EXITED;
	loop_timer_cancel(&p->timer);
	drop_cgroup(p);
	list_del(&p->link);
	list_add_tail(&a->ended, &p->link);
	a->n_live--;
	a->n_ended++;
	shutdown_progress(a);
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

static struct proc *find_pid(struct agent *a, pid_t pid)
{
	struct list *l;

	list_for_each (l, &a->live) {
		struct proc *p = list_entry(l, struct proc, link);

		if (p->pid == pid && p->state < PROC_LINGERING)
			return p;
	}
	return NULL;
}

void proc_reaped(struct agent *a, pid_t pid, int status)
{
	struct proc *p = find_pid(a, pid);

	if (!p)
		return;
	/* Its report may be in the same batch of events, after this one. */
	if (p->state == PROC_STARTING && !start_finish(p))
		return;
	/* Open yet: somebody took it from the child.  It has nothing to say. */
	watch_close(&p->report);
	p->status = status;
	p->ended_ns = clock_wall_ns();
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !p->sent_kill)
		p->oom = oom_killed(pid, p->start_ns);
	settle(p);
	in_close(&p->in);
	for (int i = 0; i < 2; i++)
		out_drain(&p->out[i]);
	proc_progress(p);
	tell_main_ended(p);
}

void proc_signal(struct proc *p, int sig, enum wire_scope scope)
{
	if (p->state == PROC_EXITED)
		return;
	if (sig == SIGKILL)
		p->sent_kill = true;
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

void proc_terminate(struct proc *p)
{
	proc_signal(p, SIGTERM, WIRE_SCOPE_TREE);
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

int proc_stdin(struct proc *p, const uint8_t *data, size_t len, struct err *e)
{
	if (!(p->flags & WIRE_EXEC_STDIN))
		return err_set(e, -EPROTO, "STDIN that EXEC did not announce");
	return in_put(&p->in, data, len, e);
}

int proc_stdin_close(struct proc *p, struct err *e)
{
	if (!(p->flags & WIRE_EXEC_STDIN))
		return err_set(e, -EPROTO, "STDIN_CLOSE without STDIN in EXEC");
	in_finish(&p->in);
	return 0;
}

void proc_close_output(struct proc *p, int which)
{
	out_close(&p->out[which]);
	/* A terminal has one end for both ways: it goes as a whole. */
	if ((p->flags & WIRE_EXEC_PTY) && which == 0)
		in_close(&p->in);
	proc_progress(p);
}
