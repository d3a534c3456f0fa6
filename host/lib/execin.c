/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/execin.c - what comes of a command, frame by frame
 *
 * An exit is believed only if as many bytes of output have come as it says
 * were written: a broken stream is an error, never an exit code.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/wire_proc.h"
#include "host/lib/exec.h"
#include "host/lib/internal.h"

static int bad_cursor(struct hutch_exec *x, uint64_t got, uint64_t want)
{
	return err_set(&x->why, -EBADMSG,
		       "output goes on at byte %llu, not at %llu",
		       (unsigned long long)got, (unsigned long long)want);
}

static int on_output(struct hutch_exec *x, const struct wire_frame *f,
		     struct hutch_exec_event *ev)
{
	int i = f->type == WIRE_STDERR;
	struct exec_stream *s = &x->out[i];
	struct msg_output m;
	int r = wire_output_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	if (s->known && m.cursor != s->next)
		return bad_cursor(x, m.cursor, s->next);
	/* One beyond the end was taken as the end, so less is fine. */
	if (!s->known && !x->back && m.cursor > s->from)
		return bad_cursor(x, m.cursor, s->from);
	s->known = true;
	s->next = m.cursor + m.len;
	ev->kind = i ? HUTCH_EXEC_STDERR : HUTCH_EXEC_STDOUT;
	ev->stream = i + 1;
	ev->data = m.data;
	ev->len = m.len;
	ev->cursor = m.cursor;
	ev->time_ns = (int64_t)m.time_ns;
	return 1;
}

static int on_truncated(struct hutch_exec *x, const struct wire_frame *f,
			struct hutch_exec_event *ev)
{
	struct exec_stream *s;
	struct msg_truncated m;
	int r = wire_truncated_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	if (!x->attached)
		return err_set(&x->why, -EBADMSG,
			       "output of a command is cut that waits for us");
	s = &x->out[m.stream - 1];
	if (s->known && m.cursor - m.lost != s->next)
		return bad_cursor(x, m.cursor - m.lost, s->next);
	s->known = true;
	s->next = m.cursor;
	ev->kind = HUTCH_EXEC_TRUNCATED;
	ev->stream = (int)m.stream;
	ev->cursor = m.cursor;
	ev->lost = m.lost;
	return 1;
}

/* Whether what an exit says of a stream is what has come of it. */
static bool is_complete(const struct hutch_exec *x, int i, uint64_t total)
{
	const struct exec_stream *s = &x->out[i];

	if (s->shut)
		return true;
	if (s->known)
		return total == s->next;
	/* Nothing has come: because there was nothing to come. */
	return x->back ? s->from == 0 || total == 0 : total <= s->from;
}

void execin_exit(const struct msg_exit *m, struct hutch_exec_event *ev)
{
	ev->kind = HUTCH_EXEC_EXIT;
	ev->how = m->how == WIRE_HOW_EXITED ? HUTCH_EXEC_EXITED
					    : HUTCH_EXEC_SIGNALLED;
	ev->value = (int)m->value;
	ev->timed_out = !!(m->flags & WIRE_EXIT_TIMED_OUT);
	ev->oom = !!(m->flags & WIRE_EXIT_OOM);
	ev->core_dumped = !!(m->flags & WIRE_EXIT_CORE);
	ev->lingering = m->state == WIRE_STATE_LINGERING;
	ev->stdout_cut = m->stdout_cut;
	ev->stderr_cut = m->stderr_cut;
	ev->end_ns = (int64_t)m->end_ns;
}

static int on_exit_frame(struct hutch_exec *x, const struct wire_frame *f,
			 struct hutch_exec_event *ev)
{
	struct msg_exit m;
	int r = wire_exit_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	if (!is_complete(x, 0, m.stdout_total) ||
	    !is_complete(x, 1, m.stderr_total))
		return err_set(&x->why, -EBADMSG,
			       "output is incomplete: %llu and %llu bytes were "
			       "written, %llu and %llu came",
			       (unsigned long long)m.stdout_total,
			       (unsigned long long)m.stderr_total,
			       (unsigned long long)x->out[0].next,
			       (unsigned long long)x->out[1].next);
	execin_exit(&m, ev);
	x->over = -ENODATA;
	return 1;
}

static int on_done(struct hutch_exec *x, struct hutch_exec_event *ev)
{
	if (!x->attached || x->follow)
		return err_set(&x->why, -EBADMSG,
			       "DONE is no answer to a command");
	ev->kind = HUTCH_EXEC_END;
	x->over = -ENODATA;
	return 1;
}

