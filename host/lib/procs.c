/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/procs.c - processes of a VM: list, kill, drop */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "common/wire_proc.h"
#include "host/lib/internal.h"
#include "host/lib/procs.h"
#include "host/lib/session.h"

/* The agent's table holds 1024, and what runs beyond that. */
#define PROCS_MAX       4096
#define PROCS_BYTES_MAX (64u << 20)

/* ---- One request, one answer ---- */

int procs_error(const struct wire_frame *f, struct err *e)
{
	struct msg_error m;
	char text[HUTCH_ERR_MAX];
	int code = wire_error_parse(f->data, f->len, &m, e);

	if (code < 0)
		return code;
	/* A guest has no say in what other codes of ours mean. */
	switch (m.kind == WIRE_ERR_NO_PROCESS ? ESRCH : (int)m.code) {
	case ESRCH:
		code = -ESRCH;
		break;
	case EBUSY:
		code = -EBUSY;
		break;
	case EINVAL:
		code = -EINVAL;
		break;
	default:
		code = -EIO;
	}
	return err_set(
		e, code, "%s",
		log_escape(text, sizeof(text), m.sentence, strlen(m.sentence)));
}

static int unexpected(const struct wire_frame *f, struct err *e)
{
	return err_set(e, -EBADMSG, "%s is not what was asked for",
		       wire_type_name(f->type));
}

static int open_call(struct session *s, struct hutch *h, const char *name,
		     const struct wr *req, struct err *e)
{
	int r;

	bug_on(wr_end(req) < 0);
	session_init(s, h, name);
	r = session_open(s, e);
	return r < 0 ? r : session_send(s, req->buf, req->len, e);
}

/* A request whose answer is DONE or ERROR. */
static int call_done(struct hutch *h, const char *name, const struct wr *req,
		     struct err *e)
{
	uint64_t end = deadline_in(HUTCH_GUEST_MS);
	struct wire_frame f = { 0 };
	struct session s;
	int r = open_call(&s, h, name, req, e);

	if (r == 0)
		r = session_await(&s, end, &f, e);
	if (r == 0 && f.type == WIRE_ERROR)
		r = procs_error(&f, e);
	else if (r == 0 && f.type != WIRE_DONE)
		r = unexpected(&f, e);
	session_close(&s);
	return r;
}

static int check_names(const char *name, const char *proc, struct err *e)
{
	int r = name_check(name, e);

	return r < 0 ? r : session_check_proc(proc, e);
}

/* NOLINTNEXTLINE(readability-function-size): each says something of its own */
int hutch_process_kill(struct hutch *h, const char *name, const char *proc,
		       int signo, unsigned int flags, int grace_ms,
		       struct hutch_err *e)
{
	const struct msg_kill m = {
		.signo = (uint32_t)signo,
		.scope = flags & HUTCH_KILL_ONE ? WIRE_SCOPE_ONE
						: WIRE_SCOPE_TREE,
		.grace_ms = (uint32_t)MAX(grace_ms, 0),
		.id = proc,
	};
	uint8_t buf[256];
	struct wr wr = wr_init(buf, sizeof(buf));
	int r = check_names(name, proc, err_of(e));

	if (r < 0)
		return r;
	if (flags & ~HUTCH_KILL_ONE)
		return err_set(err_of(e), -EINVAL, "kill: unknown flags %#x",
			       flags & ~HUTCH_KILL_ONE);
	if (signo < 1 || signo > (int)WIRE_SIGNAL_MAX)
		return err_set(err_of(e), -EINVAL, "signal %d is not in 1..%u",
			       signo, WIRE_SIGNAL_MAX);
	if (m.grace_ms > WIRE_GRACE_MAX_MS || (m.grace_ms && (flags & 1)))
		return err_set(err_of(e), -EINVAL,
			       "kill: a grace is at most a day, and of a whole "
			       "tree only");
	wire_kill_put(&wr, &m);
	return call_done(h, name, &wr, err_of(e));
}

