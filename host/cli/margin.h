/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/margin.h - a sentence of ours begins a line of its own */
#ifndef HUTCH_CLI_MARGIN_H
#define HUTCH_CLI_MARGIN_H

#include <stdbool.h>

#include "host/cli/base.h"

/**
 * struct margin - Where a terminal's cursor is, as far as we know
 * @shown:	Per stream: it goes to the terminal that sentences go to
 * @in_line:	The last byte that went there did not end a line
 */
struct margin {
	bool shown[2];
	bool in_line;
};

/** margin_init() - @out and @err are where the streams go, sentences too */
void margin_init(struct margin *m, int out, int err);

/** margin_wrote() - Bytes of stream @i: 0 stdout, 1 stderr */
void margin_wrote(struct margin *m, unsigned int i, const void *p, size_t len);

/**
 * margin_break() - What a sentence begins with: "\n" or ""
 *
 * The sentence ends its line.  In a file or a pipe the bytes are the command's.
 */
const char *margin_break(struct margin *m);

#endif
