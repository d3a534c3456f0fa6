/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/mainproc.c - the main process: start it, log it, learn its end
 *
 * How it works.  A main process that is ours to start is run detached, by a
 * request that is under way before the guest is up, so that it is there for
 * whoever asks for it later.  Whoever has started it, when EVENTS tells of it
 * we attach, quietly, and write its output to the log.  Its end is told by
 * EVENTS too; what it means waits until the log has all of the output, for a
 * bounded time.  Only its first end counts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "common/log.h"
#include "host/keeper/keeper.h"
#include "host/lib/internal.h"

#define NS_PER_MS 1000000ull

/* For the rest of the output, after the end. */
#define LOG_WAIT_MS 5000
/* An agent that breaks off is most often one whose machine is dying. */
#define DYING_MS 1000

/* Exit codes by convention, for a main process that could not be run. */
#define CODE_FAILED         125
#define CODE_NOT_EXECUTABLE 126
#define CODE_NOT_FOUND      127

/* ---- Its end ---- */

static enum hutch_reason reason_of(enum wire_how how, uint32_t flags)
{
	if (flags & WIRE_EXIT_TIMED_OUT)
		return HUTCH_REASON_TIMEOUT;
	if (flags & WIRE_EXIT_OOM)
		return HUTCH_REASON_OOM;
	return how == WIRE_HOW_EXITED ? HUTCH_REASON_EXITED
				      : HUTCH_REASON_KILLED;
}

static void act(struct keeper *k)
{
	loop_timer_cancel(&k->main_timer);
	if (k->rec->on_exit == HUTCH_ON_EXIT_KEEP) {
		k->rec->exit_code = k->main_end.exit_code;
		k->rec->signal = k->main_end.signal;
		keeper_save(k);
		return;
	}
	/* Of a machine that is gone nothing is to be ended, only told. */
	if (!k->gone)
		keeper_end(k, &k->main_end, (int)k->rec->grace_ms);
	else if (k->cause.reason == HUTCH_REASON_NONE)
		k->cause = k->main_end;
}

static void on_log_late(struct loop_timer *t)
{
	act(container_of(t, struct keeper, main_timer));
}

static void ended(struct keeper *k, const struct cause *c)
{
	if (k->main_over)
		return;
	k->main_over = true;
	k->main_end = *c;
	/* Not by the VM's end, nor by what it did on the way to its own. */
	if (!k->ending)
		k->rec->main_ended_ns = now_ns();
	if (k->main.conn.fd >= 0 && !k->gone)
		loop_timer_set(&k->loop, &k->main_timer,
			       LOG_WAIT_MS * NS_PER_MS, on_log_late);
	else
		act(k);
}

static struct cause cause_of(enum wire_how how, uint32_t flags, uint32_t value)
{
	return (struct cause){
		.reason = reason_of(how, flags),
		.exit_code = how == WIRE_HOW_EXITED ? (int)value : -1,
		.signal = how == WIRE_HOW_SIGNALLED ? (int)value : 0,
	};
}

void mainproc_ended(struct keeper *k, enum wire_how how, uint32_t flags,
		    uint32_t value)
{
	const struct cause c = cause_of(how, flags, value);

	ended(k, &c);
}

void mainproc_gone(struct keeper *k)
{
	const struct cause c = k->main_end;

	if (k->main_exited)
		ended(k, &c);
}

/* ---- Its output ---- */

/* The log has all of it, or will never have. */
static void log_over(struct keeper *k)
{
	if (k->main_over && loop_timer_is_set(&k->main_timer))
		act(k);
}

static bool on_output(struct keeper *k, const struct wire_frame *f)
{
	int i = f->type == WIRE_STDERR;
	struct msg_output m;

	if (wire_output_parse(f->data, f->len, &m, NULL) < 0)
		return false;
	k->main_next[i] = m.cursor + m.len;
	mainlog_put(&k->log, i + 1, m.cursor, m.data, m.len);
	return true;
}

/*
 * The end, if all of the output has come. That of a process whose client still
 * has to take its exit is no reason to end the VM: EVENTS tells when it has.
 */
static void on_exit_frame(struct keeper *k, const struct wire_frame *f)
{
	struct msg_exit m;

	if (wire_exit_parse(f->data, f->len, &m, NULL) < 0 ||
	    m.stdout_total != k->main_next[0] ||
	    m.stderr_total != k->main_next[1])
		return;
	if (k->main_over)
		return;
	k->main_exited = true;
	k->main_end = cause_of(m.how, m.flags, m.value);
	if (!k->rec->attach)
		mainproc_gone(k);
}

