/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/print.h - output read back, printed where its streams belong */
#ifndef HUTCH_CLI_PRINT_H
#define HUTCH_CLI_PRINT_H

#include <stdbool.h>

#include "host/cli/base.h"
#include "host/cli/event.h"
#include "host/cli/margin.h"
#include "host/lib/hutch.h"

/**
 * struct print - Output on its way out
 * @json:	As events (docs/json.md)
 * @timestamps:	The time in front of each line
 * @next:	Cursor in each stream that comes next
 * @in_line:	Per stream: its last line is not complete
 * @margin:	Of margin_init()
 */
struct print {
	bool json;
	bool timestamps;
	uint64_t next[2];
	struct event_text text[2];
	bool in_line[2];
	struct margin margin;
};

/** print_event() - Bytes of a stream, or that some are lost */
void print_event(struct print *p, const struct hutch_exec_event *ev);

/**
 * print_piece() - A piece of the main process's log
 *
 * What lies before @p->next is left out; a gap behind it is told.
 */
void print_piece(struct print *p, const struct hutch_log_piece *piece);

/** print_console() - A piece of the console, which has no cursors */
void print_console(struct print *p, const struct hutch_log_piece *piece);

/** print_end() - Nothing more will come */
void print_end(struct print *p);

#endif
