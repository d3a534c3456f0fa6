/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/guest.c - the keeper's own connections to the agent
 *
 * EVENTS from the start: its HELLO is "ready", its MAIN_ENDED the end of the
 * main process, its BUSY what idle.c lives on.  SHUTDOWN at the end.  Those
 * of the main process are in mainproc.c.  What a guest says can end its own
 * VM, and fill its own capped logs, and do nothing else.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/log.h"
#include "host/keeper/keeper.h"
#include "host/lib/internal.h"
#include "host/lib/session.h"

/* Frames taken in a row before the loop serves others. */
#define FRAMES_BATCH 64

/* At the end: more than fits in a socket's buffer. */
#define FRAMES_LAST (1 << 20)

/* ---- Any of them ---- */

void guest_conn_close(struct guest_conn *g)
{
	loop_del(&g->io);
	loop_timer_cancel(&g->more);
	conn_close(&g->conn);
}

static void ask_loop(struct guest_conn *g)
{
	if (g->conn.fd < 0)
		return;
	loop_mod(&g->io, conn_poll_events(&g->conn) & POLLOUT
				 ? EPOLLIN | EPOLLOUT
				 : EPOLLIN);
}

/* Return: 1 there may be more, 0 not now, negative: it is over. */
static int take_frames(struct guest_conn *g, int max)
{
	struct wire_frame f;
	int r = 1;

	for (int i = 0; i < max && r > 0; i++) {
		r = conn_next(&g->conn, &f, NULL);
		if (g->conn.hello)
			keeper_ready(g->k);
		if (r > 0 && !g->fn(g->k, &f))
			r = -EBADMSG;
	}
	return r;
}

static void serve_conn(struct guest_conn *g);

static void on_more(struct loop_timer *t)
{
	serve_conn(container_of(t, struct guest_conn, more));
}

static void serve_conn(struct guest_conn *g)
{
	int r;

	(void)conn_flush(&g->conn);
	r = take_frames(g, FRAMES_BATCH);
	if (r < 0) {
		guest_conn_close(g);
		if (g->gone)
			g->gone(g->k);
		return;
	}
	/* What has been read already no event tells of: look again. */
	if (r > 0)
		loop_timer_set(&g->k->loop, &g->more, 0, on_more);
	ask_loop(g);
}

static void on_conn(struct loop_io *io, uint32_t events)
{
	(void)events;
	serve_conn(container_of(io, struct guest_conn, io));
}

int guest_conn_open(struct keeper *k, struct guest_conn *g, const void *req,
		    size_t len)
{
	int r = conn_open(&g->conn, k->fd[LAUNCH_FD_RUN], SOCK_NONBLOCK, NULL);

	if (r < 0)
		return r;
	g->k = k;
	r = conn_queue(&g->conn, req, len);
	if (r == 0)
		r = loop_add(&k->loop, &g->io, g->conn.fd, EPOLLIN, on_conn);
	if (r < 0) {
		guest_conn_close(g);
		return r;
	}
	(void)conn_flush(&g->conn);
	ask_loop(g);
	return 0;
}

void guest_conn_drain(struct guest_conn *g)
{
	if (g->conn.fd >= 0 && take_frames(g, FRAMES_LAST) < 0)
		guest_conn_close(g);
}

/* ---- EVENTS ---- */

/* Times are the host's: a guest's clock says what the guest likes. */
static void note(struct keeper *k, const char *kind, const struct msg_event *m)
{
	const struct hutch_vm_event ev = {
		.time_ns = now_ns(),
		.vm = k->rec->name,
		.id = k->rec->id,
		.kind = kind,
		.process = m->id,
		.text = m->text,
		.pid = m->what == WIRE_EVENT_PROCESS_STARTED ? (int)m->value
							     : 0,
		.how = (int)m->how,
		.value = m->how ? (int)m->value : 0,
		.timed_out = m->how && (m->flags & WIRE_EXIT_TIMED_OUT),
		.oom = m->how && (m->flags & WIRE_EXIT_OOM),
		.core_dumped = m->how && (m->flags & WIRE_EXIT_CORE),
		.main = strcmp(m->id, SESSION_MAIN) == 0,
		.tty = !!(m->flags & WIRE_PROC_PTY),
	};

	keeper_tell_guest(k, &k->eventlog, &ev);
}

