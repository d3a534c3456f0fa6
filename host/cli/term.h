/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/term.h - the caller's terminal: raw, and back to what it was */
#ifndef HUTCH_CLI_TERM_H
#define HUTCH_CLI_TERM_H

#include <stdbool.h>
#include <termios.h>

#include "host/cli/base.h"

/**
 * struct term - A terminal that may be in raw mode
 * @fd:		Borrowed; -1 if there is none
 * @wanted:	Whether it should be raw while we are in the foreground
 * @raw:	Whether it is in raw mode now
 * @saved:	What it was before
 */
struct term {
	int fd;
	bool wanted;
	bool raw;
	struct termios saved;
};

/**
 * term_raw() - Every key goes to the guest as a byte, ^C too
 *
 * From now on, if this program crashes, the terminal is made usable first.
 *
 * Return: 0 or -errno
 */
MUST_CHECK int term_raw(struct term *t);

/** term_restore() - As it was before; no harm in doing it twice */
void term_restore(struct term *t);

/**
 * term_suspend() - Stop this program as ^Z would, the terminal restored
 *
 * Returns when it is continued, after term_again().
 */
void term_suspend(struct term *t);

/**
 * term_again() - After SIGCONT: raw again, if we are in the foreground
 *
 * In the background it is not ours to change; reading from it then stops us
 * by SIGTTIN, and the SIGCONT of "fg" brings us here once more.
 */
void term_again(struct term *t);

/** term_size() - In characters. Return: 0 or -errno */
MUST_CHECK int term_size(const struct term *t, unsigned short *ret_cols,
			 unsigned short *ret_rows);

#endif
