/* SPDX-License-Identifier: Apache-2.0 */
/* host/keeper/keeper.c - see keeper.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "host/keeper/keeper.h"
#include "host/lib/internal.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

#define NS_PER_MS  1000000ull
#define DROPPED_NS 1000000000ull /* until it is told how many there were */

void keeper_init(struct keeper *k)
{
	*k = (struct keeper){ .pidfd = -1,
			      .vmm_lifeline = -1,
			      .connector = -1,
			      .stderr_fd = -1,
			      .signal_fd = -1,
			      .loop.epfd = -1,
			      .events.conn.fd = -1,
			      .exec.conn.fd = -1,
			      .main.conn.fd = -1,
			      .shutdown.conn.fd = -1 };
	for (int i = 0; i < LAUNCH_N_FDS; i++)
		k->fd[i] = -1;
	net_init(&k->net);
	list_init(&k->clients);
	list_init(&k->forwards);
	list_init(&k->joined);
	mainlog_init(&k->log, -1);
	eventlog_init(&k->eventlog, EVENTLOG_EVENTS, -1);
	eventlog_init(&k->denied, EVENTLOG_DENIED, -1);
}

void keeper_done(struct keeper *k)
{
	serve_close(k);
	guest_close(k);
	net_end(k);
	forwards_close(k);
	mainlog_done(&k->log);
	eventlog_done(&k->eventlog);
	eventlog_done(&k->denied);
	for (int i = 0; i < LAUNCH_N_FDS; i++)
		drop_fd(&k->fd[i]);
	drop_fd(&k->pidfd);
	drop_fd(&k->vmm_lifeline);
	drop_fd(&k->connector);
	drop_fd(&k->stderr_fd);
	drop_fd(&k->signal_fd);
	loop_done(&k->loop);
	hutch_record_free(k->rec);
	k->rec = NULL;
}

/* ---- The record on the way ---- */

static void note_losses(struct keeper *k)
{
	k->rec->log_lost = k->log.lost;
	k->rec->events_lost = k->eventlog.lost + k->denied.lost;
}

/* On a full disk the file stays behind; the end has room set aside. */
void keeper_save(struct keeper *k)
{
	struct err ignored;

	loop_timer_cancel(&k->save_timer);
	note_losses(k);
	if (record_write(k->fd[LAUNCH_FD_STATE], k->rec, 0, &ignored) < 0)
		return;
}

void keeper_tell(struct keeper *k, const char *kind)
{
	const struct hutch_vm_event ev = { .time_ns = now_ns(),
					   .vm = k->rec->name,
					   .id = k->rec->id,
					   .kind = kind };

	eventlog_put(&k->eventlog, &ev);
}

static void tell_dropped(struct keeper *k)
{
	const struct hutch_vm_event ev = { .time_ns = now_ns(),
					   .vm = k->rec->name,
					   .id = k->rec->id };

	loop_timer_cancel(&k->dropped_timer);
	eventlog_tell_dropped(&k->eventlog, &ev);
	eventlog_tell_dropped(&k->denied, &ev);
}

static void on_dropped(struct loop_timer *t)
{
	tell_dropped(container_of(t, struct keeper, dropped_timer));
}

void keeper_tell_guest(struct keeper *k, struct eventlog *l,
		       const struct hutch_vm_event *ev)
{
	eventlog_put_guest(l, ev);
	if (l->dropped && !loop_timer_is_set(&k->dropped_timer))
		loop_timer_set(&k->loop, &k->dropped_timer, DROPPED_NS,
			       on_dropped);
}

/* The last one; with rm too, for those who have the file open. */
static void tell_end(struct keeper *k)
{
	const struct hutch_record *rec = k->rec;
	const bool exited = rec->reason == HUTCH_REASON_EXITED;
	const bool killed = rec->signal &&
			    (rec->reason == HUTCH_REASON_KILLED ||
			     rec->reason == HUTCH_REASON_OOM ||
			     rec->reason == HUTCH_REASON_VMM_CRASH);
	const struct hutch_vm_event ev = {
		.time_ns = rec->ended_ns,
		.vm = rec->name,
		.id = rec->id,
		.kind = "stopped",
		.reason = hutch_reason_name(rec->reason),
		.text = rec->text,
		.how = exited   ? HUTCH_EXEC_EXITED
		       : killed ? HUTCH_EXEC_SIGNALLED
				: 0,
		.value = exited ? rec->exit_code : rec->signal,
		.oom = rec->reason == HUTCH_REASON_OOM,
	};

	eventlog_put(&k->eventlog, &ev);
}

