/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/stream.h - a process's output on its way */
#ifndef HUTCH_GUEST_AGENT_STREAM_H
#define HUTCH_GUEST_AGENT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/loop.h"
#include "common/wire.h"
#include "guest-agent/store.h"

struct proc;

/**
 * struct out_stream - Read end of a pipe, or a terminal's master
 * @type:	WIRE_STDOUT or WIRE_STDERR
 * @draining:	The process has ended: only @left bytes are waited for
 * @left:	What was in the pipe then and has not been read
 * @store:	What was read, as far as it is kept
 *
 * With a foreground client a byte is read only when its socket can take it, so
 * that it misses nothing: a slow one stops the writer.  Without one, all is
 * read; who else is attached takes it from the store, or is too late.
 */
struct out_stream {
	struct proc *p;
	struct loop_io io;
	int fd;
	bool tty;
	enum wire_type type;
	bool draining;
	uint64_t left;
	struct store store;
};

/**
 * out_open() - Take @fd over
 *
 * Nothing is read before out_resume(), so that nothing comes before STARTED.
 */
void out_open(struct out_stream *s, struct proc *p, int fd,
	      enum wire_type type);

/** out_drain() - The process has ended: read what is there, and no more */
void out_drain(struct out_stream *s);

/** out_drained() - Whether all that EXIT must wait for has been read */
bool out_drained(const struct out_stream *s);

/** out_resume() - The client can take more, or has gone: read (again) */
void out_resume(struct out_stream *s);

/** out_close() - Writers get SIGPIPE from now on; may be called twice */
void out_close(struct out_stream *s);

#endif
