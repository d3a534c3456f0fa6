/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/job.c - see job.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "guest-agent/agent.h"
#include "guest-agent/conn.h"
#include "guest-agent/files/serve.h"
#include "guest-agent/job.h"
#include "guest-agent/listeners.h"

#define NS_PER_MS 1000000ull

/* No process can have this id, so nobody's cgroup is in the way. */
#define CGROUP_NAME ".files"

static void bury(struct loop_defer *d)
{
	free(container_of(d, struct job, bury));
}

static void forget_client(struct job *j)
{
	int fd = j->io.fd;

	if (!j->io.loop)
		return;
	loop_del(&j->io);
	(void)close(fd);
}

static void on_grace_over(struct loop_timer *t)
{
	struct job *j = container_of(t, struct job, timer);

	(void)j->a->ops->kill(j->pid, SIGKILL);
}

/* The client has gone: the child will see it too, if it does not hang. */
static void on_client(struct loop_io *io, uint32_t events)
{
	struct job *j = container_of(io, struct job, io);

	(void)events;
	forget_client(j);
	loop_timer_set(&j->a->loop, &j->timer, AGENT_JOB_GRACE_MS * NS_PER_MS,
		       on_grace_over);
}

static void job_free(struct job *j)
{
	struct agent *a = j->a;

	forget_client(j);
	loop_timer_cancel(&j->timer);
	list_del(&j->link);
	a->n_jobs--;
	a->n_clients--;
	events_touch(a);
	loop_defer(&a->loop, &j->bury, bury);
}

/* Where the children's memory counts; -1: there are no cgroups. */
static int open_cgroup(const struct agent *a)
{
	int fd;

	if (a->cgroups.plain < 0)
		return -1;
	fd = cgroup_make(a->cgroups.plain, CGROUP_NAME);
	/* Others are in it. */
	if (fd == -EEXIST)
		fd = openat(a->cgroups.plain, CGROUP_NAME,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd;
}

static int check(const struct agent *a, struct err *e)
{
	if (a->stopping)
		return err_set(e, -ESHUTDOWN, "the sandbox is shutting down");
	if (a->n_jobs >= AGENT_JOBS_MAX)
		return err_set(e, -EAGAIN,
			       "%u requests about files or ports are under "
			       "way, the limit",
			       a->n_jobs);
	return 0;
}

static pid_t spawn_ports(struct conn *c, int cgroup)
{
	const struct listeners_spawn s = { .fd = c->io.fd,
					   .out = &c->out,
					   .cgroup_fd = cgroup };

	return c->a->ops->serve_ports(&s);
}

static pid_t spawn_files(struct conn *c, const struct msg_file *m, int cgroup)
{
	const struct files_spawn s = { .req = m,
				       .boot = c->a->boot,
				       .fd = c->io.fd,
				       .in = &c->in,
				       .out = &c->out,
				       .cgroup_fd = cgroup };

	return c->a->ops->serve_files(&s);
}

static int spawn(struct job *j, struct conn *c, const struct msg_file *m)
{
	auto_fd int cgroup = open_cgroup(c->a);

	j->a = c->a;
	j->pid = m ? spawn_files(c, m, MAX(cgroup, -1))
		   : spawn_ports(c, MAX(cgroup, -1));
	return j->pid < 0 ? (int)j->pid : 0;
}

static int start(struct conn *c, const struct msg_file *m, struct err *e)
{
	struct agent *a = c->a;
	struct job *j;
	int r = check(a, e), fd;

	if (r < 0)
		return r;
	j = calloc(1, sizeof(*j));
	r = j ? spawn(j, c, m) : -ENOMEM;
	if (r < 0) {
		free(j);
		return err_set(e, r, "a child for files and ports: %s",
			       strerror(-r));
	}
	fd = conn_give_away(c);
	list_add_tail(&a->jobs, &j->link);
	a->n_jobs++;
	a->n_clients++;
	events_touch(a);
	/* Not watched, it lasts as long as it takes. */
	if (loop_add(&a->loop, &j->io, fd, EPOLLRDHUP, on_client) < 0)
		(void)close(fd);
	return 0;
}

int job_start(struct conn *c, const struct msg_file *m, struct err *e)
{
	return start(c, m, e);
}

int job_start_ports(struct conn *c, struct err *e)
{
	return start(c, NULL, e);
}

bool job_reaped(struct agent *a, pid_t pid)
{
	struct list *l;

	list_for_each (l, &a->jobs) {
		struct job *j = list_entry(l, struct job, link);

		if (j->pid != pid)
			continue;
		job_free(j);
		return true;
	}
	return false;
}

void jobs_done(struct agent *a)
{
	while (!list_empty(&a->jobs)) {
		struct job *j = list_entry(a->jobs.next, struct job, link);

		(void)a->ops->kill(j->pid, SIGKILL);
		job_free(j);
	}
}