/* Return: whether there is more to come. */
static bool on_log(struct keeper *k, const struct wire_frame *f)
{
	struct msg_truncated m;

	switch (f->type) {
	case WIRE_STARTED:
		return true;
	case WIRE_STDOUT:
	case WIRE_STDERR:
		return on_output(k, f);
	case WIRE_TRUNCATED:
		if (wire_truncated_parse(f->data, f->len, &m, NULL) < 0)
			return false;
		k->main_next[m.stream - 1] = m.cursor;
		return true;
	case WIRE_EXIT:
		on_exit_frame(k, f);
		return false;
	default:
		return false;
	}
}

void mainproc_started(struct keeper *k, const char *id)
{
	const struct msg_attach m = {
		.flags = WIRE_ATTACH_FOLLOW | WIRE_ATTACH_QUIET,
		.id = id,
	};
	uint8_t req[128];
	struct wr wr = wr_init(req, sizeof(req));

	k->main_begun = true;
	if (!k->gone)
		keeper_ready(k);
	/* Nobody could read the log of a client's own, when that has gone. */
	if (k->main_seen || k->gone || (k->rec->rm && k->rec->attach))
		return;
	k->main_seen = true;
	wire_attach_put(&wr, &m);
	bug_on(wr_end(&wr) < 0);
	k->main.fn = on_log;
	k->main.gone = log_over;
	/* Without a log it runs all the same. */
	if (guest_conn_open(k, &k->main, req, wr.len) < 0)
		return;
}

/* ---- Its start ---- */

static const struct cause failed = {
	.reason = HUTCH_REASON_HOST_ERROR,
	.text = "the agent did not start the main process",
};

/* "MAIN could not be run": by convention an exit code, with the reason. */
static void refused(struct keeper *k, const struct wire_frame *f)
{
	struct cause c = { .reason = HUTCH_REASON_EXITED,
			   .exit_code = CODE_FAILED };
	struct msg_error m;

	if (wire_error_parse(f->data, f->len, &m, NULL) < 0)
		return;
	if (m.kind == WIRE_ERR_BOOT) {
		guest_boot_failed(k, m.sentence);
		return;
	}
	if (m.kind == WIRE_ERR_NOT_FOUND)
		c.exit_code = CODE_NOT_FOUND;
	if (m.kind == WIRE_ERR_NOT_EXECUTABLE)
		c.exit_code = CODE_NOT_EXECUTABLE;
	if (k->cause.reason == HUTCH_REASON_NONE)
		c.text = log_escape(k->cause_buf, sizeof(k->cause_buf),
				    m.sentence, strlen(m.sentence));
	ended(k, &c);
}

/* Its first frame is its last. */
static bool on_exec(struct keeper *k, const struct wire_frame *f)
{
	k->main_begun = f->type == WIRE_STARTED || f->type == WIRE_ERROR;
	if (k->main_begun && !k->gone)
		keeper_ready(k);
	if (f->type == WIRE_ERROR)
		refused(k, f);
	return false;
}

static void on_never_begun(struct loop_timer *t)
{
	struct keeper *k = container_of(t, struct keeper, main_timer);

	keeper_end(k, &failed, (int)k->rec->grace_ms);
}

bool mainproc_awaited(const struct keeper *k)
{
	return k->exec.conn.fd >= 0 && !k->main_begun;
}

static void exec_over(struct keeper *k)
{
	if (!k->gone && k->events.conn.hello)
		keeper_ready(k);
	if (!k->main_begun && !k->gone && !k->ending)
		loop_timer_set(&k->loop, &k->main_timer, DYING_MS * NS_PER_MS,
			       on_never_begun);
}

int mainproc_open(struct keeper *k, struct err *e)
{
	auto_free char *req = NULL;
	size_t len = 0;
	char path[32];
	int fd = take_fd(&k->fd[LAUNCH_FD_MAIN]), r;

	if (fd < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = io_read_file(-1, path, WIRE_HDR_LEN + WIRE_MSG_MAX, &req, &len, e);
	(void)close(fd);
	if (r < 0)
		return r;
	k->exec.fn = on_exec;
	k->exec.gone = exec_over;
	r = guest_conn_open(k, &k->exec, req, len);
	return r < 0 ? err_set(e, r, "cannot connect to the VM: %s",
			       strerror(-r))
		     : 0;
}
