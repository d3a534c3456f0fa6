/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/exec.c - a command in a VM, as an object: hutch_exec_*, hutch_attach
 *
 * How it works.  A session (session.h) with EXEC or ATTACH as its request;
 * execin.c takes what comes of it, execout.c sends the rest.  One that has a
 * time-out has patience as well: a guest that says nothing for that long, and
 * EXEC_MARGIN_MS, is stalled, and cannot hang who waits for it.
 */
#include <errno.h>
#include <string.h>

#include "common/loop.h"
#include "common/wire_proc.h"
#include "host/lib/exec.h"
#include "host/lib/execmsg.h"
#include "host/lib/internal.h"

/* ---- Opening ---- */

static int queue_request(struct hutch_exec *x, const struct hutch_exec_opts *o,
			 struct err *e)
{
	auto_free uint8_t *frame = NULL;
	size_t len = 0;
	int r = execmsg_make(o, &frame, &len, e);

	return r < 0 ? r : session_send(&x->s, frame, len, e);
}

static struct hutch_exec *exec_new(struct hutch *h, const char *name)
{
	struct hutch_exec *x = calloc(1, sizeof(*x));

	if (x)
		session_init(&x->s, h, name);
	return x;
}

/* Before it has said anything it may have to boot. */
static void set_patience(struct hutch_exec *x, uint64_t timeout_ms,
			 unsigned int grace_ms)
{
	if (!timeout_ms)
		return;
	x->patience_ms = MIN(timeout_ms, EXECMSG_TIMEOUT_MAX_MS) + grace_ms +
			 EXEC_MARGIN_MS;
	x->deadline_ns = deadline_in((int64_t)x->patience_ms + EXEC_BOOT_MS);
}

/* One that has booted gets no time to boot. */
static void note_boot(struct hutch_exec *x)
{
	if (x->patience_ms && session_is_up(&x->s))
		x->deadline_ns = deadline_in((int64_t)x->patience_ms);
}

static struct hutch_exec *new_command(struct hutch *h, const char *name,
				      const struct hutch_exec_opts *o)
{
	struct hutch_exec *x = exec_new(h, name);

	if (!x)
		return NULL;
	x->detach = o->flags & HUTCH_EXEC_DETACH;
	/* A detached one's stdin is for those who attach. */
	x->stdin_open = !x->detach && (o->flags & HUTCH_EXEC_STDIN);
	x->follow = true;
	for (int i = 0; i < 2; i++)
		x->out[i].known = true;
	set_patience(x, o->timeout_ms, execmsg_grace_ms(o));
	return x;
}

/* Over a socket, for tests; @x may be NULL. */
static int adopt(struct hutch_exec *x, int fd, struct err *e)
{
	if (x)
		return conn_adopt(&x->s.conn, fd, e);
	(void)close(fd);
	return err_set(e, -ENOMEM, "no memory");
}

int exec_adopt(struct hutch *h, int fd, const struct hutch_exec_opts *o,
	       struct hutch_exec **ret, struct err *e)
{
	struct hutch_exec *x = new_command(h, "none", o);
	int r = adopt(x, fd, e);

