/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/start.c - start a VM, and watch what may end it
 *
 * How it works.  Who carries the VM's frames has to be ready before the monitor
 * runs, which takes it as long as it likes.  So the owner is listened to first:
 * whoever asks is answered meanwhile, and whoever ends the VM ends its start.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "common/connector.h"
#include "host/keeper/keeper.h"
#include "host/lib/internal.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

#define NS_PER_MS 1000000ull

static void on_lifeline(struct loop_io *io, uint32_t events)
{
	static const struct cause gone = {
		.reason = HUTCH_REASON_STOPPED,
		.text = "who started it has gone",
	};
	struct keeper *k = container_of(io, struct keeper, lifeline_io);

	(void)events;
	loop_del(io);
	keeper_end(k, &gone, -1);
}

static void on_timeout(struct loop_timer *t)
{
	static const struct cause late = { .reason = HUTCH_REASON_TIMEOUT };
	struct keeper *k = container_of(t, struct keeper, timeout);

	keeper_end(k, &late, (int)k->rec->grace_ms);
}

static void on_signal(struct loop_io *io, uint32_t events)
{
	static const struct cause told = {
		.reason = HUTCH_REASON_STOPPED,
		.text = "the keeper was told to end by a signal",
	};
	struct keeper *k = container_of(io, struct keeper, signal_io);
	struct signalfd_siginfo si;

	(void)events;
	if (read(io->fd, &si, sizeof(si)) != sizeof(si))
		return;
	keeper_end(k, &told, (int)k->rec->grace_ms);
}

static void on_connector(struct loop_io *io, uint32_t events)
{
	struct keeper *k = container_of(io, struct keeper, connector_io);
	int r = connector_serve_one(io->fd, k->fd[LAUNCH_FD_RUN],
				    VMDIR_VSOCK_SOCK);

	(void)events;
	if (r < 0 && r != -EAGAIN)
		loop_del(io);
}

/* ---- In order ---- */

/*
 * For good: a starter that has gone is an EPIPE to us, a file that may grow no
 * more an EFBIG.
 */
static int block_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGPIPE);
	(void)sigaddset(&set, SIGXFSZ);
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

static int watch_signals(struct keeper *k)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	k->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k->signal_fd < 0)
		return -errno;
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return loop_add(&k->loop, &k->signal_io, k->signal_fd, EPOLLIN,
			on_signal);
}

/* A client that runs the main process has the agent end it, and say so. */
static uint64_t time_ns(const struct hutch_record *rec)
{
	return (rec->timeout_ms + (rec->attach ? KEEPER_OBEY_MS : 0)) *
	       NS_PER_MS;
}

/* What ends it at any time. */
static int watch_owner(struct keeper *k, struct err *e)
{
	int r = watch_signals(k);

	if (r == 0 && k->fd[LAUNCH_FD_LIFELINE] >= 0)
		r = loop_add(&k->loop, &k->lifeline_io,
			     k->fd[LAUNCH_FD_LIFELINE], EPOLLIN, on_lifeline);
	if (r < 0)
		return err_set(e, r, "keeper: %s", strerror(-r));
	return serve_start(k, e);
}

static int watch_vm(struct keeper *k, struct err *e)
{
	int r = loop_add(&k->loop, &k->connector_io, k->connector, EPOLLIN,
			 on_connector);

	if (r < 0)
		return err_set(e, r, "keeper: %s", strerror(-r));
	if (k->rec->timeout_ms)
		loop_timer_set(&k->loop, &k->timeout, time_ns(k->rec),
			       on_timeout);
	return guest_open(k, e);
}

/* Until the network serves, or never will, or nobody wants it any more. */
static int await_net(struct keeper *k, struct err *e)
{
	const struct keeper_net *n = &k->net;
	int r = net_start(k, e);

	if (r < 0)
		return r;
	while (r >= 0 && !n->begun && !k->ending)
		r = loop_step(&k->loop, -1);
	if (r < 0)
		return err_set(e, r, "keeper: %s", strerror(-r));
	if (k->ending)
		return err_set(e, -ECANCELED, "it was ended as it started: %s",
			       k->cause.text);
	if (n->why.code < 0)
		return err_set(e, n->why.code, "%s", n->why.msg);
	return 0;
}

static int record_start(struct keeper *k, struct err *e)
{
	int r;

	k->rec->keeper_pid = getpid();
	k->rec->started_ns = now_ns();
	r = record_write(k->fd[LAUNCH_FD_STATE], k->rec, 0, e);
	if (r == 0)
		r = record_reserve(k->fd[LAUNCH_FD_STATE], k->rec, e);
	if (r == 0)
		keeper_tell(k, "started");
	return r;
}

static int start_all(struct keeper *k, struct err *e)
{
	int r = forwards_start(k, e);

	r = r < 0 ? r : watch_owner(k, e);
	r = r < 0 ? r : await_net(k, e);
	r = r < 0 ? r : monitor_start(k, e);
	r = r < 0 ? r : watch_vm(k, e);
	return r < 0 ? r : record_start(k, e);
}

int keeper_start(struct keeper *k, struct err *e)
{
	int r = block_signals();

	if (r < 0)
		return err_set(e, r, "keeper: %s", strerror(-r));
	r = record_read(k->fd[LAUNCH_FD_STATE], &k->rec, e);
	if (r == 0)
		r = loop_init(&k->loop, e);
	if (r < 0)
		return r;
	mainlog_init(&k->log, k->fd[LAUNCH_FD_STATE]);
	eventlog_init(&k->eventlog, EVENTLOG_EVENTS, k->fd[LAUNCH_FD_STATE]);
	eventlog_init(&k->denied, EVENTLOG_DENIED, k->fd[LAUNCH_FD_STATE]);
	/* The monitor ends by itself when its lifeline does, with us. */
	return start_all(k, e);
}

void keeper_not_started(struct keeper *k, const struct err *e)
{
	struct hutch_record *rec = k->rec;

	if (!rec)
		return;
	rec->state = HUTCH_STATE_STOPPED;
	rec->reason = k->cause.reason != HUTCH_REASON_NONE
			      ? k->cause.reason
			      : HUTCH_REASON_HOST_ERROR;
	record_set_text(rec, e->msg, strlen(e->msg));
	rec->ended_ns = now_ns();
	serve_exit(k);
}
