/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/cli/stream.h - a command in a VM joined to this process's own stdio
 *
 * How it works. One thread, one poll(): signals (by signalfd), the command's
 * connection, standard input, and the output that waits to be written.
 *
 * - At most one piece of output is held. While it waits for a slow reader
 *   nothing more is read from the VM, so its credit runs out and the command
 *   there blocks in write(), as it would in a pipe.
 * - Input is read only when what was read before has been handed over.
 * - When a reader goes away (EPIPE), the command is told and gets SIGPIPE.
 * - SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on, save those that were
 *   ignored when we were started (nohup); the third gives up. On a terminal of
 *   its own ^C is a byte like any other, and the death of the caller is a
 *   hang-up. Where the command is only watched each of them leaves it.
 */
#ifndef HUTCH_CLI_STREAM_H
#define HUTCH_CLI_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "host/cli/base.h"
#include "host/cli/keys.h"
#include "host/lib/hutch.h"

/**
 * struct stream_opts - How to join
 * @in:		Pass standard input on
 * @tty:	The command has a terminal of its own
 * @json:	Write events (docs/json.md), not bytes
 * @watch:	It is not ours: no signal is passed on, we leave instead
 * @past:	Cursor of stdout: what is before it a terminal is shown anew
 * @keys:	That leave it, from standard input; NULL for none
 */
struct stream_opts {
	bool in;
	bool tty;
	bool json;
	bool watch;
	uint64_t past;
	const struct keys *keys;
};

/**
 * struct stream_end - How it ended
 * @exited:	@exit is set: the command has ended
 * @gave_up:	Signal by which the caller left it, or 0
 * @left:	The caller left it by the keys for that
 * @id:		Of the process, fit to print; "" if it never started
 * @write_error: -errno of our own output, other than -EPIPE; or 0
 * @error:	Else: -errno, with the sentence in @e
 * @failed:	enum hutch_exec_error if the command was never started
 */
struct stream_end {
	bool exited;
	struct hutch_exec_event exit;
	int gave_up;
	bool left;
	char id[HUTCH_PROC_MAX + 1];
	int write_error;
	int error;
	int failed;
	struct hutch_err e;
};

/**
 * stream_run() - Pass bytes on until the command has ended
 *
 * Context: main thread. Signals are the caller's again afterwards, as is the
 * terminal; SIGPIPE stays ignored.
 */
void stream_run(struct hutch_exec *x, const struct stream_opts *o,
		struct stream_end *ret);

/** stream_take_error() - HUTCH_EXEC_ERROR is how it ended */
void stream_take_error(struct stream_end *end,
		       const struct hutch_exec_event *ev);

#endif
