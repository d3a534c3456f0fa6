/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/output.c - see output.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "host/cli/cli.h"
#include "host/cli/output.h"

void output_open(struct output *o, bool json)
{
	*o = (struct output){ .json = json };
	sink_open(&o->sink[0], STDOUT_FILENO);
	sink_open(&o->sink[1], STDERR_FILENO);
	margin_init(&o->margin, STDOUT_FILENO, STDERR_FILENO);
}

void output_close(struct output *o)
{
	sink_close(&o->sink[0]);
	sink_close(&o->sink[1]);
}

bool output_waits(const struct output *o)
{
	return sink_waits(&o->sink[0]) || sink_waits(&o->sink[1]);
}

/* @r is what sink @i has said. */
static void check(struct output *o, unsigned int i, int r)
{
	if (r == 0 || o->close[i])
		return;
	if (r != -EPIPE && o->error == 0)
		o->error = r;
	/* Both streams of events go one way. */
	o->close[i] = true;
	if (o->json)
		o->close[0] = o->close[1] = true;
}

static void put(struct output *o, unsigned int i, const void *p, size_t len)
{
	bool worked = o->sink[i].error == 0;
	int r = sink_put(&o->sink[i], p, len);

	margin_wrote(&o->margin, i, p, len);
	if (worked)
		check(o, i, r);
}

/* @ev as a line or two of JSON; NULL: the end of stream @i. */
static void put_json(struct output *o, unsigned int i,
		     const struct hutch_exec_event *ev)
{
	AUTO_FREE char *lines = NULL;
	size_t n = 0;
	struct jsonw j = { .out = open_memstream(&lines, &n) };

	if (j.out && ev)
		event_put(&j, o->text, ev);
	else if (j.out)
		event_output_end(&j, &o->text[i], i);
	if (!j.out || fclose(j.out) != 0)
		check(o, 0, -ENOMEM);
	else
		put(o, 0, lines, n);
}

/* A terminal is shown it: it has answered what it was asked then. */
static void put_past(struct output *o, const struct hutch_exec_event *ev)
{
	AUTO_FREE char *shown = malloc(ev->len + REPLAY_HOLD_MAX);

	if (!shown)
		check(o, 0, -ENOMEM);
	else
		put(o, 0, shown,
		    replay_pass(&o->replay, ev->cursor, ev->data, ev->len,
				shown));
}

static void put_stdout(struct output *o, const struct hutch_exec_event *ev)
{
	if (ev->cursor < o->replay.until || o->replay.n)
		put_past(o, ev);
	else
		put(o, 0, ev->data, ev->len);
}

static void say_truncated(struct output *o, const struct hutch_exec_event *ev)
{
	char line[EVENT_SENTENCE_MAX];

	event_truncated_text(line, ev);
	if (o->raw)
		(void)fprintf(stderr, "\r\nhutch: %s\r\n", line);
	else
		cli_warn_after(margin_break(&o->margin), line);
}

void output_event(struct output *o, const struct hutch_exec_event *ev)
{
	if (o->json)
		put_json(o, 0, ev);
	else if (ev->kind == HUTCH_EXEC_STDOUT)
		put_stdout(o, ev);
	else if (ev->kind == HUTCH_EXEC_STDERR)
		put(o, 1, ev->data, ev->len);
	else if (ev->kind == HUTCH_EXEC_TRUNCATED)
		say_truncated(o, ev);
}

void output_flush(struct output *o, unsigned int i)
{
	check(o, i, sink_flush(&o->sink[i]));
}

void output_end(struct output *o, unsigned int i)
{
	char held[REPLAY_HOLD_MAX];

	if (o->json)
		put_json(o, i, NULL);
	else if (i == 0 && o->replay.n)
		put(o, 0, held, replay_release(&o->replay, held));
}

void output_tell(struct output *o, struct hutch_exec *x)
{
	static const enum hutch_exec_kind kind[] = { HUTCH_EXEC_STDOUT,
						     HUTCH_EXEC_STDERR };

	for (unsigned int i = 0; i < ARRAY_LEN(kind); i++) {
		if (o->close[i] &&
		    hutch_exec_close_output(x, kind[i]) != -EAGAIN)
			o->close[i] = false;
	}
}
