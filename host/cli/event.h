/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/event.h - a command's output and end as lines of JSON */
#ifndef HUTCH_CLI_EVENT_H
#define HUTCH_CLI_EVENT_H

#include "host/cli/jsonw.h"
#include "host/lib/hutch.h"

/* Bytes of a character of which the end has not come yet. */
#define EVENT_TAIL_MAX     3
#define EVENT_SENTENCE_MAX 160

/**
 * struct event_text - One output stream on its way into JSON
 * @tail:	Start of a character whose rest is in the next piece
 * @cursor:	Of the first byte of @tail
 * @time_ns:	When it came
 */
struct event_text {
	char tail[EVENT_TAIL_MAX];
	size_t n_tail;
	uint64_t cursor;
	int64_t time_ns;
};

/** event_put_data() - A member "text" if it is UTF-8, else "base64" */
void event_put_data(struct jsonw *j, const void *p, size_t len);

/** event_put_signal() - The signal that ended a process, or null */
void event_put_signal(struct jsonw *j, enum hutch_exec_how how, int value);

/** event_put_time() - A time, null for 0 */
void event_put_time(struct jsonw *j, const char *key, int64_t time_ns);

/** event_put_denial() - Members of what the network refused, if it is such */
void event_put_denial(struct jsonw *j, const struct hutch_vm_event *ev);

/**
 * event_put() - {"event": "stdout", ...} and the like, a line each
 * @text:	Of stdout and of stderr
 * @ev:		HUTCH_EXEC_STARTED, _STDOUT, _STDERR or _TRUNCATED; of others
 *		nothing is written
 *
 * A character that is cut at the end of a piece waits for its rest. Output
 * without a time, which is the guest kernel's, has no cursor either.
 */
void event_put(struct jsonw *j, struct event_text text[2],
	       const struct hutch_exec_event *ev);

/** event_output_end() - No more will come of stream @i: 0 stdout, 1 stderr */
void event_output_end(struct jsonw *j, struct event_text *t, unsigned int i);

/** event_truncated_text() - The sentence for people, of HUTCH_EXEC_TRUNCATED */
void event_truncated_text(char buf[EVENT_SENTENCE_MAX],
			  const struct hutch_exec_event *ev);

/**
 * event_exit() - {"event": "exit", ...}
 * @ev:		HUTCH_EXEC_EXIT
 * @code:	What the program will exit with
 */
void event_exit(struct jsonw *j, const struct hutch_exec_event *ev, int code);

/** event_left() - {"event": "left", ...}: the command goes on without us */
void event_left(struct jsonw *j, const char *id, int code);

/** event_error() - {"event": "error", ...}: there is no exit status */
void event_error(struct jsonw *j, const char *message, int err, int code);

#endif
