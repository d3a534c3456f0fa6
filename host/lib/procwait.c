/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/procwait.c - wait for a process's end, a line of it, or a port
 *
 * The end and a line are waited for by attaching (hutch_attach()), so that the
 * stream's checks hold here too; a port by a request of its own.
 *
 * The time-out of a process is kept by the agent, and by who waits for it: we
 * ask first how long that is, so that a guest that is stalled, and keeps no
 * time, holds nobody for ever.
 */
#include <errno.h>
#include <regex.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/wire_proc.h"
#include "host/lib/exec.h"
#include "host/lib/execmsg.h"
#include "host/lib/internal.h"
#include "host/lib/procs.h"

#define LINE_CAP 65536u

/* A main process that is about to be started is not there for a moment. */
#define MAIN_STEP_MS 20
#define MAIN_WAIT_MS 5000
/*
 * One look, which is no wait: for the guest's answer, and for a port, of which
 * a guest says nothing while nobody listens.
 */
#define LOOK_MS      HUTCH_ANSWER_MS
#define LOOK_PORT_MS 1000

/**
 * struct lines - The last line of a stream so far
 * @cursor:	Of the byte behind it
 * @buf:	LINE_CAP bytes and a NUL
 */
struct lines {
	uint64_t cursor;
	size_t len;
	char *buf;
};

/**
 * struct waiting - One call
 * @is_main:	It is the main process, which may not have been started yet
 * @end_ns:	See deadline_in()
 * @main_end_ns: How long to wait for that
 * @timeout_ms:	Of the process, as @grace_ms; 0: none is known
 */
struct waiting {
	struct hutch *h;
	const char *name;
	const char *proc;
	bool is_main;
	const struct hutch_wait_opts *o;
	uint64_t end_ns;
	uint64_t main_end_ns;
	uint64_t timeout_ms;
	unsigned int grace_ms;
	regex_t re;
	bool has_re;
	struct lines lines[2];
	struct hutch_wait_result res;
};

/* Only what is there already. */
static bool looks_once(const struct waiting *w)
{
	return w->o->timeout_ms == 0;
}

static int left_ms(const struct waiting *w)
{
	return deadline_left_ms(w->end_ns);
}

/* ---- The process's own time ---- */

static bool is_up(const struct waiting *w)
{
	struct session s;

	session_init(&s, w->h, w->name);
	return session_is_up(&s);
}

/*
 * A guest may boot for as long as it takes; one that has must answer.  What
 * else is wrong the request itself will tell.
 *
 * Return: 0; -ETIMEDOUT with a sentence
 */
static int learn_time(struct waiting *w, struct err *e)
{
	struct hutch_process **list = NULL;
	int r = -ETIMEDOUT;

	w->timeout_ms = 0;
	if (looks_once(w) || !*w->proc)
		return 0;
	while (r == -ETIMEDOUT && left_ms(w) != 0) {
		const uint64_t answer = deadline_in(HUTCH_GUEST_MS);
		bool up = is_up(w);

		r = procs_find(w->h, w->name, w->proc,
			       deadline_sooner(answer, w->end_ns), &list, e);
		if (r == -ETIMEDOUT && up && left_ms(w) != 0)
			return r;
	}
	if (r == 0 && list[0]->state == HUTCH_PROCESS_RUNNING) {
		w->timeout_ms = list[0]->timeout_ms;
		w->grace_ms = list[0]->grace_ms;
	}
	hutch_processes_free(list);
	return 0;
}

/* See deadline_in(): when the guest must have said how it ended. */
static uint64_t overdue_ns(const struct waiting *w)
{
	if (!w->timeout_ms)
		return 0;
	return deadline_in(
		(int64_t)(MIN(w->timeout_ms, EXECMSG_TIMEOUT_MAX_MS) +
			  w->grace_ms + EXEC_MARGIN_MS));
}

/* ---- Lines ---- */

/* Return: whether it matches, and then what it was is in the result. */
static bool match(struct waiting *w, int stream, uint64_t after)
{
	struct lines *l = &w->lines[stream];
	size_t len = l->len;

	/* A terminal's lines end in both. */
	if (len && l->buf[len - 1] == '\r')
		len--;
	for (size_t i = 0; i < len; i++)
		if (!l->buf[i])
			l->buf[i] = '\n';
	l->buf[len] = '\0';
	l->len = 0;
	if (regexec(&w->re, l->buf, 0, NULL, 0) != 0)
		return false;
	w->res.outcome = HUTCH_WAITED_MATCHED;
	w->res.stream = stream + 1;
	w->res.cursor = after;
	(void)log_escape(w->res.line, sizeof(w->res.line), l->buf, len);
	return true;
}