int hutch_process_drop(struct hutch *h, const char *name, const char *proc,
		       struct hutch_err *e)
{
	const struct msg_drop m = { .id = proc };
	uint8_t buf[256];
	struct wr wr = wr_init(buf, sizeof(buf));
	int r = check_names(name, proc, err_of(e));

	if (r < 0)
		return r;
	wire_drop_put(&wr, &m);
	return call_done(h, name, &wr, err_of(e));
}

/* ---- The list ---- */

/**
 * struct process - What hutch_processes() hands out, and what is behind it
 * @pub:	First, so that one pointer is the other
 * @frame:	The payload it came in, with all its strings
 * @m:		Its lists
 */
struct process {
	struct hutch_process pub;
	uint8_t *frame;
	struct msg_process m;
};

static void process_free(struct process *p)
{
	if (!p)
		return;
	wire_process_done(&p->m);
	free(p->frame);
	free(p);
}

void hutch_processes_free(struct hutch_process **list)
{
	for (size_t i = 0; list && list[i]; i++)
		process_free(container_of(list[i], struct process, pub));
	free(list);
}

static const char *const *list_of(const char **v)
{
	const char *const *w;

	memcpy(&w, &v, sizeof(w));
	return w;
}

static void fill(struct process *p, bool env)
{
	const struct msg_process *m = &p->m;

	p->pub = (struct hutch_process){
		.id = m->id,
		.pid = (int)m->pid,
		.state = (enum hutch_process_state)m->state,
		.how = (enum hutch_exec_how)m->how,
		.value = (int)m->value,
		.timed_out = !!(m->flags & WIRE_EXIT_TIMED_OUT),
		.oom = !!(m->flags & WIRE_EXIT_OOM),
		.core_dumped = !!(m->flags & WIRE_EXIT_CORE),
		.tty = !!(m->flags & WIRE_PROC_PTY),
		.main = !!(m->flags & WIRE_PROC_MAIN),
		.foreground = !!(m->flags & WIRE_PROC_FOREGROUND),
		.has_stdin = !!(m->flags & WIRE_PROC_STDIN),
		.attached = m->attached,
		.argv = list_of(m->argv),
		.argv_cut = !!(m->flags & WIRE_PROC_ARGS_CUT),
		.env = env ? list_of(m->env) : NULL,
		.env_cut = !!(m->flags & WIRE_PROC_ENV_CUT),
		.user = m->user,
		.workdir = m->cwd,
		.start_ns = (int64_t)m->start_ns,
		.end_ns = (int64_t)m->end_ns,
		.timeout_ms = m->timeout_ms,
		.memory = m->memory,
		.pids = m->pids,
		.cpu_weight = m->cpu_weight,
		.stdout_total = m->stdout_total,
		.stderr_total = m->stderr_total,
		.stdout_cut = m->stdout_cut,
		.stderr_cut = m->stderr_cut,
		.grace_ms = m->grace_ms,
	};
}

int procs_parse(const struct wire_frame *f, unsigned int flags,
		struct hutch_process **ret, struct err *e)
{
	struct process *p = calloc(1, sizeof(*p));
	int r;

	_Static_assert(HUTCH_PROCESS_RUNNING == (int)WIRE_PROC_RUNNING &&
			       HUTCH_PROCESS_LINGERING ==
				       (int)WIRE_PROC_LINGERING &&
			       HUTCH_PROCESS_EXITED == (int)WIRE_PROC_EXITED &&
			       HUTCH_EXEC_EXITED == (int)WIRE_HOW_EXITED &&
			       HUTCH_EXEC_SIGNALLED == (int)WIRE_HOW_SIGNALLED,
		       "states are those of the wire");
	/* Of the exact size, so that nothing lies behind the strings. */
	if (p)
		p->frame = malloc(f->len ? f->len : 1);
	if (!p || !p->frame) {
		free(p);
		return err_set(e, -ENOMEM, "no memory");
	}
	memcpy(p->frame, f->data, f->len);
	r = wire_process_parse(p->frame, f->len, &p->m, e);
	if (r < 0) {
		free(p->frame);
		free(p);
		return r;
	}
	fill(p, flags & HUTCH_PROCESSES_ENV);
	*ret = &p->pub;
	return 0;
}

