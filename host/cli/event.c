/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/event.c - see event.h */
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/event.h"
#include "host/cli/text.h"

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

static void put_line(struct jsonw *j, const char *name, const char *p,
		     size_t len)
{
	if (len == 0)
		return;
	jsonw_object(j, NULL);
	jsonw_str(j, "event", name);
	event_put_data(j, p, len);
	jsonw_object_end(j);
}

void event_output(struct jsonw *j, struct event_text *t, const char *name,
		  const void *p, size_t len)
{
	AUTO_FREE char *all = malloc(t->n_tail + len + 1);
	size_t n = t->n_tail, whole;
	bool bad;

	/* Without memory the cut character comes out in base64: no loss. */
	if (!all) {
		put_line(j, name, t->tail, t->n_tail);
		put_line(j, name, p, len);
		t->n_tail = 0;
		return;
	}
	memcpy(all, t->tail, n);
	if (len > 0)
		memcpy(all + n, p, len);
	n += len;
	whole = whole_chars(all, n, &bad);
	/* Not text, or the end: no use in waiting for more. */
	if (bad || len == 0)
		whole = n;
	put_line(j, name, all, whole);
	t->n_tail = n - whole;
	memcpy(t->tail, all + whole, t->n_tail);
}

void event_exit(struct jsonw *j, const struct hutch_exec_event *ev, int code)
{
	jsonw_object(j, NULL);
	jsonw_str(j, "event", "exit");
	jsonw_int(j, "code", code);
	if (ev->how == HUTCH_EXEC_SIGNALLED)
		jsonw_int(j, "signal", ev->value);
	else
		jsonw_null(j, "signal");
	jsonw_bool(j, "timed_out", ev->timed_out);
	jsonw_bool(j, "oom", ev->oom);
	jsonw_bool(j, "core_dumped", ev->core_dumped);
	jsonw_bool(j, "lingering", ev->lingering);
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
