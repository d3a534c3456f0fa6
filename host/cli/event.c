/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/event.c - see event.h */
#include <inttypes.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/event.h"
#include "host/cli/text.h"

#define TIME_MAX 32

/* Length of the longest start of @s that is whole characters; 0 if none. */
static size_t whole_chars(const char *s, size_t len, bool *ret_bad)
{
	size_t i = 0;

	*ret_bad = false;
	while (i < len) {
		uint32_t wc;
		int n = text_utf8(s + i, len - i, &wc);

		if (n == 0)
			*ret_bad = true;
		if (n <= 0)
			break;
		i += (size_t)n;
	}
	return i;
}

void event_put_data(struct jsonw *j, const void *p, size_t len)
{
	bool bad;

	if (whole_chars(p, len, &bad) == len)
		jsonw_strn(j, "text", p, len);
	else
		jsonw_base64(j, "base64", p, len);
}

void event_put_signal(struct jsonw *j, enum hutch_exec_how how, int value)
{
	if (how == HUTCH_EXEC_SIGNALLED)
		jsonw_int(j, "signal", value);
	else
		jsonw_null(j, "signal");
}

void event_put_time(struct jsonw *j, const char *key, int64_t time_ns)
{
	char when[TIME_MAX];

	jsonw_str(j, key,
		  time_ns ? hutch_time_text(time_ns, when, sizeof(when))
			  : NULL);
}

static void put_number(struct jsonw *j, const char *key, int v)
{
	if (v)
		jsonw_int(j, key, v);
	else
		jsonw_null(j, key);
}

void event_put_denial(struct jsonw *j, const struct hutch_vm_event *ev)
{
	if (!ev->proto || !*ev->proto)
		return;
	jsonw_str(j, "proto", ev->proto);
	jsonw_str(j, "address", text_or_null(ev->address));
	jsonw_str(j, "name", text_or_null(ev->name));
	put_number(j, "port", ev->port);
	put_number(j, "rule", ev->rule);
	jsonw_int(j, "count", ev->count);
}

static const char *stream_name(unsigned int i)
{
	return i ? "stderr" : "stdout";
}

static void put_line(struct jsonw *j, const struct event_text *t,
		     unsigned int i, const char *p, size_t len)
{
	if (len == 0)
		return;
	jsonw_object(j, NULL);
	jsonw_str(j, "event", stream_name(i));
	if (t->time_ns) {
		event_put_time(j, "time", t->time_ns);
		jsonw_uint(j, "cursor", t->cursor);
	}
	event_put_data(j, p, len);
	jsonw_object_end(j);
}

void event_output_end(struct jsonw *j, struct event_text *t, unsigned int i)
{
	put_line(j, t, i, t->tail, t->n_tail);
	t->n_tail = 0;
}

/* @p with what was left of the piece before it in front. */
static void put_joined(struct jsonw *j, struct event_text *t, unsigned int i,
		       const char *p, size_t len)
{
	size_t whole;
	bool bad;

	whole = whole_chars(p, len, &bad);
	/* Not text: no use in waiting for more. */
	if (bad)
		whole = len;
	put_line(j, t, i, p, whole);
	t->cursor += whole;
	t->n_tail = len - whole;
	memcpy(t->tail, p + whole, t->n_tail);
}

static void put_output(struct jsonw *j, struct event_text *t, unsigned int i,
		       const struct hutch_exec_event *ev)
{
	AUTO_FREE char *all = malloc(t->n_tail + ev->len);

	/* Without memory the cut character comes out in base64: no loss. */
	if (!all || t->cursor + t->n_tail != ev->cursor)
		event_output_end(j, t, i);
	if (t->n_tail == 0) {
		t->cursor = ev->cursor;
		t->time_ns = ev->time_ns;
	}
	if (!all) {
		put_line(j, t, i, ev->data, ev->len);
		return;
	}
	memcpy(all, t->tail, t->n_tail);
	memcpy(all + t->n_tail, ev->data, ev->len);
	put_joined(j, t, i, all, t->n_tail + ev->len);
	t->time_ns = ev->time_ns;
}

static void put_started(struct jsonw *j, const struct hutch_exec_event *ev)
{
	jsonw_object(j, NULL);
	jsonw_str(j, "event", "started");
	jsonw_str(j, "id", ev->id);
	jsonw_int(j, "pid", ev->pid);
	event_put_time(j, "time", ev->start_ns);
	jsonw_object_end(j);
}

static void put_truncated(struct jsonw *j, const struct hutch_exec_event *ev)
{
	jsonw_object(j, NULL);
	jsonw_str(j, "event", "truncated");
	jsonw_str(j, "stream", stream_name(ev->stream == 2));
	jsonw_uint(j, "lost", ev->lost);
	jsonw_uint(j, "cursor", ev->cursor);
	jsonw_object_end(j);
}

void event_put(struct jsonw *j, struct event_text text[2],
	       const struct hutch_exec_event *ev)
{
	unsigned int i = ev->kind == HUTCH_EXEC_TRUNCATED
				 ? ev->stream == 2
				 : ev->kind == HUTCH_EXEC_STDERR;

	switch (ev->kind) {
	case HUTCH_EXEC_STARTED:
		put_started(j, ev);
		break;
	case HUTCH_EXEC_STDOUT:
	case HUTCH_EXEC_STDERR:
		put_output(j, &text[i], i, ev);
		break;
	case HUTCH_EXEC_TRUNCATED:
		event_output_end(j, &text[i], i);
		put_truncated(j, ev);
		break;
	default:
		break;
	}
}

void event_truncated_text(char buf[EVENT_SENTENCE_MAX],
			  const struct hutch_exec_event *ev)
{
	(void)snprintf(buf, EVENT_SENTENCE_MAX,
		       "%" PRIu64 " bytes of %s are lost: it goes on at "
		       "cursor %" PRIu64,
		       ev->lost, stream_name(ev->stream == 2), ev->cursor);
}

void event_exit(struct jsonw *j, const struct hutch_exec_event *ev, int code)
{
	jsonw_object(j, NULL);
	jsonw_str(j, "event", "exit");
	jsonw_int(j, "code", code);
	event_put_signal(j, ev->how, ev->value);
	jsonw_bool(j, "timed_out", ev->timed_out);
	jsonw_bool(j, "oom", ev->oom);
	jsonw_bool(j, "core_dumped", ev->core_dumped);
	jsonw_bool(j, "lingering", ev->lingering);
	event_put_time(j, "started", ev->start_ns);
	event_put_time(j, "ended", ev->end_ns);
	jsonw_uint(j, "stdout_cut", ev->stdout_cut);
	jsonw_uint(j, "stderr_cut", ev->stderr_cut);
	jsonw_object_end(j);
}

void event_left(struct jsonw *j, const char *id, int code)
{
	jsonw_object(j, NULL);
	jsonw_str(j, "event", "left");
	jsonw_str(j, "id", id);
	jsonw_int(j, "code", code);
	jsonw_object_end(j);
}

void event_error(struct jsonw *j, const char *message, int err, int code)
{
	jsonw_object(j, NULL);
	jsonw_str(j, "event", "error");
	jsonw_int(j, "code", code);
	jsonw_object(j, "error");
	jsonw_str(j, "code", cli_errno_name(err));
	jsonw_str(j, "message", message);
	jsonw_object_end(j);
	jsonw_object_end(j);
}
