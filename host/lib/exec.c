/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/exec.c - a command in a VM, as an object (hutch_exec_*)
 *
 * How it works.  One connection to the agent carries the request, stdin and
 * signals one way, output and the exit the other.  A second one, to the VM's
 * keeper, has a "wait for=exit" under way: when the first breaks, the second
 * knows why, even if the VM's record has been removed by then.
 *
 * An exit is believed only if as many bytes of output have come as it says
 * were sent: a broken stream is an error, never an exit code.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "host/lib/conn.h"
#include "host/lib/execmsg.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

#define NS_PER_MS 1000000ull

/* Leaves room in the queue for these whatever stdin has put there. */
#define CTL_FRAME_MAX 64

/**
 * struct hutch_exec - See hutch.h
 * @keeper_fd:	"wait for=exit" under way; -1 if the keeper had no room
 * @over:	-ENODATA after the last event, or the failure that ended it
 * @why:	Sentence of that failure
 * @sent:	Bytes of stdin sent
 * @acked:	Of them, those that the agent gave the room back for
 * @got:	Bytes of stdout and stderr that have come
 * @shut:	Output that we said nobody reads
 * @rec:	How the VM ended, once known
 * @msg:	Behind an event's msg
 */
struct hutch_exec {
	struct hutch *h;
	struct conn conn;
	int keeper_fd;
	int over;
	struct err why;
	bool stdin_open;
	uint64_t sent;
	uint64_t acked;
	uint64_t got[2];
	bool shut[2];
	struct hutch_record *rec;
	char name[HUTCH_NAME_MAX + 1];
	char msg[HUTCH_ERR_MAX];
};

/* ---- Opening ---- */

static int queue_request(struct hutch_exec *x, const struct hutch_exec_opts *o,
			 struct err *e)
{
	auto_free uint8_t *frame = NULL;
	size_t len = 0;
	int r = execmsg_make(o, &frame, &len, e);

	if (r == 0)
		r = conn_queue(&x->conn, frame, len);
	if (r == 0)
		r = conn_flush(&x->conn);
	/* A broken connection tells its reason when it is read. */
	return r == -EAGAIN || r == -EPIPE ? 0 : r;
}

/* Nobody answers at the VM's socket: is there such a VM, how did it end? */
static int explain_no_vm(struct hutch *h, const char *name, struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	int r = kcall_await_end(h, name, NULL, -1, HUTCH_ANSWER_MS, &rec, e);

	return r < 0 ? r : kcall_ended(rec, e);
}

static int open_into(struct hutch_exec *x, const struct hutch_exec_opts *o,
		     struct err *e)
{
	struct vmdir d = VMDIR_INIT;
	struct err ignored;
	int r = vmdir_open(x->h, x->name, &d, e);

	if (r == 0)
		r = d.run_fd < 0 ? -ENOENT : conn_open(&x->conn, d.run_fd, e);
	/* Without a keeper's room the record will have to do. */
	if (r == 0)
		x->keeper_fd =
			kcall_send(d.run_fd, "wait", "for", "exit", &ignored);
	vmdir_close(&d);
	if (r == -ENOENT || r == -ECONNREFUSED)
		return explain_no_vm(x->h, x->name, e);
	return r < 0 ? r : queue_request(x, o, e);
}

static struct hutch_exec *exec_new(struct hutch *h, const char *name,
				   const struct hutch_exec_opts *o)
{
	struct hutch_exec *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->h = h;
	x->keeper_fd = -1;
	x->conn.fd = -1;
	x->stdin_open = o->flags & HUTCH_EXEC_STDIN;
	memcpy(x->name, name, strlen(name) + 1);
	return x;
}

int exec_adopt(struct hutch *h, int fd, const struct hutch_exec_opts *o,
	       struct hutch_exec **ret, struct err *e)
{
	struct hutch_exec *x = exec_new(h, "none", o);
	int r;

	if (!x) {
		(void)close(fd);
		return err_set(e, -ENOMEM, "no memory");
	}
	r = conn_adopt(&x->conn, fd, e);
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
	x = exec_new(h, name, &o);
	if (!x)
		return err_set(err_of(e), -ENOMEM, "no memory");
	r = open_into(x, &o, err_of(e));
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
	conn_close(&x->conn);
	if (x->keeper_fd >= 0)
		(void)close(x->keeper_fd);
	hutch_record_free(x->rec);
	free(x);
}