void keeper_ready(struct keeper *k)
{
	if (k->ready || mainproc_awaited(k))
		return;
	/* What was asked for is there: its first BUSY says so. */
	if ((k->rec->mounts || *k->rec->net) && !k->booted)
		return;
	k->ready = true;
	k->rec->ready_ns = now_ns();
	if (!k->ending)
		k->rec->state = HUTCH_STATE_RUNNING;
	keeper_save(k);
	keeper_tell(k, "ready");
	serve_ready(k);
	idle_ready(k);
}

/* ---- Ending ---- */

static void on_deadline(struct loop_timer *t)
{
	monitor_kill(container_of(t, struct keeper, deadline));
}

static void set_deadline(struct keeper *k, int grace_ms)
{
	uint64_t ns = ((uint64_t)grace_ms + KEEPER_MARGIN_MS) * NS_PER_MS;

	/* Never later than was promised before. */
	if (loop_timer_is_set(&k->deadline) &&
	    k->deadline.at_ns < loop_now_ns() + ns)
		return;
	loop_timer_set(&k->loop, &k->deadline, ns, on_deadline);
}

void keeper_end(struct keeper *k, const struct cause *cause, int grace_ms)
{
	bool first = !k->ending;

	/* It has ended and is on record: who lets go now changes nothing. */
	if (k->rec->state == HUTCH_STATE_STOPPED)
		return;
	if (k->cause.reason == HUTCH_REASON_NONE)
		k->cause = *cause;
	k->ending = true;
	loop_timer_cancel(&k->idle_timer);
	/* A guest that is not up has nothing to put in order. */
	if (grace_ms >= 0 && k->ready && guest_shutdown(k, grace_ms) == 0)
		set_deadline(k, grace_ms);
	else
		monitor_kill(k);
	if (first) {
		k->rec->state = HUTCH_STATE_STOPPING;
		keeper_save(k);
	}
}

/* ---- The end ---- */

static void finish_record(struct keeper *k)
{
	struct cause c = monitor_verdict(k);
	struct hutch_record *rec = k->rec;
	struct err ignored;

	rec->state = HUTCH_STATE_STOPPED;
	rec->reason = c.reason;
	/* Of a main process that ended while the VM was kept: its end. */
	if (!k->main_over || rec->on_exit != HUTCH_ON_EXIT_KEEP) {
		rec->exit_code = c.reason == HUTCH_REASON_EXITED ? c.exit_code
								 : -1;
		rec->signal = c.signal;
	}
	if (c.signal)
		rec->signal = c.signal;
	record_set_text(rec, c.text ? c.text : "", c.text ? strlen(c.text) : 0);
	rec->ended_ns = now_ns();
	rec->keeper_pid = 0;
	rec->vmm_pid = 0;
	note_losses(k);
	if (rec->rm)
		return;
	if (record_write_last(k->fd[LAUNCH_FD_STATE], rec, &ignored) < 0)
		keeper_save(k);
}

static void leave_folders(struct keeper *k)
{
	struct vmdir d = { .run_fd = k->fd[LAUNCH_FD_RUN],
			   .state_fd = -1,
			   .lock_fd = -1 };

	(void)memcpy(d.name, k->rec->name, sizeof(d.name));
	if (k->rec->rm) {
		(void)vmdir_remove(k->fd[LAUNCH_FD_RUN_ROOT],
				   k->fd[LAUNCH_FD_STATE_ROOT], &d, NULL);
		return;
	}
	(void)unlinkat(d.run_fd, VMDIR_KEEPER_SOCK, 0);
	(void)unlinkat(d.run_fd, VMDIR_VMM_SOCK, 0);
	(void)unlinkat(d.run_fd, VMDIR_VSOCK_SOCK, 0);
}

/* From here on nothing may happen but answers to those who wait. */
static void unwatch(struct keeper *k)
{
	guest_close(k);
	forwards_close(k);
	loop_del(&k->lifeline_io);
	loop_del(&k->signal_io);
	loop_del(&k->connector_io);
	loop_del(&k->stderr_io);
	loop_timer_cancel(&k->timeout);
	loop_timer_cancel(&k->deadline);
	loop_timer_cancel(&k->main_timer);
	loop_timer_cancel(&k->idle_timer);
	loop_timer_cancel(&k->save_timer);
}

int keeper_run(struct keeper *k)
{
	int r = 0;

	while (!k->gone && r >= 0)
		r = loop_step(&k->loop, -1);
	if (!k->gone)
		return r;
	guest_drain(k);
	net_end(k);
	unwatch(k);
	tell_dropped(k);
	finish_record(k);
	tell_end(k);
	leave_folders(k);
	(void)close(take_fd(&k->fd[LAUNCH_FD_LOCK]));
	serve_exit(k);
	return 0;
}
