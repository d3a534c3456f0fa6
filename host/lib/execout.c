/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/execout.c - what goes to a command: stdin, signals, sizes */
#include <errno.h>

#include "common/wire.h"
#include "host/lib/exec.h"
#include "host/lib/internal.h"

/* Leaves room in the queue for these whatever stdin has put there. */
#define CTL_FRAME_MAX 64

ssize_t hutch_exec_write(struct hutch_exec *x, const void *buf, size_t len)
{
	size_t done = 0;
	int r = 0;

	if (!x->stdin_open || x->over)
		return -EPIPE;
	while (done < len) {
		size_t room = WIRE_STDIN_WINDOW - (size_t)(x->sent - x->acked);
		size_t n = MIN(MIN(len - done, room), WIRE_DATA_MAX);

		r = n ? conn_send_data(&x->s.conn, WIRE_STDIN,
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
	r = conn_queue(&x->s.conn, wr->buf, wr->len);
	if (r < 0)
		return r;
	r = conn_flush(&x->s.conn);
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
		x->out[kind == HUTCH_EXEC_STDERR].shut = true;
	return r;
}