/**
 * struct table - Processes as they come
 * @end_ns:	When all must be there; see deadline_in()
 * @list:	@n of them and a NULL; room for @cap
 */
struct table {
	uint64_t end_ns;
	struct hutch_process **list;
	size_t n;
	size_t cap;
	size_t bytes;
};

static int add(struct table *t, const struct wire_frame *f, unsigned int flags,
	       struct err *e)
{
	int r;

	if (t->n == PROCS_MAX || f->len > PROCS_BYTES_MAX - t->bytes)
		return err_set(e, -EBADMSG,
			       "more than %d processes, or %u bytes, are told",
			       PROCS_MAX, PROCS_BYTES_MAX);
	if (t->n + 1 >= t->cap) {
		size_t cap = MAX(t->cap * 2, 16);
		struct hutch_process **more =
			realloc(t->list, cap * sizeof(struct hutch_process *));

		if (!more)
			return err_set(e, -ENOMEM, "no memory");
		t->list = more;
		t->cap = cap;
	}
	t->bytes += f->len;
	/* Always ends in NULL, for who frees it. */
	t->list[t->n] = NULL;
	r = procs_parse(f, flags, &t->list[t->n], e);
	if (r == 0)
		t->list[++t->n] = NULL;
	return r;
}

static int collect(struct session *s, unsigned int flags, struct table *t,
		   struct err *e)
{
	struct wire_frame f;
	int r;

	while ((r = session_await(s, t->end_ns, &f, e)) == 0) {
		if (f.type == WIRE_DONE)
			return 0;
		if (f.type == WIRE_ERROR)
			return procs_error(&f, e);
		r = f.type == WIRE_PROCESS ? add(t, &f, flags, e)
					   : unexpected(&f, e);
		if (r < 0)
			break;
	}
	return r;
}

static int list_all(struct hutch *h, const char *name, const char *proc,
		    unsigned int flags, struct table *t, struct err *e)
{
	const struct msg_list m = {
		.flags = flags & HUTCH_PROCESSES_ENV ? WIRE_LIST_ENV : 0,
		.id = proc ? proc : "",
	};
	uint8_t buf[256];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct session s;
	int r;

	wire_list_put(&wr, &m);
	r = open_call(&s, h, name, &wr, e);
	if (r == 0)
		r = collect(&s, flags, t, e);
	session_close(&s);
	if (r == 0 && proc && t->n == 0)
		r = err_set(e, -ESRCH, "VM '%s' has no process '%s'", name,
			    proc);
	return r;
}

int procs_find(struct hutch *h, const char *name, const char *proc,
	       uint64_t end_ns, struct hutch_process ***ret, struct err *e)
{
	struct table t = { .end_ns = end_ns };
	int r = list_all(h, name, proc, 0, &t, e);

	if (r == 0)
		*ret = t.list;
	else
		hutch_processes_free(t.list);
	return r;
}

int hutch_processes(struct hutch *h, const char *name, const char *proc,
		    unsigned int flags, struct hutch_process ***ret,
		    struct hutch_err *e)
{
	struct table t = { .end_ns = deadline_in(HUTCH_GUEST_MS) };
	int r = name_check(name, err_of(e));

	if (r == 0 && proc)
		r = session_check_proc(proc, err_of(e));
	if (r == 0 && (flags & ~HUTCH_PROCESSES_ENV))
		r = err_set(err_of(e), -EINVAL, "processes: unknown flags %#x",
			    flags & ~HUTCH_PROCESSES_ENV);
	if (r == 0)
		r = list_all(h, name, proc, flags, &t, err_of(e));
	/* Always a list, if an empty one. */
	if (r == 0 && !t.list)
		t.list = calloc(1, sizeof(struct hutch_process *));
	if (r == 0 && !t.list)
		r = err_set(err_of(e), -ENOMEM, "no memory");
	if (r < 0) {
		hutch_processes_free(t.list);
		return r;
	}
	*ret = t.list;
	return (int)t.n;
}