void guest_boot_failed(struct keeper *k, const char *text)
{
	struct cause c = { .reason = HUTCH_REASON_HOST_ERROR };

	if (k->cause.reason != HUTCH_REASON_NONE)
		return;
	c.text = log_escape(k->cause_buf, sizeof(k->cause_buf), text,
			    strlen(text));
	keeper_end(k, &c, -1);
}

static bool on_event(struct keeper *k, const struct wire_frame *f)
{
	struct msg_event m;

	if (f->type != WIRE_EVENT ||
	    wire_event_parse(f->data, f->len, &m, NULL) < 0)
		return false;
	switch (m.what) {
	case WIRE_EVENT_MAIN_ENDED:
		mainproc_ended(k, m.how, m.flags, m.value);
		break;
	case WIRE_EVENT_BOOT_PROBLEM:
		note(k, "boot-problem", &m);
		break;
	case WIRE_EVENT_BOOT_FAILED:
		note(k, "boot-problem", &m);
		guest_boot_failed(k, m.text);
		break;
	case WIRE_EVENT_PROCESS_STARTED:
		if (m.flags & WIRE_PROC_MAIN)
			mainproc_started(k, m.id);
		note(k, "process-started", &m);
		break;
	case WIRE_EVENT_PROCESS_EXITED:
		note(k, "process-exited", &m);
		break;
	case WIRE_EVENT_OOM:
		note(k, "oom", &m);
		break;
	case WIRE_EVENT_BUSY:
		k->booted = k->booted || !k->ending;
		keeper_ready(k);
		idle_note(k, m.value);
		break;
	}
	return true;
}

int guest_open(struct keeper *k, struct err *e)
{
	uint8_t req[WIRE_HDR_LEN];
	struct wr wr = wr_init(req, sizeof(req));
	int r;

	wire_empty_put(&wr, WIRE_EVENTS);
	bug_on(wr_end(&wr) < 0);
	k->events.fn = on_event;
	/* An agent that closes this has failed; the VM's own end will tell. */
	k->events.gone = idle_lost;
	r = guest_conn_open(k, &k->events, req, wr.len);
	if (r < 0)
		return err_set(e, r, "cannot connect to the VM: %s",
			       strerror(-r));
	return mainproc_open(k, e);
}

/* ---- SHUTDOWN ---- */

/* Done or not, the deadline stands. */
static bool on_shutdown(struct keeper *k, const struct wire_frame *f)
{
	(void)k;
	(void)f;
	return false;
}

int guest_shutdown(struct keeper *k, int grace_ms)
{
	const struct msg_shutdown m = { .grace_ms = (uint32_t)grace_ms };
	uint8_t req[64];
	struct wr wr = wr_init(req, sizeof(req));

	wire_shutdown_put(&wr, &m);
	bug_on(wr_end(&wr) < 0);
	/* Asked again: the agent takes the shorter grace. */
	guest_conn_close(&k->shutdown);
	k->shutdown.fn = on_shutdown;
	return guest_conn_open(k, &k->shutdown, req, wr.len);
}

/* ---- The end ---- */

void guest_drain(struct keeper *k)
{
	/* The log first: MAIN_ENDED may come of either, and ends both. */
	guest_conn_drain(&k->main);
	guest_conn_drain(&k->exec);
	guest_conn_drain(&k->events);
	mainproc_gone(k);
}

void guest_close(struct keeper *k)
{
	guest_conn_close(&k->events);
	guest_conn_close(&k->exec);
	guest_conn_close(&k->main);
	guest_conn_close(&k->shutdown);
}