int hutch_exec_fd(const struct hutch_exec *x)
{
	return x->conn.fd;
}

short hutch_exec_poll_events(const struct hutch_exec *x)
{
	return conn_poll_events(&x->conn);
}

const struct hutch_record *hutch_exec_record(const struct hutch_exec *x)
{
	return x->rec;
}

/* ---- What comes ---- */

/* The agent has closed, or the VM has ended, before the command did. */
static int explain_broken(struct hutch_exec *x)
{
	int r = kcall_await_end(x->h, x->name, NULL, x->keeper_fd,
				HUTCH_ANSWER_MS, &x->rec, &x->why);

	if (r == 0)
		return kcall_ended(x->rec, &x->why);
	if (r == -ETIMEDOUT)
		return err_set(&x->why, -ECONNRESET,
			       "the agent of VM '%s' closed the connection "
			       "before the command ended",
			       x->name);
	return r;
}

static int on_output(struct hutch_exec *x, const struct wire_frame *f,
		     struct hutch_exec_event *ev)
{
	int i = f->type == WIRE_STDERR;
	struct msg_output m;
	int r = wire_output_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	if (m.cursor != x->got[i])
		return err_set(&x->why, -EBADMSG,
			       "output goes on at byte %llu, not at %llu",
			       (unsigned long long)m.cursor,
			       (unsigned long long)x->got[i]);
	x->got[i] += m.len;
	ev->kind = i ? HUTCH_EXEC_STDERR : HUTCH_EXEC_STDOUT;
	ev->data = m.data;
	ev->len = m.len;
	return 1;
}

static int on_exit_frame(struct hutch_exec *x, const struct wire_frame *f,
			 struct hutch_exec_event *ev)
{
	struct msg_exit m;
	int r = wire_exit_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	if ((m.stdout_total != x->got[0] && !x->shut[0]) ||
	    (m.stderr_total != x->got[1] && !x->shut[1]))
		return err_set(&x->why, -EBADMSG,
			       "output is incomplete: %llu and %llu bytes were "
			       "sent, %llu and %llu came",
			       (unsigned long long)m.stdout_total,
			       (unsigned long long)m.stderr_total,
			       (unsigned long long)x->got[0],
			       (unsigned long long)x->got[1]);
	ev->kind = HUTCH_EXEC_EXIT;
	ev->how = m.how == WIRE_HOW_EXITED ? HUTCH_EXEC_EXITED
					   : HUTCH_EXEC_SIGNALLED;
	ev->value = (int)m.value;
	ev->timed_out = !!(m.flags & WIRE_EXIT_TIMED_OUT);
	ev->oom = !!(m.flags & WIRE_EXIT_OOM);
	ev->core_dumped = !!(m.flags & WIRE_EXIT_CORE);
	ev->lingering = m.state == WIRE_STATE_LINGERING;
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
	};
	struct msg_error m;
	int r = wire_error_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	bug_on(m.kind >= ARRAY_LEN(kinds));
	ev->kind = HUTCH_EXEC_ERROR;
	ev->error = kinds[m.kind];
	ev->code = m.code <= 4095 ? -(int)m.code : -EIO;
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
	ev->kind = HUTCH_EXEC_STARTED;
	ev->pid = (int)m.pid;
	return 1;
}

static int on_ack(struct hutch_exec *x, const struct wire_frame *f)
{
	struct msg_stdin_ack m;
	int r = wire_stdin_ack_parse(f->data, f->len, &m, &x->why);

	if (r < 0)
		return r;
	if (m.consumed < x->acked || m.consumed > x->sent)
		return err_set(&x->why, -EBADMSG,
			       "%llu bytes of stdin are acknowledged, %llu "
			       "were sent",
			       (unsigned long long)m.consumed,
			       (unsigned long long)x->sent);
	x->acked = m.consumed;
	if (m.flags & WIRE_ACK_CLOSED)
		x->stdin_open = false;
	return 0;
}

