/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/agent.c - see agent.h: the listener, SIGCHLD, begin and end */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include <linux/vm_sockets.h>

#include "guest-agent/agent.h"
#include "guest-agent/conn.h"
#include "guest-agent/job.h"
#include "guest-agent/process.h"
#include "guest-agent/shutdown.h"
#include "guest-agent/table.h"
#include "guest-agent/tunnel.h"

/* Connections accepted before anything else has its turn. */
#define ACCEPT_BATCH 64u

static void reap(struct agent *a);

static void on_reap_more(struct loop_timer *t)
{
	reap(container_of(t, struct agent, reap_more));
}

/*
 * As PID 1 every orphan of the guest is ours.  A batch at a time, so that a
 * fork bomb's remains do not keep the clients waiting.
 */
static void reap(struct agent *a)
{
	for (unsigned int i = 0; i < AGENT_REAP_BATCH; i++) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid <= 0)
			return;
		if (!job_reaped(a, pid) && !release_reaped(a, pid, status))
			proc_reaped(a, pid, status);
	}
	loop_timer_set(&a->loop, &a->reap_more, 0, on_reap_more);
}

/*
 * SIGCHLD: one or many, waitpid() tells; emptied first, so that none is
 * missed.  The others are what halt, poweroff and reboot of busybox send to
 * the first process; there is one end for all of them.
 */
static void on_signal(struct loop_io *io, uint32_t events)
{
	struct agent *a = container_of(io, struct agent, signals);
	struct signalfd_siginfo si;
	bool end = false;

	(void)events;
	while (read(io->fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		end = end || si.ssi_signo != SIGCHLD;
	reap(a);
	if (end && !a->stopping)
		shutdown_begin(a, AGENT_POWEROFF_GRACE_MS);
}

static void turn_away(struct agent *a, int fd)
{
	uint8_t buf[WIRE_HDR_LEN + 16 + ERR_MSG_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct err e;

	(void)err_set(&e, -EAGAIN, "%u connections are open, the limit",
		      a->n_conns);
	wire_error_put(&wr, &(struct msg_error){ .code = EAGAIN,
						 .kind = WIRE_ERR_LIMIT,
						 .sentence = e.msg });
	(void)send(fd, buf, wr.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

/* Processes of the guest can connect to the port too; they are not served. */
static bool from_host(int fd)
{
	struct sockaddr_vm sa = { 0 };
	socklen_t len = sizeof(sa);

	return getpeername(fd, (struct sockaddr *)&sa, &len) == 0 &&
	       sa.svm_family == AF_VSOCK && sa.svm_cid == WIRE_CID_HOST;
}

static void on_connect(struct loop_io *io, uint32_t events)
{
	struct agent *a = container_of(io, struct agent, listen);

	(void)events;
	for (unsigned int i = 0; i < ACCEPT_BATCH; i++) {
		int fd = accept4(io->fd, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (a->in_guest && !from_host(fd))
			(void)close(fd);
		else if (a->n_conns >= AGENT_CONNS_MAX)
			turn_away(a, fd);
		else
			conn_new(a, fd);
	}
}

static int watch_signals(struct agent *a, struct err *e)
{
	auto_fd int fd = -1;
	sigset_t set;
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigaddset(&set, SIGUSR2);
	/* Elsewhere it is how a test is ended. */
	if (a->in_guest)
		(void)sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(e, -errno, "sigprocmask: %s", strerror(errno));
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return err_set(e, -errno, "signalfd: %s", strerror(errno));
	r = loop_add(&a->loop, &a->signals, fd, EPOLLIN, on_signal);
	if (r < 0)
		return err_set(e, r, "event loop: %s", strerror(-r));
	(void)take_fd(&fd);
	return 0;
}

static size_t pool_size(void)
{
	struct sysinfo si = { 0 };

	(void)sysinfo(&si);
	return MAX((size_t)si.totalram * si.mem_unit / AGENT_POOL_PART,
		   AGENT_POOL_MIN);
}

static bool reclaim(struct store_pool *pool)
{
	return table_reclaim(container_of(pool, struct agent, pool));
}

int agent_init(struct agent *a, const struct agent_config *cfg, struct err *e)
{
	int r;

	memset(a, 0, sizeof(*a));
	a->log = cfg->log;
	a->ops = cfg->ops;
	a->boot = cfg->boot;
	a->cgroups = cfg->cgroups;
	a->oom.kmsg_fd = -1;
	a->pool.max = pool_size();
	a->pool.reclaim = reclaim;
	a->in_guest = cfg->in_guest;
	a->release.mounts = cfg->lock_mounts;
	a->release.n = cfg->n_lock_mounts;
	list_init(&a->conns);
	list_init(&a->jobs);
	list_init(&a->tunnels);
	list_init(&a->waiting);
	list_init(&a->live);
	list_init(&a->ended);
	r = loop_init(&a->loop, e);
	if (r == 0)
		r = watch_signals(a, e);
	if (r == 0 && cfg->listen_fd >= 0) {
		r = loop_add(&a->loop, &a->listen, cfg->listen_fd, EPOLLIN,
			     on_connect);
		if (r < 0)
			(void)err_set(e, r, "event loop: %s", strerror(-r));
	}
	if (r < 0)
		agent_done(a);
	else
		oom_watch(a);
	return r;
}

static void close_watch(struct loop_io *io)
{
	int fd = io->fd;

	if (!io->loop)
		return;
	loop_del(io);
	(void)close(fd);
}

void agent_done(struct agent *a)
{
	struct list *l, *n;

	/* One that goes may take others with it. */
	while (!list_empty(&a->conns))
		conn_gone(list_entry(a->conns.next, struct conn, link));
	jobs_done(a);
	tunnels_done(a);
	list_for_each_safe (l, n, &a->live) {
		struct proc *p = list_entry(l, struct proc, link);

		proc_signal(p, SIGKILL, WIRE_SCOPE_TREE);
		proc_free(p);
	}
	list_for_each_safe (l, n, &a->ended)
		proc_free(list_entry(l, struct proc, link));
	loop_timer_cancel(&a->port_timer);
	loop_timer_cancel(&a->events.timer);
	release_done(a);
	oom_done(a);
	close_watch(&a->listen);
	close_watch(&a->signals);
	/* What was dropped is freed when a batch is over. */
	if (a->loop.epfd >= 0)
		while (loop_step(&a->loop, 0) > 0)
			;
	loop_done(&a->loop);
}
