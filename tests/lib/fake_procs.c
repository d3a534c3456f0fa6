/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_procs.c - the fake agent's table of processes and its events
 *
 * Ids that begin with "evil-" are of no process, see fake_evil.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/lib/fake_vmm.h"

#define EVIL_PROCESSES 5000

/* ---- Events ---- */

static void tell_locked(struct fake *f, const struct msg_event *m)
{
	struct fake_event *ev = &f->event[f->n_events];

	if (f->n_events == FAKE_EVENTS)
		return;
	ev->m = *m;
	(void)snprintf(ev->id, sizeof(ev->id), "%s", m->id);
	(void)snprintf(ev->text, sizeof(ev->text), "%s", m->text);
	ev->m.id = ev->id;
	ev->m.text = ev->text;
	ev->m.time_ns = 1;
	f->n_events++;
	(void)pthread_cond_broadcast(&f->changed);
}

void fake_tell(struct fake *f, const struct msg_event *m)
{
	(void)pthread_mutex_lock(&f->lock);
	tell_locked(f, m);
	(void)pthread_mutex_unlock(&f->lock);
}

static void tell_busy(struct fake *f)
{
	unsigned int now = f->clients ? WIRE_BUSY_CLIENT : 0;

	for (unsigned int i = 0; i < f->n_procs; i++)
		if (!f->proc[i]->ended)
			now |= WIRE_BUSY_PROCESS;
	if (now == f->busy && f->n_events)
		return;
	f->busy = now;
	tell_locked(f, &(struct msg_event){ .what = WIRE_EVENT_BUSY,
					    .value = now,
					    .id = "",
					    .text = "" });
}

void fake_client(struct fake *f, int n)
{
	(void)pthread_mutex_lock(&f->lock);
	f->clients += (unsigned int)n;
	tell_busy(f);
	(void)pthread_mutex_unlock(&f->lock);
}

/* What there is goes in as few writes as can be. */
static void put_events(struct peer *p, unsigned int *next)
{
	static _Thread_local uint8_t buf[1u << 16];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct fake *f = p->f;

	(void)pthread_mutex_lock(&f->lock);
	while (*next == f->n_events)
		(void)pthread_cond_wait(&f->changed, &f->lock);
	while (*next < f->n_events && wr.len < sizeof(buf) - 2048)
		wire_event_put(&wr, &f->event[(*next)++].m);
	(void)pthread_mutex_unlock(&f->lock);
	fake_send(p, &wr);
	(void)pthread_mutex_lock(&f->lock);
	f->n_told = *next;
	(void)pthread_cond_broadcast(&f->changed);
	(void)pthread_mutex_unlock(&f->lock);
}

void fake_serve_events(struct peer *p)
{
	unsigned int next = 0;

	(void)pthread_mutex_lock(&p->f->lock);
	p->f->subscribed = true;
	tell_busy(p->f);
	(void)pthread_mutex_unlock(&p->f->lock);
	for (;;)
		put_events(p, &next);
}

void fake_await_told(struct fake *f)
{
	(void)pthread_mutex_lock(&f->lock);
	while (f->subscribed && f->n_told < f->n_events)
		(void)pthread_cond_wait(&f->changed, &f->lock);
	(void)pthread_mutex_unlock(&f->lock);
}

/* ---- The table ---- */

struct fake_proc *fake_proc_new(struct fake *f, const struct msg_exec *m)
{
	struct fake_proc *pr;

	(void)pthread_mutex_lock(&f->lock);
	if (f->n_procs == FAKE_PROCS)
		abort();
	pr = calloc(1, sizeof(*pr));
	if (!pr)
		abort();
	f->proc[f->n_procs++] = pr;
	pr->pid = 41 + f->n_procs;
	if (*m->id)
		(void)snprintf(pr->id, sizeof(pr->id), "%s", m->id);
	else
		(void)snprintf(pr->id, sizeof(pr->id), "p%u", f->n_procs);
	(void)snprintf(pr->program, sizeof(pr->program), "%s", m->argv[0]);
	if (m->flags & WIRE_EXEC_MAIN)
		pr->flags |= WIRE_PROC_MAIN;
	if (m->flags & WIRE_EXEC_PTY)
		pr->flags |= WIRE_PROC_PTY;
	tell_locked(f, &(struct msg_event){ .what = WIRE_EVENT_PROCESS_STARTED,
					    .flags = pr->flags,
					    .value = pr->pid,
					    .id = pr->id,
					    .text = pr->program });
	tell_busy(f);
	(void)pthread_mutex_unlock(&f->lock);
	return pr;
}

