/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/guest.c - the keeper's own connections to the agent
 *
 * EVENTS from the start: its HELLO is "ready", its MAIN_ENDED the end of a main
 * process that somebody else ran.  EXEC of the main process, when it is ours.
 * SHUTDOWN at the end.  What a guest says can end its own VM and fill its own
 * capped log, and do nothing else.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "common/log.h"
#include "host/keeper/keeper.h"
#include "host/lib/internal.h"

/* Frames taken in a row before the loop serves others. */
#define FRAMES_BATCH 64

/* Exit codes by convention, for a main process that could not be run. */
#define CODE_FAILED         125
#define CODE_NOT_EXECUTABLE 126
#define CODE_NOT_FOUND      127

static void guest_conn_close(struct guest_conn *g)
{
	loop_del(&g->io);
	loop_timer_cancel(&g->more);
	conn_close(&g->conn);
}

static void ask_loop(struct guest_conn *g)
{
	loop_mod(&g->io, conn_poll_events(&g->conn) & POLLOUT
				 ? EPOLLIN | EPOLLOUT
				 : EPOLLIN);
}

static int open_conn(struct keeper *k, struct guest_conn *g, const void *req,
		     size_t len, loop_io_fn *fn)
{
	int r = conn_open(&g->conn, k->fd[LAUNCH_FD_RUN], NULL);

	if (r < 0)
		return r;
	r = conn_queue(&g->conn, req, len);
	if (r == 0)
		r = loop_add(&k->loop, &g->io, g->conn.fd, EPOLLIN, fn);
	if (r < 0) {
		guest_conn_close(g);
		return r;
	}
	(void)conn_flush(&g->conn);
	ask_loop(g);
	return 0;
}

/* ---- The main process's end ---- */

static enum hutch_reason reason_of(enum wire_how how, uint32_t flags)
{
	if (flags & WIRE_EXIT_OOM)
		return HUTCH_REASON_OOM;
	return how == WIRE_HOW_EXITED ? HUTCH_REASON_EXITED
				      : HUTCH_REASON_KILLED;
}

static void main_ended(struct keeper *k, enum wire_how how, uint32_t flags,
		       uint32_t value)
{
	const struct cause c = {
		.reason = reason_of(how, flags),
		.exit_code = how == WIRE_HOW_EXITED ? (int)value : -1,
		.signal = how == WIRE_HOW_SIGNALLED ? (int)value : 0,
	};

	keeper_end(k, &c, (int)k->rec->grace_ms);
}

/* ---- EVENTS ---- */

static void on_event_frame(struct keeper *k, const struct wire_frame *f)
{
	struct msg_event m;

	if (f->type != WIRE_EVENT ||
	    wire_event_parse(f->data, f->len, &m, NULL) < 0)
		return;
	if (m.what == WIRE_EVENT_MAIN_ENDED)
		main_ended(k, m.how, m.flags, m.value);
}

static void on_events(struct loop_io *io, uint32_t events)
{
	struct guest_conn *g = container_of(io, struct guest_conn, io);
	struct keeper *k = container_of(g, struct keeper, events);
	struct wire_frame f;
	int r = 1;

	(void)events;
	(void)conn_flush(&g->conn);
	for (int i = 0; i < FRAMES_BATCH && r > 0; i++) {
		r = conn_next(&g->conn, &f, NULL);
		if (g->conn.hello)
			keeper_ready(k);
		if (r > 0)
			on_event_frame(k, &f);
	}
	/* An agent that closes this has failed; the VM's own end will tell. */
	if (r < 0)
		guest_conn_close(g);
	else
		ask_loop(g);
}

int guest_open(struct keeper *k, struct err *e)
{
	uint8_t req[WIRE_HDR_LEN];
	struct wr wr = wr_init(req, sizeof(req));
	int r;

	wire_empty_put(&wr, WIRE_EVENTS);
	bug_on(wr_end(&wr) < 0);
	r = open_conn(k, &k->events, req, wr.len, on_events);
	if (r < 0)
		return err_set(e, r, "cannot connect to the VM: %s",
			       strerror(-r));
	return 0;
}

/* ---- EXEC of the main process ---- */