static bool take_output(struct waiting *w, const struct hutch_exec_event *ev)
{
	int i = ev->stream - 1;
	struct lines *l = &w->lines[i];
	const char *p = ev->data, *end = p + ev->len;
	uint64_t cursor = ev->cursor;

	while (p < end) {
		size_t n = MIN((size_t)(end - p), LINE_CAP - l->len);
		const char *nl = memchr(p, '\n', n);
		size_t line = nl ? (size_t)(nl - p) : n;

		memcpy(l->buf + l->len, p, line);
		l->len += line;
		line += nl != NULL;
		p += line;
		cursor += line;
		if ((nl || l->len == LINE_CAP) && match(w, i, cursor))
			return true;
	}
	l->cursor = cursor;
	return false;
}

/* At the end what has no newline is a line too. */
static bool take_rest(struct waiting *w)
{
	for (int i = 0; i < 2; i++)
		if (w->has_re && w->lines[i].len &&
		    match(w, i, w->lines[i].cursor))
			return true;
	return false;
}

/* ---- The end, by attaching ---- */

static void take_exit(struct waiting *w, const struct hutch_exec_event *ev)
{
	w->res.outcome = HUTCH_WAITED_EXITED;
	w->res.how = ev->how;
	w->res.value = ev->value;
	w->res.timed_out = ev->timed_out;
	w->res.oom = ev->oom;
	w->res.lingering = ev->lingering;
}

/* Return: 1 it is over, 0 go on, or -errno. */
static int take_event(struct waiting *w, const struct hutch_exec_event *ev,
		      struct err *e)
{
	switch (ev->kind) {
	case HUTCH_EXEC_STDOUT:
	case HUTCH_EXEC_STDERR:
		return w->has_re && take_output(w, ev);
	case HUTCH_EXEC_TRUNCATED:
		w->lines[ev->stream - 1].len = 0;
		return 0;
	case HUTCH_EXEC_EXIT:
		if (!take_rest(w))
			take_exit(w, ev);
		return 1;
	case HUTCH_EXEC_ERROR:
		return err_set(e, ev->code == -ESRCH ? -ESRCH : -EIO, "%s",
			       ev->msg);
	case HUTCH_EXEC_END:
		w->res.outcome = HUTCH_WAITED_TIMED_OUT;
		return 1;
	case HUTCH_EXEC_STARTED:
	default:
		return 0;
	}
}

static int follow(struct waiting *w, struct hutch_exec *x, struct err *e)
{
	struct hutch_exec_event ev;
	int r = 0;

	while (r == 0) {
		int left = left_ms(w);

		r = hutch_exec_wait(x, &ev, left, (struct hutch_err *)e);
		if (r > 0)
			r = take_event(w, &ev, e);
		else if (r == 0)
			break;
		/* One that never stops talking is out of time as well. */
		if (r == 0 && left == 0)
			break;
	}
	if (r == 0)
		w->res.outcome = HUTCH_WAITED_TIMED_OUT;
	return MIN(r, 0);
}

static int by_attaching(struct waiting *w, struct err *e)
{
	struct hutch_attach_opts o = HUTCH_ATTACH_OPTS_INIT;
	struct hutch_exec *x = NULL;
	int r;

	o.flags = looks_once(w) ? 0 : HUTCH_ATTACH_FOLLOW;
	o.timeout_ms = w->timeout_ms;
	o.grace_ms = w->grace_ms;
	if (w->has_re)
		o.stdout_from = o.stderr_from = w->o->from;
	else
		o.flags |= HUTCH_ATTACH_NO_STDOUT | HUTCH_ATTACH_NO_STDERR;
	w->lines[0].len = w->lines[1].len = 0;
	r = hutch_attach(w->h, w->name, w->proc, &o, &x, (struct hutch_err *)e);
	if (r == 0)
		r = follow(w, x, e);
	/* A VM that has ended is another thing than no such process. */
	if (r == -ESRCH && (!x || hutch_exec_record(x)))
		w->is_main = false;
	hutch_exec_close(x);
	return r;
}

/* ---- A port ---- */

static int port_answer(struct waiting *w, const struct wire_frame *f,
		       struct err *e)
{
	struct hutch_exec_event ev = { 0 };
	struct msg_exit m;
	int r;

	switch (f->type) {
	case WIRE_DONE:
		w->res.outcome = HUTCH_WAITED_MATCHED;
		return 0;
	case WIRE_EXIT:
		r = wire_exit_parse(f->data, f->len, &m, e);
		if (r < 0)
			return r;
		execin_exit(&m, &ev);
		take_exit(w, &ev);
		return 0;
	case WIRE_ERROR:
		return procs_error(f, e);
	default:
		return err_set(e, -EBADMSG, "%s is no answer to WAIT_PORT",
			       wire_type_name(f->type));
	}
}