struct fake_proc *fake_proc_find(struct fake *f, const char *id)
{
	for (unsigned int i = f->n_procs; i-- > 0;)
		if (strcmp(f->proc[i]->id, id) == 0 && !f->proc[i]->dropped)
			return f->proc[i];
	return NULL;
}

void fake_put_chunk(struct peer *p, const struct fake_chunk *c)
{
	static _Thread_local uint8_t buf[WIRE_OUTPUT_HEAD + WIRE_DATA_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));
	const struct msg_output m = { .cursor = c->cursor,
				      .time_ns = 1,
				      .data = c->data,
				      .len = c->len };

	wire_output_put(&wr, c->stream ? WIRE_STDERR : WIRE_STDOUT, &m);
	fake_send(p, &wr);
}

static void keep(struct fake_proc *pr, const struct fake_chunk *c)
{
	struct fake_chunk *k = &pr->chunk[pr->n_chunks];

	if (pr->n_chunks == FAKE_CHUNKS || pr->stored + c->len > FAKE_STORE)
		return;
	*k = *c;
	k->data = malloc(c->len);
	if (!k->data)
		abort();
	memcpy(k->data, c->data, c->len);
	pr->stored += c->len;
	pr->n_chunks++;
}

void fake_output(struct peer *p, int stream, const void *data, size_t len)
{
	struct fake_proc *pr = p->proc;
	struct fake_chunk c = { .stream = stream, .len = len };

	memcpy(&c.data, &data, sizeof(data));
	(void)pthread_mutex_lock(&p->f->lock);
	c.cursor = pr->total[stream];
	pr->total[stream] += len;
	keep(pr, &c);
	(void)pthread_cond_broadcast(&p->f->changed);
	(void)pthread_mutex_unlock(&p->f->lock);
	if (!p->detached)
		fake_put_chunk(p, &c);
}

void fake_put_exit(struct peer *p, const struct msg_exit *m)
{
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_exit_put(&wr, m);
	fake_send(p, &wr);
}

static struct msg_event end_event(const struct fake_proc *pr,
				  enum wire_event_what what)
{
	return (struct msg_event){ .what = what,
				   .how = pr->end.how,
				   .flags = pr->end.flags,
				   .value = pr->end.value,
				   .id = pr->id,
				   .text = "" };
}

void fake_end(struct peer *p, const struct msg_exit *m)
{
	struct fake_proc *pr = p->proc;
	struct msg_event ev;
	char buf[64];

	(void)pthread_mutex_lock(&p->f->lock);
	pr->end = *m;
	pr->ended = true;
	ev = end_event(pr, WIRE_EVENT_PROCESS_EXITED);
	tell_locked(p->f, &ev);
	(void)pthread_mutex_unlock(&p->f->lock);
	if (!p->detached) {
		fake_put_exit(p, m);
		if (pr->flags & WIRE_PROC_MAIN)
			(void)shutdown(p->fd, SHUT_WR);
		/* The event comes when the client has gone. */
		while ((pr->flags & WIRE_PROC_MAIN) &&
		       recv(p->fd, buf, sizeof(buf), 0) > 0)
			continue;
	}
	(void)pthread_mutex_lock(&p->f->lock);
	ev = end_event(pr, WIRE_EVENT_MAIN_ENDED);
	if (pr->flags & WIRE_PROC_MAIN)
		tell_locked(p->f, &ev);
	tell_busy(p->f);
	(void)pthread_mutex_unlock(&p->f->lock);
}

/* ---- Attaching ---- */

