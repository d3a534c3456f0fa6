/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/cli/sink.h - writing to a descriptor we inherited, without blocking
 *
 * Standard output is shared with other programs, so O_NONBLOCK must not be
 * set on it: the flag belongs to the open file, not to us. A pipe or terminal
 * is opened once more through /proc instead, which gives an open file of our
 * own; a socket has MSG_DONTWAIT; a regular file never blocks for long. Where
 * opening is refused, no more is written after poll() than POSIX lets it
 * promise room for.
 *
 * A sink holds one piece of output. Whoever fills it asks for no other piece
 * until it is empty: that is how a slow reader stops the writer in the VM.
 */
#ifndef HUTCH_CLI_SINK_H
#define HUTCH_CLI_SINK_H

#include <stdbool.h>

#include "host/cli/base.h"

enum sink_kind {
	SINK_FILE,   /* never blocks for long */
	SINK_SOCKET, /* MSG_DONTWAIT */
	SINK_OWN,    /* opened anew, O_NONBLOCK */
	SINK_CAREFUL /* poll(), then at most PIPE_BUF bytes */
};

/**
 * struct sink - Where output goes
 * @fd:		To write to and to poll
 * @own:	Ours to close, or -1
 * @error:	-errno that ended it, 0 while it works
 * @buf:	What could not be written yet, malloc()ed
 * @off, @len:	What of it is left
 */
struct sink {
	enum sink_kind kind;
	int fd;
	int own;
	int error;
	char *buf;
	size_t off, len;
	size_t room;
};

/** sink_open() - Write to @fd, which stays the caller's */
void sink_open(struct sink *s, int fd);

/** sink_close() - Free what it holds; what waits is lost */
void sink_close(struct sink *s);

/** sink_waits() - Whether it holds bytes, so that @fd is to be polled */
bool sink_waits(const struct sink *s);

/**
 * sink_put() - Write what goes at once and keep the rest
 * @len:	May be 0
 *
 * Only when !sink_waits().
 *
 * Return: 0, or the -errno that has ended it: bytes are dropped from now on
 */
int sink_put(struct sink *s, const void *p, size_t len);

/** sink_flush() - Go on writing, after poll(). Return: as sink_put() */
int sink_flush(struct sink *s);

#endif
