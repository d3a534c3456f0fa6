/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/stream_kit.h - a process that joins a command to its descriptors
 *
 * What the tests of host/cli/stream.c share: the command is a local one, see
 * fake_hutch.h, and the process is a child of the test.
 */
#ifndef HUTCH_TESTS_STREAM_KIT_H
#define HUTCH_TESTS_STREAM_KIT_H

#include <stddef.h>
#include <sys/types.h>

#include "host/cli/stream.h"

#define LINE_ROOM 512 /* bytes of a line */
#define GAVE_UP   128 /* exit code, plus the signal */
#define LEFT      42  /* by the keys for that */

/** struct run - A process that joins a command to these descriptors */
struct run {
	const char *script;
	struct stream_opts o;
	int fd[3];       /* -1: /dev/null */
	int break_after; /* events, 0 for never */
	int terminal;    /* fd[0] becomes the controlling terminal */
	int ignored;     /* signal that was ignored before, or 0 */
	int sizes;       /* the command reads its terminal's size */
	int deaf;        /* its guest does not keep its time-out */
};

/** stream_kit_start() - Start it */
pid_t stream_kit_start(const struct run *run);

/** stream_kit_finish() - Exit code, or minus the signal that ended it */
int stream_kit_finish(pid_t pid);

/** stream_kit_pipe() - A pipe that no child keeps */
void stream_kit_pipe(int fd[2]);

/** stream_kit_read_all() - To the end of file, up to @room - 1 bytes */
size_t stream_kit_read_all(int fd, char *buf, size_t room);

/** stream_kit_await_line() - The next line is @want, with no newline */
void stream_kit_await_line(int fd, const char *want);

#endif