static void no_process(struct peer *p)
{
	fake_error(p, ESRCH, WIRE_ERR_NO_PROCESS, "no such process");
}

/* From where a client wants each stream. */
static void wanted(const struct msg_attach *m, const struct fake_proc *pr,
		   uint64_t from[2])
{
	from[0] = MIN(m->stdout_from, pr->total[0]);
	from[1] = MIN(m->stderr_from, pr->total[1]);
	if (m->flags & WIRE_ATTACH_BACK)
		for (int i = 0; i < 2; i++)
			from[i] = pr->total[i] - from[i];
	if (m->flags & WIRE_ATTACH_NO_STDOUT)
		from[0] = UINT64_MAX;
	if (m->flags & WIRE_ATTACH_NO_STDERR)
		from[1] = UINT64_MAX;
}

/* The part of a chunk that lies behind @from. */
static void put_rest(struct peer *p, struct fake_chunk c, uint64_t from)
{
	if (from >= c.cursor + c.len)
		return;
	if (from > c.cursor) {
		c.data += from - c.cursor;
		c.len -= (size_t)(from - c.cursor);
		c.cursor = from;
	}
	fake_put_chunk(p, &c);
}

static bool attach_goes_on(struct fake *f, const struct fake_proc *pr, size_t i,
			   bool follow)
{
	bool more;

	(void)pthread_mutex_lock(&f->lock);
	while (follow && i == pr->n_chunks && !pr->ended)
		(void)pthread_cond_wait(&f->changed, &f->lock);
	more = i < pr->n_chunks;
	(void)pthread_mutex_unlock(&f->lock);
	return more;
}

static void attach_to(struct peer *p, const struct msg_attach *m,
		      const struct fake_proc *pr)
{
	bool follow = m->flags & WIRE_ATTACH_FOLLOW;
	uint64_t from[2];
	bool ended;

	fake_put_started(p, pr->id);
	(void)pthread_mutex_lock(&p->f->lock);
	wanted(m, pr, from);
	(void)pthread_mutex_unlock(&p->f->lock);
	for (size_t i = 0; attach_goes_on(p->f, pr, i, follow); i++)
		put_rest(p, pr->chunk[i], from[pr->chunk[i].stream]);
	(void)pthread_mutex_lock(&p->f->lock);
	ended = pr->ended;
	(void)pthread_mutex_unlock(&p->f->lock);
	if (ended)
		fake_put_exit(p, &pr->end);
	else
		fake_put_done(p);
}

void fake_serve_attach(struct peer *p, const struct wire_frame *f)
{
	const struct fake_proc *pr;
	struct msg_attach m;

	if (wire_attach_parse(f->data, f->len, &m, NULL) < 0)
		return;
	if (fake_be_evil(p, m.id))
		return;
	(void)pthread_mutex_lock(&p->f->lock);
	pr = fake_proc_find(p->f, m.id);
	(void)pthread_mutex_unlock(&p->f->lock);
	if (!pr) {
		no_process(p);
		return;
	}
	if (!(m.flags & WIRE_ATTACH_QUIET))
		fake_client(p->f, 1);
	attach_to(p, &m, pr);
	if (!(m.flags & WIRE_ATTACH_QUIET))
		fake_client(p->f, -1);
}

/* ---- The other requests ---- */

static void put_process(struct peer *p, const struct fake_proc *pr, bool env)
{
	static const char *envs[] = { "A=1", NULL };
	const char *argv[] = { pr->program, "\033", NULL };
	const struct msg_process m = {
		.pid = pr->pid,
		.state = pr->ended ? WIRE_PROC_EXITED : WIRE_PROC_RUNNING,
		.how = pr->end.how,
		.flags = pr->flags | pr->end.flags,
		.value = pr->end.value,
		.start_ns = 1,
		.end_ns = pr->ended ? 2 : 0,
		.timeout_ms = 3,
		.stdout_total = pr->total[0],
		.stderr_total = pr->total[1],
		.memory = 1 << 20,
		.pids = 5,
		.cpu_weight = 6,
		.grace_ms = 8,
		.attached = 7,
		.argc = 2,
		.envc = env,
		.id = pr->id,
		.user = "1000",
		.cwd = "/tmp",
		.argv = argv,
		.env = envs,
	};
	uint8_t buf[1024];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_process_put(&wr, &m);
	fake_send(p, &wr);
}