/* "MAIN could not be run": by convention an exit code, with the reason. */
static void main_refused(struct keeper *k, const struct wire_frame *f)
{
	struct cause c = { .reason = HUTCH_REASON_EXITED,
			   .exit_code = CODE_FAILED };
	struct msg_error m;

	if (wire_error_parse(f->data, f->len, &m, NULL) < 0)
		return;
	if (m.kind == WIRE_ERR_NOT_FOUND)
		c.exit_code = CODE_NOT_FOUND;
	if (m.kind == WIRE_ERR_NOT_EXECUTABLE)
		c.exit_code = CODE_NOT_EXECUTABLE;
	if (k->cause.reason == HUTCH_REASON_NONE)
		c.text = log_escape(k->cause_buf, sizeof(k->cause_buf),
				    m.sentence, strlen(m.sentence));
	keeper_end(k, &c, (int)k->rec->grace_ms);
}

static void main_output(struct keeper *k, const struct wire_frame *f)
{
	int i = f->type == WIRE_STDERR;
	struct msg_output m;

	if (wire_output_parse(f->data, f->len, &m, NULL) < 0)
		return;
	k->main.got[i] += m.len;
	mainlog_put(&k->log, i + 1, now_ns(), m.data, m.len);
}

/* Return: whether the frame was sound; if not, the stream is not trusted. */
static bool on_main_frame(struct keeper *k, const struct wire_frame *f)
{
	struct msg_exit m;

	switch (f->type) {
	case WIRE_STDOUT:
	case WIRE_STDERR:
		main_output(k, f);
		return true;
	case WIRE_ERROR:
		main_refused(k, f);
		return true;
	case WIRE_EXIT:
		if (wire_exit_parse(f->data, f->len, &m, NULL) < 0 ||
		    m.stdout_total != k->main.got[0] ||
		    m.stderr_total != k->main.got[1])
			return false;
		main_ended(k, m.how, m.flags, m.value);
		return true;
	default:
		return f->type == WIRE_STARTED || f->type == WIRE_STDIN_ACK;
	}
}

static int main_frames(struct keeper *k, int max)
{
	struct wire_frame f;
	int r = 1;

	for (int i = 0; i < max && r > 0; i++) {
		r = conn_next(&k->main.conn, &f, NULL);
		if (r > 0 && !on_main_frame(k, &f))
			r = -EBADMSG;
	}
	return r;
}

static void serve_main(struct keeper *k);

static void on_main_more(struct loop_timer *t)
{
	serve_main(container_of(t, struct keeper, main.more));
}

static void serve_main(struct keeper *k)
{
	struct guest_conn *g = &k->main;
	int r;

	(void)conn_flush(&g->conn);
	r = main_frames(k, FRAMES_BATCH);
	if (r < 0) {
		guest_conn_close(g);
		return;
	}
	/* What has been read already no event tells of: look again. */
	if (r > 0)
		loop_timer_set(&k->loop, &g->more, 0, on_main_more);
	ask_loop(g);
}

static void on_main(struct loop_io *io, uint32_t events)
{
	(void)events;
	serve_main(container_of(io, struct keeper, main.io));
}

void guest_start_main(struct keeper *k)
{
	static const struct cause failed = {
		.reason = HUTCH_REASON_HOST_ERROR,
		.text = "the keeper could not start the main process",
	};
	auto_free char *req = NULL;
	size_t len = 0;
	char path[32];
	int fd = take_fd(&k->fd[LAUNCH_FD_MAIN]), r;

	if (fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = io_read_file(-1, path, WIRE_HDR_LEN + WIRE_MSG_MAX, &req, &len,
			 NULL);
	(void)close(fd);
	if (r == 0)
		r = open_conn(k, &k->main, req, len, on_main);
	if (r < 0)
		keeper_end(k, &failed, -1);
}

/* ---- SHUTDOWN ---- */

static void on_shutdown(struct loop_io *io, uint32_t events)
{
	struct guest_conn *g = container_of(io, struct guest_conn, io);
	struct wire_frame f;
	int r;

	(void)events;
	(void)conn_flush(&g->conn);
	do
		r = conn_next(&g->conn, &f, NULL);
	while (r > 0 && f.type != WIRE_DONE && f.type != WIRE_ERROR);
	/* Done or not, the deadline stands. */
	if (r != 0)
		guest_conn_close(g);
	else
		ask_loop(g);
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
	return open_conn(k, &k->shutdown, req, wr.len, on_shutdown);
}

/* ---- The end ---- */

void guest_drain(struct keeper *k)
{
	if (k->main.conn.fd >= 0 && main_frames(k, 1 << 20) >= 0)
		return;
}

void guest_close(struct keeper *k)
{
	guest_conn_close(&k->events);
	guest_conn_close(&k->main);
	guest_conn_close(&k->shutdown);
}