static int by_port(struct waiting *w, struct err *e)
{
	const struct msg_wait_port m = { .port = (uint16_t)w->o->port,
					 .id = w->proc };
	const uint64_t overdue = overdue_ns(w);
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct wire_frame f;
	struct session s;
	int r;

	wire_wait_port_put(&wr, &m);
	bug_on(wr_end(&wr) < 0);
	session_init(&s, w->h, w->name);
	r = session_open(&s, e);
	if (r == 0)
		r = session_send(&s, buf, wr.len, e);
	if (r == 0)
		r = session_await(&s, deadline_sooner(w->end_ns, overdue), &f,
				  e);
	if (r == -ETIMEDOUT && left_ms(w) != 0) {
		r = exec_stalled(w->name, e);
	} else if (r == -ETIMEDOUT) {
		w->res.outcome = HUTCH_WAITED_TIMED_OUT;
		r = 0;
	} else if (r == 0) {
		r = port_answer(w, &f, e);
	}
	if (s.rec)
		w->is_main = false;
	session_close(&s);
	return r;
}

/* ---- In order ---- */

static int check(const char *name, const char *proc,
		 const struct hutch_wait_opts *o, struct err *e)
{
	int r = name_check(name, e);

	if (r == 0 && proc)
		r = session_check_proc(proc, e);
	if (r < 0)
		return r;
	switch (o->what) {
	case HUTCH_WAIT_FOR_EXIT:
		return 0;
	case HUTCH_WAIT_FOR_LINE:
		return o->line ? 0
			       : err_set(e, -EINVAL, "wait: no line is given");
	case HUTCH_WAIT_FOR_PORT:
		return o->port >= 1 && o->port <= 65535
			       ? 0
			       : err_set(e, -EINVAL,
					 "wait: port %u is not in 1..65535",
					 o->port);
	default:
		return err_set(e, -EINVAL, "wait: %d is not known",
			       (int)o->what);
	}
}

static int compile(struct waiting *w, struct err *e)
{
	char why[128];
	int r;

	if (w->o->what != HUTCH_WAIT_FOR_LINE)
		return 0;
	r = regcomp(&w->re, w->o->line, REG_EXTENDED | REG_NOSUB);
	if (r != 0) {
		(void)regerror(r, &w->re, why, sizeof(why));
		return err_set(e, -EINVAL, "wait: bad expression: %s", why);
	}
	w->has_re = true;
	for (int i = 0; i < 2; i++) {
		w->lines[i].buf = malloc(LINE_CAP + 1);
		if (!w->lines[i].buf)
			return err_set(e, -ENOMEM, "no memory");
	}
	return 0;
}

static int find_main(struct waiting *w, struct err *e)
{
	int r;

	if (w->proc) {
		w->is_main = strcmp(w->proc, SESSION_MAIN) == 0;
		return 0;
	}
	r = session_main(w->h, w->name, &w->proc, e);
	w->is_main = r == 0;
	if (r == -ENOENT && w->o->what == HUTCH_WAIT_FOR_PORT) {
		w->proc = "";
		return 0;
	}
	return r;
}

static int wait_once(struct waiting *w, struct err *e)
{
	int r = learn_time(w, e);

	if (r < 0)
		return r;
	return w->o->what == HUTCH_WAIT_FOR_PORT ? by_port(w, e)
						 : by_attaching(w, e);
}

/* Again, if it is a main process that has not been started yet. */
static int wait_for(struct waiting *w, struct err *e)
{
	static const struct timespec step = { .tv_nsec = MAIN_STEP_MS *
							 1000000l };
	int r = wait_once(w, e);

	w->main_end_ns = deadline_in(MAIN_WAIT_MS);
	while (r == -ESRCH && w->is_main && !looks_once(w) && left_ms(w) != 0 &&
	       deadline_left_ms(w->main_end_ns) != 0) {
		(void)nanosleep(&step, NULL);
		r = wait_once(w, e);
	}
	return r;
}

static int patience_ms(const struct waiting *w)
{
	if (!looks_once(w))
		return w->o->timeout_ms;
	return w->o->what == HUTCH_WAIT_FOR_PORT ? LOOK_PORT_MS : LOOK_MS;
}

static void done(struct waiting *w)
{
	if (w->has_re)
		regfree(&w->re);
	free(w->lines[0].buf);
	free(w->lines[1].buf);
}

int hutch_process_wait(struct hutch *h, const char *name, const char *proc,
		       const struct hutch_wait_opts *opts,
		       struct hutch_wait_result *ret, struct hutch_err *e)
{
	struct hutch_wait_opts o;
	struct waiting w = { .h = h, .name = name, .proc = proc, .o = &o };
	int r = opts_take(&o, sizeof(o), opts, opts->size, err_of(e));

	if (r == 0)
		r = check(name, proc, &o, err_of(e));
	if (r < 0)
		return r;
	w.end_ns = deadline_in(patience_ms(&w));
	r = compile(&w, err_of(e));
	if (r == 0)
		r = find_main(&w, err_of(e));
	if (r == 0)
		r = wait_for(&w, err_of(e));
	done(&w);
	if (r == 0)
		*ret = w.res;
	return r;
}