static void put_endless(struct peer *p)
{
	const struct fake_proc pr = { .id = "evil", .program = "x" };

	for (int i = 0; i < EVIL_PROCESSES; i++)
		put_process(p, &pr, false);
}

void fake_serve_list(struct peer *p, const struct wire_frame *f)
{
	struct msg_list m;
	unsigned int n;

	if (wire_list_parse(f->data, f->len, &m, NULL) < 0)
		return;
	if (strcmp(m.id, "evil-endless") == 0)
		put_endless(p);
	if (strcmp(m.id, "evil-frame") == 0) {
		fake_put_started(p, m.id);
		return;
	}
	(void)pthread_mutex_lock(&p->f->lock);
	n = p->f->n_procs;
	(void)pthread_mutex_unlock(&p->f->lock);
	for (unsigned int i = 0; i < n; i++) {
		const struct fake_proc *pr = p->f->proc[i];

		if (!pr->dropped && (!*m.id || strcmp(m.id, pr->id) == 0))
			put_process(p, pr, m.flags & WIRE_LIST_ENV);
	}
	fake_put_done(p);
}

void fake_serve_kill(struct peer *p, const struct wire_frame *f)
{
	struct fake_proc *pr;
	struct msg_kill m;
	bool ended;

	if (wire_kill_parse(f->data, f->len, &m, NULL) < 0)
		return;
	(void)pthread_mutex_lock(&p->f->lock);
	pr = fake_proc_find(p->f, m.id);
	ended = pr && pr->ended;
	if (pr && !ended)
		pr->signo = (int)(m.signo + (m.scope == WIRE_SCOPE_ONE) * 8 +
				  (m.grace_ms != 0) * 16);
	(void)pthread_cond_broadcast(&p->f->changed);
	(void)pthread_mutex_unlock(&p->f->lock);
	if (!pr)
		no_process(p);
	else if (ended)
		fake_error(p, ESRCH, WIRE_ERR_GENERAL, "it has ended");
	else
		fake_put_done(p);
}

void fake_serve_drop(struct peer *p, const struct wire_frame *f)
{
	struct fake_proc *pr;
	struct msg_drop m;
	bool ended;

	if (wire_drop_parse(f->data, f->len, &m, NULL) < 0)
		return;
	if (strcmp(m.id, "evil-frame") == 0)
		fake_put_started(p, m.id);
	(void)pthread_mutex_lock(&p->f->lock);
	pr = fake_proc_find(p->f, m.id);
	ended = pr && pr->ended;
	if (ended)
		pr->dropped = true;
	(void)pthread_mutex_unlock(&p->f->lock);
	if (!pr)
		no_process(p);
	else if (!ended)
		fake_error(p, EBUSY, WIRE_ERR_GENERAL, "it lives");
	else
		fake_put_done(p);
}

/* Port 1 is listened on, 3 gets nonsense for an answer; others never are. */
void fake_serve_wait_port(struct peer *p, const struct wire_frame *f)
{
	const struct fake_proc *pr = NULL;
	struct msg_wait_port m;

	if (wire_wait_port_parse(f->data, f->len, &m, NULL) < 0)
		return;
	if (m.port == 3)
		fake_put_started(p, "evil");
	(void)pthread_mutex_lock(&p->f->lock);
	if (*m.id)
		pr = fake_proc_find(p->f, m.id);
	while (m.port != 1 && (!*m.id || pr) && !(pr && pr->ended))
		(void)pthread_cond_wait(&p->f->changed, &p->f->lock);
	(void)pthread_mutex_unlock(&p->f->lock);
	if (*m.id && !pr)
		no_process(p);
	else if (m.port == 1)
		fake_put_done(p);
	else
		fake_put_exit(p, &pr->end);
}