/* Return: 1 an event, 0 nothing for the caller, negative: it is over. */
static int on_frame(struct hutch_exec *x, const struct wire_frame *f,
		    struct hutch_exec_event *ev)
{
	switch (f->type) {
	case WIRE_STDOUT:
	case WIRE_STDERR:
		return on_output(x, f, ev);
	case WIRE_STDIN_ACK:
		return on_ack(x, f);
	case WIRE_STARTED:
		return on_started(x, f, ev);
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

static int next_event(struct hutch_exec *x, struct hutch_exec_event *ev)
{
	struct wire_frame f;
	int r;

	do {
		r = conn_next(&x->conn, &f, &x->why);
		if (r == -EPIPE)
			return explain_broken(x);
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
				x->name);
	return r;
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
	(void)conn_flush(&x->conn);
	r = next_event(x, &t);
	if (r > 0)
		*ev = t;
	if (r >= 0)
		return r;
	x->over = r;
	conn_close(&x->conn);
	return err_set(err_of(e), r, "%s", x->why.msg);
}

int hutch_exec_wait(struct hutch_exec *x, struct hutch_exec_event *ev,
		    int timeout_ms, struct hutch_err *e)
{
	uint64_t end = loop_now_ns() + (uint64_t)MAX(timeout_ms, 0) * NS_PER_MS;

	for (;;) {
		int r = hutch_exec_next(x, ev, e);
		struct pollfd p = { .fd = x->conn.fd,
				    .events = conn_poll_events(&x->conn) };
		uint64_t now = loop_now_ns();

		if (r != 0 || timeout_ms == 0)
			return r;
		if (timeout_ms > 0 && now >= end)
			return 0;
		r = timeout_ms < 0 ? -1 : (int)((end - now) / NS_PER_MS + 1);
		if (poll(&p, 1, r) < 0 && errno != EINTR)
			return err_set(err_of(e), -errno, "poll: %s",
				       strerror(errno));
	}
}

/* ---- What goes ---- */

ssize_t hutch_exec_write(struct hutch_exec *x, const void *buf, size_t len)
{
	size_t done = 0;
	int r = 0;

	if (!x->stdin_open || x->over)
		return -EPIPE;
	while (done < len) {
		size_t room = WIRE_STDIN_WINDOW - (size_t)(x->sent - x->acked);
		size_t n = MIN(MIN(len - done, room), WIRE_DATA_MAX);

		r = n ? conn_send_data(&x->conn, WIRE_STDIN,
				       (const char *)buf + done, n)
		      : -EAGAIN;
		if (r < 0)
			break;
		x->sent += n;
		done += n;
	}
	return done || len == 0 ? (ssize_t)done : r;
}

static int send_ctl(struct hutch_exec *x, const struct wr *wr)
{
	int r;

	if (x->over)
		return -EPIPE;
	bug_on(wr_end(wr) < 0);
	r = conn_queue(&x->conn, wr->buf, wr->len);
	if (r < 0)
		return r;
	r = conn_flush(&x->conn);
	return r == -EAGAIN ? 0 : r; /* poll_events() will ask for room */
}

static int send_empty(struct hutch_exec *x, enum wire_type type)
{
	uint8_t buf[CTL_FRAME_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_empty_put(&wr, type);
	return send_ctl(x, &wr);
}

int hutch_exec_close_stdin(struct hutch_exec *x)
{
	int r;

	if (!x->stdin_open)
		return -EPIPE;
	r = send_empty(x, WIRE_STDIN_CLOSE);
	if (r == 0)
		x->stdin_open = false;
	return r;
}

int hutch_exec_signal(struct hutch_exec *x, int signo, int tree)
{
	const struct msg_signal m = {
		.signo = (uint32_t)signo,
		.scope = tree ? WIRE_SCOPE_TREE : WIRE_SCOPE_ONE,
	};
	uint8_t buf[CTL_FRAME_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	if (signo < 1 || signo > (int)WIRE_SIGNAL_MAX)
		return -EINVAL;
	wire_signal_put(&wr, &m);
	return send_ctl(x, &wr);
}

int hutch_exec_resize(struct hutch_exec *x, unsigned short cols,
		      unsigned short rows)
{
	const struct msg_resize m = { .cols = cols, .rows = rows };
	uint8_t buf[CTL_FRAME_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	if (!cols || !rows)
		return 0; /* a terminal that does not know its size */
	wire_resize_put(&wr, &m);
	return send_ctl(x, &wr);
}

int hutch_exec_close_output(struct hutch_exec *x, enum hutch_exec_kind kind)
{
	int r;

	if (kind != HUTCH_EXEC_STDOUT && kind != HUTCH_EXEC_STDERR)
		return -EINVAL;
	r = send_empty(x, kind == HUTCH_EXEC_STDOUT ? WIRE_CLOSE_STDOUT
						    : WIRE_CLOSE_STDERR);
	if (r == 0)
		x->shut[kind == HUTCH_EXEC_STDERR] = true;
	return r;
}
