/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/attach.c - see attach.h */
#include "guest-agent/agent.h"
#include "guest-agent/attach.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"
#include "guest-agent/process.h"

/* A frame is not cut to less than this to fill a buffer. */
#define PART_MIN 4096u

#define TRUNCATED_LEN (WIRE_HDR_LEN + sizeof(struct wire_truncated))

void attach_join(struct conn *c, struct proc *p, bool counted)
{
	struct attach *cl = &c->at;

	c->proc = p;
	cl->counted = counted;
	for (int i = 0; i < 2; i++) {
		cl->want[i] = true;
		cl->end[i] = ATTACH_NO_END;
	}
	list_add_tail(&p->clients, &cl->link);
	if (!counted)
		return;
	p->n_clients++;
	p->a->n_clients++;
	events_touch(p->a);
}

void attach_leave(struct conn *c)
{
	struct proc *p = c->proc;

	if (!p || list_empty(&c->at.link))
		return;
	list_del(&c->at.link);
	c->proc = NULL;
	if (!c->at.counted)
		return;
	p->n_clients--;
	p->a->n_clients--;
	events_touch(p->a);
}

/* The stream that has the byte which came first; -1 if none has more. */
static int next_stream(const struct conn *c, struct store_piece *ret)
{
	const struct attach *cl = &c->at;
	int found = -1;

	for (int i = 0; i < 2; i++) {
		const struct store *s = &c->proc->out[i].store;
		struct store_piece piece;

		if (!cl->want[i] || cl->cursor[i] >= cl->end[i] ||
		    !store_find(s, cl->cursor[i], &piece))
			continue;
		if (found >= 0 && piece.seq >= ret->seq)
			continue;
		*ret = piece;
		found = i;
	}
	return found;
}

static void put_truncated(struct attach *cl, int i, uint64_t to, struct wr *wr)
{
	to = MIN(to, cl->end[i]);
	wire_truncated_put(
		wr, &(struct msg_truncated){ .stream = (unsigned int)i + 1,
					     .cursor = to,
					     .lost = to - cl->cursor[i] });
	cl->cursor[i] = to;
}

/* One frame of output. Return: false if it has to wait for the next buffer */
static bool put_output(const struct proc *p, struct attach *cl, int i,
		       const struct store_piece *piece, struct wr *wr)
{
	size_t room = wr->cap - wr->len - WIRE_OUTPUT_HEAD;
	size_t n =
		MIN(MIN(piece->len, cl->end[i] - piece->cursor), WIRE_DATA_MAX);

	if (n > room && room < PART_MIN)
		return false;
	n = MIN(n, room);
	wire_output_head_put(wr, i ? WIRE_STDERR : WIRE_STDOUT, piece->cursor,
			     piece->time_ns, n);
	store_copy(&p->out[i].store, piece->cursor, wr->buf + wr->len, n);
	wr->len += n;
	cl->cursor[i] = piece->cursor + n;
	return true;
}

static void fill(struct conn *c, struct wr *wr)
{
	struct attach *cl = &c->at;
	struct store_piece piece;
	int i;

	while (wr->cap - wr->len >= TRUNCATED_LEN + WIRE_OUTPUT_HEAD) {
		i = next_stream(c, &piece);
		if (i < 0)
			return;
		if (piece.cursor > cl->cursor[i])
			put_truncated(cl, i, piece.cursor, wr);
		else if (!put_output(c->proc, cl, i, &piece, wr))
			return;
	}
}

/* All that it is to get has been sent: say why there is no more. */
static void finish(struct conn *c)
{
	const struct attach *cl = &c->at;

	for (int i = 0; i < 2; i++)
		if (cl->end[i] == ATTACH_NO_END ||
		    (cl->want[i] && cl->cursor[i] < cl->end[i]))
			return;
	if (cl->exit_due)
		proc_send_exit(c);
	else
		conn_done(c);
}

void attach_feed(struct conn *c)
{
	struct agent *a = c->a;
	size_t sent = 0;

	while (c->state == CONN_ATTACH && conn_ready(c)) {
		struct wr wr = wr_init(a->scratch, sizeof(a->scratch));

		if (sent >= ATTACH_TURN_MAX) {
			conn_call_again(c);
			return;
		}
		fill(c, &wr);
		if (wr.len == 0) {
			finish(c);
			return;
		}
		sent += wr.len;
		if (conn_send(c, a->scratch, wr.len) < 0)
			return;
	}
}

void attach_stop(struct conn *c, int which)
{
	c->at.want[which] = false;
	attach_feed(c);
}

void attach_ended(struct conn *c)
{
	struct attach *cl = &c->at;

	for (int i = 0; i < 2; i++)
		if (cl->end[i] == ATTACH_NO_END)
			cl->end[i] = c->proc->out[i].store.total;
}

/* Where a client comes in. */
static uint64_t first_cursor(const struct store *s, uint64_t from, bool back)
{
	if (back)
		return s->total - MIN(from, s->total);
	return MIN(from, s->total);
}

void attach_serve(struct conn *c, struct proc *p, const struct msg_attach *m)
{
	const uint64_t from[2] = { m->stdout_from, m->stderr_from };
	struct attach *cl = &c->at;

	attach_join(c, p, !(m->flags & WIRE_ATTACH_QUIET));
	c->state = CONN_ATTACH;
	cl->in.allowed = m->flags & WIRE_ATTACH_STDIN;
	cl->want[0] = !(m->flags & WIRE_ATTACH_NO_STDOUT);
	cl->want[1] = !(m->flags & WIRE_ATTACH_NO_STDERR);
	cl->exit_due = p->drained || (m->flags & WIRE_ATTACH_FOLLOW);
	for (int i = 0; i < 2; i++)
		cl->cursor[i] = first_cursor(&p->out[i].store, from[i],
					     m->flags & WIRE_ATTACH_BACK);
	if (p->drained || !(m->flags & WIRE_ATTACH_FOLLOW))
		attach_ended(c);
	if (proc_send_started(c) < 0)
		return;
	in_ack(&p->in, c);
	attach_feed(c);
}
