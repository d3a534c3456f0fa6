/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/pty.h - a terminal for a process */
#ifndef HUTCH_GUEST_AGENT_PTY_H
#define HUTCH_GUEST_AGENT_PTY_H

#include <stdint.h>

#include "common/err.h"

#define PTY_COLS 80u
#define PTY_ROWS 24u

/**
 * pty_open() - A new pair
 * @cols:	0 for PTY_COLS
 * @rows:	0 for PTY_ROWS
 *
 * Return: 0 with both ends, the master non-blocking; -errno
 */
MUST_CHECK int pty_open(uint16_t cols, uint16_t rows, int *ret_master,
			int *ret_slave, struct err *e);

/** pty_resize() - SIGWINCH follows by itself. Return: 0 or -errno */
MUST_CHECK int pty_resize(int master, uint16_t cols, uint16_t rows);

#endif
