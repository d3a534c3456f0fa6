/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/output.h - what a command writes on its way to our own output */
#ifndef HUTCH_CLI_OUTPUT_H
#define HUTCH_CLI_OUTPUT_H

#include <stdbool.h>

#include "host/cli/base.h"
#include "host/cli/event.h"
#include "host/cli/margin.h"
#include "host/cli/replay.h"
#include "host/cli/sink.h"
#include "host/lib/hutch.h"

/**
 * struct output - Both streams
 * @json:	They go to standard output as events (docs/json.md)
 * @raw:	Standard error is a terminal in raw mode
 * @replay:	What of stdout is of the past
 * @close:	Per stream: that nobody reads it is still to be told
 * @error:	-errno of our own writing, other than -EPIPE; or 0
 */
struct output {
	struct sink sink[2];
	struct event_text text[2];
	bool json;
	bool raw;
	struct margin margin;
	struct replay replay;
	bool close[2];
	int error;
};

/** output_open() - To our standard output and error */
void output_open(struct output *o, bool json);

/** output_close() - What waits is lost */
void output_close(struct output *o);

/** output_waits() - Bytes are held: feed it nothing more */
bool output_waits(const struct output *o);

/** output_event() - Write a piece of output, or say what happened to it */
void output_event(struct output *o, const struct hutch_exec_event *ev);

/** output_flush() - Go on writing to sink @i, after poll() */
void output_flush(struct output *o, unsigned int i);

/** output_end() - What is held of stream @i for its rest, which never came */
void output_end(struct output *o, unsigned int i);

/** output_tell() - Tell the guest which streams nobody reads */
void output_tell(struct output *o, struct hutch_exec *x);

#endif
