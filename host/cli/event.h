/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/event.h - a command's output and end as lines of JSON */
#ifndef HUTCH_CLI_EVENT_H
#define HUTCH_CLI_EVENT_H

#include "host/cli/jsonw.h"
#include "host/lib/hutch.h"

/* Bytes of a character of which the end has not come yet. */
#define EVENT_TAIL_MAX 3

/**
 * struct event_text - One output stream on its way into JSON
 * @tail:	Start of a character whose rest is in the next piece
 */
struct event_text {
	char tail[EVENT_TAIL_MAX];
	size_t n_tail;
};

/** event_put_data() - A member "text" if it is UTF-8, else "base64" */
void event_put_data(struct jsonw *j, const void *p, size_t len);

/**
 * event_output() - {"event": "stdout", "text": ...} for a piece of output
 * @t:		Of this stream
 * @name:	"stdout" or "stderr"
 *
 * A character that is cut at the end of the piece waits for its rest; with
 * @len 0, at the end of the stream, it comes out as it is. Writes no line if
 * nothing is left to say.
 */
void event_output(struct jsonw *j, struct event_text *t, const char *name,
		  const void *p, size_t len);

/**
 * event_exit() - {"event": "exit", ...}
 * @ev:		HUTCH_EXEC_EXIT
 * @code:	What the program will exit with
 */
void event_exit(struct jsonw *j, const struct hutch_exec_event *ev, int code);

/** event_error() - {"event": "error", ...}: there is no exit status */
void event_error(struct jsonw *j, const char *message, int err, int code);

#endif
