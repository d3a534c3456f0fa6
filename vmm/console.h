/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/console.h - where the guest's serial line goes */
#ifndef HUTCH_VMM_CONSOLE_H
#define HUTCH_VMM_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/conring.h"

/**
 * struct console - A ring in a file, or stdout, or nowhere
 * @to_stdout:	Else to @ring, if it is open
 * @ring:	Closed if there is no file
 */
struct console {
	bool to_stdout;
	struct conring ring;
};

/**
 * console_init() - @fd is the ring's file, or -1
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int console_init(struct console *c, bool to_stdout, int fd,
			    struct err *e);
void console_done(struct console *c);

/** console_out() - A serial_out_fn; @ctx is the struct console */
void console_out(void *ctx, uint8_t byte);

#endif