static int on_error(struct hutch_exec *x, const struct wire_frame *f,
		    struct hutch_exec_event *ev)
{
	static const enum hutch_exec_error kinds[] = {
		[WIRE_ERR_GENERAL] = HUTCH_EXEC_ERROR_GENERAL,
		[WIRE_ERR_NOT_FOUND] = HUTCH_EXEC_ERROR_NOT_FOUND,
		[WIRE_ERR_NOT_EXECUTABLE] = HUTCH_EXEC_ERROR_NOT_EXECUTABLE,
		[WIRE_ERR_BAD_REQUEST] = HUTCH_EXEC_ERROR_GENERAL,
		[WIRE_ERR_LIMIT] = HUTCH_EXEC_ERROR_LIMIT,
		[WIRE_ERR_NO_PROCESS] = HUTCH_EXEC_ERROR_GENERAL,
		[WIRE_ERR_BOOT] = HUTCH_EXEC_ERROR_GENERAL,
	};
	struct msg_error m;
	int r = wire_error_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	bug_on(m.kind >= ARRAY_LEN(kinds));
	ev->kind = HUTCH_EXEC_ERROR;
	ev->error = kinds[m.kind];
	ev->code = m.code <= 4095 ? -(int)m.code : -EIO;
	if (m.kind == WIRE_ERR_NO_PROCESS)
		ev->code = -ESRCH;
	ev->msg = log_escape(x->msg, sizeof(x->msg), m.sentence,
			     strlen(m.sentence));
	x->over = -ENODATA;
	return 1;
}

static int on_started(struct hutch_exec *x, const struct wire_frame *f,
		      struct hutch_exec_event *ev)
{
	struct msg_started m;
	int r = wire_started_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	if (x->started)
		return err_set(&x->why, -EBADMSG, "it has started before");
	x->started = true;
	ev->kind = HUTCH_EXEC_STARTED;
	ev->pid = (int)m.pid;
	ev->start_ns = (int64_t)m.start_ns;
	(void)snprintf(x->msg, sizeof(x->msg), "%s", m.id);
	ev->id = x->msg;
	if (x->detach)
		x->over = -ENODATA;
	return 1;
}

static int on_ack(struct hutch_exec *x, const struct wire_frame *f)
{
	struct msg_stdin_ack m;
	int r = wire_stdin_ack_parse(f->data, f->len, &m, &x->why);
	bool closed;

	if (r < 0)
		return r;
	closed = m.flags & WIRE_ACK_CLOSED;
	if (m.consumed < x->acked || m.consumed > x->sent)
		return err_set(&x->why, -EBADMSG,
			       "%llu bytes of stdin are acknowledged, %llu "
			       "were sent",
			       (unsigned long long)m.consumed,
			       (unsigned long long)x->sent);
	/* No event comes of it, so that without end it would hold us up. */
	if (m.consumed == x->acked && (x->unread || !closed))
		return err_set(&x->why, -EBADMSG,
			       "STDIN_ACK says nothing that is new");
	x->acked = m.consumed;
	if (closed) {
		x->unread = true;
		x->stdin_open = false;
	}
	return 0;
}

/* Return: 1 an event, 0 nothing for the caller, negative: it is over. */
static int on_frame(struct hutch_exec *x, const struct wire_frame *f,
		    struct hutch_exec_event *ev)
{
	if (!x->started && f->type != WIRE_STARTED && f->type != WIRE_ERROR)
		return err_set(&x->why, -EBADMSG, "%s comes before STARTED",
			       wire_type_name(f->type));
	switch (f->type) {
	case WIRE_STDOUT:
	case WIRE_STDERR:
		return on_output(x, f, ev);
	case WIRE_STDIN_ACK:
		return on_ack(x, f);
	case WIRE_STARTED:
		return on_started(x, f, ev);
	case WIRE_TRUNCATED:
		return on_truncated(x, f, ev);
	case WIRE_DONE:
		return on_done(x, ev);
	case WIRE_EXIT:
		return on_exit_frame(x, f, ev);
	case WIRE_ERROR:
		return on_error(x, f, ev);
	default:
		return err_set(&x->why, -EBADMSG,
			       "%s is no answer to a command",
			       wire_type_name(f->type));
	}
}

/* It is alive: from its greeting on its time runs, and anew from each word. */
static void note_life(struct hutch_exec *x, bool frame)
{
	uint64_t least = deadline_in(EXEC_MARGIN_MS);

	if (!x->patience_ms)
		return;
	if (x->s.conn.hello && !x->greeted) {
		x->greeted = true;
		x->deadline_ns = deadline_in((int64_t)x->patience_ms);
	}
	if (frame)
		x->deadline_ns = MAX(x->deadline_ns, least);
}

int execin_next(struct hutch_exec *x, struct hutch_exec_event *ev)
{
	struct wire_frame f;
	int r;

	do {
		r = conn_next(&x->s.conn, &f, &x->why);
		if (r == -EPIPE)
			return session_broken(&x->s, "the command ended",
					      &x->why);
		note_life(x, r > 0);
		if (r > 0) {
			r = on_frame(x, &f, ev);
			if (r == 0)
				continue;
		}
		break;
	} while (1);
	if (r == -EBADMSG)
		return err_wrap(&x->why, r,
				"VM '%s' sent what is not the protocol",
				x->s.name);
	return r;
}