	if (r == 0)
		r = queue_request(x, o, e);
	if (r < 0) {
		hutch_exec_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

int hutch_exec_open(struct hutch *h, const char *name,
		    const struct hutch_exec_opts *opts, struct hutch_exec **ret,
		    struct hutch_err *e)
{
	struct hutch_exec_opts o;
	struct hutch_exec *x;
	int r = opts_take(&o, sizeof(o), opts, opts->size, err_of(e));

	if (r == 0)
		r = execmsg_check(&o, err_of(e));
	if (r == 0)
		r = name_check(name, err_of(e));
	if (r < 0)
		return r;
	x = new_command(h, name, &o);
	if (!x)
		return err_set(err_of(e), -ENOMEM, "no memory");
	r = session_open(&x->s, err_of(e));
	if (r == 0)
		note_boot(x);
	if (r == 0)
		r = queue_request(x, &o, err_of(e));
	if (r < 0) {
		hutch_exec_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

/* ---- Attaching ---- */

static int queue_attach(struct hutch_exec *x, const char *proc,
			const struct hutch_attach_opts *o, struct err *e)
{
	const struct msg_attach m = {
		.flags = o->flags, /* the same bits, checked below */
		.stdout_from = o->stdout_from,
		.stderr_from = o->stderr_from,
		.id = proc,
	};
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	_Static_assert(
		HUTCH_ATTACH_STDIN == WIRE_ATTACH_STDIN &&
			HUTCH_ATTACH_FOLLOW == WIRE_ATTACH_FOLLOW &&
			HUTCH_ATTACH_NO_STDOUT == WIRE_ATTACH_NO_STDOUT &&
			HUTCH_ATTACH_NO_STDERR == WIRE_ATTACH_NO_STDERR &&
			HUTCH_ATTACH_BACK == WIRE_ATTACH_BACK,
		"flags of ATTACH are those of hutch.h");
	wire_attach_put(&wr, &m);
	bug_on(wr_end(&wr) < 0);
	return session_send(&x->s, buf, wr.len, e);
}

static int check_attach(const struct hutch_attach_opts *o, const char *name,
			const char *proc, struct err *e)
{
	const unsigned int known = HUTCH_ATTACH_STDIN | HUTCH_ATTACH_FOLLOW |
				   HUTCH_ATTACH_NO_STDOUT |
				   HUTCH_ATTACH_NO_STDERR | HUTCH_ATTACH_BACK;
	int r = name_check(name, e);

	if (r == 0 && (o->flags & ~known))
		r = err_set(e, -EINVAL, "attach: unknown flags %#x",
			    o->flags & ~known);
	if (r == 0 && MAX(o->stdout_from, o->stderr_from) > INT64_MAX)
		r = err_set(e, -EINVAL, "attach: a cursor is below 2^63");
	if (r == 0 && proc)
		r = session_check_proc(proc, e);
	return r;
}

static struct hutch_exec *new_attached(struct hutch *h, const char *name,
				       const struct hutch_attach_opts *o)
{
	struct hutch_exec *x = exec_new(h, name);

	if (!x)
		return NULL;
	x->attached = true;
	x->back = o->flags & HUTCH_ATTACH_BACK;
	x->follow = o->flags & HUTCH_ATTACH_FOLLOW;
	x->stdin_open = o->flags & HUTCH_ATTACH_STDIN;
	x->out[0].from = o->stdout_from;
	x->out[0].shut = o->flags & HUTCH_ATTACH_NO_STDOUT;
	x->out[1].from = o->stderr_from;
	x->out[1].shut = o->flags & HUTCH_ATTACH_NO_STDERR;
	set_patience(x, o->timeout_ms, MIN(o->grace_ms, WIRE_GRACE_MAX_MS));
	return x;
}

int exec_adopt_attach(struct hutch *h, int fd,
		      const struct hutch_attach_opts *o,
		      struct hutch_exec **ret, struct err *e)
{
	struct hutch_exec *x = new_attached(h, "none", o);
	int r = adopt(x, fd, e);

	if (r == 0)
		r = queue_attach(x, SESSION_MAIN, o, e);
	if (r < 0) {
		hutch_exec_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

int hutch_attach(struct hutch *h, const char *name, const char *proc,
		 const struct hutch_attach_opts *opts, struct hutch_exec **ret,
		 struct hutch_err *e)
{
	struct hutch_attach_opts o = { .flags = HUTCH_ATTACH_FOLLOW };
	struct hutch_exec *x;
	int r = opts ? opts_take(&o, sizeof(o), opts, opts->size, err_of(e))
		     : 0;

	if (r == 0)
		r = check_attach(&o, name, proc, err_of(e));
	if (r == 0 && !proc)
		r = session_main(h, name, &proc, err_of(e));
	if (r < 0)
		return r;
	x = new_attached(h, name, &o);
	if (!x)
		return err_set(err_of(e), -ENOMEM, "no memory");
	r = session_open(&x->s, err_of(e));
	if (r == 0)
		note_boot(x);
	if (r == 0)
		r = queue_attach(x, proc, &o, err_of(e));
	if (r < 0) {
		hutch_exec_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

void hutch_exec_close(struct hutch_exec *x)
{
	if (!x)
		return;
	session_close(&x->s);
	free(x);
}

/* ---- What comes ---- */

int hutch_exec_fd(const struct hutch_exec *x)
{
	return x->s.conn.fd;
}

short hutch_exec_poll_events(const struct hutch_exec *x)
{
	return conn_poll_events(&x->s.conn);
}

int hutch_exec_timeout_ms(const struct hutch_exec *x)
{
	return x->over ? 0 : deadline_left_ms(x->deadline_ns);
}

const struct hutch_record *hutch_exec_record(const struct hutch_exec *x)
{
	return x->s.rec;
}

int exec_stalled(const char *name, struct err *e)
{
	return err_set(e, -ETIMEDOUT,
		       "the guest of VM '%s' is stalled: it has said nothing "
		       "although the command's time is over",
		       name);
}

/* The guest has nothing for us: has it been silent for too long? */
static int check_patience(struct hutch_exec *x)
{
	if (deadline_left_ms(x->deadline_ns) != 0)
		return 0;
	return exec_stalled(x->s.name, &x->why);
}

int hutch_exec_next(struct hutch_exec *x, struct hutch_exec_event *ev,
		    struct hutch_err *e)
{
	struct hutch_exec_event t = { 0 };
	int r;

	if (x->over) {
		if (x->over == -ENODATA)
			return err_set(err_of(e), -ENODATA,
				       "the command has ended");
		return err_set(err_of(e), x->over, "%s", x->why.msg);
	}
	(void)conn_flush(&x->s.conn);
	r = execin_next(x, &t);
	if (r > 0)
		*ev = t;
	if (r == 0)
		r = check_patience(x);
	if (r >= 0)
		return r;
	x->over = r;
	conn_close(&x->s.conn);
	return err_set(err_of(e), r, "%s", x->why.msg);
}

int hutch_exec_wait(struct hutch_exec *x, struct hutch_exec_event *ev,
		    int timeout_ms, struct hutch_err *e)
{
	uint64_t end = deadline_in(timeout_ms);

	for (;;) {
		int r = hutch_exec_next(x, ev, e);

		if (r != 0 || deadline_left_ms(end) == 0)
			return r;
		r = deadline_poll(x->s.conn.fd, hutch_exec_poll_events(x),
				  deadline_sooner(end, x->deadline_ns));
		if (r < 0)
			return err_set(err_of(e), r, "poll: %s", strerror(-r));
	}
}
